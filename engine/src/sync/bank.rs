//! The sync banks as one system parameter, for the stages of a tick and for what happens between ticks.

use super::Banks;
use crate::world::columns::table;
use crate::world::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;

type SemaphoreState = (&'static mut SemValue, &'static mut Touched, &'static mut Peak);
type EventState = (&'static mut EventBit, &'static mut EventTouched);

/// Queries and resources of a [`Banks`].
#[derive(SystemParam)]
pub(crate) struct SyncBank<'w, 's> {
    findings: ResMut<'w, Findings>,
    post: ResMut<'w, Post>,
    semaphores: Query<'w, 's, SemaphoreState>,
    events: Query<'w, 's, EventState>,
}

impl SyncBank<'_, '_> {
    /// Lends the banks to `f`.
    pub(crate) fn with<R>(&mut self, settings: &Settings, f: impl FnOnce(Banks) -> R) -> R {
        let (mut semaphores, mut events) = (table!(self.semaphores), table!(self.events));
        let (values, touched, peaks): (&mut [SemValue], &mut [Touched], &mut [Peak]) = match &mut semaphores {
            Some((v, t, p)) => (v.bypass_change_detection(), t.bypass_change_detection(), p.bypass_change_detection()),
            None => (&mut [], &mut [], &mut []),
        };
        let (bits, set): (&mut [EventBit], &mut [EventTouched]) = match &mut events {
            Some((b, t)) => (b.bypass_change_detection(), t.bypass_change_detection()),
            None => (&mut [], &mut []),
        };
        f(Banks {
            semaphores: values,
            touched,
            peaks,
            events: bits,
            event_touched: set,
            post: &mut self.post,
            findings: &mut self.findings,
            settings,
        })
    }
}

/// Applies an update that another core sent.
pub(crate) fn apply(In(update): In<Update>, settings: Res<Settings>, mut bank: SyncBank) -> crate::Result<()> {
    bank.with(&settings, |mut banks| banks.apply(&update, None))
}
