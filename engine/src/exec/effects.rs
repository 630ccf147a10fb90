//! What an instruction reads and writes, from its resolved operands: one list that checkers, traces and tools share.

use super::Cx;
use crate::Result;
use crate::ir::{Role, Rule, Trait};
use crate::memory::ArenaId;
use crate::memory::shadow::for_runs;
use crate::world::{LocId, Opnd};
use birsim_kernels::access::Pattern;

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Read, combined and written.
    Update,
}

/// One operand in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Operand, counted over ins, outs, indirection_ins.
    pub operand: usize,
    /// Location.
    pub location: LocId,
    /// Arena of the location.
    pub arena: ArenaId,
    /// Use.
    pub access: Access,
    /// Elements, as arena bytes.
    pub pattern: Pattern,
    /// Every element of the pattern is accessed; otherwise data decide which ones are.
    pub exact: bool,
}

impl Effect {
    /// Reads memory.
    pub fn reads(&self) -> bool {
        self.access != Access::Write
    }

    /// Writes memory.
    pub fn writes(&self) -> bool {
        self.access != Access::Read
    }

    /// Calls `f(lo, hi)` for every run of neighbouring arena bytes, in element order.
    pub fn runs(&self, f: impl FnMut(usize, usize)) {
        byte_runs(&self.pattern, f);
    }
}

/// Calls `f(lo, hi)` for every run of neighbouring bytes of a pattern, in element order.
pub fn byte_runs(pattern: &Pattern, mut f: impl FnMut(usize, usize)) {
    let size = pattern.dtype().size();
    let mut open: Option<(usize, usize)> = None;
    for_runs(pattern, |first, count, stride| {
        let mut piece = |lo: usize, hi: usize| match &mut open {
            Some((_, end)) if *end == lo => *end = hi,
            other => {
                if let Some((a, b)) = other.replace((lo, hi)) {
                    f(a, b);
                }
            }
        };
        if stride == size as i64 {
            piece(first, first + count * size);
        } else {
            (0..count).for_each(|k| {
                let at = (first as i64 + stride * k as i64) as usize;
                piece(at, at + size);
            });
        }
    });
    if let Some((a, b)) = open {
        f(a, b);
    }
}

/// The effects of a prepared instruction, inputs first.
pub fn effects(cx: &Cx) -> Result<Vec<Effect>> {
    let (ins, outs) = (cx.n_ins(), cx.n_outs());
    let all = ins + outs + cx.inst.operands.indirect as usize;
    let mut list = Vec::with_capacity(all);
    for k in 0..all {
        let Some((location, pattern)) = cx.location_and_pattern(k)? else { continue };
        let access = match k {
            _ if k < ins => Access::Read,
            _ if k < ins + outs => written(cx, k)?,
            _ => Access::Read,
        };
        let place = &cx.m.places[location].0;
        let table = is_table(cx, k);
        // A table can be reached anywhere inside its location.
        let pattern = if table { place.whole(pattern.dtype())? } else { pattern.clone() };
        let partial = access != Access::Read && cx.inst.opcode.is(Trait::KeepsSome);
        let exact = !table && !partial;
        list.push(Effect { operand: k, location, arena: place.arena, access, pattern, exact });
    }
    Ok(list)
}

/// The operand's elements are chosen by an index tensor or by a bounds test.
fn is_table(cx: &Cx, k: usize) -> bool {
    let by_index = matches!(cx.operand_at(k), Some(Opnd::Dynamic(d)) if d.vector.is_some());
    by_index || role(cx, k).is_some_and(|r| r.table) || cx.leaves_tensor()
}

/// The role of operand `k`; index operands have none.
fn role(cx: &Cx, k: usize) -> Option<Role> {
    let (row, ins) = (cx.inst.opcode.row(), cx.n_ins());
    match k {
        _ if k < ins => Role::of(row.ins, k),
        _ if k < ins + cx.n_outs() => Role::of(row.outs, k - ins),
        _ => None,
    }
}

/// Outputs are written; accumulating instructions also read what they add to.
fn written(cx: &Cx, k: usize) -> Result<Access> {
    let adds = role(cx, k).is_some_and(|r| r.adds) && cx.is_form(cx.inst.forms.adds, |r| matches!(r, Rule::Adds(_)))?;
    Ok(if adds { Access::Update } else { Access::Write })
}
