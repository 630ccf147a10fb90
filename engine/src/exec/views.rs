//! Operands as views: the only place of this crate that joins patterns with arena memory.

use super::Cx;
use crate::world::*;
use crate::{Error, Result};
use birsim_kernels::access::{Dst, Pattern, Src};

impl<'w> Cx<'_, 'w> {
    fn input_at(&mut self, k: usize, staged: bool) -> Result<Option<Src<'w>>> {
        let Some((loc, pattern)) = self.place_of(k)? else { return Ok(None) };
        let arena = self.m.places[loc as usize].0.arena as usize;
        let (lo, hi) = pattern.extent().unwrap_or((0, 0));
        let present = self.m.arenas[arena].is_present(lo as usize, hi as usize);
        if present && !staged {
            // SAFETY: arenas live as long as the world ('w) and are neither released nor moved while an instruction
            // runs; a source that overlaps a destination is staged unless both are identical and the opcode is
            // element-wise, which `stage` was computed for.
            return unsafe { self.m.arenas[arena].src(pattern) }.map(Some);
        }
        self.staged(k, arena, pattern).map(Some)
    }

    /// A private copy of an input; never-written bytes read as the fill byte.
    fn staged(&mut self, k: usize, arena: usize, pattern: Pattern) -> Result<Src<'w>> {
        let nums: arrayvec::ArrayVec<u32, 8> = pattern.pairs().iter().map(|p| p.num).collect();
        let dense = Pattern::dense(pattern.dtype(), &nums)?;
        let bytes = pattern.len() * pattern.dtype().size();
        let buffer = self.m.run.staging(k, bytes, &self.m.settings.limits)?;
        let out: &mut [u8] = &mut bytemuck::cast_slice_mut(buffer)[..bytes];
        let mem = &mut self.m.arenas[arena];
        let (lo, hi) = pattern.extent().unwrap_or((0, 0));
        if mem.is_present(lo as usize, hi as usize) {
            // SAFETY: the view is dropped before anything else touches the arena.
            let src = unsafe { mem.src(pattern) }?;
            let row = src.lane_len() * src.dtype().size();
            if row > 0 {
                out.chunks_exact_mut(row).enumerate().for_each(|(lane, o)| src.gather(lane, 0, o));
            }
        } else {
            let size = pattern.dtype().size();
            for (e, o) in out.chunks_exact_mut(size).enumerate() {
                let at = pattern.byte_of(e / pattern.lane_len(), e % pattern.lane_len());
                mem.read(at as usize, o);
            }
        }
        // SAFETY: the staging buffer of this operand is not touched again until the next instruction.
        unsafe { Src::from_raw(out.as_ptr(), bytes, dense) }
    }

    /// Input `k` as a tensor view.
    pub fn src(&mut self, k: usize) -> Result<Src<'w>> {
        if k >= self.n_ins() {
            return Err(self.missing("ins", k));
        }
        let staged = self.stage & (1 << k.min(31)) != 0;
        self.input_at(k, staged).map_err(|e| e.operand(format!("ins[{k}]")))?.ok_or_else(|| self.missing("ins", k))
    }

    /// Index operand `k` as a tensor view.
    pub fn index_src(&mut self, k: usize) -> Result<Src<'w>> {
        if k >= self.inst.operands.indirect as usize {
            return Err(self.missing("indirection_ins", k));
        }
        let at = self.n_ins() + self.n_outs() + k;
        self.input_at(at, false)
            .map_err(|e| e.operand(format!("indirection_ins[{k}]")))?
            .ok_or_else(|| self.missing("indirection_ins", k))
    }

    /// Output `k` as a tensor view; its memory is touched and accounted, the write is recorded.
    pub fn dst(&mut self, k: usize) -> Result<Dst<'w>> {
        self.dst_at(k, true)
    }

    /// Output `k`, without setting marks of the initialisation shadow (for writers that mark what they really wrote).
    fn dst_at(&mut self, k: usize, mark: bool) -> Result<Dst<'w>> {
        if k >= self.n_outs() {
            return Err(self.missing("outs", k));
        }
        let at = self.n_ins() + k;
        let named = |e: Error| e.operand(format!("outs[{k}]"));
        let Some((loc, pattern)) = self.place_of(at).map_err(named)? else { return Err(self.missing("outs", k)) };
        let arena = self.m.places[loc as usize].0.arena as usize;
        if let Some((lo, hi)) = pattern.extent() {
            let fresh = self.m.arenas[arena].touch(lo as usize, hi as usize)?;
            if fresh > 0 {
                self.m.run.touch(fresh, &self.m.settings.limits)?;
            }
            let state = &mut self.m.states[loc as usize];
            if !state.written {
                *state = LocationState { written: true, first_writer: self.payload };
            }
            if mark && let Some(shadow) = &mut self.m.inits[arena].0 {
                shadow.set(&pattern, true);
            }
        }
        // SAFETY: as in `input_at`; outputs of one instruction are written one after the other.
        unsafe { self.m.arenas[arena].dst(pattern) }.map_err(named)
    }

    /// Input `k` as a table that indices reach into: a view of its whole location, its pattern, and the address of the
    /// view's byte 0. The location is copied first when an output is inside it.
    pub fn table_src(&mut self, k: usize) -> Result<(Src<'w>, Pattern, i64)> {
        let Some((loc, pattern)) = self.place_of(k)? else { return Err(self.missing("ins", k)) };
        let place = self.m.places[loc as usize].0.clone();
        let arena = place.arena as usize;
        let (lo, hi) = place.extent();
        self.present(arena, lo, hi)?;
        let mut shared = false;
        for o in 0..self.n_outs() {
            if let Some((other, dst)) = self.place_of(self.n_ins() + o)? {
                let (a, b) = dst.extent().unwrap_or((0, 0));
                shared |= self.m.places[other as usize].0.arena == place.arena && a < hi as i64 && (lo as i64) < b;
            }
        }
        let address = self.m.program.locations[loc as usize].addr as i64 - lo as i64;
        let whole = place.whole(pattern.dtype())?;
        if !shared {
            // SAFETY: as in `input_at`; no output is inside this location.
            return Ok((unsafe { self.m.arenas[arena].src(whole) }?, pattern, address));
        }
        let buffer = self.m.run.staging(k, hi - lo, &self.m.settings.limits)?;
        let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(buffer)[..hi - lo];
        self.m.arenas[arena].read(lo, bytes);
        // SAFETY: the staging buffer of this operand is not touched again until the next instruction.
        let view = unsafe { Src::from_raw(bytes.as_ptr(), bytes.len(), whole.shifted(-(lo as i64))) }?;
        Ok((view, pattern.shifted(-(lo as i64)), address + lo as i64))
    }

    /// Output `k` as a table that indices reach into.
    pub fn table_dst(&mut self, k: usize) -> Result<(Dst<'w>, Pattern, i64)> {
        let at = self.n_ins() + k;
        let Some((loc, pattern)) = self.place_of(at)? else { return Err(self.missing("outs", k)) };
        let place = self.m.places[loc as usize].0.clone();
        let arena = place.arena as usize;
        let (lo, hi) = place.extent();
        self.present(arena, lo, hi)?;
        let state = &mut self.m.states[loc as usize];
        if !state.written {
            *state = LocationState { written: true, first_writer: self.payload };
        }
        let whole = place.whole(pattern.dtype())?;
        let address = self.m.program.locations[loc as usize].addr as i64 - lo as i64;
        // SAFETY: as in `input_at`; sources in the same location have been copied by `table_src` or staged.
        Ok((unsafe { self.m.arenas[arena].dst(whole) }?, pattern, address))
    }

    /// Touches and accounts a byte range of an arena.
    fn present(&mut self, arena: usize, lo: usize, hi: usize) -> Result<()> {
        let fresh = self.m.arenas[arena].touch(lo, hi)?;
        self.m.run.touch(fresh, &self.m.settings.limits)
    }
}
