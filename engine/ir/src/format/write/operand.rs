//! Operands and block arguments (`bir-json.md` 3, 6).

use super::expr::expr;
use super::{float, name};
use crate::{ApPair, BlockArgument, DynamicAp, Extra, ImmValue, Operand};
use birsim_kernels::Dtype;
use serde_json::{Value as Json, json};

/// A record under construction: defaults are left out.
struct Record(Extra);

impl Record {
    fn put(&mut self, key: &str, v: impl Into<Json>) {
        self.0.insert(key.to_string(), v.into());
    }

    fn text(&mut self, key: &str, v: &str) {
        if !v.is_empty() {
            self.put(key, v);
        }
    }

    fn some<T: Into<Json>>(&mut self, key: &str, v: Option<T>) {
        if let Some(v) = v {
            self.put(key, v);
        }
    }

    fn unless(&mut self, key: &str, v: i64, default: i64) {
        if v != default {
            self.put(key, v);
        }
    }
}

fn pairs(ap: &[ApPair]) -> Json {
    ap.iter().map(|p| json!([p.step, p.num])).collect()
}

/// Integers beyond 64 bits cannot be immediates; they are written as text, which no reader accepts.
fn immediate(v: &ImmValue) -> Json {
    match v {
        ImmValue::Float(x) => float(*x),
        ImmValue::Int(v) => match (i64::try_from(*v), u64::try_from(*v)) {
            (Ok(v), _) => v.into(),
            (_, Ok(v)) => v.into(),
            _ => v.to_string().into(),
        },
    }
}

pub(super) fn operand(o: &Operand) -> Json {
    let mut r = Record(o.extra().clone());
    r.put("kind", o.kind());
    r.put("dtype", name(o.dtype()));
    match o {
        Operand::Physical(a) => {
            r.put("ap", pairs(&a.ap));
            r.put("offset", a.offset);
            r.text("memref", &a.memref);
            r.text("memsetref", &a.memsetref);
            r.some("dynamic_ap_info", a.dynamic.as_deref().map(dynamic));
        }
        Operand::Symbolic(a) => {
            r.put("ap", pairs(&a.ap));
            r.put("addrs", a.addrs.iter().map(expr).collect::<Vec<_>>());
            r.text("memref", &a.memref);
            r.text("memsetref", &a.memsetref);
            r.unless("tensor_indirect_arg_id", a.tensor_indirect_arg_id, -1);
            r.some("num_tensor_indirect_indices", a.num_tensor_indirect_indices);
        }
        Operand::RegisterAp(a) => {
            r.put("ap", pairs(&a.ap));
            r.text("memref", &a.memref);
            r.text("memsetref", &a.memsetref);
            r.some("regref", a.regref.as_deref());
            if a.is_regloc_offset {
                r.put("is_regloc_offset", true);
            }
            r.some("reg_ap_offset", a.reg_ap_offset.as_deref());
            r.unless("const_ap_offset", a.const_ap_offset, 0);
            r.some("reg_sub_tensor_id", a.reg_sub_tensor_id.as_deref());
            r.unless("const_sub_tensor_id", a.const_sub_tensor_id, -1);
        }
        Operand::Imm { value, .. } => r.put("value", immediate(value)),
        Operand::SymbolicImm { values, expr: index, .. } => {
            r.put("value_list", values.iter().map(|v| json!({"value": immediate(v)})).collect::<Vec<_>>());
            r.put("expr", expr(index));
        }
        Operand::ImmArray { values, .. } => {
            r.put("value_array", values.iter().map(immediate).collect::<Vec<_>>());
        }
        Operand::Register { regref, .. } => r.put("regref", regref.as_str()),
    }
    Json::Object(r.0.into_map())
}

fn dynamic(d: &DynamicAp) -> Json {
    let mut r = Record(d.extra.clone());
    r.some("offset_expr", d.offset_expr.as_ref().map(expr));
    if !d.actual_ap.is_empty() {
        r.put("actual_ap", pairs(&d.actual_ap));
    }
    r.some("c", d.c);
    if !d.aff_expr.is_empty() {
        r.put("aff_expr", d.aff_expr.iter().map(|(e, k)| json!([expr(e), k])).collect::<Vec<_>>());
    }
    r.some("indirect_dim", d.indirect_dim.map(name));
    r.some("indirect_dim_max_index", d.indirect_dim_max_index);
    r.some("num_indirect_args", d.num_indirect_args);
    r.some("indirect_arg_id", d.indirect_arg_id);
    Json::Object(r.0.into_map())
}

pub(super) fn block_argument(a: &BlockArgument) -> Json {
    let mut r = Record(a.extra.clone());
    r.put("name", a.name.as_str());
    let incoming = a.incoming.iter().map(|(value, block)| {
        let value = match value {
            Operand::Register { dtype: Dtype::Uint32, regref, extra } if extra.is_empty() => regref.as_str().into(),
            other => operand(other),
        };
        json!([value, block])
    });
    r.put("incoming_values", incoming.collect::<Vec<_>>());
    Json::Object(r.0.into_map())
}
