//! `birsim ops`: the opcode table itself, and the list of open choices.

use super::opcode;
use crate::args::Ops;
use crate::term::print;
use birsim_engine::ir::Opcode;
use birsim_engine::ir::table::{Fidelity, RouteClass, Row};
use birsim_kernels::profile::NOTES;
use birsim_kernels::rulings::RULINGS;
use birsim_kernels::{Profile, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// Prints the table, or the instruction types that are named, as text or JSON.
pub fn run(args: &Ops) -> Result<i32> {
    if !args.opcodes.is_empty() {
        return opcode::run(args);
    }
    if args.json {
        let mut rows: Vec<Value> = Opcode::all().map(|o| json_row(o.row())).collect();
        if args.fidelity {
            for (row, o) in rows.iter_mut().zip(Opcode::all()) {
                row["choices"] = json_choices(o.name());
                row["notes"] = json_notes(o.name());
            }
        }
        let mut text = String::from("[\n");
        for (i, row) in rows.iter().enumerate() {
            let _ = writeln!(text, "{row}{}", if i + 1 < rows.len() { "," } else { "" });
        }
        text.push_str("]\n");
        print(&text)?;
        return Ok(0);
    }
    print(&table())?;
    if args.fidelity {
        print(&choices())?;
    }
    Ok(0)
}

/// Whether the engine executes the instruction: yes, no, or in part. The table itself is asked, so that the list cannot promise more
/// than a run keeps.
pub(super) fn implemented(row: &Row) -> Value {
    let executes = match row.class {
        RouteClass::Abstract => false,
        RouteClass::NoOp | RouteClass::ControlFlow => true,
        // The trigger executes the descriptors of a DMABlock.
        RouteClass::Kernel | RouteClass::Skipped => {
            birsim_engine::exec::kernel(row.opcode).is_some() || row.opcode == Opcode::DMABlock
        }
    };
    match row.partial {
        Some(_) if executes => json!("partial"),
        _ => json!(executes),
    }
}

/// How faithful execution is; what is not executed at all is unsupported, whatever the row plans.
pub(super) fn fidelity(row: &Row) -> &'static str {
    match (implemented(row) == json!(false), row.class) {
        (true, RouteClass::Skipped) => Fidelity::Skipped.word(),
        (true, _) => Fidelity::Unsupported.word(),
        (false, _) => row.fidelity.word(),
    }
}

pub(super) fn json_row(row: &Row) -> Value {
    json!({
        "ordinal": row.opcode.ordinal(),
        "name": row.name,
        "class": row.class.word(),
        "implemented": implemented(row),
        "fidelity": fidelity(row),
        "spec": row.spec,
        "missing": row.partial,
        "open": row.open,
    })
}

fn table() -> String {
    let mut text =
        format!("{:>3}  {:<28} {:<13} {:<12} {:<11}  {}\n", "IT", "name", "class", "implemented", "fidelity", "rules");
    for row in Opcode::all().map(Opcode::row) {
        let done = match implemented(row) {
            Value::Bool(true) => "yes",
            Value::Bool(false) => "no",
            _ => "partial",
        };
        let _ = writeln!(
            text,
            "{:>3}  {:<28} {:<13} {:<12} {:<11}  {}",
            row.opcode.ordinal(),
            row.name,
            row.class.word(),
            done,
            fidelity(row),
            row.spec
        );
        if let Some(missing) = row.partial {
            let _ = writeln!(text, "     {:<28} not executed: {missing}", "");
        }
        if let Some(fact) = row.open {
            let _ = writeln!(text, "     {:<28} open: {fact}", "");
        }
    }
    text
}

/// The class of fidelity, the section, the choices and the notes of every opcode, then all of them by topic, then the rulings.
fn choices() -> String {
    let accepted = Profile::accepted();
    let (reference, device) = (Profile::reference().values(), Profile::device().values());
    let mut text = String::from(
        "\nFidelity and choices of every opcode (field = value of the reference | other accepted values; a note is a fact that \
         nothing changes)\n\n",
    );
    for row in Opcode::all().map(Opcode::row) {
        let _ = writeln!(text, "{:>3}  {}: {}; {}", row.opcode.ordinal(), row.name, fidelity(row), row.spec);
        for line in own_choices(row) {
            let _ = writeln!(text, "       {line}");
        }
    }
    text.push_str("\nEvery instruction\n\n");
    for ((field, value), (_, accepted)) in reference.iter().zip(&accepted) {
        if field.opcodes == ["*"] {
            let _ = writeln!(text, "       {}", one_choice(field.name, value, accepted));
        }
    }
    for note in NOTES.iter().filter(|n| n.opcodes == ["*"]) {
        let _ = writeln!(text, "       note {} = {}", note.name, note.answer);
    }
    text.push_str(
        "\nChoices the documents leave open, by topic (--set FIELD=VALUE; rulings and sections in brackets)\n",
    );
    let mut topic = "";
    for (((field, value), (_, on_device)), (_, accepted)) in reference.iter().zip(&device).zip(&accepted) {
        if field.topic != topic {
            topic = field.topic;
            let _ = writeln!(text, "\n{topic}");
        }
        let _ = write!(text, "  {}", one_choice(field.name, value, accepted));
        if on_device != value {
            let _ = write!(text, " (--profile device: {on_device})");
        }
        let _ = writeln!(text, "\n     {} [{}]", field.what.trim(), field.sources.join(", "));
    }
    text.push_str("\nNotes: facts of which no second reading is known, by topic\n");
    let mut topic = "";
    for note in NOTES {
        if note.topic != topic {
            topic = note.topic;
            let _ = writeln!(text, "\n{topic}");
        }
        let _ = writeln!(text, "  {} = {}", note.name, note.answer);
        let _ = writeln!(text, "     {} [{}]", note.what.trim(), note.sources.join(", "));
    }
    text.push_str("\nRulings: what birsim does, where it is decided, and the fields and notes\n\n");
    for r in RULINGS {
        let names: Vec<&str> = r.fields().chain(r.notes()).collect();
        let place = if names.is_empty() { r.place.to_string() } else { format!("{}; {}", r.place, names.join(", ")) };
        let _ = writeln!(text, "{:>4}  {}\n      {place}", r.id, r.choice);
    }
    text
}

/// The choices and notes that concern this instruction type and not every one, a line each.
pub(super) fn own_choices(row: &Row) -> impl Iterator<Item = String> {
    let values = Profile::reference().values().into_iter().zip(Profile::accepted());
    let choices = values.filter(|((field, _), _)| field.opcodes != ["*"] && field.touches(row.name));
    let choices = choices.map(|((field, value), (_, accepted))| one_choice(field.name, &value, &accepted));
    let notes = NOTES.iter().filter(|n| n.opcodes != ["*"] && n.touches(row.name));
    choices.chain(notes.map(|n| format!("note {} = {}", n.name, n.answer)))
}

/// `field=value`, and the other values that `--set` takes.
pub(super) fn one_choice(field: &str, value: &str, accepted: &[&str]) -> String {
    let others: Vec<&str> = accepted.iter().copied().filter(|a| *a != value).collect();
    match others.as_slice() {
        [] => format!("{field} = {value}"),
        _ => format!("{field} = {value} | {}", others.join(" | ")),
    }
}

/// The choices of one opcode, as JSON.
pub(super) fn json_choices(opcode: &str) -> Value {
    let (reference, accepted) = (Profile::reference().values(), Profile::accepted());
    let rows = reference.iter().zip(&accepted).filter(|((field, _), _)| field.touches(opcode));
    rows.map(|((field, value), (_, accepted))| {
        json!({"field": field.name, "value": value, "accepted": accepted, "sources": field.sources})
    })
    .collect()
}

/// The facts about one opcode, as JSON.
pub(super) fn json_notes(opcode: &str) -> Value {
    let notes = NOTES.iter().filter(|n| n.touches(opcode));
    notes.map(|n| json!({"note": n.name, "value": n.answer, "what": n.what.trim(), "sources": n.sources})).collect()
}
