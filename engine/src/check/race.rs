//! `race`: two engines use the same bytes, register or semaphore in ways that do not commute, and nothing orders the two.
//!
//! Order comes from the queue of an engine, from semaphores and events, and from instructions that every engine takes
//! part in. The algorithm and its limits are described in `race/README.md`.

mod clock;
mod history;
mod pieces;
mod record;
mod scalars;
mod shared;

use super::{Checker, Finding, Scene, span};
use crate::exec::Machine;
use crate::exec::effects::Effect;
use crate::ir::{Opcode, SyncKind, Trait, UpdateMode};
use crate::memory::ArenaId;
use crate::world::spawn::engine_index;
use crate::world::{Control, Placement, Program, RegRef, Seat, SyncSet, Update, owns_updates, read_register};
use crate::world::{Remark, RowId};
pub use clock::Clock;
use clock::{ALL, QUEUE, THREADS};
use hashbrown::{HashMap, HashSet};
use history::History;
use record::{Map, Touch};
use scalars::{Scalar, Use, Uses, registers};
pub use shared::{Found, SharedAccesses, SharedTouch};

/// Findings of one run.
const FINDINGS: usize = 100;

/// The checker.
pub struct Race {
    clocks: [Clock; THREADS],
    semaphores: Vec<History>,
    events: Vec<Clock>,
    arenas: HashMap<ArenaId, Map>,
    scalars: HashMap<Scalar, Uses>,
    told: HashSet<(RowId, RowId)>,
    /// This core in its rank and in the run.
    seat: Seat,
    /// For rows that met other cores: what they follow.
    granted: HashMap<RowId, Clock>,
    /// Clocks of messages and of updates for other cores, in the order in which they were sent.
    messages: Vec<Clock>,
    remote: Vec<Clock>,
    /// Accesses to memory that other cores see.
    shared: Vec<SharedTouch>,
    /// Findings made where none can be reported, kept for the next call that can.
    later: Vec<Finding>,
}

impl Default for Race {
    fn default() -> Self {
        Race {
            clocks: Default::default(),
            semaphores: vec![History::default(); 256],
            events: vec![Clock::default(); 256],
            arenas: HashMap::new(),
            scalars: HashMap::new(),
            later: Vec::new(),
            told: HashSet::new(),
            seat: Seat::plain(0, 1),
            granted: HashMap::new(),
            messages: Vec::new(),
            remote: Vec::new(),
            shared: Vec::new(),
        }
    }
}

/// An instruction and where it runs.
fn who(program: &Program, thread: usize, row: RowId) -> String {
    let i = &program.insts[row];
    match thread {
        QUEUE => format!("{} of a DMA queue", i.name),
        _ => format!("{} on {}", i.name, i.engine),
    }
}

/// Which engines an instruction orders.
enum Part {
    /// One: it runs on that engine.
    Thread(usize),
    /// All: every engine takes part in it.
    All,
    /// None: it touches no memory, and engines wait for it only as control flow.
    Control,
}

fn part(program: &Program, row: RowId) -> Part {
    let inst = &program.insts[row];
    let in_list_order = program.blocks.get(inst.block.at()).is_none_or(|b| !b.by_sync);
    match inst.opcode {
        op if op.is(Trait::Descriptor) => Part::Thread(QUEUE),
        _ if in_list_order => Part::All,
        op if op.is(Trait::Barrier) => Part::All,
        _ => match (engine_index(inst.engine), &inst.control) {
            (ALL, Control::None | Control::Rewind { .. }) => Part::All,
            (ALL, _) => Part::Control,
            (e, _) => Part::Thread(e),
        },
    }
}

impl Race {
    /// Begins an instruction: its waits are satisfied, its tick starts. Returns its thread and what precedes it.
    fn enter(&mut self, m: &Machine, row: RowId) -> (usize, Clock) {
        let program = m.program;
        let sync = &m.syncs[row];
        self.seat = m.settings.seat;
        let mut seen = self.granted.remove(&row).unwrap_or_default();
        for w in program.waits_of(sync) {
            match (w.kind, w.reg) {
                (SyncKind::Event, _) => seen.join(&self.events[w.id as usize]),
                (SyncKind::Semaphore, reg) => {
                    let value = reg.map_or(w.value, |r| read_register(m.registers, r) as u32);
                    self.semaphores[w.id as usize].acquire(value, &mut seen);
                }
            }
        }
        let thread = match part(program, row) {
            Part::Thread(t) => t,
            Part::All => {
                // In list order, instructions also wait for DMA descriptors.
                let by_sync = program.blocks.get(program.insts[row].block.at()).is_some_and(|b| b.by_sync);
                let last = if by_sync { QUEUE } else { THREADS };
                let mut all = seen.clone();
                self.clocks[..last].iter().for_each(|c| all.join(c));
                self.clocks[..last].iter_mut().for_each(|c| c.join(&all));
                ALL
            }
            Part::Control => {
                self.clocks[..QUEUE].iter_mut().for_each(|c| c.join(&seen));
                ALL
            }
        };
        let clock = &mut self.clocks[thread];
        clock.join(&seen);
        clock.tick(thread);
        let clock = clock.clone();
        if matches!(part(program, row), Part::All) {
            // Every engine's next instruction follows this one.
            self.clocks[..QUEUE].iter_mut().for_each(|c| c.join(&clock));
        }
        self.scalars_of(program, sync, (row, thread), &clock);
        (thread, clock)
    }

    /// Looks at the semaphores that an instruction waits for, and at its registers.
    fn scalars_of(&mut self, program: &Program, sync: &SyncSet, at: (RowId, usize), clock: &Clock) {
        for w in program.waits_of(sync).iter().filter(|w| w.kind == SyncKind::Semaphore) {
            self.scalar(program, at, Scalar::Semaphore(w.id), Use::Wait, clock);
        }
        let inst = &program.insts[at.0];
        if inst.opcode.is(Trait::Terminator) {
            // Where a block ends, the engines of the hardware branch each for itself, with registers of their own.
            return;
        }
        registers(program, inst, sync, |r, writes| {
            let how = if writes { Use::Write } else { Use::Read };
            // A wide register is two neighbouring ones of the physical file.
            for slot in r.slot..=r.slot + u32::from(r.physical && r.wide) {
                self.scalar(program, at, Scalar::Register(engine_index(r.engine), r.physical, slot), how, clock);
            }
        });
    }

    /// Compares the use of a register or semaphore with earlier ones.
    fn scalar(&mut self, program: &Program, (row, thread): (RowId, usize), what: Scalar, how: Use, clock: &Clock) {
        // The engines of the hardware follow control flow each for itself, with registers of their own.
        if thread == ALL && matches!(part(program, row), Part::Control) {
            return;
        }
        let uses = self.scalars.entry(what).or_default();
        let hit = uses.conflict(how, clock, thread);
        uses.note(how, Touch { thread, tick: clock.of(thread), row });
        let Some((other, touch)) = hit else { return };
        if self.told.len() >= FINDINGS || !self.told.insert((row, touch.row)) {
            return;
        }
        let name = match what {
            Scalar::Semaphore(id) => format!("semaphore {id}"),
            Scalar::Register(engine, physical, slot) => {
                let same = |r: &RegRef| (engine_index(r.engine), r.physical, r.slot) == (engine, physical, slot);
                let known = program.registers.iter().find(|(_, r)| same(r));
                known.map_or_else(|| format!("register {slot}"), |(name, _)| format!("register {name}"))
            }
        };
        self.later.push(Finding {
            message: format!(
                "{} {} {name}, which {} {}, and nothing orders the two",
                who(program, thread, row),
                how.verb(),
                who(program, touch.thread, touch.row),
                other.verb(),
            ),
            row: Some(row),
            tensor: None,
        });
    }

    fn leave(&mut self, program: &Program, syncs: &[SyncSet], row: RowId, thread: usize) {
        let sync = &syncs[row];
        if thread == ALL {
            // Its updates act after every engine has done its part.
            let mut all = self.clocks[ALL].clone();
            self.clocks[..QUEUE].iter().for_each(|c| all.join(c));
            self.clocks[ALL] = all;
        }
        let clock = &self.clocks[thread].clone();
        for u in program.updates_of(sync).iter().chain(program.seconds_of(sync)) {
            self.post(u, thread, clock);
            if let (SyncKind::Semaphore, None) = (u.kind, u.target_core) {
                let how = match u.mode {
                    UpdateMode::SemAddImm | UpdateMode::SemInc => Use::Raise,
                    UpdateMode::SemSubImm | UpdateMode::SemDec => Use::Lower,
                    UpdateMode::SemWrImm | UpdateMode::EvtSet => Use::Set,
                };
                self.scalar(program, (row, thread), Scalar::Semaphore(u.id), how, clock);
            }
        }
    }

    fn post(&mut self, u: &Update, thread: usize, clock: &Clock) {
        if u.target_core.is_some_and(|core| core != self.seat.core) {
            self.remote.push(clock.clone());
            return;
        }
        let Some(history) = self.semaphores.get_mut(u.id as usize) else { return };
        match (u.kind, u.mode) {
            (SyncKind::Event, _) => self.events[u.id as usize] = clock.clone(),
            (_, UpdateMode::SemAddImm) => history.add(u.value, thread, clock),
            (_, UpdateMode::SemInc) => history.add(1, thread, clock),
            (_, UpdateMode::SemSubImm) => history.lower(u.value, clock),
            (_, UpdateMode::SemDec) => history.lower(1, clock),
            (_, UpdateMode::SemWrImm | UpdateMode::EvtSet) => history.restart(u.value, clock),
        }
    }

    /// What precedes a row that waits for other cores.
    pub(crate) fn stamp(&self, program: &Program, row: RowId) -> Clock {
        match part(program, row) {
            Part::Thread(t) => self.clocks[t].clone(),
            Part::All | Part::Control => {
                let mut all = Clock::default();
                self.clocks.iter().for_each(|c| all.join(c));
                all
            }
        }
    }

    /// A row that met other cores follows what they did before.
    pub(crate) fn grant(&mut self, row: RowId, seat: Seat, known: Clock) {
        self.granted.entry(row).or_default().join(&known.without(seat.id));
    }

    /// Another core updates a semaphore or event of this one.
    pub(crate) fn receive(&mut self, u: &Update, seat: Seat, known: Clock) {
        // Posts of all other cores count as those of one thread, so a wait may follow more of them than it must.
        let local = Update { target_core: None, ..*u };
        self.post(&local, QUEUE, &known.without(seat.id));
    }

    /// Clocks of what was sent since it was last asked: of messages, and of updates.
    pub(crate) fn take_sent(&mut self) -> (Vec<Clock>, Vec<Clock>) {
        (std::mem::take(&mut self.messages), std::mem::take(&mut self.remote))
    }

    /// Accesses to memory that other cores see, since it was last asked.
    pub(crate) fn take_shared(&mut self) -> Vec<SharedTouch> {
        std::mem::take(&mut self.shared)
    }

    /// Applies what a control instruction does to the semaphores.
    fn control(&mut self, program: &Program, row: RowId, thread: usize) {
        let inst = &program.insts[row];
        match &inst.control {
            Control::Rewind { clear, .. } => {
                let clock = self.clocks[thread].clone();
                for id in clear {
                    self.scalar(program, (row, thread), Scalar::Semaphore(*id), Use::Set, &clock);
                    if let Some(h) = self.semaphores.get_mut(*id as usize) {
                        *h = History::default();
                    }
                }
            }
            Control::Return => self.semaphores.iter_mut().for_each(|h| *h = History::default()),
            _ => {}
        }
    }

    fn look(&mut self, s: &Scene, e: &Effect, thread: usize, clock: &Clock, found: &mut Vec<Finding>) {
        let map = self.arenas.entry(e.arena).or_default();
        let touch = Touch { thread, tick: clock.of(thread), row: s.row };
        let mut hit = None;
        e.runs(|lo, hi| {
            // An access through indices may leave any element untouched, so only an exact access conflicts with it.
            let conflict = map.conflict(lo, hi, e.writes(), e.exact, clock, thread);
            hit = hit.take().or_else(|| conflict.map(|c| (c, lo, hi)));
        });
        e.runs(|lo, hi| map.note(lo, hi, e.writes(), e.reads(), e.exact, touch));
        let Some((c, lo, hi)) = hit else { return };
        if self.told.len() >= FINDINGS || !self.told.insert((s.row, c.row)) {
            return;
        }
        let program = s.m.program;
        let verb = |writes: bool| if writes { "writes" } else { "reads" };
        let meta = s.meta(e);
        let part = span(&s.m.places[e.location], lo.max(c.lo), hi.min(c.hi));
        found.push(Finding {
            message: format!(
                "{} {} {} ({part}), which {} {}, and nothing orders the two",
                who(program, thread, s.row),
                verb(e.writes()),
                meta.name,
                who(program, c.thread, c.row),
                verb(c.writes),
            ),
            row: Some(s.row),
            tensor: Some(meta.name.to_string()),
        });
    }
}

impl Checker for Race {
    fn code(&self) -> Remark {
        Remark::Race
    }

    fn before(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        let (thread, clock) = self.enter(s.m, s.row);
        for e in s.effects {
            self.look(s, e, thread, &clock, found);
            if s.m.written[e.arena].0.is_some() {
                self.shared.push(SharedTouch::of(s, e, thread, &clock));
            }
        }
        found.append(&mut self.later);
        if matches!(s.m.program.insts[s.row].control, Control::Trigger { .. }) {
            // Descriptors start after their trigger, which does not wait for them.
            self.clocks[QUEUE].join(&clock);
        }
    }

    fn after(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        let program = s.m.program;
        let inst = &program.insts[s.row];
        let thread = match part(program, s.row) {
            Part::Thread(t) => t,
            _ => ALL,
        };
        if inst.opcode == Opcode::CollectiveSend {
            self.messages.push(self.clocks[thread].clone());
        }
        self.leave(program, s.m.syncs, s.row, thread);
        self.control(program, s.row, thread);
        if let Control::Trigger { trigger, blocks } = &inst.control
            && let Some(fired) = s.m.fires.get(trigger.at()).map(|f| f.0).filter(|n| *n > 0)
            && !blocks.is_empty()
        {
            let block = blocks[((fired - 1) % blocks.len() as u64) as usize];
            self.leave(program, s.m.syncs, block, QUEUE);
        }
        found.append(&mut self.later);
    }

    fn passed(&mut self, m: &Machine, row: RowId) {
        let (thread, _) = self.enter(m, row);
        let inst = &m.program.insts[row];
        if !owns_updates(inst.opcode) {
            self.leave(m.program, m.syncs, row, thread);
        }
        self.control(m.program, row, thread);
    }

    fn race(&mut self) -> Option<&mut Race> {
        Some(self)
    }

    fn released(&mut self, program: &Program, syncs: &[SyncSet], row: RowId) {
        self.leave(program, syncs, row, ALL);
    }

    fn finish(&mut self, _: &Program, _: &[&Placement], found: &mut Vec<Finding>) {
        found.append(&mut self.later);
    }
}
