//! Exchanges: each core sends to one and receives from one, so that any number of them hang together.

use super::brought::Brought;
use super::{Floor, Ready, Side};
use crate::Result;
use crate::ir::CollectiveKind;
use crate::sim::Core;
use crate::world::{Extent, Meeting};
use hashbrown::HashSet;

impl Floor {
    /// An exchange takes place when all that are joined by it, neighbour by neighbour, have come.
    pub(super) fn look_at_exchanges(&mut self, new: &[Side], ready: &mut Vec<Ready>) {
        let mut seen: HashSet<Side> = HashSet::new();
        for start in new {
            if !seen.insert(*start) {
                continue;
            }
            let (mut joined, mut at, mut complete) = (vec![*start], 0, true);
            while let Some(side) = joined.get(at).copied() {
                at += 1;
                for key in &self.waiting[side.0 as usize][&side.1].at {
                    let other = self.here.get(key).and_then(|h| h.iter().find(|s| **s != side));
                    match other {
                        Some(other) if seen.insert(*other) => joined.push(*other),
                        Some(_) => {}
                        None => complete = false,
                    }
                }
            }
            if !complete {
                continue;
            }
            let mut pairs = Vec::new();
            for side in &joined {
                let incoming = &self.waiting[side.0 as usize][&side.1].at[1];
                let sender = self.here.get(incoming).and_then(|h| h.iter().find(|s| *s != side));
                pairs.extend(sender.map(|sender| (*side, *sender)));
            }
            for side in &joined {
                for key in &self.waiting[side.0 as usize][&side.1].at {
                    self.here.remove(key);
                }
            }
            ready.push(Ready::Inputs(pairs));
        }
    }

    /// An exchange counts for all that are joined by it. Partner exchanges are no collectives.
    pub(super) fn count_exchange(&mut self, cores: &[Core], pairs: &[(Side, Side)], brought: &Brought) -> Result<()> {
        let is_collective = |(core, row): &Side| {
            matches!(self.waiting[*core as usize].get(row).map(|w| &w.meeting), Some(Meeting::Exchange { .. }))
        };
        if !pairs.iter().all(|(side, _)| is_collective(side)) {
            return Ok(());
        }
        let mut group: Vec<u32> = pairs.iter().map(|((core, _), _)| cores[*core as usize].seat().rank).collect();
        group.sort_unstable();
        let mut bytes = 0;
        for (_, sender) in pairs {
            bytes += brought.by(sender)?.ins.iter().map(Extent::bytes).sum::<u64>();
        }
        self.counts.add(CollectiveKind::SendRecv, group, bytes);
        Ok(())
    }
}
