//! Names of the records that contain an error. Keys are unordered, so a record's name may come after the error; a second
//! pass over the text, which skips values, finds it. It runs only when reading has failed.

use super::context::Step;
use super::scalar::Key;
use birsim_kernels::Error;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// Adds function, block, instruction and tensor names to the error's place.
pub(super) fn complete(error: Error, path: &[Step], bytes: &[u8]) -> Error {
    let found = RefCell::new(vec![Names::default(); path.len() + 1]);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // What was found before the text became unreadable still counts.
    let _ = Walk { found: &found, path, depth: 0 }.deserialize(&mut deserializer);
    let found = found.into_inner();
    error.at(|place| {
        for (i, (key, index)) in path.iter().enumerate() {
            let names = &found[i + 1];
            let name = names.name.clone().unwrap_or_else(|| format!("#{index}"));
            match *key {
                "functions" | "nki_functions" => place.function = Some(name),
                "queues" => place.function = Some(format!("queue {name}")),
                "blocks" => place.block = Some(name),
                "instructions" => {
                    place.instruction = Some(name);
                    place.opcode = names.opcode.clone();
                }
                "allocations" | "memorylocations" => place.tensor = Some(name),
                _ => {}
            }
        }
    })
}

#[derive(Clone, Default)]
struct Names {
    name: Option<String>,
    opcode: Option<String>,
}

#[derive(Clone, Copy)]
struct Walk<'c> {
    found: &'c RefCell<Vec<Names>>,
    path: &'c [Step],
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let step = self.path.get(self.depth);
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match (&*key, step) {
                ("name", _) => self.found.borrow_mut()[self.depth].name = text(map.next_value()?),
                ("opcode", _) => self.found.borrow_mut()[self.depth].opcode = text(map.next_value()?),
                ("module", _) if self.depth == 0 => map.next_value_seed(self)?,
                (k, Some((s, _))) if k == *s || (*s == "queues" && k == "dma_queues") => {
                    map.next_value_seed(Nth(self))?
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Steps into the element that the path names and skips the others.
struct Nth<'c>(Walk<'c>);

impl<'de> DeserializeSeed<'de> for Nth<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Nth<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let wanted = self.0.path.get(self.0.depth).map_or(0, |(_, i)| *i);
        for _ in 0..wanted {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        let inner = Walk { depth: self.0.depth + 1, ..self.0 };
        if seq.next_element_seed(inner)?.is_some() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }
}

fn text(value: serde_json::Value) -> Option<String> {
    value.as_str().map(str::to_string)
}
