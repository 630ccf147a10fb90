//! Layout: a value that fits the line stays on it, others open up.

use super::Entry;
use serde_json::Value as Json;

const WIDTH: usize = 120;

/// A value to print. Records of blocks and instructions are built only when their turn comes.
pub(super) enum Item<'m> {
    Json(Json),
    List(Vec<Item<'m>>),
    Lazy(Box<dyn Fn() -> Vec<Entry<'m>> + 'm>),
}

impl From<Json> for Item<'_> {
    fn from(v: Json) -> Self {
        Item::Json(v)
    }
}

#[derive(Default)]
pub(super) struct Printer {
    out: String,
    depth: usize,
}

impl Printer {
    pub fn finish(mut self) -> String {
        self.out.push('\n');
        self.out
    }

    /// Prints a record with sorted keys; of entries with one key the last wins.
    pub fn object(&mut self, mut items: Vec<Entry<'_>>) {
        items.sort_by(|a, b| a.0.cmp(b.0));
        let last: Vec<bool> =
            (0..items.len()).map(|i| items.get(i + 1).is_none_or(|next| next.0 != items[i].0)).collect();
        let mut keep = last.into_iter();
        items.retain(|_| keep.next().unwrap_or(true));
        self.group('{', '}', items, |p, (key, item)| {
            p.string(key);
            p.out.push_str(": ");
            p.item(item);
        });
    }

    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::Json(v) => self.json(&v, 0),
            Item::List(items) => self.group('[', ']', items, Printer::item),
            Item::Lazy(build) => self.object(build()),
        }
    }

    /// Prints a JSON value; `suffix` characters follow it on its line.
    fn json(&mut self, v: &Json, suffix: usize) {
        let start = self.out.len();
        let column = start - self.out.rfind('\n').map_or(0, |n| n + 1);
        self.compact(v);
        if column + (self.out.len() - start) + suffix < WIDTH {
            return;
        }
        match v {
            Json::Array(items) if !items.is_empty() => {
                self.out.truncate(start);
                self.group('[', ']', items.iter().collect(), |p, v| p.json(v, 1));
            }
            Json::Object(o) if !o.is_empty() => {
                self.out.truncate(start);
                self.group('{', '}', o.iter().collect(), |p, (k, v)| {
                    p.string(k);
                    p.out.push_str(": ");
                    p.json(v, 1);
                });
            }
            _ => {}
        }
    }

    fn group<T>(&mut self, open: char, close: char, items: Vec<T>, mut print: impl FnMut(&mut Self, T)) {
        self.out.push(open);
        self.depth += 1;
        let empty = items.is_empty();
        for (n, item) in items.into_iter().enumerate() {
            if n > 0 {
                self.out.push(',');
            }
            self.line();
            print(self, item);
        }
        self.depth -= 1;
        if !empty {
            self.line();
        }
        self.out.push(close);
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.depth));
    }

    fn compact(&mut self, v: &Json) {
        match v {
            Json::Array(items) => {
                self.out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        self.out.push_str(", ");
                    }
                    self.compact(item);
                }
                self.out.push(']');
            }
            Json::Object(o) => {
                self.out.push('{');
                for (n, (k, item)) in o.iter().enumerate() {
                    if n > 0 {
                        self.out.push_str(", ");
                    }
                    self.string(k);
                    self.out.push_str(": ");
                    self.compact(item);
                }
                self.out.push('}');
            }
            Json::String(s) => self.string(s),
            other => self.out.push_str(&other.to_string()),
        }
    }

    fn string(&mut self, s: &str) {
        self.out.push('"');
        for c in s.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                c if (c as u32) < 0x20 => self.out.push_str(&format!("\\u{:04x}", c as u32)),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
