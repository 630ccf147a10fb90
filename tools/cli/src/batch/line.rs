//! The result of one item: a line of the results file. Everything outside `stats` is the same for any number of jobs, order,
//! shard and machine.

use crate::limit::Limit;
use crate::run::report::Record;
use birsim_kernels::{Class, Code, Error, Named};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All goldens match, or there is none.
    Ok,
    /// An output differs from its golden.
    Mismatch,
    /// The input is malformed or does not fit together.
    Invalid,
    /// The simulated program broke a rule.
    Fault,
    /// Something birsim does not model.
    Unsupported,
    /// A defect of birsim: a panic, caught by the worker.
    Bug,
    /// It took longer than its time limit.
    Timeout,
    /// It needed more memory than its limit.
    Memory,
    /// The worker died.
    Crash,
}

impl Status {
    /// All of them, in the order of summaries.
    pub const ALL: [Status; 9] = [
        Status::Ok,
        Status::Mismatch,
        Status::Invalid,
        Status::Fault,
        Status::Unsupported,
        Status::Bug,
        Status::Timeout,
        Status::Memory,
        Status::Crash,
    ];

    /// The word for it in manifests and results.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Mismatch => "mismatch",
            Status::Invalid => "invalid",
            Status::Fault => "fault",
            Status::Unsupported => "unsupported",
            Status::Bug => "bug",
            Status::Timeout => "timeout",
            Status::Memory => "memory",
            Status::Crash => "crash",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The status of a run that an error ended.
    pub fn of(e: &Error) -> Status {
        match (Limit::of(e), e.class()) {
            (Some(Limit::Time), _) => Status::Timeout,
            (Some(Limit::Memory), _) => Status::Memory,
            (_, Class::Invalid) => Status::Invalid,
            (_, Class::Fault) => Status::Fault,
            (_, Class::Unsupported) => Status::Unsupported,
            (_, Class::Bug) => Status::Bug,
        }
    }

    /// Trying again may help, because the cause may lie outside of the program.
    pub fn may_pass(self) -> bool {
        matches!(self, Status::Crash | Status::Timeout)
    }
}

/// The error of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Code, as `birsim explain` takes it; none when the worker died.
    pub code: Option<String>,
    /// What went wrong, and the value that broke the rule.
    pub message: String,
    /// Where: file, function, block, instruction, operand, tensor, source line.
    #[serde(rename = "where")]
    pub place: Value,
}

impl Failure {
    /// The line's form of an error.
    pub fn of(e: &Error) -> Failure {
        let p = e.place();
        let message = match e.received_value() {
            Some(value) => format!("{} (received {value})", e.what()),
            None => e.what().to_string(),
        };
        let place = json!({
            "file": p.file, "function": p.function, "block": p.block, "instruction": p.instruction,
            "operand": p.operand, "tensor": p.tensor, "source": p.source,
        });
        Failure { code: Some(e.code().to_string()), message, place }
    }
}

/// The golden check of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// It matches.
    pub equal: bool,
    /// Largest absolute difference; null when nothing was compared.
    pub max_abs: Value,
    /// Largest relative difference.
    pub max_rel: Value,
    /// Elements that differ.
    pub mismatches: Value,
}

/// One output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Name.
    pub name: String,
    /// Rank it belongs to; null in a run of one rank.
    pub rank: Option<usize>,
    /// Element type.
    pub dtype: String,
    /// Shape.
    pub shape: Vec<u64>,
    /// SHA-256 of its bytes.
    pub hash: String,
    /// File below the output folder; null without outputs.
    pub file: Option<String>,
    /// Golden check, when there was a golden.
    pub golden: Option<Golden>,
}

/// What may differ between two runs of one item.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Wall time of the item in its worker.
    pub wall_s: f64,
    /// CPU time of the item in its worker.
    pub cpu_s: f64,
    /// Bytes of simulated memory touched.
    pub peak_bytes: u64,
    /// The worker that ran it.
    pub worker: usize,
    /// The try that gave this result, from 1.
    pub attempt: u32,
    /// It passed only after a try that crashed or ran out of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Taken from an earlier results file.
    pub reused: bool,
}

/// One line of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Version of this form.
    pub schema: u32,
    /// Position in the manifest, from 0.
    pub index: usize,
    /// Name of the item.
    pub id: String,
    /// Hash of everything the result depends on; empty when a file could not be read.
    pub key: String,
    /// How it ended.
    pub status: Status,
    /// It ended as the manifest expects.
    pub as_expected: bool,
    /// Exit code that `birsim run` would have.
    pub exit_code: i32,
    /// The error, when there was one.
    pub error: Option<Failure>,
    /// Outputs.
    pub outputs: Vec<Output>,
    /// Instructions executed.
    pub instructions: u64,
    /// Executions by faithfulness.
    pub fidelity: Value,
    /// What may differ from run to run.
    pub stats: Stats,
}

/// Version of the lines.
pub const SCHEMA: u32 = 1;

impl Line {
    /// The line of a run that came to an end by itself.
    pub fn of_record(record: &Record, folder: &Path) -> Line {
        let failure = record.failure();
        let status = match failure {
            Some(e) => Status::of(e),
            None if record.exit_code() == 1 => Status::Mismatch,
            None => Status::Ok,
        };
        let outputs = record.outputs.iter().map(|o| Output {
            name: o.name.clone(),
            rank: o.rank,
            dtype: o.dtype.name().to_string(),
            shape: o.shape.clone(),
            hash: o.hash.clone().unwrap_or_default(),
            file: o.file.as_ref().map(|f| f.strip_prefix(folder).unwrap_or(f).to_string_lossy().into_owned()),
            golden: o.golden.as_ref().map(|g| {
                let mut all = g.json();
                let mut take = |key: &str| all.get_mut(key).map(Value::take).unwrap_or_default();
                Golden {
                    equal: g.equal(),
                    max_abs: take("max_abs"),
                    max_rel: take("max_rel"),
                    mismatches: take("mismatches"),
                }
            }),
        });
        Line {
            status,
            exit_code: record.exit_code(),
            error: failure.map(Failure::of),
            outputs: outputs.collect(),
            instructions: record.instructions,
            fidelity: Value::Object(record.fidelity().clone()),
            ..Line::empty()
        }
    }

    /// The line of an item whose worker could not answer.
    pub fn lost(status: Status, exit_code: i32, message: String) -> Line {
        let code = match status {
            Status::Timeout | Status::Memory => Some(Code::S009.to_string()),
            _ => None,
        };
        let error = Some(Failure { code, message, place: Value::Null });
        Line { status, exit_code, error, ..Line::empty() }
    }

    fn empty() -> Line {
        Line {
            schema: SCHEMA,
            index: 0,
            id: String::new(),
            key: String::new(),
            status: Status::Ok,
            as_expected: false,
            exit_code: 0,
            error: None,
            outputs: Vec::new(),
            instructions: 0,
            fidelity: json!({"exact": 0, "approximate": 0, "extension": 0, "skipped": 0}),
            stats: Stats::default(),
        }
    }

    /// The text, with its line break.
    pub fn text(&self) -> String {
        // Every member has a form in JSON: no map has keys other than text, and numbers are finite.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The same outcome, whatever the statistics say.
    pub fn same_result(&self, other: &Line) -> bool {
        Line { stats: Stats::default(), ..self.clone() } == Line { stats: Stats::default(), ..other.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_serialized_forms_agree() {
        for s in Status::ALL {
            assert_eq!(serde_json::to_value(s).unwrap(), json!(s.name()));
            assert_eq!(Status::from_name(s.name()), Some(s));
        }
        assert_eq!(Status::from_name("OK"), None);
    }

    #[test]
    fn a_line_is_read_back_and_statistics_do_not_count() {
        let line = Line::lost(Status::Crash, 137, "the worker died of signal 9".into());
        let mut back: Line = serde_json::from_str(line.text().trim_end()).unwrap();
        assert_eq!(back, line);
        back.stats.worker = 3;
        assert!(back.same_result(&line) && back != line);
        back.index = 1;
        assert!(!back.same_result(&line));
    }

    #[test]
    fn limits_have_statuses_of_their_own() {
        let limit = |text: &str| Status::of(&Error::new(Code::S009, text));
        assert_eq!(limit("the run takes longer than --timeout allows"), Status::Timeout);
        assert_eq!(limit("the run touches more memory than --max-memory allows"), Status::Memory);
        assert_eq!(limit("the run executes more instructions and loop trips than allowed"), Status::Fault);
        assert_eq!(Status::of(&Error::new(Code::U001, "x")), Status::Unsupported);
    }
}
