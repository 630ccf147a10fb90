//! What the code of an opcode asks for ([`Want`]) and what it gets: its operands as views, by their number.

use crate::ir::Opcode;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Imm, Input, Pattern, Source, Src};
use birsim_kernels::accumulate::Accumulator;
use birsim_kernels::{Profile, indirect};
use smallvec::SmallVec;

/// What a binding asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Input, for a kernel that can also work on output 0 in place.
    InPlace(usize),
    /// Input: tensor, immediate or register.
    In(usize),
    /// Input that may be absent.
    Maybe(usize),
    /// Index operand (`indirection_ins`).
    Index(usize),
    /// Input whose whole location indices reach into.
    Table(usize),
    /// Output; its memory is touched and accounted, the write is recorded.
    Out(usize),
    /// Output whose whole location indices reach into. The code of the opcode marks what was really written.
    OutTable(usize),
}

/// The operands of a call, and what else a kernel needs of the machine meanwhile.
pub struct Opened<'a> {
    /// Inputs.
    pub ins: Ins<'a>,
    /// Outputs.
    pub outs: Outs<'a>,
    /// Accumulator of the instruction's engine.
    pub accumulator: &'a Accumulator,
    /// Accumulate shadows, by arena.
    pub accums: &'a mut [AccumShadow],
    /// Random states, by engine.
    pub rngs: &'a mut [EngineRng],
    /// Choices of numerics.
    pub profile: &'a Profile,
}

/// The opened inputs, by their number.
pub struct Ins<'a> {
    pub(super) found: SmallVec<[(usize, Found<'a>); 4]>,
    /// Number of the first index operand, counted over ins, outs, indirection_ins.
    pub(super) first_index: usize,
    pub(super) opcode: Opcode,
}

/// An opened input.
pub(super) enum Found<'a> {
    Imm(Imm),
    Tensor(Source<'a>),
    Table(TableOf<'a, Src<'a>>),
}

/// A view of a whole location, the pattern of the operand in it, and the address of the view's byte 0.
pub struct TableOf<'a, V> {
    pub(super) whole: V,
    pub(super) pattern: &'a Pattern,
    /// Address of byte 0.
    pub address: i64,
}

impl<'a> Ins<'a> {
    fn get(&self, k: usize) -> Option<&Found<'a>> {
        self.found.iter().find(|(at, _)| *at == k).map(|(_, found)| found)
    }

    /// Input `k` as a tensor, which may be output 0 itself.
    pub fn source(&self, k: usize) -> Result<Source<'a>> {
        match self.get(k) {
            Some(Found::Tensor(source)) => Ok(*source),
            _ => Err(missing(self.opcode, "ins", k)),
        }
    }

    /// Input `k` as a tensor of its own.
    pub fn src(&self, k: usize) -> Result<Src<'a>> {
        match self.source(k)? {
            Source::Apart(src) => Ok(src),
            Source::Same => Err(Error::new(Code::B001, "an operand in place was not asked for").operand(ins_name(k))),
        }
    }

    /// Input `k`: tensor, immediate or register.
    pub fn input(&self, k: usize) -> Result<Input<'a>> {
        match self.get(k) {
            Some(Found::Imm(imm)) => Ok(Input::Imm(*imm)),
            _ => self.src(k).map(Input::View),
        }
    }

    /// Input `k`, when present.
    pub fn input_opt(&self, k: usize) -> Result<Option<Input<'a>>> {
        self.get(k).map(|_| self.input(k)).transpose()
    }

    /// Input `k` when it has memory of its own or is a number; `None` when it is output 0 itself.
    pub fn apart(&self, k: usize) -> Result<Option<Input<'a>>> {
        match self.get(k) {
            Some(Found::Tensor(Source::Same)) => Ok(None),
            _ => self.input(k).map(Some),
        }
    }

    /// All opened inputs, which are tensors.
    pub fn tensors(&self) -> Result<Vec<Src<'a>>> {
        self.found.iter().map(|(k, _)| self.src(*k)).collect()
    }

    /// The index operand.
    pub fn index(&self) -> Result<Src<'a>> {
        match self.found.iter().find(|(k, _)| *k >= self.first_index) {
            Some((_, Found::Tensor(Source::Apart(src)))) => Ok(*src),
            _ => Err(missing(self.opcode, "indirection_ins", 0)),
        }
    }

    /// Input `k` as a table. Its accesses go to `log`.
    pub fn table<'b>(&self, k: usize, log: &'b Option<indirect::Log>) -> Result<indirect::Table<'b, Src<'a>>>
    where
        'a: 'b,
    {
        match self.get(k) {
            Some(Found::Table(t)) => {
                Ok(indirect::Table { whole: t.whole, pattern: t.pattern, address: t.address, log: log.as_ref() })
            }
            _ => Err(missing(self.opcode, "ins", k)),
        }
    }
}

/// The opened outputs, by their number. They have no byte in common.
pub struct Outs<'a> {
    pub(super) found: SmallVec<[(usize, TableOf<'a, Dst<'a>>); 2]>,
    pub(super) opcode: Opcode,
}

impl<'a> Outs<'a> {
    /// Output `k`.
    pub fn dst(&mut self, k: usize) -> Result<Dst<'_>> {
        match self.found.iter_mut().find(|(at, _)| *at == k) {
            Some((_, out)) => Ok(out.whole.reborrow()),
            None => Err(missing(self.opcode, "outs", k)),
        }
    }

    /// Both outputs of an instruction that writes them together.
    pub fn pair(&mut self) -> Result<(Dst<'_>, Dst<'_>)> {
        match self.found.as_mut_slice() {
            [(0, a), (1, b)] => Ok((a.whole.reborrow(), b.whole.reborrow())),
            _ => Err(missing(self.opcode, "outs", 1)),
        }
    }

    /// Output `k` as a table. Its accesses go to `log`.
    pub fn table<'b>(&'b mut self, k: usize, log: &'b Option<indirect::Log>) -> Result<indirect::Table<'b, Dst<'b>>> {
        match self.found.iter_mut().find(|(at, _)| *at == k) {
            Some((_, t)) => Ok(indirect::Table {
                whole: t.whole.reborrow(),
                pattern: t.pattern,
                address: t.address,
                log: log.as_ref(),
            }),
            None => Err(missing(self.opcode, "outs", k)),
        }
    }
}

/// Input `k` as messages name it.
pub(super) fn ins_name(k: usize) -> String {
    format!("ins[{k}]")
}
