//! What supervisor and workers say to each other: JSON lines over pipes.

use super::line::Line;
use super::manifest::Item;
use super::options::Defaults;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first line a worker reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Folder of the manifest: paths start from it.
    pub folder: PathBuf,
    /// Folder of the outputs, absolute.
    pub out: PathBuf,
    /// Outputs are written.
    pub outputs: bool,
    /// Options for every item.
    pub defaults: Defaults,
}

/// Every further line it reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The item.
    pub item: Item,
}

/// The line it answers with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The result.
    pub line: Line,
    /// Resident memory of the worker afterwards, in bytes.
    pub resident: u64,
}
