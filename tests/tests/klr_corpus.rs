//! The KLR sample files: all read and list; kernels lower, run, and give what is expected.

use birsim_engine::ir::Module;
use birsim_engine::{Class, Code, Error, format};
use birsim_kernels::compare::{Tolerance, compare};
use birsim_klr::inspect;
use birsim_tests::klr::{Finished, samples};
use std::path::Path;

/// Kernels with operator kinds or operands that the reference refuses.
const REFUSED: &[&str] =
    &["lnc/collectives", "lnc/gather_misc", "lnc/isa_level_ops", "lnc/lnc2_sendrecv_compute", "lnc/physical_refs"];

/// Restores a state of 6 words on DVE, whose generation has 24 (ruling D10): a fault of the program.
const FAULT: &str = "lnc/random";

fn mismatches(run: &Finished) -> Vec<String> {
    let mut out = Vec::new();
    for o in &run.outputs {
        let Some(golden) = &o.golden else { continue };
        let tolerance = Tolerance { rtol: run.rtol, atol: run.atol, nan_bits: false };
        let c = compare(o.dtype, &o.bytes, golden, &tolerance);
        if !c.equal {
            out.push(format!("{}: {} of {} elements differ", o.name, c.mismatches, c.elements));
        }
    }
    out
}

/// The sample is one of this repository.
fn local(name: &str) -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/klr-corpus").join(format!("{name}.klr")).is_file()
}

#[test]
fn every_file_reads_and_lists() {
    let all = samples();
    assert!(all.len() >= 60, "{} files", all.len());
    for sample in all {
        let file = birsim_klr::read(&sample.bytes).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
        assert_eq!((file.version, file.trailing_bytes), ([0, 0, 12], 0), "{}", sample.name);
        let text = inspect(&file);
        assert!(text.lines().count() > 1, "{}:\n{text}", sample.name);
        // The files of this repository have their listings beside them.
        if local(&sample.name) {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path("../data/klr-corpus/listings");
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(sample.name.replace('/', "-"), text));
        }
    }
}

#[test]
fn every_kernel_runs_and_expected_outputs_match() {
    let mut failures = Vec::new();
    let (mut ran, mut compared) = (0, 0);
    for sample in samples() {
        let Some(lowered) = sample.lower() else { continue };
        let short = sample.name.trim_end_matches("/kernel");
        let modules = match lowered {
            Ok(lowered) => lowered.modules,
            Err(errors) => {
                let unsupported = |e: &Error| e.code() == Code::K004 && e.class() == Class::Unsupported;
                if !REFUSED.contains(&short) || !errors.iter().all(unsupported) {
                    failures.extend(errors.iter().map(|e| format!("{short}: {e}")));
                }
                continue;
            }
        };
        assert!(!REFUSED.contains(&short), "{short} is lowered");
        match sample.run(&modules, 2) {
            Ok(run) => {
                assert_ne!(short, FAULT, "its state has the wrong size");
                ran += 1;
                compared += run.outputs.iter().filter(|o| o.golden.is_some()).count();
                failures.extend(mismatches(&run).into_iter().map(|m| format!("{short}: {m}")));
            }
            Err(e) if short == FAULT && e.code() == Code::S008 && e.what().contains("24 words") => {}
            Err(e) => failures.push(format!("{short}: {e}")),
        }
    }
    println!("{ran} kernels ran, {compared} outputs compared");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(ran >= 40 && compared >= 10, "{ran} kernels, {compared} outputs");
}

/// What `birsim convert` writes for a core, read again.
fn converted(module: &Module) -> Module {
    format::read(format::write(module).as_bytes()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn converted_kernels_run_to_the_same_bits() {
    let mut several = 0;
    for sample in samples() {
        let Some(Ok(lowered)) = sample.lower() else { continue };
        let again: Vec<Module> = lowered.modules.iter().map(converted).collect();
        let name = &sample.name;
        match (sample.run(&lowered.modules, 1), sample.run(&again, 1)) {
            (Ok(direct), Ok(through)) => assert_eq!(direct, through, "{name}"),
            (Err(direct), Err(through)) => {
                assert_eq!((direct.code(), direct.what()), (through.code(), through.what()), "{name}");
            }
            (direct, through) => panic!("{name}: {direct:?}, converted {through:?}"),
        }
        several += usize::from(again.len() > 1);
    }
    assert!(several >= 1, "no kernel of several cores");
}
