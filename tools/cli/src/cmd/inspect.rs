//! `birsim inspect`: what is in a program.

use crate::args::Inspect;
use crate::npy::shape_text;
use crate::program::{Kind, Source};
use crate::term::print;
use crate::usage;
use birsim_engine::format;
use birsim_engine::ir::{LocationSet, Module, Opcode, Storage};
use birsim_kernels::{Error, Named, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Prints tensors, blocks, opcode histogram, engines and listing. References are not resolved, so that a module with a
/// dangling name can be looked at.
pub fn run(args: &Inspect) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let at = |e: Error| e.at(|p| p.file = Some(source.name.clone()));
    match source.kind()? {
        Kind::Klr => {
            let file = birsim_klr::read(&source.bytes).map_err(at)?;
            let listing = birsim_klr::inspect(&file);
            if args.json {
                let value = json!({"format": "klr", "version": file.version, "metadata": file.metadata,
                    "contents": file.contents.kind(), "listing": listing});
                print(&format!("{value:#}\n"));
            } else {
                print(&listing);
            }
        }
        Kind::BirJson => {
            let module = format::parse(&source.bytes).map_err(at)?;
            print(&if args.json { format!("{:#}\n", as_json(&module)) } else { as_text(&module) });
        }
    }
    Ok(0)
}

fn histogram(module: &Module) -> BTreeMap<Opcode, u64> {
    let mut counts = BTreeMap::new();
    usage::instructions(module).for_each(|i| *counts.entry(i.opcode).or_insert(0) += 1);
    counts
}

fn sets(module: &Module) -> impl Iterator<Item = (&str, &LocationSet)> {
    let functions = module.functions.iter().chain(&module.nki_functions);
    functions.flat_map(|f| {
        f.allocations.iter().filter_map(|s| match s {
            Storage::Set(set) => Some((f.name.as_str(), set)),
            Storage::Register(_) => None,
        })
    })
}

fn as_json(module: &Module) -> Value {
    let mut tensors = Vec::new();
    for (function, set) in sets(module) {
        for l in &set.locations {
            tensors.push(json!({
                "name": l.name, "set": set.name, "function": function, "kind": l.kind.unwrap_or(set.kind).name(),
                "dtype": set.dtype.name(), "shape": set.tensor_shape, "memory": l.ty.name(), "dims": l.dims, "file": set.file,
            }));
        }
    }
    let functions = module.functions.iter().chain(&module.nki_functions);
    let blocks: Vec<Value> = functions
        .flat_map(|f| {
            f.blocks.iter().map(|b| json!({"function": f.name, "name": b.name, "instructions": b.instructions.len()}))
        })
        .collect();
    let opcodes: serde_json::Map<String, Value> =
        histogram(module).iter().map(|(o, n)| (o.name().to_string(), json!(n))).collect();
    let engines: Vec<&str> = usage::engines(module).iter().map(|e| e.name()).collect();
    json!({
        "format": "bir-json", "version": module.version, "arch": module.arch.map(Named::name), "tensors": tensors,
        "blocks": blocks, "opcodes": opcodes, "engines": engines,
        "instructions": usage::instructions(module).count(),
    })
}

fn as_text(module: &Module) -> String {
    let mut out = String::new();
    let arch = module.arch.map_or("not given", Named::name);
    let engines: Vec<&str> = usage::engines(module).iter().map(|e| e.name()).collect();
    let _ = writeln!(out, "BIR-JSON version {}, arch {arch}", module.version);
    let counts: Vec<String> = histogram(module).iter().map(|(o, n)| format!("{o} {n}")).collect();
    let _ = writeln!(out, "instructions: {} on {}", usage::instructions(module).count(), engines.join(", "));
    let _ = writeln!(out, "opcodes: {}", counts.join(", "));
    for (function, set) in sets(module) {
        for l in &set.locations {
            let kind = l.kind.unwrap_or(set.kind);
            let file = if set.file.is_empty() { String::new() } else { format!(" from {}", set.file) };
            let place = if l.allocated { format!(" at {}:{}", l.base, l.addr) } else { String::new() };
            let _ = writeln!(
                out,
                "tensor {function}/{}: {kind} {} {} in {}{place}{file}",
                l.name,
                set.dtype,
                shape_text(&set.tensor_shape),
                l.ty,
            );
        }
    }
    out
}
