//! What the members of a meeting must agree on, and the results that are the same for all of them.

use crate::ir::CollectiveKind;
use crate::world::{Contribution, Extent, Group};
use crate::{Code, Error};

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

/// The first output of an AllReduce that has another number of elements than its input.
pub(super) fn other_size(member: &Contribution) -> Option<Error> {
    let mut pairs = member.ins.iter().zip(&member.outs).enumerate();
    pairs.find(|(_, (i, o))| i.len() != o.len()).map(|(k, (i, o))| {
        Error::new(Code::S002, format!("ins[{k}] and the result differ in shape"))
            .received(format!("{} x {} and {} x {}", i.lanes, i.lane_len, o.lanes, o.lane_len))
            .operand(format!("ins[{k}]"))
    })
}
