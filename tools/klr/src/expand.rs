//! Expansion of embedded kernels: an NKIKLIRKernel becomes an NKIKernel that calls the kernel's function
//! (`klr.md` 7).

use crate::ast::{Contents, Program};
use crate::lower::{LowerOptions, lower};
use birsim_ir::format;
use birsim_ir::{
    Block, Function, Instruction, KernelSource, LocationSet, MemoryType, Module, Opcode, Operand, Storage, TensorKind,
    Value,
};
use birsim_kernels::{Code, Error, Result};
use std::collections::{HashMap, HashSet};

/// The only version that the reference takes.
const VERSION: [u64; 3] = [0, 0, 12];

/// Replaces every NKIKLIRKernel of the module by a call of its kernel. `open` gives the bytes of a file that the module
/// names. Returns remarks. All errors are collected; with any of them the module must not be used.
pub fn expand(
    module: &mut Module,
    options: &LowerOptions,
    open: &mut dyn FnMut(&str) -> Result<Vec<u8>>,
) -> Result<Vec<String>, Vec<Error>> {
    let core = module.attributes.get("neuron_core_id").and_then(|v| v.as_u64());
    let core = core.and_then(|c| usize::try_from(c).ok());
    let taken = module.functions.iter().chain(&module.nki_functions).map(|f| f.name.clone()).collect();
    let mut work = Work {
        options: LowerOptions { arch: module.arch.or(options.arch), ..options.clone() },
        core,
        open,
        taken,
        ready: HashMap::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        notes: Vec::new(),
        errors: Vec::new(),
    };
    for f in &mut module.functions {
        work.ready.clear();
        work.blocks(&f.name, &mut f.blocks);
        let own = sets(f).flat_map(|s| std::iter::once(&s.name).chain(s.locations.iter().map(|l| &l.name)));
        let own: HashSet<String> = own.cloned().collect();
        for constant in std::mem::take(&mut work.constants) {
            if own.contains(&constant.name) || constant.locations.iter().any(|l| own.contains(&l.name)) {
                let e = Error::new(Code::K005, "a constant of an embedded kernel is named like a tensor of the module");
                work.errors.push(e.received(&constant.name).at(|p| p.function = Some(f.name.clone())));
            }
            f.allocations.push(Storage::Set(constant));
        }
    }
    if !work.errors.is_empty() {
        return Err(work.errors);
    }
    let (functions, mut notes) = (work.functions, work.notes);
    module.nki_functions.extend(functions);
    notes.sort();
    notes.dedup();
    Ok(notes)
}

/// A kernel whose function is in the module.
#[derive(Clone)]
struct Ready {
    name: String,
    source: KernelSource,
    inputs: Vec<Formal>,
    outputs: Vec<Formal>,
    /// (set of the function, set of the caller).
    constants: Vec<(String, String)>,
}

/// A tensor of the kernel that the caller provides.
#[derive(Clone)]
struct Formal {
    set: String,
    location: String,
}

impl Formal {
    fn is_named(&self, name: &str) -> bool {
        let plain = |n: &str| n == name || n.strip_suffix(".must_alias_input") == Some(name);
        plain(&self.set) || plain(&self.location) || self.set.strip_suffix("_set").is_some_and(plain)
    }
}

struct Work<'a> {
    options: LowerOptions,
    core: Option<usize>,
    open: &'a mut dyn FnMut(&str) -> Result<Vec<u8>>,
    taken: HashSet<String>,
    /// Kernels of the current function by file and device dump; `None`: not for this core.
    ready: HashMap<(String, bool), Option<Ready>>,
    functions: Vec<Function>,
    constants: Vec<LocationSet>,
    notes: Vec<String>,
    errors: Vec<Error>,
}

fn sets(f: &Function) -> impl Iterator<Item = &LocationSet> {
    f.allocations.iter().filter_map(|s| match s {
        Storage::Set(set) => Some(set),
        Storage::Register(_) => None,
    })
}

/// Whether every tensor in SBUF and PSUM has an address.
fn allocated(module: &Module) -> bool {
    let all = module.functions.iter().flat_map(sets).flat_map(|s| &s.locations);
    all.filter(|l| matches!(l.ty, MemoryType::Sb | MemoryType::Psum)).all(|l| l.allocated)
}

impl Work<'_> {
    fn blocks(&mut self, function: &str, blocks: &mut [Block]) {
        for block in blocks {
            for inst in &mut block.instructions {
                self.blocks(function, &mut inst.blocks);
                if inst.opcode != Opcode::NKIKLIRKernel {
                    continue;
                }
                if let Err(errors) = self.replace(inst) {
                    self.errors.extend(errors.into_iter().map(|e| {
                        e.at(|p| {
                            p.function.get_or_insert_with(|| function.to_owned());
                            p.block.get_or_insert_with(|| block.name.clone());
                            p.instruction.get_or_insert_with(|| inst.name.clone());
                            p.opcode.get_or_insert_with(|| Opcode::NKIKLIRKernel.to_string());
                        })
                    }));
                }
            }
        }
    }

    fn replace(&mut self, inst: &mut Instruction) -> Result<(), Vec<Error>> {
        let text = |key: &str| match inst.field(key) {
            Some(Value::Str(s)) => s,
            _ => String::new(),
        };
        let (file, kind) = (text("klir_binary"), text("kernel_format"));
        let dump = inst.field("enable_device_dump") == Some(Value::Bool(true));
        let key = (format!("{kind}:{file}"), dump);
        let ready = match self.ready.get(&key) {
            Some(ready) => ready.clone(),
            None => {
                let ready = self.load(&file, kind == "bir", dump)?;
                self.ready.insert(key, ready.clone());
                ready
            }
        };
        let Some(ready) = ready else {
            self.notes.push(format!("{file} has no body for this core; its NKIKLIRKernel stays"));
            return Ok(());
        };
        let mut call = inst.clone();
        call.opcode = Opcode::NKIKernel;
        call.fields = vec![None; call.opcode.row().fields.len()];
        for key in ["sb_buf_shape", "psum_buf_shape", "address_rotation_scope_val"] {
            let written = inst.opcode.row().field_index(key).and_then(|k| inst.fields.get(k).cloned().flatten());
            if let Some(v) = written {
                call.set(key, v);
            }
        }
        let mut args = bind(inst.field("func_args"), &inst.ins, &ready.inputs, "input").map_err(|e| vec![e])?;
        let outs = bind(inst.field("func_outs"), &inst.outs, &ready.outputs, "output").map_err(|e| vec![e])?;
        args.extend(ready.constants.iter().cloned());
        call.set("func", Value::Str(ready.name.clone()));
        call.set("func_args", Value::Map(args));
        call.set("func_outs", Value::Map(outs));
        call.set("kernel_source_val", Value::named(ready.source));
        *inst = call;
        Ok(())
    }

    /// The kernel of a file as a new function; `None` when it has no body for this core.
    fn load(&mut self, file: &str, bir: bool, dump: bool) -> Result<Option<Ready>, Vec<Error>> {
        let named = |e: Error| vec![e.at(|p| p.file = Some(file.to_owned()))];
        if file.is_empty() {
            return Err(named(
                Error::new(Code::F001, "fail to locate KLIR artifact").advice("klir_binary names no file"),
            ));
        }
        let bytes = (self.open)(file).map_err(|e| vec![e])?;
        let (mut function, source) = if bir {
            let module = format::read(&bytes).map_err(named)?;
            if !module.queues.is_empty() || !module.nki_functions.is_empty() {
                return Err(named(Error::new(Code::U002, "an embedded module with queues or kernels is not expanded")));
            }
            let Some(core) = self.body(module.functions.len()).map_err(named)? else { return Ok(None) };
            let function = module.functions.into_iter().nth(core);
            (function.ok_or_else(|| named(Error::new(Code::B001, "a body is gone")))?, KernelSource::Beta3)
        } else {
            let klr = crate::read(&bytes).map_err(named)?;
            if klr.version != VERSION {
                let [a, b, c] = klr.version;
                return Err(named(Error::new(Code::K002, "Wrong KLR version").received(format!("{a}.{b}.{c}"))));
            }
            let kind = klr.contents.kind();
            let Contents::Program(program @ Program::Lnc(_)) = klr.contents else {
                return Err(named(Error::new(Code::K003, "Wrong KLIR content type").received(kind)));
            };
            let Some(core) = self.body(program.as_lnc().bodies.len()).map_err(named)? else { return Ok(None) };
            let options = LowerOptions { device_dump: dump || self.options.device_dump, ..self.options.clone() };
            let mut lowered =
                lower(&program, &options).map_err(|errors| errors.into_iter().flat_map(&named).collect::<Vec<_>>())?;
            self.notes.append(&mut lowered.notes);
            if options.strict && !lowered.modules.get(core).is_some_and(allocated) {
                return Err(named(
                    Error::new(Code::K004, "an embedded kernel must be allocated")
                        .advice("give its SBUF and PSUM tensors their places, or convert without --strict"),
                ));
            }
            let function = lowered.modules.into_iter().nth(core).and_then(|m| m.functions.into_iter().next());
            (function.ok_or_else(|| named(Error::new(Code::B001, "a body is gone")))?, KernelSource::Beta2)
        };
        let wanted = if function.name.is_empty() { "kernel".to_owned() } else { function.name.clone() };
        let mut name = wanted.clone();
        for k in 1.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}.{k}");
        }
        function.name.clone_from(&name);
        Ok(Some(self.adopt(function, source)))
    }

    /// Which of `bodies` belongs to this core.
    fn body(&self, bodies: usize) -> Result<Option<usize>> {
        match self.core {
            None if bodies > 1 => {
                Err(Error::new(Code::K005, "NeuronCoreId must be set when the LNC count is greater than 1")
                    .received(format!("{bodies} bodies")))
            }
            core => Ok(Some(core.unwrap_or(0)).filter(|c| *c < bodies)),
        }
    }

    /// Makes a function callable: inputs, outputs and constants become formals; constants live in the caller, which
    /// is where files are bound.
    fn adopt(&mut self, mut function: Function, source: KernelSource) -> Ready {
        let mut ready = Ready {
            name: function.name.clone(),
            source,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: Vec::new(),
        };
        let mut arguments = Vec::new();
        for storage in &mut function.allocations {
            let Storage::Set(set) = storage else { continue };
            let location = set.locations.first().map_or(String::new(), |l| l.name.clone());
            let formal = Formal { set: set.name.clone(), location };
            match set.kind {
                k if k.is_input() => ready.inputs.push(formal),
                k if k.is_output() => ready.outputs.push(formal),
                TensorKind::Const if !set.file.is_empty() => {
                    let mut own = set.clone();
                    own.name = format!("{}.{}", function.name, set.name);
                    for l in &mut own.locations {
                        l.name = format!("{}.{}", function.name, l.name);
                    }
                    ready.constants.push((set.name.clone(), own.name.clone()));
                    self.constants.push(own);
                    set.file.clear();
                }
                _ => continue,
            }
            arguments.push(set.name.clone());
        }
        function.arguments = arguments;
        self.functions.push(function);
        ready
    }
}

/// (formal set, actual set) of one side: by name from a map, in order from a list, else from the instruction's operands.
fn bind(given: Option<Value>, operands: &[Operand], formals: &[Formal], side: &str) -> Result<Vec<(String, String)>> {
    let lost = |name: &str| {
        let known: Vec<&str> = formals.iter().map(|f| f.location.as_str()).collect();
        Error::new(Code::K005, format!("{name} {side} cannot be found"))
            .received(name)
            .advice(format!("the kernel's {side}s are {}", known.join(", ")))
    };
    let mut out: Vec<(String, String)> = Vec::new();
    match given {
        Some(Value::Map(pairs)) if !pairs.is_empty() => {
            for (name, actual) in pairs {
                let formal = formals.iter().find(|f| f.is_named(&name)).ok_or_else(|| lost(&name))?;
                out.push((formal.set.clone(), actual));
            }
        }
        given => {
            let actuals: Vec<String> = match given {
                Some(Value::Strs(names)) if !names.is_empty() => names,
                _ => operands.iter().map(set_of).collect::<Option<_>>().ok_or_else(|| {
                    Error::new(Code::U002, format!("an embedded kernel takes whole tensors as {side}s"))
                })?,
            };
            if actuals.len() > formals.len() {
                return Err(Error::new(Code::K005, format!("the call has more {side}s than the kernel"))
                    .received(format!("{} for {}", actuals.len(), formals.len())));
            }
            out.extend(formals.iter().map(|f| f.set.clone()).zip(actuals));
        }
    }
    match formals.iter().find(|f| !out.iter().any(|(set, _)| *set == f.set)) {
        Some(missing) => Err(lost(&missing.location)),
        None => Ok(out),
    }
}

fn set_of(operand: &Operand) -> Option<String> {
    let (set, location) = match operand {
        Operand::Physical(a) => (&a.memsetref, &a.memref),
        Operand::Symbolic(a) => (&a.memsetref, &a.memref),
        _ => return None,
    };
    [set, location].into_iter().find(|n| !n.is_empty()).map(|n| n.to_string())
}
