//! Generated valid programs: both schedules, both memories and one or two threads agree with a plain interpreter.

use crate::generate::{Fault, generate};
use crate::outcome::{difference, engine_on, plain};
use arbitrary::Unstructured;
use birsim_engine::IssueOrder;
use std::collections::BTreeMap;

/// Uses one input: it is the seed of a program.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let Ok(seed) = u.arbitrary::<u64>() else { return };
    let fault = [Fault::None, Fault::None, Fault::None, Fault::Bounds, Fault::Event, Fault::Increment];
    let fault = fault[(seed >> 32) as usize % fault.len()];
    for physical in [false, true] {
        let g = generate(seed, physical, fault);
        let want = plain(&g.module, physical, &mut BTreeMap::new());
        for schedule in [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(seed)] {
            for threads in [1, 2] {
                let got = engine_on(&g.module, physical, schedule, threads);
                if let Some(what) = difference(&want, &got) {
                    panic!("program {seed} (physical: {physical}) under {schedule:?} on {threads} threads: {what}");
                }
            }
        }
    }
}
