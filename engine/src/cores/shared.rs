//! Tensors that every core sees.
//!
//! Each core has its own copy of a shared tensor: the overlay of a round. At its end the bytes a core changed go to the
//! others, in core order; bytes that two cores changed to different values in one round are a race that is reported.

use crate::sim::Simulator;
use crate::world::Diagnostic;
use crate::{Code, Error, Result};

/// Names of the shared tensors and their bytes at the start of the round.
#[derive(Default)]
pub(super) struct SharedMemory {
    names: Vec<String>,
    base: Vec<Vec<u8>>,
}

impl SharedMemory {
    /// Finds the tensors that are declared shared and that more than one core has.
    pub(super) fn new(cores: &[Simulator]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for t in cores.iter().flat_map(|c| c.tensors()).filter(|t| t.shared) {
            let owners = cores.iter().filter(|c| c.tensors().iter().any(|o| o.name == t.name)).count();
            if owners > 1 && !names.contains(&t.name) {
                names.push(t.name.clone());
            }
        }
        SharedMemory { names, base: Vec::new() }
    }

    /// Remembers what the tensors hold. All copies are equal here, except before the first round.
    pub(super) fn begin(&mut self, cores: &mut [Simulator]) -> Result<()> {
        if self.base.is_empty() {
            for name in &self.names {
                let owner = cores.iter_mut().find(|c| c.tensors().iter().any(|t| t.name == *name));
                let owner = owner.ok_or_else(|| Error::new(Code::B001, "a shared tensor has no owner"))?;
                self.base.push(owner.memory(name)?);
            }
        }
        Ok(())
    }

    /// Merges what the cores wrote in this round.
    pub(super) fn merge(&mut self, cores: &mut [Simulator]) -> Result<()> {
        for (name, base) in self.names.iter().zip(&mut self.base) {
            let mut merged = base.clone();
            let mut writer: Vec<u32> = Vec::new();
            let mut changed = false;
            for (id, core) in cores.iter_mut().enumerate() {
                if !core.tensors().iter().any(|t| t.name == *name) {
                    continue;
                }
                let now = core.memory(name)?;
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
                    core.remark(Diagnostic {
                        class: "warning",
                        code: "core-race",
                        message: format!(
                            "cores {other} and {id} write byte {byte} of {name} without a barrier between them; core {id} wins"
                        ),
                        payload: None,
                        tensor: Some(name.clone()),
                    });
                }
            }
            if !changed {
                continue;
            }
            for core in cores.iter_mut() {
                if core.tensors().iter().any(|t| t.name == *name) && core.memory(name)? != merged {
                    core.bind_shared(name, &merged)?;
                }
            }
            *base = merged;
        }
        Ok(())
    }
}
