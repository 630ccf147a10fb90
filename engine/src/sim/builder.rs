//! Choices before a simulator is built.

use crate::check::{Check, TraceSink};
use crate::memory::{Fill, TensorMap};
use crate::target::Target;
use crate::world::compile::Order;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Profile;
use birsim_kernels::profile::{Leftover, NanWrite, PatternDtype};

/// How locations are placed in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemMode {
    /// Physical iff every SBUF and PSUM location is allocated.
    #[default]
    Auto,
    /// One arena per location.
    Symbolic,
    /// SBUF, PSUM and DRAM arenas; locations are views and overlaps are real.
    Physical,
}

/// Choices before a simulator is built.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) target: Option<Target>,
    pub(super) threads: Option<usize>,
    pub(super) order: Order,
    pub(super) schedule: IssueOrder,
    pub(super) mem_mode: MemMode,
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    pub(super) seed: Option<u64>,
    pub(super) core: u32,
    pub(super) cores: Option<u32>,
    pub(super) seat: Option<Seat>,
    pub(super) lnc: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) stand_in: bool,
    pub(super) strict: bool,
    pub(super) unsupported_is_error: bool,
    pub(super) print_all: bool,
    pub(super) tables: Option<std::sync::Arc<birsim_kernels::activation::pwp::Tables>>,
    pub(super) checks: Vec<Check>,
    pub(super) trace: Option<TraceSink>,
    pub(super) dumps: Vec<(String, String)>,
    pub(super) tensor_map: Option<TensorMap>,
    pub(super) external: Option<std::path::PathBuf>,
    pub(super) fill: Fill,
}

impl Builder {
    /// The profile, with what strict mode changes in it (rulings D1 and D21).
    pub(crate) fn rules(&self) -> Profile {
        let mut profile = self.profile;
        if self.strict {
            profile.pattern_dtype = PatternDtype::Refuse;
            profile.leftover_semaphores = Leftover::Fault;
        }
        profile
    }

    /// The checks asked for, and the one that the profile makes a rule (ruling D14).
    pub(crate) fn all_checks(&self) -> Vec<Check> {
        let mut checks = self.checks.clone();
        if self.profile.nan_write == NanWrite::Fault && !checks.contains(&Check::NanWrite) {
            checks.push(Check::NanWrite);
        }
        checks
    }

    /// Target; the module's architecture when not given.
    #[must_use]
    pub fn target(mut self, t: Target) -> Self {
        self.target = Some(t);
        self
    }

    /// Threads of the kernels; the machine's CPUs when not given.
    #[must_use]
    pub fn threads(mut self, n: usize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Order of execution.
    #[must_use]
    pub fn order(mut self, o: Order) -> Self {
        self.order = o;
        self
    }

    /// Order of issue.
    #[must_use]
    pub fn schedule(mut self, s: IssueOrder) -> Self {
        self.schedule = s;
        self
    }

    /// Memory mode.
    #[must_use]
    pub fn mem_mode(mut self, m: MemMode) -> Self {
        self.mem_mode = m;
        self
    }

    /// Choices of numerics.
    #[must_use]
    pub fn profile(mut self, p: Profile) -> Self {
        self.profile = p;
        self
    }

    /// Limits.
    #[must_use]
    pub fn limits(mut self, l: Limits) -> Self {
        self.limits = l;
        self
    }

    /// Seed of the host MT19937-64; 42 when not given.
    #[must_use]
    pub fn seed(mut self, s: u64) -> Self {
        self.seed = Some(s);
        self
    }

    /// Opt-in checkers; their findings fail the run with S017 when it ends.
    #[must_use]
    pub fn checks(mut self, checks: impl IntoIterator<Item = Check>) -> Self {
        self.checks = checks.into_iter().collect();
        self.checks.sort_unstable();
        self.checks.dedup();
        self
    }

    /// Reports every executed instruction. Selects the `reference` schedule instead of `window`.
    #[must_use]
    pub fn trace(mut self, sink: TraceSink) -> Self {
        self.trace = Some(sink);
        self
    }

    /// What never-written memory holds; the byte 0xFF, as in the reference, when not given.
    #[must_use]
    pub fn fill(mut self, fill: impl Into<Fill>) -> Self {
        self.fill = fill.into();
        self
    }

    /// Keeps the value of a tensor after the last execution of an instruction, or after execution N of `NAME#N`, see
    /// `Simulator::dumps`.
    #[must_use]
    pub fn dump(mut self, tensor: impl Into<String>, instruction: impl Into<String>) -> Self {
        self.dumps.push((tensor.into(), instruction.into()));
        self
    }

    /// Places tensors of SBUF and PSUM.
    #[must_use]
    pub fn tensor_map(mut self, map: TensorMap) -> Self {
        self.tensor_map = Some(map);
        self
    }

    /// The program that CustomOp and BIRKernel may start; without it they are refused.
    #[must_use]
    pub fn external_kernels(mut self, program: impl Into<std::path::PathBuf>) -> Self {
        self.external = Some(program.into());
        self
    }

    /// Piecewise tables that activation functions are evaluated with, where they have one.
    #[must_use]
    pub fn pwp_tables(mut self, tables: birsim_kernels::activation::pwp::Tables) -> Self {
        self.tables = Some(std::sync::Arc::new(tables));
        self
    }

    /// Id of the simulated core; 0 when not given.
    #[must_use]
    pub fn core(mut self, id: u32) -> Self {
        self.core = id;
        self
    }

    /// Number of cores that run together; 1 when not given.
    #[must_use]
    pub fn of_cores(mut self, n: u32) -> Self {
        self.cores = Some(n);
        self
    }

    /// Cores of a rank: several modules are the cores of one rank after the other.
    #[must_use]
    pub fn lnc(mut self, cores: u32) -> Self {
        self.lnc = Some(cores);
        self
    }

    /// Ranks that run the modules given, which are those of one rank.
    #[must_use]
    pub fn ranks(mut self, n: u32) -> Self {
        self.ranks = Some(n);
        self
    }

    /// An AllReduce without its peers takes them to hold the same data, as the documented simulator does in one of
    /// several processes.
    #[must_use]
    pub fn multi_worker_reference(mut self, on: bool) -> Self {
        self.stand_in = on;
        self
    }

    /// Absent ranks are stood in for.
    pub(crate) fn stands_in(&self) -> bool {
        self.stand_in
    }

    /// Cores of a rank and ranks, as asked for.
    pub(crate) fn shape(&self) -> (Option<u32>, Option<u32>) {
        (self.lnc, self.ranks)
    }

    /// The same for the core of this seat.
    pub(crate) fn seated(mut self, seat: Seat) -> Self {
        self.seat = Some(seat);
        self
    }

    /// Where the core sits.
    pub(super) fn place(&self) -> Seat {
        self.seat.unwrap_or_else(|| Seat::plain(self.core, self.cores.unwrap_or(1)))
    }

    /// For one machine of a run, which gives back the memory it uses when it goes.
    pub(crate) fn of_machine(&self) -> Builder {
        Builder { limits: self.limits.of_machine(), ..self.clone() }
    }

    /// Instructions that the run may execute.
    pub(crate) fn instruction_limit(&self) -> Option<u64> {
        self.limits.max_instructions
    }

    /// Races are looked for.
    pub(crate) fn looks_for_races(&self) -> bool {
        self.checks.contains(&Check::Race)
    }

    /// Every executed instruction is reported.
    pub(crate) fn traces(&self) -> bool {
        self.trace.is_some()
    }

    /// The caller runs inside a pool of as many threads as are asked for.
    pub(crate) fn has_callers_threads(&self) -> bool {
        let inside = rayon::current_thread_index().is_some();
        inside && self.threads.is_some_and(|n| n.max(1) == rayon::current_num_threads())
    }

    /// The thread pool of a run.
    pub(crate) fn pool(&self) -> Result<rayon::ThreadPool> {
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(n) = self.threads {
            pool = pool.num_threads(n.max(1));
        }
        pool.build().map_err(|e| Error::new(Code::F008, format!("threads cannot be started: {e}")))
    }

    /// Leftovers of the sync protocol are faults.
    #[must_use]
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// The five skip-and-note opcodes are an error.
    #[must_use]
    pub fn unsupported_is_error(mut self, on: bool) -> Self {
        self.unsupported_is_error = on;
        self
    }

    /// DevicePrint shows whole tensors.
    #[must_use]
    pub fn print_all(mut self, on: bool) -> Self {
        self.print_all = on;
        self
    }
}
