//! The lines that errors of validation are about. The module does not remember where its records were written; they are
//! found again by name.

use super::recover::MOST;
use super::span::{Text, elements, labelled, member, members, text};
use birsim_kernels::Error;
use birsim_kernels::error::Place;
use hashbrown::HashMap;
use serde_json::value::RawValue;

/// What a place names: a function or queue, and one record in it. The name of an instruction may occur once in each block.
#[derive(PartialEq, Eq, Hash)]
enum Record {
    Function(String),
    Block(String, String),
    Instruction(String, String, String),
    Tensor(String, String),
}

/// Adds position and line to each error, where its record is found.
pub(super) fn shown(errors: Vec<Error>, bytes: &[u8]) -> Vec<Error> {
    let Ok(document) = serde_json::from_slice::<&RawValue>(bytes) else { return errors };
    let mut wanted: HashMap<Record, Option<&RawValue>> = HashMap::new();
    wanted.extend(errors.iter().take(MOST).filter_map(|e| record(e.place())).map(|r| (r, None)));
    let document = member(document, "module").unwrap_or(document);
    find(document, &mut wanted);
    let mut lines = Text::new(bytes);
    errors
        .into_iter()
        .map(|e| {
            let at = match record(e.place()) {
                Some(record) => wanted.get(&record).copied().flatten(),
                None => Some(document),
            };
            let Some(at) = at else { return e };
            let value = e.place().operand.as_deref().map_or(at, |label| labelled(at, label));
            // A whole record is named by its name, a document by its start.
            let value = if std::ptr::eq(value, at) { member(at, "name").unwrap_or(at) } else { value };
            let mut range = lines.range(value);
            if std::ptr::eq(value, document) {
                range.end = range.start + 1;
            }
            let excerpt = lines.excerpt(range);
            e.at(|p| p.source = Some(excerpt.position())).excerpt(excerpt)
        })
        .collect()
}

fn record(place: &Place) -> Option<Record> {
    let function = place.function.clone()?;
    Some(match (&place.block, &place.instruction, &place.tensor) {
        (Some(block), Some(instruction), _) => Record::Instruction(function, block.clone(), instruction.clone()),
        (Some(block), None, _) => Record::Block(function, block.clone()),
        (None, _, Some(tensor)) => Record::Tensor(function, tensor.clone()),
        (None, ..) => Record::Function(function),
    })
}

fn find<'t>(document: &'t RawValue, wanted: &mut HashMap<Record, Option<&'t RawValue>>) {
    let mut note = |record: Record, raw: &'t RawValue| {
        if let Some(place) = wanted.get_mut(&record) {
            place.get_or_insert(raw);
        }
    };
    for (key, list) in members(document) {
        let queue = match &*key {
            "functions" | "nki_functions" => "",
            "queues" | "dma_queues" => "queue ",
            _ => continue,
        };
        for function in elements(list) {
            let name = format!("{queue}{}", named(function));
            note(Record::Function(name.clone()), function);
            for (key, list) in members(function) {
                match &*key {
                    "allocations" => {
                        for set in elements(list) {
                            note(Record::Tensor(name.clone(), named(set)), set);
                            for l in member(set, "memorylocations").map(elements).unwrap_or_default() {
                                note(Record::Tensor(name.clone(), named(l)), l);
                            }
                        }
                    }
                    "blocks" => blocks(list, &name, &mut note),
                    _ => {}
                }
            }
        }
    }
}

fn blocks<'t>(list: &'t RawValue, function: &str, note: &mut impl FnMut(Record, &'t RawValue)) {
    for block in elements(list) {
        let name = named(block);
        note(Record::Block(function.into(), name.clone()), block);
        for i in member(block, "instructions").map(elements).unwrap_or_default() {
            note(Record::Instruction(function.into(), name.clone(), named(i)), i);
            if let Some(inner) = member(i, "blocks") {
                blocks(inner, function, note);
            }
        }
    }
}

fn named(raw: &RawValue) -> String {
    member(raw, "name").and_then(text).unwrap_or_default()
}
