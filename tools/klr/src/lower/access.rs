//! Access patterns (`klr.md` 6.1 to 6.3).

use super::context::Core;
use super::maps;
use super::tensors::{Placement, Region};
use crate::ast::{Access, AccessBasic, AccessPattern, BirAccessPattern, Index, ScalarOffset, TensorName, TensorRef};
use birsim_ir::{ApPair, DynamicAp, Expr, Extra, IndirectDim, Operand, PhysicalAp};
use birsim_kernels::{Code, Dtype, Error, Result};

/// A static pattern in elements of the tensor laid out row-major.
struct Linear {
    dtype: Dtype,
    offset: i64,
    pairs: Vec<ApPair>,
    /// Elements per row of the tensor.
    row: i64,
}

fn overflow() -> Error {
    Error::new(Code::K005, "an access pattern leaves 64 bits")
}

fn int(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| overflow().received(value))
}

fn pair(step: i64, num: u64) -> Result<ApPair> {
    Ok(ApPair { step, num: int(num)? })
}

/// The run-time part of an access.
pub enum Dynamic<'a> {
    /// A scalar along `axis`.
    Scalar(&'a ScalarOffset, i64),
    /// One index per row.
    Vector(&'a Access, i64),
}

/// The run-time part of a reference, if it has one. HBM references never do.
pub fn dynamic(reference: &TensorRef) -> Result<Option<Dynamic<'_>>> {
    let TensorRef::Abstract(Access::BirPattern(p)) = reference else { return Ok(None) };
    match (&p.scalar_offset, &p.vector_offset) {
        (None, None) => Ok(None),
        (Some(scalar), None) => Ok(Some(Dynamic::Scalar(scalar, p.indirect_dim))),
        (None, Some(vector)) => Ok(Some(Dynamic::Vector(vector, p.indirect_dim))),
        (Some(_), Some(_)) => Err(Error::new(Code::K005, "an access has both a scalar and a vector offset")),
    }
}

/// Elements between neighbours of axis `axis` of a tensor laid out row-major.
pub fn row_major_stride(tensor: &TensorName, axis: i64) -> Result<i64> {
    let dims = tensor.shape.dims();
    let after = usize::try_from(axis).ok().filter(|a| *a < dims.len()).map(|a| &dims[a + 1..]);
    let after = after.ok_or_else(|| {
        Error::new(Code::K005, "indirectDim names no axis of the tensor")
            .received(format!("{axis} of {} axes", dims.len()))
            .at(|p| p.tensor = Some(tensor.name.clone()))
    })?;
    int(after.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).ok_or_else(overflow)?)
}

impl Core<'_> {
    /// A static operand; a dynamic access is refused.
    pub fn ap(&mut self, reference: &TensorRef) -> Result<Operand> {
        if dynamic(reference)?.is_some() {
            return Err(Error::new(Code::K004, "Dynamic Access is not allowed in the instruction."));
        }
        self.base_ap(reference).map(Operand::Physical)
    }

    /// The static part of an operand.
    pub fn base_ap(&mut self, reference: &TensorRef) -> Result<PhysicalAp> {
        let access = match reference {
            TensorRef::Abstract(access) => access,
            TensorRef::Hbm(_) => return self.allocated_ap(reference),
            TensorRef::Sbuf(_) | TensorRef::Psum(_) if !self.options.strict => return self.allocated_ap(reference),
            _ => {
                return Err(Error::new(Code::K004, "unsupported tensorRef type").received(reference.constructor()));
            }
        };
        self.access_ap(access)
    }

    /// The static part of an access.
    pub fn access_ap(&mut self, access: &Access) -> Result<PhysicalAp> {
        let tensor = access.tensor();
        self.located(access).map_err(|e| e.at(|p| p.tensor = Some(tensor.name.clone())))
    }

    fn located(&mut self, access: &Access) -> Result<PhysicalAp> {
        let tensor = access.tensor();
        let linear = match access {
            Access::Simple(_) => simple(tensor)?,
            Access::BirPattern(p) => bir_pattern(p)?,
            Access::Basic(_) | Access::Pattern(_) if self.options.strict => {
                return Err(Error::new(Code::K004, "unsupported access type").received(access.constructor()));
            }
            Access::Basic(b) => basic(b)?,
            Access::Pattern(p) => pattern(p)?,
        };
        let placement = self.tensors.place(&Region::of(tensor)?)?;
        physical(linear, &placement)
    }

    /// An allocated reference: partitions first, then its own pairs.
    fn allocated_ap(&mut self, reference: &TensorRef) -> Result<PhysicalAp> {
        let Some((region, placement)) = self.tensors.place_ref(reference)? else {
            return Err(Error::new(Code::K004, "unsupported tensorRef type").received(reference.constructor()));
        };
        let place = |e: Error| e.at(|p| p.tensor = Some(region.name.clone()));
        let size = region.dtype.size() as u64;
        let mut linear = Linear { dtype: region.dtype, offset: 0, pairs: Vec::new(), row: int(region.bytes / size)? };
        let pairs = match reference {
            TensorRef::Hbm(t) => &t.dims,
            TensorRef::Sbuf(t) | TensorRef::Psum(t) => {
                linear.pairs.push(pair(linear.row, t.par_num)?);
                &t.pattern
            }
            _ => return Err(overflow()),
        };
        for p in pairs {
            linear.pairs.push(pair(p.step, p.num)?);
            let part = p.step.checked_mul(int(p.offset)?).ok_or_else(overflow)?;
            linear.offset = linear.offset.checked_add(part).ok_or_else(overflow)?;
        }
        physical(linear, &placement).map_err(place)
    }

    /// An operand that may be dynamic (DMA): the pattern and, for a vector, its index operand.
    pub fn dynamic_ap(&mut self, reference: &TensorRef) -> Result<(PhysicalAp, Option<Operand>)> {
        let mut ap = self.base_ap(reference)?;
        let TensorRef::Abstract(access) = reference else { return Ok((ap, None)) };
        let tensor = access.tensor();
        let (offset_expr, index, rows) = match dynamic(reference)? {
            None => return Ok((ap, None)),
            Some(Dynamic::Scalar(scalar, axis)) => {
                let coef = row_major_stride(tensor, axis)?;
                let register = self.offset_register(scalar)?;
                (Expr::Affine { terms: vec![(Expr::Register(register), coef)], c: 0 }, None, None)
            }
            Some(Dynamic::Vector(index, axis)) => {
                if axis != 0 {
                    let what = "When using vector offset, the only supported indirectDim is 0";
                    return Err(Error::new(Code::K004, what).received(axis));
                }
                // An index counts rows of the tensor and replaces the row's own position.
                if let Some(first) = ap.ap.first_mut() {
                    first.step = row_major_stride(tensor, 0)?;
                }
                let index = self.index_ap(index)?;
                (Expr::IndirectArg { arg_id: 1 }, Some(index), Some(tensor.shape.par_dim))
            }
        };
        ap.dynamic = Some(Box::new(DynamicAp {
            offset_expr: Some(offset_expr),
            actual_ap: ap.ap.to_vec(),
            c: Some(ap.offset),
            aff_expr: Vec::new(),
            indirect_dim: index.as_ref().map(|_| IndirectDim::W),
            indirect_dim_max_index: rows,
            num_indirect_args: index.as_ref().map(|_| 1),
            indirect_arg_id: index.as_ref().map(|_| 0),
            extra: Extra::new(),
        }));
        Ok((ap, index))
    }

    /// An index access, which is static itself.
    pub fn index_ap(&mut self, access: &Access) -> Result<Operand> {
        if matches!(access, Access::BirPattern(p) if p.scalar_offset.is_some() || p.vector_offset.is_some()) {
            return Err(Error::new(Code::K004, "the offset of a dynamic access is dynamic itself"));
        }
        self.access_ap(access).map(Operand::Physical)
    }

    /// The register that holds a scalar offset; a one-element access is loaded into a fresh one first.
    fn offset_register(&mut self, scalar: &ScalarOffset) -> Result<String> {
        match scalar {
            ScalarOffset::Reg(name) => {
                if !self.has_register(name) {
                    let what = format!("Cannot find register: {name} for scalar offset");
                    return Err(Error::new(Code::K005, what));
                }
                Ok(name.clone())
            }
            ScalarOffset::Acc(access) => {
                let source = self.index_ap(access)?;
                self.load_scalar(source)
            }
        }
    }
}

/// Whole tensor: [(F, P), (1, 1), (1, F)].
fn simple(tensor: &TensorName) -> Result<Linear> {
    let row = row(tensor, maps::dtype(tensor.dtype))?;
    let pairs = vec![pair(row, tensor.shape.par_dim)?, pair(1, 1)?, ApPair { step: 1, num: row }];
    Ok(Linear { dtype: maps::dtype(tensor.dtype), offset: 0, pairs, row })
}

/// Elements of `dtype` in a row of the tensor (ruling D1: an override reinterprets the bytes).
fn row(tensor: &TensorName, dtype: Dtype) -> Result<i64> {
    let own = maps::dtype(tensor.dtype).size() as u64;
    let bytes = tensor.shape.free_elements().and_then(|n| n.checked_mul(own)).ok_or_else(overflow)?;
    let size = dtype.size() as u64;
    if !bytes.is_multiple_of(size) {
        return Err(Error::new(Code::K005, "a row does not hold whole elements of the overriding dtype")
            .received(format!("{bytes} bytes, {dtype}")));
    }
    int(bytes / size)
}

fn bir_pattern(p: &BirAccessPattern) -> Result<Linear> {
    let dtype = maps::dtype(p.dtype_override.unwrap_or(p.tensor.dtype));
    // The offsets of the pairs are already part of the linear offset.
    let pairs = p.pattern.iter().map(|a| pair(a.step, a.num)).collect::<Result<_>>()?;
    Ok(Linear { dtype, offset: int(p.offset)?, pairs, row: row(&p.tensor, dtype)? })
}

/// One index or slice per axis. A slice's step multiplies the axis stride, which is what the author's slice means.
fn basic(b: &AccessBasic) -> Result<Linear> {
    let dims = b.tensor.shape.dims();
    if dims.len() != b.indexes.len() {
        return Err(Error::new(Code::K005, "an access has another rank than its tensor").received(format!(
            "{} indexes, {} axes",
            b.indexes.len(),
            dims.len()
        )));
    }
    let dtype = maps::dtype(b.tensor.dtype);
    let mut linear = Linear { dtype, offset: 0, pairs: Vec::new(), row: row(&b.tensor, dtype)? };
    for (axis, index) in b.indexes.iter().enumerate() {
        let stride = row_major_stride(&b.tensor, axis as i64)?;
        let (start, step) = match index {
            Index::Coord(i) => (*i, 1),
            Index::Slice(s) if s.step == 0 => return Err(Error::new(Code::K005, "a slice has step 0")),
            Index::Slice(s) => (s.l, s.step),
        };
        linear.pairs.push(pair(stride.checked_mul(step).ok_or_else(overflow)?, index.count())?);
        let part = stride.checked_mul(int(start)?).ok_or_else(overflow)?;
        linear.offset = linear.offset.checked_add(part).ok_or_else(overflow)?;
    }
    Ok(linear)
}

/// Explicit pairs. Their own offsets give the start; the fields parOffset and freeOffset count only when all of them are 0.
fn pattern(p: &AccessPattern) -> Result<Linear> {
    let dtype = maps::dtype(p.tensor.dtype);
    let mut linear = Linear { dtype, offset: 0, pairs: Vec::new(), row: row(&p.tensor, dtype)? };
    for a in &p.pattern {
        linear.pairs.push(pair(a.step, a.num)?);
        let part = a.step.checked_mul(int(a.offset)?).ok_or_else(overflow)?;
        linear.offset = linear.offset.checked_add(part).ok_or_else(overflow)?;
    }
    linear.offset = linear.offset.max(0);
    if p.pattern.iter().all(|a| a.offset == 0) {
        let rows = int(p.par_offset)?.checked_mul(linear.row).ok_or_else(overflow)?;
        linear.offset = rows.checked_add(int(p.free_offset)?).ok_or_else(overflow)?;
    }
    Ok(linear)
}

/// Moves a pattern from the tensor's own rows into the location's.
fn physical(linear: Linear, place: &Placement) -> Result<PhysicalAp> {
    let Linear { dtype, mut offset, mut pairs, row } = linear;
    let size = dtype.size() as u64;
    if offset < 0 {
        return Err(Error::new(Code::K005, "an access starts before its tensor").received(offset));
    }
    if !place.byte.is_multiple_of(size) {
        return Err(Error::new(Code::K005, "a tensor starts inside an element").received(place.byte));
    }
    let start = int(place.byte / size)?;
    match place.pitch {
        Some(pitch) if row > 0 && (pitch != row as u64 * size || place.row != 0 || start != 0) => {
            if !pitch.is_multiple_of(size) {
                return Err(
                    Error::new(Code::K005, "a row of the location does not hold whole elements").received(pitch)
                );
            }
            let pitch = int(pitch / size)?;
            let column = offset % row;
            let mut last = column;
            for p in &mut pairs {
                // Steps of whole rows stay whole rows; the others must stay inside one.
                if p.step % row == 0 {
                    p.step = (p.step / row).checked_mul(pitch).ok_or_else(overflow)?;
                } else {
                    let span = (p.num - 1).max(0).checked_mul(p.step).ok_or_else(overflow)?;
                    last = last.checked_add(span.max(0)).ok_or_else(overflow)?;
                }
            }
            if last >= row && pitch != row {
                return Err(Error::new(Code::K004, "an access to a part of an address crosses its rows"));
            }
            let rows = (offset / row).checked_add(int(place.row)?).ok_or_else(overflow)?;
            offset =
                rows.checked_mul(pitch).and_then(|o| o.checked_add(column)?.checked_add(start)).ok_or_else(overflow)?;
        }
        Some(_) => {}
        None => offset = offset.checked_add(start).ok_or_else(overflow)?,
    }
    Ok(PhysicalAp {
        dtype,
        memref: place.location.as_str().into(),
        memsetref: place.set.as_str().into(),
        offset,
        ap: pairs.into(),
        dynamic: None,
        extra: Extra::new(),
    })
}
