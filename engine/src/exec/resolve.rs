//! Operands whose address is known only when the instruction runs.

use super::Cx;
use crate::ir::Rule;
use crate::memory::overlap::Overlaps;
use crate::memory::{resolve, resolve_open};
use crate::world::{DynamicSpec, LocId, Opnd, Resolved, SetId};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::access::Pattern;
use birsim_kernels::profile::{OffsetPolicy, OffsetUnit};

/// Resolves every dynamic operand into `scratch.dynamic`; returns which inputs overlap outputs.
pub(super) fn dynamic_operands(cx: &mut Cx) -> Result<Overlaps> {
    let r = cx.inst.operands;
    let (ins, outs, all) = (r.ins as usize, r.outs as usize, (r.ins + r.outs + r.indirect) as usize);
    cx.m.scratch.dynamic.clear();
    cx.m.scratch.open = false;
    let mut anchored = true;
    for k in 0..all {
        if let Some(Opnd::Dynamic(spec)) = cx.operand(k) {
            let role = match k {
                _ if k < ins => format_role("ins", k),
                _ if k < ins + outs => format_role("outs", k - ins),
                _ => format_role("indirection_ins", k - ins - outs),
            };
            let Place { loc, pattern, open, known } = place(cx, spec).map_err(|e| e.operand(role()))?;
            cx.m.scratch.open |= open;
            anchored &= known;
            cx.m.scratch.dynamic.push(Resolved { operand: k, loc, arena: cx.m.places[loc].0.arena, pattern });
        }
    }
    if anchored && cx.inst.apart {
        return Ok(cx.inst.overlaps);
    }
    let mut found = Overlaps::default();
    for k in (0..all).filter(|k| *k < ins || *k >= ins + outs) {
        let Some(src) = cx.tensor(k)? else { continue };
        for o in 0..outs {
            if let Some(dst) = cx.tensor(ins + o)?
                && dst.arena == src.arena
            {
                found.note(k, o, cx.pattern(src.pattern)?, cx.pattern(dst.pattern)?);
            }
        }
    }
    Ok(found)
}

fn format_role(role: &'static str, k: usize) -> impl Fn() -> String {
    move || format!("{role}[{k}]")
}

/// Where a dynamic operand is when its instruction runs.
struct Place {
    loc: LocId,
    pattern: Pattern,
    /// The pattern leaves its tensor, and the instruction skips the elements outside.
    open: bool,
    /// It is where load said that it can be.
    known: bool,
}

/// The place of a dynamic operand; the vector form resolves to its static part.
fn place(cx: &Cx, spec: &DynamicSpec) -> Result<Place> {
    let set = cx.m.bindings.0.get(spec.set.at()).copied().unwrap_or(spec.set);
    let anchor = spec.anchor.as_ref().filter(|_| set == spec.set);
    let loc = match anchor {
        Some(anchor) => anchor.loc,
        None => location(cx, spec, set)?,
    };
    let offset = offset(cx, spec, loc)?;
    match anchor.and_then(|a| a.moving.at(offset)) {
        Some(pattern) => Ok(Place { loc, pattern, open: false, known: true }),
        // The offset is refused, or it decides more than where the pattern starts.
        None => {
            let (pattern, open) = in_full(cx, spec, loc, offset)
                .map_err(|e| e.at(|p| p.tensor = Some(cx.m.program.locations[loc].name.to_string())))?;
            Ok(Place { loc, pattern, open, known: anchor.is_some() && !open })
        }
    }
}

/// The location of an operand that is bound by a call or chosen by a register.
fn location(cx: &Cx, spec: &DynamicSpec, set: SetId) -> Result<LocId> {
    let info = &cx.m.program.sets[set];
    let sub = cx.eval(&spec.sub)?;
    let loc = usize::try_from(sub).ok().and_then(|s| info.locations.get(s)).copied().ok_or_else(|| {
        Error::new(Code::S001, "the block address selects no piece of the tensor")
            .received(format!("{sub} of {}", info.locations.len()))
            .at(|p| p.tensor = Some(info.name.to_string()))
    })?;
    let (place, meta) = (&cx.m.places[loc].0, &cx.m.program.locations[loc]);
    spec.guard(cx.inst.opcode, cx.profile().dram_by_register, place, meta)?;
    Ok(loc)
}

/// The offset of an operand, in elements.
fn offset(cx: &Cx, spec: &DynamicSpec, loc: LocId) -> Result<i64> {
    let mut offset = cx.eval(&spec.offset)?;
    if let Some(scale) = &spec.operand_scale {
        let by = cx.eval(scale)?.checked_mul(offset_operand(cx)?);
        let by = match (cx.profile().offset_unit, by) {
            (OffsetUnit::Byte, Some(bytes)) => Some(whole_elements(bytes, spec.dtype)?),
            (_, by) => by,
        };
        offset = by
            .and_then(|b| b.checked_add(offset))
            .ok_or_else(|| Error::new(Code::S008, "the run-time offset leaves the 64-bit range").operand("ins[1]"))?;
    }
    if let Some(bytes) = &spec.bytes {
        let by = whole_elements(cx.eval(bytes)?, spec.dtype)?;
        offset = offset
            .checked_add(by)
            .ok_or_else(|| Error::new(Code::S008, "the run-time offset leaves the 64-bit range"))?;
    }
    if spec.absolute {
        let size = spec.dtype.size() as i64;
        let bytes =
            offset.checked_sub(cx.m.program.locations[loc].addr as i64).filter(|b| b % size == 0).ok_or_else(|| {
                Error::new(Code::S001, "the register address is not the address of an element of the tensor")
                    .received(offset)
            })?;
        offset = bytes / size;
    }
    Ok(offset)
}

/// The pattern at an offset, and whether it leaves its tensor, which the instruction then skips.
fn in_full(cx: &Cx, spec: &DynamicSpec, loc: LocId, offset: i64) -> Result<(Pattern, bool)> {
    let place = &cx.m.places[loc].0;
    if spec.vector.is_some() {
        if !takes_vector(cx)? {
            return Err(Error::new(Code::U002, "an index vector drives the address of a plain DMACopy only")
                .received(cx.inst.opcode));
        }
        // The rows come from the index vector, which the kernel checks.
        let pattern = match place.is_linear() {
            true => resolve_open(place, spec.dtype, offset, &spec.ap),
            false => resolve(place, spec.dtype, offset, &spec.ap),
        };
        return Ok((pattern?, false));
    }
    match resolve(place, spec.dtype, offset, &spec.ap) {
        Err(e) if e.code() == Code::S001 && skips_outside(cx)? => {
            Ok((resolve_open(place, spec.dtype, offset, &spec.ap)?, true))
        }
        other => Ok((other?, false)),
    }
}

/// Whether the instruction skips elements outside its tensors (ruling D22).
fn skips_outside(cx: &Cx) -> Result<bool> {
    Ok(cx.profile().scalar_offset_oob == OffsetPolicy::Skip
        && cx.is_form(cx.inst.forms.skips_outside, |r| matches!(r, Rule::SkipsOutside(_)))?)
}

/// A run-time offset in bytes as elements.
fn whole_elements(bytes: i64, dtype: Dtype) -> Result<i64> {
    let size = dtype.size() as i64;
    if bytes % size != 0 {
        return Err(
            Error::new(Code::S001, "the run-time offset in bytes is not a whole number of elements").received(bytes)
        );
    }
    Ok(bytes / size)
}

/// An index vector may drive an address of this form.
fn takes_vector(cx: &Cx) -> Result<bool> {
    cx.is_form(cx.inst.forms.vector_address, |r| matches!(r, Rule::VectorAddress(_)))
}

/// The run-time offset of TensorCopyDynamicSrc and Dst: a register, an immediate, or a tensor of one integer.
fn offset_operand(cx: &Cx) -> Result<i64> {
    let bad =
        |what: String| Error::new(Code::S008, "a run-time offset is one integer").received(what).operand("ins[1]");
    if let Some(imm) = cx.scalar(1)? {
        return Ok(imm.as_i64());
    }
    let Some((loc, pattern)) = cx.place_of(1)? else { return Err(bad("no value".into())) };
    let dtype = pattern.dtype();
    if pattern.len() != 1 || !dtype.is_integer() {
        return Err(bad(format!("{} elements of {dtype}", pattern.len())));
    }
    let mut bytes = [0u8; 8];
    let arena = cx.m.places[loc].0.arena;
    cx.m.arenas[arena].read(pattern.byte_of(0, 0) as usize, &mut bytes[..dtype.size()]);
    Ok(super::cut(u64::from_le_bytes(bytes), dtype) as i64)
}
