//! Waits, updates and fences.

use super::*;

impl Generator {
    /// Some instructions, the waits between them, and a fence that resets what they used.
    pub(super) fn segment(&mut self) -> Vec<Instruction> {
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
    pub(super) fn synchronise(&mut self, ops: &mut [Op]) -> BTreeSet<u32> {
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
    pub(super) fn fence(&mut self, list: &mut Vec<Instruction>, used: BTreeSet<u32>) {
        let ids = Value::Ints(used.into_iter().map(|id| Expr::Const(i64::from(id))).collect());
        let in_queues = self.rng.chance(40);
        let barriers = |g: &mut Self, list: &mut Vec<Instruction>| {
            for e in Engine::QUEUES {
                let mut meet = Instruction::new(g.name("meet"), Opcode::AllEngineBarrier, e);
                // First lists act in queue order, second ones after all first ones.
                if g.rng.chance(10) {
                    meet.sync.on_update =
                        vec![update(SyncKind::Semaphore, 231, UpdateMode::SemWrImm, queue(e) + 5)].into();
                    meet.sync.second_update = vec![update(SyncKind::Semaphore, 231, UpdateMode::SemAddImm, 3)].into();
                }
                list.push(meet);
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
}

pub(super) fn queue(e: Engine) -> u32 {
    Engine::QUEUES.iter().position(|q| *q == e).expect("the engine has a queue") as u32
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
    m.functions.iter_mut().chain(&mut m.nki_functions).for_each(|f| walk(&mut f.blocks, wait));
    m
}

pub(super) fn wait_event(id: u32) -> WaitRef {
    WaitRef { kind: SyncKind::Event, mode: WaitMode::EvtSetClear, ..wait(id, 0) }
}

pub(super) fn wait_register(id: u32, register: &str) -> WaitRef {
    WaitRef { mode: WaitMode::SemGeReg, regref: Some(register.into()), ..wait(id, 0) }
}

pub(super) fn update(kind: SyncKind, id: u32, mode: UpdateMode, value: u32) -> UpdateRef {
    UpdateRef { kind, id, mode, value, target_core: None, extra: Extra::new() }
}
