//! Module, functions, blocks, instructions (`bir-json.md` 2, 3, 5).

use super::{
    Arch, EdgeKind, Engine, Expr, Extra, Opcode, Operand, Origin, Predicate, QueueType, Storage, SyncInfo, ThinVec,
    Value,
};

/// A BIR module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// 1 or 2; selects the encoding of expressions on disk.
    pub version: u32,
    /// Architecture, when given.
    pub arch: Option<Arch>,
    /// `v1` or `v2`, when given.
    pub revision: Option<String>,
    /// Module attributes.
    pub attributes: Extra,
    /// Functions; the entry is the one named `main`, else the first.
    pub functions: Vec<Function>,
    /// Callees of NKIKernel.
    pub nki_functions: Vec<Function>,
    /// DMA queues.
    pub queues: Vec<Queue>,
    /// Unknown and bookkeeping keys.
    pub extra: Extra,
}

impl Module {
    /// An empty module of BIR-JSON version 2.
    pub fn new(arch: Option<Arch>) -> Self {
        Module {
            version: 2,
            arch,
            revision: None,
            attributes: Extra::new(),
            functions: Vec::new(),
            nki_functions: Vec::new(),
            queues: Vec::new(),
            extra: Extra::new(),
        }
    }

    /// The entry function.
    pub fn entry(&self) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == "main").or(self.functions.first())
    }
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Attributes by name. A list of names is read as names with the value true.
    pub attributes: Extra,
    /// Tensors and registers.
    pub allocations: Vec<Storage>,
    /// Basic blocks.
    pub blocks: Vec<Block>,
    /// Formal parameters: set names.
    pub arguments: Vec<String>,
    /// `alias`, `origin`, `optin_passes` and unknown keys.
    pub extra: Extra,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Name.
    pub name: String,
    /// Values received from predecessors.
    pub arguments: Vec<BlockArgument>,
    /// Instructions, loops included.
    pub instructions: Vec<Instruction>,
    /// Unknown keys.
    pub extra: Extra,
}

/// A block argument: a register that takes a value depending on the predecessor.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockArgument {
    /// Register name.
    pub name: String,
    /// (value, predecessor block).
    pub incoming: Vec<(Operand, String)>,
    /// Unknown keys.
    pub extra: Extra,
}

/// One dependency edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// Instruction depended on.
    pub on: String,
    /// Kind of edge.
    pub kind: EdgeKind,
}

/// Where an instruction came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceLocation {
    /// Line number.
    pub lineno: Option<i64>,
    /// Operation name in the source.
    pub op_name: Option<String>,
    /// Source file.
    pub filename: Option<String>,
    /// Unknown keys.
    pub extra: Extra,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Name.
    pub name: String,
    /// InstructionType.
    pub opcode: Opcode,
    /// Engine.
    pub engine: Engine,
    /// Engine instance.
    pub engine_id: u32,
    /// Inputs.
    pub ins: Vec<Operand>,
    /// Outputs.
    pub outs: Vec<Operand>,
    /// Index operands.
    pub indirection_ins: ThinVec<Operand>,
    /// Own fields, aligned with the opcode's [`super::Row::fields`]; `None` = absent, meaning the default.
    pub fields: Vec<Option<Value>>,
    /// Waits and updates.
    pub sync: SyncInfo,
    /// Runs only when all hold.
    pub predicates: ThinVec<Predicate>,
    /// Enclosing axes, outermost first.
    pub loopnest: ThinVec<String>,
    /// Dependencies.
    pub dependencies: ThinVec<Dependency>,
    /// Dependencies across iterations.
    pub loop_carried_dependencies: ThinVec<Dependency>,
    /// Scheduling order expressions.
    pub order: ThinVec<Expr>,
    /// Cost model only.
    pub scheduled_start: i64,
    /// Cost model only.
    pub scheduled_end: i64,
    /// Who created it.
    pub origin: Origin,
    /// Source location, when known.
    pub debug: Option<Box<SourceLocation>>,
    /// Blocks of loops and of DMABlock.
    pub blocks: ThinVec<Block>,
    /// `optin_passes`, `unroll_dependencies`, `dma_trigger_debug_update_semaphore_id` and unknown keys.
    pub extra: Extra,
}

impl Instruction {
    /// An instruction with default header keys and absent fields.
    pub fn new(name: impl Into<String>, opcode: Opcode, engine: Engine) -> Self {
        Instruction {
            name: name.into(),
            opcode,
            engine,
            engine_id: 0,
            ins: Vec::new(),
            outs: Vec::new(),
            indirection_ins: ThinVec::new(),
            fields: vec![None; opcode.row().fields.len()],
            sync: SyncInfo::default(),
            predicates: ThinVec::new(),
            loopnest: ThinVec::new(),
            dependencies: ThinVec::new(),
            loop_carried_dependencies: ThinVec::new(),
            order: ThinVec::new(),
            scheduled_start: 0,
            scheduled_end: 0,
            origin: Origin::Internal,
            debug: None,
            blocks: ThinVec::new(),
            extra: Extra::new(),
        }
    }

    /// The lists of operands by their JSON keys.
    pub fn lists(&self) -> [(&'static str, &[Operand]); 3] {
        [("ins", &self.ins), ("outs", &self.outs), ("indirection_ins", &self.indirection_ins)]
    }

    /// The value of a field by JSON key: as written, else the row's default.
    pub fn field(&self, key: &str) -> Option<Value> {
        let i = self.opcode.row().field_index(key)?;
        self.fields.get(i).cloned().flatten().or_else(|| self.opcode.row().fields[i].default.value())
    }

    /// Sets a field by JSON key. Returns false when the opcode has no such field.
    pub fn set(&mut self, key: &str, value: Value) -> bool {
        match self.opcode.row().field_index(key) {
            Some(i) => {
                self.fields[i] = Some(value);
                true
            }
            None => false,
        }
    }

    /// Same, for building instructions in one expression. A key the opcode lacks is ignored in release builds.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let known = self.set(key, value.into());
        debug_assert!(known, "{} has no field {key}", self.opcode);
        self
    }
}

/// A DMA queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: QueueType,
    /// Blocks of DMABlock instructions.
    pub blocks: Vec<Block>,
    /// Semaphores cleared by SwitchQueueInstance.
    pub semaphores: Vec<u32>,
    /// Further semaphores cleared by SwitchQueueInstance.
    pub use_special_sema: Vec<u32>,
    /// `num_dma_engines` and unknown keys.
    pub extra: Extra,
}
