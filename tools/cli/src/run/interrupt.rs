//! Ctrl-C and termination requests: the run ends at the next tick, with what it has so far.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Exit code of a program that an interrupt killed, by convention of shells.
const KILLED: i32 = 130;

/// The flag that an interrupt sets. A second interrupt ends the process at once.
pub fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        // Without a handler the process dies of the signal, as any other would.
        let _ = ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(KILLED);
            }
        });
        flag
    });
    Arc::clone(flag)
}
