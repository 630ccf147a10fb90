//! What a module contains, for people and for programs: tensors, blocks, instructions, histograms.

use super::{
    ApPair, Axis, Block, Expr, FieldType, Function, ImmValue, Instruction, Location, LocationSet, Module, Operand,
    Storage, SyncKind, UpdateMode, Value, WaitMode,
};
use birsim_kernels::EnumDef;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The listing as text, one instruction per line.
pub fn listing(module: &Module) -> String {
    let mut out = String::new();
    let stats = Stats::of(module);
    let arch = module.arch.map_or("not given".to_string(), |a| a.to_string());
    line(
        &mut out,
        0,
        &format!("module: BIR-JSON version {}, arch {arch}, {} instructions", module.version, stats.total),
    );
    for function in &module.functions {
        let entry = module.entry().is_some_and(|e| std::ptr::eq(e, function));
        function_text(&mut out, if entry { "entry function" } else { "function" }, function);
    }
    module.nki_functions.iter().for_each(|f| function_text(&mut out, "NKI function", f));
    for queue in &module.queues {
        line(&mut out, 0, &format!("queue {} ({})", queue.name, queue.ty));
        blocks_text(&mut out, 1, &queue.blocks);
    }
    for (title, counts) in [("engines", &stats.engines), ("opcodes", &stats.opcodes)] {
        line(&mut out, 0, title);
        let mut sorted: Vec<(&str, usize)> = counts.iter().map(|(k, n)| (*k, *n)).collect();
        sorted.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
        sorted.iter().for_each(|(name, n)| line(&mut out, 1, &format!("{n:>7}  {name}")));
    }
    out
}

/// The listing as JSON. Strings of instructions are those of the text form.
pub fn listing_json(module: &Module) -> Json {
    let stats = Stats::of(module);
    let functions = |list: &[Function]| list.iter().map(function_json).collect::<Vec<_>>();
    let queues = module.queues.iter().map(|q| {
        json!({"name": q.name, "type": q.ty.to_string(), "blocks": q.blocks.iter().map(|b| block_json(b, 0)).collect::<Vec<_>>()})
    });
    json!({
        "schema": 1,
        "version": module.version,
        "arch": module.arch.map(|a| a.to_string()),
        "entry": module.entry().map(|f| f.name.as_str()),
        "instructions": stats.total,
        "functions": functions(&module.functions),
        "nki_functions": functions(&module.nki_functions),
        "queues": queues.collect::<Vec<_>>(),
        "engines": stats.engines,
        "opcodes": stats.opcodes,
    })
}

/// Counts over all functions and queues, bodies of loops included once.
#[derive(Default)]
struct Stats {
    total: usize,
    engines: BTreeMap<&'static str, usize>,
    opcodes: BTreeMap<&'static str, usize>,
}

impl Stats {
    fn of(module: &Module) -> Self {
        let mut stats = Stats::default();
        let functions = module.functions.iter().chain(&module.nki_functions).flat_map(|f| &f.blocks);
        functions.chain(module.queues.iter().flat_map(|q| &q.blocks)).for_each(|b| stats.block(b, 0));
        stats
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for i in &block.instructions {
            self.total += 1;
            *self.engines.entry(birsim_kernels::Named::name(i.engine)).or_default() += 1;
            *self.opcodes.entry(i.opcode.name()).or_default() += 1;
            if depth < super::validate::MAX_NESTING {
                i.blocks.iter().for_each(|b| self.block(b, depth + 1));
            }
        }
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    out.extend(std::iter::repeat_n("  ", depth));
    out.push_str(text);
    out.push('\n');
}

fn function_text(out: &mut String, what: &str, f: &Function) {
    line(out, 0, &format!("{what} {}", f.name));
    if !f.arguments.is_empty() {
        line(out, 1, &format!("arguments {}", f.arguments.join(", ")));
    }
    for storage in &f.allocations {
        match storage {
            Storage::Set(set) => set.locations.iter().for_each(|l| line(out, 1, &tensor_text(set, l))),
            Storage::Register(r) => line(out, 1, &format!("register {} {} on {}", r.name, r.dtype, r.engine)),
        }
    }
    blocks_text(out, 1, &f.blocks);
}

fn tensor_text(set: &LocationSet, l: &Location) -> String {
    let place =
        if l.allocated { format!(" at partition {} byte {} bank {}", l.base, l.addr, l.bank) } else { String::new() };
    let kind = l.kind.unwrap_or(set.kind);
    format!("tensor {} {kind} {} {:?} in {} {:?}{place}", l.name, set.dtype, set.tensor_shape, l.ty, l.dims)
}

fn blocks_text(out: &mut String, depth: usize, blocks: &[Block]) {
    for b in blocks {
        line(out, depth, &format!("block {}", b.name));
        for i in &b.instructions {
            line(out, depth + 1, &instruction_text(i));
            if depth < super::validate::MAX_NESTING {
                blocks_text(out, depth + 2, &i.blocks);
            }
        }
    }
}

fn function_json(f: &Function) -> Json {
    let mut tensors = Vec::new();
    let mut registers = Vec::new();
    for storage in &f.allocations {
        match storage {
            Storage::Register(r) => {
                registers.push(json!({"name": r.name, "engine": r.engine.to_string(), "dtype": r.dtype.to_string()}));
            }
            Storage::Set(set) => tensors.extend(set.locations.iter().map(|l| {
                json!({
                    "name": l.name, "set": set.name, "kind": l.kind.unwrap_or(set.kind).to_string(),
                    "dtype": set.dtype.to_string(), "shape": set.tensor_shape, "memory": l.ty.to_string(),
                    "dims": l.dims, "allocated": l.allocated, "addr": l.addr, "base": l.base, "bank": l.bank,
                    "file": set.file,
                })
            })),
        }
    }
    let blocks: Vec<Json> = f.blocks.iter().map(|b| block_json(b, 0)).collect();
    json!({"name": f.name, "arguments": f.arguments, "tensors": tensors, "registers": registers, "blocks": blocks})
}

fn block_json(b: &Block, depth: usize) -> Json {
    let instructions = b.instructions.iter().map(|i| {
        let mut o = json!({
            "name": i.name, "opcode": i.opcode.name(), "engine": i.engine.to_string(), "text": instruction_text(i),
        });
        if !i.blocks.is_empty() && depth < super::validate::MAX_NESTING {
            o["blocks"] = i.blocks.iter().map(|b| block_json(b, depth + 1)).collect();
        }
        o
    });
    json!({"name": b.name, "instructions": instructions.collect::<Vec<_>>()})
}

/// `engine opcode name: outs <- ins {keys} waits and updates`.
pub fn instruction_text(i: &Instruction) -> String {
    let mut s = format!("{:<10} {:<16} {}:", i.engine.to_string(), i.opcode.name(), i.name);
    let list = |operands: &[Operand]| operands.iter().map(operand_text).collect::<Vec<_>>().join(", ");
    if !i.outs.is_empty() {
        let _ = write!(s, " {}", list(&i.outs));
    }
    if !i.ins.is_empty() {
        let _ = write!(s, " <- {}", list(&i.ins));
    }
    if !i.indirection_ins.is_empty() {
        let _ = write!(s, " by {}", list(&i.indirection_ins));
    }
    let keys: Vec<String> = i
        .opcode
        .row()
        .fields
        .iter()
        .zip(&i.fields)
        .filter_map(|(f, v)| v.as_ref().map(|v| format!("{}={}", f.key, value_text(f.ty, v))))
        .collect();
    if !keys.is_empty() {
        let _ = write!(s, " {{{}}}", keys.join(", "));
    }
    for p in &i.predicates {
        let _ = write!(s, " if {} {} 0", p.expr, p.op);
    }
    for w in &i.sync.on_wait {
        let _ = match w.mode {
            WaitMode::EvtSetClear => write!(s, " wait event {}", w.id),
            WaitMode::SemGeImm => write!(s, " wait sem {} >= {}", w.id, w.value),
            WaitMode::SemGeReg => write!(s, " wait sem {} >= {}", w.id, w.regref.as_deref().unwrap_or("?")),
        };
    }
    let first = i.sync.on_update.len();
    for (k, u) in i.sync.on_update.iter().chain(&i.sync.second_update).enumerate() {
        if k == first {
            s.push_str(" then");
        }
        let what = if u.kind == SyncKind::Event { "event" } else { "sem" };
        let _ = match u.mode {
            UpdateMode::EvtSet => write!(s, " set {what} {}", u.id),
            UpdateMode::SemWrImm => write!(s, " {what} {} = {}", u.id, u.value),
            UpdateMode::SemSubImm | UpdateMode::SemDec => write!(s, " {what} {} - {}", u.id, u.value),
            UpdateMode::SemAddImm | UpdateMode::SemInc => write!(s, " {what} {} + {}", u.id, u.value),
        };
        if let Some(core) = u.target_core {
            let _ = write!(s, " on core {core}");
        }
    }
    s
}

/// `name[offset; step:num ...] dtype`, or the value of an immediate.
pub fn operand_text(o: &Operand) -> String {
    let pattern = |name: &str, set: &str, offset: String, ap: &[ApPair]| {
        let name = if name.is_empty() { set } else { name };
        let pairs: Vec<String> = ap.iter().map(|p| format!("{}:{}", p.step, p.num)).collect();
        let offset = if offset == "0" { String::new() } else { format!("{offset}; ") };
        format!("{name}[{offset}{}] {}", pairs.join(" "), o.dtype())
    };
    match o {
        Operand::Physical(a) => {
            let offset = match a.dynamic.as_ref().and_then(|d| d.offset_expr.as_ref()) {
                Some(e) => format!("{} + {e}", a.offset),
                None => a.offset.to_string(),
            };
            pattern(&a.memref, &a.memsetref, offset, &a.ap)
        }
        Operand::Symbolic(a) => {
            let addrs: Vec<String> = a.addrs.iter().map(Expr::to_string).collect();
            pattern(&a.memref, &a.memsetref, format!("({})", addrs.join(", ")), &a.ap)
        }
        Operand::RegisterAp(a) => {
            let register = a.reg_ap_offset.as_ref().or(a.regref.as_ref());
            let offset = register.cloned().unwrap_or_else(|| a.const_ap_offset.to_string());
            pattern(&a.memref, &a.memsetref, offset, &a.ap)
        }
        Operand::Imm { dtype, value, .. } => format!("{} {dtype}", immediate_text(value)),
        Operand::ImmArray { dtype, values, .. } => format!("{} {dtype}", immediates_text(values)),
        Operand::SymbolicImm { dtype, values, expr, .. } => format!("{}[{expr}] {dtype}", immediates_text(values)),
        Operand::Register { regref, .. } => regref.clone(),
    }
}

fn immediate_text(v: &ImmValue) -> String {
    match v {
        ImmValue::Int(v) => v.to_string(),
        ImmValue::Float(x) => format!("{x:?}"),
    }
}

fn immediates_text(values: &[ImmValue]) -> String {
    let texts: Vec<String> = values.iter().map(immediate_text).collect();
    format!("({})", texts.join(", "))
}

fn value_text(ty: FieldType, value: &Value) -> String {
    let name = |def: &EnumDef, o: u8| def.name_of(o).map_or_else(|| o.to_string(), str::to_string);
    let join = |items: Vec<String>| format!("[{}]", items.join(", "));
    match (ty, value) {
        (FieldType::Enum(def), Value::Enum(o)) => name(def, *o),
        (FieldType::Enums(def), Value::Enums(list)) => join(list.iter().map(|o| name(def, *o)).collect()),
        (_, Value::Bool(b)) => b.to_string(),
        (_, Value::Int(v)) => v.to_string(),
        (_, Value::Float(x)) => format!("{x:?}"),
        (_, Value::Str(s)) => s.clone(),
        (_, Value::Enum(o)) => o.to_string(),
        (_, Value::Expr(e)) => e.to_string(),
        (_, Value::Ints(list)) => join(list.iter().map(Expr::to_string).collect()),
        (_, Value::Floats(list)) => format!("{list:?}"),
        (_, Value::Strs(list)) => join(list.clone()),
        (_, Value::Enums(list)) => format!("{list:?}"),
        (_, Value::Pairs(list)) => join(list.iter().map(|(step, num)| format!("{step}:{num}")).collect()),
        (_, Value::Groups(list)) => format!("{list:?}"),
        (_, Value::Map(pairs)) => join(pairs.iter().map(|(a, b)| format!("{a}={b}")).collect()),
        (_, Value::Axis(a)) => axis_text(a),
        (_, Value::Json(v)) => v.to_string(),
    }
}

fn axis_text(a: &Axis) -> String {
    format!("{} in {}..{} step {}", a.name, a.lb, a.ub, a.stride)
}
