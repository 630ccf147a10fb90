//! `birsim ops`: the opcode table itself, and the list of open choices.

use crate::args::Ops;
use crate::term::print;
use birsim_engine::ir::Opcode;
use birsim_engine::ir::table::{Fidelity, RouteClass, Row};
use birsim_kernels::rulings::RULINGS;
use birsim_kernels::{Profile, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// Prints the table, as text or JSON.
pub fn run(args: &Ops) -> Result<i32> {
    if args.json {
        let rows: Vec<Value> = Opcode::all().map(|o| json_row(o.row())).collect();
        let mut text = String::from("[\n");
        for (i, row) in rows.iter().enumerate() {
            let _ = writeln!(text, "{row}{}", if i + 1 < rows.len() { "," } else { "" });
        }
        text.push_str("]\n");
        print(&text);
        return Ok(0);
    }
    print(&table());
    if args.fidelity {
        print(&choices());
    }
    Ok(0)
}

/// Whether the engine executes the instruction: yes, no, or in part. Asked of the table itself, so that it cannot promise more
/// than a run keeps.
fn implemented(row: &Row) -> Value {
    let executes = match row.class {
        RouteClass::Abstract => false,
        RouteClass::NoOp | RouteClass::ControlFlow => true,
        // The trigger executes the descriptors of a DMABlock.
        RouteClass::Kernel | RouteClass::Skipped => row.execute.is_some() || row.opcode == Opcode::DMABlock,
    };
    match row.partial {
        Some(_) if executes => json!("partial"),
        _ => json!(executes),
    }
}

/// How faithful execution is; what is not executed at all is unsupported, whatever the row plans.
fn fidelity(row: &Row) -> &'static str {
    match (implemented(row) == json!(false), row.class) {
        (true, RouteClass::Skipped) => Fidelity::Skipped.word(),
        (true, _) => Fidelity::Unsupported.word(),
        (false, _) => row.fidelity.word(),
    }
}

fn json_row(row: &Row) -> Value {
    json!({
        "ordinal": row.opcode.ordinal(),
        "name": row.name,
        "class": row.class.word(),
        "implemented": implemented(row),
        "fidelity": fidelity(row),
        "spec": row.spec,
    })
}

fn table() -> String {
    let mut text =
        format!("{:>3}  {:<28} {:<13} {:<12} {:<11}  {}\n", "IT", "name", "class", "implemented", "fidelity", "spec");
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
    }
    text
}

fn choices() -> String {
    let (reference, device) = (Profile::reference().values(), Profile::device().values());
    let mut text = String::from(
        "\nChoices the documents leave open (--set FIELD=VALUE; source: ruling or section of the specification)\n",
    );
    for ((field, value), (_, on_device)) in reference.iter().zip(&device) {
        let _ = write!(text, "\n{} = {value}", field.name);
        if on_device != value {
            let _ = write!(text, "   (--profile device: {on_device})");
        }
        let opcodes = if field.opcodes == ["*"] { "every instruction".to_string() } else { field.opcodes.join(", ") };
        let _ = write!(text, "\n    {}\n    touches {opcodes}; {}\n", field.what.trim(), field.source);
    }
    text.push_str("\nRulings, and where each is decided\n\n");
    for r in RULINGS {
        let field = if r.field.is_empty() { String::new() } else { format!(" (--set {}=..)", r.field) };
        let _ = writeln!(text, "{:>4}  {}{field}\n      {}", r.id, r.choice, r.place);
    }
    text
}
