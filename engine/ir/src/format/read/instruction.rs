//! Instruction records (`bir-json.md` 5). Keys are unordered, so own keys wait until the opcode is known.

use super::context::Context;
use super::expr::{ExprSeed, PredicateSeed};
use super::field;
use super::list::{few, few_values, records};
use super::module::BlockSeed;
use super::operand::OperandSeed;
use super::raw::{Raw, RawSeed};
use super::scalar::{Int, Key, Name, Text, U32, keep, record, value};
use super::sync::{Sync, Update, Wait};
use crate::nearest::nearest;
use crate::{
    Dependency, EdgeKind, Engine, Extra, Instruction, Opcode, Operand, SourceLocation, Steer, SyncInfo, ThinVec, Trait,
    UpdateRef, Value,
};
use birsim_kernels::{Code, Error};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::fmt;

record! {
    /// One instruction.
    InstructionSeed -> Instruction, "an instruction", |cx, map| {
        let (mut name, mut opcode, mut engine) = (None, None, None);
        // The opcode is set below; only its fields vector depends on it.
        let mut i = Instruction::new("", Opcode::NoOp, Engine::Unassigned);
        let mut own: SmallVec<[(Key<'de>, Raw<'de>); 12]> = SmallVec::new();
        let (mut beside, mut waits_beside) = (ThinVec::new(), ThinVec::new());
        while let Some(key) = map.next_key()? {
            match &*key {
                "name" => name = value(cx, &mut map, "name", Text)?,
                "opcode" => opcode = value(cx, &mut map, "opcode", OpcodeSeed(cx))?,
                "engine" => engine = value(cx, &mut map, "engine", Name::new(cx))?,
                "engine_id" => i.engine_id = value(cx, &mut map, "engine_id", U32)?.unwrap_or(0),
                "ins" => i.ins = operands(cx, &mut map, "ins")?,
                "outs" => i.outs = operands(cx, &mut map, "outs")?,
                "indirection_ins" => {
                    let list = value(cx, &mut map, "indirection_ins", few(cx, "indirection_ins", OperandSeed(cx)))?;
                    i.indirection_ins = list.unwrap_or_default();
                }
                "sync_info" => i.sync = value(cx, &mut map, "sync_info", Sync(cx))?.unwrap_or_default(),
                "on_wait" => {
                    let waits = value(cx, &mut map, "on_wait", few(cx, "on_wait", Wait(cx)))?;
                    waits_beside.extend(waits.unwrap_or_default());
                }
                "on_update" => {
                    let updates = value(cx, &mut map, "on_update", few(cx, "on_update", Update(cx)))?;
                    beside.extend(updates.unwrap_or_default());
                }
                "predicates" => {
                    i.predicates = value(cx, &mut map, "predicates", few_values(cx, PredicateSeed(cx)))?.unwrap_or_default();
                }
                "loopnest" => i.loopnest = value(cx, &mut map, "loopnest", few_values(cx, Text))?.unwrap_or_default(),
                "dependencies" => {
                    i.dependencies =
                        value(cx, &mut map, "dependencies", few_values(cx, DependencySeed(cx)))?.unwrap_or_default();
                }
                "loop_carried_dependencies" => {
                    i.loop_carried_dependencies =
                        value(cx, &mut map, "loop_carried_dependencies", few_values(cx, DependencySeed(cx)))?
                            .unwrap_or_default();
                }
                "order" => i.order = value(cx, &mut map, "order", few_values(cx, ExprSeed(cx)))?.unwrap_or_default(),
                "scheduled_start" => {
                    i.scheduled_start = value(cx, &mut map, "scheduled_start", Int)?.unwrap_or(0);
                }
                "scheduled_end" => i.scheduled_end = value(cx, &mut map, "scheduled_end", Int)?.unwrap_or(0),
                "origin" => {
                    if let Some(origin) = value(cx, &mut map, "origin", Name::new(cx))? {
                        i.origin = origin;
                    }
                }
                "debug" => i.debug = value(cx, &mut map, "debug", Debug(cx))?.map(Box::new),
                "blocks" => {
                    i.blocks = value(cx, &mut map, "blocks", few(cx, "blocks", BlockSeed(cx)))?.unwrap_or_default();
                }
                _ => own.push((key, map.next_value_seed(RawSeed(cx))?)),
            }
        }
        i.opcode = opcode.ok_or_else(|| cx.missing("opcode", "an instruction"))?;
        i.fields = vec![None; i.opcode.row().fields.len()];
        i.sync.on_wait.extend(waits_beside);
        updates_beside(i.opcode, &mut i.sync).extend(beside);
        own_keys(cx, &mut i, own).map_err(<A::Error as de::Error>::custom)?;
        move_immediates(&mut i);
        i.engine = match engine {
            Some(e) => e,
            None => implied_engine(i.opcode).ok_or_else(|| cx.missing("engine", "an instruction"))?,
        };
        i.name = match name.or_else(|| axis_name(&i)) {
            Some(n) => n,
            None => return Err(cx.missing("name", "an instruction")),
        };
        flat_axis(&mut i);
        Ok(i)
    }
}

fn operands<'de, A: de::MapAccess<'de>>(
    cx: &Context,
    map: &mut A,
    key: &'static str,
) -> Result<Vec<Operand>, A::Error> {
    Ok(value(cx, map, key, records(cx, key, OperandSeed(cx)))?.unwrap_or_default())
}

/// What an `on_update` beside `sync_info` means, as DMABlock spells it. Of a barrier it is the second update, whose own
/// spelling is not known (proposed); elsewhere it continues the list inside.
fn updates_beside(opcode: Opcode, sync: &mut SyncInfo) -> &mut ThinVec<UpdateRef> {
    if opcode.is(Trait::Barrier) { &mut sync.second_update } else { &mut sync.on_update }
}

/// Immediates belong to `ins`, whichever list they are written in (`bir-json.md` 6).
fn move_immediates(i: &mut Instruction) {
    let immediate =
        |o: &Operand| matches!(o, Operand::Imm { .. } | Operand::SymbolicImm { .. } | Operand::ImmArray { .. });
    if i.outs.iter().any(immediate) {
        let (moved, kept): (Vec<Operand>, Vec<Operand>) = std::mem::take(&mut i.outs).into_iter().partition(immediate);
        i.outs = kept;
        i.ins.extend(moved);
    }
    if i.indirection_ins.iter().any(immediate) {
        let all = std::mem::take(&mut i.indirection_ins).into_iter();
        let (moved, kept): (Vec<Operand>, Vec<Operand>) = all.partition(immediate);
        i.indirection_ins = kept.into();
        i.ins.extend(moved);
    }
}

/// Engine of records that KLR and queue blocks write without one.
fn implied_engine(opcode: Opcode) -> Option<Engine> {
    let first = opcode.row().engines.first().copied();
    first.filter(|_| opcode.is(Trait::ImpliesEngine))
}

/// A loop without a name is called like its axis.
fn axis_name(i: &Instruction) -> Option<String> {
    i.fields.iter().flatten().find_map(|v| match v {
        Value::Axis(a) if !a.name.is_empty() => Some(a.name.clone()),
        _ => None,
    })
}

/// A flat DynamicForLoop has its axis keys beside the header; the axis is then called like the instruction.
fn flat_axis(i: &mut Instruction) {
    for v in i.fields.iter_mut().flatten() {
        if let Value::Axis(a) = v
            && a.name.is_empty()
        {
            a.name.clone_from(&i.name);
        }
    }
}

/// A flag that no row declares.
fn flag(cx: &Context, key: &'static str, json: &Json) -> Result<bool, serde_json::Error> {
    cx.at_key(key);
    match (json.as_bool(), json.as_u64()) {
        (Some(b), _) => Ok(b),
        (_, Some(n @ 0..=1)) => Ok(n == 1),
        _ => Err(field::mismatch(cx, "true or false", json)),
    }
}

/// Sorts own keys into the fields of the opcode's row; the rest is kept.
fn own_keys<'de>(
    cx: &Context,
    i: &mut Instruction,
    own: impl IntoIterator<Item = (Key<'de>, Raw<'de>)>,
) -> Result<(), serde_json::Error> {
    let row = i.opcode.row();
    let (mut start, mut stop) = (None, None);
    let mut axis_keys = Extra::new();
    let mut channel = None;
    for (key, raw) in own {
        if let Some(n) = row.field_index(&key)
            && let Some(v) = raw.plain(&row.fields[n])
        {
            i.fields[n] = Some(v).filter(|v| !row.fields[n].default.is(v));
            continue;
        }
        let json = raw.into_json();
        let index = match &*key {
            "instance_name" => row.field_index("instance"),
            "cc_channel" if is_nested_channel(&json) => {
                channel = Some(json);
                continue;
            }
            k => row.field_index(k),
        };
        match index {
            _ if json.is_null() => {}
            // A default that is written out means the same as one that is left out.
            Some(n) => {
                let v = field::convert(cx, &row.fields[n], json)?;
                i.fields[n] = Some(v).filter(|v| !row.fields[n].default.is(v));
            }
            None if i.opcode.is_matmul() && &*key == "start_tensor_calc" => {
                start = Some(flag(cx, "start_tensor_calc", &json)?)
            }
            None if i.opcode.is_matmul() && &*key == "stop_tensor_calc" => {
                stop = Some(flag(cx, "stop_tensor_calc", &json)?)
            }
            None if i.opcode.steers(Steer::DynamicLoop) && matches!(&*key, "lb" | "ub" | "stride") => {
                axis_keys.insert(key.0.into_owned(), json);
            }
            None => {
                i.extra.insert(key.0.into_owned(), json);
            }
        }
    }
    if let Some(Json::Object(channel)) = channel {
        for (key, json) in channel {
            match row.field_index(&key) {
                Some(n) => i.fields[n] = Some(field::convert(cx, &row.fields[n], json)?),
                None => {
                    i.extra.insert(key, json);
                }
            }
        }
    }
    if !axis_keys.is_empty()
        && let Some(n) = row.field_index("DynamicForLoopAxis")
        && i.fields[n].is_none()
    {
        axis_keys.insert("name".to_string(), Json::String(String::new()));
        i.fields[n] = Some(field::convert(cx, &row.fields[n], Json::Object(axis_keys.into_map()))?);
    }
    if (start.is_some() || stop.is_some())
        && let Some(n) = row.field_index("accumulation_flag")
        && i.fields[n].is_none()
    {
        i.fields[n] = Some(Value::Int(flag_of(start.unwrap_or(false), stop.unwrap_or(false))));
    }
    Ok(())
}

/// The newer form nests kind, groups and operation in `cc_channel`; the other form is an expression.
fn is_nested_channel(json: &Json) -> bool {
    json.as_object().is_some_and(|o| ["replica_groups", "op", "stream_id"].iter().any(|k| o.contains_key(*k)))
        || json.get("kind").and_then(Json::as_str).is_some_and(|k| {
            use birsim_kernels::Named;
            crate::CollectiveKind::from_name(k).is_some()
        })
}

/// Accumulation flag of the older pair of keys (`bir-json.md` 5.1).
fn flag_of(start: bool, stop: bool) -> i64 {
    (if start { 0x01 } else { 0x04 }) | (if stop { 0x02 } else { 0 })
}

/// The opcode's name, or its ordinal.
#[derive(Clone, Copy)]
struct OpcodeSeed<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for OpcodeSeed<'_> {
    type Value = Opcode;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Opcode, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OpcodeSeed<'_> {
    type Value = Opcode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an InstructionType")
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Opcode, E> {
        Opcode::from_name(v).ok_or_else(|| {
            let e = Error::new(Code::J004, "no InstructionType has this name").received(v);
            let close = nearest(v, Opcode::all().map(Opcode::name));
            self.0.fail_with(match close {
                Some(name) => e.advice(format!("did you mean {name}? `birsim ops` lists all")),
                None => e,
            })
        })
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Opcode, E> {
        let known = u8::try_from(v).ok().and_then(Opcode::from_ordinal);
        known.ok_or_else(|| self.0.fail_with(Error::new(Code::J004, "no InstructionType has this ordinal").received(v)))
    }
}

/// `[name, EdgeKind]`, or a name that means Flow.
#[derive(Clone, Copy)]
struct DependencySeed<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for DependencySeed<'_> {
    type Value = Dependency;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Dependency, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DependencySeed<'_> {
    type Value = Dependency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dependency: a name or [name, kind]")
    }

    fn visit_str<E>(self, v: &str) -> Result<Dependency, E> {
        Ok(Dependency { on: v.to_string(), kind: EdgeKind::Flow })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Dependency, A::Error> {
        let on = seq.next_element_seed(Text)?;
        let on = on.ok_or_else(|| self.0.fail(Code::J002, "a dependency names an instruction", "an empty list"))?;
        let kind = seq.next_element_seed(Name::new(self.0))?.unwrap_or(EdgeKind::Flow);
        while seq.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(Dependency { on, kind })
    }
}

record! {
    /// `debug` of an instruction.
    Debug -> SourceLocation, "a debug record", |cx, map| {
        let mut d = SourceLocation::default();
        while let Some(key) = map.next_key()? {
            match &*key {
                "lineno" => d.lineno = value(cx, &mut map, "lineno", Int)?,
                "op_name" => d.op_name = value(cx, &mut map, "op_name", Text)?,
                "filename" => d.filename = value(cx, &mut map, "filename", Text)?,
                _ => keep(cx, &mut map, &mut d.extra, key)?,
            }
        }
        Ok(d)
    }
}

/// Value of a block argument: a register name or an operand.
pub(super) fn incoming(cx: &Context, json: Json) -> Result<Operand, serde_json::Error> {
    match json {
        Json::String(regref) => {
            Ok(Operand::Register { dtype: birsim_kernels::Dtype::Uint32, regref, extra: Extra::new() })
        }
        other => OperandSeed(cx).deserialize(other),
    }
}
