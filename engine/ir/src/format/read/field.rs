//! Own keys of an opcode: from a JSON value to the typed value that the opcode's row asks for.

use super::context::Context;
use super::expr::ExprSeed;
use super::scalar::{non_finite, unknown};
use crate::table::Field;
use crate::{Axis, Expr, FieldType, Value};
use birsim_kernels::{Code, EnumDef, Error};
use serde::de::DeserializeSeed;
use serde_json::Value as Json;

type Result<T> = std::result::Result<T, serde_json::Error>;

/// Converts one value. Errors are recorded in the context.
pub(super) fn convert(cx: &Context, field: &Field, json: Json) -> Result<Value> {
    cx.at_key(field.key);
    match field.ty {
        FieldType::Bool => match json {
            Json::Bool(b) => Ok(b.into()),
            Json::Object(_) => Ok(match expr(cx, json)? {
                e if e.as_const().is_some() => (e.as_const() != Some(0)).into(),
                e => Value::Expr(e),
            }),
            other => match other.as_u64() {
                Some(n @ 0..=1) => Ok((n == 1).into()),
                _ => Err(mismatch(cx, "true or false", &other)),
            },
        },
        FieldType::Int(..) => match json {
            Json::Object(_) => Ok(expr(cx, json)?.into()),
            other => integer(cx, &other).map(Value::Int),
        },
        FieldType::Bits => match json {
            Json::Object(_) => Ok(expr(cx, json)?.into()),
            other => match other.as_u64() {
                Some(bits) => Ok(Value::Int(bits as i64)),
                None => integer(cx, &other).map(Value::Int),
            },
        },
        FieldType::Float => match json {
            Json::Object(_) => Ok(match expr(cx, json)? {
                e if e.as_const().is_some() => Value::Float(e.as_const().unwrap_or(0) as f64),
                e => Value::Expr(e),
            }),
            other => float(cx, &other).map(Value::Float),
        },
        FieldType::Str => text(cx, json).map(Value::Str),
        FieldType::Enum(def) => ordinal(cx, def, &json).map(Value::Enum),
        FieldType::Ints | FieldType::Exprs => each(cx, json, |e| expr(cx, e)).map(Value::Ints),
        FieldType::Floats => each(cx, json, |e| float(cx, &e)).map(Value::Floats),
        FieldType::Strs | FieldType::Axes => match json {
            Json::String(one) => Ok(Value::Strs(vec![one])),
            other => each(cx, other, |e| text(cx, e)).map(Value::Strs),
        },
        FieldType::Enums(def) => each(cx, json, |e| ordinal(cx, def, &e)).map(Value::Enums),
        FieldType::Pairs => each(cx, json, |e| pair(cx, &e)).map(Value::Pairs),
        FieldType::Groups => each(cx, json, |e| each(cx, e, |n| integer(cx, &n))).map(Value::Groups),
        FieldType::Map => map(cx, json),
        FieldType::Expr => expr(cx, json).map(Value::Expr),
        FieldType::Axis => axis(cx, json).map(|a| Value::Axis(Box::new(a))),
        FieldType::Json => Ok(Value::Json(json)),
    }
}

pub(super) fn mismatch(cx: &Context, expected: &str, got: &Json) -> serde_json::Error {
    let text = got.to_string();
    let shown: String = text.chars().take(80).collect();
    cx.fail(Code::J002, format!("expected {expected}"), if shown.len() < text.len() { shown + "..." } else { shown })
}

fn expr(cx: &Context, json: Json) -> Result<Expr> {
    match &json {
        Json::Object(_) | Json::Number(_) => {}
        other => return Err(mismatch(cx, "an integer or an expression", other)),
    }
    if json.is_number() {
        return integer(cx, &json).map(Expr::Const);
    }
    let key = cx.key();
    let parsed = ExprSeed(cx).deserialize(json);
    // An error inside is reported under the field's own key.
    cx.at_key(key);
    parsed
}

fn integer(cx: &Context, json: &Json) -> Result<i64> {
    match json.as_i64() {
        Some(i) => Ok(i),
        None if json.is_u64() => Err(cx.fail(Code::J011, "the integer does not fit 64 bits with sign", json)),
        None => Err(mismatch(cx, "an integer", json)),
    }
}

fn float(cx: &Context, json: &Json) -> Result<f64> {
    let value = json.as_f64().or_else(|| json.as_str().and_then(non_finite));
    value.ok_or_else(|| mismatch(cx, "a number", json))
}

fn text(cx: &Context, json: Json) -> Result<String> {
    match json {
        Json::String(s) => Ok(s),
        other => Err(mismatch(cx, "a text", &other)),
    }
}

fn ordinal(cx: &Context, def: &'static EnumDef, json: &Json) -> Result<u8> {
    match json {
        Json::String(name) => def.ordinal(name).ok_or_else(|| cx.fail_with(unknown(def, name))),
        _ => match json.as_u64() {
            Some(n) => {
                let known = u8::try_from(n).ok().filter(|o| def.name_of(*o).is_some());
                known.ok_or_else(|| cx.fail_with(unknown(def, &n.to_string())))
            }
            None => Err(mismatch(cx, &format!("a name of {}", def.name), json)),
        },
    }
}

fn each<T>(cx: &Context, json: Json, read: impl FnMut(Json) -> Result<T>) -> Result<Vec<T>> {
    match json {
        Json::Array(items) => items.into_iter().map(read).collect(),
        other => Err(mismatch(cx, "a list", &other)),
    }
}

fn pair(cx: &Context, json: &Json) -> Result<(i64, i64)> {
    let (step, num) = match json {
        Json::Array(items) if items.len() == 2 => (&items[0], &items[1]),
        Json::Object(o) => match (o.get("step"), o.get("num")) {
            (Some(step), Some(num)) => (step, num),
            _ => return Err(cx.fail(Code::J008, "a pair has `step` and `num`", json)),
        },
        _ => return Err(cx.fail(Code::J008, "a pair is [step, num]", json)),
    };
    Ok((integer(cx, step)?, integer(cx, num)?))
}

fn map(cx: &Context, json: Json) -> Result<Value> {
    let pairs: Option<Vec<(String, String)>> = match &json {
        Json::Object(o) => o.iter().map(|(k, v)| Some((k.clone(), v.as_str()?.to_string()))).collect(),
        Json::Array(items) if items.iter().any(Json::is_string) => {
            let names: Option<Vec<String>> = items.iter().map(|i| i.as_str().map(str::to_string)).collect();
            return match names {
                Some(names) => Ok(Value::Strs(names)),
                None => Err(mismatch(cx, "a map of names, or a list of names", &json)),
            };
        }
        Json::Array(items) => items
            .iter()
            .map(|i| match i.as_array()?.as_slice() {
                [a, b] => Some((a.as_str()?.to_string(), b.as_str()?.to_string())),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    pairs.map(Value::Map).ok_or_else(|| mismatch(cx, "a map of names, or a list of [name, name]", &json))
}

fn axis(cx: &Context, json: Json) -> Result<Axis> {
    let Json::Object(mut o) = json else { return Err(mismatch(cx, "an axis {name, lb, ub, stride}", &json)) };
    let mut bound = |key: &'static str, default: Option<i64>| match (o.remove(key), default) {
        (Some(v), _) if !v.is_null() => expr(cx, v),
        (_, Some(d)) => Ok(Expr::Const(d)),
        _ => Err(cx.fail_with(Error::new(Code::J003, format!("an axis has no key `{key}`")))),
    };
    let (lb, ub, stride) = (bound("lb", Some(0))?, bound("ub", None)?, bound("stride", Some(1))?);
    match o.remove("name") {
        Some(Json::String(name)) => Ok(Axis { name, lb, ub, stride }),
        Some(other) => Err(mismatch(cx, "an axis name", &other)),
        None => Err(cx.fail_with(Error::new(Code::J003, "an axis has no key `name`"))),
    }
}
