//! Seeded programs whose data crosses engines and is ordered by waits and updates only.
//!
//! Instructions are drawn in a sequential order; what one engine's instruction needs from another engine's is found from
//! the bytes and registers they touch, and every such need becomes a wait of a random kind.

use crate::build::*;
use crate::interpret::{Key, Plain};
use birsim_engine::ir::{
    Arch, Block, BranchCompare, Engine, Expr, Extra, Function, Instruction, Module, Opcode, Operand, Predicate,
    PredicateOp, Queue, QueueType, SyncKind, UpdateMode, UpdateRef, Value, WaitMode, WaitRef,
};
use birsim_kernels::alu::AluOp;
use std::collections::{BTreeMap, BTreeSet};

/// A generated program.
pub struct Generated {
    /// The program.
    pub module: Module,
    /// Locations lie at their addresses and some overlap.
    pub physical: bool,
    /// (instruction, position in its waits) of every semaphore wait.
    pub waits: Vec<(String, usize)>,
}

/// What a program contains besides the usual.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing wrong.
    None,
    /// An operand outside its tensor.
    Bounds,
    /// An event that is set while it is set.
    Event,
    /// An increment by something else than 1.
    Increment,
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: i64) -> i64 {
        (self.next() % n as u64) as i64
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as i64) as usize]
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}

/// One instruction and what it touches.
struct Op {
    inst: Instruction,
    reads: BTreeSet<Key>,
    writes: BTreeSet<Key>,
}

struct Generator {
    rng: Rng,
    /// Storage and queues; the blocks are added at the end.
    module: Module,
    physical: bool,
    /// Position of the function that is being written: 0 main, 1 sub.
    function: usize,
    /// Axes around the present place.
    axes: Vec<String>,
    count: usize,
    waits: Vec<(String, usize)>,
    fault: Fault,
}

const COMPUTE: [Engine; 2] = [Engine::Pool, Engine::Dve];
const SCALAR: [Engine; 5] = [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dve, Engine::Sp];
/// Registers that programs change freely.
const FREE: [&str; 4] = ["r0", "r1", "u0", "x0"];

/// Generates the program of a seed.
pub fn generate(seed: u64, physical: bool, fault: Fault) -> Generated {
    let mut g = Generator {
        rng: Rng(seed),
        module: storage(),
        physical,
        function: 0,
        axes: Vec::new(),
        count: 0,
        waits: Vec::new(),
        fault: Fault::None,
    };
    let queue = g.queue();
    g.module.queues.push(queue);
    g.function = 1;
    let sub = g.sub();
    g.function = 0;
    let mut first = vec![g.set("k3", 3)];
    for (r, v) in [("r0", 5), ("r1", -2), ("i0", 3)] {
        first.push(g.set(r, v));
    }
    g.fault = fault;
    let n = 3 + g.rng.below(3);
    let mut blocks = g.items(n, 0, first);
    if g.rng.chance(40) {
        // Every engine ends itself; what stands behind never runs.
        let last = blocks.last_mut().expect("there is a block");
        for e in Engine::QUEUES {
            last.instructions.push(Instruction::new(g.name("exit"), Opcode::Exit, e));
        }
        last.instructions.push(memset(g.name("never"), Engine::Dve, whole("a", 2, 16), 7.0));
    }
    g.module.functions[0].blocks = blocks;
    g.module.functions[1].blocks = sub;
    Generated { module: g.module, physical, waits: g.waits }
}

/// Storage of both functions.
fn storage() -> Module {
    let mut m = Module::new(Some(Arch::Gen3));
    let function = |name: &str, arguments: &[&str], allocations| Function {
        name: name.into(),
        attributes: Extra::new(),
        allocations,
        blocks: Vec::new(),
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        extra: Extra::new(),
    };
    m.functions.push(function(
        "main",
        &[],
        vec![
            // `o` lies on the second half of `a`'s second partition, `q` on the second half of `p`.
            sbuf("a", 2, 16, 0, 0),
            sbuf("o", 2, 16, 1, 32),
            sbuf("mi", 2, 4, 0, 256),
            sbuf("mw", 2, 2, 0, 512),
            integers(sbuf("n", 1, 8, 0, 768)),
            dram("d", 2, 16),
            dram("x", 2, 16),
            psum("p", 2, 8, 1, 0),
            psum("q", 2, 8, 1, 16),
            register("k3", Engine::All, -1),
            register("r0", Engine::All, -1),
            register("r1", Engine::All, 5),
            register("i0", Engine::All, -1),
            register("w0", Engine::All, -1),
            register("w1", Engine::All, 9),
            register("w2", Engine::Sp, -1),
            unsigned(register("u0", Engine::Sp, 3)),
            wide(register("x0", Engine::All, 20)),
        ],
    ));
    m.functions.push(function(
        "sub",
        &["fi_set", "fo_set"],
        vec![
            formal("fi", 2, 16),
            formal("fo", 2, 16),
            sbuf("l", 2, 16, 0, 1024),
            register("sk3", Engine::All, -1),
            register("s0", Engine::All, -1),
        ],
    ));
    m
}

impl Generator {
    fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}-{}", self.count)
    }

    fn set(&mut self, register: &str, value: i128) -> Instruction {
        let mut i = Instruction::new(self.name("set"), Opcode::RegisterMove, Engine::All);
        i.ins = vec![imm(value)];
        i.outs = vec![reg(register)];
        i
    }

    fn alu(&mut self, op: AluOp, to: &str, a: Operand, b: Operand, engine: Engine) -> Instruction {
        let mut i = Instruction::new(self.name("alu"), Opcode::RegisterAlu, engine).with("op", Value::named(op));
        if to == "x0" {
            i.set("is_64bit", Value::Bool(true));
        }
        i.ins = vec![a, b];
        i.outs = vec![reg(to)];
        i
    }

    /// A queue with two triggers of two and one blocks.
    fn queue(&mut self) -> Queue {
        let mut instructions = Vec::new();
        for (trigger, name, id) in [("T0", "b0", 200), ("T0", "b1", 200), ("T1", "b2", 201)] {
            let mut b = Instruction::new(name, Opcode::DMABlock, Engine::Dma).with("dma_trigger", trigger);
            b.sync.on_update.push(update(SyncKind::Semaphore, id, UpdateMode::SemAddImm, 16));
            let moves = [("d", "a"), ("a", "x"), ("x", "d"), ("o", "d")];
            let mut list = Vec::new();
            for k in 0..2 {
                let (from, to) = self.rng.pick(&moves);
                let mut c = Instruction::new(format!("{name}-{k}"), Opcode::DMADescriptorCopy, Engine::Dma);
                c.ins = vec![block_of(from, 16, self.rng.below(9), 2, 4)];
                c.outs = vec![block_of(to, 16, self.rng.below(9), 2, 4)];
                list.push(c);
            }
            b.blocks = vec![block(&format!("{name}-list"), list)];
            instructions.push(b);
        }
        Queue {
            name: "Q".into(),
            ty: QueueType::Data,
            blocks: vec![block("Q-list", instructions)],
            semaphores: vec![200],
            use_special_sema: vec![201],
            extra: Extra::new(),
        }
    }

    fn sub(&mut self) -> Vec<Block> {
        let mut list = vec![self.set("sk3", 3)];
        if self.rng.chance(50) {
            list.push(self.set("s0", 1));
        }
        list.extend(self.segment());
        list.push(self.alu(AluOp::Add, "s0", reg("s0"), imm(1), Engine::All));
        let mut ret = Instruction::new(self.name("return"), Opcode::Return, Engine::All);
        // The counter lives on between calls, so some calls return early.
        ret.predicates = vec![Predicate { expr: affine("s0", 1, -2), op: PredicateOp::Ge }];
        list.push(ret);
        vec![block("sub-1", list), block("sub-2", self.segment())]
    }

    /// A list of blocks with `n` pieces of control flow.
    fn items(&mut self, n: i64, depth: usize, mut list: Vec<Instruction>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut label = self.name("B");
        for _ in 0..n {
            list.extend(self.segment());
            match self.rng.below(9) {
                0 => list.extend(self.counted(depth)),
                1 => list.extend(self.dynamic(depth)),
                2 => list.extend(self.until(depth)),
                3 => list.push(self.parallel(depth)),
                4 | 5 => list.push(self.call()),
                6 => {
                    let (yes, no, end) = (self.name("B"), self.name("B"), self.name("B"));
                    let falls = self.rng.chance(30);
                    list.push(self.branch(&yes, if falls { "" } else { &no }));
                    blocks.push(block(&label, std::mem::take(&mut list)));
                    // Falling through leads to the block that follows.
                    let (first, second) = if falls { (&no, &yes) } else { (&yes, &no) };
                    let mut one = self.segment();
                    let engine = self.rng.pick(&[Engine::All, Engine::Sp, Engine::Pool]);
                    one.push(
                        Instruction::new(self.name("jump"), Opcode::UnconditionalBranch, engine)
                            .with("target", end.as_str()),
                    );
                    blocks.push(block(first, one));
                    let two = self.segment();
                    blocks.push(block(second, two));
                    label = end;
                }
                7 => {
                    // A loop made of branches.
                    list.push(self.set("w0", 0));
                    blocks.push(block(&label, std::mem::take(&mut list)));
                    label = self.name("B");
                    let mut body = self.segment();
                    body.push(self.alu(AluOp::Add, "w0", reg("w0"), imm(1), Engine::All));
                    let limit = imm(i128::from(1 + self.rng.below(3)));
                    body.push(compare(
                        self.name("again"),
                        Engine::Sp,
                        BranchCompare::LtImm,
                        reg("w0"),
                        limit,
                        &label,
                        "",
                    ));
                    blocks.push(block(&label, body));
                    label = self.name("B");
                }
                _ => list.push(Instruction::new(self.name("barrier"), Opcode::AllEngineBarrier, Engine::All)),
            }
        }
        blocks.push(block(&label, list));
        blocks
    }

    fn branch(&mut self, yes: &str, no: &str) -> Instruction {
        use BranchCompare::*;
        let engine = self.rng.pick(&[Engine::All, Engine::Sp, Engine::Dve]);
        let name = self.name("branch");
        let op = self.rng.pick(&[LtImm, LeImm, EqImm, NeImm, GeImm, GtImm]);
        if self.rng.chance(50) {
            let value = imm(i128::from(self.rng.below(9) - 4));
            return compare(name, engine, op, reg("r0"), value, yes, no);
        }
        let op = self.rng.pick(&[LtReg, LeReg, EqReg, NeReg, GeReg, GtReg]);
        compare(name, engine, op, reg("r0"), reg("r1"), yes, no)
    }

    /// The body of a loop, with a Break that happens in one trip.
    fn body(&mut self, depth: usize, breaks: bool) -> Vec<Block> {
        let n = if depth < 2 { self.rng.below(2) } else { 0 };
        let mut blocks = match n {
            0 => vec![block(&self.name("B"), self.segment())],
            n => self.items(n, depth + 1, Vec::new()),
        };
        if breaks && self.rng.chance(60) {
            let axis = self.axes.last().cloned().unwrap_or_default();
            let mut leave = Instruction::new(self.name("break"), Opcode::Break, Engine::All);
            leave.predicates = vec![Predicate { expr: plus(Expr::Axis(axis), -1), op: PredicateOp::Eq }];
            blocks.last_mut().expect("a body has a block").instructions.push(leave);
        }
        blocks
    }

    fn counted(&mut self, depth: usize) -> Vec<Instruction> {
        let name = self.name("i");
        let (lb, stride) = (self.rng.below(2), 1 + self.rng.below(2));
        let ub = lb + self.rng.below(4);
        let (lb, ub, stride) = (Expr::Const(lb), Expr::Const(ub), Expr::Const(stride));
        let mut l = looped(self.name("loop"), Opcode::Loop, &name, lb, ub, stride);
        self.axes.push(name);
        l.blocks = self.body(depth, true);
        self.axes.pop();
        vec![l]
    }

    fn dynamic(&mut self, depth: usize) -> Vec<Instruction> {
        let name = self.name("i");
        let trips = self.rng.below(4);
        let lb = match self.axes.last() {
            Some(outer) if self.rng.chance(50) => modulo(Expr::Axis(outer.clone()), 2),
            _ => Expr::Const(0),
        };
        let start = self.set("w1", i128::from(trips));
        let mut l = looped(self.name("loop"), Opcode::DynamicForLoop, &name, lb, affine("w1", 2, -1), Expr::Const(2));
        self.axes.push(name);
        l.blocks = self.body(depth, true);
        self.axes.pop();
        vec![start, l]
    }

    fn until(&mut self, depth: usize) -> Vec<Instruction> {
        // One counter per depth, so that nested loops do not share it.
        if depth > 0 {
            return self.counted(depth);
        }
        let trips = i128::from(self.rng.below(3));
        let start = self.set("w2", trips);
        let mut l = Instruction::new(self.name("while"), Opcode::DoWhile, Engine::All)
            .with("cond", Value::Expr(Expr::Register("w2".into())));
        l.blocks = self.body(2, false);
        let last = l.blocks.last_mut().expect("a body has a block");
        let fewer =
            Instruction { name: self.name("fewer"), ..self.alu(AluOp::Subtract, "w2", reg("w2"), imm(1), Engine::All) };
        last.instructions.push(fewer);
        // A start value of 0 would count through all negative numbers.
        let floor =
            Instruction { name: self.name("floor"), ..self.alu(AluOp::Max, "w2", reg("w2"), imm(0), Engine::All) };
        last.instructions.push(floor);
        vec![start, l]
    }

    fn parallel(&mut self, _: usize) -> Instruction {
        let name = self.name("i");
        let mut l = looped(self.name("par"), Opcode::Loop, &name, Expr::Const(0), Expr::Const(3), Expr::Const(1))
            .with("isParallel", true);
        self.axes.push(name);
        let n = 2 + self.rng.below(2);
        // No fence follows, so nothing that signals.
        let quiet = |o: &Op| !matches!(o.inst.opcode, Opcode::DMATrigger | Opcode::SwitchQueueInstance);
        let list = std::iter::repeat_with(|| self.op()).filter(quiet).take(n as usize).map(|o| o.inst).collect();
        self.axes.pop();
        l.blocks = vec![block(&self.name("B"), list)];
        l
    }

    fn call(&mut self) -> Instruction {
        let (fi, fo) = self.rng.pick(&[("a", "o"), ("o", "a"), ("a", "a")]);
        let pairs = vec![("fi_set".to_string(), format!("{fi}_set")), ("fo_set".to_string(), format!("{fo}_set"))];
        Instruction::new(self.name("call"), Opcode::Call, Engine::All)
            .with("target", "sub")
            .with("arguments", Value::Map(pairs))
    }

    /// Some instructions, the waits between them, and a fence that resets what they used.
    fn segment(&mut self) -> Vec<Instruction> {
        let n = 3 + self.rng.below(7);
        let mut ops: Vec<Op> = (0..n).map(|_| self.op()).collect();
        if self.fault != Fault::None && self.function == 0 && self.axes.is_empty() {
            let at = self.rng.below(n) as usize;
            match self.fault {
                Fault::Bounds => {
                    let mut i = Instruction::new(self.name("beyond"), Opcode::TensorCopy, Engine::Pool);
                    i.ins = vec![whole("a", 2, 16)];
                    i.outs = vec![block_of("o", 16, 30, 2, 16)];
                    ops.insert(at, self.touches(i));
                }
                Fault::Event => {
                    let set = update(SyncKind::Event, 250, UpdateMode::EvtSet, 0);
                    ops[at].inst.sync.on_update.extend([set.clone(), set]);
                }
                _ => ops[at].inst.sync.on_update.push(update(SyncKind::Semaphore, 250, UpdateMode::SemInc, 2)),
            }
            self.fault = Fault::None;
        }
        let used = self.synchronise(&mut ops);
        let mut list: Vec<Instruction> = ops.into_iter().map(|o| o.inst).collect();
        self.fence(&mut list, used);
        list
    }

    /// Turns every need across engines into a wait; returns the semaphores in use.
    fn synchronise(&mut self, ops: &mut [Op]) -> BTreeSet<u32> {
        let mut used: BTreeSet<u32> = BTreeSet::new();
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        let mut position = Vec::new();
        for o in ops.iter_mut() {
            let id = queue(o.inst.engine);
            let mode = self.rng.pick(&[UpdateMode::SemAddImm, UpdateMode::SemInc]);
            o.inst.sync.on_update.push(update(SyncKind::Semaphore, id, mode, 1));
            let n = counts.entry(id).or_default();
            *n += 1;
            position.push(*n);
            used.insert(id);
        }
        let switches = ops.iter().any(|o| o.inst.opcode == Opcode::SwitchQueueInstance);
        let mut fresh = 8;
        for j in 0..ops.len() {
            let mut latest: BTreeMap<u32, usize> = BTreeMap::new();
            for i in 0..j {
                let (a, b) = (&ops[i], &ops[j]);
                let meets = |x: &BTreeSet<Key>, y: &BTreeSet<Key>| x.intersection(y).next().is_some();
                let needs = meets(&a.writes, &b.reads) || meets(&a.writes, &b.writes) || meets(&a.reads, &b.writes);
                if needs && a.inst.engine != b.inst.engine {
                    latest.insert(queue(a.inst.engine), i);
                }
            }
            for (id, i) in latest {
                fresh += 1;
                let new = fresh;
                used.insert(new);
                let three = if self.function == 0 { "k3" } else { "sk3" };
                use UpdateMode::*;
                let semaphore = SyncKind::Semaphore;
                let (w, u) = match self.rng.below(8) {
                    0 => (wait_event(new), Some(update(SyncKind::Event, new, EvtSet, 0))),
                    1 => (wait_register(new, three), Some(update(semaphore, new, SemAddImm, 3))),
                    2 => (wait(new, 9), Some(update(semaphore, new, SemWrImm, 9))),
                    3 => (wait(new, u32::MAX), Some(update(semaphore, new, SemDec, 1))),
                    4 => (wait(new, u32::MAX - 4), Some(update(semaphore, new, SemSubImm, 5))),
                    // The blocks of a trigger signal themselves, unless the queue's semaphores are cleared meanwhile.
                    5 if ops[i].inst.opcode == Opcode::DMATrigger && !switches => {
                        let name = ops[i].inst.name.clone();
                        let fired = ops[..=i].iter().filter(|o| o.inst.name == name).count() as u32;
                        (wait(if name == "T0" { 200 } else { 201 }, 16 * fired), None)
                    }
                    _ => (wait(id, position[i]), None),
                };
                ops[i].inst.sync.on_update.extend(u);
                // Triggers share their names.
                if w.kind == SyncKind::Semaphore && ops[j].inst.opcode != Opcode::DMATrigger {
                    self.waits.push((ops[j].inst.name.clone(), ops[j].inst.sync.on_wait.len()));
                }
                ops[j].inst.sync.on_wait.push(w);
            }
        }
        used.extend([200, 201]);
        used
    }

    /// All engines meet, and the used semaphores are cleared.
    fn fence(&mut self, list: &mut Vec<Instruction>, used: BTreeSet<u32>) {
        let ids = Value::Ints(used.into_iter().map(|id| Expr::Const(i64::from(id))).collect());
        let in_queues = self.rng.chance(40);
        let barriers = |g: &mut Self, list: &mut Vec<Instruction>| {
            for e in Engine::QUEUES {
                list.push(Instruction::new(g.name("meet"), Opcode::AllEngineBarrier, e));
            }
        };
        let engine = if in_queues { Engine::Sp } else { Engine::All };
        if in_queues {
            barriers(self, list);
        }
        let mut reset = Instruction::new(self.name("reset"), Opcode::GroupResetSemaphores, engine);
        reset.set("sema_group", ids);
        list.push(reset);
        if in_queues {
            barriers(self, list);
        }
    }

    /// One random instruction.
    fn op(&mut self) -> Op {
        let mut i = if self.function == 0 { self.main_op() } else { self.sub_op() };
        if self.rng.chance(12) && i.opcode != Opcode::DMATrigger {
            let expr = match self.axes.last() {
                Some(axis) if self.rng.chance(70) => plus(Expr::Axis(axis.clone()), -1),
                _ if self.function == 0 => affine("r0", 1, -1),
                _ => affine("s0", 1, -1),
            };
            use PredicateOp::*;
            i.predicates = vec![Predicate { expr, op: self.rng.pick(&[Ge, Eq, Lt, Le, Gt, Ne]) }];
        }
        self.touches(i)
    }

    fn sub_op(&mut self) -> Instruction {
        let from = self.rng.pick(&["fi", "l", "fo"]);
        let to = self.rng.pick(&["fo", "l"]);
        let (rows, cols) = (1 + self.rng.below(2), 1 + self.rng.below(8));
        let at = |g: &mut Self, t: &str| block_of(t, 16, g.rng.below(9), rows, cols);
        let (from, to) = (at(self, from), at(self, to));
        match self.rng.below(3) {
            0 => copy(self.name("copy"), Opcode::TensorCopy, Engine::Activation, from, to),
            1 => copy(self.name("move"), Opcode::DMACopy, Engine::Dma, from, to),
            _ => self.scaled(from, to),
        }
    }

    fn scaled(&mut self, from: Operand, to: Operand) -> Instruction {
        let (by, plus) = (self.rng.pick(&[0.5, -0.5, 0.25]), self.rng.pick(&[1.0, 2.0, -1.5]));
        scale(self.name("scale"), self.rng.pick(&COMPUTE), from, to, by, plus)
    }

    /// A rectangle of a float tensor, addressed in one of several ways.
    fn place(&mut self, tensor: &str, rows: i64, cols: i64) -> Operand {
        let pitch = if matches!(tensor, "p" | "q") { 8 } else { 16 };
        let free = pitch - cols + 1;
        match self.rng.below(6) {
            0 if !self.axes.is_empty() => {
                let axis =
                    Expr::Axis(self.rng.pick(&self.axes.iter().map(String::as_str).collect::<Vec<_>>()).to_string());
                let column = modulo(Expr::Affine { terms: vec![(axis.clone(), 3)], c: self.rng.below(4) }, free);
                let row = if rows == 1 { modulo(axis, 2) } else { Expr::Const(0) };
                symbolic(tensor, vec![row, column], pitch, rows, cols)
            }
            1 if matches!(tensor, "a" | "o") && rows == 1 => by_register(tensor, "i0", cols),
            2 if matches!(tensor, "d" | "x") && rows == 1 => by_offset(tensor, "i0", cols),
            _ => block_of(tensor, pitch, self.rng.below(free), rows, cols),
        }
    }

    fn main_op(&mut self) -> Instruction {
        let (rows, cols) = (1 + self.rng.below(2), 1 + self.rng.below(7));
        match self.rng.below(17) {
            0 | 1 => {
                let (from, to) = (self.rng.pick(&["a", "o", "p", "q"]), self.rng.pick(&["a", "o"]));
                let (from, to) = (self.place(from, rows, cols), self.place(to, rows, cols));
                self.scaled(from, to)
            }
            2 => {
                let op = self.rng.pick(&[AluOp::Max, AluOp::Min]);
                let mut i = Instruction::new(self.name("both"), Opcode::TensorTensor, self.rng.pick(&COMPUTE))
                    .with("op", Value::named(op));
                i.ins = vec![self.place("a", rows, cols), self.place("o", rows, cols)];
                let to = self.rng.pick(&["a", "o"]);
                i.outs = vec![self.place(to, rows, cols)];
                i
            }
            3 | 4 => {
                let (from, to) = (self.rng.pick(&["a", "o", "p", "q"]), self.rng.pick(&["a", "o"]));
                let (from, to) = (self.place(from, rows, cols), self.place(to, rows, cols));
                let engine = self.rng.pick(&[Engine::Activation, Engine::Pool, Engine::Dve]);
                copy(self.name("copy"), Opcode::TensorCopy, engine, from, to)
            }
            5 | 6 => {
                let (from, to) = (self.rng.pick(&["a", "o", "d", "x"]), self.rng.pick(&["a", "o", "d", "x"]));
                let (from, to) = (self.place(from, rows, cols), self.place(to, rows, cols));
                copy(self.name("move"), Opcode::DMACopy, Engine::Dma, from, to)
            }
            7 => {
                let (from, to) = (block_of("d", 16, self.rng.below(9), rows, cols), block_of("a", 16, 2, rows, cols));
                copy(self.name("load"), Opcode::Load, self.rng.pick(&[Engine::Dma, Engine::Sp]), from, to)
            }
            8 => {
                let (from, to) = (block_of("o", 16, self.rng.below(9), rows, cols), block_of("x", 16, 3, rows, cols));
                copy(self.name("save"), Opcode::Save, Engine::Dma, from, to)
            }
            9 => {
                let (t, pitch) = self.rng.pick(&[("mi", 4), ("mw", 2), ("a", 16)]);
                let to = block_of(t, pitch, self.rng.below(2), rows, 1);
                let value = self.rng.pick(&[1.0, 2.0, 3.0]);
                memset(self.name("fill"), self.rng.pick(&COMPUTE), to, value)
            }
            10 | 11 => {
                let flag = self.rng.pick(&[0, 1, 4, 4, 6]);
                let mut i =
                    Instruction::new(self.name("mm"), Opcode::Matmult, Engine::Pe).with("accumulation_flag", flag);
                i.ins = vec![whole("mi", 2, 4), whole("mw", 2, 2)];
                let to = self.rng.pick(&["p", "q"]);
                i.outs = vec![block_of(to, 8, self.rng.below(5), 2, 4)];
                i
            }
            12 => {
                let to = self.rng.pick(&FREE);
                let engine = self.rng.pick(&SCALAR);
                if self.rng.chance(40) {
                    let mut i = self.set(to, 0);
                    let axis = self.rng.below(9) - 4;
                    i.engine = engine;
                    i.ins = vec![imm_for(to, i128::from(if to == "u0" { axis.abs() } else { axis }))];
                    i.outs = vec![reg(to)];
                    return i;
                }
                use AluOp::*;
                let op = self.rng.pick(&[Add, Subtract, Mult, BitwiseXor, Max, IsLt]);
                let value = imm_for(to, i128::from(1 + self.rng.below(5)));
                if to == "u0" {
                    return self.alu(Add, to, reg(to), value, engine);
                }
                self.alu(op, to, reg(to), value, engine)
            }
            13 => {
                // The register that addresses stays inside the tensors.
                let engine = self.rng.pick(&SCALAR);
                self.alu(AluOp::BitwiseAnd, "i0", reg("r1"), imm(15), engine)
            }
            14 => {
                let load = self.rng.chance(50);
                let at = element("n", self.rng.below(8));
                let engine = self.rng.pick(&SCALAR);
                let opcode = if load { Opcode::TensorLoad } else { Opcode::TensorSave };
                let mut i = Instruction::new(self.name("word"), opcode, engine);
                let register = self.rng.pick(&["r0", "r1"]);
                (i.ins, i.outs) = if load { (vec![at], vec![reg(register)]) } else { (vec![reg(register)], vec![at]) };
                i
            }
            15 if self.axes.is_empty() || self.rng.chance(70) => {
                if self.rng.chance(30) {
                    let opcode = self.rng.pick(&[Opcode::SwitchQueueInstance, Opcode::ResetQueueInstance]);
                    let mut i = Instruction::new(self.name("rewind"), opcode, Engine::Dma).with("queue", "Q");
                    i.set("instance", Value::Strs(vec!["b0".into(), "b2".into()]));
                    if opcode == Opcode::SwitchQueueInstance {
                        i.set("no_rearm", Value::Bool(self.rng.chance(30)));
                    }
                    return i;
                }
                let (stem, blocks): (&str, &[&str]) = self.rng.pick(&[("T0", &["b0", "b1"][..]), ("T1", &["b2"][..])]);
                let mut i = Instruction::new(stem, Opcode::DMATrigger, Engine::Dma).with("queue", "Q");
                i.set("dma_blocks", Value::Strs(blocks.iter().map(|b| b.to_string()).collect()));
                i
            }
            _ => {
                let opcode = self.rng.pick(&[Opcode::NoOp, Opcode::EventSemaphore, Opcode::Drain]);
                Instruction::new(self.name("nop"), opcode, self.rng.pick(&Engine::QUEUES))
            }
        }
    }

    /// What an instruction reads and writes; a whole tensor where the address is known at run time only.
    fn touches(&self, inst: Instruction) -> Op {
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        inst.ins.iter().for_each(|o| self.add(o, &inst, &mut reads));
        inst.outs.iter().for_each(|o| self.add(o, &inst, &mut writes));
        // Registers inside addresses and predicates are read, also those of outputs.
        for o in inst.ins.iter().chain(&inst.outs) {
            if matches!(o, Operand::RegisterAp(_)) || matches!(o, Operand::Physical(a) if a.dynamic.is_some()) {
                reads.insert(register_key("i0"));
            }
        }
        for p in &inst.predicates {
            reads.extend(["r0", "s0"].map(register_key).into_iter().filter(|_| !matches!(p.expr, Expr::Axis(_))));
        }
        let queue = self.module.queues.first();
        let blocks = queue.iter().flat_map(|q| &q.blocks).flat_map(|b| &b.instructions);
        match inst.opcode {
            Opcode::DMATrigger => {
                for d in blocks.flat_map(|b| &b.blocks).flat_map(|b| &b.instructions) {
                    d.ins.iter().for_each(|o| self.add(o, d, &mut reads));
                    d.outs.iter().for_each(|o| self.add(o, d, &mut writes));
                }
            }
            Opcode::Matmult => reads.extend(writes.iter().copied()),
            _ => {}
        }
        Op { inst, reads, writes }
    }

    fn add(&self, o: &Operand, inst: &Instruction, into: &mut BTreeSet<Key>) {
        let f = &self.module.functions[self.function];
        let set = match o {
            Operand::Register { regref, .. } => {
                into.insert(register_key(regref));
                return;
            }
            Operand::Physical(a) => format!("{}_set", a.memref),
            Operand::Symbolic(a) => a.memsetref.clone(),
            Operand::RegisterAp(a) => a.memsetref.clone(),
            _ => return,
        };
        if f.arguments.contains(&set) {
            // Both formals may be bound to one tensor.
            into.insert((900, 0, 0));
            return;
        }
        let plain = Plain::new(&self.module, self.physical);
        let fixed = matches!(o, Operand::Physical(a) if a.dynamic.is_none());
        match fixed.then(|| plain.keys(f, inst, o)) {
            Some(Ok(keys)) => into.extend(keys),
            _ => into.extend(Plain::extent(&self.module, self.physical, &f.name, &set)),
        }
    }
}

fn queue(e: Engine) -> u32 {
    Engine::QUEUES.iter().position(|q| *q == e).expect("the engine has a queue") as u32
}

fn register_key(name: &str) -> Key {
    (1000, name.bytes().fold(0, |h, b| h * 256 + u64::from(b)), 0)
}

/// Takes one wait away.
pub fn without(module: &Module, wait: &(String, usize)) -> Module {
    fn walk(blocks: &mut [Block], wait: &(String, usize)) {
        for i in blocks.iter_mut().flat_map(|b| &mut b.instructions) {
            if i.name == wait.0 {
                i.sync.on_wait.remove(wait.1);
                return;
            }
            walk(&mut i.blocks, wait);
        }
    }
    let mut m = module.clone();
    m.functions.iter_mut().for_each(|f| walk(&mut f.blocks, wait));
    m
}

fn wait_event(id: u32) -> WaitRef {
    WaitRef { kind: SyncKind::Event, mode: WaitMode::EvtSetClear, ..wait(id, 0) }
}

fn wait_register(id: u32, register: &str) -> WaitRef {
    WaitRef { mode: WaitMode::SemGeReg, regref: Some(register.into()), ..wait(id, 0) }
}

fn update(kind: SyncKind, id: u32, mode: UpdateMode, value: u32) -> UpdateRef {
    UpdateRef { kind, id, mode, value, target_core: None, extra: Extra::new() }
}
