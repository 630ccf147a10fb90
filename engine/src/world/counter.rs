//! The program counter of a core: a stack of frames as data.

use super::{AxisId, BlockId, ListId, RowId, SetId};
use bevy_ecs::prelude::Resource;

/// Where control goes when the current block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Next {
    /// The following block.
    #[default]
    FallThrough,
    /// A named block.
    Block(BlockId),
    /// Out of the innermost loop (ruling D19).
    Break,
    /// Out of the function (ruling D41).
    Return,
    /// The run ends (ruling D20).
    Exit,
}

/// Why a list of blocks is being run.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameKind {
    /// Blocks of a function, with the bindings to restore.
    Function {
        /// (set, previous binding).
        restore: Vec<(SetId, SetId)>,
    },
    /// Body of a counted loop.
    Loop {
        /// Axis.
        axis: AxisId,
        /// Current induction value.
        value: i64,
        /// Upper bound.
        ub: i64,
        /// Step.
        stride: i64,
        /// Runs once, whatever the bounds (ruling D35).
        once: bool,
    },
    /// Body of a post-tested loop.
    DoWhile,
}

/// One level of control.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Block list.
    pub list: ListId,
    /// Position in it.
    pub position: u32,
    /// Kind.
    pub kind: FrameKind,
    /// Row of the owning instruction; unused in the entry frame.
    pub row: RowId,
    /// Segment of the owning block to continue with.
    pub block: BlockId,
    /// Segment of the owning block that was interrupted.
    pub segment: u32,
}

/// The program counter of a core.
#[derive(Resource, Clone, Debug, Default)]
pub struct ProgramCounter {
    /// Frames, innermost last.
    pub frames: Vec<Frame>,
    /// Current block.
    pub block: BlockId,
    /// Current segment, counted inside the block.
    pub segment: u32,
    /// Where the block's terminator sends control.
    pub next: Next,
    /// A join row was issued in this tick.
    pub join_issued: bool,
    /// Nothing could be issued and the segment is not finished.
    pub stuck: bool,
    /// Rows whose engines wait for other cores.
    pub meetings: Vec<RowId>,
    /// Rows that were let through and have not run yet.
    pub granted: Vec<RowId>,
    /// Rows of the current segment that were let through since it began.
    pub met: Vec<RowId>,
    /// A loop with an empty body makes one trip per tick.
    pub idle_body: bool,
    /// The entry function's blocks ran out or the run was ended.
    pub finished: bool,
    /// Ended by Exit: nothing appended later runs.
    pub exited: bool,
    /// The first block was entered.
    pub started: bool,
    /// In this tick a loop began another trip that forgets which instructions wrote memory.
    pub new_trip: bool,
    /// What the other cores of the run had executed when the round began: all count against one limit.
    pub elsewhere: u64,
    /// Trips and block changes, which count against the instruction limit.
    pub steps: u64,
}
