//! Arguments of `batch`.

use super::options::Defaults;
use super::shard::{self, Given};
use crate::args::Progress;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which items run again with `--resume`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rerun {
    /// Those that did not end as expected, besides those whose key no longer holds.
    Failed,
}

/// Arguments of `batch`.
#[derive(Args, Debug)]
pub struct Batch {
    /// JSON lines, one item each; `-` reads items from standard input as they come and writes each result at once.
    #[arg(value_name = "MANIFEST.jsonl", required_unless_present = "merge")]
    pub manifest: Option<PathBuf>,

    /// Items that run at a time; by default as many as there are CPUs.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the outputs, DIR/ID/NAME-birsim.npy, and for the results.
    #[arg(long, value_name = "DIR", default_value = "birsim-out")]
    pub out: PathBuf,
    /// Write no outputs: goldens are checked in memory.
    #[arg(long)]
    pub no_outputs: bool,
    /// File of the results, one JSON line per item. Default: results.jsonl in the output folder, with the number of the shard
    /// when there is one; standard output when items come from standard input.
    #[arg(long, value_name = "FILE.jsonl")]
    pub results: Option<PathBuf>,
    /// Keep results of an earlier batch whose program, files and options are the same; run the rest.
    #[arg(long, conflicts_with = "overwrite")]
    pub resume: bool,
    /// With --resume: also run again what ended otherwise than expected.
    #[arg(long, value_name = "WHICH", value_enum, requires = "resume")]
    pub rerun: Option<Rerun>,
    /// Replace the results of an earlier batch.
    #[arg(long)]
    pub overwrite: bool,
    /// Try an item again, at most N times, when its worker crashed or it ran out of time.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Stop after N results that are not as expected.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_fail: Option<u32>,
    /// Only items whose id matches the pattern. May be repeated.
    #[arg(long, value_name = "GLOB")]
    pub filter: Vec<String>,
    /// Only items with the tag. May be repeated.
    #[arg(long, value_name = "T")]
    pub tag: Vec<String>,
    /// Print the ids of the selected items, and run nothing.
    #[arg(long)]
    pub list: bool,
    /// Only every N-th item from the K-th; auto takes K and N from the scheduler that started the process.
    #[arg(long, value_name = "K/N|auto", value_parser = shard::parse)]
    pub shard: Option<Given>,
    /// Join the results of shards; --manifest names their manifest.
    #[arg(long, value_name = "FILE.jsonl", num_args = 1.., conflicts_with_all = ["manifest", "resume", "shard"], requires = "of")]
    pub merge: Vec<PathBuf>,
    /// The manifest of the results that --merge joins.
    #[arg(long = "manifest", id = "of", value_name = "MANIFEST.jsonl", requires = "merge")]
    pub of: Option<PathBuf>,
    /// Write the results as JUnit XML.
    #[arg(long, value_name = "FILE.xml")]
    pub junit: Option<PathBuf>,
    /// Write a machine-readable summary.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// When to show progress, on stderr.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub progress: Progress,
    /// Print unexpected results and the verdict only.
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub defaults: Defaults,
}
