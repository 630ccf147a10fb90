//! Lowering of KLR kernels to BIR modules (`klr.md` 5.1 to 8 and 11).

mod abstracts;
mod access;
mod context;
mod control;
mod groups;
mod maps;
mod names;
mod ops;
mod tensors;

use crate::ast::{LncKernel, Program};
use birsim_ir::{Arch, Block, Extra, Function, Module, Storage};
use birsim_kernels::{Code, Error};
use context::Core;
use names::Names;
use tensors::Tensors;

/// Choices of the lowering.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// Architecture of the modules.
    pub arch: Option<Arch>,
    /// Refuse everything that the reference compiler refuses, also where the meaning is clear: accesses and references
    /// that its code generator does not take, an engine without hardware descriptor generation, a static accumulating
    /// copy without unique indices. Off: these are lowered.
    pub strict: bool,
    /// Lower the abstract operators, which the reference refuses, to their nearest BIR forms where they have definite ones.
    pub accept_abstract: bool,
    /// Print every written tensor whose elements are not 32 bits wide.
    pub device_dump: bool,
    /// Ranks of the replica groups that a kernel names, by name. A group without a name takes the only one, or the one
    /// called `unspecified`.
    pub replica_groups: Vec<(String, Vec<Vec<i64>>)>,
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions {
            arch: Some(Arch::Gen3),
            strict: false,
            accept_abstract: false,
            device_dump: false,
            replica_groups: Vec::new(),
        }
    }
}

/// Result of the lowering.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// One module per core, in core order. Instructions run in program order; HBM tensors that all cores see have the
    /// address space `Shared`.
    pub modules: Vec<Module>,
    /// Remarks for the user, each once.
    pub notes: Vec<String>,
}

/// Cores that one kernel may have. Logical cores have two at most; each costs a module of its own.
const MAX_CORES: usize = 64;

/// Lowers a kernel. All its errors are collected; if there is one, no module is returned.
pub fn lower(program: &Program, options: &LowerOptions) -> Result<Lowered, Vec<Error>> {
    let kernel = program.as_lnc();
    let mut errors = Vec::new();
    if kernel.bodies.is_empty() {
        errors.push(Error::new(Code::K005, "the kernel has no body"));
    }
    if kernel.bodies.len() > MAX_CORES {
        let what = format!("a kernel of more than {MAX_CORES} cores");
        return Err(vec![Error::new(Code::K004, what).received(kernel.bodies.len())]);
    }
    let mut lowered = Lowered { modules: Vec::new(), notes: Vec::new() };
    for core in 0..kernel.bodies.len() {
        let mut found = Vec::new();
        let module = core_module(&kernel, core, options, &mut found, &mut lowered.notes);
        let function = match kernel.bodies.len() {
            1 => kernel.name.clone(),
            _ => format!("{} (core {core})", kernel.name),
        };
        errors.extend(found.into_iter().map(|e| e.at(|p| p.function = Some(function.clone()))));
        lowered.modules.push(module);
    }
    lowered.notes.sort();
    lowered.notes.dedup();
    if errors.is_empty() { Ok(lowered) } else { Err(errors) }
}

/// The module of one core.
fn core_module(
    kernel: &LncKernel,
    core: usize,
    options: &LowerOptions,
    errors: &mut Vec<Error>,
    notes: &mut Vec<String>,
) -> Module {
    let mut storage_names = Names::default();
    let tensors = Tensors::collect(kernel, core, &mut storage_names, errors);
    let mut cx = Core::new(kernel, core, options, tensors, storage_names);
    let body = kernel.bodies.get(core).map(Vec::as_slice).unwrap_or_default();
    let mut blocks = cx.blocks(body, errors);
    notes.append(&mut cx.notes);
    if blocks.is_empty() && errors.is_empty() {
        blocks.push(Block {
            name: "main".into(),
            arguments: Vec::new(),
            instructions: Vec::new(),
            extra: Extra::new(),
        });
    }
    if errors.is_empty() {
        notes.extend(groups::assign(&mut blocks, &cx.tensors.storage));
        control::edges(&kernel.edges, &mut blocks, errors);
    }
    let mut allocations = cx.tensors.storage;
    allocations.extend(cx.registers.into_iter().map(Storage::Register));
    let mut module = Module::new(options.arch);
    module.attributes.insert("neuron_core_id".into(), core.into());
    module.functions.push(Function {
        name: kernel.name.clone(),
        attributes: Extra::new(),
        allocations,
        blocks,
        arguments: Vec::new(),
        extra: Extra::new(),
    });
    module
}
