//! The supervisor: hands items to workers, replaces workers that die or grow, ends those that are late.

use super::crew::{Answer, Worker, crashed};
use super::line::{Line, Status};
use super::mailbox::Mailbox;
use super::manifest::Item;
use super::options::Templates;
use super::queue::{Program, Queue, Waiting};
use super::wire::{Job, Reply, Setup};
use crate::interrupt;
use birsim_kernels::{Error, Result};
use std::time::{Duration, Instant};

/// Added to an item's time limit before its worker is killed: the engine's own limit comes first.
const GRACE: Duration = Duration::from_secs(2);
/// A worker with more resident memory than this is replaced when its item is done.
const LARGEST: u64 = 2 << 30;
/// How often signals are looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// What happens.
pub enum Event {
    /// The worker of a seat answers; with its number, because the seat may have another one by now.
    Answer(usize, usize, Answer),
    /// A line of standard input, or the error in it.
    Item(Box<Result<Item, Line>>),
    /// No more lines.
    NoMore,
}

/// How a batch is run.
pub struct Plan {
    /// Jobs at a time.
    pub jobs: usize,
    /// Further tries after a crash or a time-out.
    pub retries: u32,
    /// The batch stops after this many unexpected results.
    pub max_fail: Option<usize>,
    /// What workers need to know.
    pub setup: Setup,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// An interrupt ended it.
    pub interrupted: bool,
    /// Items that did not run, because of an interrupt or of `--max-fail`.
    pub left: usize,
}

struct Seat {
    worker: Option<Worker>,
    running: Option<Running>,
    program: Option<Program>,
}

struct Running {
    waiting: Waiting,
    started: Instant,
    /// When the worker is killed.
    deadline: Option<Instant>,
    late: bool,
}

/// Runs items until none is left.
pub struct Supervisor<'a> {
    plan: &'a Plan,
    templates: Templates,
    queue: Queue,
    seats: Vec<Seat>,
    events: Mailbox<Event>,
    /// Standard input may bring more items.
    open: bool,
    workers: usize,
    failed: usize,
}

impl<'a> Supervisor<'a> {
    /// A supervisor without items.
    pub fn new(plan: &'a Plan) -> Supervisor<'a> {
        let seats = (0..plan.jobs).map(|_| Seat { worker: None, running: None, program: None }).collect();
        let templates = Templates::new(plan.setup.defaults.clone());
        Supervisor {
            plan,
            templates,
            queue: Queue::default(),
            seats,
            events: Mailbox::new(),
            open: false,
            workers: 0,
            failed: 0,
        }
    }

    /// Where items from elsewhere are sent; [`Event::NoMore`] must follow.
    pub fn source(&mut self) -> Mailbox<Event> {
        self.open = true;
        self.events.clone()
    }

    /// Adds an item.
    pub fn add(&mut self, item: Item) -> Result<()> {
        let limits = self.templates.limits(&item)?;
        let slots = usize::from(limits.threads).min(self.plan.jobs);
        self.queue.push(Waiting { item, attempt: 1, limits, slots });
        Ok(())
    }

    /// Runs everything. `done` gets every result as it comes.
    pub fn run(&mut self, mut done: impl FnMut(Line) -> Result<()>) -> Result<Ending> {
        loop {
            let stopped = self.stopped();
            if !stopped {
                self.hand_out()?;
            }
            let busy = self.seats.iter().any(|s| s.running.is_some());
            if !busy && (stopped || (self.queue.is_empty() && !self.open)) {
                self.seats.iter_mut().filter_map(|s| s.worker.take()).for_each(Worker::dismiss);
                return Ok(Ending { interrupted: interrupt::came(), left: self.queue.len() });
            }
            match self.events.receive(self.patience()) {
                Some(Event::Answer(seat, worker, answer)) => self.answer(seat, worker, answer, &mut done)?,
                Some(Event::Item(item)) => match *item {
                    Ok(item) => self.take_in(item, &mut done)?,
                    Err(line) => self.finished(line, &mut done)?,
                },
                Some(Event::NoMore) => self.open = false,
                None => {}
            }
            self.end_the_late();
        }
    }

    fn stopped(&self) -> bool {
        interrupt::came() || self.plan.max_fail.is_some_and(|most| self.failed >= most)
    }

    fn take_in(&mut self, item: Item, done: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
        match self.add(item.clone()) {
            Ok(()) => Ok(()),
            Err(e) => self.finished(refused(&item, &e), done),
        }
    }

    /// How long to wait for an event.
    fn patience(&self) -> Duration {
        let next = self.seats.iter().filter_map(|s| s.running.as_ref()?.deadline).min();
        next.map_or(GLANCE, |d| d.saturating_duration_since(Instant::now()).min(GLANCE))
    }

    /// Gives items to workers that have none.
    fn hand_out(&mut self) -> Result<()> {
        let used: usize = self.seats.iter().filter_map(|s| s.running.as_ref()).map(|r| r.waiting.slots).sum();
        let mut free = self.plan.jobs.saturating_sub(used);
        for seat in 0..self.seats.len() {
            if free == 0 || self.queue.is_empty() {
                break;
            }
            if self.seats[seat].running.is_some() {
                continue;
            }
            let others = self.seats.iter().enumerate().filter(|(k, s)| *k != seat && s.worker.is_some());
            let taken: Vec<&Program> = others.filter_map(|(_, s)| s.program.as_ref()).collect();
            let Some(waiting) = self.queue.take(self.seats[seat].program.as_ref(), &taken, free) else { break };
            free -= waiting.slots;
            self.start(seat, waiting)?;
        }
        Ok(())
    }

    fn start(&mut self, seat: usize, waiting: Waiting) -> Result<()> {
        if self.seats[seat].worker.is_none() {
            let wrap = move |number, answer| Event::Answer(seat, number, answer);
            self.seats[seat].worker = Some(Worker::start(self.workers, &self.plan.setup, self.events.clone(), wrap)?);
            self.workers += 1;
        }
        let seat = &mut self.seats[seat];
        if let Some(worker) = &seat.worker {
            worker.give(&Job { item: waiting.item.clone() })?;
        }
        seat.program = Some(waiting.item.program.clone());
        let started = Instant::now();
        let deadline = waiting.limits.timeout.and_then(|t| started.checked_add(t)?.checked_add(GRACE));
        seat.running = Some(Running { waiting, started, deadline, late: false });
        Ok(())
    }

    fn answer(
        &mut self,
        seat: usize,
        worker: usize,
        answer: Answer,
        done: &mut impl FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        let place = &mut self.seats[seat];
        if place.worker.as_ref().is_none_or(|w| w.number != worker) {
            // The last words of one that was replaced.
            return Ok(());
        }
        let Some(running) = place.running.take() else {
            // It ended between two items.
            (place.worker, place.program) = (None, None);
            return Ok(());
        };
        let mut line = match answer {
            Answer::Done(reply) => {
                let Reply { line, resident } = *reply;
                if resident > LARGEST {
                    (place.worker, place.program) = (None, None);
                }
                line
            }
            Answer::Gone(said, signal) => {
                (place.worker, place.program) = (None, None);
                let limits = running.waiting.limits;
                let mut line = match limits.timeout {
                    Some(limit) if running.late => Line::lost(
                        Status::Timeout,
                        3,
                        format!(
                            "the worker did not answer within --timeout and was killed (limit {} s)",
                            limit.as_secs_f64()
                        ),
                    ),
                    _ => crashed(&said, signal, limits.memory.is_some()),
                };
                line.stats.wall_s = running.started.elapsed().as_secs_f64();
                // The worker did not tell the key of its item.
                line.key = self.templates.key(&running.waiting.item).unwrap_or_default();
                line
            }
        };
        let Waiting { item, attempt, limits, slots } = running.waiting;
        if line.status.may_pass() && attempt <= self.plan.retries && line.status != item.expect {
            self.queue.push(Waiting { item, attempt: attempt + 1, limits, slots });
            return Ok(());
        }
        line.index = item.index;
        line.id.clone_from(&item.id);
        line.as_expected = item.expects(line.status, line.error.as_ref().and_then(|e| e.code.as_deref()));
        (line.stats.worker, line.stats.attempt) = (worker, attempt);
        line.stats.flaky = attempt > 1 && line.as_expected;
        self.finished(line, done)
    }

    fn finished(&mut self, line: Line, done: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
        self.failed += usize::from(!line.as_expected);
        done(line)
    }

    fn end_the_late(&mut self) {
        let now = Instant::now();
        for seat in &mut self.seats {
            let (Some(running), Some(worker)) = (&mut seat.running, &seat.worker) else { continue };
            if !running.late && running.deadline.is_some_and(|d| d <= now) {
                running.late = true;
                worker.kill();
            }
        }
    }
}

/// The result of an item that cannot be run at all.
pub fn refused(item: &Item, e: &Error) -> Line {
    let status = Status::of(e);
    let error = super::line::Failure::of(e);
    let as_expected = item.expects(status, error.code.as_deref());
    let mut line = Line::lost(status, e.class().exit_code(), String::new());
    (line.index, line.id, line.as_expected, line.error) = (item.index, item.id.clone(), as_expected, Some(error));
    line
}
