//! Components: the state of the machine that a query can see.

use super::{RowId, WaitId};
use crate::ir::Engine;
use bevy_ecs::prelude::Component;

/// Instruction: what the scheduler looks at. Its waits and updates are ranges of the program's tables; everything else
/// about it is its row of the program.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct SyncSet {
    /// First wait.
    pub wait: WaitId,
    /// Number of waits.
    pub waits: u16,
    /// Number of updates.
    pub updates: u16,
    /// First update.
    pub update: u32,
    /// Number of second updates, which follow the updates.
    pub seconds: u16,
    /// The issue window ends after this instruction.
    pub ends_window: bool,
    /// A system that follows the stages has something to do when this instruction has run.
    pub ends_pass: bool,
    /// Has a wait that must be re-evaluated or consumed outside the window's bookkeeping.
    pub slow_wait: bool,
    /// Runs when every engine that has work left is at an instruction of this kind.
    pub joins_alone: bool,
    /// Meets other cores.
    pub meets: bool,
    /// Runs only when its predicates hold.
    pub predicated: bool,
}

/// Operands of an instruction in the program's table.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperandRange {
    /// First operand.
    pub first: u32,
    /// Number of `ins`.
    pub ins: u16,
    /// Number of `outs`, which follow the `ins`.
    pub outs: u16,
    /// Number of `indirection_ins`, which follow the `outs`.
    pub indirect: u16,
}

/// Engine: which engine this entity is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineId(pub Engine);

/// Engine: rows still to issue in the current segment.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Next row of the instruction table.
    pub next: RowId,
    /// End of the engine's range.
    pub end: RowId,
}

impl Cursor {
    /// The rows, in order.
    pub fn rows(self) -> impl Iterator<Item = RowId> + Clone {
        (self.next.0..self.end.0).map(RowId)
    }

    /// It has no rows.
    pub fn is_empty(self) -> bool {
        self.next >= self.end
    }

    /// A row is among them.
    pub fn contains(self, row: RowId) -> bool {
        (self.next..self.end).contains(&row)
    }
}

/// Engine: what it is doing.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Its head can run, or was not polled yet.
    #[default]
    Ready,
    /// Its head waits for the wait with this index.
    Waiting(WaitId),
    /// Its head waits for the other engines at a barrier or exit.
    Joining,
    /// Its head waits for other cores.
    Meeting,
    /// Nothing left in this segment.
    Finished,
}

/// Engine: scalar registers. Entries are 64 bits wide; 32-bit registers use the low half.
#[derive(Component, Clone, Debug, Default)]
pub struct RegisterFile {
    /// Physical registers, all ones until written (ruling D48).
    pub physical: Vec<u32>,
    /// Symbolic registers, by slot.
    pub symbolic: Vec<u64>,
}

/// Engine: accumulator registers, one fp32 value per partition.
#[derive(Component, Clone, Debug, Default)]
pub struct Accumulators(pub birsim_kernels::accumulate::Accumulator);

/// Engine: state of its random number generators.
#[derive(Component, Clone, Debug, Default)]
pub struct EngineRng(pub birsim_kernels::rng::DeviceRng);

/// Semaphore: its value.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemValue(pub u32);

/// Semaphore: was updated since the start.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched(pub bool);

/// Semaphore: the highest value since its bank was last wiped, for the report of a deadlock.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak(pub u32);

/// Event: was set since the start.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTouched(pub bool);

/// Event: its bit.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventBit(pub bool);

/// Location: its placement.
#[derive(Component, Clone, Debug)]
pub struct Placement(pub crate::memory::LocationInfo);

/// Location: what happened to it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct LocationState {
    /// Something was written to it.
    pub written: bool,
    /// What first wrote it.
    pub first_writer: Writer,
}

/// An instruction that wrote to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A row of the program.
    Row(RowId),
    /// A source line, of a row that the program has dropped.
    Source(super::SourceId),
}

impl Default for Writer {
    fn default() -> Self {
        Writer::Row(RowId(0))
    }
}

impl Writer {
    /// Name of the instruction, or its source line.
    pub fn name(self, program: &super::Program) -> Option<String> {
        match self {
            Writer::Row(row) => program.insts.get(row.at()).map(|i| program.name_of(i).into_owned()),
            Writer::Source(id) => program.sources.text(id),
        }
    }

    /// The row, as long as the program has it.
    pub fn row(self) -> Option<RowId> {
        match self {
            Writer::Row(row) => Some(row),
            Writer::Source(_) => None,
        }
    }
}

/// Arena: initialisation shadow. Outputs have one; others only when a checker needs it.
#[derive(Component, Clone, Debug, Default)]
pub struct InitShadow(pub Option<crate::memory::Shadow>);

/// Arena: accumulate shadow of PSUM.
#[derive(Component, Clone, Debug, Default)]
pub struct AccumShadow(pub Option<crate::memory::Shadow>);

/// Trigger: how often it fired since the last rewind.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FireCount(pub u64);

/// Loop axis: current induction value; meaningless outside its loop.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Induction {
    /// Value.
    pub value: i64,
    /// The loop is running.
    pub live: bool,
}

/// Number of entries of a physical register file (`machine.md` 3).
pub const PHYSICAL_REGISTERS: usize = 64;
