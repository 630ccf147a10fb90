//! Scalar registers: RegisterAlu, RegisterMove, TensorLoad, TensorSave (`alu.md` 6.12).

use super::fields::own;
use super::{Cx, Want};
use crate::ir::Role;
use crate::ir::opcodes::params;
use crate::world::{Draft, Opnd, RegRef, missing, write_register};
use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_kernels::access::Imm;
use birsim_kernels::alu::{AluOp, register_op};

bind! {
    ReadVarAddr => read_var_addr,
    RegisterAlu(prepare_register_alu) => register_alu,
    RegisterMove(prepare_register_move) => register_move,
    TensorLoad(prepare_tensor_load) => tensor_load,
    TensorSave(prepare_tensor_save) => tensor_save,
}

/// The register that output 0 names.
fn target(draft: &Draft) -> Result<RegRef> {
    match draft.outs().first() {
        Some(Opnd::Register(register, _)) => Ok(*register),
        Some(Opnd::Faulty(e)) => Err((**e).clone()),
        _ => Err(Error::new(Code::J009, "the output is a register").operand("outs[0]")),
    }
}

/// The dtype of input `k`, which is a register or an immediate.
fn scalar_dtype(draft: &Draft, k: usize) -> Result<Dtype> {
    match draft.ins().get(k) {
        Some(Opnd::Register(_, dtype)) => Ok(*dtype),
        Some(Opnd::Imm { imm, .. }) => Ok(imm.dtype),
        Some(Opnd::SymbolicImm(list)) => Ok(list.0),
        _ => Err(not_scalar(k)),
    }
}

fn not_scalar(k: usize) -> Error {
    Error::new(Code::J009, "the operand is a register or an immediate").operand(format!("ins[{k}]"))
}

/// The value of input `k`, which is a register or an immediate.
fn scalar(cx: &Cx, k: usize) -> Result<Imm> {
    cx.scalar(k)?.ok_or_else(|| not_scalar(k))
}

fn prepare_register_move(draft: &Draft) -> Result<RegRef> {
    let reg = target(draft)?;
    scalar_dtype(draft, 0)?;
    Ok(reg)
}

/// RegisterMove (74).
pub fn register_move(cx: &mut Cx, reg: &RegRef) -> Result<()> {
    let value = scalar(cx, 0)?;
    write_register(cx.m.registers, *reg, value.bits);
    Ok(())
}

/// An operation on registers.
pub struct RegisterAlu {
    op: AluOp,
    wide: bool,
    signed: bool,
    /// There is no second operand.
    unary: bool,
    reg: RegRef,
}

fn prepare_register_alu(draft: &Draft) -> Result<RegisterAlu> {
    let params::RegisterAlu { op, is_64bit: wide } = own(draft)?;
    let reg = target(draft)?;
    let dtype = scalar_dtype(draft, 0)?;
    let unary = draft.n_ins() == 1 && op.is_unary();
    if !unary {
        scalar_dtype(draft, 1)?;
    }
    if dtype == Dtype::Float32 {
        return Err(Error::new(Code::U002, "RegisterAlu on float registers is not documented").received(dtype));
    }
    // An operation that integers do not have fails whatever the values are.
    register_op(op, 1, 1, wide, dtype.is_signed())?;
    Ok(RegisterAlu { op, wide, signed: dtype.is_signed(), unary, reg })
}

/// RegisterAlu (73). 32- or 64-bit, wrapping; signedness of the comparisons, shifts and divisions follows the first
/// operand's dtype.
pub fn register_alu(cx: &mut Cx, own: &RegisterAlu) -> Result<()> {
    let RegisterAlu { op, wide, signed, unary, reg } = *own;
    let a = scalar(cx, 0)?.bits;
    let b = if unary { 0 } else { scalar(cx, 1)?.bits };
    write_register(cx.m.registers, reg, register_op(op, a, b, wide, signed)?);
    Ok(())
}

/// Operand `k`, counted over ins and outs, is a tensor of one element.
fn one_element(draft: &Draft, k: usize, what: &str) -> Result<()> {
    let (role, at) = if k < draft.n_ins() { ("ins", k) } else { ("outs", k - draft.n_ins()) };
    match draft.elements(k)? {
        Some(1) => Ok(()),
        Some(n) => Err(Error::new(Code::S008, what).received(n).operand(format!("{role}[{at}]"))),
        None => Err(missing(draft.opcode, role, at)),
    }
}

fn prepare_tensor_load(draft: &Draft) -> Result<RegRef> {
    let reg = target(draft)?;
    one_element(draft, 0, "TensorLoad reads one element")?;
    Ok(reg)
}

/// TensorLoad (75): one element into a register.
pub fn tensor_load(cx: &mut Cx, reg: &RegRef) -> Result<()> {
    let io = cx.open(&[Want::In(0)])?;
    let src = io.ins.src(0)?;
    let mut bytes = [0u8; 8];
    src.gather(0, 0, &mut bytes[..src.dtype().size()]);
    let raw = u64::from_le_bytes(bytes);
    let shift = 64 - src.dtype().size() as u32 * 8;
    let value = if src.dtype().is_signed() { (((raw << shift) as i64) >> shift) as u64 } else { raw };
    drop(io);
    write_register(cx.m.registers, *reg, value);
    Ok(())
}

fn prepare_tensor_save(draft: &Draft) -> Result<()> {
    scalar_dtype(draft, 0)?;
    one_element(draft, draft.n_ins(), "TensorSave writes one element")
}

/// TensorSave (76): a register or immediate into one element; the low bytes are stored.
pub fn tensor_save(cx: &mut Cx, _: &()) -> Result<()> {
    let value = scalar(cx, 0)?;
    let mut io = cx.open(&[Want::Out(0)])?;
    let mut dst = io.outs.dst(0)?;
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
        Opnd::Static { loc, pattern, .. } => location == Some(*loc) && p.patterns[*pattern].dtype().size() == 8,
        Opnd::Register(r, _) => register == Some(*r),
        _ => false,
    };
    Ok(p.insts.iter().any(|i| {
        let roles = i.opcode.row().ins;
        p.ins(i).iter().enumerate().any(|(k, o)| Role::of(roles, k).is_some_and(|r| r.addresses) && same(o))
    }))
}
