//! Every conformance case, reported per family.

use birsim_tests::cases;
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
