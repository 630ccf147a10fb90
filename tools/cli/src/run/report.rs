//! The machine-readable report of a run. Everything outside `stats` is the same for every schedule, thread count and run.

use crate::args::{ProfileArg, Run, ScheduleArg};
use crate::golden::Outcome;
use crate::interrupt;
use birsim_engine::ir::{Engine, Opcode};
use birsim_engine::{CollectiveCount, Cores, Diagnostic, Place, Remark, RunSummary, Severity};
use birsim_kernels::{Code, Dtype, Error, Named, Profile};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// One output.
#[derive(Debug)]
pub struct OutputRecord {
    /// Name.
    pub name: String,
    /// Rank, in a run of several.
    pub rank: Option<usize>,
    /// Element type.
    pub dtype: Dtype,
    /// Shape.
    pub shape: Vec<u64>,
    /// File it was written to.
    pub file: Option<PathBuf>,
    /// Hash of its bytes, when wanted.
    pub hash: Option<String>,
    /// Outcome of the golden check, when there was one.
    pub golden: Option<Outcome>,
}

impl OutputRecord {
    /// The name with its rank.
    pub fn label(&self) -> String {
        self.rank.map_or_else(|| self.name.clone(), |rank| format!("rank{rank}/{}", self.name))
    }
}

/// A line of the report's diagnostics.
#[derive(Debug)]
enum Entry {
    /// A remark and where its instruction is.
    Remark(Diagnostic, Box<Place>),
    /// An error.
    Error(Error),
}

impl Entry {
    fn json(&self) -> Value {
        match self {
            Entry::Remark(d, p) => json!({
                "class": d.severity.name(), "code": d.code.name(), "message": d.message, "function": p.function,
                "block": p.block, "instruction": p.instruction, "operand": null, "tensor": d.tensor,
                "rank": p.rank, "core": p.core,
            }),
            Entry::Error(e) => {
                let p = e.place();
                json!({
                    "class": e.class().word(), "code": e.code().to_string(), "message": e.what(),
                    "function": p.function, "block": p.block, "instruction": p.instruction, "operand": p.operand,
                    "tensor": p.tensor, "received": e.received_value(), "rule": e.code().rule(),
                    "advice": e.advice_text(), "source": p.source, "rank": p.rank, "core": p.core,
                })
            }
        }
    }
}

/// Everything known about a run so far.
#[derive(Debug)]
pub struct Record {
    /// Program as named on the command line.
    pub program: String,
    /// Target, once known.
    pub target: Option<&'static str>,
    /// Order, once known.
    pub order: Option<&'static str>,
    /// Order of issue.
    pub schedule: String,
    /// Memory mode, once known.
    pub mem_mode: Option<&'static str>,
    /// Preset.
    pub profile_name: &'static str,
    /// Fields that differ from the reference.
    pub changed: Vec<(&'static str, String)>,
    changed_opcodes: Vec<&'static [&'static str]>,
    seed: u64,
    /// Cores.
    pub cores: usize,
    /// Ranks.
    pub ranks: usize,
    /// Cores of a rank.
    pub lnc: usize,
    collectives: Vec<CollectiveCount>,
    /// Instructions executed.
    pub instructions: u64,
    /// Executions per opcode.
    pub opcodes: Vec<(&'static str, u64)>,
    fidelity: Map<String, Value>,
    skipped: Vec<(&'static str, u64)>,
    /// Engines that have instructions.
    pub engines: Vec<Engine>,
    /// Inputs and where they came from.
    pub inputs: Vec<(String, String)>,
    /// Outputs.
    pub outputs: Vec<OutputRecord>,
    /// Outputs are hashed.
    pub hashes: bool,
    /// Tolerance of the golden checks.
    pub tolerance: String,
    /// A mismatch does not fail the run.
    pub ignore_mismatch: bool,
    diagnostics: Vec<Entry>,
    /// The first difference from the golden trace, when there is such a trace.
    pub trace: Option<Option<String>>,
    /// Outputs are written and checked.
    pub finished: bool,
    interrupted: bool,
    failure: Option<Error>,
    ticks: u64,
    /// Wall time of the run.
    pub wall: Duration,
    /// Bytes of memory touched.
    pub touched: u64,
}

impl Record {
    /// Nothing known yet but the command line.
    pub fn new(args: &Run) -> Record {
        let schedule = match (args.schedule_seed, args.schedule) {
            (Some(seed), _) => format!("seed {seed}"),
            (None, ScheduleArg::Window) => "window".to_string(),
            (None, ScheduleArg::Reference) => "reference".to_string(),
        };
        let fidelity = ["exact", "approximate", "extension", "skipped"].map(|k| (k.to_string(), json!(0)));
        Record {
            program: args.program.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", "),
            target: args.target.map(Named::name),
            order: None,
            schedule,
            mem_mode: None,
            profile_name: "reference",
            changed: Vec::new(),
            changed_opcodes: Vec::new(),
            seed: args.seed.unwrap_or(42),
            cores: 1,
            ranks: 1,
            lnc: 1,
            collectives: Vec::new(),
            instructions: 0,
            opcodes: Vec::new(),
            fidelity: fidelity.into_iter().collect(),
            skipped: Vec::new(),
            engines: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            hashes: false,
            tolerance: String::new(),
            ignore_mismatch: false,
            diagnostics: Vec::new(),
            trace: None,
            finished: false,
            interrupted: false,
            failure: None,
            ticks: 0,
            wall: Duration::ZERO,
            touched: 0,
        }
    }

    /// Notes the choices of numerics.
    pub fn profile(&mut self, preset: ProfileArg, profile: &Profile) {
        self.profile_name = match preset {
            ProfileArg::Reference => "reference",
            ProfileArg::Device => "device",
        };
        // Spelling out every field costs as much as a small program.
        if *profile == Profile::reference() {
            return;
        }
        for (field, value) in profile.differences() {
            self.changed.push((field.name, value));
            self.changed_opcodes.push(field.opcodes);
        }
    }

    /// Takes over what the machine counted.
    pub fn summary(&mut self, parts: &[RunSummary], sim: &Cores) {
        let Some(s) = RunSummary::merged(parts) else { return };
        self.cores = parts.len();
        (self.ranks, self.lnc) = (sim.ranks(), sim.lnc());
        self.collectives = sim.collectives();
        self.target = Some(s.target.name());
        self.order = Some(s.order);
        self.mem_mode = Some(if s.physical { "physical" } else { "symbolic" });
        self.instructions = s.stats.instructions;
        self.opcodes = s.opcodes().iter().map(|(o, n)| (o.name(), *n)).collect();
        self.skipped = s.skipped().iter().map(|(o, n)| (o.name(), *n)).collect();
        let mut count = |o: &Opcode, n: u64| {
            let entry = self.fidelity.entry(o.row().fidelity.word()).or_insert(json!(0));
            *entry = json!(entry.as_u64().unwrap_or(0) + n);
        };
        s.opcodes().iter().for_each(|(o, n)| count(o, *n));
        s.skipped().iter().for_each(|(o, n)| count(o, *n));
        self.ticks = s.stats.ticks;
        self.wall = s.wall;
        self.touched = s.stats.touched;
        let remarks = parts.iter().zip(sim.cores()).flat_map(|(s, c)| s.diagnostics.iter().map(move |d| (c, d)));
        self.diagnostics.extend(remarks.map(|(core, d)| Entry::Remark(d.clone(), Box::new(core.place_of(d)))));
    }

    /// Executions by faithfulness.
    pub fn fidelity(&self) -> &Map<String, Value> {
        &self.fidelity
    }

    /// Adds a warning.
    pub fn warning(&mut self, code: Remark, message: String) {
        self.diagnostics.push(Entry::Remark(Diagnostic::warning(code, message), Box::default()));
    }

    fn remarks(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter_map(move |d| match d {
            Entry::Remark(d, _) if d.severity == severity => Some(d),
            _ => None,
        })
    }

    /// Texts of the warnings; with `quiet` only of those without which the verdict would promise too much. A difference of
    /// traces is part of the verdict.
    pub fn warnings(&self, quiet: bool) -> impl Iterator<Item = &str> {
        let kept = self.remarks(Severity::Warning).filter(move |d| match d.code {
            Remark::TraceDiffers => false,
            Remark::SaysNothing => true,
            _ => !quiet,
        });
        kept.map(|d| d.message.as_str())
    }

    /// Notes the outcome of the comparison with a golden trace.
    pub fn golden_trace(&mut self, args: &Run, difference: Option<String>) {
        if args.golden_trace.is_none() {
            return;
        }
        if let Some(text) = &difference {
            self.warning(Remark::TraceDiffers, text.clone());
        }
        self.trace = Some(difference);
    }

    /// Opcodes that were skipped, and how often.
    pub fn skipped(&self) -> &[(&'static str, u64)] {
        &self.skipped
    }

    /// Texts of the checkers' findings.
    pub fn findings(&self) -> impl Iterator<Item = String> {
        self.remarks(Severity::Fault).map(Diagnostic::to_string)
    }

    /// Ends the run with an error.
    pub fn fail(&mut self, e: &Error) {
        self.error(e);
        // A run that a person interrupted reached a limit, but the program has no fault.
        self.interrupted = e.code() == Code::S009 && interrupt::came();
        self.failure = Some(e.clone());
    }

    /// Adds an error.
    pub fn error(&mut self, e: &Error) {
        self.diagnostics.push(Entry::Error(e.clone()));
    }

    /// The error that ended the run.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    fn mismatch(&self) -> bool {
        let output = |o: &OutputRecord| o.golden.as_ref().is_some_and(|g| !g.equal());
        self.outputs.iter().any(output) || matches!(self.trace, Some(Some(_)))
    }

    /// Exit code of the run.
    pub fn exit_code(&self) -> i32 {
        match &self.failure {
            Some(_) if self.interrupted => interrupt::INTERRUPTED,
            Some(e) => e.class().exit_code(),
            None if self.mismatch() && !self.ignore_mismatch => 1,
            None => 0,
        }
    }

    /// The report.
    pub fn json(&self, exit_code: i32) -> String {
        let status = match &self.failure {
            Some(_) if self.interrupted => "interrupted",
            Some(e) => e.class().word(),
            None if self.mismatch() => "mismatch",
            None => "ok",
        };
        let changed = self.changed.iter().zip(&self.changed_opcodes);
        let changed: Vec<Value> =
            changed.map(|((field, value), ops)| json!({"field": field, "value": value, "opcodes": ops})).collect();
        let outputs: Vec<Value> = self
            .outputs
            .iter()
            .map(|o| {
                json!({
                    "name": o.name, "rank": o.rank, "dtype": o.dtype.name(), "shape": o.shape,
                    "file": o.file.as_ref().map(|f| f.to_string_lossy()),
                    "golden": o.golden.as_ref().map(Outcome::json),
                })
            })
            .collect();
        let skipped: Vec<Value> = self.skipped.iter().map(|(o, n)| json!({"opcode": o, "count": n})).collect();
        let opcodes: Map<String, Value> = self.opcodes.iter().map(|(o, n)| (o.to_string(), json!(n))).collect();
        let collectives: Vec<Value> = self
            .collectives
            .iter()
            .map(|c| json!({"kind": c.kind.name(), "group": c.group, "count": c.count, "bytes": c.bytes}))
            .collect();
        let report = json!({
            "schema": 1,
            "birsim": env!("CARGO_PKG_VERSION"),
            "status": status,
            "exit_code": exit_code,
            "program": self.program,
            "target": self.target,
            "order": self.order,
            "schedule": self.schedule,
            "mem_mode": self.mem_mode,
            "profile": {"name": self.profile_name, "changed": changed},
            "seed": self.seed,
            "ranks": self.ranks,
            "lnc": self.lnc,
            "instructions": self.instructions,
            "outputs": outputs,
            "skipped": skipped,
            "collectives": collectives,
            "diagnostics": self.diagnostics.iter().map(Entry::json).collect::<Vec<_>>(),
            "fidelity": self.fidelity,
            "opcodes": opcodes,
            "stats": {"ticks": self.ticks, "wall_s": self.wall.as_secs_f64(), "touched_bytes": self.touched},
        });
        format!("{report:#}\n")
    }
}
