//! Ctrl-C and termination requests: the run ends with what it has so far, and with an exit code of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Exit code of a program that an interrupt ended, by convention of shells.
pub const INTERRUPTED: i32 = 130;

/// The flag that an interrupt sets. A second interrupt ends the process at once.
pub fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        // Without a handler the process dies of the signal, as any other would.
        let _ = ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        });
        flag
    });
    Arc::clone(flag)
}

/// An interrupt has come.
pub fn came() -> bool {
    flag().load(Ordering::Relaxed)
}
