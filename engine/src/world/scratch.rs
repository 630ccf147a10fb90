//! What one running instruction keeps for its own later steps.

use super::{Limits, LocId};
use crate::memory::ArenaId;
use crate::{Code, Error};
use bevy_ecs::prelude::Resource;
use birsim_kernels::access::Pattern;
use birsim_kernels::matmul::Product;
use memmap2::{MmapMut, MmapOptions};

/// A dynamic operand of the running instruction.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Operand, counted over ins, outs, indirection_ins.
    pub operand: usize,
    /// Location.
    pub loc: LocId,
    /// Its arena.
    pub arena: ArenaId,
    /// Pattern.
    pub pattern: Pattern,
}

/// Bytes of a table that an index chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// Operand, counted over ins, outs, indirection_ins.
    pub operand: usize,
    /// First arena byte.
    pub lo: usize,
    /// End.
    pub hi: usize,
}

/// The private copy of an operand, and the patterns its views borrow.
#[derive(Default)]
pub struct Staging {
    /// Bytes.
    pub words: Vec<u64>,
    /// Dense pattern of the copy. It serves the next copy of the same shape too.
    pub dense: Option<Pattern>,
    /// Pattern of the whole location of a table.
    pub whole: Option<Pattern>,
    /// Pattern of a table's operand inside the copy.
    pub base: Option<Pattern>,
}

/// Address space that stands in for the arenas while instructions are only rehearsed. None of it is touched, so it costs no
/// memory.
pub struct Rehearsal(MmapMut);

impl Rehearsal {
    /// Regions: inputs, output 0, output 1.
    const REGIONS: usize = 3;

    /// Regions of `len` bytes; `None` when the host has no such room.
    pub fn new(len: usize) -> Option<Self> {
        let all = len.max(1).checked_mul(Self::REGIONS)?;
        MmapOptions::new().len(all).no_reserve_swap().map_anon().ok().map(Rehearsal)
    }

    /// First byte of the first region, and bytes of each.
    pub fn region(&mut self) -> (*mut u8, usize) {
        (self.0.as_mut_ptr(), self.0.len() / Self::REGIONS)
    }
}

/// Buffers and findings of the running instruction. They are kept from one instruction to the next, so that their memory is
/// allocated once.
#[derive(Resource, Default)]
pub struct Scratch {
    /// Buffers for staged inputs, by operand.
    pub stage: Stages,
    /// Memory of operands while instructions are only rehearsed.
    pub rehearsal: Option<Rehearsal>,
    /// Product of a matmul.
    pub product: Product,
    /// A dynamic operand leaves its tensor, and that is allowed.
    pub open: bool,
    /// Dynamic operands.
    pub dynamic: Vec<Resolved>,
    /// What indices chose; filled for observers only.
    pub indexed: Vec<Indexed>,
}

/// The buffers of staged inputs, by operand.
#[derive(Default)]
pub struct Stages(pub Vec<Staging>);

impl Stages {
    /// The buffer of operand `k`, at least `bytes` long. A pattern can name an element many times, so its copy may be larger
    /// than all tensors together.
    pub fn buffer(&mut self, k: usize, bytes: usize, limits: &Limits) -> crate::Result<&mut Staging> {
        if self.0.len() <= k {
            self.0.resize_with(k + 1, Staging::default);
        }
        let (buffer, words) = (&mut self.0[k].words, bytes.div_ceil(8));
        let more = words.saturating_sub(buffer.len());
        if more > 0 {
            let allowed = limits.take(8 * more as u64).is_ok();
            if !allowed || buffer.try_reserve_exact(more).is_err() {
                return Err(Error::new(Code::S009, "the copy of an operand needs more memory than there is")
                    .received(format!("{bytes} bytes"))
                    .advice("a pattern with step 0 repeats its elements: use fewer repeats, or raise --max-memory"));
            }
            buffer.resize(words, 0);
        }
        Ok(&mut self.0[k])
    }
}
