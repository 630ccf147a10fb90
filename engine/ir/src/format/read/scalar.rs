//! Seeds for scalars and enumerations, and the helpers that record visitors are written with.

use super::context::Context;
use super::list::list;
use super::unique::{JsonSeed, Once};
use crate::{ApPair, Extra, ImmValue, Pairs};
use birsim_kernels::{Code, EnumDef, Named};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A key: borrowed from the text unless it holds escapes.
pub(super) struct Key<'de>(pub Cow<'de, str>);

impl Deref for Key<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(v)))
            }

            fn visit_str<E>(self, v: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(v.to_string())))
            }
        }
        d.deserialize_str(V)
    }
}

/// Reads the value of a key; `null` counts as absent.
pub(super) fn value<'de, A, S>(
    cx: &Context,
    map: &mut A,
    key: &'static str,
    seed: S,
) -> Result<Option<S::Value>, A::Error>
where
    A: MapAccess<'de>,
    S: DeserializeSeed<'de>,
{
    cx.at_key(key);
    map.next_value_seed(Nullable(seed))
}

/// Keeps the value of an unknown key.
pub(super) fn keep<'de, A: MapAccess<'de>>(
    cx: &Context,
    map: &mut A,
    extra: &mut Extra,
    key: Key<'de>,
) -> Result<(), A::Error> {
    extra.insert(key.0.into_owned(), map.next_value_seed(JsonSeed(cx))?);
    Ok(())
}

/// Declares a seed that reads one JSON object.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident -> $out:ty, $expecting:literal, |$cx:ident, $map:ident| $body:block) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<'c>(pub &'c Context);

        impl<'de> serde::de::DeserializeSeed<'de> for $name<'_> {
            type Value = $out;

            fn deserialize<D: serde::de::Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
                d.deserialize_map(self)
            }
        }

        impl<'de> serde::de::Visitor<'de> for $name<'_> {
            type Value = $out;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($expecting)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let $cx = self.0;
                let mut $map = super::unique::Once::new($cx, map);
                $body
            }
        }
    };
}
pub(super) use record;

struct Nullable<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(d).map(Some)
    }
}

/// Declares a seed for one scalar type out of the visitor methods it accepts.
macro_rules! scalar {
    ($(#[$meta:meta])* $name:ident -> $out:ty, $expecting:literal, $($method:ident($arg:ident: $ty:ty) $body:expr;)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl<'de> DeserializeSeed<'de> for $name {
            type Value = $out;

            fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<$out, D::Error> {
                d.deserialize_any(self)
            }
        }

        impl<'de> Visitor<'de> for $name {
            type Value = $out;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expecting)
            }

            $(fn $method<E: de::Error>(self, $arg: $ty) -> Result<$out, E> { $body })+
        }
    };
}

scalar! {
    /// Text.
    Text -> String, "a text",
    visit_str(v: &str) Ok(v.to_string());
}

scalar! {
    /// Flag; 0 and 1 are accepted.
    Flag -> bool, "true or false",
    visit_bool(v: bool) Ok(v);
    visit_u64(v: u64) match v {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(E::invalid_type(Unexpected::Unsigned(v), &"true or false")),
    };
}

scalar! {
    /// Integer.
    Int -> i64, "an integer",
    visit_i64(v: i64) Ok(v);
    visit_u64(v: u64) i64::try_from(v).map_err(|_| E::invalid_value(Unexpected::Unsigned(v), &"an integer below 2^63"));
}

scalar! {
    /// Unsigned integer.
    Uint -> u64, "an unsigned integer",
    visit_u64(v: u64) Ok(v);
}

scalar! {
    /// Unsigned integer of 32 bits.
    U32 -> u32, "an unsigned 32-bit integer",
    visit_u64(v: u64) {
        u32::try_from(v).map_err(|_| E::invalid_value(Unexpected::Unsigned(v), &"an unsigned 32-bit integer"))
    };
}

scalar! {
    /// Value of an immediate, as written.
    Imm -> ImmValue, "a number",
    visit_i64(v: i64) Ok(ImmValue::Int(v.into()));
    visit_u64(v: u64) Ok(ImmValue::Int(v.into()));
    visit_bool(v: bool) Ok(ImmValue::Int(v.into()));
    visit_f64(v: f64) Ok(ImmValue::Float(v));
    visit_str(v: &str) match non_finite(v) {
        Some(x) => Ok(ImmValue::Float(x)),
        None => Err(E::invalid_type(Unexpected::Str(v), &"a number")),
    };
}

/// The floats that JSON cannot write.
pub(super) fn non_finite(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Value of an enumeration, by name or ordinal.
pub(super) struct Name<'c, T> {
    cx: &'c Context,
    of: PhantomData<T>,
}

impl<T> Clone for Name<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Name<'_, T> {}

impl<'c, T: Named> Name<'c, T> {
    pub fn new(cx: &'c Context) -> Self {
        Name { cx, of: PhantomData }
    }
}

impl<'de, T: Named> DeserializeSeed<'de> for Name<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de, T: Named> Visitor<'de> for Name<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a name of {}", T::DEF.name)
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<T, E> {
        T::from_name(v).ok_or_else(|| self.cx.fail_with(unknown(T::DEF, v)))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<T, E> {
        let known = u8::try_from(v).ok().and_then(T::from_ordinal);
        known.ok_or_else(|| self.cx.fail_with(unknown(T::DEF, &v.to_string())))
    }
}

/// An enumeration has no such value.
pub(super) fn unknown(def: &EnumDef, got: &str) -> birsim_kernels::Error {
    let names: Vec<&str> = def.values.iter().map(|(_, n)| *n).collect();
    birsim_kernels::Error::new(Code::J005, format!("{} has no such value", def.name))
        .received(got)
        .advice(format!("one of: {}", names.join(", ")))
}

/// A name that occurs many times.
#[derive(Clone, Copy)]
pub(super) struct Shared<'c>(pub &'c Context);

impl<'de> DeserializeSeed<'de> for Shared<'_> {
    type Value = crate::Name;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<crate::Name, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Shared<'_> {
    type Value = crate::Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text.expecting(f)
    }

    fn visit_str<E>(self, v: &str) -> Result<crate::Name, E> {
        Ok(self.0.shared(v))
    }
}

/// Text that is looked at once: borrowed unless it holds escapes.
#[derive(Clone, Copy)]
pub(super) struct Passing;

impl<'de> DeserializeSeed<'de> for Passing {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Cow<'de, str>, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Passing {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text.expecting(f)
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(v.to_owned()))
    }
}

/// The pairs of an access pattern.
#[derive(Clone, Copy)]
pub(super) struct Pattern<'c>(pub &'c Context);

impl<'de> DeserializeSeed<'de> for Pattern<'_> {
    type Value = Pairs;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Pairs, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pattern<'_> {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Pairs, A::Error> {
        let mut pairs: SmallVec<[ApPair; 8]> = SmallVec::new();
        list(self.0, Pair(self.0)).each(seq, |pair| pairs.push(pair))?;
        Ok(self.0.pattern(&pairs))
    }
}

/// `[step, num]` or `{"step", "num"}`.
#[derive(Clone, Copy)]
pub(super) struct Pair<'c>(pub &'c Context);

impl<'de> DeserializeSeed<'de> for Pair<'_> {
    type Value = ApPair;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<ApPair, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pair<'_> {
    type Value = ApPair;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a [step, num] pair")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ApPair, A::Error> {
        let step = seq.next_element_seed(Int)?;
        let num = seq.next_element_seed(Int)?;
        match (step, num, seq.next_element::<de::IgnoredAny>()?) {
            (Some(step), Some(num), None) => Ok(ApPair { step, num }),
            (step, num, _) => {
                let count = usize::from(step.is_some()) + usize::from(num.is_some());
                let got = if count == 2 { "more than 2 numbers".to_string() } else { format!("{count} numbers") };
                Err(self.0.fail(Code::J008, "a pair is [step, num]", got))
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ApPair, A::Error> {
        let mut map = Once::new(self.0, map);
        let (mut step, mut num) = (None, None);
        while let Some(key) = map.next_key()? {
            match &*key {
                "step" => step = Some(map.next_value_seed(Int)?),
                "num" => num = Some(map.next_value_seed(Int)?),
                _ => {
                    map.next_value::<de::IgnoredAny>()?;
                }
            }
        }
        match (step, num) {
            (Some(step), Some(num)) => Ok(ApPair { step, num }),
            _ => Err(self.0.fail(Code::J008, "a pair has `step` and `num`", "an object without one of them")),
        }
    }
}
