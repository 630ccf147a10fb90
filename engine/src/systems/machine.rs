//! The components an instruction may touch, as one system parameter.

use crate::check::Hooks;
use crate::exec::{Machine, Watch};
use crate::memory::{ArenaMem, WrittenMarks};
use crate::world::columns::{column, slice, table};
use crate::world::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;

type EngineState = (&'static mut RegisterFile, &'static mut Accumulators, &'static mut EngineRng);
pub(super) type ArenaState =
    (&'static mut ArenaMem, &'static mut InitShadow, &'static mut AccumShadow, &'static mut WrittenMarks);
pub(super) type LocationColumns = (&'static Placement, &'static mut LocationState);

/// Queries and resources that a [`Machine`] borrows.
#[derive(SystemParam)]
pub(crate) struct MachineParam<'w, 's> {
    program: Res<'w, Program>,
    settings: Res<'w, Settings>,
    rows: Query<'w, 's, &'static SyncSet>,
    bindings: Res<'w, Bindings>,
    stats: ResMut<'w, Stats>,
    findings: ResMut<'w, Findings>,
    mail: ResMut<'w, Mail>,
    post: ResMut<'w, Post>,
    scratch: ResMut<'w, Scratch>,
    host_rng: ResMut<'w, HostRng>,
    prints: ResMut<'w, Prints>,
    hooks: Option<ResMut<'w, Hooks>>,
    arenas: Query<'w, 's, ArenaState>,
    locations: Query<'w, 's, LocationColumns>,
    engines: Query<'w, 's, EngineState>,
    axes: Query<'w, 's, &'static Induction>,
    triggers: Query<'w, 's, &'static mut FireCount>,
}

/// The components of arenas and locations as slices.
pub(super) struct Storage<'a> {
    pub arenas: &'a mut [ArenaMem],
    pub inits: &'a mut [InitShadow],
    pub accums: &'a mut [AccumShadow],
    pub written: &'a mut [WrittenMarks],
    pub places: &'a [Placement],
    pub states: &'a mut [LocationState],
}

/// Lends the components of arenas and locations to `f`.
pub(super) fn with_storage<R>(
    arenas: &mut Query<ArenaState>,
    locations: &mut Query<LocationColumns>,
    f: impl FnOnce(Storage) -> R,
) -> R {
    let (mut arenas, mut locations) = (table!(arenas), table!(locations));
    let mut storage =
        Storage { arenas: &mut [], inits: &mut [], accums: &mut [], written: &mut [], places: &[], states: &mut [] };
    if let Some((mem, inits, accums, written)) = &mut arenas {
        storage.arenas = mem.bypass_change_detection();
        storage.inits = inits.bypass_change_detection();
        storage.accums = accums.bypass_change_detection();
        storage.written = written.bypass_change_detection();
    }
    if let Some((places, states)) = &mut locations {
        storage.places = places;
        storage.states = states.bypass_change_detection();
    }
    f(storage)
}

impl MachineParam<'_, '_> {
    /// Lends the machine to `f`. Every kind of entity is one table, so components are slices.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut Machine) -> R) -> Option<R> {
        let (mut registers, mut accumulators, mut rngs) = table!(self.engines)?;
        let mut triggers = table!(self.triggers);
        with_storage(&mut self.arenas, &mut self.locations, |storage| {
            Some(f(&mut Machine {
                program: &self.program,
                syncs: slice!(self.rows),
                arenas: storage.arenas,
                inits: storage.inits,
                accums: storage.accums,
                written: storage.written,
                places: storage.places,
                states: storage.states,
                registers: registers.bypass_change_detection(),
                accumulators: accumulators.bypass_change_detection(),
                rngs: rngs.bypass_change_detection(),
                induction: slice!(self.axes),
                fires: column!(triggers),
                settings: &self.settings,
                bindings: &self.bindings,
                stats: &mut self.stats,
                findings: &mut self.findings,
                mail: &mut self.mail,
                post: &mut self.post,
                scratch: &mut self.scratch,
                host_rng: &mut self.host_rng,
                prints: &mut self.prints,
                watch: self.hooks.as_deref_mut().map(|h| -> &mut (dyn Watch + 'static) { h }),
            }))
        })
    }
}
