//! The components an instruction may touch, as one system parameter.

use crate::check::Hooks;
use crate::exec::{Machine, Watch};
use crate::memory::{ArenaMem, WrittenMarks};
use crate::world::columns::{column, slice, table};
use crate::world::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;

type EngineState = (&'static mut RegisterFile, &'static mut Accumulators, &'static mut EngineRng);
type ArenaState = (&'static mut ArenaMem, &'static mut InitShadow, &'static mut AccumShadow, &'static mut WrittenMarks);

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
    locations: Query<'w, 's, (&'static Placement, &'static mut LocationState)>,
    engines: Query<'w, 's, EngineState>,
    axes: Query<'w, 's, &'static Induction>,
    triggers: Query<'w, 's, &'static mut FireCount>,
}

impl MachineParam<'_, '_> {
    /// Lends the machine to `f`. Every kind of entity is one table, so components are slices.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut Machine) -> R) -> Option<R> {
        let mut arenas = table!(self.arenas);
        let mut locations = table!(self.locations);
        let (mut registers, mut accumulators, mut rngs) = table!(self.engines)?;
        type Arenas<'a> = (&'a mut [ArenaMem], &'a mut [InitShadow], &'a mut [AccumShadow], &'a mut [WrittenMarks]);
        let (mem, inits, accums, written): Arenas = match &mut arenas {
            Some((a, i, s, w)) => (
                a.bypass_change_detection(),
                i.bypass_change_detection(),
                s.bypass_change_detection(),
                w.bypass_change_detection(),
            ),
            None => (&mut [], &mut [], &mut [], &mut []),
        };
        let (places, states): (&[Placement], &mut [LocationState]) = match &mut locations {
            Some((p, s)) => (p, s.bypass_change_detection()),
            None => (&[], &mut []),
        };
        let mut triggers = table!(self.triggers);
        Some(f(&mut Machine {
            program: &self.program,
            syncs: slice!(self.rows),
            arenas: mem,
            inits,
            accums,
            written,
            places,
            states,
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
    }
}
