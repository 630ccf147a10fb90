//! Locations of a session: numbers of the front end become slots of the world, which are reused after their release.

use super::block::{LocationId, LocationSpec};
use crate::ir::MemoryType;
use crate::memory::{ArenaId, ArenaMem, LocationInfo, PlaceRules, Shadow, WrittenMarks};
use crate::target::PSUM_BANK_BYTES;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Which slot a number of the front end names.
#[derive(Default)]
pub(super) struct Known {
    slots: HashMap<u32, LocId>,
    /// One more than the greatest number seen.
    pub next: u32,
}

impl Known {
    pub fn slot(&self, id: LocationId, core: u32) -> Result<LocId> {
        let missing = || {
            Error::new(Code::J006, "the location was not declared, or was released before")
                .received(format!("location {} of core {}", id.number, id.core))
        };
        if id.core != core {
            return Err(Error::new(Code::J006, "an instruction names locations of its own core only")
                .received(format!("location {} of core {} on core {core}", id.number, id.core)));
        }
        self.slots.get(&id.number).copied().ok_or_else(missing)
    }

    pub fn forget(&mut self, number: u32) -> Option<LocId> {
        self.slots.remove(&number)
    }

    /// The numbers in use.
    pub fn alive(&self, core: u32) -> Vec<LocationId> {
        let mut all: Vec<LocationId> = self.slots.keys().map(|number| LocationId { core, number: *number }).collect();
        all.sort_unstable_by_key(|id| id.number);
        all
    }

    fn learn(&mut self, id: LocationId, slot: LocId) -> Result<()> {
        if self.slots.insert(id.number, slot).is_some() {
            return Err(Error::new(Code::J007, "the location is declared twice").received(id.number));
        }
        self.next = self.next.max(id.number.saturating_add(1));
        Ok(())
    }
}

/// Slots to free when the rows below a number have run, and slots that are free.
#[derive(Resource, Default)]
pub(super) struct Releases {
    pub due: VecDeque<(RowId, LocId)>,
    pub free: Vec<LocId>,
}

/// Frees storage that no row still to run names. Rows of a session run in order, so the cursor of the first queue tells how
/// far the core got, except inside a loop.
pub(super) fn release(
    pc: Res<ProgramCounter>,
    mut releases: ResMut<Releases>,
    mut stats: ResMut<Stats>,
    settings: Res<Settings>,
    engines: Query<&Cursor>,
    mut arenas: Query<&mut ArenaMem>,
    entities: Res<Entities>,
) {
    if releases.due.is_empty() {
        return;
    }
    let ran = match (pc.finished, pc.frames.len()) {
        (true, _) => RowId::NONE,
        (false, 1) => engines.iter().next().map_or(RowId(0), |c| c.next),
        _ => return,
    };
    let releases = &mut *releases;
    while let Some((_, slot)) = releases.due.pop_front_if(|(row, _)| *row <= ran) {
        if let Some(mut arena) = entities.arenas.get(slot.at()).and_then(|e| arenas.get_mut(*e).ok()) {
            let freed = arena.release();
            stats.touched = stats.touched.saturating_sub(freed);
            settings.limits.give_back(freed);
        }
        releases.free.push(slot);
    }
}

/// Rows and bytes per row.
fn extent(spec: &LocationSpec) -> Result<(u64, u64)> {
    let bad = || {
        Error::new(Code::J013, "the shape does not describe a memory")
            .received(format!("{:?} of {}", spec.shape, spec.dtype))
            .at(|p| p.tensor = Some(spec.name.to_string()))
    };
    let (rows, free) = match (&*spec.shape, spec.memory.is_dram()) {
        ([rows, free @ ..], false) => (*rows, free),
        (all, true) => (1, all),
        ([], false) => return Err(bad()),
    };
    let bytes = free.iter().try_fold(spec.dtype.size() as u64, |n, d| n.checked_mul(*d)).ok_or_else(bad)?;
    match rows.checked_mul(bytes) {
        Some(total) if total < 1 << 46 => Ok((rows, bytes)),
        _ => Err(bad()),
    }
}

/// Declares a location: in a free slot when there is one.
pub(super) fn declare(world: &mut World, known: &mut Known, id: LocationId, spec: &LocationSpec) -> Result<LocId> {
    let (rows, row_bytes) = extent(spec)?;
    let settings = world.resource::<Settings>();
    let (track, fill) = (settings.track_init, settings.fill.bytes(spec.dtype));
    let rules = PlaceRules::of(&settings.profile);
    let sizes = settings.target.sizes();
    let on_chip = match spec.memory {
        MemoryType::Sb => Some(sizes.sbuf_partitions),
        MemoryType::Psum => Some(sizes.psum_partitions),
        _ => None,
    };
    if let Some(most) = on_chip
        && spec.partition.checked_add(rows).is_none_or(|end| end > most)
    {
        return Err(Error::new(
            Code::S018,
            format!("the tensor does not fit the {most} partitions of {}", spec.memory),
        )
        .received(format!("{rows} partitions from {}", spec.partition))
        .at(|p| p.tensor = Some(spec.name.to_string())));
    }
    let slot = match world.resource_mut::<Releases>().free.pop() {
        Some(slot) => slot,
        None => LocId::of(world.resource::<Program>().locations.len()),
    };
    known.learn(id, slot)?;
    // Every location of a session has a set and an arena of its own, with the same number.
    let (set, arena) = (SetId(slot.0), ArenaId(slot.0));
    let place = LocationInfo {
        arena,
        base: spec.partition,
        start: 0,
        row_stride: row_bytes,
        row_bytes,
        rows,
        ty: spec.memory,
        dtype: spec.dtype,
        bank_offset: if spec.memory == MemoryType::Psum { spec.address % PSUM_BANK_BYTES } else { 0 },
        rules,
    };
    let meta = LocationMeta {
        name: spec.name.clone(),
        set,
        kind: spec.kind,
        ty: spec.memory,
        shape: spec.shape.clone(),
        dtype: spec.dtype,
        file: Box::default(),
        addr: spec.address,
        pinned: false,
        aliased: false,
        shared: spec.share.is_some(),
        window: None,
    };
    let bytes = place.bytes() as usize;
    let location = (Placement(place), LocationState::default());
    let arena = (
        ArenaMem::new(bytes as u64)?.filled_with(fill),
        InitShadow(track.then(|| Shadow::new(bytes))),
        AccumShadow((spec.memory == MemoryType::Psum).then(|| Shadow::new(bytes))),
        WrittenMarks::default(),
    );
    let at = slot.at();
    let mut program = world.resource_mut::<Program>();
    if at < program.locations.len() {
        program.locations[at] = meta;
        let entities = world.resource::<Entities>();
        let (l, a) = (entities.locations[at], entities.arenas[at]);
        // The same archetype, so the entities keep their places in the table.
        world.entity_mut(l).insert(location);
        world.entity_mut(a).insert(arena);
    } else {
        program.locations.push(meta);
        program.sets.push(SetInfo {
            name: Box::default(),
            locations: vec![slot],
            formal: false,
            function: FunctionId::ENTRY,
        });
        let (l, a) = (world.spawn(location).id(), world.spawn(arena).id());
        let mut entities = world.resource_mut::<Entities>();
        entities.locations.push(l);
        entities.arenas.push(a);
        world.resource_mut::<Bindings>().0.push(set);
    }
    Ok(slot)
}
