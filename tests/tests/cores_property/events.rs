//! What happens in a generated run, in one order for all cores, and what comes of it.
//!
//! Nothing can deadlock, because each core does its part in that order; nothing can race, because between writes and reads of
//! a shared cell by different cores there is a barrier.

use birsim_kernels::alu::AluOp;
use birsim_tests::fold::fold;

/// Private and shared cells.
pub const CELLS: usize = 8;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// What happens, in the order of the run. Cells are numbers of private or shared cells.
#[derive(Clone, Debug)]
pub enum Event {
    Local {
        core: usize,
        from: usize,
        to: usize,
    },
    Store {
        core: usize,
        from: usize,
        shared: usize,
    },
    Load {
        core: usize,
        shared: usize,
        to: usize,
    },
    Barrier,
    Reduce {
        group: Vec<usize>,
        op: AluOp,
        from: usize,
        to: usize,
    },
    Ring {
        group: Vec<usize>,
        from: usize,
        to: usize,
    },
    Pairs {
        pairs: Vec<(usize, usize)>,
        from: usize,
        to: usize,
    },
    Swap {
        cores: [usize; 2],
        from: usize,
        to: usize,
    },
    Message {
        sender: usize,
        receiver: usize,
        from: usize,
        to: usize,
    },
    /// The second core waits for the first, then reads the shared cell that the first wrote.
    Signal {
        sender: usize,
        receiver: usize,
        from: usize,
        shared: usize,
        to: usize,
    },
}

/// Who touched a shared cell since the last barrier.
#[derive(Clone, Default)]
struct Use {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Use {
    fn may_write(&self, core: usize) -> bool {
        self.writer.is_none_or(|w| w == core) && self.readers.iter().all(|r| *r == core)
    }

    fn may_read(&self, core: usize) -> bool {
        self.writer.is_none_or(|w| w == core)
    }
}

fn group(r: &mut Random, cores: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..cores).collect();
    for k in (1..cores).rev() {
        all.swap(k, r.below(k + 1));
    }
    all.truncate(2 + r.below(cores - 1));
    all
}

pub fn events(r: &mut Random, cores: usize, count: usize) -> Vec<Event> {
    let mut out = Vec::new();
    let mut uses = vec![Use::default(); CELLS];
    while out.len() < count {
        let core = r.below(cores);
        let (from, to, shared) = (r.below(CELLS), r.below(CELLS), r.below(CELLS));
        let other = (core + 1 + r.below(cores - 1)) % cores;
        let event = match r.below(12) {
            0 | 1 => Event::Local { core, from, to },
            2 | 3 if uses[shared].may_write(core) => {
                uses[shared].writer = Some(core);
                Event::Store { core, from, shared }
            }
            4 | 5 if uses[shared].may_read(core) => {
                uses[shared].readers.push(core);
                Event::Load { core, shared, to }
            }
            6 => {
                uses.fill(Use::default());
                Event::Barrier
            }
            7 => {
                let op = [AluOp::Add, AluOp::Max, AluOp::Min][r.below(3)];
                Event::Reduce { group: group(r, cores), op, from, to }
            }
            8 => Event::Ring { group: group(r, cores), from, to },
            9 => {
                let g = group(r, cores);
                // A chain: the first has no source.
                Event::Pairs { pairs: g.windows(2).map(|p| (p[0], p[1])).collect(), from, to }
            }
            10 if r.below(2) == 0 => Event::Swap { cores: [core, other], from, to },
            10 => Event::Message { sender: core, receiver: other, from, to },
            11 if uses[shared].may_write(core) && uses[shared].writer.is_none() && uses[shared].readers.is_empty() => {
                uses[shared] = Use { writer: Some(core), readers: vec![other, core] };
                Event::Signal { sender: core, receiver: other, from, shared, to }
            }
            _ => continue,
        };
        out.push(event);
    }
    out
}

/// The plain interpreter.
pub fn interpret(events: &[Event], cores: usize) -> (Vec<Vec<f32>>, Vec<f32>) {
    let mut own: Vec<Vec<f32>> = (0..cores).map(|c| (0..CELLS).map(|k| start(c, k)).collect()).collect();
    let mut both = vec![0.0f32; CELLS];
    // An instruction copies as `step` by 0.5 does.
    let copied = |x: f32| x * 0.5 + 1.0;
    for e in events {
        match e {
            Event::Local { core, from, to } => own[*core][*to] = copied(own[*core][*from]),
            Event::Store { core, from, shared } => both[*shared] = copied(own[*core][*from]),
            Event::Load { core, shared, to } => own[*core][*to] = copied(both[*shared]),
            Event::Barrier => {}
            Event::Reduce { group, op, from, to } => {
                let all = fold(*op, group.iter().map(|c| own[*c][*from])).unwrap();
                group.iter().for_each(|c| own[*c][*to] = all);
            }
            Event::Ring { group, from, to } => {
                let sent: Vec<f32> = group.iter().map(|c| own[*c][*from]).collect();
                for (p, c) in group.iter().enumerate() {
                    own[*c][*to] = sent[(p + group.len() - 1) % group.len()];
                }
            }
            Event::Pairs { pairs, from, to } => {
                let sent: Vec<f32> = pairs.iter().map(|(source, _)| own[*source][*from]).collect();
                pairs.iter().zip(sent).for_each(|((_, target), x)| own[*target][*to] = x);
            }
            Event::Swap { cores: [a, b], from, to } => {
                let sent = [own[*a][*from], own[*b][*from]];
                (own[*a][*to], own[*b][*to]) = (sent[1], sent[0]);
            }
            Event::Message { sender, receiver, from, to } => own[*receiver][*to] = own[*sender][*from],
            Event::Signal { sender, receiver, from, shared, to } => {
                both[*shared] = copied(own[*sender][*from]);
                own[*receiver][*to] = copied(both[*shared]);
            }
        }
    }
    (own, both)
}

pub fn start(core: usize, k: usize) -> f32 {
    (core * CELLS + k) as f32 * 0.25 - 3.0
}
