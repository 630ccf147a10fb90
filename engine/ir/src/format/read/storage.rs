//! Storage records (`bir-json.md` 4).

use super::context::Context;
use super::list::{List, list, records};
use super::scalar::{Flag, Int, Key, Name, Text, U32, Uint, keep, record, value};
use crate::{Engine, Extra, Location, LocationSet, MemoryType, RegisterDecl, Storage, TensorKind};
use birsim_kernels::{Code, Dtype};
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use std::fmt;

record! {
    /// One element of `allocations`: a set, a register, or a location without a set.
    Allocation -> Storage, "a storage record", |cx, map| {
        let mut skind = None;
        let (mut name, mut kind, mut dtype, mut addr_space) = (None, None, None, None);
        let (mut shape, mut partition_dim, mut tensor_class, mut locations, mut file) = (None, None, None, None, None);
        let (mut num_regs, mut engine, mut reg_id) = (None, None, None);
        let mut piece = Piece::default();
        let mut extra = Extra::new();
        while let Some(key) = map.next_key()? {
            match &*key {
                "Skind" => skind = value(cx, &mut map, "Skind", Text)?,
                "name" => name = value(cx, &mut map, "name", Text)?,
                "kind" => kind = value(cx, &mut map, "kind", Name::new(cx))?,
                "dtype" => dtype = value(cx, &mut map, "dtype", Name::new(cx))?,
                "tensor_shape" => shape = value(cx, &mut map, "tensor_shape", list(cx, Uint))?,
                "partition_dim" => partition_dim = value(cx, &mut map, "partition_dim", Uint)?,
                "addr_space" => addr_space = value(cx, &mut map, "addr_space", Name::new(cx))?,
                "tensor_class" => tensor_class = value(cx, &mut map, "tensor_class", Name::new(cx))?,
                "memorylocations" => {
                    let pieces = records(cx, "memorylocations", LocationSeed(cx));
                    locations = value(cx, &mut map, "memorylocations", pieces)?;
                }
                "tensorId2MemLocSize" => {
                    value(cx, &mut map, "tensorId2MemLocSize", Uint)?;
                }
                "file" => file = value(cx, &mut map, "file", Text)?,
                "numPhysicalRegs" => num_regs = value(cx, &mut map, "numPhysicalRegs", U32)?,
                "engine" => engine = value(cx, &mut map, "engine", Name::new(cx))?,
                "reg_id" => reg_id = value(cx, &mut map, "reg_id", Int)?,
                "do_not_spill" => keep(cx, &mut map, &mut extra, Key("no_spill".into()))?,
                _ => {
                    if let Some(key) = piece.take(cx, &mut map, key)? {
                        keep(cx, &mut map, &mut extra, key)?;
                    }
                }
            }
        }
        let record = match skind.as_deref() {
            Some("memory_location_set" | "memory_location" | "register") => skind.as_deref().unwrap_or_default(),
            None if locations.is_some() => "memory_location_set",
            None => return Err(cx.missing("Skind", "a storage record")),
            Some(other) => {
                cx.at_key("Skind");
                let what = "Skind is memory_location_set, memory_location or register";
                return Err(cx.fail(Code::J005, what, other));
            }
        };
        let name = name.ok_or_else(|| cx.missing("name", "a storage record"))?;
        match record {
            "register" => Ok(Storage::Register(RegisterDecl {
                name,
                num_physical_regs: num_regs.unwrap_or(1),
                engine: engine.unwrap_or(Engine::All),
                dtype: dtype.unwrap_or(Dtype::Uint32),
                reg_id: reg_id.unwrap_or(-1),
                extra,
            })),
            "memory_location" => {
                let location = piece.build(cx, name, None, None, Extra::new())?;
                Ok(Storage::Set(LocationSet {
                    name: format!("{}_set", location.name),
                    kind: kind.unwrap_or(TensorKind::Internal),
                    dtype: dtype.unwrap_or(Dtype::Uint8),
                    tensor_shape: shape.unwrap_or_else(|| location.dims.clone()),
                    partition_dim: partition_dim.unwrap_or(0),
                    addr_space: addr_space.unwrap_or(crate::AddressSpace::Local),
                    tensor_class,
                    locations: vec![location],
                    file: file.unwrap_or_default(),
                    extra,
                }))
            }
            _ => {
                let kind = kind.unwrap_or(TensorKind::Internal);
                let addr_space = addr_space.unwrap_or(crate::AddressSpace::Local);
                let mut locations: Vec<Location> =
                    locations.ok_or_else(|| cx.missing("memorylocations", "a memory_location_set"))?;
                for l in &mut locations {
                    l.kind = l.kind.filter(|k| *k != kind);
                    l.addr_space = l.addr_space.filter(|a| *a != addr_space);
                }
                Ok(Storage::Set(LocationSet {
                    name,
                    kind,
                    dtype: dtype.ok_or_else(|| cx.missing("dtype", "a memory_location_set"))?,
                    tensor_shape: shape.ok_or_else(|| cx.missing("tensor_shape", "a memory_location_set"))?,
                    partition_dim: partition_dim.unwrap_or(0),
                    addr_space,
                    tensor_class,
                    locations,
                    file: file.unwrap_or_default(),
                    extra,
                }))
            }
        }
    }
}

record! {
    /// One element of `memorylocations`.
    LocationSeed -> Location, "a memory location", |cx, map| {
        let (mut name, mut kind, mut addr_space) = (None, None, None);
        let mut piece = Piece::default();
        let mut extra = Extra::new();
        while let Some(key) = map.next_key()? {
            match &*key {
                "Skind" => {
                    value(cx, &mut map, "Skind", Text)?;
                }
                "name" => name = value(cx, &mut map, "name", Text)?,
                "kind" => kind = value(cx, &mut map, "kind", Name::new(cx))?,
                "addr_space" => addr_space = value(cx, &mut map, "addr_space", Name::new(cx))?,
                _ => {
                    if let Some(key) = piece.take(cx, &mut map, key)? {
                        keep(cx, &mut map, &mut extra, key)?;
                    }
                }
            }
        }
        let name = name.ok_or_else(|| cx.missing("name", "a memory location"))?;
        piece.build(cx, name, kind, addr_space, extra)
    }
}

/// Keys of a location that no other storage record has.
#[derive(Default)]
struct Piece {
    ty: Option<MemoryType>,
    dims: Option<Vec<u64>>,
    addr: Option<u64>,
    base: Option<i64>,
    bank: Option<i64>,
    allocated: Option<bool>,
    user_allocated: Option<bool>,
    pinned: Option<bool>,
    tensor_id: Option<i64>,
    alias: Option<Vec<(String, String, i64)>>,
    pointer_ref_memloc: Option<String>,
}

impl Piece {
    /// Reads the value when the key is one of these, else gives the key back.
    fn take<'de, A: serde::de::MapAccess<'de>>(
        &mut self,
        cx: &Context,
        map: &mut A,
        key: Key<'de>,
    ) -> Result<Option<Key<'de>>, A::Error> {
        match &*key {
            "type" => self.ty = value(cx, map, "type", Name::new(cx))?,
            "dims" => self.dims = value(cx, map, "dims", list(cx, Uint))?,
            "addr" => self.addr = value(cx, map, "addr", Uint)?,
            "base" => self.base = value(cx, map, "base", Int)?,
            "bank" => self.bank = value(cx, map, "bank", Int)?,
            "allocated" => self.allocated = value(cx, map, "allocated", Flag)?,
            "user_allocated" => self.user_allocated = value(cx, map, "user_allocated", Flag)?,
            "pinned" => self.pinned = value(cx, map, "pinned", Flag)?,
            "tensor_id" => self.tensor_id = value(cx, map, "tensor_id", Int)?,
            "alias" => {
                let entries = List { cx, named: None, of: Alias(cx) };
                self.alias = value(cx, map, "alias", entries)?;
            }
            "pointer_ref_memloc" => self.pointer_ref_memloc = value(cx, map, "pointer_ref_memloc", Text)?,
            _ => return Ok(Some(key)),
        }
        Ok(None)
    }

    fn build<E: serde::de::Error>(
        self,
        cx: &Context,
        name: String,
        kind: Option<TensorKind>,
        addr_space: Option<crate::AddressSpace>,
        extra: Extra,
    ) -> Result<Location, E> {
        Ok(Location {
            name,
            ty: self.ty.ok_or_else(|| cx.missing("type", "a memory location"))?,
            dims: self.dims.ok_or_else(|| cx.missing("dims", "a memory location"))?,
            addr: self.addr.unwrap_or(0),
            base: self.base.unwrap_or(0),
            bank: self.bank.unwrap_or(0),
            allocated: self.allocated.unwrap_or(false),
            user_allocated: self.user_allocated.unwrap_or(false),
            pinned: self.pinned.unwrap_or(false),
            tensor_id: self.tensor_id.unwrap_or(-1),
            kind,
            addr_space,
            alias: self.alias.unwrap_or_default(),
            pointer_ref_memloc: self.pointer_ref_memloc,
            extra,
        })
    }
}

/// `[set, location, kind bits]` or `[location, kind bits]`.
#[derive(Clone, Copy)]
struct Alias<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for Alias<'_> {
    type Value = (String, String, i64);

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Alias<'_> {
    type Value = (String, String, i64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an alias entry")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element::<serde_json::Value>()? {
            parts.push(part);
        }
        let entry = match parts.as_slice() {
            [set, location, bits] => (set.as_str(), location.as_str(), bits.as_i64()),
            [location, bits] => (Some(""), location.as_str(), bits.as_i64()),
            _ => (None, None, None),
        };
        match entry {
            (Some(set), Some(location), Some(bits)) => Ok((set.to_string(), location.to_string(), bits)),
            _ => Err(self.0.fail(
                Code::J002,
                "an alias entry is [set, location, bits] or [location, bits]",
                serde_json::Value::Array(parts),
            )),
        }
    }
}
