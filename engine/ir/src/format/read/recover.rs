//! All errors of a document whose text is JSON but whose values are wrong. Reading stops at the first one; this pass then
//! reads every record by itself, lists of records inside it left out, and so finds an error in each.

use super::context::Context;
use super::instruction::InstructionSeed;
use super::module::{BlockSeed, Document, FunctionSeed, QueueSeed};
use super::span::{Text, elements, labelled, member, members, text, twice};
use super::storage::{Allocation, LocationSeed};
use birsim_kernels::Error;
use birsim_kernels::error::Place;
use serde::de::DeserializeSeed;
use serde_json::Deserializer;
use serde_json::de::StrRead;
use serde_json::value::RawValue;

/// More errors than this are not looked for.
pub(super) const MOST: usize = 256;

/// Every record's error, with names, position and line. Empty when no record has one of its own.
pub(super) fn errors(document: &RawValue, text: Text<'_>) -> Vec<Error> {
    let mut walk = Walk { text, found: Vec::new() };
    walk.document(document);
    walk.found
}

struct Walk<'t> {
    text: Text<'t>,
    found: Vec<Error>,
}

impl<'t> Walk<'t> {
    fn document(&mut self, raw: &'t RawValue) {
        if let Some(inner) = member(raw, "module") {
            return self.document(inner);
        }
        self.record(raw, &Place::default(), |cx, d| Document(cx).deserialize(d).map(drop));
        for (key, list) in members(raw) {
            match &*key {
                "functions" | "nki_functions" => self.each(list, |w, n, f| w.function(n, f)),
                "queues" | "dma_queues" => self.each(list, |w, n, q| w.queue(n, q)),
                _ => {}
            }
        }
    }

    fn each(&mut self, list: &'t RawValue, mut read: impl FnMut(&mut Self, usize, &'t RawValue)) {
        for (n, element) in elements(list).into_iter().enumerate() {
            if self.found.len() >= MOST {
                return;
            }
            read(self, n, element);
        }
    }

    fn function(&mut self, n: usize, raw: &'t RawValue) {
        let place = Place { function: Some(name(raw, n)), ..Place::default() };
        self.record(raw, &place, |cx, d| FunctionSeed(cx).deserialize(d).map(drop));
        for (key, list) in members(raw) {
            match &*key {
                "allocations" => self.each(list, |w, n, s| {
                    let place = Place { tensor: Some(name(s, n)), ..place.clone() };
                    w.record(s, &place, |cx, d| Allocation(cx).deserialize(d).map(drop));
                    let Some(list) = member(s, "memorylocations") else { return };
                    w.each(list, |w, n, l| {
                        let place = Place { tensor: Some(name(l, n)), ..place.clone() };
                        w.record(l, &place, |cx, d| LocationSeed(cx).deserialize(d).map(drop));
                    });
                }),
                "blocks" => self.each(list, |w, n, b| w.block(n, b, &place)),
                _ => {}
            }
        }
    }

    fn queue(&mut self, n: usize, raw: &'t RawValue) {
        let place = Place { function: Some(format!("queue {}", name(raw, n))), ..Place::default() };
        self.record(raw, &place, |cx, d| QueueSeed(cx).deserialize(d).map(drop));
        if let Some(list) = member(raw, "blocks") {
            self.each(list, |w, n, b| w.block(n, b, &place));
        }
    }

    fn block(&mut self, n: usize, raw: &'t RawValue, outer: &Place) {
        let place = Place { block: Some(name(raw, n)), ..outer.clone() };
        self.record(raw, &place, |cx, d| BlockSeed(cx).deserialize(d).map(drop));
        if let Some(list) = member(raw, "instructions") {
            self.each(list, |w, n, i| w.instruction(n, i, &place));
        }
    }

    fn instruction(&mut self, n: usize, raw: &'t RawValue, outer: &Place) {
        let opcode = member(raw, "opcode").and_then(text);
        let place = Place { instruction: Some(name(raw, n)), opcode, ..outer.clone() };
        self.record(raw, &place, |cx, d| InstructionSeed(cx).deserialize(d).map(drop));
        if let Some(list) = member(raw, "blocks") {
            self.each(list, |w, n, b| w.block(n, b, outer));
        }
    }

    /// Reads one record alone.
    fn record(
        &mut self,
        raw: &'t RawValue,
        place: &Place,
        read: impl FnOnce(&Context, &mut Deserializer<StrRead<'t>>) -> serde_json::Result<()>,
    ) {
        if self.found.len() >= MOST {
            return;
        }
        let cx = Context::of_one_record();
        let Err(e) = read(&cx, &mut Deserializer::from_str(raw.get())) else { return };
        let (mut error, operand, repeated) = cx.into_parts(&e);
        let mut at = operand.as_deref().map_or(raw, |label| labelled(raw, label));
        if let Some((first, second)) = repeated.and_then(|key| twice(raw, &key)) {
            error = error.received(format!("{} and {}", short(first), short(second)));
            at = second;
        }
        let mut range = self.text.range(at);
        if std::ptr::eq(at, raw) {
            // A key that is missing has no place but the start of its record.
            range.end = range.start + 1;
        }
        let excerpt = self.text.excerpt(range);
        self.found.push(
            error
                .at(|p| {
                    *p = place.clone();
                    p.operand = operand;
                    p.source = Some(excerpt.position());
                })
                .excerpt(excerpt),
        );
    }
}

/// A value as a message shows it.
fn short(raw: &RawValue) -> String {
    let text = raw.get();
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_string(),
    }
}

fn name(raw: &RawValue, n: usize) -> String {
    member(raw, "name").and_then(text).unwrap_or_else(|| format!("#{n}"))
}
