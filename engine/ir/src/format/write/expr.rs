//! Expressions of version 2 (`bir-json.md` 7.1).

use super::name;
use crate::{Expr, Predicate};
use serde_json::{Value as Json, json};

/// An expression as an object.
pub(super) fn expr(e: &Expr) -> Json {
    match e {
        Expr::Const(c) => json!({"kind": "AffExprKind", "terms": [], "c": c}),
        Expr::Affine { terms, c } => {
            let terms: Vec<Json> = terms.iter().map(|(e, k)| json!({"idx": expr(e), "coeff": k})).collect();
            json!({"kind": "AffExprKind", "terms": terms, "c": c})
        }
        Expr::Axis(axis) => json!({"kind": "AffIVKind", "axis": axis}),
        Expr::Register(regref) => json!({"kind": "IntRuntimeValueKind", "regref": regref}),
        Expr::ShardId { ub } => json!({"kind": "ShardIDKind", "ub": ub}),
        Expr::Sum(terms) => {
            let terms: Vec<Json> = terms.iter().map(expr).collect();
            json!({"kind": "SumKind", "n_terms": terms.len(), "terms": terms})
        }
        Expr::Mult(var, scale) => json!({"kind": "MultKind", "var": expr(var), "scale": scale}),
        Expr::FloorDiv(numer, denom) => {
            json!({"kind": "FloorDivKind", "numer": constant_or_expr(numer), "denom": constant_or_expr(denom)})
        }
        Expr::Modulo(numer, denom) => {
            json!({"kind": "ModuloKind", "numer": constant_or_expr(numer), "denom": constant_or_expr(denom)})
        }
        Expr::CcDiv { numer, denom, replica_groups_id } => json!({
            "kind": "CCDivKind", "numer": constant_or_expr(numer), "denom": constant_or_expr(denom),
            "replica_groups_id": replica_groups_id,
        }),
        Expr::CcGetRank { iteration_id, channel_id } => {
            json!({"kind": "CCGetRankKind", "iteration_id": iteration_id, "channel_id": channel_id})
        }
        Expr::IndirectArg { arg_id } => json!({"kind": "IndirectArgId", "arg_id": arg_id}),
    }
}

/// A bare integer where the format allows one.
pub(super) fn constant_or_expr(e: &Expr) -> Json {
    match e {
        Expr::Const(c) => Json::from(*c),
        other => expr(other),
    }
}

pub(super) fn predicate(p: &Predicate) -> Json {
    json!({"expr": expr(&p.expr), "op": name(p.op)})
}
