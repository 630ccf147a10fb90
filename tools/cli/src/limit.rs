//! Limits of a run: which one ended it, its threads, and the bound of a worker's address space.

use birsim_kernels::{Code, Error};

/// The limits that need telling apart. All share one code, S009, and each names its option in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `--timeout`.
    Time,
    /// `--max-memory`.
    Memory,
}

impl Limit {
    /// The limit that an error is about.
    pub fn of(e: &Error) -> Option<Limit> {
        if e.code() != Code::S009 {
            return None;
        }
        match e.what() {
            what if what.contains("--timeout") => Some(Limit::Time),
            what if what.contains("--max-memory") => Some(Limit::Memory),
            _ => None,
        }
    }
}

/// From now on everything runs on this thread, the golden check too, and no pool is started. A caller may have one already.
pub fn to_one_thread() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
}

/// While it lives, the process cannot map much more than what it needs by its own account: a second line behind the engine's
/// limit, which counts what it knows of.
pub struct AddressSpace {
    #[cfg(target_os = "linux")]
    before: rustix::process::Rlimit,
}

/// What the process may need besides simulated memory: threads, buffers, the heap's own slack.
#[cfg(target_os = "linux")]
const MARGIN: u64 = 512 << 20;

impl AddressSpace {
    /// Allows `more` bytes and a margin beyond what is mapped now. `None` where the system does not tell or does not bound.
    #[cfg(target_os = "linux")]
    pub fn bound(more: u64) -> Option<AddressSpace> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().next()?.parse().ok()?;
        let mapped = pages * rustix::param::page_size() as u64;
        let before = getrlimit(Resource::As);
        let wanted = mapped.saturating_add(more).saturating_add(MARGIN);
        let current = Some(before.maximum.map_or(wanted, |most| wanted.min(most)));
        setrlimit(Resource::As, Rlimit { current, maximum: before.maximum }).ok()?;
        Some(AddressSpace { before })
    }

    /// Nothing is known of other systems.
    #[cfg(not(target_os = "linux"))]
    pub fn bound(_: u64) -> Option<AddressSpace> {
        None
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setrlimit(rustix::process::Resource::As, self.before);
    }
}
