//! A core's part in tensors that it shares with others.

use super::Core;
use crate::memory::common::View;
use crate::memory::{ArenaMem, Common};
use crate::world::*;
use crate::{Code, Error, Result};
use std::borrow::Cow;

impl Core {
    /// A location is all of a memory of its own.
    pub(crate) fn sees_whole(&self, location: usize) -> Result<bool> {
        let place = self.place(location)?;
        Ok(place.is_linear() && place.start == 0 && place.bytes() == self.arena(&place)?.len() as u64)
    }

    /// A storage for a location; `None` where the host has none.
    pub(crate) fn new_common(&self, location: usize) -> Result<Option<Common>> {
        let mem = self.arena(&self.place(location)?)?;
        Common::new(mem.len(), mem.fill())
    }

    /// Copies what a location holds into a storage. Returns how many bytes of it were touched.
    pub(crate) fn copy_present(&self, location: usize, common: &mut Common) -> Result<u64> {
        let (mem, mut fresh) = (self.arena(&self.place(location)?)?, 0);
        if mem.touched() == 0 {
            return Ok(0);
        }
        for at in (0..mem.len()).step_by(mem.page()) {
            let Some(bytes) = mem.present(at, mem.page().min(mem.len() - at)) else { continue };
            common.write(at, bytes, &mut |n| {
                fresh += n;
                Ok(())
            })?;
        }
        Ok(fresh)
    }

    /// Sees a storage in a location from now on, instead of what the location held.
    pub(crate) fn see(&mut self, location: usize, view: View) -> Result<()> {
        if !self.sees_whole(location)? {
            return Err(Error::new(Code::B001, "a shared tensor has no memory of its own"));
        }
        let freed = self.memory_of(location)?.join(view);
        self.forget(freed);
        Ok(())
    }

    /// Sees what a storage holds after others wrote these runs of it.
    pub(crate) fn settle(
        &mut self,
        location: usize,
        common: &Common,
        runs: impl Iterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let freed = self.memory_of(location)?.settle(common, runs);
        self.forget(freed);
        Ok(())
    }

    /// Accounts bytes that were touched for this core and others.
    pub(crate) fn account(&mut self, fresh: u64) -> Result<()> {
        let limits = self.world.resource::<Settings>().limits.clone();
        self.world.resource_mut::<Stats>().touch(fresh, &limits)
    }

    fn forget(&mut self, freed: u64) {
        let mut stats = self.world.resource_mut::<Stats>();
        stats.touched = stats.touched.saturating_sub(freed);
        self.world.resource::<Settings>().limits.give_back(freed);
    }

    /// Bytes [lo, hi) of a location, where they stand if they are there.
    pub(crate) fn bytes_at(&self, location: usize, lo: usize, hi: usize) -> Result<Cow<'_, [u8]>> {
        let place = self.place(location)?;
        let stands = self.arena(&place)?.present(place.start as usize + lo, hi - lo).filter(|_| place.is_linear());
        if let Some(bytes) = stands {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = vec![0; hi - lo];
        self.read_at(location, lo, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Notes that another core wrote bytes [lo, hi) of a location.
    pub(crate) fn note_initialised(&mut self, location: usize, lo: usize, hi: usize) -> Result<()> {
        let place = self.place(location)?;
        let entity = self.arena_entity(&place)?;
        if let Some(mut shadow) = self.world.get_mut::<InitShadow>(entity)
            && let Some(shadow) = &mut shadow.0
        {
            super::tensors::each_piece(&place, lo, hi - lo, |at, range| shadow.set_run(at, at + range.len(), true));
        }
        Ok(())
    }

    fn memory_of(&mut self, location: usize) -> Result<bevy_ecs::world::Mut<'_, ArenaMem>> {
        let entity = self.arena_entity(&self.place(location)?)?;
        self.world.get_mut::<ArenaMem>(entity).ok_or_else(|| Error::new(Code::B001, "a location has no arena"))
    }
}
