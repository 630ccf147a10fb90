//! Operands and expressions from the module to their executable form.

use super::compile::Context;
use super::expr::Ex;
use super::{DynamicSpec, LocId, Opnd, RegRef, SetId, VectorSpec};
use crate::ir::{ApPair, Expr, ImmValue, IndirectDim, Operand};
use crate::memory::resolve;
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::access::Imm;
use birsim_kernels::profile::OffsetUnit;
use half::{bf16, f16};

const MAX_DEPTH: u32 = 64;

impl Context<'_> {
    /// Compiles an expression.
    pub fn expr(&self, e: &Expr) -> Result<Ex> {
        self.expr_at(e, 0)
    }

    fn expr_at(&self, e: &Expr, depth: u32) -> Result<Ex> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::J014, "an expression nests more than 64 deep"));
        }
        let sub = |e: &Expr| self.expr_at(e, depth + 1);
        Ok(match e {
            Expr::Const(c) => Ex::C(*c),
            Expr::Affine { terms, c } => {
                let terms: Result<Vec<_>> = terms.iter().map(|(t, k)| Ok((sub(t)?, *k))).collect();
                fold(terms?, *c)
            }
            Expr::Axis(name) => Ex::Axis(self.axis(name)?),
            Expr::Register(name) => Ex::Reg(self.register(name)?),
            Expr::ShardId { ub } => Ex::Shard(*ub),
            Expr::Sum(terms) => {
                let terms: Result<Vec<_>> = terms.iter().map(|t| Ok((sub(t)?, 1))).collect();
                fold(terms?, 0)
            }
            Expr::Mult(v, k) => fold(vec![(sub(v)?, *k)], 0),
            Expr::FloorDiv(n, d) => Ex::Div(Box::new((sub(n)?, sub(d)?))),
            Expr::Modulo(n, d) => Ex::Mod(Box::new((sub(n)?, sub(d)?))),
            Expr::CcDiv { numer, denom, .. } => Ex::Div(Box::new((sub(numer)?, sub(denom)?))),
            Expr::CcGetRank { .. } => Ex::Rank,
            Expr::IndirectArg { arg_id } => Ex::Indirect(
                u32::try_from(*arg_id)
                    .map_err(|_| Error::new(Code::J012, "an index operand has a negative position").received(arg_id))?,
            ),
        })
    }

    /// A register by name.
    pub fn register(&self, name: &str) -> Result<RegRef> {
        self.scope().registers.get(name).copied().ok_or_else(|| {
            Error::new(Code::J006, format!("there is no register named {name} in this function")).received(name)
        })
    }

    fn set_of(&self, memref: &str, memsetref: &str) -> Result<(SetId, Option<LocId>)> {
        let scope = self.scope();
        if !memref.is_empty() {
            if let Some(l) = scope.locations.get(memref) {
                return Ok((self.program.locations[*l].set, Some(*l)));
            }
            if let Some(s) = scope.sets.get(memref) {
                return Ok((*s, None));
            }
            return Err(
                Error::new(Code::J006, format!("there is no tensor named {memref} in this function")).received(memref)
            );
        }
        scope.sets.get(memsetref).map(|s| (*s, None)).ok_or_else(|| {
            Error::new(Code::J006, format!("there is no tensor set named {memsetref} in this function"))
                .received(memsetref)
        })
    }

    fn only_location(&self, set: SetId) -> Result<LocId> {
        match self.program.sets[set].locations.as_slice() {
            [one] => Ok(*one),
            many => Err(Error::new(Code::J006, "the tensor set does not name one location")
                .received(format!("{} of {} locations", self.program.sets[set].name, many.len()))
                .advice("name the location in memref")),
        }
    }

    /// Compiles one operand. A static pattern that leaves its tensor comes back as the fault it will raise.
    pub fn operand(&mut self, o: &Operand) -> Result<Opnd> {
        match o {
            Operand::Physical(a) => {
                let (set, loc) = self.set_of(&a.memref, &a.memsetref)?;
                let loc = match loc {
                    Some(l) => l,
                    None => self.only_location(set)?,
                };
                if let Some(d) = &a.dynamic {
                    let mut offset = vec![(Ex::C(1), d.c.unwrap_or(a.offset))];
                    let mut bytes = Vec::new();
                    let in_bytes = self.layout.profile.offset_unit == OffsetUnit::Byte;
                    let (mut vector, mut coefficient) = (None, None);
                    if let Some(e) = &d.offset_expr {
                        match self.expr(e)? {
                            Ex::Indirect(arg) => vector = Some(arg),
                            Ex::Lin(t, c) if matches!(t.as_ref(), [(Ex::Indirect(_), _)]) => {
                                if let [(Ex::Indirect(arg), k)] = t.as_ref() {
                                    vector = Some(*arg);
                                    coefficient = (*k != 1).then_some(*k);
                                    offset.push((Ex::C(1), c));
                                }
                            }
                            scalar if in_bytes => bytes.push((scalar, 1)),
                            scalar => offset.push((scalar, 1)),
                        }
                    }
                    for (e, k) in &d.aff_expr {
                        match self.expr(e)? {
                            // The coefficient of an index term is the distance of rows (`klr.md` 6.3).
                            Ex::Indirect(arg) => {
                                vector = vector.or(Some(arg));
                                coefficient = Some(*k);
                            }
                            scalar if in_bytes => bytes.push((scalar, *k)),
                            scalar => offset.push((scalar, *k)),
                        }
                    }
                    let vector = vector.map(|arg| VectorSpec {
                        arg: d.indirect_arg_id.and_then(|i| u32::try_from(i).ok()).unwrap_or(arg),
                        dim: d.indirect_dim.unwrap_or(IndirectDim::W),
                        max_index: d.indirect_dim_max_index,
                        coefficient,
                    });
                    let ap = if d.actual_ap.is_empty() { &*a.ap } else { &d.actual_ap };
                    let sub = Ex::C(i64::from(self.tensor_id(set, loc)));
                    let mut spec = self.spec(set, sub, fold(offset, 0), a.dtype, ap, vector);
                    spec.bytes = (!bytes.is_empty()).then(|| fold(bytes, 0));
                    return Ok(Opnd::Dynamic(Box::new(spec)));
                }
                if self.program.sets[set].formal {
                    return Ok(self.dynamic(set, self.tensor_id(set, loc), Ex::C(a.offset), a.dtype, &a.ap, None));
                }
                self.fixed(loc, a.dtype, a.offset, &a.ap)
            }
            Operand::Symbolic(a) => {
                let (set, loc) = self.set_of(&a.memref, &a.memsetref)?;
                let (block, tile) = self.symbolic_address(set, a.dtype, &a.addrs)?;
                let block = loc.map_or(block, |l| Ex::C(i64::from(self.tensor_id(set, l))));
                if a.tensor_indirect_arg_id >= 0 {
                    let arg = a.tensor_indirect_arg_id as u32;
                    let vector = Some(VectorSpec {
                        arg,
                        dim: IndirectDim::W,
                        max_index: a.num_tensor_indirect_indices,
                        coefficient: None,
                    });
                    return Ok(self.dynamic_ex(set, block, tile, a.dtype, &a.ap, vector));
                }
                if let (Some(b), Some(t), false) = (block.as_const(), tile.as_const(), self.program.sets[set].formal) {
                    let list = &self.program.sets[set].locations;
                    if let Some(l) = usize::try_from(b).ok().and_then(|b| list.get(b)) {
                        return self.fixed(*l, a.dtype, t, &a.ap);
                    }
                }
                Ok(self.dynamic_ex(set, block, tile, a.dtype, &a.ap, None))
            }
            Operand::RegisterAp(a) => {
                let (set, loc) = self.set_of(&a.memref, &a.memsetref)?;
                let sub = match (&a.reg_sub_tensor_id, a.const_sub_tensor_id, loc) {
                    (Some(r), _, _) => Ex::Reg(self.register(r)?),
                    (None, k, _) if k >= 0 => Ex::C(k),
                    (None, _, Some(l)) => Ex::C(i64::from(self.tensor_id(set, l))),
                    (None, _, None) => Ex::C(0),
                };
                let (offset, absolute) = match (&a.reg_ap_offset, &a.regref) {
                    (Some(r), _) => (Ex::Reg(self.register(r)?), false),
                    (None, Some(r)) if a.is_regloc_offset => (Ex::Reg(self.register(r)?), false),
                    (None, Some(r)) if a.const_ap_offset == 0 => (Ex::Reg(self.register(r)?), true),
                    _ => (Ex::C(a.const_ap_offset), false),
                };
                let mut spec = self.spec(set, sub, offset, a.dtype, &a.ap, None);
                spec.absolute = absolute;
                spec.by_register = true;
                Ok(Opnd::Dynamic(Box::new(spec)))
            }
            Operand::Imm { dtype, value, .. } => {
                let imm = imm(*dtype, *value)?;
                Ok(Opnd::Imm { imm, number: number(*dtype, *value) })
            }
            Operand::SymbolicImm { dtype, values, expr, .. } => {
                let list: Result<Vec<Imm>> = values.iter().map(|v| imm(*dtype, *v)).collect();
                Ok(Opnd::SymbolicImm(Box::new((*dtype, list?, self.expr(expr)?))))
            }
            Operand::ImmArray { dtype, values, .. } => {
                let list: Result<Vec<Imm>> = values.iter().map(|v| imm(*dtype, *v)).collect();
                Ok(Opnd::ImmArray(list?.into()))
            }
            Operand::Register { dtype, regref, .. } => Ok(Opnd::Register(self.register(regref)?, *dtype)),
        }
    }

    fn tensor_id(&self, set: SetId, loc: LocId) -> u32 {
        self.program.sets[set].locations.iter().position(|l| *l == loc).unwrap_or(0) as u32
    }

    fn fixed(&mut self, loc: LocId, dtype: Dtype, offset: i64, ap: &[ApPair]) -> Result<Opnd> {
        if self.moving {
            let set = self.program.locations[loc].set;
            return Ok(self.dynamic(set, self.tensor_id(set, loc), Ex::C(offset), dtype, ap, None));
        }
        let info = &self.layout.placements[loc];
        let name = &self.program.locations[loc].name;
        match resolve(info, dtype, offset, ap).map_err(|e| e.at(|p| p.tensor = Some(name.to_string()))) {
            Ok(pattern) => {
                let arena = info.arena;
                Ok(Opnd::Static { loc, arena, pattern: self.patterns.number(pattern, &mut self.program.patterns) })
            }
            // Out of bounds is a fault of the instruction, raised only when it executes.
            Err(e) if e.class() == crate::Class::Fault => Ok(Opnd::Faulty(Box::new(e))),
            Err(e) => Err(e),
        }
    }

    fn spec(&self, set: SetId, sub: Ex, offset: Ex, dtype: Dtype, ap: &[ApPair], v: Option<VectorSpec>) -> DynamicSpec {
        DynamicSpec {
            set,
            sub,
            offset,
            absolute: false,
            dtype,
            ap: ap.into(),
            vector: v,
            by_register: false,
            operand_scale: None,
            bytes: None,
            anchor: None,
        }
    }

    fn dynamic(&self, set: SetId, sub: u32, offset: Ex, dtype: Dtype, ap: &[ApPair], v: Option<VectorSpec>) -> Opnd {
        Opnd::Dynamic(Box::new(self.spec(set, Ex::C(i64::from(sub)), offset, dtype, ap, v)))
    }

    fn dynamic_ex(&self, set: SetId, sub: Ex, offset: Ex, dtype: Dtype, ap: &[ApPair], v: Option<VectorSpec>) -> Opnd {
        Opnd::Dynamic(Box::new(self.spec(set, sub, offset, dtype, ap, v)))
    }

    /// Block and tile address of a symbolic pattern (`bir-json.md` 6.2).
    fn symbolic_address(&self, set: SetId, dtype: Dtype, addrs: &[Expr]) -> Result<(Ex, Ex)> {
        let locations = &self.program.sets[set].locations;
        let Some(first) = locations.first() else {
            return Err(Error::new(Code::J006, "the tensor set has no location").received(&self.program.sets[set].name));
        };
        let shape = &self.program.locations[*first].shape;
        let rank = shape.len();
        match addrs {
            [] => return Ok((Ex::C(0), Ex::C(0))),
            [tile] => return Ok((Ex::C(0), self.expr(tile)?)),
            many if many.len() != rank => {
                return Ok((self.expr(&many[0])?, self.expr(&many[many.len() - 1])?));
            }
            _ => {}
        }
        let d0 = self.partition_dim(set).min(rank - 1);
        let product = |from: usize, to: usize| {
            let p = shape[from..to].iter().try_fold(1i64, |t, n| t.checked_mul(i64::try_from(*n).ok()?));
            p.ok_or_else(|| Error::new(Code::J013, "the tensor shape leaves the 64-bit range"))
        };
        let mut block = Vec::new();
        for (d, addr) in addrs[..d0].iter().enumerate() {
            block.push((self.expr(addr)?, product(d + 1, d0)?));
        }
        let pitch = self.layout.placements[*first].row_bytes / dtype.size() as u64;
        let mut tile = vec![(self.expr(&addrs[d0])?, pitch as i64)];
        for (d, addr) in addrs.iter().enumerate().skip(d0 + 1) {
            tile.push((self.expr(addr)?, product(d + 1, rank)?));
        }
        Ok((fold(block, 0), fold(tile, 0)))
    }
}

/// Sums terms, folding constants; a constant that overflows is left to the checked evaluation.
fn fold(terms: Vec<(Ex, i64)>, c: i64) -> Ex {
    let mut constant = c;
    let mut rest = Vec::new();
    for (t, k) in terms {
        match t.as_const().and_then(|v| v.checked_mul(k)).and_then(|v| constant.checked_add(v)) {
            Some(sum) => constant = sum,
            None => rest.push((t, k)),
        }
    }
    match rest.as_slice() {
        [] => Ex::C(constant),
        [(t, 1)] if constant == 0 => t.clone(),
        _ => Ex::Lin(rest.into(), constant),
    }
}

/// The number a human meant by an immediate.
pub(crate) fn number(dtype: Dtype, value: ImmValue) -> f64 {
    match (dtype, value) {
        (Dtype::Bfloat16, ImmValue::Int(bits)) => bf16::from_bits(bits as u16).to_f64(),
        (Dtype::Float16, ImmValue::Int(bits)) => f16::from_bits(bits as u16).to_f64(),
        (_, ImmValue::Int(i)) => i as f64,
        (_, ImmValue::Float(x)) => x,
    }
}

/// Bits of an immediate (`bir-json.md` 6): 16-bit floats are written as their bit pattern.
pub fn imm(dtype: Dtype, value: ImmValue) -> Result<Imm> {
    let out_of_range =
        || Error::new(Code::J011, format!("an immediate does not fit {dtype}")).received(format!("{value:?}"));
    let bits = match (dtype, value) {
        (Dtype::Float32, ImmValue::Float(x)) => u64::from((x as f32).to_bits()),
        (Dtype::Float32, ImmValue::Int(i)) => u64::from((i as f32).to_bits()),
        (Dtype::Bfloat16 | Dtype::Float16, ImmValue::Int(i)) => {
            u64::from(u16::try_from(i).map_err(|_| out_of_range())?)
        }
        (Dtype::Bfloat16, ImmValue::Float(x)) => u64::from(bf16::from_f64(x).to_bits()),
        (Dtype::Float16, ImmValue::Float(x)) => u64::from(f16::from_f64(x).to_bits()),
        (d, ImmValue::Int(i)) if d.is_integer() => {
            let bits = d.size() as u32 * 8;
            if i < -(1i128 << (bits - 1)) || i >= 1i128 << bits {
                return Err(out_of_range());
            }
            // Stored sign- or zero-extended by the dtype.
            let shift = 64 - bits;
            let raw = (i as u64) << shift;
            if d.is_signed() { ((raw as i64) >> shift) as u64 } else { raw >> shift }
        }
        (d, ImmValue::Float(x)) if d.is_integer() && x.fract() == 0.0 && x.abs() < 1e18 => {
            return imm(d, ImmValue::Int(x as i128));
        }
        (d, _) if !d.is_immediate() => {
            return Err(Error::new(Code::J011, format!("{d} is not a dtype of immediates")).received(d));
        }
        _ => return Err(out_of_range()),
    };
    Ok(Imm { dtype, bits })
}
