//! What a module does with its tensors, from its text alone.

use crate::tensors::Decl;
use birsim_engine::ir::{Block, Engine, Instruction, Module, Operand, Storage, TensorKind};
use std::collections::HashSet;

/// Names that instructions read and write.
#[derive(Debug, Default)]
pub struct Usage<'a> {
    read: HashSet<&'a str>,
    written: HashSet<&'a str>,
    calls: bool,
}

impl<'a> Usage<'a> {
    /// Collects the names of every operand.
    pub fn of(modules: &'a [Module]) -> Usage<'a> {
        // A call reads its arguments, which are not operands; then every input counts as read.
        let calls = modules.iter().any(|m| m.functions.len() + m.nki_functions.len() > 1);
        let mut usage = Usage { calls, ..Usage::default() };
        for instruction in modules.iter().flat_map(instructions) {
            let ins = instruction.ins.iter().chain(&instruction.indirection_ins);
            usage.read.extend(ins.flat_map(names));
            usage.written.extend(instruction.outs.iter().flat_map(names));
        }
        usage
    }

    /// An instruction has the tensor as its output.
    pub fn writes(&self, decl: &Decl) -> bool {
        self.written.contains(decl.name.as_str()) || self.written.contains(decl.set.as_str())
    }

    /// The program reads the tensor and expects its contents from outside.
    pub fn needs(&self, decl: &Decl) -> bool {
        let in_set = |s: &HashSet<&str>| s.contains(decl.name.as_str()) || s.contains(decl.set.as_str());
        let read = self.calls || in_set(&self.read);
        match decl.kind {
            TensorKind::Const => read && !in_set(&self.written),
            k => k.is_input() && read,
        }
    }
}

fn names(operand: &Operand) -> impl Iterator<Item = &str> {
    let (location, set) = match operand {
        Operand::Physical(a) => (a.memref.as_str(), a.memsetref.as_str()),
        Operand::Symbolic(a) => (a.memref.as_str(), a.memsetref.as_str()),
        Operand::RegisterAp(a) => (a.memref.as_str(), a.memsetref.as_str()),
        _ => ("", ""),
    };
    // A named location is exact; its set's other locations are not meant.
    let name = if location.is_empty() { set } else { location };
    std::iter::once(name).filter(|n| !n.is_empty())
}

/// Every instruction of the module, nested ones included.
pub fn instructions(module: &Module) -> impl Iterator<Item = &Instruction> {
    let functions = module.functions.iter().chain(&module.nki_functions).flat_map(|f| &f.blocks);
    let mut open: Vec<&Block> = functions.chain(module.queues.iter().flat_map(|q| &q.blocks)).collect();
    open.reverse();
    let mut current: Vec<&Instruction> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            if let Some(i) = current.pop() {
                open.extend(i.blocks.iter().rev());
                return Some(i);
            }
            current.extend(open.pop()?.instructions.iter().rev());
        }
    })
}

/// Engines that have instructions, in the order of the hardware's list.
pub fn engines(modules: &[Module]) -> Vec<Engine> {
    let used: HashSet<Engine> = modules.iter().flat_map(instructions).map(|i| i.engine).collect();
    Engine::ALL.iter().copied().filter(|e| used.contains(e) && !matches!(e, Engine::All | Engine::Unassigned)).collect()
}

/// Names of the tensors that the entry function declares.
pub fn entry_sets(modules: &[Module]) -> HashSet<&str> {
    let storages = modules.iter().filter_map(Module::entry).flat_map(|f| &f.allocations);
    let names = storages.filter_map(|s| match s {
        Storage::Set(set) => Some(set.name.as_str()),
        Storage::Register(_) => None,
    });
    names.collect()
}
