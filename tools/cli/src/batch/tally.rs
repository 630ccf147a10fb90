//! Counts of a batch: for its summary, its report and its progress.

use super::line::{Line, Status};
use super::supervisor::Ending;
use crate::run::summary::{duration, short};
use crate::term::{Style, Term};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Items that the summary names as slowest.
const SLOWEST: usize = 10;
/// Unexpected items that the summary names.
const NAMED: usize = 20;

/// Counts over the results so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Results.
    pub total: usize,
    /// Results that are not as the manifest expects.
    pub unexpected: usize,
    /// Results with the status bug that are not expected.
    pub bugs: usize,
    counts: BTreeMap<Status, usize>,
    codes: BTreeMap<String, usize>,
    reused: usize,
    flaky: Vec<String>,
    instructions: u64,
    cpu: f64,
    /// Slowest first.
    slowest: Vec<(f64, String)>,
    named: Vec<String>,
}

impl Tally {
    /// Counts one result.
    pub fn add(&mut self, line: &Line) {
        self.total += 1;
        *self.counts.entry(line.status).or_default() += 1;
        self.instructions += line.instructions;
        let code = line.error.as_ref().and_then(|e| e.code.as_deref());
        if let Some(code) = code {
            *self.codes.entry(code.to_string()).or_default() += 1;
        }
        if !line.as_expected {
            self.unexpected += 1;
            self.bugs += usize::from(line.status == Status::Bug);
            if self.named.len() < NAMED {
                let why = line.error.as_ref().map_or_else(|| differing(line), |e| e.message.clone());
                self.named.push(format!("{}: {}{}", line.id, line.status.name(), prefixed(": ", &why)));
            }
        }
        if line.stats.reused {
            self.reused += 1;
            return;
        }
        self.cpu += line.stats.cpu_s;
        if line.stats.flaky {
            self.flaky.push(line.id.clone());
        }
        let place = self.slowest.partition_point(|(s, _)| *s >= line.stats.wall_s);
        if place < SLOWEST {
            self.slowest.insert(place, (line.stats.wall_s, line.id.clone()));
            self.slowest.truncate(SLOWEST);
        }
    }

    /// Counts by status, those that occur.
    pub fn counts(&self) -> String {
        let parts: Vec<String> = self.counts.iter().map(|(s, n)| format!("{} {n}", s.name())).collect();
        if parts.is_empty() { "nothing yet".to_string() } else { parts.join(", ") }
    }

    /// What a person reads at the end.
    pub fn text(&self, wall: Duration, ending: Ending, quiet: bool, term: &Term) -> String {
        let mut out = String::new();
        for text in &self.named {
            let _ = writeln!(out, "{} {text}", term.paint(Style::RED, "!"));
        }
        if self.unexpected > self.named.len() {
            let _ = writeln!(out, "  and {} more", self.unexpected - self.named.len());
        }
        if !quiet {
            self.details(&mut out, wall, term);
        }
        let _ = writeln!(out, "{}", self.verdict(ending, term));
        out
    }

    fn details(&self, out: &mut String, wall: Duration, term: &Term) {
        let fresh = self.total - self.reused;
        let rate = short(fresh as f64 / wall.as_secs_f64().max(1e-9));
        let mut line = |name: &str, text: String| {
            let _ = writeln!(out, "  {} {text}", term.paint(Style::DIM, name));
        };
        line("results", self.counts());
        line(
            "ran",
            format!("{fresh} items in {} ({rate}/s), {} of CPU time", duration(wall.as_secs_f64()), duration(self.cpu)),
        );
        if self.reused > 0 {
            line("reused", format!("{} results of an earlier batch", self.reused));
        }
        if !self.codes.is_empty() {
            let codes: Vec<String> = self.codes.iter().map(|(c, n)| format!("{c} {n}")).collect();
            line("errors", codes.join(", "));
        }
        if !self.flaky.is_empty() {
            line("flaky", self.flaky.join(", "));
        }
        if fresh > 1 {
            let slow: Vec<String> = self.slowest.iter().map(|(s, id)| format!("{id} {}", duration(*s))).collect();
            line("slowest", slow.join(", "));
        }
    }

    fn verdict(&self, ending: Ending, term: &Term) -> String {
        let left = if ending.left > 0 { format!(", {} not run", ending.left) } else { String::new() };
        if ending.interrupted {
            return format!("{}: {} finished{left}", term.paint(Style::YELLOW, "interrupted"), self.total);
        }
        match self.unexpected {
            0 => format!("{}: {} as expected{left}", term.paint(Style::GREEN, "ok"), items(self.total)),
            n => format!("{}: {n} of {} not as expected{left}", term.paint(Style::RED, "failed"), items(self.total)),
        }
    }

    /// For `--report`.
    pub fn json(&self, wall: Duration, ending: Ending, exit_code: i32) -> Value {
        let counts: BTreeMap<&str, usize> =
            Status::ALL.iter().map(|s| (s.name(), self.counts.get(s).copied().unwrap_or(0))).collect();
        let slowest: Vec<Value> = self.slowest.iter().map(|(s, id)| json!({"id": id, "wall_s": s})).collect();
        json!({
            "schema": 1, "birsim": env!("CARGO_PKG_VERSION"), "exit_code": exit_code, "items": self.total,
            "as_expected": self.total - self.unexpected, "left": ending.left, "interrupted": ending.interrupted,
            "status": counts, "errors": self.codes, "instructions": self.instructions,
            "stats": {"wall_s": wall.as_secs_f64(), "cpu_s": self.cpu, "reused": self.reused, "flaky": self.flaky,
                "slowest": slowest},
        })
    }
}

fn items(n: usize) -> String {
    if n == 1 { "1 item".to_string() } else { format!("{n} items") }
}

fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{prefix}{text}") }
}

/// Outputs that differ from their goldens.
fn differing(line: &Line) -> String {
    let bad = line.outputs.iter().filter(|o| o.golden.as_ref().is_some_and(|g| !g.equal));
    let names: Vec<&str> = bad.map(|o| o.name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("{} differs", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_results_are_named_and_slow_ones_sorted() {
        let mut tally = Tally::default();
        for k in 0..12 {
            let mut line = Line::lost(Status::Crash, 137, "died".into());
            (line.id, line.stats.wall_s, line.as_expected) = (k.to_string(), f64::from(k % 5), k > 1);
            tally.add(&line);
        }
        let term = Term::new(crate::term::Color::Never);
        let ending = Ending { interrupted: false, left: 3 };
        let text = tally.text(Duration::from_secs(2), ending, false, &term);
        assert!(text.starts_with("! 0: crash: died\n! 1: crash: died\n"), "{text}");
        assert!(
            text.contains("  ran 12 items in 2.00 s (6/s)") && text.contains("slowest 4 4.00 s, 9 4.00 s, 3 3.00 s")
        );
        assert!(text.ends_with("failed: 2 of 12 items not as expected, 3 not run\n"));
        let report = tally.json(Duration::from_secs(2), ending, 1);
        assert_eq!(
            (&report["status"]["crash"], &report["status"]["ok"], &report["left"]),
            (&json!(12), &json!(0), &json!(3))
        );
    }
}
