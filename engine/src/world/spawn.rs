//! Spawning: rows, locations, arenas, engines, semaphores become entities.

use super::*;
use crate::Result;
use crate::ir::Engine;
use crate::memory::{ArenaMem, Shadow};
use crate::world::scope::Layout;
use bevy_ecs::prelude::*;
use birsim_kernels::profile::RegisterStart;

/// How much of the program has entities already.
#[derive(Resource, Default, Debug, Clone, Copy)]
pub struct Spawned {
    /// Instruction rows.
    pub rows: usize,
    /// Locations.
    pub locations: usize,
    /// Arenas.
    pub arenas: usize,
    /// Loop axes.
    pub axes: usize,
    /// Triggers.
    pub triggers: usize,
    /// Queues.
    pub queues: usize,
}

/// Engines in the order of their entities: the six queues, then ALL.
pub const ENGINE_ORDER: [Engine; 7] =
    [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dma, Engine::Dve, Engine::Sp, Engine::All];

/// Position of an engine in [`ENGINE_ORDER`].
pub const fn engine_index(e: Engine) -> usize {
    match e {
        Engine::Pool => 0,
        Engine::Activation => 1,
        Engine::Pe => 2,
        Engine::Dma => 3,
        Engine::Dve => 4,
        Engine::Sp => 5,
        Engine::All | Engine::Unassigned => 6,
    }
}

/// Spawns the fixed entities of a core.
pub fn spawn_core(world: &mut World) {
    world.spawn_batch(ENGINE_ORDER.map(|e| {
        (
            EngineId(e),
            Cursor::default(),
            Status::Finished,
            RegisterFile::default(),
            Accumulators::default(),
            EngineRng::default(),
        )
    }));
    world.spawn_batch((0..256).map(|_| (SemValue(0), Touched(false), Peak(0))));
    world.spawn_batch((0..256).map(|_| (EventBit(false), EventTouched(false))));
    world.insert_resource(Spawned::default());
}

/// Spawns what the program has grown by since the last call.
pub fn spawn_new(world: &mut World, layout: &Layout) -> Result<()> {
    let mut done = *world.resource::<Spawned>();
    let (track, fill) = (world.resource::<Settings>().track_init, world.resource::<Settings>().fill);
    world.resource_scope(|world, program: Mut<Program>| -> Result<()> {
        let rows = program.insts[done.rows..].iter().enumerate().map(|(k, i)| {
            (
                Op { opcode: i.opcode, engine: i.engine },
                Payload((done.rows + k) as u32),
                i.sync,
                i.operands,
                SourceRef { block: i.block, index: i.index },
            )
        });
        world.spawn_batch(rows.collect::<Vec<_>>());
        done.rows = program.insts.len();

        let new = layout.placements[done.locations..].iter();
        let states = new.map(|p| (Placement(p.clone()), LocationState::default()));
        world.spawn_batch(states.collect::<Vec<_>>());

        let psum_arenas: hashbrown::HashSet<u32> =
            layout.placements.iter().filter(|p| p.ty == crate::ir::MemoryType::Psum).map(|p| p.arena).collect();
        let mut arenas = Vec::with_capacity(layout.arenas.len() - done.arenas);
        for (k, bytes) in layout.arenas.iter().enumerate().skip(done.arenas) {
            let accum = psum_arenas.contains(&(k as u32)).then(|| Shadow::new(*bytes as usize));
            arenas.push((
                ArenaMem::new(*bytes)?.filled_with(fill),
                InitShadow(track.then(|| Shadow::new(*bytes as usize))),
                AccumShadow(accum),
            ));
        }
        world.spawn_batch(arenas);
        done.locations = layout.placements.len();
        done.arenas = layout.arenas.len();

        world.spawn_batch((done.axes..program.axes.len()).map(|_| Induction::default()).collect::<Vec<_>>());
        done.axes = program.axes.len();
        world.spawn_batch((done.triggers..program.triggers.len()).map(|_| FireCount(0)).collect::<Vec<_>>());
        done.triggers = program.triggers.len();
        world.spawn_batch((done.queues..program.queues.len()).map(|q| QueueId(q as u32)).collect::<Vec<_>>());
        done.queues = program.queues.len();
        Ok(())
    })?;
    world.insert_resource(done);
    let start = match layout.profile.register_start {
        RegisterStart::Ones => u32::MAX,
        RegisterStart::Zero => 0,
    };
    let mut files = world.query::<(&EngineId, &mut RegisterFile)>();
    for (id, mut file) in files.iter_mut(world) {
        let e = id.0 as usize;
        file.physical.resize(layout.physical_registers[e] as usize, start);
        file.symbolic.resize(layout.symbolic[e] as usize, 0);
    }
    Ok(())
}
