//! Resources: state of a run that belongs to no single entity.

use super::{Limits, RowId, SetId};
use crate::ir::Opcode;
use crate::{Code, Error};
use bevy_ecs::prelude::Resource;
use birsim_kernels::Profile;
use birsim_kernels::halt::Stop;
use std::sync::Arc;

/// In which order engines issue instructions that are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueOrder {
    /// Every engine issues consecutive runnable instructions.
    #[default]
    Window,
    /// One instruction per tick, round-robin: the documented simulator's order.
    Reference,
    /// One instruction per tick, engine picked at random from this seed.
    Seeded(u64),
}

/// Counters of a run.
#[derive(Resource, Clone, Debug)]
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
    /// Order of issue.
    pub schedule: IssueOrder,
    /// Limits.
    pub limits: Limits,
    /// What may end a running instruction.
    pub stop: Option<Arc<Stop>>,
    /// Seed of the host MT19937-64.
    pub seed: u64,
    /// Where this core sits.
    pub seat: super::Seat,
    /// A collective without its peers takes them to hold the same data, as the documented simulator does.
    pub stand_in: bool,
    /// Target the program runs for.
    pub target: crate::target::Target,
    /// The five skip-and-note opcodes are an error.
    pub unsupported_is_error: bool,
    /// DevicePrint shows every element, not the first and last rows and columns of large tensors.
    pub print_all: bool,
    /// Semaphores and events that are left set at the end are faults, not warnings.
    pub strict: bool,
    /// The only program that CustomOp and BIRKernel may start.
    pub external: Option<std::path::PathBuf>,
    /// What never-written memory reads as.
    pub fill: crate::memory::Fill,
    /// Every arena has an initialisation shadow.
    pub track_init: bool,
    /// Piecewise activation tables; the exact forms without them.
    pub tables: Option<std::sync::Arc<birsim_kernels::activation::pwp::Tables>>,
}

/// A buffer that CollectiveSend published and that has not been received.
#[derive(Debug)]
pub struct Message {
    /// Element type and extent.
    pub extent: super::Extent,
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

/// Actual set of every set; the set itself outside calls.
#[derive(Resource, Default, Debug)]
pub struct Bindings(pub Vec<SetId>);

/// Rows whose updates became due in this tick because their bodies have ended.
#[derive(Resource, Default, Debug)]
pub struct Due(pub Vec<RowId>);

/// The host generator, made on first use.
#[derive(Resource, Default)]
pub struct HostRng(pub Option<birsim_kernels::rng::Mt19937_64>);

/// Texts of DevicePrint, in order.
#[derive(Resource, Default, Debug)]
pub struct Prints(pub Vec<DevicePrint>);

/// What cores send each other.
#[derive(Resource, Default, Debug)]
pub struct Mail {
    /// What instructions that were let through take from their meetings, by row.
    pub received: Vec<(RowId, super::Received)>,
}

impl Mail {
    /// What the instruction of a row takes from its meeting.
    pub fn take(&mut self, row: RowId) -> crate::Result<super::Received> {
        let at = self.received.iter().position(|(r, _)| *r == row);
        at.map(|k| self.received.swap_remove(k).1)
            .ok_or_else(|| Error::new(Code::B001, "an instruction runs without the meeting it waits for"))
    }
}

impl Stats {
    /// Accounts bytes that are about to be touched.
    pub fn touch(&mut self, fresh: u64, limits: &Limits) -> crate::Result<()> {
        limits.take(fresh)?;
        self.touched += fresh;
        Ok(())
    }

    /// Counts one execution.
    pub fn count(&mut self, opcode: Opcode) {
        self.instructions += 1;
        self.per_opcode[opcode.ordinal() as usize] += 1;
    }
}

/// Rows issued in this tick, in issue order.
#[derive(Resource, Default)]
pub struct IssueList {
    /// Rows.
    pub rows: Vec<RowId>,
    /// What the rows issued so far will add to each semaphore.
    pub raised: Vec<u32>,
    /// Semaphores that [`IssueList::raised`] is not zero for.
    pub raised_ids: Vec<u32>,
    /// Engine after the last served one.
    pub next_engine: usize,
    /// State of the random numbers of the seeded schedule.
    pub random: u64,
    /// Rows after which a pass over the systems begins no further tick.
    pub enough: usize,
}

impl IssueList {
    /// Counts an addition of an issued row.
    #[inline]
    pub fn raise(&mut self, id: u32, by: u32) {
        let slot = &mut self.raised[id as usize];
        *slot = slot.wrapping_add(by);
        self.raised_ids.push(id);
    }

    /// Begins a tick: the additions of the last one are in the values of the semaphores.
    #[inline]
    pub fn forget_raised(&mut self, semaphores: usize) {
        for id in self.raised_ids.drain(..) {
            self.raised[id as usize] = 0;
        }
        self.raised.resize(semaphores, 0);
    }
}
