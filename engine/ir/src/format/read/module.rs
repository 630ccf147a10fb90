//! The document, functions, blocks and queues (`bir-json.md` 2, 3, 10).

use super::context::Context;
use super::cut::Instructions;
use super::instruction::incoming;
use super::list::{list, records};
use super::scalar::{Name, Text, U32, keep, record, value};
use super::storage::Allocation;
use super::unique::{JsonSeed, Once};
use crate::{Block, BlockArgument, Extra, Function, Module, Operand, Queue, QueueType};
use birsim_kernels::Code;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;
use std::fmt;

record! {
    /// The whole document; a wrapper object with the single key `module` is accepted.
    Document -> Module, "a BIR module, an object", |cx, map| {
        let mut m = Module::new(None);
        let (mut version, mut functions, mut wrapped) = (None, None, None);
        while let Some(key) = map.next_key()? {
            match &*key {
                "module" => wrapped = value(cx, &mut map, "module", Document(cx))?,
                "version" => version = value(cx, &mut map, "version", U32)?,
                "arch" => m.arch = value(cx, &mut map, "arch", Name::new(cx))?,
                "revision" | "archRev" => m.revision = value(cx, &mut map, "revision", Text)?,
                "attributes" => m.attributes = value(cx, &mut map, "attributes", Attributes(cx))?.unwrap_or_default(),
                "functions" => {
                    functions = value(cx, &mut map, "functions", records(cx, "functions", FunctionSeed(cx)))?;
                }
                "nki_functions" => {
                    let list = records(cx, "nki_functions", FunctionSeed(cx));
                    m.nki_functions = value(cx, &mut map, "nki_functions", list)?.unwrap_or_default();
                }
                "queues" | "dma_queues" => {
                    let list = value(cx, &mut map, "queues", records(cx, "queues", QueueSeed(cx)))?;
                    m.queues.extend(list.unwrap_or_default());
                }
                _ => keep(cx, &mut map, &mut m.extra, key)?,
            }
        }
        if let Some(inner) = wrapped {
            return Ok(inner);
        }
        m.version = version.ok_or_else(|| cx.missing("version", "a module"))?;
        if !(1..=2).contains(&m.version) {
            cx.at_key("version");
            return Err(cx.fail(Code::J011, "the version of BIR-JSON is 1 or 2", m.version));
        }
        m.functions = functions.ok_or_else(|| cx.missing("functions", "a module"))?;
        Ok(m)
    }
}

record! {
    /// One function.
    FunctionSeed -> Function, "a function", |cx, map| {
        let mut name = None;
        let mut f = Function {
            name: String::new(),
            attributes: Extra::new(),
            allocations: Vec::new(),
            blocks: Vec::new(),
            arguments: Vec::new(),
            extra: Extra::new(),
        };
        while let Some(key) = map.next_key()? {
            match &*key {
                "name" => name = value(cx, &mut map, "name", Text)?,
                "attributes" => f.attributes = value(cx, &mut map, "attributes", Attributes(cx))?.unwrap_or_default(),
                "allocations" => {
                    let list = records(cx, "allocations", Allocation(cx));
                    f.allocations = value(cx, &mut map, "allocations", list)?.unwrap_or_default();
                }
                "blocks" => {
                    f.blocks = value(cx, &mut map, "blocks", records(cx, "blocks", BlockSeed(cx)))?.unwrap_or_default();
                }
                "arguments" => f.arguments = value(cx, &mut map, "arguments", list(cx, Text))?.unwrap_or_default(),
                _ => keep(cx, &mut map, &mut f.extra, key)?,
            }
        }
        f.name = name.ok_or_else(|| cx.missing("name", "a function"))?;
        Ok(f)
    }
}

record! {
    /// One block.
    BlockSeed -> Block, "a block", |cx, map| {
        let mut name = None;
        let mut b = Block { name: String::new(), arguments: Vec::new(), instructions: Vec::new(), extra: Extra::new() };
        while let Some(key) = map.next_key()? {
            match &*key {
                "name" => name = value(cx, &mut map, "name", Text)?,
                "instructions" => {
                    b.instructions = value(cx, &mut map, "instructions", Instructions(cx))?.unwrap_or_default();
                }
                "arguments" => {
                    b.arguments =
                        value(cx, &mut map, "arguments", list(cx, ArgumentSeed(cx)))?.unwrap_or_default();
                }
                _ => keep(cx, &mut map, &mut b.extra, key)?,
            }
        }
        b.name = name.ok_or_else(|| cx.missing("name", "a block"))?;
        Ok(b)
    }
}

record! {
    /// One block argument.
    ArgumentSeed -> BlockArgument, "a block argument", |cx, map| {
        let mut name = None;
        let mut a = BlockArgument { name: String::new(), incoming: Vec::new(), extra: Extra::new() };
        while let Some(key) = map.next_key()? {
            match &*key {
                "name" => name = value(cx, &mut map, "name", Text)?,
                "incoming_values" => {
                    cx.at_key("incoming_values");
                    for pair in map.next_value_seed(list(cx, JsonSeed(cx)))? {
                        a.incoming.push(incoming_pair(cx, pair).map_err(<A::Error as de::Error>::custom)?);
                    }
                }
                _ => keep(cx, &mut map, &mut a.extra, key)?,
            }
        }
        a.name = name.ok_or_else(|| cx.missing("name", "a block argument"))?;
        Ok(a)
    }
}

fn incoming_pair(cx: &Context, json: Json) -> Result<(Operand, String), serde_json::Error> {
    match json {
        Json::Array(mut items) if items.len() == 2 => {
            let block = items.pop().and_then(|b| b.as_str().map(str::to_string));
            let value = items.pop().unwrap_or(Json::Null);
            match block {
                Some(block) => Ok((incoming(cx, value)?, block)),
                None => Err(cx.fail(Code::J002, "an incoming value names its predecessor block", value)),
            }
        }
        other => Err(cx.fail(Code::J002, "an incoming value is [value, block]", other)),
    }
}

record! {
    /// One queue.
    QueueSeed -> Queue, "a queue", |cx, map| {
        let mut name = None;
        let mut q = Queue {
            name: String::new(),
            ty: QueueType::Data,
            blocks: Vec::new(),
            semaphores: Vec::new(),
            use_special_sema: Vec::new(),
            extra: Extra::new(),
        };
        while let Some(key) = map.next_key()? {
            match &*key {
                "name" => name = value(cx, &mut map, "name", Text)?,
                "type" => q.ty = value(cx, &mut map, "type", Name::new(cx))?.unwrap_or(QueueType::Data),
                "blocks" => {
                    q.blocks = value(cx, &mut map, "blocks", records(cx, "blocks", BlockSeed(cx)))?.unwrap_or_default();
                }
                "semaphores" => {
                    q.semaphores = value(cx, &mut map, "semaphores", list(cx, U32))?.unwrap_or_default();
                }
                "use_special_sema" => {
                    q.use_special_sema = value(cx, &mut map, "use_special_sema", list(cx, U32))?.unwrap_or_default();
                }
                _ => keep(cx, &mut map, &mut q.extra, key)?,
            }
        }
        q.name = name.ok_or_else(|| cx.missing("name", "a queue"))?;
        Ok(q)
    }
}

/// Attributes: an object, or a list of names whose values are true.
#[derive(Clone, Copy)]
struct Attributes<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for Attributes<'_> {
    type Value = Extra;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Extra, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Attributes<'_> {
    type Value = Extra;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attributes: an object or a list of names")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Extra, A::Error> {
        let cx = self.0;
        let mut map = Once::new(cx, map);
        let mut attributes = Extra::new();
        while let Some(key) = map.next_key()? {
            keep(cx, &mut map, &mut attributes, key)?;
        }
        Ok(attributes)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Extra, A::Error> {
        let mut attributes = Extra::new();
        while let Some(name) = seq.next_element_seed(Text)? {
            attributes.insert(name, Json::Bool(true));
        }
        Ok(attributes)
    }
}
