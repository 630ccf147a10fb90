//! Ending a running instruction from outside.
//!
//! An instruction may work for minutes. The caller installs a reason to stop, a flag or a deadline ([`scope`]). The loops over
//! lanes and over pieces of lanes check it after every bounded amount of work ([`check`]), on every thread.

use crate::{Code, Error, Result};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What may end a run.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Set from outside to stop.
    pub cancel: Option<Arc<AtomicBool>>,
    /// End of the run.
    pub deadline: Option<Instant>,
}

/// Checks per look at the clock, because reading the clock costs as much as a small piece of work.
const LOOKS: u32 = 16;

thread_local! {
    static STOP: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static LOOK: Cell<u32> = const { Cell::new(0) };
}

/// Restores the stop that was installed before.
struct Restore(Option<Arc<Stop>>);

impl Drop for Restore {
    fn drop(&mut self) {
        ACTIVE.set(self.0.is_some());
        STOP.replace(self.0.take());
    }
}

/// Runs `f` under `stop`; with `None` nothing ends it early.
pub fn scope<R>(stop: Option<Arc<Stop>>, f: impl FnOnce() -> R) -> R {
    ACTIVE.set(stop.is_some());
    let _restore = Restore(STOP.replace(stop));
    f()
}

/// What is installed on this thread, to be installed on threads that share its work.
pub(crate) fn current() -> Option<Arc<Stop>> {
    if ACTIVE.get() { STOP.with_borrow(Clone::clone) } else { None }
}

/// Fails when the run should stop.
#[inline]
pub fn check() -> Result<()> {
    if ACTIVE.get() { look() } else { Ok(()) }
}

fn look() -> Result<()> {
    STOP.with_borrow(|stop| {
        let Some(stop) = stop else { return Ok(()) };
        stop.interrupted()?;
        let looks = LOOK.get().wrapping_add(1);
        LOOK.set(looks);
        if looks.is_multiple_of(LOOKS) { stop.late() } else { Ok(()) }
    })
}

impl Stop {
    /// Both reasons, the clock included.
    pub fn now(&self) -> Result<()> {
        self.interrupted()?;
        self.late()
    }

    fn interrupted(&self) -> Result<()> {
        match &self.cancel {
            Some(c) if c.load(Ordering::Relaxed) => Err(interrupted()),
            _ => Ok(()),
        }
    }

    fn late(&self) -> Result<()> {
        match self.deadline {
            Some(d) if Instant::now() >= d => Err(late()),
            _ => Ok(()),
        }
    }
}

#[cold]
fn interrupted() -> Error {
    Error::new(Code::S009, "the run was interrupted")
}

#[cold]
fn late() -> Error {
    Error::new(Code::S009, "the run takes longer than --timeout allows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_11_a_scope_ends_with_its_work() {
        let cancel = Arc::new(AtomicBool::new(true));
        let stop = Arc::new(Stop { cancel: Some(cancel.clone()), deadline: None });
        assert!(check().is_ok());
        scope(Some(stop.clone()), || {
            assert_eq!(check().unwrap_err().what(), "the run was interrupted");
            scope(None, || assert!(check().is_ok()));
            cancel.store(false, Ordering::Relaxed);
            assert!(check().is_ok() && current().is_some());
        });
        assert!(check().is_ok() && current().is_none());
        let past = Arc::new(Stop { cancel: None, deadline: Some(Instant::now()) });
        let late = scope(Some(past), || (0..LOOKS).map(|_| check()).find_map(Result::err));
        assert_eq!(late.unwrap().what(), "the run takes longer than --timeout allows");
    }
}
