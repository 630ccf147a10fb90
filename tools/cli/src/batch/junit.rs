//! The results as JUnit XML: one test per item, by `quick-junit`.

use super::line::{Line, Status};
use birsim_kernels::{Code, Error, Result};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The document. A result that the manifest expects is a success, whatever its status.
pub fn xml(lines: &[Line], wall: Duration) -> Result<String> {
    let mut suite = TestSuite::new("birsim batch");
    suite.set_time(wall);
    for line in lines {
        let status = match (line.as_expected, line.status) {
            (true, _) => TestCaseStatus::success(),
            (false, Status::Mismatch | Status::Ok) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            (false, _) => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        let mut case = TestCase::new(line.id.as_str(), status);
        case.set_classname("birsim").set_time(Duration::from_secs_f64(line.stats.wall_s.max(0.0)));
        if !line.as_expected {
            let code = line.error.as_ref().and_then(|e| e.code.as_deref());
            case.status.set_type(code.unwrap_or(line.status.name()));
            let message = line.error.as_ref().map(|e| e.message.clone()).unwrap_or_else(|| outputs(line));
            case.status.set_message(message);
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("birsim");
    report.set_time(wall).add_test_suite(suite);
    report.to_string().map_err(|e| Error::new(Code::B001, format!("cannot write JUnit XML: {e}")))
}

fn outputs(line: &Line) -> String {
    let bad = line.outputs.iter().filter_map(|o| o.golden.as_ref().filter(|g| !g.equal).map(|g| (o, g)));
    let texts: Vec<String> =
        bad.map(|(o, g)| format!("{}: {} mismatches, max abs {}", o.name, g.mismatches, g.max_abs)).collect();
    if texts.is_empty() { format!("status {}", line.status.name()) } else { texts.join("; ") }
}
