//! Values found again in the text, for messages: nothing here runs while a document reads well.

use birsim_kernels::error::Excerpt;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

use super::scalar::Key;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Characters of a line that a message shows, before and from the caret on.
const SHOWN: (usize, usize) = (60, 100);

/// Members of an object in the order of the text; none of anything else.
pub(super) fn members(raw: &RawValue) -> Vec<(Cow<'_, str>, &RawValue)> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                out.push((key.0, value));
            }
            Ok(out)
        }
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(Members).unwrap_or_default()
}

/// Elements of a list in the order of the text; none of anything else.
pub(super) fn elements(raw: &RawValue) -> Vec<&RawValue> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(value) = seq.next_element()? {
                out.push(value);
            }
            Ok(out)
        }
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_seq(Elements).unwrap_or_default()
}

/// The value of a key.
pub(super) fn member<'t>(raw: &'t RawValue, key: &str) -> Option<&'t RawValue> {
    members(raw).into_iter().find(|(k, _)| k == key).map(|(_, v)| v)
}

/// A text value.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The value that a label such as `ins[0].ap`, `on_wait[1].id` or `engine_id` names, or the last record on the way to it
/// that exists. Labels of keys in `sync_info` leave that name out.
pub(super) fn labelled<'t>(record: &'t RawValue, label: &str) -> &'t RawValue {
    let mut at = record;
    for part in label.split('.') {
        let (key, index) = match part.split_once('[') {
            Some((key, rest)) => (key, rest.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let found = member(at, key).or_else(|| member(member(at, "sync_info")?, key));
        let Some(found) = found else { return at };
        at = match index {
            Some(n) => elements(found).get(n).copied().unwrap_or(found),
            None => found,
        };
    }
    at
}

/// The first object at or below a value that has a key twice, as its two values.
pub(super) fn twice<'t>(raw: &'t RawValue, key: &str) -> Option<(&'t RawValue, &'t RawValue)> {
    let members = members(raw);
    let mut same = members.iter().filter(|(k, _)| k == key);
    if let (Some((_, a)), Some((_, b))) = (same.next(), same.next()) {
        return Some((a, b));
    }
    let inner = members.into_iter().map(|(_, v)| v).chain(elements(raw));
    inner.into_iter().find_map(|v| twice(v, key))
}

/// A document, and where its lines start.
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    /// A place in the text and the number of its line: errors come mostly in the order of the text.
    last: (usize, usize),
}

impl<'t> Text<'t> {
    pub fn new(bytes: &'t [u8]) -> Self {
        Text { bytes, last: (0, 1) }
    }

    /// Where a value of this document is.
    pub fn range(&self, raw: &RawValue) -> Range<usize> {
        let start = raw.get().as_ptr().addr().saturating_sub(self.bytes.as_ptr().addr()).min(self.bytes.len());
        start..(start + raw.get().len()).min(self.bytes.len())
    }

    /// Offset of a line and column as serde_json counts them, from 1 and in bytes.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let before = match line {
            0 | 1 => 0,
            _ => memchr::memchr_iter(b'\n', self.bytes).nth(line - 2).map_or(self.bytes.len(), |n| n + 1),
        };
        (before + column.saturating_sub(1)).min(self.bytes.len())
    }

    /// The line that a range starts in, with the part of the range that is on it.
    pub fn excerpt(&mut self, range: Range<usize>) -> Excerpt {
        let start = range.start.min(self.bytes.len());
        let (from, number) = if start >= self.last.0 { self.last } else { (0, 1) };
        let number = number + memchr::memchr_iter(b'\n', &self.bytes[from..start]).count();
        self.last = (start, number);
        let line = memchr::memrchr(b'\n', &self.bytes[..start]).map_or(0, |n| n + 1);
        let end = memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |n| start + n);
        let shown = |part: &[u8]| String::from_utf8_lossy(part).replace(['\t', '\r'], " ");
        let before = shown(&self.bytes[line..start]);
        let marked = shown(&self.bytes[start..range.end.clamp(start, end)]);
        let after = shown(&self.bytes[start + (range.end.clamp(start, end) - start)..end]);
        let column = before.chars().count() + 1;
        let width = marked.chars().count().clamp(1, SHOWN.1);
        let cut = before.chars().count().saturating_sub(SHOWN.0);
        let mut text: String = before.chars().skip(cut).collect();
        if cut > 0 {
            text.insert_str(0, "...");
        }
        let caret = text.chars().count();
        let rest: Vec<char> = marked.chars().chain(after.chars()).collect();
        text.extend(rest.iter().take(SHOWN.1));
        if rest.len() > SHOWN.1 {
            text.push_str("...");
        }
        Excerpt { line: number, column, text, caret, width }
    }
}
