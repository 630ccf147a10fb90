//! Values of keys whose meaning is not known yet, because the opcode may come after them.

use super::context::Context;
use super::unique::JsonSeed;
use crate::table::Field;
use crate::{FieldType, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::fmt;

/// A value as written. The common ones are kept without copying them.
pub(super) enum Raw<'de> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'de, str>),
    Json(Json),
}

impl Raw<'_> {
    /// The value of a field, where it is written as the field's type is mostly written. All other spellings, and all
    /// errors, go by way of [`Raw::into_json`].
    pub fn plain(&self, field: &Field) -> Option<Value> {
        Some(match (field.ty, self) {
            (FieldType::Bool, Raw::Bool(b)) => Value::Bool(*b),
            (FieldType::Int(..) | FieldType::Bits, Raw::Int(v)) => Value::Int(*v),
            (FieldType::Int(..), Raw::Uint(v)) => Value::Int(i64::try_from(*v).ok()?),
            (FieldType::Float, Raw::Float(x)) => Value::Float(*x),
            (FieldType::Float, Raw::Int(v)) => Value::Float(*v as f64),
            (FieldType::Float, Raw::Uint(v)) => Value::Float(*v as f64),
            (FieldType::Enum(def), Raw::Text(name)) => Value::Enum(def.ordinal(name)?),
            (FieldType::Str, Raw::Text(text)) => Value::Str(text.as_ref().to_owned()),
            _ => return None,
        })
    }

    pub fn into_json(self) -> Json {
        match self {
            Raw::Bool(b) => b.into(),
            Raw::Int(v) => v.into(),
            Raw::Uint(v) => v.into(),
            Raw::Float(x) => x.into(),
            Raw::Text(text) => text.into_owned().into(),
            Raw::Json(json) => json,
        }
    }
}

/// Reads any value.
#[derive(Clone, Copy)]
pub(super) struct RawSeed<'c>(pub &'c Context);

impl<'de> DeserializeSeed<'de> for RawSeed<'_> {
    type Value = Raw<'de>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Raw<'de>, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RawSeed<'_> {
    type Value = Raw<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Raw<'de>, E> {
        Ok(Raw::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Raw<'de>, E> {
        Ok(Raw::Int(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Raw<'de>, E> {
        Ok(Raw::Uint(v))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Raw<'de>, E> {
        Ok(Raw::Float(v))
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Borrowed(v)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Owned(v.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Raw<'de>, E> {
        Ok(Raw::Json(Json::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Raw<'de>, A::Error> {
        JsonSeed(self.0).visit_seq(seq).map(Raw::Json)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Raw<'de>, A::Error> {
        JsonSeed(self.0).visit_map(map).map(Raw::Json)
    }
}
