//! Operands (`bir-json.md` 6).

use super::context::Context;
use super::expr::{ExprSeed, ScaledSeed};
use super::list::list;
use super::scalar::{Flag, Imm, Int, Name, Pair, Passing, Pattern, Shared, Text, Uint, keep, record, value};
use super::unique::Once;
use crate::{DynamicAp, Expr, Extra, ImmValue, Operand, Pairs, PhysicalAp, RegisterAp, SymbolicAp};
use birsim_kernels::{Code, Dtype};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Every key that an operand of any kind may hold.
#[derive(Default)]
struct Parts<'de> {
    kind: Option<Cow<'de, str>>,
    dtype: Option<Dtype>,
    ap: Option<Pairs>,
    offset: Option<i64>,
    memref: Option<crate::Name>,
    memsetref: Option<crate::Name>,
    dynamic: Option<Box<DynamicAp>>,
    addrs: Option<Vec<Expr>>,
    tensor_indirect_arg_id: Option<i64>,
    num_tensor_indirect_indices: Option<u64>,
    regref: Option<String>,
    is_regloc_offset: Option<bool>,
    reg_ap_offset: Option<String>,
    const_ap_offset: Option<i64>,
    reg_sub_tensor_id: Option<String>,
    const_sub_tensor_id: Option<i64>,
    value: Option<ImmValue>,
    values: Option<Vec<ImmValue>>,
    expr: Option<Expr>,
    extra: Extra,
}

record! {
    /// One operand.
    OperandSeed -> Operand, "an operand", |cx, map| {
        let mut p = Parts::default();
        while let Some(key) = map.next_key()? {
            match &*key {
                "kind" => p.kind = value(cx, &mut map, "kind", Passing)?,
                "dtype" => p.dtype = value(cx, &mut map, "dtype", Name::new(cx))?,
                "ap" => p.ap = value(cx, &mut map, "ap", Pattern(cx))?,
                "offset" => p.offset = value(cx, &mut map, "offset", Int)?,
                "memref" => p.memref = value(cx, &mut map, "memref", Shared(cx))?,
                "memsetref" => p.memsetref = value(cx, &mut map, "memsetref", Shared(cx))?,
                "dynamic_ap_info" => p.dynamic = value(cx, &mut map, "dynamic_ap_info", Dynamic(cx))?.map(Box::new),
                "addrs" => p.addrs = value(cx, &mut map, "addrs", list(cx, ExprSeed(cx)))?,
                "tensor_indirect_arg_id" => {
                    p.tensor_indirect_arg_id = value(cx, &mut map, "tensor_indirect_arg_id", Int)?;
                }
                "num_tensor_indirect_indices" => {
                    p.num_tensor_indirect_indices = value(cx, &mut map, "num_tensor_indirect_indices", Uint)?;
                }
                "regref" => p.regref = value(cx, &mut map, "regref", Text)?,
                "is_regloc_offset" => p.is_regloc_offset = value(cx, &mut map, "is_regloc_offset", Flag)?,
                "reg_ap_offset" => p.reg_ap_offset = value(cx, &mut map, "reg_ap_offset", Text)?,
                "const_ap_offset" => p.const_ap_offset = value(cx, &mut map, "const_ap_offset", Int)?,
                "reg_sub_tensor_id" => p.reg_sub_tensor_id = value(cx, &mut map, "reg_sub_tensor_id", Text)?,
                "const_sub_tensor_id" => p.const_sub_tensor_id = value(cx, &mut map, "const_sub_tensor_id", Int)?,
                "value" => p.value = value(cx, &mut map, "value", Imm)?,
                "value_list" => p.values = value(cx, &mut map, "value_list", list(cx, Wrapped(cx)))?,
                "value_array" => p.values = value(cx, &mut map, "value_array", list(cx, Imm))?,
                "expr" => p.expr = value(cx, &mut map, "expr", ExprSeed(cx))?,
                _ => keep(cx, &mut map, &mut p.extra, key)?,
            }
        }
        p.build(cx)
    }
}

impl Parts<'_> {
    fn build<E: de::Error>(mut self, cx: &Context) -> Result<Operand, E> {
        let kind = self.kind.take().ok_or_else(|| cx.missing("kind", "an operand"))?;
        let dtype = self.dtype.ok_or_else(|| cx.missing("dtype", &format!("an operand of kind {kind}")))?;
        let need = |key| cx.missing::<E>(key, &format!("an operand of kind {kind}"));
        if kind != "physical_ap" && self.offset.is_some_and(|o| o != 0) {
            cx.at_key("offset");
            return Err(cx.fail(Code::J002, "only a physical_ap has `offset`", &kind));
        }
        Ok(match &*kind {
            "physical_ap" => Operand::Physical(PhysicalAp {
                dtype,
                memref: self.memref.unwrap_or_default(),
                memsetref: self.memsetref.unwrap_or_default(),
                offset: self.offset.unwrap_or(0),
                ap: self.ap.ok_or_else(|| need("ap"))?,
                dynamic: self.dynamic,
                extra: self.extra,
            }),
            "symbolic_ap" | "symbolic_pwap" => Operand::Symbolic(Box::new(SymbolicAp {
                dtype,
                pwap: kind == "symbolic_pwap",
                memsetref: self.memsetref.unwrap_or_default(),
                memref: self.memref.unwrap_or_default(),
                ap: self.ap.ok_or_else(|| need("ap"))?,
                addrs: self.addrs.ok_or_else(|| need("addrs"))?,
                tensor_indirect_arg_id: self.tensor_indirect_arg_id.unwrap_or(-1),
                num_tensor_indirect_indices: self.num_tensor_indirect_indices,
                extra: self.extra,
            })),
            "register_ap" => Operand::RegisterAp(Box::new(RegisterAp {
                dtype,
                memsetref: self.memsetref.unwrap_or_default(),
                memref: self.memref.unwrap_or_default(),
                ap: self.ap.ok_or_else(|| need("ap"))?,
                regref: self.regref,
                is_regloc_offset: self.is_regloc_offset.unwrap_or(false),
                reg_ap_offset: self.reg_ap_offset,
                const_ap_offset: self.const_ap_offset.unwrap_or(0),
                reg_sub_tensor_id: self.reg_sub_tensor_id,
                const_sub_tensor_id: self.const_sub_tensor_id.unwrap_or(-1),
                extra: self.extra,
            })),
            "imm_value" => Operand::Imm { dtype, value: self.value.ok_or_else(|| need("value"))?, extra: self.extra },
            "symbolic_imm_value" => Operand::SymbolicImm {
                dtype,
                values: self.values.ok_or_else(|| need("value_list"))?,
                expr: self.expr.ok_or_else(|| need("expr"))?,
                extra: self.extra,
            },
            "imm_array" => {
                Operand::ImmArray { dtype, values: self.values.ok_or_else(|| need("value_array"))?, extra: self.extra }
            }
            "register_access" => {
                Operand::Register { dtype, regref: self.regref.ok_or_else(|| need("regref"))?, extra: self.extra }
            }
            _ => {
                cx.at_key("kind");
                let what = "an operand's kind is physical_ap, symbolic_ap, symbolic_pwap, register_ap, imm_value, \
                            symbolic_imm_value, imm_array or register_access";
                return Err(cx.fail(Code::J005, what, &kind));
            }
        })
    }
}

record! {
    /// `dynamic_ap_info`.
    Dynamic -> DynamicAp, "a dynamic_ap_info record", |cx, map| {
        let mut d = DynamicAp {
            offset_expr: None,
            actual_ap: Vec::new(),
            c: None,
            aff_expr: Vec::new(),
            indirect_dim: None,
            indirect_dim_max_index: None,
            num_indirect_args: None,
            indirect_arg_id: None,
            extra: Extra::new(),
        };
        while let Some(key) = map.next_key()? {
            match &*key {
                "offset_expr" => d.offset_expr = value(cx, &mut map, "offset_expr", ExprSeed(cx))?,
                "actual_ap" => {
                    d.actual_ap = value(cx, &mut map, "actual_ap", list(cx, Pair(cx)))?.unwrap_or_default();
                }
                "c" => d.c = value(cx, &mut map, "c", Int)?,
                "aff_expr" => {
                    d.aff_expr = value(cx, &mut map, "aff_expr", list(cx, ScaledSeed(cx)))?.unwrap_or_default();
                }
                "indirect_dim" => d.indirect_dim = value(cx, &mut map, "indirect_dim", Name::new(cx))?,
                "indirect_dim_max_index" => {
                    d.indirect_dim_max_index = value(cx, &mut map, "indirect_dim_max_index", Uint)?;
                }
                "num_indirect_args" => d.num_indirect_args = value(cx, &mut map, "num_indirect_args", Uint)?,
                "indirect_arg_id" => d.indirect_arg_id = value(cx, &mut map, "indirect_arg_id", Int)?,
                _ => keep(cx, &mut map, &mut d.extra, key)?,
            }
        }
        Ok(d)
    }
}

/// An immediate, bare or as `{"value": x}`.
#[derive(Clone, Copy)]
struct Wrapped<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for Wrapped<'_> {
    type Value = ImmValue;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<ImmValue, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Wrapped<'_> {
    type Value = ImmValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or {\"value\": number}")
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<ImmValue, E> {
        Imm.visit_i64(v)
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<ImmValue, E> {
        Imm.visit_u64(v)
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<ImmValue, E> {
        Imm.visit_f64(v)
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<ImmValue, E> {
        Imm.visit_str(v)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ImmValue, A::Error> {
        let mut map = Once::new(self.0, map);
        let mut found = None;
        while let Some(key) = map.next_key()? {
            match &*key {
                "value" => found = Some(map.next_value_seed(Imm)?),
                _ => {
                    map.next_value::<de::IgnoredAny>()?;
                }
            }
        }
        found.ok_or_else(|| self.0.missing("value", "an element of value_list"))
    }
}
