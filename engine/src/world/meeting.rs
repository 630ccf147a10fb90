//! The rendezvous of several cores, as one core sees it.

use crate::ir::{CollectiveKind, Opcode, Trait};

/// A rendezvous as one side sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Meeting {
    /// CoreBarrier: an identifier and the cores that take part; none listed means all.
    Barrier {
        /// Barrier id.
        id: i64,
        /// Cores.
        cores: Vec<u32>,
    },
    /// Exchange with neighbours: sends to one core, receives from another.
    Exchange {
        /// Receiver of this core's data.
        to: u32,
        /// Sender of this core's new data.
        from: u32,
        /// Pipe.
        pipe: i64,
    },
    /// CollectiveRecv: a message of another core.
    Message {
        /// Sender.
        from: u32,
        /// It has arrived.
        arrived: bool,
    },
    /// Collective over a group of cores; none listed means all.
    Group {
        /// Kind.
        kind: CollectiveKind,
        /// Ranks of the group, in rank order.
        ranks: Vec<u32>,
    },
}

impl Meeting {
    /// Text for the deadlock report.
    pub fn describe(&self) -> String {
        match self {
            Meeting::Barrier { id, cores } if cores.is_empty() => format!("barrier {id} of all cores"),
            Meeting::Barrier { id, cores } => format!("barrier {id} of cores {cores:?}"),
            Meeting::Exchange { to, from, pipe } => {
                format!("an exchange on pipe {pipe}: sends to core {to}, receives from core {from}")
            }
            Meeting::Message { from, .. } => format!("a message of core {from}"),
            Meeting::Group { kind, ranks } => format!("{kind} of ranks {ranks:?}"),
        }
    }
}

/// Opcodes at which a core waits for others.
pub fn is_meeting(op: Opcode) -> bool {
    op.is(Trait::Meets)
}

/// Ranks of the group that holds `core`; groups come as written, none means all cores.
pub fn group_of(groups: Option<&[Vec<i64>]>, core: u32, cores: u32) -> Vec<u32> {
    let Some(groups) = groups else { return (0..cores).collect() };
    let has = |g: &&Vec<i64>| g.contains(&i64::from(core));
    match groups.iter().find(has) {
        Some(g) => g.iter().filter_map(|r| u32::try_from(*r).ok()).collect(),
        None if groups.is_empty() => (0..cores).collect(),
        None => vec![core],
    }
}
