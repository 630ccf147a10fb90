//! Which limit ended a run: all of them share one code, S009, and each names its option in the first words.

use birsim_kernels::{Code, Error};

/// The limits that need telling apart.
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
