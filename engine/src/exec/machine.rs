//! What a running instruction may touch.

use super::Watch;
use crate::memory::{ArenaMem, WrittenMarks};
use crate::world::*;

/// Everything a running instruction may touch: slices of the world's components.
pub struct Machine<'w> {
    /// Compiled program.
    pub program: &'w Program,
    /// Waits and updates of its rows.
    pub syncs: &'w [SyncSet],
    /// Arena bytes.
    pub arenas: &'w mut [ArenaMem],
    /// Initialisation shadows.
    pub inits: &'w mut [InitShadow],
    /// Accumulate shadows.
    pub accums: &'w mut [AccumShadow],
    /// Bytes written in this round, of arenas that other cores see.
    pub written: &'w mut [WrittenMarks],
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
    /// Actual set of every set.
    pub bindings: &'w Bindings,
    /// Counters.
    pub stats: &'w mut Stats,
    /// Remarks and the fault.
    pub findings: &'w mut Findings,
    /// What other cores sent.
    pub mail: &'w mut Mail,
    /// The way to other cores.
    pub post: &'w mut Post,
    /// Buffers of the running instruction.
    pub scratch: &'w mut Scratch,
    /// The host generator.
    pub host_rng: &'w mut HostRng,
    /// Texts of DevicePrint.
    pub prints: &'w mut Prints,
    /// Who watches, if anybody does.
    pub watch: Option<&'w mut (dyn Watch + 'static)>,
}
