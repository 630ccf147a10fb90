//! Ranks and cores: which module runs on which core of which rank.

use crate::ir::Module;
use crate::sim::{Builder, Core};
use crate::world::Seat;
use crate::{Code, Error, Result};

/// Cores that a run may have.
const MOST: u32 = 4096;

/// Seat and module of every core of the run, in the order of the run.
pub(super) fn seats(builder: &Builder, modules: &[Module]) -> Result<Vec<(Seat, usize)>> {
    let given = u32::try_from(modules.len()).unwrap_or(u32::MAX);
    let usage = |what: &str, got: String| Err(Error::new(Code::F008, what).received(got));
    let (lnc, ranks) = builder.shape();
    if lnc == Some(0) || ranks == Some(0) {
        return usage("a run has at least one rank, and a rank at least one core", "0".into());
    }
    if given == 0 {
        return usage("there is no core to run on", "no module".into());
    }
    let (cores, ranks) = match (lnc, ranks) {
        (None, None) => (given, 1),
        (None, Some(ranks)) => (given, ranks),
        (Some(cores), None) if given.is_multiple_of(cores) => (cores, given / cores),
        (Some(cores), Some(ranks)) if given == cores || cores.checked_mul(ranks) == Some(given) => (cores, ranks),
        (Some(cores), ranks) => {
            let all = ranks.map_or_else(String::new, |r| format!(" on {r} ranks"));
            return usage(
                "the number of modules does not fit the ranks",
                format!("{given} modules for ranks of {cores} cores{all}"),
            );
        }
    };
    if cores.checked_mul(ranks).is_none_or(|n| n > MOST) {
        return usage(&format!("a run has at most {MOST} cores"), format!("{ranks} ranks of {cores} cores"));
    }
    let apart = builder.shape() != (None, None);
    let mut out = Vec::new();
    for rank in 0..ranks {
        let first = if given == cores { 0 } else { rank * cores };
        let own: Vec<usize> = (first..first + cores).map(|m| m as usize).collect();
        for (core, module) in in_order(modules, own).into_iter().enumerate() {
            let id = rank * cores + core as u32;
            let seat = if apart { Seat::of_rank(id, cores, ranks) } else { Seat::plain(id, cores) };
            out.push((seat, module));
        }
    }
    Ok(out)
}

/// The modules of a rank by `neuron_core_id`, when all of them have it.
fn in_order(modules: &[Module], mut own: Vec<usize>) -> Vec<usize> {
    let id = |m: &usize| modules[*m].attributes.get("neuron_core_id").and_then(|v| v.as_u64());
    if own.iter().all(|m| id(m).is_some()) {
        own.sort_by_key(|m| id(m));
    }
    own
}

/// Cores whose tensors are those of one rank.
pub(super) fn cores_per_rank(cores: &[Core]) -> usize {
    match cores.first().map(Core::seat) {
        Some(seat) if seat.apart => (seat.cores as usize).max(1),
        _ => cores.len().max(1),
    }
}
