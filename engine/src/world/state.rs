//! Resources: state of a run that belongs to no single entity.

use super::{Indexed, Resolved};
use crate::ir::Opcode;
use crate::{Code, Error};
use bevy_ecs::prelude::Resource;
use birsim_kernels::Profile;
use birsim_kernels::matmul::Product;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

/// In which order engines issue instructions that are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Every engine issues consecutive runnable instructions.
    #[default]
    Window,
    /// One instruction per tick, round-robin: the documented simulator's order.
    Reference,
    /// One instruction per tick, engine picked at random from this seed.
    Seeded(u64),
}

/// Bounds of a run; exceeding one is a clean fault (S009).
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Touched bytes.
    pub max_memory: Option<u64>,
    /// Executed instructions.
    pub max_instructions: Option<u64>,
    /// End of the run.
    pub deadline: Option<Instant>,
    /// Set from outside to stop.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Instructions executed so far, readable from other threads during the run.
    pub progress: Option<Arc<AtomicU64>>,
}

/// One remark about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// `fault` for the findings of checkers, `warning` or `note`.
    pub class: &'static str,
    /// Stable short name, for filters.
    pub code: &'static str,
    /// Text.
    pub message: String,
    /// Instruction payload it is about.
    pub payload: Option<u32>,
    /// Tensor it is about.
    pub tensor: Option<String>,
}

/// Counters of a run.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Ticks.
    pub ticks: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Executions per opcode.
    pub per_opcode: [u64; crate::ir::table::OPCODES],
    /// Skip-and-note executions per opcode.
    pub skipped: [u64; crate::ir::table::OPCODES],
    /// Bytes of memory touched, at most so far.
    pub touched: u64,
}

impl Default for Stats {
    fn default() -> Self {
        let zero = [0; crate::ir::table::OPCODES];
        Stats { ticks: 0, instructions: 0, per_opcode: zero, skipped: zero, touched: 0 }
    }
}

/// The settings of a run.
#[derive(Resource, Clone, Debug)]
pub struct Settings {
    /// Choices of numerics.
    pub profile: Profile,
    /// Schedule.
    pub schedule: Schedule,
    /// Limits.
    pub limits: Limits,
    /// Seed of the host MT19937-64.
    pub seed: u64,
    /// Id of this core.
    pub core: u32,
    /// Number of cores that run together.
    pub cores: u32,
    /// Target the program runs for.
    pub target: crate::target::Target,
    /// The five skip-and-note opcodes are an error.
    pub unsupported_is_error: bool,
    /// DevicePrint shows every element, not the first and last rows and columns of large tensors.
    pub print_all: bool,
    /// Warnings about protocol leftovers are faults.
    pub strict: bool,
    /// The only program that CustomOp and BIRKernel may start.
    pub external: Option<std::path::PathBuf>,
    /// What never-written memory reads as.
    pub fill: u8,
    /// Every arena has an initialisation shadow.
    pub track_init: bool,
    /// Piecewise activation tables; the exact forms without them.
    pub tables: Option<std::sync::Arc<birsim_kernels::activation::pwp::Tables>>,
}

/// A buffer that CollectiveSend published and that has not been received.
#[derive(Debug)]
pub struct Message {
    /// Rank of the sender.
    pub from: u32,
    /// Shape and element type.
    pub pattern: birsim_kernels::access::Pattern,
    /// Elements in order.
    pub bytes: Vec<u8>,
}

/// What one DevicePrint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePrint {
    /// Meant for the standard error stream.
    pub stderr: bool,
    /// The text, several lines, without a line end.
    pub text: String,
}

/// Inputs of the other cores at a rendezvous: dense bytes per rank and operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// Ranks, in rank order.
    pub ranks: Vec<u32>,
    /// Per rank, the bytes of every input.
    pub buffers: Vec<Vec<Vec<u8>>>,
}

/// State of a run.
#[derive(Resource, Default)]
pub struct Run {
    /// Actual set of every set, identity outside calls.
    pub bindings: Vec<u32>,
    /// Counters.
    pub stats: Stats,
    /// Remarks.
    pub diagnostics: Vec<Diagnostic>,
    /// The fault that ended the run, with the payload it belongs to.
    pub fault: Option<Error>,
    /// What the other cores sent, for the instruction that was let through.
    pub received: Option<Received>,
    /// Buffers for staged inputs, by operand.
    pub stage: Vec<Staging>,
    /// Host generator, made on first use.
    pub host_rng: Option<birsim_kernels::rng::Mt19937_64>,
    /// Product of the running matmul.
    pub product: Product,
    /// A dynamic operand of the running instruction leaves its tensor, and that is allowed.
    pub open: bool,
    /// Dynamic operands of the running instruction.
    pub dynamic: Vec<Resolved>,
    /// What indices chose in the running instruction; filled for observers only.
    pub indexed: Vec<Indexed>,
    /// Sent and not yet received buffers.
    pub messages: std::collections::VecDeque<Message>,
    /// Messages for other cores, delivered at the end of the round.
    pub outgoing: Vec<(u32, Message)>,
    /// Texts of DevicePrint, in order.
    pub prints: Vec<DevicePrint>,
}

/// The private copy of an operand, and the patterns its views borrow.
#[derive(Default)]
pub struct Staging {
    /// Bytes.
    pub words: Vec<u64>,
    /// Pattern of the copy, or of the whole location of a table.
    pub whole: Option<birsim_kernels::access::Pattern>,
    /// Pattern of a table's operand inside the copy.
    pub base: Option<birsim_kernels::access::Pattern>,
}

impl Run {
    /// Records a remark once per (code, payload, tensor).
    pub fn note(&mut self, d: Diagnostic) {
        if !self.diagnostics.iter().any(|o| o.code == d.code && o.payload == d.payload && o.tensor == d.tensor) {
            self.diagnostics.push(d);
        }
    }

    /// Accounts newly touched bytes.
    pub fn touch(&mut self, fresh: u64, limits: &Limits) -> crate::Result<()> {
        self.stats.touched += fresh;
        match limits.max_memory {
            Some(max) if self.stats.touched > max => {
                Err(Error::new(Code::S009, "the run touches more memory than --max-memory allows")
                    .received(format!("{} of {max} bytes", self.stats.touched)))
            }
            _ => Ok(()),
        }
    }

    /// The buffer of operand `k`, at least `bytes` long. A pattern can name an element many times, so its copy may be larger
    /// than all tensors together.
    pub fn staging(&mut self, k: usize, bytes: usize, limits: &Limits) -> crate::Result<&mut Staging> {
        if self.stage.len() <= k {
            self.stage.resize_with(k + 1, Staging::default);
        }
        let (buffer, words) = (&mut self.stage[k].words, bytes.div_ceil(8));
        let more = words.saturating_sub(buffer.len());
        if more > 0 {
            let allowed = limits.max_memory.is_none_or(|max| self.stats.touched.saturating_add(bytes as u64) <= max);
            if !allowed || buffer.try_reserve_exact(more).is_err() {
                return Err(Error::new(Code::S009, "the copy of an operand needs more memory than there is")
                    .received(format!("{bytes} bytes"))
                    .advice("a pattern with step 0 repeats its elements: use fewer repeats, or raise --max-memory"));
            }
            buffer.resize(words, 0);
        }
        Ok(&mut self.stage[k])
    }

    /// Counts one execution.
    pub fn count(&mut self, opcode: Opcode) {
        self.stats.instructions += 1;
        self.stats.per_opcode[opcode.ordinal() as usize] += 1;
    }
}

/// Rows issued in this tick, in issue order.
#[derive(Resource, Default)]
pub struct IssueList {
    /// Rows.
    pub rows: Vec<u32>,
    /// Semaphore values after the rows issued so far.
    pub pending: Vec<u32>,
    /// Engine after the last served one.
    pub next_engine: usize,
    /// State of the random numbers of the seeded schedule.
    pub random: u64,
}
