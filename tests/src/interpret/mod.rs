//! A plain interpreter of BIR modules, written apart from the engine: one instruction at a time, engines in turn, memory
//! as a map from places to bytes. It has the opcodes of [`crate::generate`] and no others.

mod control;
mod execute;
mod memory;

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

/// Where control goes after a block.
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
        let mut from: Option<&str> = None;
        while let Some(b) = list.get(at) {
            self.receive(f, b, from);
            from = Some(&b.name);
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

    /// Block arguments take the values of the block that control comes from, all at once.
    fn receive(&mut self, f: &'a Function, b: &'a Block, from: Option<&str>) {
        let mut values = Vec::new();
        for a in &b.arguments {
            let value = a.incoming.iter().find(|(_, pred)| Some(pred.as_str()) == from);
            let Some((value, _)) = value else { continue };
            values.push((&a.name, self.scalar(f, value)));
        }
        for (name, v) in values {
            self.seen("block argument");
            let to = Operand::Register { dtype: Dtype::Int32, regref: name.clone(), extra: Default::default() };
            self.set_register(f, &to, v);
        }
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
            self.second(join)?;
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
            let met: Vec<&Instruction> = queues.iter_mut().filter_map(Vec::pop).collect();
            for i in &met {
                self.issue(f, i)?;
            }
            for i in met {
                self.second(i)?;
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

    /// What a barrier does when all engines have met.
    fn second(&mut self, i: &Instruction) -> Run<()> {
        if i.sync.second_update.is_empty() {
            return Ok(());
        }
        self.seen("second update");
        self.update(&i.sync.second_update).map_err(|code| (code.to_string(), i.name.clone()))
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
}

pub(super) fn text(i: &Instruction, key: &str) -> String {
    match i.field(key) {
        Some(Value::Str(s)) => s,
        _ => String::new(),
    }
}

pub(super) fn strings(i: &Instruction, key: &str) -> Vec<String> {
    match i.field(key) {
        Some(Value::Strs(s)) => s,
        _ => Vec::new(),
    }
}

pub(super) fn float(i: &Instruction, key: &str) -> f32 {
    match i.field(key) {
        Some(Value::Float(x)) => x as f32,
        _ => 0.0,
    }
}
