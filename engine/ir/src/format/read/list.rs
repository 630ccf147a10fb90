//! Seeds for lists.

use super::context::Context;
use crate::ThinVec;
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use std::fmt;

/// A list; with a name, the context follows its records.
#[derive(Clone, Copy)]
pub(super) struct List<'c, S> {
    pub cx: &'c Context,
    pub named: Option<&'static str>,
    pub of: S,
}

/// A list of values that are not records of their own.
pub(super) fn list<S>(cx: &Context, of: S) -> List<'_, S> {
    List { cx, named: None, of }
}

/// A list of records.
pub(super) fn records<'c, S>(cx: &'c Context, key: &'static str, of: S) -> List<'c, S> {
    List { cx, named: Some(key), of }
}

impl<'de, S: DeserializeSeed<'de> + Copy> List<'_, S> {
    pub fn each<A: SeqAccess<'de>>(self, mut seq: A, mut push: impl FnMut(S::Value)) -> Result<(), A::Error> {
        if let Some(key) = self.named {
            if self.cx.skips(key) {
                while seq.next_element::<de::IgnoredAny>()?.is_some() {}
                return Ok(());
            }
            self.cx.enter(key);
        }
        while let Some(item) = seq.next_element_seed(self.of)? {
            push(item);
            if self.named.is_some() {
                self.cx.next();
            }
        }
        if self.named.is_some() {
            self.cx.leave();
        }
        Ok(())
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for List<'_, S> {
    type Value = Vec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for List<'_, S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        self.each(seq, |item| {
            // Most lists hold one or two records; a vector grows to four at once.
            if items.len() < 4 {
                items.reserve_exact(1);
            }
            items.push(item);
        })?;
        items.shrink_to_fit();
        Ok(items)
    }
}

/// A list that is mostly empty, or absent.
#[derive(Clone, Copy)]
pub(super) struct Few<'c, S>(List<'c, S>);

/// A list of records that is mostly empty.
pub(super) fn few<'c, S>(cx: &'c Context, key: &'static str, of: S) -> Few<'c, S> {
    Few(records(cx, key, of))
}

/// The same of values that are not records of their own.
pub(super) fn few_values<S>(cx: &Context, of: S) -> Few<'_, S> {
    Few(list(cx, of))
}

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for Few<'_, S> {
    type Value = ThinVec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for Few<'_, S> {
    type Value = ThinVec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let mut items = ThinVec::new();
        self.0.each(seq, |item| {
            if items.len() < 4 {
                items.reserve_exact(1);
            }
            items.push(item);
        })?;
        Ok(items)
    }
}
