//! Synchronisation of an instruction (`bir-json.md` 8).

use super::{Extra, Name, ThinVec, UpdateMode, WaitMode};

birsim_kernels::named_enum! {
    /// What a sync reference names.
    SyncKind { Event = 0, "event"; Semaphore = 1, "semaphore"; }
}

/// One entry of `on_wait`.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRef {
    /// Event or semaphore.
    pub kind: SyncKind,
    /// Identifier, 0..255.
    pub id: u32,
    /// Condition.
    pub mode: WaitMode,
    /// Awaited value.
    pub value: u32,
    /// Register of `sem-ge-reg`.
    pub regref: Option<Name>,
    /// Producing instruction; informative.
    pub from: Option<Name>,
    /// Unknown keys.
    pub extra: Extra,
}

/// One entry of `on_update`.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRef {
    /// Event or semaphore.
    pub kind: SyncKind,
    /// Identifier, 0..255.
    pub id: u32,
    /// Effect.
    pub mode: UpdateMode,
    /// Operand of the effect.
    pub value: u32,
    /// Core whose bank is updated; own core when absent.
    pub target_core: Option<u32>,
    /// Unknown keys.
    pub extra: Extra,
}

/// Waits and updates of one instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncInfo {
    /// Conditions before it runs.
    pub on_wait: ThinVec<WaitRef>,
    /// Effects after it ran.
    pub on_update: ThinVec<UpdateRef>,
    /// Effects of an AllEngineBarrier when all engines have met, after everybody's `on_update` (`machine.md` 6).
    pub second_update: ThinVec<UpdateRef>,
    /// Unknown keys.
    pub extra: Extra,
}

impl SyncInfo {
    /// Nothing to wait for, nothing to signal.
    pub fn is_empty(&self) -> bool {
        self.on_wait.is_empty() && self.on_update.is_empty() && self.extra.is_empty()
    }

    /// Updates something.
    pub fn signals(&self) -> bool {
        !self.on_update.is_empty() || !self.second_update.is_empty()
    }
}
