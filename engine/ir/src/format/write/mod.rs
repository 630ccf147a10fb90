//! Writer: normalised BIR-JSON of version 2. Keys are sorted, defaults left out, short records stay on one line.

mod expr;
mod instruction;
mod operand;
mod print;
mod storage;

use crate::{Block, Extra, Function, Module, Queue};
use birsim_kernels::Named;
use print::{Item, Printer};
use serde_json::Value as Json;

/// Writes a module.
pub fn write(module: &Module) -> String {
    let mut printer = Printer::default();
    printer.object(module_items(module));
    printer.finish()
}

/// An entry of a record under construction.
type Entry<'m> = (&'m str, Item<'m>);

fn module_items(m: &Module) -> Vec<Entry<'_>> {
    let mut items = entries(&m.extra);
    items.push(("version", Json::from(2).into()));
    if let Some(arch) = m.arch {
        items.push(("arch", name(arch).into()));
    }
    if let Some(revision) = &m.revision {
        items.push(("revision", Json::from(revision.as_str()).into()));
    }
    items.push(("attributes", Json::Object(m.attributes.clone().into_map()).into()));
    items.push(("functions", Item::List(m.functions.iter().map(function).collect())));
    if !m.nki_functions.is_empty() {
        items.push(("nki_functions", Item::List(m.nki_functions.iter().map(function).collect())));
    }
    items.push(("queues", Item::List(m.queues.iter().map(queue).collect())));
    items
}

fn function(f: &Function) -> Item<'_> {
    Item::Lazy(Box::new(move || {
        let mut items = entries(&f.extra);
        items.push(("name", Json::from(f.name.as_str()).into()));
        items.push(("attributes", Json::Object(f.attributes.clone().into_map()).into()));
        let allocations = f.allocations.iter().map(|s| Item::Lazy(Box::new(move || storage::items(s))));
        items.push(("allocations", Item::List(allocations.collect())));
        items.push(("blocks", blocks(&f.blocks)));
        if !f.arguments.is_empty() {
            items.push(("arguments", Json::from(f.arguments.clone()).into()));
        }
        items
    }))
}

fn queue(q: &Queue) -> Item<'_> {
    Item::Lazy(Box::new(move || {
        let mut items = entries(&q.extra);
        items.push(("name", Json::from(q.name.as_str()).into()));
        items.push(("type", name(q.ty).into()));
        items.push(("blocks", blocks(&q.blocks)));
        for (key, ids) in [("semaphores", &q.semaphores), ("use_special_sema", &q.use_special_sema)] {
            if !ids.is_empty() {
                items.push((key, Json::from(ids.clone()).into()));
            }
        }
        items
    }))
}

fn blocks(blocks: &[Block]) -> Item<'_> {
    Item::List(blocks.iter().map(block).collect())
}

fn block(b: &Block) -> Item<'_> {
    Item::Lazy(Box::new(move || {
        let mut items = entries(&b.extra);
        items.push(("name", Json::from(b.name.as_str()).into()));
        let instructions = b.instructions.iter().map(|i| Item::Lazy(Box::new(move || instruction::items(i))));
        items.push(("instructions", Item::List(instructions.collect())));
        if !b.arguments.is_empty() {
            let arguments: Vec<Json> = b.arguments.iter().map(operand::block_argument).collect();
            items.push(("arguments", Json::Array(arguments).into()));
        }
        items
    }))
}

/// Unknown keys are written first, so that a known key of the same name replaces them.
fn entries(extra: &Extra) -> Vec<Entry<'_>> {
    extra.iter().map(|(k, v)| (k.as_str(), v.clone().into())).collect()
}

fn name<T: Named>(v: T) -> Json {
    Json::from(v.name())
}

/// A number, or the text of a non-finite one.
fn float(x: f64) -> Json {
    match serde_json::Number::from_f64(x) {
        Some(n) => Json::Number(n),
        None if x.is_nan() => "nan".into(),
        None if x > 0.0 => "inf".into(),
        None => "-inf".into(),
    }
}
