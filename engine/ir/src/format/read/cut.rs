//! Long lists of instructions are cut out of a document, so that several threads read them.
//!
//! A fast scan finds the ends of the records of every long list. The records are read in pieces, by several threads. What is
//! left of the document, in which a number stands for each list, is read as always, and its blocks take their lists by these
//! numbers. Whatever does not go well ends this way of reading: the document is then read from the start, by one thread, which
//! finds the errors and their places. So a document is accepted here only if every part of it is.

use super::context::Context;
use super::instruction::InstructionSeed;
use super::list::{List, records};
use crate::{Instruction, Module};
use memchr::{memchr_iter, memchr2, memchr3, memmem};
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::sync::Mutex;

/// Shorter lists are not worth it.
const LONG: usize = 1 << 16;
/// Records that a thread takes at a time.
const PIECE: usize = 512;
/// Brackets and braces in each other. serde_json refuses a document with 128, and does not see here how deep a list lies in it.
const DEEP: usize = 100;

/// A document without its long lists, and the records of these.
struct Cut<'t> {
    rest: String,
    lists: Vec<Vec<&'t str>>,
}

/// Reads a document that has long lists by several threads; `None` when it has none, or an error.
pub(super) fn document(text: &str, threads: usize) -> Option<Module> {
    if threads < 2 {
        return None;
    }
    let Cut { rest, lists } = cut(text).filter(|c| !c.lists.is_empty())?;
    let lists = lists.into_iter().map(|texts| read(&texts, threads)).collect::<Option<Vec<_>>>()?;
    let cx = Context::with_lists(lists);
    let module = super::document(&cx, serde_json::Deserializer::from_str(&rest)).ok()?;
    cx.has_no_lists().then_some(module)
}

/// Cuts a document; `None` when it is no good document.
fn cut(text: &str) -> Option<Cut<'_>> {
    let key = memmem::Finder::new("\"instructions\"");
    let (mut rest, mut lists, mut copied, mut from) = (String::new(), Vec::new(), 0, 0);
    while let Some(found) = key.find(&text.as_bytes()[from..]) {
        from += found + key.needle().len();
        let Some(start) = list_after(text.as_bytes(), from) else { continue };
        let (texts, end) = list(text, start)?;
        if end - start >= LONG {
            // Blanks keep the number apart from what is beside it.
            rest.push_str(&text[copied..from]);
            rest.push_str(&format!(": {} ", lists.len()));
            lists.push(texts);
            copied = end;
        }
        from = end;
    }
    rest.push_str(&text[copied..]);
    Some(Cut { rest, lists })
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    bytes.get(at..).unwrap_or_default().iter().position(|b| !is_blank(b)).map_or(bytes.len(), |n| at + n)
}

/// The offset behind the bracket, when a colon and the start of a list come next.
fn list_after(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = blanks(bytes, at);
    let bracket = blanks(bytes, colon + 1);
    (bytes.get(colon) == Some(&b':') && bytes.get(bracket) == Some(&b'[')).then_some(bracket + 1)
}

/// The records of a list, and the offset behind its end.
fn list(text: &str, start: usize) -> Option<(Vec<&str>, usize)> {
    let (bytes, mut texts, mut at) = (text.as_bytes(), Vec::new(), start);
    loop {
        let first = blanks(bytes, at);
        match bytes.get(first)? {
            b'{' => at = record_end(bytes, first)?,
            b']' if texts.is_empty() => return Some((texts, first + 1)),
            _ => return None,
        }
        texts.push(text.get(first..at)?);
        let next = blanks(bytes, at);
        match bytes.get(next)? {
            b',' => at = next + 1,
            b']' => return Some((texts, next + 1)),
            _ => return None,
        }
    }
}

/// The offset behind an object.
fn record_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut open) = (start + 1, 1);
    while open > 0 {
        at += memchr3(b'"', b'{', b'}', bytes.get(at..)?)? + 1;
        match bytes[at - 1] {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => at = text_end(bytes, at)?,
        }
    }
    Some(at)
}

/// The offset behind the quote that ends a text.
fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)? + 1;
        match bytes[at - 1] {
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
}

/// Reads records; `None` when one of them has an error.
fn read(texts: &[&str], threads: usize) -> Option<Vec<Instruction>> {
    let mut places: Vec<Option<Instruction>> = Vec::new();
    places.resize_with(texts.len(), || None);
    {
        let pieces = Mutex::new(places.chunks_mut(PIECE).zip(texts.chunks(PIECE)));
        let take = || pieces.lock().ok()?.next();
        let work = || {
            let cx = Context::default();
            while let Some((places, texts)) = take() {
                for (place, text) in places.iter_mut().zip(texts) {
                    *place = record(&cx, text);
                    if place.is_none() {
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            // Where the host has no more threads, those that there are do the work.
            for _ in 1..threads.min(texts.len().div_ceil(PIECE)) {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
    places.into_iter().collect()
}

fn record(cx: &Context, text: &str) -> Option<Instruction> {
    if is_deep(text.as_bytes()) {
        return None;
    }
    let mut of = serde_json::Deserializer::from_str(text);
    let read = InstructionSeed(cx).deserialize(&mut of).ok()?;
    of.end().ok().map(|()| read)
}

/// More than [`DEEP`] brackets and braces are open at once.
fn is_deep(bytes: &[u8]) -> bool {
    if memchr_iter(b'[', bytes).count() + memchr_iter(b'{', bytes).count() <= DEEP {
        return false;
    }
    let (mut open, mut most, mut at) = (0usize, 0, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            // What texts hold opens and closes nothing.
            b'"' => at = text_end(bytes, at).unwrap_or(bytes.len()),
            _ => {}
        }
        most = most.max(open);
    }
    most > DEEP
}

/// The instructions of a block: a list, or the number of one that was cut out.
#[derive(Clone, Copy)]
pub(super) struct Instructions<'c>(pub &'c Context);

impl<'c> Instructions<'c> {
    fn list(self) -> List<'c, InstructionSeed<'c>> {
        records(self.0, "instructions", InstructionSeed(self.0))
    }
}

impl<'de> DeserializeSeed<'de> for Instructions<'_> {
    type Value = Vec<Instruction>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Instructions<'_> {
    type Value = Vec<Instruction>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list().expecting(f)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        self.0.take_list(number).ok_or_else(|| E::invalid_type(Unexpected::Unsigned(number), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        self.list().visit_seq(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Context, document as whole};
    use super::*;

    /// A document with `n` instructions, written with `blank` between tokens.
    fn text(n: usize, blank: &str) -> String {
        let operand = |offset: usize| {
            format!(
                r#"{{"kind":"physical_ap","dtype":"float32","memref":"x \"[{{","offset":{offset},"ap":[[1,1],[1,1]]}}"#
            )
        };
        let one = |k: usize| {
            let (a, b) = (operand(k), operand(k + 1));
            let text = format!(
                r#"{{"name":"I-{k}","opcode":"DMACopy","engine":"DMA","note":"}}]\\","ins":[{a}],"outs":[{b}],"mode":"Copy"}}"#
            );
            text.replace("\":", &format!("\"{blank}:{blank}"))
        };
        let list: Vec<String> = (0..n).map(one).collect();
        let list = list.join(&format!("{blank},{blank}"));
        format!(
            r#"{{"version":2,"functions":[{{"name":"f","blocks":[{{"name":"a","instructions"{blank}:{blank}[{list}{blank}]}},
            {{"instructions":[],"name":"b"}},{{"name":"c","instructions":[{list}],"e":"\"instructions\": ["}}]}}]}}"#
        )
    }

    fn one_thread(text: &str) -> Option<Module> {
        whole(&Context::default(), serde_json::Deserializer::from_str(text)).ok()
    }

    #[test]
    fn several_threads_read_what_one_reads() {
        for blank in ["", " ", "\n\t\r "] {
            let text = text(1000, blank);
            let cut = cut(&text).unwrap();
            assert_eq!(cut.lists.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000]);
            assert!(cut.rest.len() < 400, "{}", cut.rest);
            let read = document(&text, 3).unwrap();
            assert_eq!(Some(&read), one_thread(&text).as_ref());
            assert_eq!(read.functions[0].blocks[2].instructions[999].name, "I-999");
        }
    }

    #[test]
    fn short_lists_stay() {
        assert!(document(&text(3, " "), 2).is_none());
        assert!(document("{}", 2).is_none());
        assert!(document("", 2).is_none());
    }

    #[test]
    fn a_document_with_an_error_is_left_to_one_thread() {
        let good = text(1000, "");
        let without = |from: &str, to: &str| {
            let at = good.len() / 4 + good[good.len() / 4..].find(from).unwrap();
            let bad = format!("{}{to}{}", &good[..at], &good[at + from.len()..]);
            assert!(document(&bad, 2).is_none(), "{from} to {to}");
            assert!(one_thread(&bad).is_none(), "{from} to {to}");
        };
        for (from, to) in [
            ("},{\"name", "}{\"name"),
            ("},{\"name", "},,{\"name"),
            ("},{\"name", "},1,{\"name"),
            ("\"DMACopy\"", "\"DMACoqy\""),
            ("\"ins\":[", "\"ins\":{"),
            ("\"ap\":[", "\"ap\":[["),
            ("\"mode\"", "\"mode"),
            ("\"mode\":\"Copy\"", "\"name\":\"I-0\""),
        ] {
            without(from, to);
        }
        for cut in [good.len() / 2, good.len() - 1, good.len() - 3] {
            assert!(document(&good[..cut], 2).is_none());
        }
        assert!(document(&format!("{good}]"), 2).is_none());
    }

    #[test]
    fn a_list_that_no_block_takes_is_left_to_one_thread() {
        let text = text(1000, "").replace("\"name\":\"c\",\"instructions\"", "\"name\":\"c\",\"k\\\"instructions\"");
        assert!(document(&text, 2).is_none());
        let read = one_thread(&text).unwrap();
        assert!(read.functions[0].blocks[2].instructions.is_empty());
        // A number where a list belongs is an error as before.
        let e = super::super::parse(
            br#"{"version":2,"functions":[{"name":"f","blocks":[{"name":"a","instructions":0}]}]}"#,
        );
        assert!(e.unwrap_err().to_string().contains("expected a list"));
    }

    #[test]
    fn records_that_nest_too_deep_are_left_to_one_thread() {
        for depth in [90, 110, 119, 122, 200] {
            let deep = format!("\"note\":{}{}", "[".repeat(depth), "]".repeat(depth));
            let text = text(1000, "").replacen(
                "\"mode\":\"Copy\"",
                &format!("\"mode\":\"Copy\",{}", deep.replace("note", "n")),
                1,
            );
            let (several, one) = (document(&text, 2), one_thread(&text));
            assert_eq!(several.is_some(), depth == 90);
            assert_eq!(one.is_some(), depth < 121, "{depth}");
        }
        // Brackets in texts neither open nor close a list.
        let text_of =
            |closed: &str| format!("\"n\":{}\"{closed}\"{}", "[".repeat(60), ",[0".repeat(61)) + &"]".repeat(121);
        for closed in ["", "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"] {
            let with = format!("\"mode\":\"Copy\",{}", text_of(closed));
            let text = text(1000, "").replacen("\"mode\":\"Copy\"", &with, 1);
            assert!(document(&text, 2).is_none());
            assert!(one_thread(&text).is_none());
        }
    }
}
