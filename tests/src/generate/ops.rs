//! Single instructions and what they touch.

use super::*;

impl Generator {
    /// One random instruction.
    pub(super) fn op(&mut self) -> Op {
        let mut i = if self.function == 0 { self.main_op() } else { self.sub_op() };
        if self.rng.chance(12) && i.opcode != Opcode::DMATrigger {
            let expr = match self.axes.last() {
                Some(axis) if self.rng.chance(70) => plus(Expr::Axis(axis.clone()), -1),
                _ if self.function == 0 => affine("r0", 1, -1),
                _ => affine("s0", 1, -1),
            };
            use PredicateOp::*;
            i.predicates = vec![Predicate { expr, op: self.rng.pick(&[Ge, Eq, Lt, Le, Gt, Ne]) }].into();
        }
        self.touches(i)
    }

    pub(super) fn sub_op(&mut self) -> Instruction {
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

    pub(super) fn scaled(&mut self, from: Operand, to: Operand) -> Instruction {
        let (by, plus) = (self.rng.pick(&[0.5, -0.5, 0.25]), self.rng.pick(&[1.0, 2.0, -1.5]));
        scale(self.name("scale"), self.rng.pick(&COMPUTE), from, to, by, plus)
    }

    /// A rectangle of a float tensor, addressed in one of several ways.
    pub(super) fn place(&mut self, tensor: &str, rows: i64, cols: i64) -> Operand {
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

    pub(super) fn main_op(&mut self) -> Instruction {
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
                self.trigger(stem, blocks)
            }
            _ => {
                let opcode = self.rng.pick(&[Opcode::NoOp, Opcode::EventSemaphore, Opcode::Drain]);
                Instruction::new(self.name("nop"), opcode, self.rng.pick(&Engine::QUEUES))
            }
        }
    }

    pub(super) fn trigger(&self, name: &str, blocks: &[&str]) -> Instruction {
        let mut i = Instruction::new(name, Opcode::DMATrigger, Engine::Dma).with("queue", "Q");
        i.set("dma_blocks", Value::Strs(blocks.iter().map(|b| b.to_string()).collect()));
        i
    }

    /// What an instruction reads and writes; a whole tensor where the address is known at run time only.
    pub(super) fn touches(&self, inst: Instruction) -> Op {
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

    pub(super) fn add(&self, o: &Operand, inst: &Instruction, into: &mut BTreeSet<Key>) {
        let f = &self.module.functions[self.function];
        let set = match o {
            Operand::Register { regref, .. } => {
                into.insert(register_key(regref));
                return;
            }
            Operand::Physical(a) => format!("{}_set", a.memref),
            Operand::Symbolic(a) => a.memsetref.to_string(),
            Operand::RegisterAp(a) => a.memsetref.to_string(),
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

pub(super) fn register_key(name: &str) -> Key {
    (1000, name.bytes().fold(0, |h, b| h * 256 + u64::from(b)), 0)
}
