//! Pages that are written from tables of the code.

use birsim_engine::ir::table::{Absence, Row};
use birsim_engine::ir::{FieldType, Opcode, Role};
use birsim_kernels::EnumDef;
use birsim_kernels::rulings::RULINGS;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

#[test]
fn the_page_of_rulings_is_current() {
    let mut page = String::from(
        "# Rulings\n\n\
         What birsim does where public documents leave a choice. Written from `kernels/src/rulings.rs` by \
         `BIRSIM_BLESS=1 cargo test -p birsim-tests --test docs`.\n\n\
         The place is a path below a `src` folder, followed by the names of the functions or types that decide. \
         `--set FIELD=VALUE` chooses another value of a profile field; `birsim ops --fidelity` lists the values. A ruling \
         without a field has one known reading.\n\n\
         | Ruling | birsim's choice | Place | Profile fields |\n|---|---|---|---|\n",
    );
    for r in RULINGS {
        let fields: Vec<String> = r.fields().map(|f| format!("`{f}`")).collect();
        let _ = writeln!(page, "| {} | {} | `{}` | {} |", r.id, r.choice, r.place, fields.join(", "));
    }
    current("rulings.md", &page);
}

#[test]
fn the_page_of_opcode_keys_is_current() {
    let mut enums: BTreeMap<&str, &EnumDef> = BTreeMap::new();
    let mut page = String::from(
        "# Keys and operands of every instruction type\n\n\
         Written from the opcode table by `BIRSIM_BLESS=1 cargo test -p birsim-tests --test docs`.\n\n\
         `!` marks a required key; any other key has the default given, or may be absent. Keys of type bool, int, bits and \
         number also take an affine expression (`bir-json.md` 7). An operand is an access pattern unless it says otherwise: \
         `i` an immediate, `r` a register, `a` an access pattern; `?` is optional, `*` zero or more. Engines are the usual \
         ones; none is enforced. Rules: [opcodes.md](opcodes.md).\n\n\
         ## 1 Instruction types\n\n\
         | IT | Name | Class | Engines | `ins` | `outs` | Keys | Rules |\n|--:|---|---|---|---|---|---|---|\n",
    );
    for row in Opcode::all().map(Opcode::row) {
        for field in row.fields {
            if let FieldType::Enum(def) | FieldType::Enums(def) = field.ty {
                enums.insert(def.name, def);
            }
        }
        let engines: Vec<String> = row.engines.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.opcode.ordinal(),
            row.name,
            row.class.word(),
            engines.join(" "),
            roles(row.ins),
            roles(row.outs),
            keys(row),
            row.spec
        );
    }
    page.push_str("\n## 2 Enumerations\n\nNames are written, names and ordinals are read.\n\n| Enumeration | Values |\n|---|---|\n");
    for (name, def) in enums {
        let values: Vec<String> = def.values.iter().map(|(o, n)| format!("{o} {n}")).collect();
        let _ = writeln!(page, "| {name} | {} |", values.join(", "));
    }
    current("opcode-keys.md", &page);
}

fn roles(texts: &'static [&'static str]) -> String {
    let one = |text: &&'static str| {
        let role = Role::parse(text);
        let kinds = if role.kinds == "a" { String::new() } else { format!(":{}", role.kinds) };
        let mark = if role.optional {
            "?"
        } else if role.repeated {
            "*"
        } else {
            ""
        };
        format!("{}{kinds}{mark}", role.name)
    };
    texts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn keys(row: &Row) -> String {
    let one = |f: &birsim_engine::ir::table::Field| {
        let ty = type_of(f.ty);
        match f.default_in_json() {
            // Without the quotes of JSON.
            Some(Json::String(text)) => format!("`{}` {ty} = {text}", f.key),
            Some(value) => format!("`{}` {ty} = {value}", f.key),
            None if matches!(f.default, Absence::Required) => format!("`{}`! {ty}", f.key),
            None => format!("`{}` {ty}", f.key),
        }
    };
    row.fields.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn type_of(ty: FieldType) -> String {
    let plain = match ty {
        FieldType::Bool => "bool",
        FieldType::Int(i64::MIN, i64::MAX) => "int",
        FieldType::Int(lo, hi) => return format!("int {lo} to {hi}"),
        FieldType::Bits => "bits",
        FieldType::Float => "number",
        FieldType::Str => "string",
        FieldType::Enum(def) => return def.name.to_string(),
        FieldType::Enums(def) => return format!("list of {}", def.name),
        FieldType::Ints => "list of int",
        FieldType::Exprs => "list of expression",
        FieldType::Floats => "list of number",
        FieldType::Strs | FieldType::Axes => "list of string",
        FieldType::Pairs => "list of [step, num]",
        FieldType::Groups => "list of list of int",
        FieldType::Map => "object of string",
        FieldType::Expr => "expression",
        FieldType::Axis => "loop axis",
        FieldType::Json => "any",
    };
    plain.to_string()
}

/// Compares a page with the file, or writes the file.
fn current(name: &str, page: &str) {
    let path = super::pages().join(name);
    if std::env::var_os("BIRSIM_BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    let first = page.lines().zip(held.lines()).find(|(new, old)| new != old);
    assert!(
        held == page,
        "engine/docs/{name} is out of date (BIRSIM_BLESS=1 cargo test -p birsim-tests --test docs writes it)\n\
         first difference: {first:?}"
    );
}
