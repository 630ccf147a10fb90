//! Ctrl-C, termination requests and the end of the time.
//!
//! While instructions run, the machine looks at a flag and at the clock, and the run ends with what it has so far. While a
//! program is loaded and while files are read or written nobody looks: a pipe may keep its reader waiting forever. Such
//! work is announced ([`unattended`]), and a thread of its own ends the process when the user asks for it.

use birsim_kernels::{Class, Code, Error};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Exit code of a program that an interrupt ended, by convention of shells.
pub const INTERRUPTED: i32 = 130;
/// Time between two looks at what the process is doing.
const LOOK: Duration = Duration::from_millis(10);
/// After so many looks in a row that find the process at the same work, it is not about to check the flag itself.
const LOOKS: u32 = 3;
/// How long a process may take to write its last message.
const LAST_WORDS: Duration = Duration::from_millis(60);

const INTERRUPT: &str = "the run was interrupted";
const TIMEOUT: &str = "the run takes longer than --timeout allows";

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static STATE: Mutex<State> =
    Mutex::new(State { run: 0, deadline: None, changes: 0, work: Vec::new(), last_words: None });
static ENDING: AtomicBool = AtomicBool::new(false);

type LastWords = Box<dyn FnOnce(&Error) + Send>;

struct State {
    /// Counts the runs of the process, so that no thread ends a later one.
    run: u64,
    deadline: Option<Instant>,
    /// Counts beginnings and ends of work.
    changes: u64,
    work: Vec<(u64, &'static str)>,
    last_words: Option<LastWords>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The flag that an interrupt sets. A second interrupt ends the process at once.
pub fn flag() -> Arc<AtomicBool> {
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        // Without a handler the process dies of the signal, as any other would.
        let _ = ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            let run = state().run;
            std::thread::spawn(move || end_unattended(run, INTERRUPT, INTERRUPTED));
        });
        flag
    });
    Arc::clone(flag)
}

/// An interrupt has come.
pub fn came() -> bool {
    FLAG.get().is_some_and(|f| f.load(Ordering::Relaxed))
}

/// Why the run should end now, if it should: for work that checks by itself.
pub fn wanted() -> Option<Error> {
    // While the last message is written, the state is locked.
    let late = || ENDING.load(Ordering::SeqCst) || state().deadline.is_some_and(|d| Instant::now() >= d);
    let what = if came() { INTERRUPT } else { Some(TIMEOUT).filter(|_| late())? };
    Some(Error::new(Code::S009, what))
}

/// From here on, and until it is dropped, interrupts and the end of the time end unattended work too.
pub struct Watch(());

impl Watch {
    /// Starts watching. The process writes its last message right before it ends.
    pub fn start(deadline: Option<Instant>, last_words: impl FnOnce(&Error) + Send + 'static) -> Watch {
        flag();
        let mut s = state();
        s.run += 1;
        s.deadline = deadline;
        s.last_words = Some(Box::new(last_words));
        let run = s.run;
        drop(s);
        if let Some(deadline) = deadline {
            std::thread::spawn(move || {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                end_unattended(run, TIMEOUT, Class::Fault.exit_code());
            });
        }
        Watch(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut s = state();
        s.last_words = None;
        s.deadline = None;
    }
}

/// Work during which nobody looks at the flag or the clock; it ends when this is dropped.
pub struct Unattended(Option<u64>);

/// Announces such work; the text tells what the run was doing.
pub fn unattended(what: &'static str) -> Unattended {
    // The last message may be written to a pipe, too.
    if ENDING.load(Ordering::SeqCst) {
        return Unattended(None);
    }
    let mut s = state();
    s.changes += 1;
    let id = s.changes;
    s.work.push((id, what));
    Unattended(Some(id))
}

impl Drop for Unattended {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        // Waits forever when the process is being ended meanwhile.
        let mut s = state();
        s.changes += 1;
        s.work.retain(|w| w.0 != id);
    }
}

/// Ends the process once it is found at unattended work.
fn end_unattended(run: u64, what: &str, code: i32) {
    let (mut changes, mut looks) = (0, 0);
    loop {
        let mut s = state();
        if s.run != run || s.last_words.is_none() {
            return;
        }
        looks = if s.changes == changes && !s.work.is_empty() { looks + 1 } else { 0 };
        changes = s.changes;
        if looks == LOOKS {
            ENDING.store(true, Ordering::SeqCst);
            let doing = s.work.last().map_or("", |w| w.1);
            let error = Error::new(Code::S009, what).received(doing);
            let (done, finished) = channel();
            if let Some(words) = s.last_words.take() {
                std::thread::spawn(move || {
                    words(&error);
                    let _ = done.send(());
                });
                // What the message is written to may wait for a reader as well.
                let _ = finished.recv_timeout(LAST_WORDS);
            }
            std::process::exit(code);
        }
        drop(s);
        std::thread::sleep(LOOK);
    }
}
