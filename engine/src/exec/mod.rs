//! Execution context of one instruction: operands become views, fields become values.
//!
//! This is the only place that joins patterns with arena memory.

pub mod activation;
pub mod batchnorm;
pub mod collective;
pub mod control;
pub mod copy;
pub mod cores;
pub mod elementwise;
pub mod external;
pub mod fill;
pub mod indirect;
pub mod pe;
pub mod print;
pub mod random;
pub mod registers;
mod resolve;
pub mod search;
pub mod select;

pub use resolve::Resolved;

use crate::memory::ArenaMem;
use crate::world::expr::{Env, Ex};
use crate::world::spawn::engine_index;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Imm, Input, Pattern, Src};
use birsim_kernels::accumulate::Accumulator;
use birsim_kernels::{Named, Profile};

/// Executes one opcode.
pub type Execute = fn(&mut Cx<'_, '_>) -> Result<()>;

/// Everything a running instruction may touch: slices of the world's components.
pub struct Machine<'w> {
    /// Compiled program.
    pub program: &'w Program,
    /// Arena bytes.
    pub arenas: &'w mut [ArenaMem],
    /// Initialisation shadows.
    pub inits: &'w mut [InitShadow],
    /// Accumulate shadows.
    pub accums: &'w mut [AccumShadow],
    /// Placements of the locations.
    pub places: &'w [Placement],
    /// What happened to the locations.
    pub states: &'w mut [LocationState],
    /// Register files, by engine.
    pub registers: &'w mut [RegisterFile],
    /// Accumulators, by engine.
    pub accumulators: &'w mut [Accumulators],
    /// Random states, by engine.
    pub rngs: &'w mut [EngineRng],
    /// Loop axes.
    pub induction: &'w [Induction],
    /// Trigger fire counts.
    pub fires: &'w mut [FireCount],
    /// Settings.
    pub settings: &'w Settings,
    /// Run state.
    pub run: &'w mut Run,
    /// Observers, when there are any.
    pub hooks: Option<&'w mut crate::check::Hooks>,
}

/// Register values as expressions and branches see them.
pub struct Scalars<'a> {
    /// Register files, by engine.
    pub registers: &'a [RegisterFile],
    /// Loop axes.
    pub induction: &'a [Induction],
    /// Core id.
    pub core: u32,
}

impl Env for Scalars<'_> {
    fn axis(&self, axis: u32) -> Result<i64> {
        match self.induction.get(axis as usize) {
            Some(i) if i.live => Ok(i.value),
            _ => Err(Error::new(Code::B001, "an axis is used outside its loop").received(axis)),
        }
    }

    fn register(&self, reg: RegRef) -> Result<i64> {
        Ok(read_register(self.registers, reg))
    }

    fn core(&self) -> i64 {
        i64::from(self.core)
    }
}

/// Value of a register, extended to 64 bits by its signedness.
pub fn read_register(files: &[RegisterFile], reg: RegRef) -> i64 {
    let file = &files[engine_index(reg.engine)];
    let raw = if reg.physical {
        let lo = u64::from(file.physical[reg.slot as usize]);
        let hi = if reg.wide { u64::from(file.physical[reg.slot as usize + 1]) } else { 0 };
        lo | hi << 32
    } else {
        file.symbolic[reg.slot as usize]
    };
    match (reg.wide, reg.signed) {
        (true, _) => raw as i64,
        (false, true) => i64::from(raw as u32 as i32),
        (false, false) => i64::from(raw as u32),
    }
}

/// Stores a register value, cut to the register's width.
pub fn write_register(files: &mut [RegisterFile], reg: RegRef, value: u64) {
    let file = &mut files[engine_index(reg.engine)];
    if reg.physical {
        file.physical[reg.slot as usize] = value as u32;
        if reg.wide {
            file.physical[reg.slot as usize + 1] = (value >> 32) as u32;
        }
    } else {
        file.symbolic[reg.slot as usize] = if reg.wide { value } else { value & 0xFFFF_FFFF };
    }
}

/// One running instruction.
pub struct Cx<'m, 'w> {
    /// The machine.
    pub m: &'m mut Machine<'w>,
    /// Payload of the instruction.
    pub payload: u32,
    /// The instruction.
    pub inst: &'w Inst,
    stage: u32,
}

impl<'m, 'w> Cx<'m, 'w> {
    /// Prepares an instruction: dynamic operands are resolved, staging is decided.
    pub fn new(m: &'m mut Machine<'w>, payload: u32) -> Result<Self> {
        let inst = &m.program.insts[payload as usize];
        let mut this = Cx { m, payload, inst, stage: inst.stage };
        if !inst.all_static {
            this.stage = resolve::dynamic_operands(&mut this)?;
        }
        Ok(this)
    }

    /// Choices of numerics.
    pub fn profile(&self) -> &'w Profile {
        &self.m.settings.profile
    }

    /// Number of inputs.
    pub fn n_ins(&self) -> usize {
        self.inst.operands.ins as usize
    }

    /// Number of outputs.
    pub fn n_outs(&self) -> usize {
        self.inst.operands.outs as usize
    }

    fn operand(&self, k: usize) -> Option<&'w Opnd> {
        self.m.program.operands.get(self.inst.operands.first as usize + k)
    }

    /// The compiled operand `k`, counted over ins, outs, indirection_ins.
    pub fn operand_at(&self, k: usize) -> Option<&'w Opnd> {
        self.operand(k)
    }

    /// (location, pattern) of operand `k`, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    pub fn location_and_pattern(&self, k: usize) -> Result<Option<(u32, Pattern)>> {
        self.place_of(k)
    }

    /// The instruction says that it may read memory nothing wrote.
    pub fn may_read_uninit(&self) -> bool {
        let field = self.inst.opcode.row().field_index("can_read_uninit");
        field.is_some_and(|k| matches!(self.inst.fields[k], FieldValue::Int(1)))
    }

    /// (location, pattern) of operand `k`, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    fn place_of(&self, k: usize) -> Result<Option<(u32, Pattern)>> {
        match self.operand(k) {
            Some(Opnd::Static { loc, pattern }) => Ok(Some((*loc, self.m.program.patterns[*pattern as usize].clone()))),
            Some(Opnd::Dynamic(_)) => {
                Ok(self.m.run.dynamic.iter().find(|d| d.operand == k).map(|d| (d.loc, d.pattern.clone())))
            }
            Some(Opnd::Faulty(e)) => Err((**e).clone()),
            _ => Ok(None),
        }
    }

    fn missing(&self, role: &str, k: usize) -> Error {
        Error::new(Code::J009, format!("{} needs a tensor operand here", self.inst.opcode))
            .operand(format!("{role}[{k}]"))
    }

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

    /// A private copy of an input; never-written bytes read as 0xFF.
    fn staged(&mut self, k: usize, arena: usize, pattern: Pattern) -> Result<Src<'w>> {
        let nums: arrayvec::ArrayVec<u32, 8> = pattern.pairs().iter().map(|p| p.num).collect();
        let dense = Pattern::dense(pattern.dtype(), &nums)?;
        let bytes = pattern.len() * pattern.dtype().size();
        if self.m.run.stage.len() <= k {
            self.m.run.stage.resize_with(k + 1, Vec::new);
        }
        let buffer = &mut self.m.run.stage[k];
        buffer.resize(bytes.div_ceil(8), 0);
        let out: &mut [u8] = &mut bytemuck::cast_slice_mut(buffer.as_mut_slice())[..bytes];
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
    /// view's byte 0. The location is copied first when an output lies in it.
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
            // SAFETY: as in `input_at`; no output lies in this location.
            return Ok((unsafe { self.m.arenas[arena].src(whole) }?, pattern, address));
        }
        if self.m.run.stage.len() <= k {
            self.m.run.stage.resize_with(k + 1, Vec::new);
        }
        let buffer = &mut self.m.run.stage[k];
        buffer.resize((hi - lo).div_ceil(8), 0);
        let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(buffer.as_mut_slice())[..hi - lo];
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
        // Which entries are written is the kernel's secret; none of them is taken for unwritten.
        if let Some(shadow) = &mut self.m.inits[arena].0 {
            shadow.set(&whole, true);
        }
        let address = self.m.program.locations[loc as usize].addr as i64 - lo as i64;
        // SAFETY: as in `input_at`; sources in the same location have been copied by `table_src` or staged.
        Ok((unsafe { self.m.arenas[arena].dst(whole) }?, pattern, address))
    }

    /// Touches and accounts a byte range of an arena.
    fn present(&mut self, arena: usize, lo: usize, hi: usize) -> Result<()> {
        let fresh = self.m.arenas[arena].touch(lo, hi)?;
        self.m.run.touch(fresh, &self.m.settings.limits)
    }

    /// A dynamic operand leaves its tensor and the instruction skips what lies outside (ruling D22).
    pub fn open(&self) -> bool {
        self.m.run.open
    }

    /// The arena index of output `k`, for shadow updates.
    pub fn out_arena(&self, k: usize) -> Result<usize> {
        match self.place_of(self.n_ins() + k)? {
            Some((loc, _)) => Ok(self.m.places[loc as usize].0.arena as usize),
            None => Err(self.missing("outs", k)),
        }
    }

    /// Location of operand `k` counted over ins, outs, indirection_ins.
    pub fn location(&self, k: usize) -> Result<Option<u32>> {
        Ok(self.place_of(k)?.map(|(l, _)| l))
    }

    /// Input `k`: tensor, immediate or register.
    pub fn input(&mut self, k: usize) -> Result<Input<'w>> {
        Ok(match self.scalar(k)? {
            Some(imm) => Input::Imm(imm),
            None => Input::View(self.src(k)?),
        })
    }

    /// Input `k`, when present.
    pub fn input_opt(&mut self, k: usize) -> Result<Option<Input<'w>>> {
        if k < self.n_ins() { self.input(k).map(Some) } else { Ok(None) }
    }

    /// Input `k` as a scalar, when it is an immediate or a register.
    pub fn scalar(&self, k: usize) -> Result<Option<Imm>> {
        if k >= self.n_ins() {
            return Err(self.missing("ins", k));
        }
        Ok(match self.operand(k) {
            Some(Opnd::Imm { imm, .. }) => Some(*imm),
            Some(Opnd::SymbolicImm(s)) => {
                let at = self.eval(&s.2)?;
                let pick = usize::try_from(at).ok().and_then(|i| s.1.get(i));
                Some(*pick.ok_or_else(|| {
                    Error::new(Code::S014, "the index of a symbolic immediate is outside its list")
                        .received(format!("{at} of {}", s.1.len()))
                        .operand(format!("ins[{k}]"))
                })?)
            }
            Some(Opnd::Register(reg, dtype)) => {
                let value = read_register(self.m.registers, *reg) as u64;
                Some(Imm { dtype: *dtype, bits: cut(value, *dtype) })
            }
            _ => None,
        })
    }

    /// Input `k` as an immediate array.
    pub fn array(&self, k: usize) -> Option<&'w [Imm]> {
        match self.operand(k) {
            Some(Opnd::ImmArray(a)) if k < self.n_ins() => Some(a),
            _ => None,
        }
    }

    /// The number an immediate input was written as.
    pub fn number(&self, k: usize) -> Option<f64> {
        match self.operand(k) {
            Some(Opnd::Imm { number, .. }) if k < self.n_ins() => Some(*number),
            _ => None,
        }
    }

    /// Register named by output `k`.
    pub fn out_register(&self, k: usize) -> Result<Option<RegRef>> {
        match self.operand(self.n_ins() + k) {
            Some(Opnd::Register(r, _)) if k < self.n_outs() => Ok(Some(*r)),
            Some(Opnd::Faulty(e)) if k < self.n_outs() => Err((**e).clone()),
            _ => Ok(None),
        }
    }

    /// Byte address of the first element of input `k`, as the program declares addresses.
    pub fn address_of(&self, k: usize) -> Result<u64> {
        let Some((loc, pattern)) = self.place_of(k)? else { return Err(self.missing("ins", k)) };
        let place = &self.m.places[loc as usize].0;
        let first = if pattern.is_empty() { place.start } else { pattern.byte_of(0, 0).max(0) as u64 };
        let inside = first.saturating_sub(place.start);
        // On chip an address counts inside a partition.
        let inside = if place.ty.is_dram() { inside } else { inside % place.row_stride.max(1) };
        Ok(self.m.program.locations[loc as usize].addr.wrapping_add(inside))
    }

    /// Register named by input `k`.
    pub fn in_register(&self, k: usize) -> Option<RegRef> {
        match self.operand(k) {
            Some(Opnd::Register(r, _)) if k < self.n_ins() => Some(*r),
            _ => None,
        }
    }

    /// Accumulator of the instruction's engine.
    pub fn accumulator(&self) -> &Accumulator {
        &self.m.accumulators[engine_index(self.inst.engine)].0
    }

    /// Random states of the instruction's engine.
    pub fn rng(&mut self) -> &mut birsim_kernels::rng::DeviceRng {
        &mut self.m.rngs[engine_index(self.inst.engine)].0
    }

    /// The host generator.
    pub fn host_rng(&mut self) -> &mut birsim_kernels::rng::Mt19937_64 {
        let seed = self.m.settings.seed;
        self.m.run.host_rng.get_or_insert_with(|| birsim_kernels::rng::Mt19937_64::new(seed))
    }

    /// Partition of the machine that lane 0 of output `k` lies in.
    pub fn first_partition(&self, k: usize) -> Result<usize> {
        self.partition_of(self.n_ins() + k)
    }

    /// Partition of the machine that lane 0 of operand `k` (over ins, outs, indirection_ins) lies in.
    pub fn partition_of(&self, k: usize) -> Result<usize> {
        Ok(match self.place_of(k)? {
            Some((loc, pattern)) => {
                let p = &self.m.places[loc as usize].0;
                let row = pattern.byte_of(0, 0).saturating_sub(p.start as i64).max(0) as u64 / p.row_stride.max(1);
                (p.base + row) as usize
            }
            None => 0,
        })
    }

    /// Element type of output `k`.
    pub fn out_dtype(&self, k: usize) -> Result<birsim_kernels::Dtype> {
        match self.place_of(self.n_ins() + k)? {
            Some((_, p)) => Ok(p.dtype()),
            None => Err(self.missing("outs", k)),
        }
    }

    /// Memory that output `k` lies in.
    pub fn out_memory(&self, k: usize) -> Result<crate::ir::MemoryType> {
        match self.place_of(self.n_ins() + k)? {
            Some((loc, _)) => Ok(self.m.places[loc as usize].0.ty),
            None => Err(self.missing("outs", k)),
        }
    }

    /// Some tensor operand lies in PSUM.
    pub fn any_in_psum(&self) -> Result<bool> {
        for k in 0..self.n_ins() + self.n_outs() {
            if let Some((loc, _)) = self.place_of(k)?
                && self.m.places[loc as usize].0.ty == crate::ir::MemoryType::Psum
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Evaluates an expression in the present environment.
    pub fn eval(&self, ex: &Ex) -> Result<i64> {
        let env = Scalars { registers: self.m.registers, induction: self.m.induction, core: self.m.settings.core };
        ex.eval(&env)
    }

    fn field_error(&self, k: usize, what: &str) -> Error {
        let key = self.inst.opcode.row().fields.get(k).map_or("?", |f| f.key);
        Error::new(Code::J003, format!("the key {key} {what}")).operand(key)
    }

    /// Integer field.
    pub fn int(&self, k: usize) -> Result<i64> {
        self.int_opt(k)?.ok_or_else(|| self.field_error(k, "is missing"))
    }

    /// Integer field that may be absent.
    pub fn int_opt(&self, k: usize) -> Result<Option<i64>> {
        Ok(match &self.inst.fields[k] {
            FieldValue::Absent => None,
            FieldValue::Int(v) => Some(*v),
            FieldValue::Float(x) if x.fract() == 0.0 && x.abs() < 9e18 => Some(*x as i64),
            FieldValue::Ex(e) => Some(self.eval(e)?),
            _ => return Err(self.field_error(k, "is not an integer")),
        })
    }

    /// Flag field; absent means false.
    pub fn flag(&self, k: usize) -> Result<bool> {
        Ok(self.int_opt(k)?.unwrap_or(0) != 0)
    }

    /// Float field.
    pub fn float(&self, k: usize) -> Result<f64> {
        match &self.inst.fields[k] {
            FieldValue::Float(x) => Ok(*x),
            _ => self.int(k).map(|i| i as f64),
        }
    }

    /// Enumeration field.
    pub fn named<T: Named>(&self, k: usize) -> Result<T> {
        self.named_opt(k)?.ok_or_else(|| self.field_error(k, "is missing"))
    }

    /// Enumeration field that may be absent.
    pub fn named_opt<T: Named>(&self, k: usize) -> Result<Option<T>> {
        match self.int_opt(k)? {
            None => Ok(None),
            Some(v) => u8::try_from(v)
                .ok()
                .and_then(T::from_ordinal)
                .map(Some)
                .ok_or_else(|| self.field_error(k, "has no such value").received(v)),
        }
    }

    /// List of integers, evaluated; empty when absent.
    pub fn ints(&self, k: usize) -> Result<Vec<i64>> {
        match &self.inst.fields[k] {
            FieldValue::Exs(list) => list.iter().map(|e| self.eval(e)).collect(),
            FieldValue::Absent => Ok(Vec::new()),
            _ => Err(self.field_error(k, "is not a list of integers")),
        }
    }

    /// A pair of integers, when present.
    pub fn pair_opt(&self, k: usize) -> Result<Option<[i64; 2]>> {
        match &self.inst.fields[k] {
            FieldValue::Absent => Ok(None),
            FieldValue::Exs(list) => match list.as_ref() {
                [a, b] => Ok(Some([self.eval(a)?, self.eval(b)?])),
                _ => Err(self.field_error(k, "is not a pair of integers")),
            },
            _ => Err(self.field_error(k, "is not a pair of integers")),
        }
    }

    /// Any other field, as in the module.
    pub fn cold(&self, k: usize) -> Option<&'w crate::ir::Value> {
        match &self.inst.fields[k] {
            FieldValue::Cold(v) => Some(v),
            _ => None,
        }
    }
}

/// Bits of a 64-bit value as an element of `dtype`, extended by its signedness.
fn cut(value: u64, dtype: birsim_kernels::Dtype) -> u64 {
    let shift = 64 - dtype.size() as u32 * 8;
    if dtype.is_signed() { (((value << shift) as i64) >> shift) as u64 } else { value << shift >> shift }
}
