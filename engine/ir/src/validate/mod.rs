//! What can be said about a module without a machine: references, shapes, ranges, operand counts and kinds.
//!
//! Bounds of patterns against their locations are faults of the program, not of the module: the machine checks them.

mod device;
mod expressions;
mod fields;
mod groups;
mod index;
mod instruction;
mod operands;
mod references;
mod storage;
mod sync;

pub use device::{DeviceRule, Doubts};

use super::{Arch, Block, Function, Instruction, Module, Storage, Value};
use birsim_kernels::{Code, Error, Result};
use hashbrown::HashSet;
use index::Index;

/// Blocks, loops and expressions nest at most this deep.
pub const MAX_NESTING: usize = 64;

/// Validation stops after this many errors.
const MAX_ERRORS: usize = 256;

/// Resolves every name of the module: the first one that is dangling or declared twice is the error.
pub fn resolve(module: &Module) -> Result<()> {
    let mut walk = Walk::new(module, false, 1);
    walk.module();
    walk.errors.into_iter().next().map_or(Ok(()), Err)
}

/// Everything that needs no machine and no inputs. All errors are reported, up to a limit.
pub fn validate(module: &Module) -> Result<(), Vec<Error>> {
    let mut walk = Walk::new(module, true, MAX_ERRORS);
    walk.module();
    if walk.errors.is_empty() { Ok(()) } else { Err(walk.errors) }
}

/// The first error of [`validate`].
pub fn check(module: &Module) -> Result<()> {
    let mut walk = Walk::new(module, true, 1);
    walk.module();
    walk.errors.into_iter().next().map_or(Ok(()), Err)
}

/// The first error of [`validate`]; without one, which rules of a target the module breaks.
pub fn check_for(module: &Module, target: Arch) -> Result<Doubts> {
    let mut walk = Walk::new(module, true, 1);
    walk.target = Some(target);
    walk.module();
    match walk.errors.into_iter().next() {
        Some(e) => Err(e),
        None => Ok(walk.doubts),
    }
}

/// Checks one more block of a running program, with the storage it declares: all but names, which only the machine knows.
pub fn check_piece(storages: &[Storage], block: &Block) -> Result<()> {
    let nothing = Module::new(None);
    let mut walk = Walk::new(&nothing, true, 1);
    walk.names = false;
    walk.storage(storages);
    walk.blocks(std::slice::from_ref(block));
    walk.errors.into_iter().next().map_or(Ok(()), Err)
}

/// The place of a value in an instruction.
#[derive(Clone, Copy)]
enum Slot {
    /// The instruction itself.
    Whole,
    /// An own or header key.
    Key(&'static str),
    /// An operand of a list.
    Operand(&'static str, usize),
    /// A key of an operand.
    OperandKey(&'static str, usize, &'static str),
}

impl Slot {
    fn label(self) -> Option<String> {
        match self {
            Slot::Whole => None,
            Slot::Key(key) => Some(key.to_string()),
            Slot::Operand(list, i) => Some(format!("{list}[{i}]")),
            Slot::OperandKey(list, i, key) => Some(format!("{list}[{i}].{key}")),
        }
    }
}

/// The pass over one module.
struct Walk<'m> {
    module: &'m Module,
    index: Index<'m>,
    /// Everything, or names only.
    full: bool,
    /// References are checked.
    names: bool,
    /// The target whose rules are looked at too.
    target: Option<Arch>,
    doubts: Doubts,
    limit: usize,
    errors: Vec<Error>,
    function: Option<&'m str>,
    /// Scope of the function; queues see all scopes.
    scope: Option<usize>,
    block: Option<&'m str>,
    /// Axes of the enclosing loops.
    axes: Vec<&'m str>,
    /// Names of the blocks of each enclosing list, innermost last.
    lists: Vec<HashSet<&'m str>>,
}

impl<'m> Walk<'m> {
    fn new(module: &'m Module, full: bool, limit: usize) -> Self {
        Walk {
            module,
            index: Index::new(module),
            full,
            names: true,
            target: None,
            doubts: Doubts::default(),
            limit,
            errors: Vec::new(),
            function: None,
            scope: None,
            block: None,
            axes: Vec::new(),
            lists: Vec::new(),
        }
    }

    /// Enough errors were found.
    fn done(&self) -> bool {
        self.errors.len() >= self.limit
    }

    fn push(&mut self, error: Error) {
        if !self.done() {
            let (function, block) = (self.function, self.block);
            let queue = if self.scope.is_none() { "queue " } else { "" };
            self.errors.push(error.at(|p| {
                p.function = function.map(|f| format!("{queue}{f}"));
                p.block = block.map(str::to_string);
            }));
        }
    }

    fn fault(&mut self, i: &Instruction, slot: Slot, error: Error) {
        if !self.done() {
            let error = error.at(|p| {
                p.instruction = Some(i.name.clone());
                p.opcode = Some(i.opcode.name().to_string());
                p.operand = slot.label();
            });
            self.push(error);
        }
    }

    fn module(&mut self) {
        self.module_itself();
        let functions = self.module.functions.iter().chain(&self.module.nki_functions);
        for (scope, function) in functions.enumerate() {
            if self.done() {
                return;
            }
            self.function = Some(&function.name);
            self.scope = Some(scope);
            self.function_itself(function);
            self.blocks(&function.blocks);
        }
        self.scope = None;
        for queue in &self.module.queues {
            self.function = Some(&queue.name);
            self.queue_itself(queue);
            self.blocks(&queue.blocks);
        }
        self.function = None;
    }

    fn module_itself(&mut self) {
        if self.module.functions.is_empty() {
            self.push(Error::new(Code::J003, "the module has no function"));
        }
        if self.full && !(1..=2).contains(&self.module.version) {
            let e = Error::new(Code::J011, "the version of BIR-JSON is 1 or 2").received(self.module.version);
            self.push(e.operand("version"));
        }
        let functions = self.module.functions.iter().chain(&self.module.nki_functions);
        self.unique("function", functions.map(|f| f.name.as_str()));
        self.unique("queue", self.module.queues.iter().map(|q| q.name.as_str()));
    }

    /// Reports names that occur twice; gives all names.
    fn unique(&mut self, what: &str, names: impl Iterator<Item = &'m str>) -> HashSet<&'m str> {
        let mut seen = HashSet::new();
        for name in names {
            if !seen.insert(name) {
                self.push(Error::new(Code::J007, format!("the {what} {name} is declared twice")).received(name));
            }
        }
        seen
    }

    fn function_itself(&mut self, function: &'m Function) {
        self.storage(&function.allocations);
        self.function_references(function);
    }

    fn blocks(&mut self, blocks: &'m [Block]) {
        if self.lists.len() >= MAX_NESTING {
            self.push(Error::new(Code::J014, format!("loops nest more than {MAX_NESTING} deep")));
            return;
        }
        let outer = self.block;
        let names = self.unique("block", blocks.iter().map(|b| b.name.as_str()));
        self.lists.push(names);
        for block in blocks {
            self.block = Some(&block.name);
            if self.names {
                self.block_arguments(block);
            }
            for i in &block.instructions {
                if self.done() {
                    break;
                }
                self.instruction(i);
            }
        }
        self.block = outer;
        self.lists.pop();
    }

    fn instruction(&mut self, i: &'m Instruction) {
        if self.full && !self.instruction_itself(i) {
            return;
        }
        if self.names {
            self.references(i);
        }
        if let Some(target) = self.target {
            self.device_rules(i, target);
        }
        if i.blocks.is_empty() {
            return;
        }
        let axis = i.fields.iter().flatten().find_map(|v| match v {
            Value::Axis(a) => Some(a.name.as_str()),
            _ => None,
        });
        if let Some(axis) = axis {
            if self.full && self.axes.contains(&axis) {
                let e = Error::new(Code::J007, format!("an enclosing loop has the axis {axis} too")).received(axis);
                self.fault(i, Slot::Whole, e);
            }
            self.axes.push(axis);
        }
        self.blocks(&i.blocks);
        if axis.is_some() {
            self.axes.pop();
        }
    }
}
