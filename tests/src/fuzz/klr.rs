//! Edited KLR files: read, listed, written, lowered, loaded and run.

use super::json::edited;
use crate::klr::{Sample, samples};
use arbitrary::{Result, Unstructured};
use birsim_engine::{Cores, Limits, Simulator};
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, inspect, lower, read, write};
use std::sync::LazyLock;

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(samples);

/// Uses one input.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    if let Ok((file, strict)) = file(&mut u) {
        exercise(&file, strict);
    }
}

fn file(u: &mut Unstructured) -> Result<(Vec<u8>, bool)> {
    let strict = u.arbitrary()?;
    let sample = u.choose(&SAMPLES)?;
    Ok((edited(u, &sample.bytes)?, strict))
}

fn exercise(bytes: &[u8], strict: bool) {
    let Ok(file) = read(bytes) else { return };
    assert!(!inspect(&file).is_empty());
    let Contents::Program(program) = &file.contents else { return };
    let written = write(program);
    match read(&written).expect("what is written reads").contents {
        Contents::Program(again) => assert!(write(&again) == written, "a second round trip changes the bytes"),
        other => panic!("a kernel became {}", other.kind()),
    }
    let options = LowerOptions { strict, accept_abstract: !strict, ..LowerOptions::default() };
    let Ok(lowered) = lower(program, &options) else { return };
    let limits = Limits { max_memory: Some(1 << 24), max_instructions: Some(2000), ..Limits::default() };
    if let Ok(mut cores) = Cores::load(&Simulator::builder().threads(1).limits(limits), &lowered.modules) {
        // A fault is an answer.
        let _ = cores.run();
    }
}
