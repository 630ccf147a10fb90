//! From a module to the program and the rows to spawn.
//!
//! Rows are written engine-major per segment, so every (segment, engine) is one range of the instruction table.

mod control;
mod instruction;
mod matmul;
mod parallel;
mod patterns;
mod sync;

pub(crate) use instruction::{all_static, overlaps};
use parallel::expand_parallel;
use patterns::SharedPatterns;

use super::expr::Ex;
use super::placement::Layout;
use super::scope::{Scope, declare};
use super::spawn::engine_index;
use super::*;
use crate::ir::{Block, Engine, Function, Instruction, Module, Steer, Trait, Value};
use crate::{Code, Error, Result};
use hashbrown::HashMap;

/// Which order functions run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By queues and semaphores where a function has sync information, else in list order.
    #[default]
    Auto,
    /// By queues and semaphores.
    Sync,
    /// In list order; waits and updates are ignored.
    Program,
}

/// State of compilation that later pieces of the program continue from.
pub struct Compiler {
    /// Memory and register layout.
    pub layout: Layout,
    /// Names per function.
    pub scopes: Vec<Scope>,
    order: Order,
    functions: HashMap<String, FunctionId>,
    /// Block name to block, per function, for pieces appended later.
    entry_blocks: HashMap<String, BlockId>,
    /// (queue, DMABlock name) to row.
    dma_blocks: HashMap<(String, String), RowId>,
    triggers: HashMap<String, TriggerId>,
    queues: HashMap<String, u32>,
    queue_semaphores: Vec<Vec<u32>>,
    /// Trigger that owns a DMABlock, by row.
    owner: HashMap<RowId, TriggerId>,
    partition_dims: Vec<u32>,
    entry_by_sync: bool,
    prepare: Prepare,
}

/// The compiler's position while it walks one function.
pub struct Context<'a> {
    /// The program being built.
    pub program: &'a mut Program,
    /// Memory layout.
    pub layout: &'a Layout,
    compiler: Shared<'a>,
    function: FunctionId,
    by_sync: bool,
    axes: Vec<Enclosing>,
    /// Blocks in scope, innermost list last.
    blocks: Vec<HashMap<String, BlockId>>,
    depth: u32,
    /// Patterns so far.
    pub(super) patterns: SharedPatterns,
    /// The operand being compiled gets a run-time offset, so nothing about its address is known yet.
    pub moving: bool,
}

/// A loop around the place that is being compiled.
struct Enclosing {
    name: String,
    axis: AxisId,
    /// Lower bound, for instructions that ask for the first iteration.
    lb: Ex,
    /// Registers that hold the induction value.
    registers: Vec<String>,
}

#[derive(Clone, Copy)]
struct Shared<'a> {
    prepare: Prepare,
    scopes: &'a [Scope],
    functions: &'a HashMap<String, FunctionId>,
    dma_blocks: &'a HashMap<(String, String), RowId>,
    triggers: &'a HashMap<String, TriggerId>,
    queues: &'a HashMap<String, u32>,
    queue_semaphores: &'a [Vec<u32>],
    owner: &'a HashMap<RowId, TriggerId>,
    partition_dims: &'a [u32],
}

/// Loops, calls and DMA blocks nest at most this deep.
const MAX_NESTING: u32 = 64;

impl Compiler {
    /// Compiles a whole module. `prepare` makes the parameters of its instructions.
    pub fn new(module: &Module, layout: Layout, order: Order, prepare: Prepare) -> Result<(Self, Program)> {
        let mut program = Program::default();
        let mut this = Compiler {
            layout,
            scopes: Vec::new(),
            order,
            functions: HashMap::new(),
            entry_blocks: HashMap::new(),
            dma_blocks: HashMap::new(),
            triggers: HashMap::new(),
            queues: HashMap::new(),
            queue_semaphores: Vec::new(),
            owner: HashMap::new(),
            partition_dims: Vec::new(),
            entry_by_sync: false,
            prepare,
        };
        let entry = module.entry().ok_or_else(|| Error::new(Code::J003, "the module has no function"))?;
        let rest = module.functions.iter().filter(|f| !std::ptr::eq(*f, entry));
        let functions: Vec<&Function> = std::iter::once(entry).chain(rest).chain(&module.nki_functions).collect();
        for f in &functions {
            let id = FunctionId::of(program.functions.len());
            let in_function = |e: Error| e.at(|p| p.function = Some(f.name.clone()));
            let mut scope = Scope::default();
            declare(&mut program, &mut this.layout, &mut scope, &f.allocations, (id, &f.arguments))
                .map_err(in_function)?;
            this.remember_dims(&f.allocations);
            this.scopes.push(scope);
            program.functions.push(FunctionPlan {
                name: f.name.as_str().into(),
                list: ListId::default(),
                auto_psum: f.attributes.get("auto_psum_accumulate").is_some_and(|v| match v {
                    serde_json::Value::Bool(b) => *b,
                    serde_json::Value::Number(n) => n.as_f64() != Some(0.0),
                    _ => false,
                }),
            });
            if this.functions.insert(f.name.clone(), id).is_some() {
                return Err(
                    Error::new(Code::J007, format!("the function {} is declared twice", f.name)).received(&f.name)
                );
            }
        }
        this.find_triggers(&functions, &mut program);
        this.compile_queues(module, &mut program)?;
        for (id, f) in functions.iter().enumerate() {
            let by_sync = this.by_sync(&f.blocks);
            if id == 0 {
                this.entry_by_sync = by_sync;
            }
            let mut cx = this.context(&mut program, FunctionId::of(id), by_sync);
            let (list, names) = cx.block_list(&f.blocks).map_err(|e| e.at(|p| p.function = Some(f.name.clone())))?;
            program.functions[id].list = list;
            if id == 0 {
                this.entry_blocks = names;
            }
        }
        Ok((this, program))
    }

    /// Dimensions of a set's shape that count blocks, before the partition dimension.
    pub fn block_dims(&self, set: SetId) -> usize {
        self.partition_dims.get(set.at()).map_or(0, |d| *d as usize)
    }

    /// Compiles one more block of the entry function, with the storage it declares.
    pub fn append(&mut self, program: &mut Program, storages: &[crate::ir::Storage], block: &Block) -> Result<()> {
        declare(program, &mut self.layout, &mut self.scopes[0], storages, (FunctionId::ENTRY, &[]))?;
        self.remember_dims(storages);
        let by_sync = match self.order {
            Order::Auto if program.lists[program.functions[0].list].is_empty() => {
                self.entry_by_sync = self.by_sync(std::slice::from_ref(block));
                self.entry_by_sync
            }
            Order::Auto => self.entry_by_sync || self.by_sync(std::slice::from_ref(block)),
            other => other == Order::Sync,
        };
        let outer = std::mem::take(&mut self.entry_blocks);
        let mut cx = self.context(program, FunctionId::ENTRY, by_sync);
        cx.blocks.push(outer);
        let compiled = cx.block_list(std::slice::from_ref(block));
        // The names are put back also when the block was refused.
        let outer = cx.blocks.drain(..).next();
        self.entry_blocks = outer.unwrap_or_default();
        let (list, names) = compiled?;
        let new = std::mem::take(&mut program.lists[list]);
        let main = program.functions[0].list;
        program.lists[main].extend(new);
        self.entry_blocks.extend(names);
        Ok(())
    }

    fn remember_dims(&mut self, storages: &[crate::ir::Storage]) {
        for s in storages {
            if let crate::ir::Storage::Set(set) = s {
                self.partition_dims.push(set.partition_dim.min(u64::from(u32::MAX)) as u32);
            }
        }
    }

    fn by_sync(&self, blocks: &[Block]) -> bool {
        fn any(blocks: &[Block]) -> bool {
            blocks
                .iter()
                .flat_map(|b| &b.instructions)
                .any(|i| !i.sync.on_wait.is_empty() || i.sync.signals() || any(&i.blocks))
        }
        match self.order {
            Order::Auto => any(blocks),
            other => other == Order::Sync,
        }
    }

    fn context<'a>(&'a self, program: &'a mut Program, function: FunctionId, by_sync: bool) -> Context<'a> {
        Context {
            program,
            layout: &self.layout,
            compiler: Shared {
                prepare: self.prepare,
                scopes: &self.scopes,
                functions: &self.functions,
                dma_blocks: &self.dma_blocks,
                triggers: &self.triggers,
                queues: &self.queues,
                queue_semaphores: &self.queue_semaphores,
                owner: &self.owner,
                partition_dims: &self.partition_dims,
            },
            function,
            by_sync,
            axes: Vec::new(),
            blocks: Vec::new(),
            depth: 0,
            patterns: SharedPatterns::default(),
            moving: false,
        }
    }

    fn find_triggers(&mut self, functions: &[&Function], program: &mut Program) {
        fn walk(blocks: &[Block], found: &mut Vec<String>) {
            for i in blocks.iter().flat_map(|b| &b.instructions) {
                if i.opcode.steers(Steer::Trigger) {
                    found.push(i.name.clone());
                }
                walk(&i.blocks, found);
            }
        }
        let mut names = Vec::new();
        functions.iter().for_each(|f| walk(&f.blocks, &mut names));
        for n in names {
            let next = TriggerId::of(program.triggers.len());
            if let hashbrown::hash_map::Entry::Vacant(v) = self.triggers.entry(n) {
                program.triggers.push(v.key().as_str().into());
                v.insert(next);
            }
        }
    }

    fn compile_queues(&mut self, module: &Module, program: &mut Program) -> Result<()> {
        for q in &module.queues {
            let in_queue = |e: Error| e.at(|p| p.block = Some(format!("queue {}", q.name)));
            let id = program.queues.len() as u32;
            program.queues.push(q.name.as_str().into());
            self.queues.insert(q.name.clone(), id);
            self.queue_semaphores.push(q.use_special_sema.iter().chain(&q.semaphores).copied().collect());
            let mut found = Vec::new();
            let mut cx = self.context(program, FunctionId::ENTRY, false);
            for i in q.blocks.iter().flat_map(|b| &b.instructions) {
                if !i.opcode.steers(Steer::QueueBlock) {
                    return Err(in_queue(
                        Error::new(Code::J009, "a queue holds DMABlock instructions only")
                            .received(i.opcode)
                            .at(|p| p.instruction = Some(i.name.clone())),
                    ));
                }
                let row = cx.dma_block(i).map_err(in_queue)?;
                let trigger = match i.field("dma_trigger") {
                    Some(Value::Str(t)) => self.triggers.get(&t).copied(),
                    _ => None,
                };
                found.push((i.name.clone(), row, trigger));
            }
            for (name, row, trigger) in found {
                self.dma_blocks.insert((q.name.clone(), name), row);
                if let Some(t) = trigger {
                    self.owner.insert(row, t);
                }
            }
        }
        Ok(())
    }
}

impl Context<'_> {
    /// Names of the function being compiled.
    pub fn scope(&self) -> &Scope {
        &self.compiler.scopes[self.function]
    }

    /// Declared partition dimension of a set.
    pub fn partition_dim(&self, set: SetId) -> usize {
        self.compiler.partition_dims.get(set.at()).map_or(0, |d| *d as usize)
    }

    /// An axis by name, innermost first.
    pub fn axis(&self, name: &str) -> Result<AxisId> {
        self.axes
            .iter()
            .rev()
            .find(|e| e.name == name)
            .map(|e| e.axis)
            .ok_or_else(|| Error::new(Code::J006, format!("no enclosing loop has an axis named {name}")).received(name))
    }

    fn block_named(&self, name: &str) -> Result<BlockId> {
        self.blocks.iter().rev().find_map(|names| names.get(name)).copied().ok_or_else(|| {
            Error::new(Code::J006, format!("there is no block named {name} in this function")).received(name)
        })
    }

    /// Compiles a list of blocks; returns its index and the names it declares.
    fn block_list(&mut self, blocks: &[Block]) -> Result<(ListId, HashMap<String, BlockId>)> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Error::new(Code::J014, "loops nest more than 64 deep"));
        }
        let mut names = HashMap::new();
        let mut ids = Vec::with_capacity(blocks.len());
        for b in blocks {
            let id = BlockId::of(self.program.blocks.len());
            ids.push(id);
            names.entry(b.name.clone()).or_insert(id);
            self.program.blocks.push(BlockPlan {
                name: b.name.as_str().into(),
                function: self.function,
                first_segment: SegmentId::default(),
                segments: 0,
                by_sync: self.by_sync,
                arguments: Box::default(),
            });
        }
        self.blocks.push(names);
        for (id, b) in ids.iter().zip(blocks) {
            self.block(*id, b).map_err(|e| e.at(|p| p.block = Some(b.name.clone())))?;
        }
        let names = self.blocks.pop().unwrap_or_default();
        self.depth -= 1;
        self.program.lists.push(ids);
        Ok((ListId::of(self.program.lists.len() - 1), names))
    }

    fn block(&mut self, id: BlockId, block: &Block) -> Result<()> {
        let mut arguments = Vec::new();
        for a in &block.arguments {
            let reg = self.register(&a.name)?;
            let mut incoming = Vec::new();
            for (value, pred) in &a.incoming {
                incoming.push((self.operand(value)?, self.block_named(pred)?));
            }
            arguments.push((reg, incoming.into_boxed_slice()));
        }
        let list = expand_parallel(&block.instructions, self.layout.profile.parallel_loops)?;
        let mut segments = Vec::new();
        let mut queues: [Vec<(u32, &Instruction)>; QUEUES] = Default::default();
        for (index, i) in list.iter().enumerate() {
            if is_join(i, self.by_sync) {
                let mut segment = self.segment(id, &mut queues)?;
                segment.join = Some(self.instruction(id, index as u32, i)?);
                segments.push(segment);
            } else {
                let queue = if self.by_sync { queue_of(i.engine) } else { 0 };
                queues[queue].push((index as u32, i));
            }
        }
        if segments.is_empty() || queues.iter().any(|q| !q.is_empty()) {
            segments.push(self.segment(id, &mut queues)?);
        }
        let plan = &mut self.program.blocks[id];
        plan.first_segment = SegmentId::of(self.program.segments.len());
        plan.segments = segments.len() as u32;
        plan.arguments = arguments.into();
        self.program.segments.extend(segments);
        Ok(())
    }

    fn segment(&mut self, block: BlockId, queues: &mut [Vec<(u32, &Instruction)>; QUEUES]) -> Result<Segment> {
        let mut segment = Segment::default();
        for (range, queue) in segment.ranges.iter_mut().zip(queues) {
            range.next = RowId::of(self.program.insts.len());
            for (index, i) in queue.drain(..) {
                self.instruction(block, index, i)?;
            }
            range.end = RowId::of(self.program.insts.len());
        }
        Ok(segment)
    }
}

fn queue_of(engine: Engine) -> usize {
    // An instruction without an engine of its own is issued by the last one.
    engine_index(engine).min(QUEUES - 1)
}

/// Instructions every engine takes part in.
fn is_join(i: &Instruction, by_sync: bool) -> bool {
    let control = i.opcode.is(Trait::RunsBlocks);
    control || (by_sync && matches!(i.engine, Engine::All | Engine::Unassigned))
}
