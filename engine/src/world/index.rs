//! What counts the tables of a world: of its program and of its components.

use super::*;
use crate::index::{counts, indices};
use crate::memory::{ArenaId, LocationInfo};
use birsim_kernels::access::Pattern;

indices! {
    /// A row of the program: an instruction.
    RowId of Inst, SyncSet;
    /// A basic block.
    BlockId of BlockPlan;
    /// A segment of a block.
    SegmentId of Segment;
    /// A list of blocks: of a function or of a loop.
    ListId of Vec<BlockId>;
    /// A function.
    FunctionId of FunctionPlan, scope::Scope;
    /// A wait.
    WaitId of Wait;
    /// A location: a tensor or a piece of one.
    LocId of LocationMeta, Placement, LocationState, LocationInfo;
    /// A set: a tensor with all its pieces.
    SetId of SetInfo, SetId;
    /// A resolved pattern.
    PatternId of Pattern;
    /// A loop axis.
    AxisId of Induction;
    /// A trigger of a DMA queue.
    TriggerId of FireCount;
}

counts!(ArenaId: InitShadow);
counts!(ArenaId: AccumShadow);

impl FunctionId {
    /// The function that a run starts in.
    pub const ENTRY: FunctionId = FunctionId(0);
}

impl BlockId {
    /// No block: descriptors of a queue are in none.
    pub const NONE: BlockId = BlockId(u32::MAX);
}

impl RowId {
    /// No row: nothing called the entry function.
    pub const NONE: RowId = RowId(u32::MAX);
}
