//! Execution context of one instruction: operands become views (`views`), fields become values (`fields`).

#[macro_use]
mod table;

pub mod activation;
pub mod batchnorm;
pub mod collective;
pub mod control;
pub mod copy;
pub mod cores;
pub mod effects;
pub mod elementwise;
pub mod external;
mod fields;
pub mod fill;
pub mod indirect;
mod machine;
mod opened;
pub mod pe;
pub mod print;
pub mod random;
pub mod refusals;
pub mod registers;
mod resolve;
pub mod search;
pub mod select;
mod views;
mod watch;

pub use fields::Bound;
pub use machine::Machine;
pub use opened::{Ins, Opened, Outs, Want};
pub use table::{kernel, prepare};
pub use watch::Watch;

use crate::memory::overlap::Overlaps;
use crate::world::expr::Ex;
use crate::world::spawn::engine_index;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Profile;
use birsim_kernels::access::{Imm, Pattern};

/// Executes one opcode.
pub type Execute = fn(&mut Cx<'_, '_>) -> Result<()>;

/// One running instruction.
pub struct Cx<'m, 'w> {
    /// The machine.
    pub m: &'m mut Machine<'w>,
    /// Row of the instruction.
    pub row: RowId,
    /// The instruction.
    pub inst: &'w Inst,
    overlaps: Overlaps,
}

impl<'m, 'w> Cx<'m, 'w> {
    /// Makes an instruction ready to run: operands whose address depends on the run are resolved.
    pub fn new(m: &'m mut Machine<'w>, row: RowId) -> Result<Self> {
        let inst = &m.program.insts[row];
        let mut this = Cx { m, row, inst, overlaps: inst.overlaps };
        if !inst.all_static {
            this.overlaps = resolve::dynamic_operands(&mut this)?;
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
    pub fn location_and_pattern(&self, k: usize) -> Result<Option<(LocId, &Pattern)>> {
        self.place_of(k)
    }

    /// The instruction says that it may read memory nothing wrote.
    pub fn may_read_uninit(&self) -> bool {
        self.inst.reads_uninit
    }

    /// (location, pattern) of operand `k`, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    fn place_of(&self, k: usize) -> Result<Option<(LocId, &Pattern)>> {
        Ok(match self.tensor(k)? {
            Some(t) => Some((t.loc, self.pattern(t.pattern)?)),
            None => None,
        })
    }

    fn missing(&self, role: &str, k: usize) -> Error {
        missing(self.inst.opcode, role, k)
    }

    /// An output has bytes in common with an input.
    pub fn in_place(&self) -> bool {
        self.overlaps.any()
    }

    /// A dynamic operand leaves its tensor, and the instruction skips the elements outside (ruling D22).
    pub fn leaves_tensor(&self) -> bool {
        self.m.scratch.open
    }

    /// The arena index of output `k`, for shadow updates.
    pub fn out_arena(&self, k: usize) -> Result<crate::memory::ArenaId> {
        match self.tensor(self.n_ins() + k)? {
            Some(t) => Ok(t.arena),
            None => Err(self.missing("outs", k)),
        }
    }

    /// Location of operand `k` counted over ins, outs, indirection_ins.
    pub fn location(&self, k: usize) -> Result<Option<LocId>> {
        Ok(self.place_of(k)?.map(|(l, _)| l))
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

    /// The number that was written for an immediate input, before it was rounded to its dtype.
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
        let place = &self.m.places[loc].0;
        let first = pattern.first_byte().map_or(place.start, |byte| byte.max(0) as u64);
        let inside = first.saturating_sub(place.start);
        // On chip an address counts inside a partition.
        let inside = if place.ty.is_dram() { inside } else { inside % place.row_stride.max(1) };
        Ok(self.m.program.locations[loc].addr.wrapping_add(inside))
    }

    /// Register named by input `k`.
    pub fn in_register(&self, k: usize) -> Option<RegRef> {
        match self.operand(k) {
            Some(Opnd::Register(r, _)) if k < self.n_ins() => Some(*r),
            _ => None,
        }
    }

    /// Index of the instruction's engine among those of the machine.
    pub fn engine(&self) -> usize {
        engine_index(self.inst.engine)
    }

    /// Takes the host generator, which [`Cx::put_host_rng`] gives back.
    pub fn take_host_rng(&mut self) -> birsim_kernels::rng::Mt19937_64 {
        let seed = self.m.settings.seed;
        self.m.host_rng.0.take().unwrap_or_else(|| birsim_kernels::rng::Mt19937_64::new(seed))
    }

    /// Gives the host generator back.
    pub fn put_host_rng(&mut self, rng: birsim_kernels::rng::Mt19937_64) {
        self.m.host_rng.0 = Some(rng);
    }

    /// Machine partition of lane 0 of output `k`.
    pub fn first_partition(&self, k: usize) -> Result<usize> {
        self.partition_of(self.n_ins() + k)
    }

    /// Machine partition of lane 0 of operand `k`, counted over ins, outs, indirection_ins.
    pub fn partition_of(&self, k: usize) -> Result<usize> {
        Ok(match self.place_of(k)? {
            Some((loc, pattern)) => {
                let p = &self.m.places[loc].0;
                let first = pattern.first_byte().unwrap_or(p.start as i64);
                let row = first.saturating_sub(p.start as i64).max(0) as u64 / p.row_stride.max(1);
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

    /// Memory of output `k`.
    pub fn out_memory(&self, k: usize) -> Result<crate::ir::MemoryType> {
        match self.place_of(self.n_ins() + k)? {
            Some((loc, _)) => Ok(self.m.places[loc].0.ty),
            None => Err(self.missing("outs", k)),
        }
    }

    /// Evaluates an expression in the current environment.
    pub fn eval(&self, ex: &Ex) -> Result<i64> {
        ex.eval(&self.scalars())
    }

    fn scalars(&self) -> Scalars<'_> {
        Scalars { registers: self.m.registers, induction: self.m.induction, seat: self.m.settings.seat }
    }
}

/// Bits of a 64-bit value as an element of `dtype`, extended by its signedness.
fn cut(value: u64, dtype: birsim_kernels::Dtype) -> u64 {
    let shift = 64 - dtype.size() as u32 * 8;
    if dtype.is_signed() { (((value << shift) as i64) >> shift) as u64 } else { value << shift >> shift }
}
