//! The queues that meetings stand in.

use crate::world::Meeting;
use std::sync::Arc;

/// A queue of meetings on a core.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Line {
    Barrier {
        id: i64,
        members: Arc<[u32]>,
    },
    Group {
        members: Arc<[u32]>,
        stream: i64,
        channel: i64,
    },
    Swap,
    /// What one core sends another through a pipe.
    Way {
        from: u32,
        to: u32,
        pipe: i64,
    },
    Inbox {
        from: u32,
    },
}

/// The queues that a meeting of a core stands in.
pub(super) fn lines(core: u32, m: &Meeting) -> Vec<Line> {
    match m {
        Meeting::None(_) => Vec::new(),
        Meeting::Barrier { id, members, .. } => vec![Line::Barrier { id: *id, members: Arc::clone(members) }],
        Meeting::Exchange { to, from, pipe, .. } => {
            vec![Line::Way { from: core, to: *to, pipe: *pipe }, Line::Way { from: *from, to: core, pipe: *pipe }]
        }
        Meeting::Swap { .. } => vec![Line::Swap],
        Meeting::Message { from, .. } => vec![Line::Inbox { from: *from }],
        Meeting::Group(g) => {
            let mut members = g.members.to_vec();
            members.sort_unstable();
            vec![Line::Group { members: members.into(), stream: g.stream, channel: g.channel }]
        }
    }
}

/// Who takes part in a meeting, as far as the row that waits for it names them.
pub(super) fn members(m: &Meeting) -> Vec<u32> {
    match m {
        Meeting::None(_) => Vec::new(),
        Meeting::Barrier { members, .. } => members.to_vec(),
        Meeting::Group(g) => g.members.to_vec(),
        Meeting::Exchange { to, from, .. } => vec![*from, *to],
        Meeting::Swap { other, .. } => vec![*other],
        Meeting::Message { from, .. } => vec![*from],
    }
}

/// The members of a meeting with the core itself, sorted.
pub(super) fn together(core: u32, members: &[u32]) -> Vec<u32> {
    let mut all = members.to_vec();
    all.push(core);
    all.sort_unstable();
    all.dedup();
    all
}
