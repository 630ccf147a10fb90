//! What a front end appends: blocks of native instructions.
//!
//! Names are numbers here: locations and registers are numbered by the front end, fields by their place in the opcode's
//! row, source lines by their place in [`super::Sources`]. A block owns its operands in a few lists, so appending an
//! instruction allocates nothing once the lists have grown, and a block that was appended can be cleared and filled again.

use super::SourceId;
use crate::ir::{ApPair, Engine, ImmValue, MemoryType, Opcode, TensorKind};
use crate::world::expr::Ex;
use crate::world::{FieldValue, RegRef, VectorSpec};
use birsim_kernels::Dtype;
use birsim_kernels::access::Imm;
use std::sync::Arc;

/// A location of one core. The front end chooses the number and uses each only once per core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocationId {
    /// Core.
    pub core: u32,
    /// Number.
    pub number: u32,
}

/// A scalar register of a core, shared by its engines. The front end chooses the number; registers need no declaration
/// and start with all bits set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Number.
    pub number: u32,
    /// Element type: its width and signedness decide how the register is read.
    pub dtype: Dtype,
}

impl Register {
    /// The register as operands and expressions name it.
    pub fn reference(self) -> RegRef {
        RegRef {
            engine: Engine::All,
            slot: self.number,
            physical: false,
            wide: self.dtype.size() == 8,
            signed: self.dtype.is_signed(),
        }
    }

    /// Its value in an expression.
    pub fn value(self) -> Ex {
        Ex::Reg(self.reference())
    }
}

/// What a location is.
#[derive(Clone, Debug, PartialEq)]
pub struct LocationSpec {
    /// Name, for messages.
    pub name: Box<str>,
    /// Element type.
    pub dtype: Dtype,
    /// Shape. On chip the first dimension counts partitions.
    pub shape: Box<[u64]>,
    /// Memory.
    pub memory: MemoryType,
    /// Role.
    pub kind: TensorKind,
    /// First partition.
    pub partition: u64,
    /// Byte address inside a partition, or in device memory, as the program states it. Locations never share memory
    /// because their addresses do.
    pub address: u64,
    /// Locations of several cores that have the same text here are copies of one tensor.
    pub share: Option<Box<str>>,
}

impl LocationSpec {
    /// An internal tensor at partition 0.
    pub fn new(name: &str, memory: MemoryType, dtype: Dtype, shape: &[u64]) -> Self {
        LocationSpec {
            name: name.into(),
            dtype,
            shape: shape.into(),
            memory,
            kind: TensorKind::Internal,
            partition: 0,
            address: 0,
            share: None,
        }
    }

    /// The same with another role.
    #[must_use]
    pub fn kind(self, kind: TensorKind) -> Self {
        LocationSpec { kind, ..self }
    }

    /// The same as one copy of a tensor that cores share.
    #[must_use]
    pub fn share(self, key: &str) -> Self {
        LocationSpec { share: Some(key.into()), ..self }
    }
}

/// Elements of a location. Offset and steps count elements of `dtype`; the first pair counts partitions on chip.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// Location.
    pub location: LocationId,
    /// Element type of the access.
    pub dtype: Dtype,
    /// First element.
    pub offset: i64,
    /// [step, num] pairs, outermost first.
    pub pairs: &'a [ApPair],
    /// What is added to the offset when the instruction runs.
    pub dynamic: Option<Dynamic>,
}

impl<'a> View<'a> {
    /// A view whose address is known now.
    pub fn new(location: LocationId, dtype: Dtype, offset: i64, pairs: &'a [ApPair]) -> Self {
        View { location, dtype, offset, pairs, dynamic: None }
    }
}

/// The part of an address that is known when the instruction runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dynamic {
    /// Elements.
    pub scalar: Option<Ex>,
    /// An index operand that drives one axis.
    pub vector: Option<VectorSpec>,
}

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `ins`.
    In,
    /// `outs`.
    Out,
    /// `indirection_ins`.
    Index,
}

#[derive(Clone, Debug)]
pub(super) enum Arg {
    Tensor { location: LocationId, dtype: Dtype, offset: i64, pairs: (u32, u32), dynamic: Option<Box<Dynamic>> },
    Imm(Dtype, ImmValue),
    Array(Arc<[Imm]>),
    Register(Register),
}

/// A loop around a body.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    Repeat { lb: Ex, ub: Ex, step: Ex },
    DoWhile(Ex),
}

#[derive(Clone, Debug)]
pub(super) struct Instr {
    pub opcode: Opcode,
    pub engine: Engine,
    pub source: SourceId,
    pub auto_accumulate: bool,
    /// First of its operands and their number; likewise its fields.
    pub args: (u32, u32),
    pub fields: (u32, u32),
    pub body: Option<Box<(Flow, Block)>>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Instr(Instr),
    Declare(LocationId, Box<LocationSpec>),
    Release(LocationId),
}

/// A list of native instructions, with the locations they declare and release.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub(super) steps: Vec<Step>,
    pub(super) args: Vec<(Role, Arg)>,
    pub(super) pairs: Vec<ApPair>,
    pub(super) fields: Vec<(u32, FieldValue)>,
    instructions: usize,
}

impl Block {
    /// An empty block.
    pub fn new() -> Self {
        Block::default()
    }

    /// Number of instructions, those of loop bodies included.
    pub fn len(&self) -> usize {
        self.instructions
    }

    /// No step was added.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Removes all steps and keeps the memory of the lists.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.args.clear();
        self.pairs.clear();
        self.fields.clear();
        self.instructions = 0;
    }

    /// Declares a location, before the instructions that name it.
    pub fn declare(&mut self, id: LocationId, spec: LocationSpec) {
        self.steps.push(Step::Declare(id, Box::new(spec)));
    }

    /// Frees a location when everything before has run. Inside a loop body it is freed when the loop has ended.
    pub fn release(&mut self, id: LocationId) {
        self.steps.push(Step::Release(id));
    }

    /// Adds an instruction. Without an engine ([`Engine::Unassigned`]) it runs where its opcode usually does.
    pub fn instr(&mut self, opcode: Opcode, engine: Engine, source: SourceId) -> Adding<'_> {
        self.push(opcode, engine, source, None);
        Adding { block: self }
    }

    /// Adds a loop that counts from `lb` in steps of `step` while below `ub`. Its induction value is `Ex::Axis(depth)` in
    /// the body, where the outermost loop has depth 0.
    pub fn repeat(&mut self, (lb, ub, step): (Ex, Ex, Ex), source: SourceId, body: Block) {
        let fixed = [&lb, &ub, &step].iter().all(|e| e.as_const().is_some());
        let opcode = if fixed { Opcode::Loop } else { Opcode::DynamicForLoop };
        self.push(opcode, Engine::All, source, Some((Flow::Repeat { lb, ub, step }, body)));
    }

    /// Adds a loop that runs its body again while `cond`, looked at after the body, is not zero.
    pub fn do_while(&mut self, cond: Ex, source: SourceId, body: Block) {
        self.push(Opcode::DoWhile, Engine::All, source, Some((Flow::DoWhile(cond), body)));
    }

    fn push(&mut self, opcode: Opcode, engine: Engine, source: SourceId, body: Option<(Flow, Block)>) {
        self.instructions += 1 + body.as_ref().map_or(0, |(_, b)| b.len());
        self.steps.push(Step::Instr(Instr {
            opcode,
            engine,
            source,
            auto_accumulate: false,
            args: (self.args.len() as u32, 0),
            fields: (self.fields.len() as u32, 0),
            body: body.map(Box::new),
        }));
    }
}

/// The instruction that was added last; operands of one role are added in order.
pub struct Adding<'b> {
    block: &'b mut Block,
}

impl Adding<'_> {
    /// A tensor operand.
    pub fn view(self, role: Role, v: View) -> Self {
        let pairs = (self.block.pairs.len() as u32, v.pairs.len() as u32);
        self.block.pairs.extend_from_slice(v.pairs);
        let dynamic = v.dynamic.map(Box::new);
        self.arg(role, Arg::Tensor { location: v.location, dtype: v.dtype, offset: v.offset, pairs, dynamic })
    }

    /// An input.
    pub fn input(self, v: View) -> Self {
        self.view(Role::In, v)
    }

    /// An output.
    pub fn output(self, v: View) -> Self {
        self.view(Role::Out, v)
    }

    /// An immediate input.
    pub fn imm(self, dtype: Dtype, value: ImmValue) -> Self {
        self.arg(Role::In, Arg::Imm(dtype, value))
    }

    /// An input that is a list of immediates.
    pub fn array(self, values: Arc<[Imm]>) -> Self {
        self.arg(Role::In, Arg::Array(values))
    }

    /// A register operand.
    pub fn register(self, role: Role, register: Register) -> Self {
        self.arg(role, Arg::Register(register))
    }

    /// Value of the field at this place of the opcode's row; fields that are not set have their default.
    pub fn field(mut self, k: usize, value: FieldValue) -> Self {
        self.block.fields.push((k as u32, value));
        self.last(|i| i.fields.1 += 1);
        self
    }

    /// A matmul whose first write of an element copies and whose later ones add, whatever its flag says.
    pub fn auto_accumulate(mut self) -> Self {
        self.last(|i| i.auto_accumulate = true);
        self
    }

    fn arg(mut self, role: Role, arg: Arg) -> Self {
        self.block.args.push((role, arg));
        self.last(|i| i.args.1 += 1);
        self
    }

    fn last(&mut self, f: impl FnOnce(&mut Instr)) {
        if let Some(Step::Instr(i)) = self.block.steps.last_mut() {
            f(i);
        }
    }
}
