//! The KLR sample files: all read and list; kernels lower, run, and give what is expected.

use birsim_engine::ir::Module;
use birsim_engine::{Class, Code, Error, format};
use birsim_kernels::compare::{Tolerance, compare};
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, inspect, write};
use birsim_tests::klr::{Finished, sample, samples};
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
    assert!(all.len() >= 117, "{} files", all.len());
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
    assert!(ran >= 45 && compared >= 40, "{ran} kernels, {compared} outputs");
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

#[test]
fn head_layout_files_survive_byte_for_byte() {
    let mut count = 0;
    for sample in samples().into_iter().filter(|s| s.name.starts_with("lnc/")) {
        let file = birsim_klr::read(&sample.bytes).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
        let Contents::Program(program) = file.contents else { continue };
        assert!(write(&program) == sample.bytes, "{} changes when written back", sample.name);
        count += 1;
    }
    assert!(count >= 50, "{count} files");
}

/// The operators that are refused, in file order.
fn refusals(name: &str, options: &LowerOptions) -> Vec<String> {
    let errors = sample(name).lower_with(options).expect("a kernel").expect_err("is refused");
    assert!(errors.iter().all(|e| e.code() == Code::K004 && !e.advice_text().is_empty()), "{errors:?}");
    errors.iter().map(|e| e.what().to_owned()).collect()
}

#[test]
fn abstract_operators_are_refused_unless_asked_for() {
    let strict = LowerOptions::default();
    let accept = LowerOptions { accept_abstract: true, ..LowerOptions::default() };
    let kinds = |list: &[u8]| list.iter().map(|k| format!("Unsupported operator {k}")).collect::<Vec<_>>();
    let all = [
        ("lnc/physical_refs/kernel", kinds(&[11, 8, 8, 11, 24])),
        ("lnc/lnc2_sendrecv_compute/kernel", kinds(&[43, 43])),
        ("lnc/gather_misc/kernel", kinds(&[70])),
        ("lnc/isa_level_ops/kernel", kinds(&[1, 4, 17, 18, 21, 19, 19, 27, 30])),
    ];
    for (name, refused) in all {
        assert_eq!(refusals(name, &strict), refused, "{name}");
    }
    // Some have no definite form.
    assert_eq!(refusals("lnc/gather_misc/kernel", &accept), kinds(&[70]));
    assert_eq!(refusals("lnc/isa_level_ops/kernel", &accept), kinds(&[17, 19, 19, 27]));
    let mut collectives = kinds(&[58, 62, 63]);
    collectives.insert(0, "a replica group must be literal".into());
    assert_eq!(refusals("lnc/collectives/kernel", &strict), collectives);
    // One core has no peer to send to.
    collectives[2] = "an exchange names a core that the kernel has not".into();
    let errors = sample("lnc/collectives/kernel").lower_with(&accept).expect("a kernel").expect_err("is refused");
    assert_eq!(errors.iter().map(|e| e.what().to_owned()).collect::<Vec<_>>(), collectives);
}

#[test]
fn accepted_abstract_kernels_run() {
    let accept = LowerOptions { accept_abstract: true, ..LowerOptions::default() };
    let run = |name: &str| {
        let sample = sample(name);
        let lowered = sample.lower_with(&accept).expect("a kernel").unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(lowered.notes.iter().any(|n| n.contains("is an abstract operator")), "{:?}", lowered.notes);
        sample.run(&lowered.modules, 2).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let physical = run("lnc/physical_refs/kernel");
    assert!(physical.outputs[0].golden.is_some());
    assert_eq!(mismatches(&physical), Vec::<String>::new());
    // Each core gets what the other sent: the halves change places.
    let exchange = run("lnc/lnc2_sendrecv_compute/kernel");
    let folder = sample("lnc/lnc2_sendrecv_compute/kernel").folder;
    let x = birsim_cli::npy::open(&folder.join("in_x.npy")).expect("readable");
    let mut x = x.into_tensor(birsim_kernels::Dtype::Float32, &[64, 32]).expect("a tensor");
    let half = x.len() / 2;
    x.rotate_left(half);
    assert!(exchange.outputs[0].bytes == x, "the halves did not change places");
}

/// The state has 6 words per partition on GpSimd and 24 on the vector engine. The sample restores 6 words
/// on the vector engine, which is a fault of the program (ruling D10 picks the generation by the engine).
#[test]
fn d10_a_state_of_6_words_on_the_vector_engine_is_a_fault() {
    let sample = sample("lnc/random/kernel");
    let modules = sample.lower().expect("a kernel").expect("lowers").modules;
    let e = sample.run(&modules, 1).expect_err("the state is too short");
    assert_eq!((e.code(), e.class()), (Code::S008, Class::Fault));
    assert!(e.what().contains("24 words"), "{e}");
    assert_eq!(e.place().instruction.as_deref(), Some("inst.3"));
}
