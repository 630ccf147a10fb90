//! Fills and generators (`klr.md` 5.6).

use crate::ast::{DataPattern, Immediate, Iota, MemSet};
use crate::lower::context::Core;
use birsim_ir::{Engine, Instruction, MemsetMode, Opcode, Value};
use birsim_kernels::cast::{Fp8Config, encode_f32};
use birsim_kernels::{Code, Dtype, Error, Result};

/// Constant fill.
pub fn mem_set(cx: &mut Core<'_>, p: &MemSet) -> Result<Instruction> {
    let dst = cx.ap(&p.dst)?;
    let bits = constant_bits(&p.value, dst.dtype())?;
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("memset-", Opcode::Memset, engine);
    inst.outs.push(dst);
    Ok(inst.with("mode", Value::named(MemsetMode::Const)).with("constant", bits))
}

/// An immediate as bits of the destination dtype: an integer keeps its low bits in an integer dtype; anything else is cast.
pub fn constant_bits(value: &Immediate, dtype: Dtype) -> Result<i64> {
    let (float, int) = match value {
        Immediate::Int(n) => (*n as f32, Some(i64::from(*n))),
        Immediate::Float(x) => (*x, None),
        other => return Err(Error::new(Code::K004, "unsupported immediate type").received(other.constructor())),
    };
    let size = dtype.size();
    let mut bytes = [0u8; 8];
    match int {
        Some(n) if dtype.is_integer() => bytes[..size].copy_from_slice(&n.to_le_bytes()[..size]),
        _ => encode_f32(dtype, Fp8Config::DEFAULT, &[float; 4][..dtype.lanes()], &mut bytes[..size]),
    }
    Ok(i64::from_le_bytes(bytes))
}

/// base + sum of step x index + channel multiplier x partition.
pub fn iota(cx: &mut Core<'_>, p: &Iota) -> Result<Instruction> {
    let mut inst = cx.inst("Iota-", Opcode::Iota, Engine::Pool);
    inst.outs.push(cx.ap(&p.dst)?);
    generator(inst, &p.pattern)
}

/// The three fields of a value generator.
pub fn generator(inst: Instruction, p: &DataPattern) -> Result<Instruction> {
    let mut pairs = Vec::new();
    for pair in &p.pattern {
        let num = i64::try_from(pair.num)
            .map_err(|_| Error::new(Code::K005, "a generator pattern leaves 64 bits").received(pair.num))?;
        pairs.push((pair.step, num));
    }
    Ok(inst
        .with("base", p.offset)
        .with("pattern", Value::Pairs(pairs))
        .with("channel_multiplier", p.channel_multiplier))
}
