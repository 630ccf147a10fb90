//! State of the lowering of one core.

use super::LowerOptions;
use super::abstracts::Loaded;
use super::maps;
use super::names::Names;
use super::tensors::Tensors;
use crate::ast::{Immediate, LncKernel, Operand as KlrOperand};
use birsim_ir::{
    AddressSpace, Engine, Extra, ImmValue, Instruction, Location, LocationSet, MemoryType, Opcode, Operand,
    RegisterDecl, Storage, TensorKind,
};
use birsim_kernels::{Code, Dtype, Error, Result};
use std::collections::{HashMap, HashSet};

/// The lowering of one core.
pub struct Core<'a> {
    /// Kernel.
    pub kernel: &'a LncKernel,
    /// Core index.
    pub core: usize,
    /// Options.
    pub options: &'a LowerOptions,
    /// Locations.
    pub tensors: Tensors,
    /// Storage names in use.
    pub storage_names: Names,
    /// Instruction names in use.
    pub names: Names,
    /// Registers, in order of first use.
    pub registers: Vec<RegisterDecl>,
    known_registers: HashSet<String>,
    /// Instructions the current operator needs before its own.
    pub before: Vec<Instruction>,
    /// Instructions the current operator needs after its own.
    pub after: Vec<Instruction>,
    /// Instructions at the start of the function.
    pub setup: Vec<Instruction>,
    /// Names of the identity matrices by dtype: (location, set).
    pub identities: HashMap<Dtype, (String, String)>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Tensors that the kernel builds as identity matrices.
    pub identity_tensors: HashSet<String>,
    /// What the PE holds since a loadStationary of this block.
    pub stationary: Option<Loaded>,
    next_id: u64,
    next_collective: u64,
    barriers: HashMap<Vec<i64>, i64>,
}

impl<'a> Core<'a> {
    /// Starts a core.
    pub fn new(
        kernel: &'a LncKernel,
        core: usize,
        options: &'a LowerOptions,
        tensors: Tensors,
        storage_names: Names,
    ) -> Self {
        Core {
            kernel,
            core,
            options,
            tensors,
            storage_names,
            names: Names::default(),
            registers: Vec::new(),
            known_registers: HashSet::new(),
            before: Vec::new(),
            after: Vec::new(),
            setup: Vec::new(),
            identities: HashMap::new(),
            notes: Vec::new(),
            identity_tensors: HashSet::new(),
            stationary: None,
            next_id: 0,
            next_collective: 0,
            barriers: HashMap::new(),
        }
    }

    /// Number of the next barrier between these cores, from 1, in program order.
    pub fn barrier(&mut self, cores: &[i64]) -> i64 {
        let mut members = cores.to_vec();
        members.sort_unstable();
        members.dedup();
        let count = self.barriers.entry(members).or_default();
        *count += 1;
        *count
    }

    /// `prefix` and a fresh number.
    pub fn generated(&mut self, prefix: &str) -> String {
        self.next_id += 1;
        format!("{prefix}{}", self.next_id)
    }

    /// A new instruction with a generated name.
    pub fn inst(&mut self, prefix: &str, opcode: Opcode, engine: Engine) -> Instruction {
        let name = self.generated(prefix);
        Instruction::new(name, opcode, engine)
    }

    /// A new collective; these are numbered apart and keep their name.
    pub fn collective(&mut self, prefix: &str, opcode: Opcode, engine: Engine) -> Instruction {
        self.next_collective += 1;
        Instruction::new(format!("{prefix}{}", self.next_collective), opcode, engine)
    }

    /// True when the register exists by now.
    pub fn has_register(&self, name: &str) -> bool {
        self.known_registers.contains(name)
    }

    /// The register, made on first use: 32 bits, on engine ALL.
    pub fn register(&mut self, name: &str, dtype: Dtype) -> Result<Operand> {
        if name.is_empty() {
            return Err(Error::new(Code::K005, "a register has no name"));
        }
        if self.known_registers.insert(name.to_owned()) {
            self.registers.push(RegisterDecl {
                name: name.to_owned(),
                num_physical_regs: 1,
                engine: Engine::All,
                dtype,
                reg_id: -1,
                extra: Extra::new(),
            });
        }
        Ok(Operand::Register { dtype, regref: name.to_owned(), extra: Extra::new() })
    }

    /// Loads one element into a fresh register, before the current operator.
    pub fn load_scalar(&mut self, source: Operand) -> Result<String> {
        let mut name = self.generated("COMPILER-GENERATED-offset-");
        while self.has_register(&name) {
            name = self.generated("COMPILER-GENERATED-offset-");
        }
        let register = self.register(&name, Dtype::Int32)?;
        let mut load = self.inst("TensorLoad-", Opcode::TensorLoad, Engine::All);
        load.ins.push(source);
        load.outs.push(register);
        self.before.push(load);
        Ok(name)
    }

    /// An immediate operand: int32 or float32.
    pub fn imm(&self, value: &Immediate) -> Result<Operand> {
        match value {
            Immediate::Int(n) => Ok(int_imm((*n).into())),
            Immediate::Float(x) => Ok(float_imm(*x)),
            other => Err(Error::new(Code::K004, "unsupported immediate type").received(other.constructor())),
        }
    }

    /// An operand that is an immediate or a tensor.
    pub fn opnd(&mut self, operand: &KlrOperand) -> Result<Operand> {
        match operand {
            KlrOperand::Imm(imm) => self.imm(imm),
            KlrOperand::Tile(tile) => self.ap(tile),
        }
    }

    /// A tensor of the lowering's own in SBUF: its location and set.
    pub fn internal_tensor(&mut self, name: &str, dtype: Dtype, rows: i64, columns: i64) -> (String, String) {
        let name = self.storage_names.claim(name);
        let set = self.storage_names.claim(&format!("{name}_set"));
        let (rows, columns) = (rows.unsigned_abs(), columns.unsigned_abs());
        let location = Location {
            name: name.clone(),
            ty: MemoryType::Sb,
            dims: vec![rows, columns * dtype.size() as u64],
            addr: 0,
            base: 0,
            bank: 0,
            allocated: false,
            user_allocated: false,
            pinned: false,
            tensor_id: 0,
            kind: None,
            addr_space: None,
            alias: Vec::new(),
            pointer_ref_memloc: None,
            extra: Extra::new(),
        };
        self.tensors.storage.push(Storage::Set(LocationSet {
            name: set.clone(),
            kind: TensorKind::Internal,
            dtype,
            tensor_shape: vec![rows, columns],
            partition_dim: 0,
            addr_space: AddressSpace::Local,
            tensor_class: None,
            locations: vec![location],
            file: String::new(),
            extra: Extra::new(),
        }));
        (name, set)
    }

    /// Adds a remark; a kernel with very many keeps the first hundred.
    pub fn note(&mut self, text: impl Into<String>) {
        if self.notes.len() < 100 {
            self.notes.push(text.into());
        }
    }

    /// Engine of an operator whose author may choose one.
    pub fn engine(&self, engine: crate::ast::Engine) -> Engine {
        maps::engine(engine)
    }
}

/// A float32 immediate.
pub fn float_imm(x: f32) -> Operand {
    Operand::Imm { dtype: Dtype::Float32, value: ImmValue::Float(x.into()), extra: Extra::new() }
}

/// An int32 immediate.
pub fn int_imm(n: i64) -> Operand {
    Operand::Imm { dtype: Dtype::Int32, value: ImmValue::Int(n.into()), extra: Extra::new() }
}

/// The integer of an immediate, or an error with the given text.
pub fn need_int(value: &Immediate, what: &str) -> Result<i64> {
    match value {
        Immediate::Int(n) => Ok((*n).into()),
        other => Err(Error::new(Code::K004, what).received(format!("{other:?}"))),
    }
}

/// The float of an immediate, or an error with the given text.
pub fn need_float(value: &Immediate, what: &str) -> Result<f32> {
    match value {
        Immediate::Float(x) => Ok(*x),
        other => Err(Error::new(Code::K004, what).received(format!("{other:?}"))),
    }
}
