//! The compiled program: what entities point into. Immutable while a block runs.

use super::*;
use crate::ir::{
    BranchCompare, Engine, MemoryType, Opcode, PredicateOp, Rule, SyncKind, TensorKind, UpdateMode, Value, WaitMode,
    When,
};
use crate::world::expr::Ex;
use crate::world::source::{SourceId, Sources};
use bevy_ecs::prelude::Resource;
use birsim_kernels::access::Pattern;
use birsim_kernels::{Code, Dtype, Error};
use std::borrow::Cow;

/// A field ready for execution.
#[derive(Clone, Debug)]
pub enum FieldValue {
    /// Neither written nor defaulted.
    Absent,
    /// Flag, integer, raw bits or enumeration ordinal.
    Int(i64),
    /// Number.
    Float(f64),
    /// Evaluated at every execution.
    Ex(Ex),
    /// List evaluated at every execution.
    Exs(Box<[Ex]>),
    /// Anything else, as in the module.
    Cold(Box<Value>),
}

/// A predicate ready for execution.
#[derive(Clone, Debug)]
pub struct CompiledPredicate {
    /// Left side.
    pub ex: Ex,
    /// Relation to zero.
    pub op: PredicateOp,
}

/// Whether a rule of an opcode's row holds for an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Never.
    #[default]
    No,
    /// Always.
    Yes,
    /// A key that depends on the run decides.
    Open,
}

/// The rules of a row that stages of the machine ask for, decided for one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// [`Rule::Adds`].
    pub adds: Form,
    /// [`Rule::VectorAddress`].
    pub vector_address: Form,
    /// [`Rule::SkipsOutside`].
    pub skips_outside: Form,
}

impl Forms {
    /// Decides what the keys decide.
    pub fn of(draft: &Draft) -> Self {
        let row = draft.opcode.row();
        let form = |conditions: Option<&[When]>| match conditions.map(|c| draft.met(c)) {
            None | Some(Ok(false)) => Form::No,
            Some(Ok(true)) => Form::Yes,
            Some(Err(_)) => Form::Open,
        };
        Forms {
            adds: form(Some(row.rule(|r| matches!(r, Rule::Adds(_))).unwrap_or_default())),
            vector_address: form(row.rule(|r| matches!(r, Rule::VectorAddress(_)))),
            skips_outside: form(row.rule(|r| matches!(r, Rule::SkipsOutside(_)))),
        }
    }

    /// Something depends on the run.
    pub fn open(self) -> bool {
        [self.adds, self.vector_address, self.skips_outside].contains(&Form::Open)
    }
}

/// A row of the program: one instruction.
#[derive(Debug)]
pub struct Inst {
    /// InstructionType.
    pub opcode: Opcode,
    /// Engine as written.
    pub engine: Engine,
    /// Name.
    pub name: Box<str>,
    /// Own keys.
    pub own: Own,
    /// Operands: `ins`, then `outs`, then `indirection_ins`.
    pub operands: super::OperandRange,
    /// Predicates.
    pub predicates: Box<[CompiledPredicate]>,
    /// Which static inputs overlap static outputs.
    pub overlaps: crate::memory::overlap::Overlaps,
    /// All operands are static.
    pub all_static: bool,
    /// No operand whose address depends on the run can meet another one, so `overlaps` is complete.
    pub apart: bool,
    /// Reads every element before it writes the same element.
    pub in_place: bool,
    /// What the keys decide about its form.
    pub forms: Forms,
    /// It may read memory that nothing wrote.
    pub reads_uninit: bool,
    /// Own blocks of loops, as an index into [`Program::lists`].
    pub body: Option<ListId>,
    /// Role of a control instruction.
    pub control: Control,
    /// Its block.
    pub block: BlockId,
    /// Position in the block, counting instructions in list order.
    pub index: u32,
    /// Where it was written.
    pub source: Origin,
    /// A matmul that decides by the accumulate marks alone, whatever its flag says.
    pub auto_accumulate: bool,
}

/// Where an instruction was written.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// Nobody says.
    #[default]
    Unknown,
    /// `file:line` of the module's debug information.
    Text(Box<str>),
    /// A line of a front end's program; such instructions have no name.
    Native(SourceId),
}

/// What an instruction does to the flow of control.
#[derive(Clone, Debug, Default)]
pub enum Control {
    /// Nothing.
    #[default]
    None,
    /// Static loop.
    Loop {
        /// Axis.
        axis: AxisId,
        /// Bounds; constant expressions for Loop, any for DynamicForLoop.
        lb: Ex,
        /// Upper bound.
        ub: Ex,
        /// Step.
        stride: Ex,
        /// Ruling D35: no axis or all zero runs the body once.
        degenerate: bool,
    },
    /// Post-tested loop over a register.
    DoWhile(Ex),
    /// Jumps to a block.
    Jump(BlockId),
    /// Jumps to one of two blocks.
    Branch {
        /// Comparison.
        op: BranchCompare,
        /// Taken.
        on_true: Option<BlockId>,
        /// Not taken.
        on_false: Option<BlockId>,
    },
    /// Ends the innermost loop.
    Break,
    /// Leaves the function.
    Return,
    /// Ends the run.
    Exit,
    /// Runs a function with these (formal set, actual set) bindings.
    Call {
        /// Callee.
        function: FunctionId,
        /// Bindings.
        bindings: Box<[(SetId, SetId)]>,
    },
    /// Fires a trigger of a queue.
    Trigger {
        /// Trigger entity index.
        trigger: TriggerId,
        /// DMABlocks in firing order: rows of the DMABlock instructions.
        blocks: Box<[RowId]>,
    },
    /// A DMABlock: rows of its descriptors.
    Descriptors(Box<[RowId]>),
    /// SwitchQueueInstance / ResetQueueInstance.
    Rewind {
        /// Semaphores to clear.
        clear: Box<[u32]>,
        /// Triggers to rewind.
        triggers: Box<[TriggerId]>,
    },
}

/// One compiled wait.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Event or semaphore.
    pub kind: SyncKind,
    /// Identifier.
    pub id: u32,
    /// Condition.
    pub mode: WaitMode,
    /// Awaited value.
    pub value: u32,
    /// Register of `sem-ge-reg`.
    pub reg: Option<RegRef>,
}

/// One compiled update.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// Event or semaphore.
    pub kind: SyncKind,
    /// Identifier.
    pub id: u32,
    /// Effect.
    pub mode: UpdateMode,
    /// Operand of the effect.
    pub value: u32,
    /// Core whose bank is updated.
    pub target_core: Option<u32>,
}

/// Part of a block between joins: what each engine runs, then the join.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Row range per engine queue.
    pub ranges: [super::Cursor; QUEUES],
    /// Row of the joining instruction that ends the segment.
    pub join: Option<RowId>,
}

/// Number of engine queues.
pub const QUEUES: usize = Engine::QUEUES.len();

/// (value, predecessor block) of one block argument.
pub type Incoming = Box<[(Opnd, BlockId)]>;

/// A compiled basic block.
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// Name.
    pub name: Box<str>,
    /// Function it belongs to.
    pub function: FunctionId,
    /// First segment.
    pub first_segment: SegmentId,
    /// Number of segments, at least one.
    pub segments: u32,
    /// Runs by queues and semaphores; else in list order.
    pub by_sync: bool,
    /// (register, [(value, predecessor block)]).
    pub arguments: Box<[(RegRef, Incoming)]>,
}

/// A compiled function.
#[derive(Clone, Debug)]
pub struct FunctionPlan {
    /// Name.
    pub name: Box<str>,
    /// Its block list.
    pub list: ListId,
    /// Matmuls decide by the accumulate marks alone (attribute `auto_psum_accumulate`).
    pub auto_psum: bool,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct SetInfo {
    /// Name.
    pub name: Box<str>,
    /// Locations in tensor-id order.
    pub locations: Vec<LocId>,
    /// Formal argument of its function.
    pub formal: bool,
    /// Function that declares it; 0 is the entry.
    pub function: FunctionId,
}

/// What is said about a location besides its placement.
#[derive(Clone, Debug)]
pub struct LocationMeta {
    /// Name.
    pub name: Box<str>,
    /// Set.
    pub set: SetId,
    /// Role.
    pub kind: TensorKind,
    /// Memory.
    pub ty: MemoryType,
    /// Logical shape of the tensor.
    pub shape: Box<[u64]>,
    /// Declared element type.
    pub dtype: Dtype,
    /// Bound file.
    pub file: Box<str>,
    /// Byte address as declared.
    pub addr: u64,
    /// Write-protected.
    pub pinned: bool,
    /// Aliased with another location.
    pub aliased: bool,
    /// Seen by every core.
    pub shared: bool,
    /// Tensor of another core of the rank that the location is a window on.
    pub window: Option<Box<(String, u32)>>,
}

/// Everything entities refer to.
#[derive(Resource, Default)]
pub struct Program {
    /// Instructions, in row order.
    pub insts: Vec<Inst>,
    /// What the scheduler will look at, of the rows that have no entity yet.
    pub syncs: Vec<super::SyncSet>,
    /// Operands.
    pub operands: Vec<Opnd>,
    /// What their instructions do to them.
    pub uses: Vec<Use>,
    /// Resolved static patterns.
    pub patterns: Vec<Pattern>,
    /// Waits.
    pub waits: Vec<Wait>,
    /// Updates.
    pub updates: Vec<Update>,
    /// Blocks.
    pub blocks: Vec<BlockPlan>,
    /// Segments.
    pub segments: Vec<Segment>,
    /// Block lists: of functions and of loops.
    pub lists: Vec<Vec<BlockId>>,
    /// Functions; 0 is the entry.
    pub functions: Vec<FunctionPlan>,
    /// Tensors.
    pub sets: Vec<SetInfo>,
    /// Locations, by index.
    pub locations: Vec<LocationMeta>,
    /// Register names, for messages: (name, where).
    pub registers: Vec<(Box<str>, RegRef)>,
    /// Axis names, for messages.
    pub axes: Vec<Box<str>>,
    /// Trigger names.
    pub triggers: Vec<Box<str>>,
    /// Queue names.
    pub queues: Vec<Box<str>>,
    /// Lines that native instructions come from.
    pub sources: Sources,
}

impl BlockPlan {
    /// A segment, counted inside the block.
    pub fn segment(&self, k: u32) -> SegmentId {
        SegmentId(self.first_segment.0 + k)
    }

    /// Its segments, as positions in [`Program::segments`].
    pub fn all_segments(&self) -> std::ops::Range<usize> {
        self.first_segment.at()..self.first_segment.at() + self.segments as usize
    }
}

impl Program {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = RowId> + Clone + use<> {
        (0..self.insts.len()).map(RowId::of)
    }

    /// Operands of an instruction: `ins`, then `outs`, then `indirection_ins`.
    pub fn operands_of(&self, i: &Inst) -> &[Opnd] {
        let r = i.operands;
        &self.operands[r.first as usize..][..(r.ins + r.outs + r.indirect) as usize]
    }

    /// Operands of an instruction: `ins`.
    pub fn ins(&self, i: &Inst) -> &[Opnd] {
        let r = i.operands;
        &self.operands[r.first as usize..][..r.ins as usize]
    }

    /// Operands of an instruction: `outs`.
    pub fn outs(&self, i: &Inst) -> &[Opnd] {
        let r = i.operands;
        &self.operands[r.first as usize + r.ins as usize..][..r.outs as usize]
    }

    /// Waits of an instruction.
    pub fn waits_of(&self, s: &super::SyncSet) -> &[Wait] {
        &self.waits[s.wait.at()..][..s.waits as usize]
    }

    /// Updates of an instruction.
    pub fn updates_of(&self, s: &super::SyncSet) -> &[Update] {
        &self.updates[s.update as usize..][..s.updates as usize]
    }

    /// Updates that an AllEngineBarrier makes when all engines have met.
    pub fn seconds_of(&self, s: &super::SyncSet) -> &[Update] {
        &self.updates[s.update as usize + s.updates as usize..][..s.seconds as usize]
    }

    /// Name of an instruction; of one that has none, its opcode and source line.
    pub fn name_of<'a>(&self, i: &'a Inst) -> Cow<'a, str> {
        match i.source {
            Origin::Native(id) => match self.sources.text(id) {
                Some(line) => Cow::Owned(format!("{} at {line}", i.opcode)),
                None => Cow::Borrowed(i.opcode.name()),
            },
            _ => Cow::Borrowed(&i.name),
        }
    }

    /// Completes an error with the place of an instruction.
    pub fn locate(&self, e: Error, row: RowId) -> Error {
        let Some(i) = self.insts.get(row.at()) else { return e };
        let e = if e.code() == Code::S014 { self.name_tables(e, i) } else { e };
        let block = self.blocks.get(i.block.at());
        e.at(|p| {
            p.opcode = Some(i.opcode.name().to_string());
            if let Origin::Native(id) = i.source {
                p.source = self.sources.text(id);
                return;
            }
            p.instruction = Some(i.name.to_string());
            p.source = match &i.source {
                Origin::Text(text) => Some(text.to_string()),
                _ => None,
            };
            if let Some(b) = block {
                p.block = Some(b.name.to_string());
                p.function = self.functions.get(b.function.at()).map(|f| f.name.to_string());
            }
        })
    }
}
