//! What the reader knows about where it is, and how its failures become typed errors.

use super::locate;
use birsim_kernels::{Code, Error};
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
}

impl Context {
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

    /// A required key is absent.
    #[cold]
    pub fn missing<E: de::Error>(&self, key: &'static str, record: &str) -> E {
        self.at_key(key);
        self.fail_with(Error::new(Code::J003, format!("{record} has no key `{key}`")))
    }

    /// Completes the error: typed when a visitor recorded one, else translated from serde_json's, and with its place.
    #[cold]
    pub fn into_error(self, error: serde_json::Error, bytes: &[u8]) -> Error {
        let typed = self.error.into_inner();
        let in_record = typed.is_some() || error.classify() == Category::Data;
        let base = typed.unwrap_or_else(|| translate(&error));
        let path = self.path.into_inner();
        let key = self.key.get();
        let base = match error.line() {
            0 => base,
            line => base.at(|p| p.source = Some(format!("line {line} column {}", error.column()))),
        };
        let operand =
            path.iter().rev().find(|(k, _)| matches!(*k, "ins" | "outs" | "indirection_ins" | "on_wait" | "on_update"));
        let base = base.at(|p| {
            p.operand = match operand {
                Some((list, i)) if key.is_empty() || !in_record => Some(format!("{list}[{i}]")),
                Some((list, i)) => Some(format!("{list}[{i}].{key}")),
                None if key.is_empty() || !in_record => None,
                None => Some(key.to_string()),
            }
        });
        locate::complete(base, &path, bytes)
    }
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
