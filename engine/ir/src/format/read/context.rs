//! What the reader knows about where it is, and how its failures become typed errors.

use super::locate;
use super::span::Text;
use crate::{ApPair, Instruction, Name, Pairs, accepts};
use birsim_kernels::{Code, Error};
use hashbrown::HashSet;
use serde::de;
use serde_json::error::Category;
use std::cell::{Cell, RefCell};
use std::fmt;

/// One step from the document to the record being read: a key that holds a list, and the index in it.
pub(super) type Step = (&'static str, usize);

/// Shared by all visitors of one document. Visitors that fail leave it as it was at that moment.
#[derive(Default)]
pub(super) struct Context {
    path: RefCell<Vec<Step>>,
    key: Cell<&'static str>,
    error: RefCell<Option<Error>>,
    /// The key that an object has twice.
    twice: RefCell<Option<String>>,
    /// Names and patterns so far: most occur many times.
    names: RefCell<HashSet<Name>>,
    patterns: RefCell<HashSet<Pairs>>,
    /// Lists of instructions that were read before the rest of the document.
    lists: RefCell<Vec<Option<Vec<Instruction>>>>,
    /// One record is read by itself: lists of records inside it are skipped.
    alone: bool,
}

/// Lists of records that have errors of their own.
const RECORDS: [&str; 7] =
    ["functions", "nki_functions", "queues", "allocations", "memorylocations", "blocks", "instructions"];

impl Context {
    /// For one record out of a document.
    pub fn of_one_record() -> Self {
        Context { alone: true, ..Context::default() }
    }

    /// For a document out of which these lists were cut.
    pub fn with_lists(lists: Vec<Vec<Instruction>>) -> Self {
        Context { lists: RefCell::new(lists.into_iter().map(Some).collect()), ..Context::default() }
    }

    /// Takes a list that was cut out.
    pub fn take_list(&self, number: u64) -> Option<Vec<Instruction>> {
        self.lists.borrow_mut().get_mut(usize::try_from(number).ok()?)?.take()
    }

    /// All lists that were cut out were taken.
    pub fn has_no_lists(&self) -> bool {
        self.lists.borrow().iter().all(Option::is_none)
    }

    /// The records of this list are read one by one elsewhere.
    pub fn skips(&self, key: &str) -> bool {
        self.alone && RECORDS.contains(&key)
    }

    /// A name, shared with the earlier ones of this text.
    pub fn shared(&self, text: &str) -> Name {
        self.names.borrow_mut().get_or_insert_with(text, |t| t.into()).clone()
    }

    /// A pattern, shared with the earlier ones that have these pairs.
    pub fn pattern(&self, pairs: &[ApPair]) -> Pairs {
        self.patterns.borrow_mut().get_or_insert_with(pairs, |p| p.into()).clone()
    }

    /// Enters a list of records.
    pub fn enter(&self, key: &'static str) {
        self.path.borrow_mut().push((key, 0));
    }

    /// Moves to the next record of the list entered last.
    pub fn next(&self) {
        if let Some((_, index)) = self.path.borrow_mut().last_mut() {
            *index += 1;
        }
    }

    /// Leaves the list entered last.
    pub fn leave(&self) {
        self.path.borrow_mut().pop();
    }

    /// Notes which key's value is read now.
    pub fn at_key(&self, key: &'static str) {
        self.key.set(key);
    }

    /// The key whose value is read now.
    pub fn key(&self) -> &'static str {
        self.key.get()
    }

    /// Records a typed error at the current key; the returned error only unwinds serde.
    #[cold]
    pub fn fail<E: de::Error>(&self, code: Code, what: impl Into<String>, received: impl fmt::Display) -> E {
        self.fail_with(Error::new(code, what).received(received))
    }

    /// The same for an error that is complete but for its place.
    #[cold]
    pub fn fail_with<E: de::Error>(&self, error: Error) -> E {
        *self.error.borrow_mut() = Some(error);
        E::custom("")
    }

    /// An object has a key a second time.
    #[cold]
    pub fn twice<E: de::Error>(&self, key: &str) -> E {
        *self.twice.borrow_mut() = Some(key.to_string());
        self.fail_with(Error::new(Code::J015, format!("the key `{key}` is written twice")))
    }

    /// A required key is absent.
    #[cold]
    pub fn missing<E: de::Error>(&self, key: &'static str, record: &str) -> E {
        self.at_key(key);
        let advice = accepts::add(key, &accepts::of_key(key));
        self.fail_with(Error::new(Code::J003, format!("{record} has no key `{key}`")).advice(advice))
    }

    /// The error that ended reading: typed when a visitor recorded one, else translated from serde_json's; the operand
    /// or key that it is about; and the key that is written twice, when that is what is wrong.
    #[cold]
    pub fn into_parts(self, error: &serde_json::Error) -> (Error, Option<String>, Option<String>) {
        let typed = self.error.into_inner();
        let in_record = typed.is_some() || error.classify() == Category::Data;
        let twice = self.twice.into_inner();
        let key = if in_record { self.key.get() } else { "" };
        let path = self.path.into_inner();
        let list =
            path.iter().rev().find(|(k, _)| matches!(*k, "ins" | "outs" | "indirection_ins" | "on_wait" | "on_update"));
        let label = match list {
            Some((list, i)) if key.is_empty() => Some(format!("{list}[{i}]")),
            Some((list, i)) => Some(format!("{list}[{i}].{key}")),
            None => Some(key.to_string()).filter(|k| !k.is_empty()),
        };
        (typed.unwrap_or_else(|| translate(error)), label, twice)
    }

    /// The error of a document that cannot be read to its end, at the place that serde_json gives.
    #[cold]
    pub fn into_error(self, error: &serde_json::Error, bytes: &[u8]) -> Error {
        let path = self.path.borrow().clone();
        let (base, label, _) = self.into_parts(error);
        let base = base.at(|p| p.operand = label);
        let base = if error.line() == 0 {
            base
        } else {
            let mut text = Text::new(bytes);
            let at = text.offset(error.line(), error.column());
            let excerpt = text.excerpt(at..at + 1);
            let base = match bare_float(bytes, at) {
                Some(word) => base
                    .received(word)
                    .advice("JSON has no words for NaN and infinity: write \"nan\", \"inf\" or \"-inf\", in quotes"),
                None => base,
            };
            base.at(|p| p.source = Some(excerpt.position())).excerpt(excerpt)
        };
        locate::complete(base, &path, bytes)
    }
}

/// A float that a text at this place writes as Python's json module does.
fn bare_float(bytes: &[u8], at: usize) -> Option<&'static str> {
    let near = &bytes[at.saturating_sub(2)..bytes.len().min(at + 12)];
    let written = |word: &&str| near.windows(word.len()).take(4).any(|w| w == word.as_bytes());
    ["-Infinity", "Infinity", "NaN"].into_iter().find(written)
}

fn translate(error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(m, _)| m);
    match error.classify() {
        Category::Data => match message.split_once(", expected ") {
            Some((found, expected)) => Error::new(Code::J002, format!("expected {expected}"))
                .received(found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ")),
            None => Error::new(Code::J002, message),
        },
        Category::Eof => Error::new(Code::J001, "the text ends before the document does"),
        _ if message == "recursion limit exceeded" => Error::new(Code::J014, "the document nests too deep"),
        _ => Error::new(Code::J001, message),
    }
}
