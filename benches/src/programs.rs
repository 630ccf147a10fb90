//! Generated programs: many tiny synchronised instructions whose data crosses engines.

use birsim_engine::ir::{
    AddressSpace, ApPair, Arch, Axis, Block, BranchCompare, Engine, Expr, Extra, Function, ImmValue, Instruction,
    Location, LocationSet, MemoryType, Module, Name, Opcode, Operand, PhysicalAp, RegisterAp, RegisterDecl, Storage,
    SyncKind, TensorKind, UpdateMode, UpdateRef, Value, WaitMode, WaitRef,
};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;

/// A tensor of `rows` x `cols` float32 values in SBUF or DRAM.
pub fn tensor(name: &str, ty: MemoryType, kind: TensorKind, rows: u64, cols: u64) -> Storage {
    let location = Location {
        name: name.into(),
        ty,
        dims: vec![rows, cols * 4],
        addr: 0,
        base: 0,
        bank: 0,
        allocated: false,
        user_allocated: false,
        pinned: false,
        tensor_id: 0,
        kind: None,
        addr_space: None,
        alias: Vec::new(),
        pointer_ref_memloc: None,
        extra: Extra::new(),
    };
    Storage::Set(LocationSet {
        name: format!("{name}_set"),
        kind,
        dtype: Dtype::Float32,
        tensor_shape: vec![rows, cols],
        partition_dim: 0,
        addr_space: AddressSpace::Local,
        tensor_class: None,
        locations: vec![location],
        file: String::new(),
        extra: Extra::new(),
    })
}

/// One element of a tensor.
pub fn cell(name: &str, offset: i64) -> Operand {
    Operand::Physical(PhysicalAp {
        dtype: Dtype::Float32,
        memref: name.into(),
        memsetref: Name::default(),
        offset,
        ap: vec![ApPair { step: 1, num: 1 }, ApPair { step: 1, num: 1 }].into(),
        dynamic: None,
        extra: Extra::new(),
    })
}

/// A wait for semaphore `id` >= `value`.
pub fn wait(id: u32, value: u32) -> WaitRef {
    WaitRef {
        kind: SyncKind::Semaphore,
        id,
        mode: WaitMode::SemGeImm,
        value,
        regref: None,
        from: None,
        extra: Extra::new(),
    }
}

/// Adds 1 to semaphore `id`.
pub fn signal(id: u32) -> UpdateRef {
    UpdateRef {
        kind: SyncKind::Semaphore,
        id,
        mode: UpdateMode::SemAddImm,
        value: 1,
        target_core: None,
        extra: Extra::new(),
    }
}

/// out = in * `by` + 1 on one element.
pub fn step(name: String, engine: Engine, from: Operand, to: Operand, by: f64) -> Instruction {
    let mut i = Instruction::new(name, Opcode::TensorScalar, engine)
        .with("op0", Value::named(AluOp::Mult))
        .with("const0", by)
        .with("reverse0", false)
        .with("op1", Value::named(AluOp::Add))
        .with("const1", 1.0)
        .with("reverse1", false);
    i.ins.push(from);
    i.outs.push(to);
    i
}

/// A module of one block.
pub fn module(allocations: Vec<Storage>, instructions: Vec<Instruction>) -> Module {
    let mut m = Module::new(Some(Arch::Gen3));
    m.functions.push(Function {
        name: "main".into(),
        attributes: Extra::new(),
        allocations,
        blocks: vec![block("Block1", instructions)],
        arguments: Vec::new(),
        extra: Extra::new(),
    });
    m
}

/// A block.
pub fn block(name: &str, instructions: Vec<Instruction>) -> Block {
    Block { name: name.into(), arguments: Vec::new(), instructions, extra: Extra::new() }
}

/// `trips` passes over a body, by a static loop.
pub fn repeat(name: &str, trips: i64, body: Vec<Instruction>) -> Instruction {
    let axis = Axis { name: name.into(), lb: Expr::Const(0), ub: Expr::Const(trips), stride: Expr::Const(1) };
    let mut l =
        Instruction::new(format!("L-{name}"), Opcode::Loop, Engine::All).with("LoopAxis", Value::Axis(Box::new(axis)));
    l.blocks.push(block(&format!("L-{name}-body"), body));
    l
}

/// A row piece that starts at the element a register names.
pub fn by_register(tensor: &str, register: &str, cols: i64) -> Operand {
    Operand::RegisterAp(Box::new(RegisterAp {
        dtype: Dtype::Float32,
        memsetref: format!("{tensor}_set").into(),
        memref: Name::default(),
        ap: vec![ApPair { step: 1, num: 1 }, ApPair { step: 1, num: cols }].into(),
        regref: None,
        is_regloc_offset: false,
        reg_ap_offset: Some(register.into()),
        const_ap_offset: 0,
        reg_sub_tensor_id: None,
        const_sub_tensor_id: -1,
        extra: Extra::new(),
    }))
}

/// A copy of one element between cells, from the element that a register names.
fn fetch(name: &str, register: &str, to: i64) -> Instruction {
    let mut i = Instruction::new(name, Opcode::TensorCopy, Engine::Pool);
    i.ins.push(by_register("cells", register, 1));
    i.outs.push(cell("cells", to));
    i
}

fn register(name: &str) -> Storage {
    Storage::Register(RegisterDecl {
        name: name.into(),
        num_physical_regs: 1,
        engine: Engine::All,
        dtype: Dtype::Int32,
        reg_id: -1,
        extra: Extra::new(),
    })
}

fn reg(name: &str) -> Operand {
    Operand::Register { dtype: Dtype::Int32, regref: name.into(), extra: Extra::new() }
}

fn number(value: i128) -> Operand {
    Operand::Imm { dtype: Dtype::Int32, value: ImmValue::Int(value), extra: Extra::new() }
}

fn alu(name: &str, op: AluOp, to: &str, from: &str, by: i128) -> Instruction {
    let mut i = Instruction::new(name, Opcode::RegisterAlu, Engine::Sp).with("op", Value::named(op));
    i.ins = vec![reg(from), number(by)];
    i.outs.push(reg(to));
    i
}

/// About `n` instructions of control: a block that branches back to itself, and inside it a counter, an address made of
/// it, a copy through that address, a structured loop of two trips, and the branch: 7 instructions per round. `queued`
/// puts them on queues that wait for each other; else they run in list order.
pub fn controlled(n: usize, queued: bool) -> Module {
    let rounds = (n / 7).max(1) as i128;
    let mut start = Instruction::new("start", Opcode::RegisterMove, Engine::All);
    start.ins.push(number(0));
    start.outs.push(reg("count"));
    let mut count = alu("count", AluOp::Add, "count", "count", 1);
    let mut address = alu("address", AluOp::BitwiseAnd, "address", "count", 63);
    let mut copy = fetch("copy", "address", 7);
    let inner = repeat("i", 2, vec![step("inner".into(), Engine::Dve, cell("cells", 7), cell("cells", 8), 0.5)]);
    let mut again = Instruction::new("again", Opcode::CompareAndBranch, Engine::Sp)
        .with("comp_op", Value::named(BranchCompare::LtImm))
        .with("on_true", "round")
        .with("on_false", "end");
    again.ins = vec![reg("count"), number(rounds)];
    let mut body = Vec::new();
    if queued {
        count.sync.on_update.push(signal(1));
        address.sync.on_update.push(signal(1));
        copy.sync.on_wait.push(wait(1, 2));
        let mut reset = Instruction::new("reset", Opcode::GroupResetSemaphores, Engine::All);
        reset.set("sema_group", Value::Ints(vec![Expr::Const(1)]));
        body.extend([count, address, copy, reset, inner, again]);
    } else {
        body.extend([count, address, copy, inner, again]);
    }
    let cells = tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 64);
    let mut m = module(vec![cells, register("count"), register("address")], vec![start]);
    m.functions[0].blocks.extend([block("round", body), block("end", Vec::new())]);
    m
}

/// `n` instructions over six engines. Engine e's k-th instruction updates its own cell; every third one reads the cell of
/// the engine before it and waits until that engine has finished its own k-th instruction.
pub fn synchronised(n: usize) -> Module {
    let engines = Engine::QUEUES;
    let mut out = Vec::with_capacity(n);
    for k in 0..n.div_ceil(engines.len()) {
        for (e, engine) in engines.iter().enumerate() {
            if out.len() == n {
                break;
            }
            let crosses = k % 3 == 0 && e > 0;
            let from = if crosses { e - 1 } else { e };
            let mut i = step(
                format!("I-{}", out.len()),
                *engine,
                cell("cells", (from * 64 + if crosses { 1 + k % 63 } else { 0 }) as i64),
                cell("cells", (e * 64 + if k % 3 == 0 { 1 + k % 63 } else { 0 }) as i64),
                0.5,
            );
            if crosses {
                i.sync.on_wait.push(wait(e as u32 - 1, k as u32 + 1));
            }
            i.sync.on_update.push(signal(e as u32));
            out.push(i);
        }
    }
    let mut reset = Instruction::new("reset", Opcode::GroupResetSemaphores, Engine::All);
    reset.set("sema_group", Value::Ints((0..6).map(Expr::Const).collect()));
    out.push(reset);
    module(vec![tensor("cells", MemoryType::Sb, TensorKind::Internal, 1, 6 * 64)], out)
}
