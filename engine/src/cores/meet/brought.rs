//! What members bring to their meetings, and how it comes to those that receive it.
//!
//! All inputs of all members are read before any output is written. So a meeting begins with copies of its inputs, but for two
//! kinds of meetings that can do without, because memory that nobody has used yet costs the host more than to compute with it:
//! an AllReduce folds every input where it stands; and what one member hands to another goes by way of one buffer, when no
//! output can meet an input that is still to be read.

use super::{Floor, Ready, Side, at, placed};
use crate::ir::CollectiveKind;
use crate::sim::Core;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::collective as kernel;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::sync::Arc;

/// How the inputs of a meeting come to those that receive them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As copies, which the rows take when they execute.
    Copied,
    /// Folded where they stand.
    Folded,
    /// Into the outputs at the meeting.
    Handed,
}

/// The contributions to the meetings that take place between the same two rounds.
pub(super) struct Brought {
    of: HashMap<Side, Arc<Contribution>>,
    /// Rows of each core that bring something.
    rows: Vec<Vec<RowId>>,
}

impl Brought {
    /// What a member brings.
    pub fn by(&self, side: &Side) -> Result<Arc<Contribution>> {
        let found = self.of.get(side).map(Arc::clone);
        found.ok_or_else(|| Error::new(Code::B001, "a member of a meeting has brought nothing"))
    }

    /// How its inputs come to those that receive them.
    pub fn way(&self, cores: &[Core], ready: &Ready) -> Way {
        // Another row of the core may be about to read what this one writes, and checkers look at a row while it executes.
        let apart = |side: &Side| {
            let core = side.0 as usize;
            self.rows[core].len() == 1 && !cores[core].is_watched() && self.of.get(side).is_some_and(|c| !c.in_place)
        };
        match ready {
            Ready::Group(_, g) if g.kind == CollectiveKind::AllReduce => Way::Folded,
            Ready::Group(sides, g) if is_handed(g.kind) && sides.iter().all(apart) => Way::Handed,
            Ready::Inputs(pairs) if pairs.iter().all(|(receiver, _)| apart(receiver)) => Way::Handed,
            _ => Way::Copied,
        }
    }
}

/// The output of a member is the input of another.
fn is_handed(kind: CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::Permute | CollectiveKind::PermuteImplicit)
}

/// The member whose inputs a member receives, by their positions in the group.
fn source(group: &Group, me: usize) -> Option<usize> {
    let own = group.names[me];
    let name = match group.kind {
        CollectiveKind::Permute => kernel::permute_source(&group.pairs, own),
        _ => kernel::ring_source(&group.names, own),
    };
    group.names.iter().position(|n| Some(*n) == name)
}

impl Floor {
    /// Asks the members what they bring, and reads the inputs that are copied.
    pub(super) fn bring(&mut self, cores: &mut [Core], ready: &[Ready]) -> Result<Brought> {
        let mut rows: Vec<Vec<RowId>> = vec![Vec::new(); cores.len()];
        ready.iter().flat_map(Ready::bringing).for_each(|(core, row)| rows[core as usize].push(row));
        let mut brought = Brought { of: HashMap::new(), rows };
        if brought.rows.iter().all(Vec::is_empty) {
            return Ok(brought);
        }
        let offers = of_all(cores, &brought.rows, |core, row| core.contribution(row));
        for (side, offer) in offers {
            let offer = offer.map_err(|e| placed(&cores[side.0 as usize], e))?;
            brought.of.insert(side, Arc::new(offer));
        }
        let mut copied: Vec<Vec<RowId>> = vec![Vec::new(); cores.len()];
        for r in ready.iter().filter(|r| brought.way(cores, r) == Way::Copied) {
            r.bringing().for_each(|(core, row)| copied[core as usize].push(row));
        }
        if copied.iter().any(|rows| !rows.is_empty()) {
            for (side, inputs) in of_all(cores, &copied, |core, row| core.inputs(row)) {
                let inputs = inputs.map_err(|e| placed(&cores[side.0 as usize], e))?;
                self.lend(cores, side, inputs.iter().map(|i| i.len() as u64).sum())?;
                if let Some(c) = brought.of.get_mut(&side).and_then(Arc::get_mut) {
                    c.inputs = inputs;
                }
            }
        }
        Ok(brought)
    }

    /// Takes memory for a meeting. It is given back before the next ones.
    pub(super) fn lend(&mut self, cores: &[Core], side: Side, bytes: u64) -> Result<()> {
        let limits = &cores[side.0 as usize].world.resource::<Settings>().limits;
        limits.take(bytes).map_err(|e| at(cores, e, side))?;
        self.lent += bytes;
        Ok(())
    }

    /// Hands the inputs of members of a group to those that receive them. A member without a source keeps its bytes.
    pub(super) fn hand_around(
        &mut self,
        cores: &mut [Core],
        sides: &[Side],
        group: &Group,
        brought: &Brought,
    ) -> Result<()> {
        let of = |me: usize| Some((sides[me], sides[source(group, me)?]));
        // The own shape serves for the source's inputs too, because members agree on the number of elements.
        let pairs: Vec<(Side, Side, Side)> = (0..sides.len()).filter_map(of).map(|(to, from)| (to, from, to)).collect();
        self.hand_over(cores, &pairs, brought)
    }

    /// Hands the inputs of senders to receivers: (receiver, sender, the one whose extents describe the inputs).
    pub(super) fn hand_over(
        &mut self,
        cores: &mut [Core],
        pairs: &[(Side, Side, Side)],
        brought: &Brought,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for (to, from, like) in pairs {
            let (like, outs) = (brought.by(like)?, brought.by(to)?.outs.len());
            for (k, extent) in like.ins.iter().enumerate().take(outs) {
                self.lend(cores, *from, extent.bytes().saturating_sub(buffer.len() as u64))?;
                let read = cores[from.0 as usize].input(from.1, k, &mut buffer);
                read.map_err(|e| placed(&cores[from.0 as usize], e))?;
                let landed = cores[to.0 as usize].land(to.1, k, extent, &buffer);
                landed.map_err(|e| placed(&cores[to.0 as usize], e))?;
            }
        }
        Ok(())
    }
}

/// Asks rows of all cores, in parallel when there are several.
fn of_all<T: Send>(
    cores: &mut [Core],
    rows: &[Vec<RowId>],
    ask: impl Fn(&mut Core, RowId) -> Result<T> + Sync,
) -> Vec<(Side, Result<T>)> {
    let one = |(id, (core, rows)): (usize, (&mut Core, &Vec<RowId>))| -> Vec<(Side, Result<T>)> {
        rows.iter().map(|row| ((id as u32, *row), ask(core, *row))).collect()
    };
    let lists: Vec<Vec<(Side, Result<T>)>> = match cores.len() {
        1 => cores.iter_mut().zip(rows).enumerate().map(one).collect(),
        _ => cores.par_iter_mut().zip(rows).enumerate().map(one).collect(),
    };
    lists.into_iter().flatten().collect()
}
