//! The meetings of several cores: what one core brings to one, and what it takes from it.

use super::Message;
use crate::ir::{CollectiveDimension, CollectiveKind, Opcode, Trait};
use birsim_kernels::access::Pattern;
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Code, Dtype, Error, Result};
use std::sync::Arc;

/// A meeting as one of its members sees it. Cores are numbers of the run, unless they are called names.
#[derive(Clone, Debug, PartialEq)]
pub enum Meeting {
    /// Nobody: the core takes no part, or runs without its peers. What the instruction gets is known at once.
    None(Alone),
    /// CoreBarrier.
    Barrier {
        /// Barrier id.
        id: i64,
        /// Members, sorted.
        members: Arc<[u32]>,
        /// How the program names them; nothing means all.
        names: Arc<[u32]>,
    },
    /// SendRecv with two neighbours: sends to one core, receives from another.
    Exchange {
        /// Receiver of this core's data.
        to: u32,
        /// Sender of this core's new data.
        from: u32,
        /// Pipe.
        pipe: i64,
        /// How the program names the two.
        names: [u32; 2],
        /// The names are cores of the rank, not ranks.
        local: bool,
    },
    /// GPSIMDSB2SB with the partner core.
    Swap {
        /// The partner.
        other: u32,
        /// Its core number.
        name: u32,
    },
    /// CollectiveRecv: a message of another core.
    Message {
        /// Sender.
        from: u32,
        /// Its rank.
        name: u32,
    },
    /// Collective over a group.
    Group(Arc<Group>),
}

/// What an instruction gets that meets nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// Nothing: its outputs keep their bytes.
    Outside,
    /// This many ranks are taken to hold the same data.
    StandIn(u32),
}

/// A collective over a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Kind.
    pub kind: CollectiveKind,
    /// Reduction.
    pub op: AluOp,
    /// Dimension that is joined or split.
    pub dim: CollectiveDimension,
    /// Members, in group order.
    pub members: Arc<[u32]>,
    /// How the program names them, in group order.
    pub names: Arc<[u32]>,
    /// (source, target) of a Permute, by name.
    pub pairs: Vec<(u32, u32)>,
    /// Stream.
    pub stream: i64,
    /// Channel.
    pub channel: i64,
    /// Names are cores of one rank.
    pub local: bool,
}

impl Meeting {
    /// Text for the deadlock report.
    pub fn describe(&self) -> String {
        match self {
            Meeting::None(_) => "nobody".into(),
            Meeting::Barrier { id, names, .. } if names.is_empty() => format!("barrier {id} of all cores"),
            Meeting::Barrier { id, names, .. } => format!("barrier {id} of cores {names:?}"),
            Meeting::Exchange { pipe, names: [to, from], local, .. } => {
                let what = if *local { "core" } else { "rank" };
                format!("an exchange on pipe {pipe}: sends to {what} {to}, receives from {what} {from}")
            }
            Meeting::Swap { name, .. } => format!("an exchange with the partner core {name}"),
            Meeting::Message { name, .. } => format!("a message of rank {name}"),
            Meeting::Group(g) => {
                let what = if g.local { "cores" } else { "ranks" };
                format!("{} of {what} {:?}", g.kind, g.names)
            }
        }
    }
}

/// Opcodes at which a core waits for others.
pub fn is_meeting(op: Opcode) -> bool {
    op.is(Trait::Meets)
}

/// Element type and extent of an operand at a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Element type.
    pub dtype: Dtype,
    /// Lanes.
    pub lanes: u32,
    /// Elements per lane.
    pub lane_len: u32,
}

impl Extent {
    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        (self.len() * self.dtype.size()) as u64
    }

    /// Of a pattern.
    pub fn of(p: &Pattern) -> Result<Extent> {
        let narrow = |n: usize| {
            u32::try_from(n).map_err(|_| {
                Error::new(Code::S009, "an operand of a collective has more than 2^32 elements per partition")
                    .received(n)
            })
        };
        Ok(Extent { dtype: p.dtype(), lanes: narrow(p.lanes())?, lane_len: narrow(p.lane_len())? })
    }

    /// Elements in all.
    pub fn len(&self) -> usize {
        self.lanes as usize * self.lane_len as usize
    }

    /// True when there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dense pattern of this extent.
    pub fn dense(&self) -> Result<Pattern> {
        Pattern::dense(self.dtype, &[self.lanes, self.lane_len])
    }
}

/// What a member brings to a meeting: what its operands look like, and dense copies of its inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contribution {
    /// Bytes of every input; none when they are read where they stand.
    pub inputs: Vec<Vec<u8>>,
    /// An output has bytes in common with an input.
    pub in_place: bool,
    /// Inputs.
    pub ins: Vec<Extent>,
    /// Outputs.
    pub outs: Vec<Extent>,
}

/// One result of a group, in every element type that a member's output has.
pub type Folded = Vec<(Dtype, Vec<u8>)>;

/// What the members of a group brought, and the results that are the same for all of them.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// What it is.
    pub group: Arc<Group>,
    /// Contributions, in group order.
    pub members: Vec<Arc<Contribution>>,
    /// Results that all members share, per output and element type.
    pub folded: Vec<Folded>,
}

/// What an instruction takes from its meeting.
#[derive(Debug)]
pub enum Received {
    /// It met nobody.
    Alone(Alone),
    /// It was let through.
    Passed,
    /// Its outputs were written at the meeting.
    Landed,
    /// The inputs of another member.
    Inputs(Arc<Contribution>),
    /// A message.
    Message(Box<Message>),
    /// What a group brought, and the own position in it.
    Group(Arc<Gathered>, usize),
}
