//! Tensors that several cores see.
//!
//! Each core has its own copy of a shared tensor: the overlay of a round. At its end the bytes a core changed go to the
//! others, in core order; bytes that two cores changed to different values in one round are a race that is reported.

use crate::Result;
use crate::sim::Core;
use crate::world::{Diagnostic, Remark};

/// The copies of one tensor.
struct Shared {
    name: String,
    /// (core, location) of every copy, in core order.
    copies: Vec<(usize, usize)>,
    /// What all copies held at the start of the round; read with the first round.
    base: Option<Vec<u8>>,
}

/// The shared tensors.
#[derive(Default)]
pub(crate) struct SharedMemory {
    tensors: Vec<Shared>,
}

impl SharedMemory {
    /// Finds the tensors that are declared shared and that more than one core has.
    pub(super) fn new(cores: &[Core]) -> Self {
        let mut tensors: Vec<Shared> = Vec::new();
        for t in cores.iter().flat_map(|c| c.tensors()).filter(|t| t.shared) {
            let owners = cores.iter().enumerate().filter_map(|(id, c)| Some((id, c.find(&t.name)?)));
            let copies: Vec<(usize, usize)> = owners.collect();
            if copies.len() > 1 && tensors.iter().all(|o| o.name != t.name) {
                tensors.push(Shared { name: t.name.clone(), copies, base: None });
            }
        }
        SharedMemory { tensors }
    }

    /// Adds a copy of the tensor with this key; it takes over what the other copies hold.
    pub(crate) fn join(&mut self, cores: &mut [Core], key: &str, copy: (usize, usize)) -> Result<()> {
        let Some(shared) = self.tensors.iter_mut().find(|t| t.name == key) else {
            self.tensors.push(Shared { name: key.to_string(), copies: vec![copy], base: None });
            return Ok(());
        };
        let (first, at) = shared.copies[0];
        let place = cores[first].place(at)?;
        if cores[first].arena(&place)?.touched() > 0 {
            let bytes = cores[first].read(at, place.bytes() as usize)?;
            cores[copy.0].write(copy.1, &bytes)?;
        }
        shared.copies.push(copy);
        shared.copies.sort_unstable();
        Ok(())
    }

    /// Writes the first bytes of all copies of what a location is a copy of. False when it is none.
    pub(crate) fn bind(&mut self, cores: &mut [Core], copy: (usize, usize), bytes: &[u8]) -> Result<bool> {
        let Some(shared) = self.tensors.iter_mut().find(|t| t.copies.contains(&copy)) else { return Ok(false) };
        for (core, at) in &shared.copies {
            cores[*core].write(*at, bytes)?;
        }
        shared.base = None;
        Ok(true)
    }

    /// Remembers what the tensors hold. All copies are equal here, except before the first round.
    pub(super) fn begin(&mut self, cores: &[Core]) -> Result<()> {
        for t in self.tensors.iter_mut().filter(|t| t.copies.len() > 1 && t.base.is_none()) {
            let (core, at) = t.copies[0];
            t.base = Some(whole(&cores[core], at)?);
        }
        Ok(())
    }

    /// Merges what the cores wrote in this round.
    pub(super) fn merge(&mut self, cores: &mut [Core]) -> Result<()> {
        for Shared { name, copies, base } in &mut self.tensors {
            let Some(base) = base else { continue };
            let mut merged = base.clone();
            let mut writer: Vec<u32> = Vec::new();
            let mut changed = false;
            for (id, at) in copies.iter().copied() {
                let now = whole(&cores[id], at)?;
                if now == *base {
                    continue;
                }
                if !changed {
                    writer = vec![u32::MAX; base.len()];
                    changed = true;
                }
                let mut race = None;
                for (k, ((new, old), (out, who))) in
                    now.iter().zip(base.iter()).zip(merged.iter_mut().zip(&mut writer)).enumerate()
                {
                    if new == old {
                        continue;
                    }
                    if *who != u32::MAX && *out != *new && race.is_none() {
                        race = Some((k, *who));
                    }
                    (*out, *who) = (*new, id as u32);
                }
                if let Some((byte, other)) = race {
                    let message = format!(
                        "cores {other} and {id} write byte {byte} of {name} without a barrier between them; core {id} wins"
                    );
                    cores[id].remark(Diagnostic::warning(Remark::CoreRace, message).of(name.clone()));
                }
            }
            if !changed {
                continue;
            }
            for (id, at) in copies.iter().copied() {
                if whole(&cores[id], at)? != merged {
                    cores[id].write(at, &merged)?;
                }
            }
            *base = merged;
        }
        Ok(())
    }
}

/// All bytes of a location.
fn whole(core: &Core, at: usize) -> Result<Vec<u8>> {
    let n = core.place(at)?.bytes() as usize;
    core.read(at, n)
}
