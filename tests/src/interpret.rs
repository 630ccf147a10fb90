//! A plain interpreter of BIR modules, written apart from the engine: one instruction at a time, engines in turn, memory
//! as a map from places to bytes. It knows the opcodes of [`crate::generate`] and nothing else.

use birsim_engine::ir::{
    Axis, Block, BranchCompare, Engine, Expr, Function, ImmValue, Instruction, Location, LocationSet, MemoryType,
    Module, Opcode, Operand, PredicateOp, Storage, SyncKind, UpdateMode, Value, WaitMode,
};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Dtype, Named};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A place of one byte: (space, partition, byte). Spaces 0 and 1 are SBUF and PSUM of the physical mode, every other one
/// is a location of its own.
pub type Key = (u32, u64, u64);

/// How a run ended that did not end well: (error code, instruction).
pub type Stop = (String, String);

/// Where control goes behind a block.
#[derive(Clone, PartialEq)]
enum Next {
    Fall,
    To(String),
    Break,
    Return,
    Exit,
}

/// The machine.
pub struct Plain<'a> {
    module: &'a Module,
    physical: bool,
    /// Bytes that were written; all others are 0xFF.
    pub memory: HashMap<Key, u8>,
    marks: HashSet<Key>,
    /// Tensor and engine that wrote a byte last.
    writers: HashMap<Key, (String, Engine)>,
    /// Names of the instructions that were executed.
    pub executed: BTreeSet<String>,
    /// Register values by name; those not in it were never written.
    pub registers: BTreeMap<String, u64>,
    /// The semaphore bank.
    pub semaphores: Vec<u32>,
    events: Vec<bool>,
    axes: Vec<(String, i64)>,
    fires: HashMap<String, usize>,
    bindings: HashMap<String, String>,
    /// What was executed, by feature.
    pub coverage: BTreeMap<String, u64>,
    calls: u32,
    next: Next,
}

type Run<T> = Result<T, Stop>;

impl<'a> Plain<'a> {
    /// A machine for a module.
    pub fn new(module: &'a Module, physical: bool) -> Self {
        Plain {
            module,
            physical,
            memory: HashMap::new(),
            marks: HashSet::new(),
            writers: HashMap::new(),
            executed: BTreeSet::new(),
            registers: BTreeMap::new(),
            semaphores: vec![0; 256],
            events: vec![false; 256],
            axes: Vec::new(),
            fires: HashMap::new(),
            bindings: HashMap::new(),
            coverage: BTreeMap::new(),
            calls: 0,
            next: Next::Fall,
        }
    }

    /// Runs the entry function.
    pub fn run(&mut self) -> Run<()> {
        let main = self.module.entry().expect("a module has an entry");
        self.blocks(main, &main.blocks)
    }

    fn seen(&mut self, what: impl Into<String>) {
        *self.coverage.entry(what.into()).or_default() += 1;
    }

    /// Runs a list of blocks until control leaves it; `self.next` says where to when it is not the end.
    fn blocks(&mut self, f: &'a Function, list: &'a [Block]) -> Run<()> {
        let mut at = 0;
        while let Some(b) = list.get(at) {
            self.next = Next::Fall;
            self.block(f, b)?;
            match self.next.clone() {
                Next::Fall => at += 1,
                Next::To(name) => match list.iter().position(|b| b.name == name) {
                    Some(k) => at = k,
                    None => return Ok(()),
                },
                _ => return Ok(()),
            }
            self.next = Next::Fall;
        }
        Ok(())
    }

    fn block(&mut self, f: &'a Function, b: &'a Block) -> Run<()> {
        let mut rest = b.instructions.as_slice();
        loop {
            let n = rest.iter().position(|i| i.engine == Engine::All).unwrap_or(rest.len());
            self.segment(f, &rest[..n])?;
            if self.next == Next::Exit {
                return Ok(());
            }
            let Some(join) = rest.get(n) else { break };
            assert!(self.runnable(f, join), "{} waits for ever", join.name);
            self.issue(f, join)?;
            rest = &rest[n + 1..];
            let leaves = !matches!(self.next, Next::Fall | Next::To(_)) && !join.blocks.is_empty();
            if self.next == Next::Exit || leaves {
                return Ok(());
            }
        }
        match self.events.iter().any(|e| *e) {
            true => Err(("BIR-S004".into(), String::new())),
            false => Ok(()),
        }
    }

    /// Engines take turns; one that must wait is passed over.
    fn segment(&mut self, f: &'a Function, part: &'a [Instruction]) -> Run<()> {
        let mut queues: Vec<Vec<&Instruction>> =
            Engine::QUEUES.iter().map(|e| part.iter().rev().filter(|i| i.engine == *e).collect()).collect();
        let mut turn = 0;
        while queues.iter().any(|q| !q.is_empty()) {
            let joins = |i: &Instruction| matches!(i.opcode, Opcode::AllEngineBarrier | Opcode::Exit);
            let found = (0..6)
                .map(|k| (turn + k) % 6)
                .find(|q| queues[*q].last().is_some_and(|i| !joins(i) && self.runnable(f, i)));
            if let Some(q) = found {
                let i = queues[q].pop().expect("the queue has a head");
                self.issue(f, i)?;
                turn = (q + 1) % 6;
                continue;
            }
            let heads: Vec<&Instruction> = queues.iter().filter_map(|q| q.last().copied()).collect();
            assert!(heads.iter().all(|i| joins(i) && i.opcode == heads[0].opcode), "no engine can go on");
            for q in &mut queues {
                if let Some(i) = q.pop() {
                    self.issue(f, i)?;
                }
            }
            if self.next == Next::Exit {
                return Ok(());
            }
        }
        Ok(())
    }

    fn runnable(&self, f: &Function, i: &Instruction) -> bool {
        i.sync.on_wait.iter().all(|w| match (w.kind, &w.regref) {
            (SyncKind::Event, _) => self.events[w.id as usize],
            (_, Some(r)) if w.mode == WaitMode::SemGeReg => {
                self.semaphores[w.id as usize] >= self.register(f, r) as u32
            }
            _ => self.semaphores[w.id as usize] >= w.value,
        })
    }

    /// Waits are satisfied: consume events, execute, update.
    fn issue(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        for w in &i.sync.on_wait {
            self.seen(format!("wait {} {}", w.kind, w.mode));
            if w.kind == SyncKind::Event {
                self.events[w.id as usize] = false;
            }
        }
        let holds = i.predicates.iter().all(|p| {
            let v = self.value(f, &p.expr);
            match p.op {
                PredicateOp::Ge => v >= 0,
                PredicateOp::Eq => v == 0,
                PredicateOp::Lt => v < 0,
                PredicateOp::Le => v <= 0,
                PredicateOp::Gt => v > 0,
                PredicateOp::Ne => v != 0,
            }
        });
        if !i.predicates.is_empty() {
            self.seen(if holds { "predicate holds" } else { "predicate fails" });
        }
        let here = |code: &str| (code.to_string(), i.name.clone());
        if holds {
            self.executed.insert(i.name.clone());
            self.seen(format!("op {}", i.opcode));
            self.execute(f, i)?;
        }
        self.update(&i.sync.on_update).map_err(here)?;
        if let (true, Opcode::DMATrigger, Some(b)) = (holds, i.opcode, self.fired(i)) {
            self.update(&b.sync.on_update).map_err(here)?;
        }
        Ok(())
    }

    fn update(&mut self, updates: &[birsim_engine::ir::UpdateRef]) -> Result<(), &'static str> {
        for u in updates {
            self.seen(format!("update {} {}", u.kind, u.mode));
            let s = &mut self.semaphores[u.id as usize];
            match u.mode {
                UpdateMode::EvtSet => {
                    if std::mem::replace(&mut self.events[u.id as usize], true) {
                        return Err("BIR-S004");
                    }
                }
                UpdateMode::SemInc | UpdateMode::SemDec if u.value != 1 => return Err("BIR-S005"),
                UpdateMode::SemInc | UpdateMode::SemAddImm => *s = s.wrapping_add(u.value),
                UpdateMode::SemDec | UpdateMode::SemSubImm => *s = s.wrapping_sub(u.value),
                UpdateMode::SemWrImm => *s = u.value,
            }
        }
        Ok(())
    }

    fn dma_block(&self, queue: &str, name: &str) -> Option<&'a Instruction> {
        let q = self.module.queues.iter().find(|q| q.name == queue)?;
        q.blocks.iter().flat_map(|b| &b.instructions).find(|i| i.name == name)
    }

    /// The block that a trigger's last firing ran.
    fn fired(&self, i: &Instruction) -> Option<&'a Instruction> {
        let names = strings(i, "dma_blocks");
        let n = *self.fires.get(&i.name)?;
        self.dma_block(&text(i, "queue"), &names[(n - 1) % names.len()])
    }

    fn execute(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        match i.opcode {
            Opcode::TensorScalar => {
                let (a, b) = (float(i, "const0"), float(i, "const1"));
                let v: Vec<u32> = self.read(f, i, 0)?.iter().map(|x| (f32::from_bits(*x) * a + b).to_bits()).collect();
                self.write(f, i, &v)
            }
            Opcode::TensorTensor => {
                let (x, y) = (self.read(f, i, 0)?, self.read(f, i, 1)?);
                let max = i.field("op") == Some(Value::named(AluOp::Max));
                let one = |(x, y): (&u32, &u32)| {
                    let (x, y) = (f32::from_bits(*x), f32::from_bits(*y));
                    // The second operand when they do not compare (ruling D5).
                    let first = if max { x > y } else { x < y };
                    if first { x.to_bits() } else { y.to_bits() }
                };
                let v: Vec<u32> = x.iter().zip(&y).map(one).collect();
                self.write(f, i, &v)
            }
            Opcode::TensorCopy | Opcode::DMACopy | Opcode::Load | Opcode::Save | Opcode::DMADescriptorCopy => {
                let v = self.read(f, i, 0)?;
                self.write(f, i, &v)
            }
            Opcode::Memset => {
                let Some(Value::Int(bits)) = i.field("constant") else { unreachable!("a constant is bits") };
                let n = self.keys(f, i, &i.outs[0])?.len() / 4;
                self.write(f, i, &vec![bits as u32; n])
            }
            Opcode::Matmult => self.matmult(f, i),
            Opcode::RegisterMove => {
                let v = self.scalar(f, &i.ins[0]);
                self.set_register(f, &i.outs[0], v);
                Ok(())
            }
            Opcode::RegisterAlu => {
                let (a, b) = (self.scalar(f, &i.ins[0]), self.scalar(f, &i.ins[1]));
                let Some(Value::Enum(op)) = i.field("op") else { unreachable!("op is named") };
                let wide = i.field("is_64bit") == Some(Value::Bool(true));
                let (a, b) = if wide { (a, b) } else { (i64::from(a as i32), i64::from(b as i32)) };
                let v = match AluOp::from_ordinal(op) {
                    Some(AluOp::Add) => a.wrapping_add(b),
                    Some(AluOp::Subtract) => a.wrapping_sub(b),
                    Some(AluOp::Mult) => a.wrapping_mul(b),
                    Some(AluOp::BitwiseAnd) => a & b,
                    Some(AluOp::BitwiseXor) => a ^ b,
                    Some(AluOp::Max) => a.max(b),
                    Some(AluOp::IsLt) => i64::from(a < b),
                    other => unreachable!("{other:?} is not generated"),
                };
                self.set_register(f, &i.outs[0], v);
                Ok(())
            }
            Opcode::TensorLoad => {
                let v = self.read(f, i, 0)?[0];
                self.set_register(f, &i.outs[0], i64::from(v as i32));
                Ok(())
            }
            Opcode::TensorSave => {
                let v = self.scalar(f, &i.ins[0]) as u32;
                self.write(f, i, &[v])
            }
            Opcode::DMATrigger => {
                let n = self.fires.entry(i.name.clone()).or_default();
                *n += 1;
                let b = self.fired(i).expect("the block exists");
                for d in b.blocks.iter().flat_map(|b| &b.instructions) {
                    self.seen(format!("op {}", d.opcode));
                    self.execute(self.module.entry().expect("a module has an entry"), d)?;
                }
                Ok(())
            }
            Opcode::GroupResetSemaphores => {
                let Some(Value::Ints(ids)) = i.field("sema_group") else { return Ok(()) };
                ids.iter().filter_map(Expr::as_const).for_each(|id| self.semaphores[id as usize] = 0);
                Ok(())
            }
            Opcode::SwitchQueueInstance | Opcode::ResetQueueInstance => self.rewind(i),
            Opcode::NoOp | Opcode::EventSemaphore | Opcode::AllEngineBarrier | Opcode::Drain => Ok(()),
            _ => self.control(f, i),
        }
    }

    fn rewind(&mut self, i: &Instruction) -> Run<()> {
        let queue = text(i, "queue");
        if i.opcode == Opcode::SwitchQueueInstance {
            if let Some(q) = self.module.queues.iter().find(|q| q.name == queue) {
                q.semaphores.iter().chain(&q.use_special_sema).for_each(|id| self.semaphores[*id as usize] = 0);
            }
            if i.field("no_rearm") == Some(Value::Bool(true)) {
                return Ok(());
            }
        }
        for name in strings(i, "instance") {
            if let Some(b) = self.dma_block(&queue, &name) {
                self.fires.remove(&text(b, "dma_trigger"));
            }
        }
        Ok(())
    }

    fn control(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        match i.opcode {
            Opcode::Loop | Opcode::DynamicForLoop => {
                let key = if i.opcode == Opcode::Loop { "LoopAxis" } else { "DynamicForLoopAxis" };
                let Some(Value::Axis(axis)) = i.field(key) else { unreachable!("a loop has an axis") };
                let Axis { name, lb, ub, stride } = *axis;
                let (lb, ub, stride) = (self.value(f, &lb), self.value(f, &ub), self.value(f, &stride).max(1));
                if lb >= ub {
                    self.seen("zero trips");
                }
                let parallel = i.field("isParallel") == Some(Value::Bool(true));
                self.seen(if parallel { "parallel loop" } else { "plain loop" });
                self.axes.push((name, lb));
                let depth = self.axes.len();
                self.seen(format!("depth {depth}"));
                let out = match parallel {
                    true => self.instruction_major(f, i, (lb, ub, stride)),
                    false => self.trips(f, i, (lb, ub, stride)),
                };
                self.axes.pop();
                out
            }
            Opcode::DoWhile => {
                let Some(Value::Expr(cond)) = i.field("cond") else { unreachable!("a DoWhile has a condition") };
                loop {
                    self.blocks(f, &i.blocks)?;
                    if self.left_loop() || self.value(f, &cond) == 0 {
                        return Ok(());
                    }
                }
            }
            Opcode::Call => {
                let name = text(i, "target");
                let callee = self.module.functions.iter().find(|g| g.name == name).expect("the callee exists");
                let Some(Value::Map(pairs)) = i.field("arguments") else { unreachable!("calls bind") };
                if self.calls > 0 {
                    return Err(("BIR-S013".into(), i.name.clone()));
                }
                let before = std::mem::replace(&mut self.bindings, pairs.into_iter().collect());
                self.calls += 1;
                let out = self.blocks(callee, &callee.blocks);
                self.calls -= 1;
                self.bindings = before;
                if self.next != Next::Exit {
                    self.next = Next::Fall;
                }
                out
            }
            Opcode::UnconditionalBranch => {
                self.next = Next::To(text(i, "target"));
                Ok(())
            }
            Opcode::CompareAndBranch => {
                let Some(Value::Enum(op)) = i.field("comp_op") else { unreachable!("comp_op is named") };
                let (a, b) = (self.scalar(f, &i.ins[0]), self.scalar(f, &i.ins[1]));
                use BranchCompare as C;
                let taken = match C::from_ordinal(op) {
                    Some(C::LtImm | C::LtReg) => a < b,
                    Some(C::LeImm | C::LeReg) => a <= b,
                    Some(C::EqImm | C::EqReg) => a == b,
                    Some(C::NeImm | C::NeReg) => a != b,
                    Some(C::GeImm | C::GeReg) => a >= b,
                    Some(C::GtImm | C::GtReg) => a > b,
                    other => unreachable!("{other:?} is not generated"),
                };
                self.seen(if taken { "branch taken" } else { "branch not taken" });
                let target = text(i, if taken { "on_true" } else { "on_false" });
                self.next = if target.is_empty() { Next::Fall } else { Next::To(target) };
                Ok(())
            }
            Opcode::Break => {
                self.next = Next::Break;
                Ok(())
            }
            Opcode::Return => {
                self.semaphores.fill(0);
                self.next = Next::Return;
                Ok(())
            }
            Opcode::Exit => {
                self.next = Next::Exit;
                Ok(())
            }
            other => unreachable!("{other} is not generated"),
        }
    }

    fn trips(&mut self, f: &'a Function, i: &'a Instruction, (lb, ub, stride): (i64, i64, i64)) -> Run<()> {
        let mut v = lb;
        while v < ub {
            self.axes.last_mut().expect("the loop has an axis").1 = v;
            self.blocks(f, &i.blocks)?;
            if self.left_loop() {
                break;
            }
            v += stride;
        }
        Ok(())
    }

    /// After a body: true when the loop is over. A Break ends here, other exits go on outwards.
    fn left_loop(&mut self) -> bool {
        if self.next == Next::Break {
            self.next = Next::Fall;
            return true;
        }
        self.next != Next::Fall
    }

    fn instruction_major(&mut self, f: &'a Function, i: &'a Instruction, (lb, ub, stride): (i64, i64, i64)) -> Run<()> {
        for inner in i.blocks.iter().flat_map(|b| &b.instructions) {
            for v in (lb..ub).step_by(stride as usize) {
                self.axes.last_mut().expect("the loop has an axis").1 = v;
                self.issue(f, inner)?;
            }
        }
        Ok(())
    }

    fn matmult(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        let (x, w) = (self.read(f, i, 0)?, self.read(f, i, 1)?);
        let k = i.ins[0].ap().expect("a pattern")[0].num as usize;
        let (n, m) = (x.len() / k, w.len() / k);
        let (x, w): (Vec<f32>, Vec<f32>) =
            (x.iter().map(|b| f32::from_bits(*b)).collect(), w.iter().map(|b| f32::from_bits(*b)).collect());
        let flag = match i.field("accumulation_flag") {
            Some(Value::Int(v)) => v,
            _ => 0,
        };
        self.seen(format!("matmult flag {flag}"));
        let keys = self.keys(f, i, &i.outs[0])?;
        let old = self.words(&keys);
        let mut out = Vec::new();
        for row in 0..m {
            for col in 0..n {
                // Small integers: every order of summation gives the same.
                let sum: f32 = (0..k).map(|k| w[k * m + row] * x[k * n + col]).fold(0.0, |s, v| s + v);
                let e = row * n + col;
                let adds = flag & 1 == 0 && flag & 4 != 0 && self.marks.contains(&keys[e * 4]);
                if adds {
                    self.seen("matmult adds");
                }
                out.push((if adds { f32::from_bits(old[e]) + sum } else { sum }).to_bits());
            }
        }
        self.marks.extend(&keys);
        self.write(f, i, &out)
    }

    /// An integer operand.
    fn scalar(&self, f: &Function, o: &Operand) -> i64 {
        match o {
            Operand::Imm { value: ImmValue::Int(v), .. } => *v as i64,
            Operand::Register { dtype, regref, .. } => {
                let v = self.register(f, regref);
                match dtype {
                    Dtype::Int64 => v,
                    Dtype::Uint32 => i64::from(v as u32),
                    _ => i64::from(v as i32),
                }
            }
            other => unreachable!("{other:?} is no scalar"),
        }
    }

    /// The value of a register, extended by its type.
    pub fn register(&self, f: &Function, name: &str) -> i64 {
        let d = declared(f, name);
        // Physical registers that nothing wrote are all ones (ruling D48).
        let fresh = if d.reg_id >= 0 { u64::MAX } else { 0 };
        let raw = self.registers.get(name).copied().unwrap_or(fresh);
        match (d.num_physical_regs == 2, d.dtype) {
            (true, _) => raw as i64,
            (false, Dtype::Int32) => i64::from(raw as i32),
            _ => i64::from(raw as u32),
        }
    }

    fn set_register(&mut self, f: &Function, o: &Operand, value: i64) {
        let Operand::Register { regref, .. } = o else { unreachable!("the output is a register") };
        let wide = declared(f, regref).num_physical_regs == 2;
        self.registers.insert(regref.clone(), if wide { value as u64 } else { u64::from(value as u32) });
    }

    fn value(&self, f: &Function, e: &Expr) -> i64 {
        match e {
            Expr::Const(c) => *c,
            Expr::Affine { terms, c } => terms.iter().map(|(t, k)| self.value(f, t) * k).sum::<i64>() + c,
            Expr::Axis(name) => self.axes.iter().rev().find(|(n, _)| n == name).expect("the axis is live").1,
            Expr::Register(name) => self.register(f, name),
            Expr::Modulo(a, b) => self.value(f, a).rem_euclid(self.value(f, b)),
            Expr::FloorDiv(a, b) => self.value(f, a).div_euclid(self.value(f, b)),
            other => unreachable!("{other:?} is not generated"),
        }
    }

    fn words(&self, keys: &[Key]) -> Vec<u32> {
        let byte = |k: &Key| self.memory.get(k).copied().unwrap_or(0xFF);
        keys.chunks_exact(4).map(|k| u32::from_le_bytes([byte(&k[0]), byte(&k[1]), byte(&k[2]), byte(&k[3])])).collect()
    }

    fn read(&mut self, f: &Function, i: &Instruction, k: usize) -> Run<Vec<u32>> {
        self.seen(format!("operand {}", i.ins[k].kind()));
        let keys = self.keys(f, i, &i.ins[k])?;
        let name = &self.tensor_of(f, &i.ins[k]).name;
        let others = keys
            .iter()
            .filter_map(|k| self.writers.get(k))
            .fold([false; 2], |[tensor, engine], (t, e)| [tensor | (t != name), engine | (*e != i.engine)]);
        for (other, what) in others.into_iter().zip(["reads through an overlap", "reads across engines"]) {
            if other {
                self.seen(what);
            }
        }
        Ok(self.words(&keys))
    }

    /// The location of a tensor operand.
    fn tensor_of(&self, f: &Function, o: &Operand) -> &'a Location {
        let set = match o {
            Operand::Physical(a) => set_name(f, &a.memref, &a.memsetref),
            Operand::Symbolic(a) => a.memsetref.clone(),
            Operand::RegisterAp(a) => a.memsetref.clone(),
            other => unreachable!("{other:?} is no tensor"),
        };
        self.location(f, &set).1
    }

    fn write(&mut self, f: &Function, i: &Instruction, v: &[u32]) -> Run<()> {
        self.seen(format!("operand {}", i.outs[0].kind()));
        let keys = self.keys(f, i, &i.outs[0])?;
        assert_eq!(keys.len(), v.len() * 4, "{}", i.name);
        let writer = (self.tensor_of(f, &i.outs[0]).name.clone(), i.engine);
        for (k, b) in keys.iter().zip(v.iter().flat_map(|v| v.to_le_bytes())) {
            self.memory.insert(*k, b);
            self.writers.insert(*k, writer.clone());
        }
        Ok(())
    }

    /// The bytes an operand means now, element by element; the documented fault when one is outside its tensor.
    pub fn keys(&self, f: &Function, i: &Instruction, o: &Operand) -> Run<Vec<Key>> {
        let (set, offset, ap) = match o {
            Operand::Physical(a) => {
                let offset = match &a.dynamic {
                    Some(d) => d.c.unwrap_or(a.offset) + d.offset_expr.as_ref().map_or(0, |e| self.value(f, e)),
                    None => a.offset,
                };
                (set_name(f, &a.memref, &a.memsetref), offset, &a.ap)
            }
            Operand::Symbolic(a) => {
                let pitch = self.location(f, &a.memsetref).1.dims[1] as i64 / 4;
                let offset = self.value(f, &a.addrs[0]) * pitch + self.value(f, &a.addrs[1]);
                (a.memsetref.clone(), offset, &a.ap)
            }
            Operand::RegisterAp(a) => {
                let offset = match &a.reg_ap_offset {
                    Some(r) => self.register(f, r),
                    None => a.const_ap_offset,
                };
                (a.memsetref.clone(), offset, &a.ap)
            }
            other => unreachable!("{other:?} is no tensor"),
        };
        let (space, loc) = self.location(f, &set);
        let mut elements = vec![offset];
        for p in ap {
            elements = elements.iter().flat_map(|e| (0..p.num).map(move |n| e + n * p.step)).collect();
        }
        let pitch = loc.dims[1] as i64 / 4;
        if elements.iter().any(|e| *e < 0 || *e >= pitch * loc.dims[0] as i64) {
            return Err(("BIR-S001".into(), i.name.clone()));
        }
        Ok(elements
            .iter()
            .flat_map(|e| (0..4).map(move |b| (*e * 4 + b) as u64))
            .map(|b| place(space, loc, b))
            .collect())
    }

    /// Space and record of a set's location, through the bindings of a call.
    fn location(&self, f: &Function, set: &str) -> (u32, &'a Location) {
        let (owner, set) = match self.bindings.get(set) {
            Some(actual) if f.arguments.iter().any(|a| a == set) => {
                (self.module.entry().expect("a module has an entry"), actual.as_str())
            }
            _ => (f, set),
        };
        find(self.module, self.physical, &owner.name, set)
    }

    /// The bytes of a tensor of a function.
    pub fn tensor(&self, function: &str, set: &str) -> Vec<u8> {
        let (space, loc) = find(self.module, self.physical, function, set);
        let bytes = loc.dims[0] * loc.dims[1];
        (0..bytes).map(|b| self.memory.get(&place(space, loc, b)).copied().unwrap_or(0xFF)).collect()
    }

    /// Sets the bytes of a tensor of the entry function.
    pub fn bind(&mut self, set: &str, bytes: &[u8]) {
        let (space, loc) = find(self.module, self.physical, "main", set);
        for (b, v) in bytes.iter().enumerate() {
            self.memory.insert(place(space, loc, b as u64), *v);
        }
    }

    /// Every byte a tensor of the entry function lies on.
    pub fn extent(module: &Module, physical: bool, function: &str, set: &str) -> BTreeSet<Key> {
        let (space, loc) = find(module, physical, function, set);
        (0..loc.dims[0] * loc.dims[1]).map(|b| place(space, loc, b)).collect()
    }
}

fn place(space: u32, loc: &Location, byte: u64) -> Key {
    let (row, col) = (byte / loc.dims[1], byte % loc.dims[1]);
    match space {
        0 => (0, loc.base as u64 + row, loc.addr + col),
        1 => (1, loc.base as u64 + row, loc.bank as u64 * 2048 + loc.addr + col),
        own => (own, row, col),
    }
}

fn find<'m>(module: &'m Module, physical: bool, function: &str, set: &str) -> (u32, &'m Location) {
    let mut own = 2;
    for f in &module.functions {
        for s in &f.allocations {
            let Storage::Set(LocationSet { name, locations, .. }) = s else { continue };
            own += 1;
            let l = &locations[0];
            if f.name == function && name == set {
                return match (physical && l.allocated, l.ty) {
                    (true, MemoryType::Sb) => (0, l),
                    (true, MemoryType::Psum) => (1, l),
                    _ => (own, l),
                };
            }
        }
    }
    unreachable!("{function} has no set {set}")
}

fn set_name(f: &Function, memref: &str, memsetref: &str) -> String {
    let of = f.allocations.iter().find_map(|s| match s {
        Storage::Set(set) if set.locations[0].name == memref => Some(set.name.clone()),
        _ => None,
    });
    of.unwrap_or_else(|| memsetref.to_string())
}

fn declared<'f>(f: &'f Function, name: &str) -> &'f birsim_engine::ir::RegisterDecl {
    let of = f.allocations.iter().find_map(|s| match s {
        Storage::Register(r) if r.name == name => Some(r),
        _ => None,
    });
    of.expect("the register is declared")
}

fn text(i: &Instruction, key: &str) -> String {
    match i.field(key) {
        Some(Value::Str(s)) => s,
        _ => String::new(),
    }
}

fn strings(i: &Instruction, key: &str) -> Vec<String> {
    match i.field(key) {
        Some(Value::Strs(s)) => s,
        _ => Vec::new(),
    }
}

fn float(i: &Instruction, key: &str) -> f32 {
    match i.field(key) {
        Some(Value::Float(x)) => x as f32,
        _ => 0.0,
    }
}
