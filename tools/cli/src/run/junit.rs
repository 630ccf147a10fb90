//! The verdict as JUnit XML, by `quick-junit`: one test for the run itself, one for every output with a golden, one for a
//! golden trace.

use super::report::Record;
use birsim_kernels::{Code, Error, Result};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The document.
pub fn xml(record: &Record) -> Result<String> {
    let mut suite = TestSuite::new("birsim");
    let mut add = |name: &str, time: Duration, status: TestCaseStatus| {
        let mut case = TestCase::new(name, status);
        case.set_classname(record.program.as_str()).set_time(time);
        suite.add_test_case(case);
    };
    let run = match record.failure() {
        None => TestCaseStatus::success(),
        Some(e) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type(e.code().to_string()).set_message(e.what()).set_description(e.to_string());
            status
        }
    };
    add("run", record.wall, run);
    for o in &record.outputs {
        let Some(golden) = &o.golden else { continue };
        add(&o.label(), Duration::ZERO, mismatch((!golden.equal()).then(|| golden.text())));
    }
    if let Some(difference) = &record.trace {
        add("golden trace", Duration::ZERO, mismatch(difference.clone()));
    }
    let mut report = Report::new("birsim");
    report.set_time(record.wall).add_test_suite(suite);
    report.to_string().map_err(|e| Error::new(Code::B001, format!("cannot write JUnit XML: {e}")))
}

/// Success without a difference.
fn mismatch(difference: Option<String>) -> TestCaseStatus {
    let Some(text) = difference else { return TestCaseStatus::success() };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type("mismatch").set_message(text);
    status
}
