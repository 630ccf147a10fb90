//! Control flow around the instructions.

use super::sync::update;
use super::*;

impl Generator {
    /// A queue with two triggers of two and one blocks.
    pub(super) fn queue(&mut self) -> Queue {
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
            b.blocks = vec![block(&format!("{name}-list"), list)].into();
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

    pub(super) fn sub(&mut self) -> Vec<Block> {
        let mut list = vec![self.set("sk3", 3)];
        if self.rng.chance(50) {
            list.push(self.set("s0", 1));
        }
        list.extend(self.segment());
        list.push(self.alu(AluOp::Add, "s0", reg("s0"), imm(1), Engine::All));
        let mut ret = Instruction::new(self.name("return"), Opcode::Return, Engine::All);
        // The counter lives on between calls, so some calls return early.
        ret.predicates = vec![Predicate { expr: affine("s0", 1, -2), op: PredicateOp::Ge }].into();
        list.push(ret);
        vec![block("sub-1", list), block("sub-2", self.segment())]
    }

    /// A list of blocks with `n` pieces of control flow.
    pub(super) fn items(&mut self, n: i64, depth: usize, mut list: Vec<Instruction>) -> Vec<Block> {
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
                    blocks.push(self.closed(&label, std::mem::take(&mut list)));
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
                    if self.rng.chance(60) {
                        self.receives(&end, first, second);
                    }
                    label = end;
                }
                7 => {
                    // A loop made of branches.
                    list.push(self.set("w0", 0));
                    blocks.push(self.closed(&label, std::mem::take(&mut list)));
                    let before = std::mem::replace(&mut label, self.name("B"));
                    if self.rng.chance(60) {
                        self.receives(&label.clone(), &before, &label);
                    }
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
                    blocks.push(self.closed(&label, body));
                    label = self.name("B");
                }
                _ => {
                    let mut barrier = Instruction::new(self.name("barrier"), Opcode::AllEngineBarrier, Engine::All);
                    if self.rng.chance(50) {
                        barrier.sync.on_update = vec![update(SyncKind::Semaphore, 230, UpdateMode::SemWrImm, 7)].into();
                        barrier.sync.second_update =
                            vec![update(SyncKind::Semaphore, 230, UpdateMode::SemSubImm, 2)].into();
                    }
                    list.push(barrier);
                }
            }
        }
        blocks.push(self.closed(&label, list));
        blocks
    }

    /// A block, with the arguments that were promised to its name.
    fn closed(&mut self, label: &str, list: Vec<Instruction>) -> Block {
        let arguments = self.arguments.take_if(|(name, _)| name == label);
        Block { arguments: arguments.map(|(_, a)| a).unwrap_or_default(), ..block(label, list) }
    }

    /// Promises arguments to a block with two predecessors: from the second one two registers change places.
    fn receives(&mut self, label: &str, first: &str, second: &str) {
        let numbers = [self.rng.below(9) - 4, self.rng.below(9) - 4];
        let argument = |name: &str, k: usize, other: &str| BlockArgument {
            name: name.into(),
            incoming: vec![(imm(i128::from(numbers[k])), first.into()), (reg(other), second.into())],
            extra: Extra::new(),
        };
        self.arguments = Some((label.into(), vec![argument("r0", 0, "r1"), argument("r1", 1, "r0")]));
    }

    pub(super) fn branch(&mut self, yes: &str, no: &str) -> Instruction {
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
    pub(super) fn body(&mut self, depth: usize, breaks: bool) -> Vec<Block> {
        let n = if depth < 2 { self.rng.below(2) } else { 0 };
        let mut blocks = match n {
            0 => vec![block(&self.name("B"), self.segment())],
            n => self.items(n, depth + 1, Vec::new()),
        };
        if breaks && self.rng.chance(60) {
            let axis = self.axes.last().cloned().unwrap_or_default();
            let mut leave = Instruction::new(self.name("break"), Opcode::Break, Engine::All);
            leave.predicates = vec![Predicate { expr: plus(Expr::Axis(axis), -1), op: PredicateOp::Eq }].into();
            blocks.last_mut().expect("a body has a block").instructions.push(leave);
        }
        blocks
    }

    pub(super) fn counted(&mut self, depth: usize) -> Vec<Instruction> {
        let name = self.name("i");
        let (lb, stride) = (self.rng.below(2), 1 + self.rng.below(2));
        let ub = lb + self.rng.below(4);
        let (lb, ub, stride) = (Expr::Const(lb), Expr::Const(ub), Expr::Const(stride));
        let mut l = looped(self.name("loop"), Opcode::Loop, &name, lb, ub, stride);
        self.axes.push(name);
        l.blocks = self.body(depth, true).into();
        self.axes.pop();
        vec![l]
    }

    pub(super) fn dynamic(&mut self, depth: usize) -> Vec<Instruction> {
        let name = self.name("i");
        let trips = self.rng.below(4);
        let lb = match self.axes.last() {
            Some(outer) if self.rng.chance(50) => modulo(Expr::Axis(outer.clone()), 2),
            _ => Expr::Const(0),
        };
        let start = self.set("w1", i128::from(trips));
        let mut l = looped(self.name("loop"), Opcode::DynamicForLoop, &name, lb, affine("w1", 2, -1), Expr::Const(2));
        self.axes.push(name);
        l.blocks = self.body(depth, true).into();
        self.axes.pop();
        vec![start, l]
    }

    pub(super) fn until(&mut self, depth: usize) -> Vec<Instruction> {
        // One counter per depth, so that nested loops do not share it.
        if depth > 0 {
            return self.counted(depth);
        }
        let trips = i128::from(self.rng.below(3));
        let start = self.set("w2", trips);
        let mut l = Instruction::new(self.name("while"), Opcode::DoWhile, Engine::All)
            .with("cond", Value::Expr(Expr::Register("w2".into())));
        l.blocks = self.body(2, false).into();
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

    pub(super) fn parallel(&mut self, _: usize) -> Instruction {
        let name = self.name("i");
        let mut l = looped(self.name("par"), Opcode::Loop, &name, Expr::Const(0), Expr::Const(3), Expr::Const(1))
            .with("isParallel", true);
        self.axes.push(name);
        let n = 2 + self.rng.below(2);
        // No fence follows, so nothing that signals.
        let quiet = |o: &Op| !matches!(o.inst.opcode, Opcode::DMATrigger | Opcode::SwitchQueueInstance);
        let list = std::iter::repeat_with(|| self.op()).filter(quiet).take(n as usize).map(|o| o.inst).collect();
        self.axes.pop();
        l.blocks = vec![block(&self.name("B"), list)].into();
        l
    }

    pub(super) fn call(&mut self) -> Instruction {
        let (fi, fo) = self.rng.pick(&[("a", "o"), ("o", "a"), ("a", "a")]);
        if self.rng.chance(35) {
            let one = |formal: &str, actual: &str| Value::Map(vec![(formal.into(), format!("{actual}_set"))]);
            return Instruction::new(self.name("kernel"), Opcode::NKIKernel, Engine::All)
                .with("func", "kern")
                .with("func_args", one("kfi_set", fi))
                .with("func_outs", one("kfo_set", fo));
        }
        let pairs = vec![("fi_set".to_string(), format!("{fi}_set")), ("fo_set".to_string(), format!("{fo}_set"))];
        Instruction::new(self.name("call"), Opcode::Call, Engine::All)
            .with("target", "sub")
            .with("arguments", Value::Map(pairs))
    }
}
