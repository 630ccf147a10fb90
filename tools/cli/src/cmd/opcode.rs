//! `birsim ops OPCODE`: everything the table knows about an instruction type.

use super::ops::{fidelity, implemented, json_choices, json_notes, json_row, own_choices};
use crate::args::Ops;
use crate::term::print;
use birsim_engine::ir::accepts::of_type;
use birsim_engine::ir::nearest::nearest;
use birsim_engine::ir::table::{Absence, Field, Row};
use birsim_engine::ir::{Opcode, Role};
use birsim_kernels::{Code, Error, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// Prints the instruction types that are named.
pub fn run(args: &Ops) -> Result<i32> {
    let rows = args.opcodes.iter().map(|name| row(name)).collect::<Result<Vec<&Row>>>()?;
    let text = if args.json {
        let all: Vec<Value> = rows.into_iter().map(json_of).collect();
        format!("{:#}\n", Value::from(all))
    } else {
        rows.into_iter().map(text_of).collect::<Vec<String>>().join("\n")
    };
    print(&text)?;
    Ok(0)
}

/// The row of a name or an ordinal.
fn row(name: &str) -> Result<&'static Row> {
    let by_ordinal = || name.parse().ok().and_then(Opcode::from_ordinal);
    if let Some(opcode) = Opcode::from_name(name).or_else(by_ordinal) {
        return Ok(opcode.row());
    }
    let error = Error::new(Code::F008, "there is no such instruction type").received(format!("'{name}'"));
    Err(match nearest(name, Opcode::all().map(Opcode::name)) {
        Some(near) => error.advice(format!("perhaps {near}; `birsim ops` lists them all")),
        None => error.advice("list them with `birsim ops`"),
    })
}

fn text_of(row: &Row) -> String {
    let engines: Vec<String> = row.engines.iter().map(ToString::to_string).collect();
    let executed = match implemented(row) {
        Value::Bool(true) => "executed",
        Value::Bool(false) => "not executed",
        _ => "executed in part",
    };
    let mut text = format!(
        "{}: InstructionType {}, {}; {executed}, {}\n",
        row.name,
        row.opcode.ordinal(),
        row.class.word(),
        fidelity(row)
    );
    let mut line = |label: &str, what: &str| {
        let _ = writeln!(text, "  {label:<9} {what}");
    };
    line("rules", &format!("{} (engine/docs)", row.spec));
    if !engines.is_empty() {
        line("engines", &engines.join(", "));
    }
    for (label, roles) in [("ins", row.ins), ("outs", row.outs)] {
        roles.iter().enumerate().for_each(|(k, r)| line(if k == 0 { label } else { "" }, &operand(Role::parse(r))));
    }
    if let Some(missing) = row.partial {
        line("missing", missing);
    }
    if let Some(fact) = row.open {
        line("open", fact);
    }
    let width = row.fields.iter().map(|f| f.key.len()).max().unwrap_or(0);
    for (k, field) in row.fields.iter().enumerate() {
        let what = format!("{:<width$}  {}: {}", field.key, absent(field), of_type(field.ty));
        line(if k == 0 { "keys" } else { "" }, &what);
    }
    for (k, choice) in own_choices(row).enumerate() {
        line(if k == 0 { "choices" } else { "" }, &choice);
    }
    text
}

/// An operand in words: `in1, optional: an access pattern or an immediate`.
fn operand(role: Role) -> String {
    let number = match role {
        Role { optional: true, .. } => ", optional",
        Role { repeated: true, .. } => ", any number",
        _ => "",
    };
    format!("{}{number}: {}", role.name, role.words().collect::<Vec<_>>().join(" or "))
}

/// What holds when the key is left out.
fn absent(field: &Field) -> String {
    match field.default_in_json() {
        Some(value) => format!("default {value}"),
        None if matches!(field.default, Absence::Required) => "required".to_string(),
        None => "optional".to_string(),
    }
}

fn json_of(row: &Row) -> Value {
    let operands = |roles: &'static [&'static str]| -> Vec<Value> {
        let roles = roles.iter().map(|r| Role::parse(r));
        roles
            .map(|r| json!({"name": r.name, "kinds": r.words().collect::<Vec<_>>(), "optional": r.optional, "repeated": r.repeated}))
            .collect()
    };
    let keys: Vec<Value> = row.fields.iter().map(|f| {
        json!({"key": f.key, "required": matches!(f.default, Absence::Required), "default": f.default_in_json(), "accepts": of_type(f.ty)})
    }).collect();
    let engines: Vec<String> = row.engines.iter().map(ToString::to_string).collect();
    let mut all = json_row(row);
    all["engines"] = json!(engines);
    all["ins"] = json!(operands(row.ins));
    all["outs"] = json!(operands(row.outs));
    all["keys"] = json!(keys);
    all["choices"] = json_choices(row.name);
    all["notes"] = json_notes(row.name);
    all
}
