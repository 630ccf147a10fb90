//! Fuzz targets: what is done with one input, whoever drew it.
//!
//! Each target turns arbitrary bytes into something that is nearly right (a damaged module, a kernel with edited bytes, a
//! command line of known words) and uses it. Wrong input must end in an error; a panic, a hang or a difference between two
//! ways of running is what the targets look for. `tests/fuzz` runs them under libFuzzer; the binary `birsim-fuzz` draws
//! random inputs with nothing but the stable toolchain, and that is what CI runs.

mod command;
mod json;
mod klr;
mod npy;
mod programs;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One target.
pub struct Target {
    /// Name on the command line, and of the file in `tests/fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Uses one input; panics where birsim breaks a promise.
    pub run: fn(&[u8]),
    /// Inputs that are worth drawing: bytes of the longest.
    pub longest: usize,
}

/// Every target.
pub const TARGETS: [Target; 5] = [
    Target { name: "json", run: json::run, longest: 512 },
    Target { name: "klr", run: klr::run, longest: 256 },
    Target { name: "npy", run: npy::run, longest: 256 },
    Target { name: "command", run: command::run, longest: 512 },
    Target { name: "programs", run: programs::run, longest: 8 },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// The folder of this process for the files of targets; whoever runs targets removes it at the end.
pub fn scratch() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> =
        LazyLock::new(|| tempfile::tempdir().expect("a temporary folder can be made").keep());
    &FOLDER
}
