//! Operands as views: the only place of this crate that joins patterns with arena memory.
//!
//! The code of an opcode asks for all operands of a call at once ([`Cx::open`]). Everything that changes memory happens
//! then: inputs that the kernel must not see change are copied, outputs are touched and accounted for. The views borrow the
//! context, so no memory can be released, touched or handed out again while one of them is in use.

use super::Cx;
use super::Want::{In, InPlace, Index, Maybe, Out, OutTable, Table};
use super::opened::*;
use crate::memory::{ArenaId, ArenaMem, LocationInfo};
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Imm, Pattern, Source, Src};
use birsim_kernels::{Profile, halt};
use smallvec::SmallVec;

/// A tensor operand of the running instruction.
#[derive(Clone, Copy)]
pub(super) struct Tensor {
    pub loc: LocId,
    pub arena: ArenaId,
    pub pattern: Kept,
}

/// Where a pattern is kept.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// In the program.
    Static(PatternId),
    /// Among the resolved dynamic operands.
    Dynamic(usize),
    /// With the private copy of operand k.
    Dense(usize),
    /// With operand k, which is a table: its whole location.
    Whole(usize),
    /// With the private copy of operand k: the operand's own pattern in it.
    Base(usize),
}

/// A prepared operand: what its view will be made of.
#[derive(Clone, Copy)]
enum Ready {
    Imm(usize, Imm),
    Same(usize),
    Src { k: usize, memory: Memory, pattern: Kept },
    Table { k: usize, memory: Memory, whole: Kept, pattern: Kept, address: i64 },
    Dst { k: usize, arena: ArenaId, whole: Kept, pattern: Kept, address: i64 },
}

#[derive(Clone, Copy)]
enum Memory {
    Arena(ArenaId),
    /// The private copy of operand k.
    Copy(usize),
}

type Prepared = SmallVec<[Ready; 6]>;

impl Cx<'_, '_> {
    /// Opens operands of the running instruction. Their memory cannot change until the views are dropped.
    pub fn open(&mut self, wants: &[Want]) -> Result<Opened<'_>> {
        let reached = self.reached_tables(wants)?;
        let mut prepared = Prepared::new();
        for want in wants {
            match *want {
                In(k) | InPlace(k) => prepared.push(self.input_ready(k, *want == InPlace(k), &reached)?),
                Maybe(k) if k >= self.n_ins() => {}
                Maybe(k) => prepared.push(self.input_ready(k, false, &reached)?),
                Index(k) => prepared.push(self.index_ready(k, &reached)?),
                Table(k) => prepared.push(self.table_ready(k, &reached)?),
                Out(k) => prepared.push(self.out_ready(k)?),
                OutTable(k) => prepared.push(self.out_table_ready(k)?),
            }
        }
        self.views(&prepared)
    }

    /// Opens all inputs and output 0.
    pub fn open_all(&mut self) -> Result<Opened<'_>> {
        let wants: SmallVec<[Want; 8]> = (0..self.n_ins()).map(In).chain([Out(0)]).collect();
        self.open(&wants)
    }

    /// Runs `f` on the outputs 0 and 1 of an instruction that writes both together. When one lies between the elements of the
    /// other, the second is written to a copy first.
    pub fn with_both_outputs(
        &mut self,
        ins: &[Want],
        f: impl Fn(&Ins, &mut Dst, &mut Dst, &Profile) -> Result<()>,
    ) -> Result<()> {
        let mut wants: SmallVec<[Want; 4]> = ins.into();
        wants.push(Out(0));
        let (a, b) = (self.span(self.n_ins())?, self.span(self.n_ins() + 1)?);
        if !matches!((a, b), (Some(a), Some(b)) if meet(a, b)) {
            wants.push(Out(1));
            let mut io = self.open(&wants)?;
            let (mut first, mut second) = io.outs.pair()?;
            return f(&io.ins, &mut first, &mut second, io.profile);
        }
        let (mut bytes, dense) = {
            let mut io = self.open(&[Out(1)])?;
            let second = io.outs.dst(1)?;
            (second.as_src().to_dense(), second.pattern().like_dense()?)
        };
        let mut io = self.open(&wants)?;
        f(&io.ins, &mut io.outs.dst(0)?, &mut Dst::new(&mut bytes, &dense)?, io.profile)?;
        drop(io);
        let mut io = self.open(&[Out(1)])?;
        io.outs.dst(1)?.fill_from_dense(&bytes);
        Ok(())
    }

    /// The pattern and memory of a byte range that no operand names, for writing, with the accumulate shadow of its arena.
    pub fn open_region<'a>(
        &'a mut self,
        arena: ArenaId,
        pattern: &'a Pattern,
    ) -> Result<(Dst<'a>, Option<&'a mut AccumShadow>)> {
        let mut fresh = 0;
        let done = touch(&mut self.m.arenas[arena], pattern, &self.m.settings.limits, &mut fresh);
        self.m.stats.touched += fresh;
        done?;
        let (ptr, len) = self.m.arenas[arena].base();
        // SAFETY: the arena lives as long as the machine, which is borrowed meanwhile; this is its only view.
        let dst = unsafe { Dst::from_raw(ptr, len, pattern) }?;
        Ok((dst, self.m.accums.get_mut(arena.at())))
    }

    /// Operand `k`, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    pub(super) fn tensor(&self, k: usize) -> Result<Option<Tensor>> {
        match self.operand(k) {
            Some(Opnd::Static { loc, arena, pattern }) => {
                Ok(Some(Tensor { loc: *loc, arena: *arena, pattern: Kept::Static(*pattern) }))
            }
            Some(Opnd::Dynamic(_)) => {
                let mut found = self.m.scratch.dynamic.iter().enumerate();
                let found = found.find(|(_, d)| d.operand == k);
                let tensor =
                    |(at, d): (usize, &Resolved)| Tensor { loc: d.loc, arena: d.arena, pattern: Kept::Dynamic(at) };
                Ok(found.map(tensor))
            }
            Some(Opnd::Faulty(e)) => Err((**e).clone()),
            _ => Ok(None),
        }
    }

    pub(super) fn pattern(&self, kept: Kept) -> Result<&Pattern> {
        find(self.m.program, self.m.scratch, kept)
    }

    /// Arena and byte range of operand `k`.
    fn span(&self, k: usize) -> Result<Option<Span>> {
        let Some(t) = self.tensor(k)? else { return Ok(None) };
        Ok(self.pattern(t.pattern)?.extent().map(|(lo, hi)| (t.arena, lo, hi)))
    }

    /// The locations in which indices choose what the call writes.
    fn reached_tables(&self, wants: &[Want]) -> Result<SmallVec<[Span; 1]>> {
        let mut out = SmallVec::new();
        for want in wants {
            if let OutTable(k) = *want
                && let Some(t) = self.tensor(self.n_ins() + k)?
            {
                let (lo, hi) = self.m.places[t.loc].0.extent();
                out.push((t.arena, lo as i64, hi as i64));
            }
        }
        Ok(out)
    }

    fn input_ready(&mut self, k: usize, in_place: bool, reached: &[Span]) -> Result<Ready> {
        if let Some(imm) = self.scalar(k)? {
            return Ok(Ready::Imm(k, imm));
        }
        if in_place && self.inst.in_place && self.overlaps.same(k) {
            return Ok(Ready::Same(k));
        }
        let copied = self.overlaps.meets(k);
        self.tensor_ready(k, copied, reached)
            .map_err(|e| e.operand(ins_name(k)))?
            .ok_or_else(|| missing(self.inst.opcode, "ins", k))
    }

    fn index_ready(&mut self, k: usize, reached: &[Span]) -> Result<Ready> {
        let name = || format!("indirection_ins[{k}]");
        if k >= self.inst.operands.indirect as usize {
            return Err(missing(self.inst.opcode, "indirection_ins", k));
        }
        let at = self.n_ins() + self.n_outs() + k;
        let copied = self.overlaps.meets(at);
        self.tensor_ready(at, copied, reached)
            .map_err(|e| e.operand(name()))?
            .ok_or_else(|| missing(self.inst.opcode, "indirection_ins", k))
    }

    /// A tensor that is read: where it is, or a private copy when the call writes there or nothing was written yet.
    fn tensor_ready(&mut self, k: usize, copied: bool, reached: &[Span]) -> Result<Option<Ready>> {
        let Some(Tensor { arena, pattern: kept, .. }) = self.tensor(k)? else { return Ok(None) };
        let there = Ready::Src { k, memory: Memory::Arena(arena), pattern: kept };
        if self.rehearses() {
            return Ok(Some(there));
        }
        let m = &mut *self.m;
        let pattern = find(m.program, m.scratch, kept)?;
        let present = m.arenas[arena].has_pattern(pattern)?;
        let (lo, hi) = pattern.extent().unwrap_or((0, 0));
        if present && !copied && !reached.iter().any(|t| meet(*t, (arena, lo, hi))) {
            return Ok(Some(there));
        }
        let Scratch { stage, dynamic, .. } = &mut *m.scratch;
        let pattern = match kept {
            Kept::Dynamic(at) => &dynamic[at].pattern,
            _ => find_static(m.program, kept)?,
        };
        let bytes = pattern.len() * pattern.dtype().size();
        let buffer = stage.buffer(k, bytes, &m.settings.limits)?;
        let out: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut buffer.words)[..bytes];
        let fits = |d: &Pattern| {
            let (a, b) = (d.pairs().iter().map(|p| p.num), pattern.pairs().iter().map(|p| p.num));
            d.dtype() == pattern.dtype() && a.eq(b)
        };
        if !buffer.dense.as_ref().is_some_and(fits) {
            buffer.dense = Some(pattern.like_dense()?);
        }
        let mem = &mut m.arenas[arena];
        if present {
            let (ptr, len) = mem.base();
            // SAFETY: the view is dropped before anything else touches the arena.
            unsafe { Src::from_raw(ptr, len, pattern) }?.copy_dense(out);
        } else {
            let size = pattern.dtype().size();
            for (e, o) in out.chunks_exact_mut(size).enumerate() {
                if e.is_multiple_of(1024) {
                    halt::check()?;
                }
                let at = pattern.byte_of(e / pattern.lane_len(), e % pattern.lane_len());
                mem.read(at as usize, o);
            }
        }
        Ok(Some(Ready::Src { k, memory: Memory::Copy(k), pattern: Kept::Dense(k) }))
    }

    /// A location that indices reach into. It is copied first when the call writes there.
    fn table_ready(&mut self, k: usize, reached: &[Span]) -> Result<Ready> {
        let t = self.tensor(k)?.ok_or_else(|| missing(self.inst.opcode, "ins", k))?;
        let Tensor { loc, arena, pattern: kept } = t;
        let place = self.m.places[loc].0.clone();
        let (lo, hi) = place.extent();
        // Reading changes nothing, so bytes that are there are not made the core's own.
        if !self.rehearses() && !place.runs().all(|(lo, hi)| self.m.arenas[arena].is_present(lo, hi)) {
            self.present(&place)?;
        }
        let own = (arena, lo as i64, hi as i64);
        let mut shared = reached.iter().any(|t| meet(*t, own));
        for o in 0..self.n_outs() {
            shared |= self.span(self.n_ins() + o)?.is_some_and(|out| meet(out, own));
        }
        // In a rehearsal inputs and outputs have regions of their own.
        shared &= !self.rehearses();
        let address = self.m.program.locations[loc].addr as i64 - lo as i64;
        let pattern = self.pattern(kept)?.clone();
        let whole = place.whole(pattern.dtype())?;
        let bytes = if shared { hi - lo } else { 0 };
        let buffer = self.m.scratch.stage.buffer(k, bytes, &self.m.settings.limits)?;
        if !shared {
            buffer.whole = Some(whole);
            let memory = Memory::Arena(arena);
            return Ok(Ready::Table { k, memory, whole: Kept::Whole(k), pattern: kept, address });
        }
        self.m.arenas[arena].read(lo, &mut bytemuck::cast_slice_mut(&mut buffer.words)[..bytes]);
        buffer.whole = Some(whole.shifted(-(lo as i64)));
        buffer.base = Some(pattern.shifted(-(lo as i64)));
        let (whole, pattern) = (Kept::Whole(k), Kept::Base(k));
        Ok(Ready::Table { k, memory: Memory::Copy(k), whole, pattern, address: address + lo as i64 })
    }

    fn out_ready(&mut self, k: usize) -> Result<Ready> {
        let named = |e: Error| e.operand(format!("outs[{k}]"));
        if k >= self.n_outs() {
            return Err(missing(self.inst.opcode, "outs", k));
        }
        let at = self.n_ins() + k;
        let Some(Tensor { loc, arena, pattern: kept }) = self.tensor(at).map_err(named)? else {
            return Err(missing(self.inst.opcode, "outs", k));
        };
        let row = Writer::Row(self.row);
        let rehearses = self.rehearses();
        let m = &mut *self.m;
        let pattern = find(m.program, m.scratch, kept)?;
        if !pattern.is_empty() && !rehearses {
            let mut fresh = 0;
            let done = touch(&mut m.arenas[arena], pattern, &m.settings.limits, &mut fresh);
            m.stats.touched += fresh;
            done?;
            note_write(&mut m.states[loc], row);
            if let Some(shadow) = &mut m.inits[arena].0 {
                shadow.set(pattern, true);
            }
            if let Some(marks) = &mut m.written[arena].0 {
                marks.set(pattern)?;
            }
        }
        Ok(Ready::Dst { k, arena, whole: kept, pattern: kept, address: 0 })
    }

    fn out_table_ready(&mut self, k: usize) -> Result<Ready> {
        let at = self.n_ins() + k;
        let t = self.tensor(at)?.ok_or_else(|| missing(self.inst.opcode, "outs", k))?;
        let Tensor { loc, pattern: kept, .. } = t;
        let place = self.m.places[loc].0.clone();
        let (lo, _) = place.extent();
        if !self.rehearses() {
            self.present(&place)?;
            note_write(&mut self.m.states[loc], Writer::Row(self.row));
        }
        let whole = place.whole(self.pattern(kept)?.dtype())?;
        self.m.scratch.stage.buffer(at, 0, &self.m.settings.limits)?.whole = Some(whole);
        let address = self.m.program.locations[loc].addr as i64 - lo as i64;
        Ok(Ready::Dst { k, arena: place.arena, whole: Kept::Whole(at), pattern: kept, address })
    }

    /// Touches and accounts a location, row by row.
    fn present(&mut self, place: &LocationInfo) -> Result<()> {
        let (stats, limits) = (&mut *self.m.stats, &self.m.settings.limits);
        let arena = &mut self.m.arenas[place.arena];
        place.runs().try_for_each(|(lo, hi)| arena.touch(lo, hi, &mut |fresh| stats.touch(fresh, limits)))
    }

    /// Makes the views of prepared operands.
    fn views(&mut self, prepared: &[Ready]) -> Result<Opened<'_>> {
        let (opcode, first_index) = (self.inst.opcode, self.n_ins() + self.n_outs());
        let engine = crate::world::spawn::engine_index(self.inst.engine);
        let m = &mut *self.m;
        let rehearsal = m.scratch.rehearsal.as_mut().map(|map| map.region());
        let mut memory = Bases { arenas: m.arenas, rehearsal, found: SmallVec::new() };
        let (program, scratch) = (m.program, &*m.scratch);
        let mut ins = Ins { found: SmallVec::new(), first_index, opcode };
        let mut outs = Outs { found: SmallVec::new(), opcode };
        let mut written: SmallVec<[Span; 2]> = SmallVec::new();
        for ready in prepared {
            // SAFETY of every `from_raw` below: the memory is an arena or a private copy of this machine, which the result borrows,
            // so it is neither released nor moved nor handed out again meanwhile. Nothing that is read is written: an input
            // that meets an output has been copied (`Overlaps`, `reached_tables`) or is `Same`. Outputs are compared here.
            // In a rehearsal inputs, output 0 and output 1 have a region each that is as large as the largest arena.
            let (ptr, len) = match ready {
                Ready::Src { memory: Memory::Arena(arena), .. } | Ready::Table { memory: Memory::Arena(arena), .. } => {
                    memory.of(*arena, 0)
                }
                Ready::Dst { arena, k, .. } => memory.of(*arena, 1 + k),
                Ready::Src { memory: Memory::Copy(k), .. } | Ready::Table { memory: Memory::Copy(k), .. } => {
                    let words = &scratch.stage.0[*k].words;
                    (words.as_ptr().cast_mut().cast(), size_of_val(words.as_slice()))
                }
                Ready::Imm(..) | Ready::Same(_) => (std::ptr::null_mut(), 0),
            };
            match *ready {
                Ready::Imm(k, imm) => ins.found.push((k, Found::Imm(imm))),
                Ready::Same(k) => ins.found.push((k, Found::Tensor(Source::Same))),
                Ready::Src { k, pattern, .. } => {
                    // SAFETY: see above.
                    let src = unsafe { Src::from_raw(ptr, len, find(program, scratch, pattern)?) };
                    ins.found.push((k, Found::Tensor(Source::Apart(src.map_err(|e| e.operand(ins_name(k)))?))));
                }
                Ready::Table { k, whole, pattern, address, .. } => {
                    // SAFETY: see above.
                    let whole = unsafe { Src::from_raw(ptr, len, find(program, scratch, whole)?) }?;
                    let pattern = find(program, scratch, pattern)?;
                    ins.found.push((k, Found::Table(TableOf { whole, pattern, address })));
                }
                Ready::Dst { k, arena, whole, pattern, address } => {
                    let whole = find(program, scratch, whole)?;
                    if let Some((lo, hi)) = whole.extent() {
                        let own = (arena, lo, hi);
                        if written.iter().any(|w| meet(*w, own)) {
                            return Err(Error::new(Code::B001, "two open outputs meet").operand(format!("outs[{k}]")));
                        }
                        written.push(own);
                    }
                    // SAFETY: see above; no other open output has a byte in this range.
                    let whole =
                        unsafe { Dst::from_raw(ptr, len, whole) }.map_err(|e| e.operand(format!("outs[{k}]")))?;
                    let pattern = find(program, scratch, pattern)?;
                    outs.found.push((k, TableOf { whole, pattern, address }));
                }
            }
        }
        let (accumulator, profile) = (&m.accumulators[engine].0, &m.settings.profile);
        Ok(Opened { ins, outs, accumulator, accums: m.accums, rngs: m.rngs, profile })
    }
}

fn note_write(state: &mut LocationState, first_writer: Writer) {
    if !state.written {
        *state = LocationState { written: true, first_writer };
    }
}

/// Makes the bytes of a pattern present; counts those that are new.
fn touch(arena: &mut ArenaMem, pattern: &Pattern, limits: &Limits, fresh: &mut u64) -> Result<()> {
    arena.touch_pattern(pattern, &mut |n| {
        limits.take(n)?;
        *fresh += n;
        Ok(())
    })
}

/// Arena and half-open byte range.
type Span = (ArenaId, i64, i64);

fn meet(a: Span, b: Span) -> bool {
    a.0 == b.0 && a.1 < b.2 && b.1 < a.2
}

fn find<'a>(program: &'a Program, scratch: &'a Scratch, kept: Kept) -> Result<&'a Pattern> {
    let found = match kept {
        Kept::Static(at) => program.patterns.get(at.at()),
        Kept::Dynamic(at) => scratch.dynamic.get(at).map(|d| &d.pattern),
        Kept::Dense(k) => scratch.stage.0.get(k).and_then(|s| s.dense.as_ref()),
        Kept::Whole(k) => scratch.stage.0.get(k).and_then(|s| s.whole.as_ref()),
        Kept::Base(k) => scratch.stage.0.get(k).and_then(|s| s.base.as_ref()),
    };
    found.ok_or_else(lost)
}

/// A pattern of the program.
fn find_static(program: &Program, kept: Kept) -> Result<&Pattern> {
    match kept {
        Kept::Static(at) => program.patterns.get(at.at()).ok_or_else(lost),
        _ => Err(lost()),
    }
}

#[cold]
fn lost() -> Error {
    Error::new(Code::B001, "an operand has lost its pattern")
}

/// First bytes of the arenas in use. Each arena is asked for its bytes once, because asking again would invalidate the
/// pointers that were given before.
struct Bases<'a> {
    arenas: &'a mut [ArenaMem],
    /// Stands in for all of them.
    rehearsal: Option<(*mut u8, usize)>,
    found: SmallVec<[(ArenaId, (*mut u8, usize)); 4]>,
}

impl Bases<'_> {
    /// First byte and length of an arena; `region` is 0 for inputs and 1 + k for output k.
    fn of(&mut self, arena: ArenaId, region: usize) -> (*mut u8, usize) {
        if let Some((start, len)) = self.rehearsal {
            return (start.wrapping_add(region.min(2) * len), len);
        }
        if let Some((_, base)) = self.found.iter().find(|(a, _)| *a == arena) {
            return *base;
        }
        let base = self.arenas[arena].base();
        self.found.push((arena, base));
        base
    }
}
