//! Every conformance case, reported per family.

use birsim_tests::{bug_cases, cases};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn roots() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut out = vec![here.join("data/cases")];
    // A larger collection beside the checkout is run when it is there.
    out.push(here.join("../../shared/cases"));
    if let Some(extra) = std::env::var_os("BIRSIM_CASES") {
        out.push(extra.into());
    }
    out
}

#[test]
fn conformance_cases_pass() {
    let mut failures = Vec::new();
    let mut total = 0;
    for root in roots() {
        for (family, (passed, failed)) in cases::run_all(&root, &|b| b) {
            println!("{family:24} {passed} passed, {} failed", failed.len());
            total += passed + failed.len();
            failures.extend(failed.into_iter().map(|f| format!("{family}/{f}")));
        }
    }
    assert!(total > 0, "no case was found");
    assert!(failures.is_empty(), "{} of {total} cases fail:\n{}", failures.len(), failures.join("\n"));
}

/// Bug cases that fail still. A case that passes must leave this list.
const NOT_YET: &[&str] = &[];

#[test]
fn bug_cases_pass_through_the_command_line() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let birsim = Path::new(env!("CARGO_BIN_EXE_birsim-under-test"));
    let out = tempfile::tempdir().unwrap();
    let roots = [here.join("data/bug-cases"), here.join("../../shared/bug-cases")];
    // The larger collection beside the checkout holds the small one.
    let folders = roots.iter().flat_map(|r| bug_cases::find(r));
    let folders: BTreeMap<String, PathBuf> =
        folders.map(|f| (f.file_name().unwrap().to_string_lossy().into_owned(), f)).collect();
    assert!(folders.len() >= 80, "{} cases found", folders.len());
    let mut wrong = Vec::new();
    for (name, folder) in folders {
        match (bug_cases::run(birsim, &folder, out.path()), NOT_YET.contains(&name.as_str())) {
            (Err(e), false) => wrong.push(format!("{name}: {e}")),
            (Ok(()), true) => wrong.push(format!("{name} passes now: take it out of NOT_YET")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cases_of_many_cores_pass_through_the_command_line() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let birsim = Path::new(env!("CARGO_BIN_EXE_birsim-under-test"));
    let out = tempfile::tempdir().unwrap();
    let roots = [here.join("data/cores-cases"), here.join("../../shared/cores-cases")];
    let folders = roots.iter().flat_map(|r| bug_cases::find(r));
    let folders: BTreeMap<String, PathBuf> =
        folders.map(|f| (f.file_name().unwrap().to_string_lossy().into_owned(), f)).collect();
    assert!(folders.len() >= 20, "{} cases found", folders.len());
    let wrong: Vec<String> = folders
        .iter()
        .filter_map(|(name, folder)| bug_cases::run(birsim, folder, out.path()).err().map(|e| format!("{name}: {e}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
