//! What an instruction reads and writes: one list that checkers, traces and tools share.

use super::Cx;
use crate::Result;
use crate::ir::Rule;
use crate::memory::ArenaId;
use crate::memory::shadow::for_runs;
pub use crate::world::Access;
use crate::world::LocId;
use birsim_kernels::access::Pattern;

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

/// The effects of a running instruction, inputs first: what load listed, with the places that its operands have now.
pub fn effects(cx: &Cx) -> Result<Vec<Effect>> {
    let uses = cx.m.program.uses_of(cx.inst);
    let mut list = Vec::with_capacity(uses.len());
    for (k, known) in uses.iter().enumerate() {
        let Some((location, pattern)) = cx.location_and_pattern(k)? else { continue };
        let access = match known.open && cx.is_form(cx.inst.forms.adds, |r| matches!(r, Rule::Adds(_)))? {
            true => Access::Update,
            false => known.access,
        };
        let place = &cx.m.places[location].0;
        // A table can be reached anywhere inside its location, and a bounds test chooses elements as indices do.
        let table = known.table || cx.leaves_tensor();
        let pattern = if table { place.whole(pattern.dtype())? } else { pattern.clone() };
        let exact = known.exact && !table;
        list.push(Effect { operand: k, location, arena: place.arena, access, pattern, exact });
    }
    Ok(list)
}
