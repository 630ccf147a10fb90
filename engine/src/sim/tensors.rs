//! Tensors of a core from outside: their names, bytes, writers.

use super::core::Core;
use crate::ir::{MemoryType, TensorKind};
use crate::memory::{ArenaMem, LocationInfo, Marks, Shadow, WrittenMarks};
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use std::borrow::Cow;
use std::sync::Arc;

/// A tensor of the program that can be bound or read.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Memory-location name.
    pub name: String,
    /// Name of its set.
    pub set: String,
    /// Role.
    pub kind: TensorKind,
    /// Memory.
    pub ty: MemoryType,
    /// Declared element type.
    pub dtype: Dtype,
    /// Logical shape.
    pub shape: Vec<u64>,
    /// Bytes of the memory.
    pub bytes: u64,
    /// Seen by every core of a logical core.
    pub shared: bool,
    /// Bound `.npy`, relative to the module; empty when none.
    pub file: String,
}

impl TensorInfo {
    /// Bytes of the logical tensor, when that many fit its memory.
    pub fn logical_bytes(&self) -> Option<u64> {
        let n = self.shape.iter().try_fold(self.dtype.size() as u64, |t, d| t.checked_mul(*d))?;
        (n <= self.bytes).then_some(n)
    }
}

impl Core {
    /// Every memory location of the program.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// Location of a tensor.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).map(|k| *k as usize)
    }

    pub(crate) fn index_of(&self, name: &str) -> Result<usize> {
        self.find(name)
            .ok_or_else(|| Error::new(Code::F006, format!("the program has no tensor named {name}")).received(name))
    }

    fn broken() -> Error {
        Error::new(Code::B001, "a location has no arena")
    }

    /// Placement of a location.
    pub(crate) fn place(&self, location: usize) -> Result<LocationInfo> {
        let entity = self.world.resource::<Entities>().locations.get(location).copied();
        let place = entity.and_then(|e| self.world.get::<Placement>(e));
        place.map(|p| p.0.clone()).ok_or_else(Self::broken)
    }

    pub(super) fn arena_entity(&self, place: &LocationInfo) -> Result<bevy_ecs::entity::Entity> {
        self.world.resource::<Entities>().arenas.get(place.arena.at()).copied().ok_or_else(Self::broken)
    }

    pub(crate) fn arena(&self, place: &LocationInfo) -> Result<&ArenaMem> {
        self.world.get::<ArenaMem>(self.arena_entity(place)?).ok_or_else(Self::broken)
    }

    /// Refuses data that are larger than a location.
    pub(crate) fn check_size(&self, location: usize, bytes: usize) -> Result<()> {
        let (place, name) = (self.place(location)?, self.name_of(location));
        if bytes as u64 > place.bytes() {
            return Err(Error::new(Code::F004, format!("the data of {name} is larger than its memory"))
                .received(format!("{bytes} bytes for {}", place.bytes()))
                .at(|p| p.tensor = Some(name.to_string())));
        }
        Ok(())
    }

    /// Writes the first bytes of a location.
    pub(crate) fn write(&mut self, location: usize, bytes: &[u8]) -> Result<()> {
        self.check_size(location, bytes.len())?;
        let place = self.place(location)?;
        let entity = self.arena_entity(&place)?;
        let limits = self.world.resource::<Settings>().limits.clone();
        let mut mem = self.world.get_mut::<ArenaMem>(entity).ok_or_else(Self::broken)?;
        let mut fresh = 0;
        let allow = &mut |n| {
            limits.take(n)?;
            fresh += n;
            Ok(())
        };
        let mut written = Ok(());
        place.for_rows(bytes.len(), |at, range| {
            if written.is_ok() {
                written = mem.write(at, &bytes[range], allow);
            }
        });
        self.world.resource_mut::<Stats>().touched += fresh;
        written?;
        if let Some(mut shadow) = self.world.get_mut::<InitShadow>(entity)
            && let Some(shadow) = &mut shadow.0
        {
            mark_rows(shadow, &place, bytes.len());
        }
        Ok(())
    }

    /// Takes these bytes for all of a location that has an arena of its own. The first of several cores accounts them. False
    /// when they do not fit.
    pub(crate) fn give(&mut self, location: usize, bytes: &Arc<Vec<u8>>, first: bool) -> Result<bool> {
        let place = self.place(location)?;
        let whole = place.is_linear() && place.start == 0 && place.bytes() == bytes.len() as u64;
        if !whole || bytes.is_empty() {
            return Ok(false);
        }
        let entity = self.arena_entity(&place)?;
        if !self.world.get_mut::<ArenaMem>(entity).ok_or_else(Self::broken)?.give(bytes) {
            return Ok(false);
        }
        if first {
            let n = bytes.len() as u64;
            self.world.resource::<Settings>().limits.take(n)?;
            self.world.resource_mut::<Stats>().touched += n;
        }
        if let Some(mut shadow) = self.world.get_mut::<InitShadow>(entity)
            && let Some(shadow) = &mut shadow.0
        {
            mark_rows(shadow, &place, bytes.len());
        }
        Ok(true)
    }

    /// Locations that are windows on tensors of other cores: name and core.
    pub(crate) fn windows(&self) -> Vec<(usize, (String, u32))> {
        let all = self.world.resource::<Program>().locations.iter().enumerate();
        all.filter_map(|(k, meta)| Some((k, meta.window.as_deref()?.clone()))).collect()
    }

    /// From now on, writes to the location's memory are noted for other cores.
    pub(crate) fn note_writes(&mut self, location: usize) -> Result<()> {
        let entity = self.arena_entity(&self.place(location)?)?;
        let mut marks = self.world.get_mut::<WrittenMarks>(entity).ok_or_else(Self::broken)?;
        marks.0.get_or_insert_default();
        Ok(())
    }

    /// Runs of the location's bytes that were written since the marks were cleared.
    pub(crate) fn written_runs(&self, location: usize) -> Result<Vec<(usize, usize)>> {
        let place = self.place(location)?;
        let marks = self.world.get::<WrittenMarks>(self.arena_entity(&place)?).and_then(|m| m.0.as_ref());
        let Some(marks) = marks.filter(|m| !m.is_empty()) else { return Ok(Vec::new()) };
        let (mut out, mut before) = (Vec::new(), 0);
        for (lo, hi) in place.runs() {
            out.extend(marks.runs(lo, hi).into_iter().map(|(a, b)| (before + a - lo, before + b - lo)));
            before += hi - lo;
        }
        Ok(out)
    }

    /// Forgets which bytes of the location's memory were written.
    pub(crate) fn clear_marks(&mut self, location: usize) -> Result<()> {
        let entity = self.arena_entity(&self.place(location)?)?;
        if let Some(mut marks) = self.world.get_mut::<WrittenMarks>(entity)
            && marks.0.as_ref().is_some_and(|m| !m.is_empty())
        {
            marks.0 = Some(Marks::default());
        }
        Ok(())
    }

    /// Bytes of a location from `offset` on.
    pub(crate) fn read_at(&self, location: usize, offset: usize, out: &mut [u8]) -> Result<()> {
        let place = self.place(location)?;
        let mem = self.arena(&place)?;
        each_piece(&place, offset, out.len(), |at, range| mem.read(at, &mut out[range]));
        Ok(())
    }

    /// Writes bytes of a location from `offset` on, as another core did: marks nothing as written by this one.
    pub(crate) fn write_at(&mut self, location: usize, offset: usize, bytes: &[u8]) -> Result<()> {
        let place = self.place(location)?;
        let entity = self.arena_entity(&place)?;
        let limits = self.world.resource::<Settings>().limits.clone();
        let mut mem = self.world.get_mut::<ArenaMem>(entity).ok_or_else(Self::broken)?;
        let mut fresh = 0;
        let mut written = Ok(());
        each_piece(&place, offset, bytes.len(), |at, range| {
            if written.is_ok() {
                written = mem.write(at, &bytes[range], &mut |n| {
                    limits.take(n)?;
                    fresh += n;
                    Ok(())
                });
            }
        });
        self.world.resource_mut::<Stats>().touched += fresh;
        written?;
        self.note_initialised(location, offset, offset + bytes.len())
    }

    /// The first `n` bytes of a location; never-written ones hold the fill.
    pub(crate) fn read(&self, location: usize, n: usize) -> Result<Vec<u8>> {
        let place = self.place(location)?;
        let mut out = self.buffer(location, n)?;
        let mem = self.arena(&place)?;
        place.for_rows(n, |at, range| mem.read(at, &mut out[range]));
        Ok(out)
    }

    /// Room for `n` bytes of a tensor. One that nothing ever touched may be declared larger than any memory.
    pub(crate) fn buffer(&self, location: usize, n: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let fits = n as u64 <= self.world.resource::<Settings>().target.sizes().dram_bytes;
        if !fits || out.try_reserve_exact(n).is_err() {
            let name = self.name_of(location);
            return Err(Error::new(
                Code::S018,
                "the tensor does not fit into the memory of the target or of this computer",
            )
            .received(format!("{n} bytes"))
            .at(|p| p.tensor = Some(name.to_string())));
        }
        out.resize(n, 0);
        Ok(out)
    }

    fn name_of(&self, location: usize) -> Arc<str> {
        let meta = self.world.resource::<Program>().locations.get(location);
        meta.map_or_else(|| "".into(), |m| m.name.as_ref().into())
    }

    /// Writes the bytes of a tensor: row-major, little-endian, of the declared dtype.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write(self.index_of(name)?, bytes)
    }

    /// The bytes of a tensor; never-written ones hold the fill byte. They are borrowed from the machine's memory where they
    /// stand there one after the other, else copied out of it.
    pub fn output(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        let index = self.index_of(name)?;
        let info = &self.tensors[index];
        let n = info.logical_bytes().ok_or_else(|| {
            Error::new(Code::J013, "the tensor's shape does not fit its memory")
                .received(format!("{:?} of {} in {} bytes", info.shape, info.dtype, info.bytes))
                .at(|p| p.tensor = Some(name.to_string()))
        })?;
        let (place, n) = (self.place(index)?, n as usize);
        let in_a_row = place.is_linear() && n as u64 <= place.bytes();
        let stands = self.arena(&place)?.present(place.start as usize, n).filter(|_| in_a_row);
        stands.map_or_else(|| self.read(index, n).map(Cow::Owned), |bytes| Ok(Cow::Borrowed(bytes)))
    }

    /// What happened to a location.
    pub(crate) fn state(&self, location: usize) -> LocationState {
        let entity = self.world.resource::<Entities>().locations.get(location).copied();
        entity.and_then(|e| self.world.get::<LocationState>(e)).copied().unwrap_or_default()
    }

    /// Whether anything was written to a tensor, and by which instruction first.
    pub fn written_by(&self, name: &str) -> Result<Option<String>> {
        Ok(self.writer_of(self.index_of(name)?))
    }

    pub(crate) fn writer_of(&self, location: usize) -> Option<String> {
        let state = self.state(location);
        let program = self.world.resource::<Program>();
        if state.written { state.first_writer.name(program) } else { None }
    }

    /// Frees the storage of a tensor; it reads as never written afterwards.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let index = self.index_of(name)?;
        let place = self.place(index)?;
        if self.is_physical() && place.arena.at() < 3 {
            return Err(Error::new(Code::F008, "a tensor placed in a shared memory cannot be released")
                .received(name)
                .advice("load the program with --mem-mode symbolic"));
        }
        self.free(&place)
    }

    /// Frees an arena.
    pub(crate) fn free(&mut self, place: &LocationInfo) -> Result<()> {
        let entity = self.arena_entity(place)?;
        let freed = self.world.get_mut::<ArenaMem>(entity).map_or(0, |mut m| m.release());
        let mut stats = self.world.resource_mut::<Stats>();
        stats.touched = stats.touched.saturating_sub(freed);
        self.world.resource::<Settings>().limits.give_back(freed);
        Ok(())
    }
}

/// Calls `f(arena byte, range of the piece)` for the gap-free pieces of a location's bytes.
pub(super) fn each_piece(
    place: &LocationInfo,
    offset: usize,
    n: usize,
    mut f: impl FnMut(usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < n {
        let byte = (offset + done) as u64;
        let left = if place.is_linear() { n } else { (place.row_bytes - byte % place.row_bytes.max(1)) as usize };
        let len = left.min(n - done);
        f(place.arena_byte(byte) as usize, done..done + len);
        done += len;
    }
}

fn mark_rows(shadow: &mut Shadow, place: &LocationInfo, n: usize) {
    place.for_rows(n, |at, range| shadow.set_run(at, at + range.len(), true));
}
