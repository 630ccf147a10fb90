//! What a running instruction may touch.

use super::Watch;
use crate::memory::ArenaMem;
use crate::world::*;

/// Everything a running instruction may touch: slices of the world's components.
pub struct Machine<'w> {
    /// Compiled program.
    pub program: &'w Program,
    /// Arena bytes.
    pub arenas: &'w mut [ArenaMem],
    /// Initialisation shadows.
    pub inits: &'w mut [InitShadow],
    /// Accumulate shadows.
    pub accums: &'w mut [AccumShadow],
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
    /// Run state.
    pub run: &'w mut Run,
    /// Who watches, if anybody does.
    pub watch: Option<&'w mut (dyn Watch + 'static)>,
}
