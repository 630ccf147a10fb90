//! Affine expressions of both versions, and predicates (`bir-json.md` 7).

use super::context::Context;
use super::list::list;
use super::scalar::{Int, Text, value};
use super::unique::Once;
use crate::{Expr, Predicate, PredicateOp};
use birsim_kernels::{Code, Named};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// An expression: a bare integer, or an object.
#[derive(Clone, Copy)]
pub(super) struct ExprSeed<'c>(pub &'c Context);

/// A predicate: `{"expr", "op"}`, or a bare expression that must not be negative.
#[derive(Clone, Copy)]
pub(super) struct PredicateSeed<'c>(pub &'c Context);

/// An element of `terms`: an expression with a coefficient, or an expression alone.
#[derive(Clone, Copy)]
struct TermSeed<'c>(&'c Context);

/// `[expression, coefficient]` of `aff_expr`.
#[derive(Clone, Copy)]
pub(super) struct ScaledSeed<'c>(pub &'c Context);

/// Every key that an expression object of any kind may hold.
#[derive(Default)]
struct Parts {
    kind: Option<String>,
    terms: Option<Vec<(Expr, Option<i64>)>>,
    c: Option<i64>,
    name: Option<String>,
    op: Option<String>,
    op_param: Option<i64>,
    number: Option<i64>,
    scale: Option<i64>,
    channel_id: Option<i64>,
    replica_groups_id: Option<i64>,
    first: Option<Expr>,
    second: Option<Expr>,
    expr: Option<Expr>,
}

fn read_parts<'de, A: MapAccess<'de>>(cx: &Context, map: &mut Once<'_, 'de, A>) -> Result<Parts, A::Error> {
    let mut p = Parts::default();
    while let Some(key) = map.next_key()? {
        match &*key {
            "kind" => p.kind = value(cx, map, "kind", Text)?,
            "terms" => p.terms = value(cx, map, "terms", list(cx, TermSeed(cx)))?,
            "c" => p.c = value(cx, map, "c", Int)?,
            "axis" => p.name = value(cx, map, "axis", Text)?,
            "AxisLabel" => p.name = value(cx, map, "AxisLabel", Text)?,
            "regref" => p.name = value(cx, map, "regref", Text)?,
            "op" => p.op = value(cx, map, "op", Text)?,
            "op_param" => p.op_param = value(cx, map, "op_param", Int)?,
            "ub" => p.number = value(cx, map, "ub", Int)?,
            "arg_id" => p.number = value(cx, map, "arg_id", Int)?,
            "iteration_id" => p.number = value(cx, map, "iteration_id", Int)?,
            "channel_id" => p.channel_id = value(cx, map, "channel_id", Int)?,
            "replica_groups_id" => p.replica_groups_id = value(cx, map, "replica_groups_id", Int)?,
            "scale" => p.scale = value(cx, map, "scale", Int)?,
            "coeff" => p.scale = value(cx, map, "coeff", Int)?,
            "coef" => p.scale = value(cx, map, "coef", Int)?,
            "var" => p.first = value(cx, map, "var", ExprSeed(cx))?,
            "numer" => p.first = value(cx, map, "numer", ExprSeed(cx))?,
            "denom" => p.second = value(cx, map, "denom", ExprSeed(cx))?,
            "idx" => p.first = value(cx, map, "idx", ExprSeed(cx))?,
            "expr" => p.expr = value(cx, map, "expr", ExprSeed(cx))?,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
    }
    Ok(p)
}

impl Parts {
    fn affine(&mut self) -> Expr {
        let c = self.c.unwrap_or(0);
        match self.terms.take() {
            Some(terms) if !terms.is_empty() => {
                Expr::Affine { terms: terms.into_iter().map(|(e, k)| (e, k.unwrap_or(1))).collect(), c }
            }
            _ => Expr::Const(c),
        }
    }

    /// Version 2: `kind` decides.
    fn by_kind<E: serde::de::Error>(mut self, cx: &Context, kind: &str) -> Result<Expr, E> {
        let name = self.name.take();
        let need_name = |key| name.ok_or_else(|| cx.missing(key, &format!("an expression of kind {kind}")));
        match kind {
            "AffExprKind" => Ok(self.affine()),
            "AffIVKind" => need_name("axis").map(Expr::Axis),
            "IntRuntimeValueKind" => need_name("regref").map(Expr::Register),
            "ShardIDKind" => Ok(Expr::ShardId { ub: self.need(cx, kind, "ub", self.number)? }),
            "SumKind" => Ok(Expr::Sum(self.terms.take().unwrap_or_default().into_iter().map(scaled).collect())),
            "MultKind" => {
                let scale = self.need(cx, kind, "scale", self.scale)?;
                let var = self.first.take();
                Ok(Expr::Mult(Box::new(self.need(cx, kind, "var", var)?), scale))
            }
            "FloorDivKind" => self.fraction(cx, kind).map(|(n, d)| Expr::FloorDiv(n, d)),
            "ModuloKind" | "CCModKind" => self.fraction(cx, kind).map(|(n, d)| Expr::Modulo(n, d)),
            "CCDivKind" => {
                let replica_groups_id = self.replica_groups_id.unwrap_or(0);
                self.fraction(cx, kind).map(|(numer, denom)| Expr::CcDiv { numer, denom, replica_groups_id })
            }
            "CCGetRankKind" => Ok(Expr::CcGetRank {
                iteration_id: self.need(cx, kind, "iteration_id", self.number)?,
                channel_id: self.need(cx, kind, "channel_id", self.channel_id)?,
            }),
            "IndirectArgId" => Ok(Expr::IndirectArg { arg_id: self.need(cx, kind, "arg_id", self.number)? }),
            _ => Err(cx.fail(Code::J012, "unknown kind of expression", kind)),
        }
    }

    fn need<T, E: serde::de::Error>(&self, cx: &Context, kind: &str, key: &'static str, v: Option<T>) -> Result<T, E> {
        v.ok_or_else(|| cx.missing(key, &format!("an expression of kind {kind}")))
    }

    #[allow(clippy::type_complexity)]
    fn fraction<E: serde::de::Error>(mut self, cx: &Context, kind: &str) -> Result<(Box<Expr>, Box<Expr>), E> {
        let (numer, denom) = (self.first.take(), self.second.take());
        Ok((Box::new(self.need(cx, kind, "numer", numer)?), Box::new(self.need(cx, kind, "denom", denom)?)))
    }

    /// Version 1: one flat object, with an optional operation on the whole.
    fn flat<E: serde::de::Error>(mut self, cx: &Context) -> Result<Expr, E> {
        if self.terms.is_none() && self.c.is_none() && self.op.is_none() {
            return Err(cx.fail(Code::J012, "an expression has `kind`, or `terms` and `c`", "an object without them"));
        }
        let inner = Box::new(self.affine());
        let Some(op) = self.op.take() else { return Ok(*inner) };
        let param = |p: Option<i64>| match p {
            Some(p) => Ok(Box::new(Expr::Const(p))),
            None => Err(cx.missing("op_param", "an expression with `op`")),
        };
        match op.as_str() {
            "Mod" => Ok(Expr::Modulo(inner, param(self.op_param)?)),
            "Div" => Ok(Expr::FloorDiv(inner, param(self.op_param)?)),
            "CCGetRank" => Ok(Expr::CcDiv { numer: inner, denom: param(self.op_param)?, replica_groups_id: 0 }),
            "IndirectArgId" => Ok(Expr::IndirectArg { arg_id: self.op_param.or(inner.as_const()).unwrap_or(0) }),
            _ => Err(cx.fail(Code::J012, "unknown operation of an expression", op)),
        }
    }

    fn build<E: serde::de::Error>(mut self, cx: &Context) -> Result<Expr, E> {
        match self.kind.take() {
            Some(kind) => self.by_kind(cx, &kind),
            None => self.flat(cx),
        }
    }
}

fn scaled((e, coefficient): (Expr, Option<i64>)) -> Expr {
    match coefficient {
        None | Some(1) => e,
        Some(k) => Expr::Mult(Box::new(e), k),
    }
}

/// Visitor methods shared by the seeds: integers are constants.
macro_rules! expression_visitor {
    ($name:ident -> $out:ty, $expecting:literal, |$cx:ident, $expr:ident| $constant:expr, |$parts:ident| $object:expr) => {
        impl<'de> DeserializeSeed<'de> for $name<'_> {
            type Value = $out;

            fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<$out, D::Error> {
                d.deserialize_any(self)
            }
        }

        impl<'de> Visitor<'de> for $name<'_> {
            type Value = $out;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expecting)
            }

            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<$out, E> {
                let $expr = Expr::Const(v);
                Ok($constant)
            }

            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<$out, E> {
                match i64::try_from(v) {
                    Ok(v) => self.visit_i64(v),
                    Err(_) => Err(self.0.fail(Code::J012, "a constant of an expression is below 2^63", v)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$out, A::Error> {
                let $cx = self.0;
                let $parts = read_parts($cx, &mut Once::new($cx, map))?;
                $object
            }
        }
    };
}

expression_visitor!(ExprSeed -> Expr, "an affine expression", |cx, e| e, |p| p.build(cx));

expression_visitor!(TermSeed -> (Expr, Option<i64>), "a term", |cx, e| (e, None), |p| {
    let mut p = p;
    if p.kind.is_none() {
        if let Some(idx) = p.first.take() {
            return Ok((idx, Some(p.scale.unwrap_or(1))));
        }
        if let Some(axis) = p.name.take() {
            return Ok((Expr::Axis(axis), Some(p.scale.unwrap_or(1))));
        }
    }
    Ok((p.build(cx)?, None))
});

expression_visitor!(PredicateSeed -> Predicate, "a predicate", |cx, expr| Predicate { expr, op: PredicateOp::Ge }, |p| {
    let mut p = p;
    let Some(expr) = p.expr.take() else {
        return Ok(Predicate { expr: p.build(cx)?, op: PredicateOp::Ge });
    };
    let op = match p.op {
        None => PredicateOp::Ge,
        Some(text) => PredicateOp::from_name(&text)
            .ok_or_else(|| cx.fail(Code::J012, "a predicate's op is ge, eq, lt, le, gt or ne", text))?,
    };
    Ok(Predicate { expr, op })
});

impl<'de> DeserializeSeed<'de> for ScaledSeed<'_> {
    type Value = (Expr, i64);

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ScaledSeed<'_> {
    type Value = (Expr, i64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair of expression and coefficient")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let expr = seq.next_element_seed(ExprSeed(self.0))?;
        let coefficient = seq.next_element_seed(Int)?;
        let rest = seq.next_element::<IgnoredAny>()?;
        match (expr, coefficient, rest) {
            (Some(e), Some(k), None) => Ok((e, k)),
            _ => Err(A::Error::custom("expected a pair of expression and coefficient")),
        }
    }
}
