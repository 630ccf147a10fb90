//! Scalar registers: RegisterAlu, RegisterMove, TensorLoad, TensorSave (`alu.md` 6.12).

use super::fields::own;
use super::{Cx, Want};
use crate::ir::Role;
use crate::ir::opcodes::params;
use crate::world::{Opnd, RegRef, write_register};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::access::Imm;
use birsim_kernels::alu::register_op;

bind! {
    ReadVarAddr => read_var_addr,
    RegisterAlu(own) => register_alu,
    RegisterMove => register_move,
    TensorLoad => tensor_load,
    TensorSave => tensor_save,
}

fn target(cx: &Cx) -> Result<RegRef> {
    cx.out_register(0)?.ok_or_else(|| Error::new(Code::J009, "the output is a register").operand("outs[0]"))
}

fn scalar(cx: &Cx, k: usize) -> Result<Imm> {
    let given = if k < cx.n_ins() { cx.scalar(k)? } else { None };
    given
        .ok_or_else(|| Error::new(Code::J009, "the operand is a register or an immediate").operand(format!("ins[{k}]")))
}

/// RegisterMove (74).
pub fn register_move(cx: &mut Cx) -> Result<()> {
    let reg = target(cx)?;
    let value = scalar(cx, 0)?;
    write_register(cx.m.registers, reg, value.bits);
    Ok(())
}

/// RegisterAlu (73). 32- or 64-bit, wrapping; signedness of the comparisons, shifts and divisions follows the first
/// operand's dtype.
pub fn register_alu(cx: &mut Cx, own: &params::RegisterAlu) -> Result<()> {
    let reg = target(cx)?;
    let op = own.op;
    let wide = own.is_64bit;
    let a = scalar(cx, 0)?;
    let b = match cx.n_ins() {
        1 if op.is_unary() => Imm { dtype: a.dtype, bits: 0 },
        _ => scalar(cx, 1)?,
    };
    if a.dtype == Dtype::Float32 {
        return Err(Error::new(Code::U002, "RegisterAlu on float registers is not documented").received(a.dtype));
    }
    write_register(cx.m.registers, reg, register_op(op, a.bits, b.bits, wide, a.dtype.is_signed())?);
    Ok(())
}

/// TensorLoad (75): one element into a register.
pub fn tensor_load(cx: &mut Cx) -> Result<()> {
    let reg = target(cx)?;
    let io = cx.open(&[Want::In(0)])?;
    let src = io.ins.src(0)?;
    if src.len() != 1 {
        return Err(Error::new(Code::S008, "TensorLoad reads one element").received(src.len()).operand("ins[0]"));
    }
    let mut bytes = [0u8; 8];
    src.gather(0, 0, &mut bytes[..src.dtype().size()]);
    let raw = u64::from_le_bytes(bytes);
    let shift = 64 - src.dtype().size() as u32 * 8;
    let value = if src.dtype().is_signed() { (((raw << shift) as i64) >> shift) as u64 } else { raw };
    drop(io);
    write_register(cx.m.registers, reg, value);
    Ok(())
}

/// TensorSave (76): a register or immediate into one element; the low bytes are stored.
pub fn tensor_save(cx: &mut Cx) -> Result<()> {
    let value = scalar(cx, 0)?;
    let mut io = cx.open(&[Want::Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    if dst.len() != 1 {
        return Err(Error::new(Code::S008, "TensorSave writes one element").received(dst.len()).operand("outs[0]"));
    }
    let size = dst.dtype().size();
    dst.scatter(0, 0, &value.bits.to_le_bytes()[..size]);
    Ok(())
}

/// Stores an unsigned number in output `k`: a register, or a tensor of one integer element.
pub(super) fn store_scalar(cx: &mut Cx, k: usize, value: u64) -> Result<()> {
    if let Some(reg) = cx.out_register(k)? {
        write_register(cx.m.registers, reg, value);
        return Ok(());
    }
    let mut io = cx.open(&[Want::Out(k)])?;
    let mut dst = io.outs.dst(k)?;
    if dst.len() != 1 || !dst.dtype().is_integer() {
        return Err(Error::new(Code::S008, "the result is one integer")
            .received(format!("{} elements of {}", dst.len(), dst.dtype()))
            .operand(format!("outs[{k}]")));
    }
    let size = dst.dtype().size();
    dst.scatter(0, 0, &value.to_le_bytes()[..size]);
    Ok(())
}

/// Bias of the 64-bit addresses that the indirect instructions take (`opcodes.md` 13).
const ADDRESS_BIAS: u64 = 0x1_0000_0000;

/// ReadVarAddr (41): the byte address of the input's first element, biased when an indirect instruction takes it.
pub fn read_var_addr(cx: &mut Cx) -> Result<()> {
    let address = cx.address_of(0)?;
    let bias = if feeds_indirect(cx)? { ADDRESS_BIAS } else { 0 };
    store_scalar(cx, 0, address.wrapping_add(bias))
}

/// Whether the register or the tensor of output 0 is read somewhere in the program as 64-bit addresses: as an index tensor,
/// or as the base of a table.
fn feeds_indirect(cx: &Cx) -> Result<bool> {
    let (register, location) = (cx.out_register(0)?, cx.location(cx.n_ins())?);
    let p = cx.m.program;
    let same = |o: &Opnd| match o {
        Opnd::Static { loc, pattern } => location == Some(*loc) && p.patterns[*pattern as usize].dtype().size() == 8,
        Opnd::Register(r, _) => register == Some(*r),
        _ => false,
    };
    Ok(p.insts.iter().any(|i| {
        let roles = i.opcode.row().ins;
        p.ins(i).iter().enumerate().any(|(k, o)| Role::of(roles, k).is_some_and(|r| r.addresses) && same(o))
    }))
}
