//! A machine that has run becomes what it was when its program was loaded. That costs what the run has touched, and saves
//! reading, validating and compiling the program, and the memory of its arenas.

use super::{Builder, Core};
use crate::memory::ArenaMem;
use crate::world::*;
use birsim_kernels::profile::RegisterStart;

impl Core {
    /// Forgets the run, and takes over the limits of the next one. Observers are not reset: a core that has any must be
    /// loaded anew.
    pub(crate) fn reset(&mut self, options: &Builder) {
        self.reset_resources(options);
        self.reset_engines(|file, start| {
            file.physical.fill(start);
            file.symbolic.fill(0);
        });
        let world = &mut self.world;
        world.query::<&mut LocationState>().iter_mut(world).for_each(|mut s| *s = LocationState::default());
        world.query::<&mut Induction>().iter_mut(world).for_each(|mut i| *i = Induction::default());
        world.query::<&mut FireCount>().iter_mut(world).for_each(|mut n| *n = FireCount(0));
        let mut arenas = world.query::<(&mut ArenaMem, &mut InitShadow, &mut AccumShadow)>();
        for (mut memory, mut init, mut accum) in arenas.iter_mut(world) {
            memory.reset();
            init.0.iter_mut().chain(&mut accum.0).for_each(|shadow| shadow.clear());
        }
    }

    /// Engines, semaphores and events as they are at the start; registers as `file` makes them, from the value they start with.
    pub(super) fn reset_engines(&mut self, file: impl Fn(&mut RegisterFile, u32)) {
        let world = &mut self.world;
        let start = match world.resource::<Settings>().profile.register_start {
            RegisterStart::Ones => u32::MAX,
            RegisterStart::Zero => 0,
        };
        let mut engines =
            world.query::<(&mut Cursor, &mut Status, &mut RegisterFile, &mut Accumulators, &mut EngineRng)>();
        for (mut cursor, mut status, mut registers, mut sums, mut rng) in engines.iter_mut(world) {
            *cursor = Cursor::default();
            *status = Status::Finished;
            file(&mut registers, start);
            *sums = Accumulators::default();
            *rng = EngineRng::default();
        }
        for (mut value, mut touched, mut peak) in
            world.query::<(&mut SemValue, &mut Touched, &mut Peak)>().iter_mut(world)
        {
            (*value, *touched, *peak) = (SemValue(0), Touched(false), Peak(0));
        }
        for (mut bit, mut touched) in world.query::<(&mut EventBit, &mut EventTouched)>().iter_mut(world) {
            (*bit, *touched) = (EventBit(false), EventTouched(false));
        }
    }

    /// Bytes of the core's memories, touched or not.
    pub(crate) fn declared(&mut self) -> u64 {
        let mut arenas = self.world.query::<&ArenaMem>();
        arenas.iter(&self.world).map(|a| a.len() as u64).fold(0, u64::saturating_add)
    }

    fn reset_resources(&mut self, options: &Builder) {
        let world = &mut self.world;
        let mut settings = world.resource_mut::<Settings>();
        settings.limits = options.limits.clone();
        settings.stop = options.limits.stop();
        let sets = world.resource::<Program>().sets.len();
        world.resource_mut::<Bindings>().0 = (0..sets).map(SetId::of).collect();
        super::core::begin(world, options.schedule);
        world.resource_mut::<Post>().in_flight = 0;
        *world.resource_mut::<Findings>() = Findings { diagnostics: self.at_load.clone(), fault: None };
    }
}
