//! Rendezvous: core barriers, exchanges between two cores, collectives of a replica group.

use crate::Result;
use crate::sim::Core;
use crate::world::{Meeting, Received};

/// What a blocked core waits for.
struct Waiting {
    core: usize,
    row: u32,
    meeting: Meeting,
}

/// Lets through every core whose partners have arrived as well. Returns whether any was.
pub(super) fn resolve(cores: &mut [Core], done: &[bool]) -> Result<bool> {
    let all: Vec<u32> = (0..cores.len() as u32).collect();
    let mut waiting = Vec::new();
    for (core, sim) in cores.iter_mut().enumerate() {
        if let (false, Some((row, meeting))) = (done[core], sim.meeting()?) {
            waiting.push(Waiting { core, row, meeting });
        }
    }
    let ready: Vec<bool> = waiting.iter().map(|w| partners_here(w, &waiting, &all)).collect();
    // An exchange goes through only when the neighbours' own exchanges do: drop until nothing changes.
    let mut ready = ready;
    loop {
        let mut changed = false;
        for k in 0..waiting.len() {
            if ready[k] && !partners_ready(&waiting[k], &waiting, &ready) {
                ready[k] = false;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut sent: Vec<Option<Vec<Vec<u8>>>> = vec![None; cores.len()];
    for (w, ready) in waiting.iter().zip(&ready) {
        if *ready && matches!(w.meeting, Meeting::Exchange { .. } | Meeting::Group { .. }) {
            sent[w.core] = Some(cores[w.core].read_inputs(w.row)?);
        }
    }
    let mut any = false;
    for (w, ready) in waiting.iter().zip(&ready) {
        if !*ready {
            continue;
        }
        let ranks = match &w.meeting {
            Meeting::Barrier { .. } | Meeting::Message { .. } => Vec::new(),
            Meeting::Exchange { from, .. } => vec![*from],
            Meeting::Group { ranks, .. } => ranks.clone(),
        };
        let buffers = ranks.iter().map(|r| sent[*r as usize].clone().unwrap_or_default()).collect();
        cores[w.core].grant(w.row, Received { ranks, buffers });
        any = true;
    }
    Ok(any)
}

fn partners_here(w: &Waiting, waiting: &[Waiting], all: &[u32]) -> bool {
    let at = |core: u32| waiting.iter().find(|o| o.core == core as usize).map(|o| &o.meeting);
    match &w.meeting {
        Meeting::Barrier { id, cores } => {
            let members = |cores: &[u32]| {
                let mut members = if cores.is_empty() { all.to_vec() } else { cores.to_vec() };
                members.sort_unstable();
                members.dedup();
                members
            };
            let own = members(cores);
            own.iter().all(|c| match at(*c) {
                Some(Meeting::Barrier { id: other, cores }) => other == id && members(cores) == own,
                _ => false,
            })
        }
        Meeting::Exchange { to, from, pipe } => {
            let me = w.core as u32;
            matches!(at(*from), Some(Meeting::Exchange { to: t, pipe: p, .. }) if *t == me && p == pipe)
                && matches!(at(*to), Some(Meeting::Exchange { from: f, pipe: p, .. }) if *f == me && p == pipe)
        }
        Meeting::Message { arrived, .. } => *arrived,
        Meeting::Group { kind, ranks } => ranks
            .iter()
            .all(|c| matches!(at(*c), Some(Meeting::Group { kind: k, ranks: r }) if k == kind && r == ranks)),
    }
}

fn partners_ready(w: &Waiting, waiting: &[Waiting], ready: &[bool]) -> bool {
    let is_ready = |core: u32| waiting.iter().zip(ready).any(|(o, r)| o.core == core as usize && *r);
    match &w.meeting {
        Meeting::Exchange { to, from, .. } => is_ready(*to) && is_ready(*from),
        _ => true,
    }
}
