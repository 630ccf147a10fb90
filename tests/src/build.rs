//! Constructors for the modules of tests.

pub use birsim_benches::programs::{block, by_register, wait};

use birsim_benches::programs::tensor;
use birsim_engine::ir::{
    ApPair, Axis, BranchCompare, DynamicAp, Engine, Expr, Extra, ImmValue, Instruction, MemoryType, Name, Opcode,
    Operand, PhysicalAp, RegisterDecl, Storage, SymbolicAp, TensorKind, Value,
};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;

fn located(mut s: Storage, base: i64, bank: i64, addr: u64) -> Storage {
    if let Storage::Set(set) = &mut s {
        let l = &mut set.locations[0];
        (l.base, l.bank, l.addr, l.allocated) = (base, bank, addr, true);
    }
    s
}

/// A float32 tensor in SBUF at an address.
pub fn sbuf(name: &str, rows: u64, cols: u64, base: i64, addr: u64) -> Storage {
    located(tensor(name, MemoryType::Sb, TensorKind::Internal, rows, cols), base, 0, addr)
}

/// A float32 tensor in PSUM at an address of a bank.
pub fn psum(name: &str, rows: u64, cols: u64, bank: i64, addr: u64) -> Storage {
    located(tensor(name, MemoryType::Psum, TensorKind::Internal, rows, cols), 0, bank, addr)
}

/// A float32 tensor in DRAM.
pub fn dram(name: &str, rows: u64, cols: u64) -> Storage {
    tensor(name, MemoryType::Dram, TensorKind::Internal, rows, cols)
}

/// A formal parameter.
pub fn formal(name: &str, rows: u64, cols: u64) -> Storage {
    tensor(name, MemoryType::Sb, TensorKind::Internal, rows, cols)
}

/// The same tensor with int32 elements.
pub fn integers(mut s: Storage) -> Storage {
    if let Storage::Set(set) = &mut s {
        set.dtype = Dtype::Int32;
    }
    s
}

/// A 32-bit register; symbolic when `id` is negative.
pub fn register(name: &str, engine: Engine, id: i64) -> Storage {
    Storage::Register(RegisterDecl {
        name: name.into(),
        num_physical_regs: 1,
        engine,
        dtype: Dtype::Int32,
        reg_id: id,
        extra: Extra::new(),
    })
}

/// The same register as uint32.
pub fn unsigned(mut s: Storage) -> Storage {
    if let Storage::Register(r) = &mut s {
        r.dtype = Dtype::Uint32;
    }
    s
}

/// The same register as int64.
pub fn wide(mut s: Storage) -> Storage {
    if let Storage::Register(r) = &mut s {
        (r.num_physical_regs, r.dtype) = (2, Dtype::Int64);
    }
    s
}

/// Element type of a register's accesses, by the first letter of its name: x is 64 bits wide, u unsigned.
fn dtype_of(register: &str) -> Dtype {
    match register.as_bytes().first() {
        Some(b'x') => Dtype::Int64,
        Some(b'u') => Dtype::Uint32,
        _ => Dtype::Int32,
    }
}

/// A register operand.
pub fn reg(name: &str) -> Operand {
    Operand::Register { dtype: dtype_of(name), regref: name.into(), extra: Extra::new() }
}

/// An int32 immediate.
pub fn imm(value: i128) -> Operand {
    Operand::Imm { dtype: Dtype::Int32, value: ImmValue::Int(value), extra: Extra::new() }
}

/// An immediate of a register's type.
pub fn imm_for(register: &str, value: i128) -> Operand {
    Operand::Imm { dtype: dtype_of(register), value: ImmValue::Int(value), extra: Extra::new() }
}

fn pairs(pitch: i64, rows: i64, cols: i64) -> Vec<ApPair> {
    vec![ApPair { step: pitch, num: rows }, ApPair { step: 1, num: cols }]
}

fn physical(tensor: &str, dtype: Dtype, offset: i64, ap: Vec<ApPair>) -> PhysicalAp {
    PhysicalAp {
        dtype,
        memref: tensor.into(),
        memsetref: Name::default(),
        offset,
        ap: ap.into(),
        dynamic: None,
        extra: Extra::new(),
    }
}

/// A rectangle of a float32 tensor.
pub fn block_of(tensor: &str, pitch: i64, offset: i64, rows: i64, cols: i64) -> Operand {
    Operand::Physical(physical(tensor, Dtype::Float32, offset, pairs(pitch, rows, cols)))
}

/// All of a float32 tensor.
pub fn whole(tensor: &str, rows: i64, cols: i64) -> Operand {
    block_of(tensor, cols, 0, rows, cols)
}

/// One int32 element.
pub fn element(tensor: &str, offset: i64) -> Operand {
    Operand::Physical(physical(tensor, Dtype::Int32, offset, pairs(1, 1, 1)))
}

/// A rectangle whose corner is an expression per dimension.
pub fn symbolic(tensor: &str, addrs: Vec<Expr>, pitch: i64, rows: i64, cols: i64) -> Operand {
    Operand::Symbolic(Box::new(SymbolicAp {
        dtype: Dtype::Float32,
        pwap: false,
        memsetref: format!("{tensor}_set").into(),
        memref: Name::default(),
        ap: pairs(pitch, rows, cols).into(),
        addrs,
        tensor_indirect_arg_id: -1,
        num_tensor_indirect_indices: None,
        extra: Extra::new(),
    }))
}

/// A row piece whose run-time offset is a register.
pub fn by_offset(tensor: &str, register: &str, cols: i64) -> Operand {
    let mut a = physical(tensor, Dtype::Float32, 0, pairs(1, 1, cols));
    a.dynamic = Some(Box::new(DynamicAp {
        offset_expr: Some(Expr::Register(register.into())),
        actual_ap: Vec::new(),
        c: None,
        aff_expr: Vec::new(),
        indirect_dim: None,
        indirect_dim_max_index: None,
        num_indirect_args: None,
        indirect_arg_id: None,
        extra: Extra::new(),
    }));
    Operand::Physical(a)
}

/// `k * register + c`.
pub fn affine(register: &str, k: i64, c: i64) -> Expr {
    Expr::Affine { terms: vec![(Expr::Register(register.into()), k)], c }
}

/// `e + c`.
pub fn plus(e: Expr, c: i64) -> Expr {
    Expr::Affine { terms: vec![(e, 1)], c }
}

/// `e mod n`.
pub fn modulo(e: Expr, n: i64) -> Expr {
    Expr::Modulo(Box::new(e), Box::new(Expr::Const(n)))
}

/// A copying instruction.
pub fn copy(name: String, opcode: Opcode, engine: Engine, from: Operand, to: Operand) -> Instruction {
    let mut i = Instruction::new(name, opcode, engine);
    i.ins = vec![from];
    i.outs = vec![to];
    i
}

/// out = in * `by` + `add`.
pub fn scale(name: String, engine: Engine, from: Operand, to: Operand, by: f64, add: f64) -> Instruction {
    let mut i = copy(name, Opcode::TensorScalar, engine, from, to);
    i.set("op0", Value::named(AluOp::Mult));
    i.set("op1", Value::named(AluOp::Add));
    for (key, v) in [("const0", by), ("const1", add)] {
        i.set(key, Value::Float(v));
    }
    i.set("reverse0", Value::Bool(false));
    i.set("reverse1", Value::Bool(false));
    i
}

/// Fills with a float32 number.
pub fn memset(name: String, engine: Engine, to: Operand, value: f32) -> Instruction {
    let mut i = Instruction::new(name, Opcode::Memset, engine)
        .with("mode", Value::named(birsim_engine::ir::MemsetMode::Const))
        .with("constant", i64::from(value.to_bits()));
    i.outs = vec![to];
    i
}

/// A conditional branch.
pub fn compare(
    name: String,
    engine: Engine,
    op: BranchCompare,
    left: Operand,
    right: Operand,
    yes: &str,
    no: &str,
) -> Instruction {
    let mut i = Instruction::new(name, Opcode::CompareAndBranch, engine)
        .with("comp_op", Value::named(op))
        .with("on_true", yes)
        .with("on_false", no);
    i.ins = vec![left, right];
    i
}

/// A Loop or DynamicForLoop without a body.
pub fn looped(name: String, opcode: Opcode, axis: &str, lb: Expr, ub: Expr, stride: Expr) -> Instruction {
    let key = if opcode == Opcode::Loop { "LoopAxis" } else { "DynamicForLoopAxis" };
    let axis = Axis { name: axis.into(), lb, ub, stride };
    Instruction::new(name, opcode, Engine::All).with(key, Value::Axis(Box::new(axis)))
}
