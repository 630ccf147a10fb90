//! Instruction records (`bir-json.md` 5, 8, 9).

use super::expr::{constant_or_expr, expr, predicate};
use super::operand::operand;
use super::print::Item;
use super::{Entry, blocks, entries, float, name};
use crate::{
    Axis, Dependency, FieldType, Instruction, Opcode, Operand, Origin, SourceLocation, Steer, SyncInfo, Trait,
    UpdateRef, Value, WaitRef,
};
use birsim_kernels::EnumDef;
use serde_json::{Value as Json, json};

pub(super) fn items(i: &Instruction) -> Vec<Entry<'_>> {
    let mut items = entries(&i.extra);
    items.push(("name", Json::from(i.name.as_str()).into()));
    items.push(("opcode", Json::from(i.opcode.name()).into()));
    items.push(("engine", name(i.engine).into()));
    items.push(("ins", operands(&i.ins)));
    items.push(("outs", operands(&i.outs)));
    if !i.indirection_ins.is_empty() {
        items.push(("indirection_ins", operands(&i.indirection_ins)));
    }
    let mut put = |key, v: Json| items.push((key, v.into()));
    if i.engine_id != 0 {
        put("engine_id", i.engine_id.into());
    }
    for (key, at) in [("scheduled_start", i.scheduled_start), ("scheduled_end", i.scheduled_end)] {
        if at != 0 {
            put(key, at.into());
        }
    }
    if i.origin != Origin::Internal {
        put("origin", name(i.origin));
    }
    for (key, list) in [("dependencies", &i.dependencies), ("loop_carried_dependencies", &i.loop_carried_dependencies)]
    {
        if !list.is_empty() {
            put(key, list.iter().map(|Dependency { on, kind }| json!([on, name(*kind)])).collect());
        }
    }
    if !i.sync.is_empty() {
        put("sync_info", sync(&i.sync));
    }
    if !i.sync.second_update.is_empty() {
        put("on_update", i.sync.second_update.iter().map(update).collect());
    }
    if !i.loopnest.is_empty() {
        put("loopnest", i.loopnest.as_slice().into());
    }
    if !i.predicates.is_empty() {
        put("predicates", i.predicates.iter().map(predicate).collect());
    }
    if !i.order.is_empty() {
        put("order", i.order.iter().map(expr).collect());
    }
    if let Some(d) = &i.debug {
        put("debug", debug(d));
    }
    for (field, value) in i.opcode.row().fields.iter().zip(&i.fields) {
        match value {
            Some(v) if !field.default.is(v) => put(field.key, own(i.opcode, field.ty, v)),
            _ if i.opcode.is(Trait::WrittenWhole) => {
                if let Some(v) = field.default.value() {
                    put(field.key, own(i.opcode, field.ty, &v));
                }
            }
            _ => {}
        }
    }
    if !i.blocks.is_empty() {
        items.push(("blocks", blocks(&i.blocks)));
    }
    items
}

fn operands(list: &[Operand]) -> Item<'_> {
    Item::List(list.iter().map(|o| operand(o).into()).collect())
}

fn sync(s: &SyncInfo) -> Json {
    let mut r = s.extra.clone();
    r.insert("on_wait".to_string(), s.on_wait.iter().map(wait).collect());
    r.insert("on_update".to_string(), s.on_update.iter().map(update).collect());
    Json::Object(r.into_map())
}

fn wait(w: &WaitRef) -> Json {
    let mut r = w.extra.clone();
    let mut put = |key: &str, v: Json| r.insert(key.to_string(), v);
    put("type", name(w.kind));
    put("id", w.id.into());
    put("wait_mode", name(w.mode));
    put("wait_value", w.value.into());
    if let Some(regref) = &w.regref {
        put("regref", regref.as_str().into());
    }
    if let Some(from) = &w.from {
        put("from", from.as_str().into());
    }
    Json::Object(r.into_map())
}

fn update(u: &UpdateRef) -> Json {
    let mut r = u.extra.clone();
    let mut put = |key: &str, v: Json| r.insert(key.to_string(), v);
    put("type", name(u.kind));
    put("id", u.id.into());
    put("update_mode", name(u.mode));
    put("update_value", u.value.into());
    if let Some(core) = u.target_core {
        put("target_core", core.into());
    }
    Json::Object(r.into_map())
}

fn debug(d: &SourceLocation) -> Json {
    let mut r = d.extra.clone();
    if let Some(line) = d.lineno {
        r.insert("lineno".to_string(), line.into());
    }
    for (key, text) in [("op_name", &d.op_name), ("filename", &d.filename)] {
        if let Some(text) = text {
            r.insert(key.to_string(), text.as_str().into());
        }
    }
    Json::Object(r.into_map())
}

fn enumeration(def: &EnumDef, ordinal: u8) -> Json {
    def.name_of(ordinal).map_or(ordinal.into(), Json::from)
}

/// One own key.
fn own(opcode: Opcode, ty: FieldType, value: &Value) -> Json {
    match (ty, value) {
        (_, Value::Bool(b)) => (*b).into(),
        // Raw bits are unsigned on disk.
        (FieldType::Bits, Value::Int(v)) => (*v as u64).into(),
        (FieldType::Expr, Value::Int(v)) => expr(&crate::Expr::Const(*v)),
        (_, Value::Int(v)) => (*v).into(),
        (_, Value::Float(x)) => float(*x),
        (_, Value::Str(s)) => s.as_str().into(),
        (FieldType::Enum(def) | FieldType::Enums(def), Value::Enum(o)) => enumeration(def, *o),
        (FieldType::Enums(def), Value::Enums(list)) => list.iter().map(|o| enumeration(def, *o)).collect(),
        (_, Value::Enum(o)) => (*o).into(),
        (_, Value::Enums(list)) => list.clone().into(),
        (_, Value::Expr(e)) => expr(e),
        (FieldType::Exprs, Value::Ints(list)) => list.iter().map(expr).collect(),
        (_, Value::Ints(list)) => list.iter().map(constant_or_expr).collect(),
        (_, Value::Floats(list)) => list.iter().map(|x| float(*x)).collect(),
        (_, Value::Strs(list)) => list.clone().into(),
        (_, Value::Pairs(list)) => list.iter().map(|(step, num)| json!([step, num])).collect(),
        (_, Value::Groups(list)) => list.iter().map(|g| Json::from(g.clone())).collect(),
        // The attributes of a kernel are ordered pairs; bindings are an object.
        (_, Value::Map(pairs)) if opcode == Opcode::BIRKernel => pairs.iter().map(|(a, b)| json!([a, b])).collect(),
        (_, Value::Map(pairs)) => Json::Object(pairs.iter().map(|(a, b)| (a.clone(), b.as_str().into())).collect()),
        (_, Value::Axis(a)) => axis(opcode, a),
        (_, Value::Json(v)) => v.clone(),
    }
}

/// Bounds of a dynamic loop are always expressions.
fn axis(opcode: Opcode, a: &Axis) -> Json {
    let bound = if opcode.steers(Steer::DynamicLoop) { expr } else { constant_or_expr };
    json!({"name": a.name, "lb": bound(&a.lb), "ub": bound(&a.ub), "stride": bound(&a.stride)})
}
