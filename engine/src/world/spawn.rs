//! Spawning: rows, locations, arenas, engines, semaphores become entities.

use super::*;
use crate::Result;
use crate::ir::{Engine, MemoryType};
use crate::memory::{ArenaId, ArenaMem, Shadow, WrittenMarks};
use crate::world::placement::Layout;
use bevy_ecs::prelude::*;
use birsim_kernels::Dtype;
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
}

/// Entities by number, for access to a single one from outside a tick.
#[derive(Resource, Default, Debug)]
pub struct Entities {
    /// Locations.
    pub locations: Vec<Entity>,
    /// Arenas.
    pub arenas: Vec<Entity>,
}

/// Number of engine entities.
pub const ENGINES: usize = QUEUES + 1;

/// Engines in the order of their entities: the six queues, then ALL.
pub const ENGINE_ORDER: [Engine; ENGINES] =
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
    world.insert_resource(Entities::default());
}

/// Takes away what belongs to the program; the fixed entities stay.
pub fn take_down(world: &mut World) {
    type OfProgram = Or<(With<SyncSet>, With<Placement>, With<ArenaMem>, With<Induction>, With<FireCount>)>;
    let all: Vec<Entity> = world.query_filtered::<Entity, OfProgram>().iter(world).collect();
    for entity in all {
        world.despawn(entity);
    }
    world.insert_resource(Spawned::default());
    world.insert_resource(Entities::default());
}

/// Spawns what the program has grown by since the last call.
pub fn spawn_new(world: &mut World, layout: &Layout) -> Result<()> {
    let mut done = *world.resource::<Spawned>();
    let (track, fill) = (world.resource::<Settings>().track_init, world.resource::<Settings>().fill);
    world.resource_scope(|world, mut program: Mut<Program>| -> Result<()> {
        let rows = std::mem::take(&mut program.syncs);
        world.spawn_batch(rows);
        done.rows = program.insts.len();

        let new = layout.placements[done.locations..].iter();
        let states = new.map(|p| (Placement(p.clone()), LocationState::default()));
        let locations: Vec<Entity> = world.spawn_batch(states.collect::<Vec<_>>()).collect();

        // In physical mode many tensors share an arena, so it has no dtype that could decide its fill.
        let holds: hashbrown::HashMap<ArenaId, (MemoryType, Dtype)> =
            layout.placements[done.locations..].iter().map(|p| (p.arena, (p.ty, p.dtype))).collect();
        let mut arenas = Vec::with_capacity(layout.arenas.len() - done.arenas);
        for (k, bytes) in layout.arenas.iter().enumerate().skip(done.arenas) {
            let (ty, dtype) = holds.get(&ArenaId::of(k)).copied().unwrap_or((MemoryType::Dram, Dtype::Uint8));
            let accum = (ty == MemoryType::Psum).then(|| Shadow::new(*bytes as usize));
            arenas.push((
                ArenaMem::new(*bytes)?.filled_with(fill.bytes(dtype)),
                InitShadow(track.then(|| Shadow::new(*bytes as usize))),
                AccumShadow(accum),
                WrittenMarks::default(),
            ));
        }
        let arenas: Vec<Entity> = world.spawn_batch(arenas).collect();
        let mut entities = world.resource_mut::<Entities>();
        entities.locations.extend(locations);
        entities.arenas.extend(arenas);
        done.locations = layout.placements.len();
        done.arenas = layout.arenas.len();

        world.spawn_batch((done.axes..program.axes.len()).map(|_| Induction::default()).collect::<Vec<_>>());
        done.axes = program.axes.len();
        world.spawn_batch((done.triggers..program.triggers.len()).map(|_| FireCount(0)).collect::<Vec<_>>());
        done.triggers = program.triggers.len();
        Ok(())
    })?;
    world.insert_resource(done);
    let start = match layout.profile.register_start {
        RegisterStart::Ones => u32::MAX,
        RegisterStart::Zero => 0,
    };
    let mut files = world.query::<(&EngineId, &mut RegisterFile)>();
    for (id, mut file) in files.iter_mut(world) {
        let e = engine_index(id.0);
        file.physical.resize(layout.physical_registers[e] as usize, start);
        file.symbolic.resize(layout.symbolic[e] as usize, 0);
    }
    Ok(())
}
