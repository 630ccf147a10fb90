//! What the members of a meeting must agree on, and the results that are the same for all of them.

use crate::ir::CollectiveKind;
use crate::world::{Contribution, Extent, Group};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Src};
use birsim_kernels::{Dtype, Profile, collective as kernel};
use std::sync::Arc;

/// A field in which two members differ: its key, what differs, and both values.
pub(super) struct Difference {
    pub key: String,
    pub what: String,
    pub values: [String; 2],
}

fn differ<T: PartialEq>(key: &str, a: &T, b: &T, text: impl Fn(&T) -> String) -> Option<Difference> {
    (a != b).then(|| Difference { key: key.into(), what: key.into(), values: [text(a), text(b)] })
}

/// The first field in which two members of a group differ.
pub(super) fn of_groups(a: &Group, b: &Group) -> Option<Difference> {
    differ("kind", &a.kind, &b.kind, |k| k.to_string())
        .or_else(|| differ("op", &a.op, &b.op, |o| o.to_string()))
        .or_else(|| differ("cc_dim", &a.dim, &b.dim, |d| d.to_string()))
        .or_else(|| differ("replica_groups", &a.names, &b.names, |n| format!("{n:?}")))
        .or_else(|| differ("src_target_pairs", &a.pairs, &b.pairs, |p| format!("{p:?}")))
}

/// The first difference between what two members bring. The chunks of an AllToAllV have any size.
pub(super) fn of_tensors(kind: CollectiveKind, a: &Contribution, b: &Contribution) -> Option<Difference> {
    let counts = differ("ins", &a.ins.len(), &b.ins.len(), |n| format!("{n} inputs"))
        .or_else(|| differ("outs", &a.outs.len(), &b.outs.len(), |n| format!("{n} outputs")));
    counts.or_else(|| {
        a.ins.iter().zip(&b.ins).enumerate().find_map(|(k, (x, y))| {
            let any_size = kind == CollectiveKind::AllToAllV;
            let what = match x.dtype == y.dtype {
                true if x.len() == y.len() || any_size => return None,
                true => "the number of elements",
                false => "the element type",
            };
            let text = |e: &Extent| format!("{} elements of {}", e.len(), e.dtype);
            let key = format!("ins[{k}]");
            Some(Difference { what: format!("{what} of {key}"), key, values: [text(x), text(y)] })
        })
    })
}

/// One result of a group, in every element type that a member's output has.
pub(super) type Folded = Vec<(Dtype, Vec<u8>)>;

/// Results that are the same for every member of a group, computed once per output and element type.
pub(super) fn folded(group: &Group, members: &[Arc<Contribution>], profile: &Profile) -> Result<Vec<Folded>> {
    let Some(first) = members.first().filter(|_| group.kind == CollectiveKind::AllReduce) else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for (k, input) in first.ins.iter().enumerate() {
        let dense = input.dense()?;
        let sources: Vec<Src> = members.iter().map(|m| Src::new(&m.inputs[k], &dense)).collect::<Result<_>>()?;
        let mut found = Folded::new();
        for extent in members.iter().filter_map(|m| m.outs.get(k)) {
            // A member whose output has another size reports that itself.
            if found.iter().any(|(d, _)| *d == extent.dtype) || extent.len() != input.len() {
                continue;
            }
            let pattern = Extent { dtype: extent.dtype, ..*input }.dense()?;
            let mut bytes = Vec::new();
            let size = extent.len() * extent.dtype.size();
            bytes.try_reserve_exact(size).map_err(|_| {
                Error::new(Code::S009, "the result of a collective needs more memory than there is")
                    .received(format!("{size} bytes"))
            })?;
            bytes.resize(size, 0);
            kernel::all_reduce(group.op, &sources, &mut Dst::new(&mut bytes, &pattern)?, profile)?;
            found.push((extent.dtype, bytes));
        }
        out.push(found);
    }
    Ok(out)
}
