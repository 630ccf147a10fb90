//! Matrix products, PE transposes and MX quantisation (`klr.md` 5.2, 5.7).

use crate::ast::{self, MatMulMX, MatmulPerfMode, NcMatMul, QuantizeMX, TensorRef, Transpose};
use crate::lower::context::Core;
use crate::lower::ops::fill::constant_bits;
use birsim_ir::{
    ApPair, Arch, Engine, Expr, Extra, Instruction, MatmultPerfMode, MemsetMode, Opcode, Operand, PhysicalAp, Value,
};
use birsim_kernels::{Code, Dtype, Error, Result, alu};

/// Side of the PE array and of the identity matrix.
const PE: u64 = 128;

/// Product of stationary and moving. The accumulation flag is filled in later, for the whole function.
pub fn nc_mat_mul(cx: &mut Core<'_>, p: &NcMatMul) -> Result<Instruction> {
    let (stationary, moving, dst) = (cx.ap(&p.stationary)?, cx.ap(&p.moving)?, cx.ap(&p.dst)?);
    let mut inst = cx.inst("matmult_", Opcode::Matmult, Engine::Pe);
    inst.ins = if p.is_transpose && stationary_is_data(cx, p, &stationary, &moving) && transposes(cx) {
        // The flag transposes operand 0, so the data must be operand 0.
        vec![stationary, moving]
    } else {
        vec![moving, stationary]
    };
    inst.outs.push(dst);
    inst = tiles(inst, Some(&p.tile_position), Some(&p.tile_size))?;
    let perf = match p.perf_mode {
        MatmulPerfMode::DoubleRow => MatmultPerfMode::DoubleRow,
        // As in the reference, the interleaved mode is dropped.
        MatmulPerfMode::None | MatmulPerfMode::DoubleRowSwInterleave => MatmultPerfMode::None,
    };
    Ok(inst
        .with("is_transpose", p.is_transpose)
        .with("is_fmap_onezero", p.is_moving_zero)
        .with("is_weight_onezero", p.is_stationary_one_zero)
        .with("perf_mode", Value::named(perf)))
}

/// Older PEs have no transpose mode: there the flag is ignored and the product itself must transpose.
fn transposes(cx: &Core<'_>) -> bool {
    !matches!(cx.options.arch, Some(Arch::Inferentia | Arch::Sunda))
}

/// Two conventions exist for a transpose: kernels pass the data as stationary and an identity as moving, the tracer's
/// own transposes the other way round. Hints decide first, then shapes, then which tensor was built as an identity matrix.
fn stationary_is_data(cx: &Core<'_>, p: &NcMatMul, stationary: &Operand, moving: &Operand) -> bool {
    if p.is_stationary_one_zero != p.is_moving_zero {
        return p.is_moving_zero;
    }
    let square = |o: &Operand| {
        let pairs = o.ap().unwrap_or_default();
        let free = pairs.iter().skip(1).try_fold(1i64, |n, p| n.checked_mul(p.num));
        pairs.first().map(|p| p.num) == free
    };
    if square(stationary) != square(moving) {
        return square(moving);
    }
    let built = |r: &TensorRef| match r {
        TensorRef::Abstract(access) => cx.identity_tensors.contains(&access.tensor().name),
        _ => false,
    };
    built(&p.moving) || !built(&p.stationary)
}

/// Tile fields: absent, or two numbers each.
fn tiles(mut inst: Instruction, position: Option<&[u64]>, size: Option<&[u64]>) -> Result<Instruction> {
    for (key, list) in [("tile_position", position), ("tile_size", size)] {
        let Some(list) = list.filter(|l| !l.is_empty()) else { continue };
        if list.len() != 2 || list.iter().any(|n| *n > PE) {
            return Err(Error::new(Code::K005, "tile position and size are two numbers of at most 128")
                .operand(key)
                .received(format!("{list:?}")));
        }
        inst = inst.with(key, Value::Ints(list.iter().map(|n| Expr::Const(*n as i64)).collect()));
    }
    Ok(inst)
}

/// Product of packed small floats with block scales.
pub fn nc_mat_mul_mx(cx: &mut Core<'_>, p: &MatMulMX) -> Result<Instruction> {
    let mut inst = cx.inst("MatmulMx-", Opcode::MatmultMx, Engine::Pe);
    for operand in [&p.moving, &p.stationary, &p.moving_scale, &p.stationary_scale] {
        inst.ins.push(cx.ap(operand)?);
    }
    inst.outs.push(cx.ap(&p.dst)?);
    tiles(inst, p.tile_position.as_deref(), p.tile_size.as_deref())
}

/// Quantisation to packed data and scales.
pub fn quantize_mx(cx: &mut Core<'_>, p: &QuantizeMX) -> Result<Instruction> {
    let mut inst = cx.inst("QuantizeMX-", Opcode::QuantizeMx, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.outs.push(cx.ap(&p.dst)?);
    inst.outs.push(cx.ap(&p.dst_scale)?);
    Ok(inst)
}

/// Transpose of a tile: on the DVE for float32, else through the PE and an identity matrix.
pub fn transpose(cx: &mut Core<'_>, p: &Transpose) -> Result<Instruction> {
    if p.engine == ast::Engine::Pe {
        let what = "TransposeOp should only happen on DVE. The PE variant should have been legalized by the FE!";
        return Err(Error::new(Code::K004, what));
    }
    let (src, dst) = (cx.ap(&p.src)?, cx.ap(&p.dst)?);
    let float32 = dst.dtype() == Dtype::Float32;
    let limit = if float32 { 32 } else { PE as i64 };
    let shape = |o: &Operand| {
        let pairs = o.ap().unwrap_or_default();
        let free = pairs.iter().skip(1).try_fold(1i64, |n, p| n.checked_mul(p.num)).unwrap_or(i64::MAX);
        (pairs.first().map_or(0, |p| p.num), free)
    };
    for operand in [&src, &dst] {
        let (rows, columns) = shape(operand);
        if rows > limit || columns > limit {
            let what = format!("Operand must be no larger than ({limit}, {limit})");
            return Err(Error::new(Code::K004, what).received(format!("({rows}, {columns})")));
        }
    }
    if float32 {
        let mut inst = cx.inst("StreamTranspose-", Opcode::StreamTranspose, Engine::Dve);
        inst.ins.push(src);
        inst.outs.push(dst);
        return Ok(inst);
    }
    let rows = shape(&src).0;
    let identity = identity(cx, dst.dtype(), rows)?;
    cx.note(format!("transpose to {} goes through the PE and an identity matrix", dst.dtype()));
    let mut inst = cx.inst("matmult_TP_", Opcode::Matmult, Engine::Pe);
    inst.ins = if transposes(cx) { vec![src, identity] } else { vec![identity, src] };
    inst.outs.push(dst);
    Ok(inst.with("is_transpose", true))
}

/// The first `rows` rows and columns of the identity matrix of a dtype, built at the start of the function.
fn identity(cx: &mut Core<'_>, dtype: Dtype, rows: i64) -> Result<Operand> {
    let side = PE as i64;
    if !cx.identities.contains_key(&dtype) {
        let name = format!("COMPILER-GENERATED-id.{dtype}");
        let (name, set) = cx.internal_tensor(&name, dtype, side, side);
        cx.identities.insert(dtype, (name.clone(), set.clone()));
        let whole = Operand::Physical(square(dtype, &name, &set, side));
        let zero = constant_bits(&ast::Immediate::Float(0.0), dtype)?;
        let mut fill = Instruction::new(format!("{name}_memset"), Opcode::Memset, Engine::Dve)
            .with("mode", Value::named(MemsetMode::Const))
            .with("constant", zero);
        fill.outs.push(whole.clone());
        // Keeps the zeros where partition and element differ, puts a one where they are equal.
        let mut select = Instruction::new(
            format!("{name}=IDAffineSelect(mask,fill=1)"),
            Opcode::TensorScalarAffineSelect,
            Engine::Pool,
        )
        .with("base", 0i64)
        .with("pattern", Value::Pairs(vec![(-1, side)]))
        .with("channel_multiplier", 1i64)
        .with("compare_op", Value::named(alu::AluOp::NotEqual))
        .with("fill_value", 1.0);
        select.ins.push(whole.clone());
        select.outs.push(whole);
        cx.setup.extend([fill, select]);
    }
    let (name, set) = &cx.identities[&dtype];
    Ok(Operand::Physical(square(dtype, name, set, rows)))
}

/// The leading square of a 128 x 128 matrix.
fn square(dtype: Dtype, location: &str, set: &str, side: i64) -> PhysicalAp {
    PhysicalAp {
        dtype,
        memref: location.into(),
        memsetref: set.into(),
        offset: 0,
        ap: [ApPair { step: PE as i64, num: side }, ApPair { step: 1, num: side }].as_slice().into(),
        dynamic: None,
        extra: Extra::new(),
    }
}
