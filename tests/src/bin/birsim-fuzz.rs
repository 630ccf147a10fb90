//! Draws random inputs for one fuzz target, or for all of them, until the time is over.
//!
//! `birsim-fuzz [TARGET] [--seconds N] [--seed N]`. The last line of a target says how many inputs ran. An input that makes the
//! target panic is written to a file, which `birsim-fuzz TARGET --file FILE` runs again.

use birsim_tests::fuzz::{TARGETS, Target, scratch, target};
use clap::Parser;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Args {
    /// json, klr, npy, command or programs; all of them when none is named.
    target: Option<String>,
    /// How long a target runs.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Start of the random numbers; other seeds draw other inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs the target on this input alone.
    #[arg(long, requires = "target")]
    file: Option<PathBuf>,
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let chosen: Vec<&Target> = match &args.target {
        Some(name) => match target(name) {
            Some(t) => vec![t],
            None => {
                eprintln!("no target named {name}");
                return ExitCode::from(2);
            }
        },
        None => TARGETS.iter().collect(),
    };
    if let Some(file) = &args.file {
        return match std::fs::read(file) {
            Ok(bytes) => {
                (chosen[0].run)(&bytes);
                ExitCode::SUCCESS
            }
            Err(e) => {
                eprintln!("{}: {e}", file.display());
                ExitCode::from(2)
            }
        };
    }
    let sound = chosen.into_iter().all(|t| draw(t, Duration::from_secs(args.seconds), args.seed));
    // The folder is in the system's temporary folder: what is left of it does no harm.
    let _ = std::fs::remove_dir_all(scratch());
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a target on random inputs; false after one that it does not survive.
fn draw(target: &Target, time: Duration, seed: u64) -> bool {
    let mut rng = Rng(seed);
    let folder = std::env::current_dir().unwrap_or_default();
    let start = Instant::now();
    let (mut count, mut slowest) = (0u64, Duration::ZERO);
    while start.elapsed() < time {
        let length = 1 + rng.next() as usize % target.longest;
        let bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| rng.next().to_le_bytes()).collect();
        let bytes = &bytes[..length];
        let before = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
            let file = folder.join(format!("fuzz-{}-{seed}-{count}", target.name));
            let written = std::fs::write(&file, bytes);
            eprintln!("{}: input {count} of seed {seed} fails; {} holds it ({written:?})", target.name, file.display());
            return false;
        }
        slowest = slowest.max(before.elapsed());
        count += 1;
    }
    println!("{}: {count} inputs in {:.0?}, the slowest took {slowest:.1?}", target.name, start.elapsed());
    true
}
