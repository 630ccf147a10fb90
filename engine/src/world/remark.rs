//! Remarks on a run: what is worth saying but does not end the run.

use super::RowId;
use crate::ir::validate::DeviceRule;
use bevy_ecs::prelude::Resource;
use birsim_kernels::{Code, Error, Named, Place};

birsim_kernels::named_enum! {
    /// How grave a remark is.
    Severity {
        /// Worth knowing.
        Note = 0, "note";
        /// Probably not meant.
        Warning = 1, "warning";
        /// A broken rule, found by a checker: the run fails when it ends.
        Fault = 2, "fault";
    }
}

birsim_kernels::named_enum! {
    /// What a remark is about. The names are stable, for filters.
    Remark {
        /// A matmul accumulates where no matmul has written.
        AccumulateUnwritten = 0, "accumulate-unwritten";
        /// Elements outside of a tensor were skipped.
        OutOfBoundsSkipped = 1, "out-of-bounds-skipped";
        /// A DevicePrint does not show everything.
        PrintCut = 2, "print-cut";
        /// A collective ran on one core.
        CollectiveAlone = 3, "collective-alone";
        /// An instruction was skipped, as the documented simulator does.
        Skipped = 4, "skipped";
        /// Semaphores are not zero at the end.
        SemaphoreLeft = 5, "semaphore-left";
        /// Cores wrote different values to one byte in one round.
        CoreRace = 6, "core-race";
        /// Nothing wrote an output.
        OutputNeverWritten = 7, "output-never-written";
        /// An instruction wrote an input.
        InputModified = 8, "input-modified";
        /// Said while a kernel was lowered.
        Lowering = 9, "lowering";
        /// A key looks like a misspelt one.
        MisspeltKey = 10, "misspelt-key";
        /// The trace differs from the one it was compared with.
        TraceDiffers = 11, "trace-differs";
        /// Finding of the checker `uninit`.
        Uninit = 12, "uninit";
        /// Finding of the checker `nan`.
        Nan = 13, "nan";
        /// Finding of the checker `nan-write`.
        NanWrite = 14, "nan-write";
        /// Finding of the checker `write-only`.
        WriteOnly = 15, "write-only";
        /// Finding of the checker `pinned`.
        Pinned = 16, "pinned";
        /// Finding of the checker `race`.
        Race = 17, "race";
        /// A check or a seed had nothing to look at.
        SaysNothing = 18, "says-nothing";
        /// A semaphore was lowered below zero.
        SemaphoreBelowZero = 19, "semaphore-below-zero";
        /// An operand starts at a partition that the engine cannot start at.
        StartPartition = 20, "start-partition";
        /// A step from partition to partition is not a whole row.
        PartitionStep = 21, "partition-step";
        /// An engine does not reach the memory of an operand.
        EngineMemory = 22, "engine-memory";
        /// An instruction has more waits or updates than the device has room for.
        SyncLimit = 23, "sync-limit";
        /// The target does not know an instruction.
        ArchitectureGate = 24, "architecture-gate";
    }
}

/// One remark about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How grave it is.
    pub severity: Severity,
    /// What it is about.
    pub code: Remark,
    /// Text.
    pub message: String,
    /// Row of the instruction it is about, as long as the program has that row.
    pub row: Option<RowId>,
    /// Tensor it is about.
    pub tensor: Option<String>,
    /// Place of the instruction, once its row is gone.
    pub place: Option<Box<Place>>,
}

impl Diagnostic {
    /// A remark without a place.
    pub fn new(severity: Severity, code: Remark, message: impl Into<String>) -> Self {
        Diagnostic { severity, code, message: message.into(), row: None, tensor: None, place: None }
    }

    /// A note.
    pub fn note(code: Remark, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Note, code, message)
    }

    /// A warning.
    pub fn warning(code: Remark, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// The same about an instruction.
    #[must_use]
    pub fn at(self, row: impl Into<Option<RowId>>) -> Self {
        Diagnostic { row: row.into(), ..self }
    }

    /// The same about a tensor.
    #[must_use]
    pub fn of(self, tensor: impl Into<Option<String>>) -> Self {
        Diagnostic { tensor: tensor.into(), ..self }
    }

    /// What a target would not accept of a program: one note per rule, with the first place that breaks it.
    pub fn on_target(rule: DeviceRule, first: &Error, places: usize) -> Self {
        let code = match rule {
            DeviceRule::StartPartition => Remark::StartPartition,
            DeviceRule::PartitionStep => Remark::PartitionStep,
            DeviceRule::EngineMemory => Remark::EngineMemory,
            DeviceRule::SyncLimit => Remark::SyncLimit,
            DeviceRule::ArchitectureGate => Remark::ArchitectureGate,
        };
        let more = if places > 1 { format!("; {places} places in all") } else { String::new() };
        let received = first.received_value().unwrap_or_default();
        let mut note = Diagnostic::note(code, format!("{}: {received}{more}", first.what()));
        note.place = Some(Box::new(first.place().clone()));
        note
    }

    /// It repeats `other`: the same text about the same instruction or tensor.
    pub fn repeats(&self, other: &Diagnostic) -> bool {
        self.code == other.code && self.row == other.row && self.tensor == other.tensor && self.place == other.place
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

/// Remarks on a run, and the fault that ended it.
#[derive(Resource, Default, Debug)]
pub struct Findings {
    /// Remarks, in order of appearance.
    pub diagnostics: Vec<Diagnostic>,
    /// The fault, with the place of its instruction.
    pub fault: Option<Error>,
}

impl Findings {
    /// Records a remark, unless it repeats one.
    pub fn note(&mut self, d: Diagnostic) {
        if !self.diagnostics.iter().any(|o| o.repeats(&d)) {
            self.diagnostics.push(d);
        }
    }

    /// Gives remarks the places of their instructions, before the program drops its rows; what then says the same is said
    /// once.
    pub fn settle(&mut self, program: &super::Program) {
        let first = self.diagnostics.iter().position(|d| d.row.is_some()).unwrap_or(self.diagnostics.len());
        for mut d in self.diagnostics.split_off(first) {
            if let Some(row) = d.row.take() {
                let place = program.locate(Error::new(Code::B001, ""), row).place().clone();
                d.place = Some(Box::new(place));
            }
            self.note(d);
        }
    }
}
