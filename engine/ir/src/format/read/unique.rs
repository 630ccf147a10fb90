//! Objects whose keys occur once (`bir-json.md` 1). serde keeps the last of two values without a word, so every object of a
//! document is read through [`Once`], or through [`JsonSeed`] where its keys are not known.

use super::context::Context;
use super::scalar::Key;
use arrayvec::ArrayVec;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use std::fmt;

/// Keys of an object so far. Few objects have more than this many; of the rest only these are compared.
const KEPT: usize = 40;

/// An object that is being read, with the keys seen so far.
pub(super) struct Once<'c, 'de, A> {
    cx: &'c Context,
    map: A,
    /// One bit for each length and end of a key: a new bit is a new key, so that few keys are compared.
    marks: u64,
    keys: ArrayVec<Key<'de>, KEPT>,
}

impl<'c, 'de, A: MapAccess<'de>> Once<'c, 'de, A> {
    /// Starts an object.
    pub fn new(cx: &'c Context, map: A) -> Self {
        Once { cx, map, marks: 0, keys: ArrayVec::new() }
    }

    /// The next key; one that occurred before is an error.
    pub fn next_key(&mut self) -> Result<Option<Key<'de>>, A::Error> {
        let Some(key) = self.map.next_key::<Key<'de>>()? else { return Ok(None) };
        let bytes = key.as_bytes();
        let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
        let mark = 1 << ((bytes.len() as u64 * 5 + u64::from(first) * 11 + u64::from(last) * 3) % 64);
        if self.marks & mark != 0 && self.keys.iter().any(|k| **k == *key) {
            return Err(self.cx.twice(&key));
        }
        self.marks |= mark;
        // Keys with escapes are rare; comparing them costs a copy.
        let _ = self.keys.try_push(Key(key.0.clone()));
        Ok(Some(key))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Once<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.map.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Any JSON value.
#[derive(Clone, Copy)]
pub(super) struct JsonSeed<'c>(pub &'c Context);

impl<'de> DeserializeSeed<'de> for JsonSeed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Json, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
        Ok(Json::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
        Ok(Json::Number(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
        Ok(Json::Number(v.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Json, E> {
        Number::from_f64(v).map(Json::Number).ok_or_else(|| E::custom("a number is finite"))
    }

    fn visit_str<E>(self, v: &str) -> Result<Json, E> {
        Ok(Json::String(v.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.0.twice(&key));
            }
            object.insert(key, map.next_value_seed(self)?);
        }
        Ok(Json::Object(object))
    }
}
