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

/// A document whose lines are counted as far as they are asked for.
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    last: Spot,
}

/// A place in the text.
#[derive(Clone, Copy)]
struct Spot {
    offset: usize,
    /// Number of its line, from 1.
    line: usize,
    /// Where its line starts.
    start: usize,
    /// Characters before it on its line.
    before: usize,
}

impl Spot {
    const START: Spot = Spot { offset: 0, line: 1, start: 0, before: 0 };
}

/// Most bytes of so many characters.
const fn most_bytes(characters: usize) -> usize {
    4 * characters
}

/// Number of characters: of bytes that begin one.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|b| **b & 0xC0 != 0x80).count()
}

impl<'t> Text<'t> {
    pub fn new(bytes: &'t [u8]) -> Self {
        Text { bytes, last: Spot::START }
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

    /// Finds a place, counting on from the last one: errors come mostly in the order of the text, and a document of many
    /// megabytes may be one line.
    fn spot(&mut self, offset: usize) -> Spot {
        let from = if offset >= self.last.offset { self.last } else { Spot::START };
        let between = &self.bytes[from.offset..offset];
        let line = from.line + memchr::memchr_iter(b'\n', between).count();
        self.last = match memchr::memrchr(b'\n', between) {
            Some(end) => Spot { offset, line, start: from.offset + end + 1, before: characters(&between[end + 1..]) },
            None => Spot { offset, before: from.before + characters(between), ..from },
        };
        self.last
    }

    /// The line that a range starts in, with the part of the range that is on it. Of a long line only what is shown is
    /// looked at.
    pub fn excerpt(&mut self, range: Range<usize>) -> Excerpt {
        let bytes = self.bytes;
        let spot = self.spot(range.start.min(bytes.len()));
        let first = spot.start.max(spot.offset.saturating_sub(most_bytes(SHOWN.0 + 1)));
        let behind = &bytes[spot.offset..bytes.len().min(spot.offset + most_bytes(SHOWN.1 + 1))];
        let behind = &behind[..memchr::memchr(b'\n', behind).unwrap_or(behind.len())];
        let (marked, after) = behind.split_at(range.len().min(behind.len()));
        let shown = |part: &[u8]| String::from_utf8_lossy(part).replace(['\t', '\r'], " ");
        let before: Vec<char> = shown(&bytes[first..spot.offset]).chars().collect();
        let marked = shown(marked);
        let width = marked.chars().count().clamp(1, SHOWN.1);
        let mut text = String::from(if spot.before > SHOWN.0 { "..." } else { "" });
        text.extend(&before[before.len().saturating_sub(SHOWN.0)..]);
        let caret = text.chars().count();
        let rest: Vec<char> = marked.chars().chain(shown(after).chars()).collect();
        text.extend(rest.iter().take(SHOWN.1));
        if rest.len() > SHOWN.1 {
            text.push_str("...");
        }
        Excerpt { line: spot.line, column: spot.before + 1, text, caret, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_on_one_long_line_count_on_from_each_other() {
        let text = format!("{}\n{}", "x".repeat(9), "é, \"ü\"\t".repeat(500));
        let mut lines = Text::new(text.as_bytes());
        for k in [0, 7, 250, 499, 3] {
            let at = text.match_indices("\"ü\"").nth(k).unwrap().0;
            let excerpt = lines.excerpt(at..at + 4);
            assert_eq!((excerpt.line, excerpt.column, excerpt.width), (2, 7 * k + 4, 3), "{k}");
            let marked: String = excerpt.text.chars().skip(excerpt.caret).take(3).collect();
            assert_eq!(marked, "\"ü\"");
            assert_eq!(excerpt.text.starts_with("..."), 7 * k + 3 > SHOWN.0);
            assert!(!excerpt.text.contains(['\u{fffd}', '\t']), "{}", excerpt.text);
        }
        let first = lines.excerpt(2..400);
        assert_eq!((first.line, first.column, first.text.as_str(), first.width), (1, 3, "xxxxxxxxx", 7));
    }
}
