//! What a person reads after a run.

use super::report::{OutputRecord, Record};
use crate::args::Run;
use crate::npy::shape_text;
use crate::term::{Style, Term, plain};
use birsim_kernels::Named;
use std::fmt::Write;

/// The whole summary; for a quiet run only what differs, and the verdict.
pub fn text(record: &Record, args: &Run, term: &Term) -> String {
    let mut out = String::new();
    if args.quiet {
        let differs = |o: &&OutputRecord| o.golden.as_ref().is_some_and(|g| !g.equal());
        tensors(record.outputs.iter().filter(differs), term, &mut out);
        let _ = writeln!(out, "{}", verdict(record, term));
        return out;
    }
    let rate = record.instructions as f64 / record.wall.as_secs_f64().max(1e-9);
    let _ = writeln!(
        out,
        "{}  {} in {} ({}/s)",
        term.paint(Style::BOLD, &record.program),
        if record.instructions == 1 {
            "1 instruction".to_string()
        } else {
            format!("{} instructions", grouped(record.instructions))
        },
        duration(record.wall.as_secs_f64()),
        short(rate),
    );
    let cores = match (record.ranks, record.cores) {
        (1, 1) => String::new(),
        (1, cores) => format!(" of {cores} cores"),
        (ranks, _) if record.lnc == 1 => format!(" of {ranks} ranks"),
        (ranks, _) => format!(" of {ranks} ranks with {} cores each", record.lnc),
    };
    let engines: Vec<&str> = record.engines.iter().map(|e| e.name()).collect();
    let facts = [
        format!("target {}", record.target.unwrap_or("?")),
        format!("{} order", record.order.unwrap_or("?")),
        format!("{} schedule", record.schedule),
        format!("{} memory", record.mem_mode.unwrap_or("?")),
        format!("profile {}", record.profile_name),
        format!("{} touched", size(record.touched)),
    ];
    let _ = writeln!(out, "  {}", term.paint(Style::DIM, &facts.join(", ")));
    if !engines.is_empty() {
        let _ = writeln!(out, "  {} {}{cores}", term.paint(Style::DIM, "engines"), engines.join(", "));
    }
    let _ = writeln!(out, "  {} {}", term.paint(Style::DIM, "opcodes"), opcodes(record, args.verbose));
    for (name, value) in &record.changed {
        let _ = writeln!(out, "  {} {name} = {value}", term.paint(Style::DIM, "choice"));
    }
    if args.verbose {
        for (name, from) in &record.inputs {
            let _ = writeln!(out, "  {} {name} from {from}", term.paint(Style::DIM, "input"));
        }
    }
    tensors(record.outputs.iter(), term, &mut out);
    let _ = writeln!(out, "{}", verdict(record, term));
    out
}

fn tensors<'a>(outputs: impl Iterator<Item = &'a OutputRecord>, term: &Term, out: &mut String) {
    for o in outputs {
        let mark = match &o.golden {
            None => " ".to_string(),
            Some(g) if g.equal() => term.paint(Style::GREEN, "+"),
            Some(_) => term.paint(Style::RED, "!"),
        };
        let file = o.file.as_ref().map(|f| format!("  -> {}", f.display())).unwrap_or_default();
        let shape = shape_text(&o.shape);
        let _ =
            writeln!(out, "{mark} {}  {} {shape}{file}", term.paint(Style::BOLD, &plain(&o.label())), o.dtype.name());
        let Some(golden) = &o.golden else { continue };
        let _ = writeln!(out, "    {}", golden.text());
        if !golden.equal() {
            golden.histogram().iter().flat_map(|h| h.lines()).for_each(|line| {
                let _ = writeln!(out, "    {line}");
            });
        }
    }
}

fn verdict(record: &Record, term: &Term) -> String {
    let checked = record.outputs.iter().filter(|o| o.golden.is_some()).count();
    let good = record.outputs.iter().filter(|o| o.golden.as_ref().is_some_and(|g| g.equal())).count();
    let outputs = plural(record.outputs.len(), "output");
    let bad = checked - good;
    // The fault that ended the run comes first, then the outputs that were written nevertheless.
    if let Some(e) = record.failure() {
        let word = term.paint(Style::RED, e.class().word());
        let checks = match (checked, bad) {
            (0, _) => "no golden to check against".to_string(),
            (n, 0) => format!("{n} checked, all match"),
            (n, bad) => format!("{bad} of {n} checked differ"),
        };
        return format!("{word}: {}; {outputs} written, {checks}", e.what());
    }
    if let Some(Some(text)) = &record.trace {
        let ignored = if record.ignore_mismatch { ", ignored as asked" } else { "" };
        let checks =
            if bad > 0 { format!("{bad} of {}, and ", plural(checked, "checked output")) } else { String::new() };
        return format!("{}: {checks}the trace: {text}{ignored}", term.paint(Style::RED, "mismatch"));
    }
    match (checked, bad) {
        (0, _) if record.outputs.is_empty() => {
            format!("{}: the program has no outputs", term.paint(Style::GREEN, "ran"))
        }
        (0, _) => format!("{}: {outputs} written, no golden to check against", term.paint(Style::GREEN, "ran")),
        (n, 0) => {
            let which = if n == record.outputs.len() {
                format!("{outputs}, all match")
            } else {
                format!("{n} of {outputs} checked, all match")
            };
            format!("{}: {which} ({})", term.paint(Style::GREEN, "ok"), record.tolerance)
        }
        (n, bad) => {
            let verb = if bad == 1 { "differs" } else { "differ" };
            let text = format!("{bad} of {} {verb} ({})", plural(n, "checked output"), record.tolerance);
            let ignored = if record.ignore_mismatch { ", ignored as asked" } else { "" };
            format!("{}: {text}{ignored}", term.paint(Style::RED, "mismatch"))
        }
    }
}

/// Most frequent first; all of them when asked.
fn opcodes(record: &Record, all: bool) -> String {
    let mut counts = record.opcodes.clone();
    counts.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    let shown = if all { counts.len() } else { 8 };
    let mut parts: Vec<String> = counts.iter().take(shown).map(|(name, n)| format!("{name} {n}")).collect();
    if counts.len() > shown {
        parts.push(format!("and {} more", counts.len() - shown));
    }
    if parts.is_empty() { "none".to_string() } else { parts.join(", ") }
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// A rate or count in three digits.
pub fn short(x: f64) -> String {
    match x {
        x if x >= 1e9 => format!("{:.2} G", x / 1e9),
        x if x >= 1e6 => format!("{:.2} M", x / 1e6),
        x if x >= 1e3 => format!("{:.1} k", x / 1e3),
        x => format!("{x:.0}"),
    }
}

/// A time in the unit that suits it.
pub fn duration(s: f64) -> String {
    match s {
        s if s >= 60.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        0..=9999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.0} KiB", b / 1024.0),
        10_000_000..=9_999_999_999 => format!("{:.0} MiB", b / 1024.0 / 1024.0),
        _ => format!("{:.1} GiB", b / 1024.0 / 1024.0 / 1024.0),
    }
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(short(2_500_000.0), "2.50 M");
        assert_eq!(duration(0.0123), "12.3 ms");
        assert_eq!(duration(125.0), "2 min 5 s");
        assert_eq!(size(1024), "1024 B");
        assert_eq!(size(640 * 1024), "640 KiB");
    }
}
