//! Recorded instructions and tensors as records of a BIR module.

use crate::backend::Settings;
use crate::op::{Access, Decl, Dynamic, Op, Opnd, Region, Role, Step};
use crate::source::Source;
use birsim_engine::ir::{
    AddressSpace, ApPair, Block, DynamicAp, Engine, Expr, Extra, Function, ImmValue, IndirectDim, Instruction,
    Location, LocationSet, MemoryType, Module, Name, Operand, PhysicalAp, RegisterDecl, SourceLocation, Storage,
    TensorKind,
};
use birsim_kernels::Dtype;
use std::collections::HashMap;

/// Names of locations, by their number.
#[derive(Default)]
struct Names {
    locations: HashMap<u32, String>,
    instructions: std::cell::Cell<u64>,
}

impl Names {
    /// The name of a location.
    fn of(&self, loc: u32) -> &str {
        self.locations.get(&loc).map_or("", String::as_str)
    }

    /// Declares a register.
    fn register(&mut self, id: u32) -> Storage {
        Storage::Register(RegisterDecl {
            name: register_name(id),
            num_physical_regs: 1,
            engine: Engine::All,
            dtype: Dtype::Int32,
            reg_id: -1,
            extra: Extra::new(),
        })
    }

    fn next(&self) -> u64 {
        let n = self.instructions.get() + 1;
        self.instructions.set(n);
        n
    }
}

fn register_name(id: u32) -> String {
    format!("reg{id}")
}

/// The number of a register's name.
pub fn register_number(name: &str) -> Option<u32> {
    name.strip_prefix("reg")?.parse().ok()
}

/// The modules of streams that were traced as a whole, one per core.
pub fn modules(settings: &Settings, streams: Vec<Vec<Step>>, sources: &dyn Fn(u32) -> Option<Source>) -> Vec<Module> {
    let mut names = Names::default();
    let several = streams.len() > 1;
    let mut out = Vec::new();
    for steps in streams {
        let mut storages = Vec::new();
        let mut ops = Vec::new();
        for step in steps {
            match step {
                Step::Declare(d) => storages.push(storage(&d, &mut names, several)),
                Step::Register(id) => storages.push(names.register(id)),
                Step::Op(op) => ops.push(op),
                Step::Release(_) => {}
            }
        }
        let mut m = Module::new(Some(settings.target.arch()));
        m.functions.push(Function {
            name: "main".into(),
            attributes: Extra::new(),
            allocations: storages,
            blocks: vec![block("Block1", &ops, &names, sources)],
            arguments: Vec::new(),
            extra: Extra::new(),
        });
        out.push(m);
    }
    out
}

fn space(shared: bool) -> AddressSpace {
    if shared { AddressSpace::Shared } else { AddressSpace::Local }
}

/// The record of a tensor.
fn storage(d: &Decl, names: &mut Names, several: bool) -> Storage {
    names.locations.insert(d.loc, d.name.clone());
    let size = d.dtype.size() as u64;
    let count = |dims: &[i64]| dims.iter().map(|n| n.unsigned_abs()).product::<u64>();
    let (ty, dims) = match d.region {
        Region::Sbuf => (MemoryType::Sb, vec![d.shape[0].unsigned_abs(), count(&d.shape[1..]) * size]),
        Region::Psum => (MemoryType::Psum, vec![d.shape[0].unsigned_abs(), count(&d.shape[1..]) * size]),
        // Device memory is one run of bytes: views may take it for other types and shapes.
        _ => (MemoryType::Dram, vec![1, count(&d.shape) * size]),
    };
    let kind = match d.role {
        Role::Input => TensorKind::ExternalInput,
        Role::Output => TensorKind::ExternalOutput,
        Role::Internal => TensorKind::Internal,
    };
    let shared = several && (d.region == Region::SharedHbm || d.role == Role::Input);
    Storage::Set(LocationSet {
        name: format!("{}_set", d.name),
        kind,
        dtype: d.dtype,
        tensor_shape: d.shape.iter().map(|n| n.unsigned_abs()).collect(),
        partition_dim: 0,
        addr_space: space(shared),
        tensor_class: None,
        locations: vec![Location {
            name: d.name.clone(),
            ty,
            dims,
            addr: d.address.map_or(0, |(_, byte)| byte.unsigned_abs()),
            base: d.address.map_or(0, |(partition, _)| partition),
            bank: 0,
            allocated: false,
            user_allocated: d.address.is_some(),
            pinned: false,
            tensor_id: 0,
            kind: None,
            addr_space: None,
            alias: Vec::new(),
            pointer_ref_memloc: None,
            extra: Extra::new(),
        }],
        file: String::new(),
        extra: Extra::new(),
    })
}

/// A block of instructions.
fn block(name: &str, ops: &[Op], names: &Names, sources: &dyn Fn(u32) -> Option<Source>) -> Block {
    let instructions = ops.iter().map(|op| instruction(op, names, sources)).collect();
    Block { name: name.to_owned(), arguments: Vec::new(), instructions, extra: Extra::new() }
}

fn instruction(op: &Op, names: &Names, sources: &dyn Fn(u32) -> Option<Source>) -> Instruction {
    let n = names.next();
    let name = match &op.name {
        Some(label) => format!("{label}-{n}"),
        None => format!("{}-{n}", op.opcode),
    };
    let mut i = Instruction::new(name, op.opcode, op.engine);
    for (index, value) in &op.fields {
        i.fields[*index] = Some(value.clone());
    }
    let mut index = Vec::new();
    for o in &op.ins {
        i.ins.push(operand(o, names, &mut index));
    }
    for o in &op.outs {
        i.outs.push(operand(o, names, &mut index));
    }
    i.indirection_ins = index.into();
    if let Some(s) = sources(op.source) {
        i.debug = Some(Box::new(SourceLocation {
            lineno: Some(i64::from(s.line)),
            op_name: op.name.as_ref().map(|n| n.to_string()),
            filename: Some(s.file),
            extra: Extra::new(),
        }));
    }
    if !op.body.is_empty() {
        i.blocks.push(block(&format!("body{n}"), &op.body, names, sources));
    }
    i
}

fn operand(o: &Opnd, names: &Names, index: &mut Vec<Operand>) -> Operand {
    match o {
        Opnd::Access(a) => Operand::Physical(physical(a, names, index)),
        Opnd::Float(x) => {
            Operand::Imm { dtype: Dtype::Float32, value: ImmValue::Float(f64::from(*x)), extra: Extra::new() }
        }
        Opnd::Int(n, dtype) => {
            Operand::Imm { dtype: *dtype, value: ImmValue::Int(i128::from(*n)), extra: Extra::new() }
        }
        Opnd::Reg(id) => Operand::Register { dtype: Dtype::Int32, regref: register_name(*id), extra: Extra::new() },
    }
}

fn physical(a: &Access, names: &Names, index: &mut Vec<Operand>) -> PhysicalAp {
    let mut ap: Vec<ApPair> = a.dims.iter().map(|(step, num)| ApPair { step: *step, num: *num }).collect();
    let dynamic = a.dynamic.as_deref().map(|d| {
        let (offset_expr, dim, rows, arg) = match d {
            Dynamic::Scalar(terms) => {
                let terms = terms.iter().map(|(reg, coef)| (Expr::Register(register_name(*reg)), *coef)).collect();
                (Expr::Affine { terms, c: 0 }, None, None, None)
            }
            Dynamic::Vector { index: at, coef, rows } => {
                if let Some(first) = ap.first_mut() {
                    first.step = *coef;
                }
                let position = index.len() as i64;
                index.push(Operand::Physical(physical(at, names, &mut Vec::new())));
                let rows = Some(rows.unsigned_abs());
                (Expr::IndirectArg { arg_id: 1 }, Some(IndirectDim::W), rows, Some(position))
            }
        };
        Box::new(DynamicAp {
            offset_expr: Some(offset_expr),
            actual_ap: ap.clone(),
            c: Some(a.offset),
            aff_expr: Vec::new(),
            indirect_dim: dim,
            indirect_dim_max_index: rows,
            num_indirect_args: arg.map(|_| 1),
            indirect_arg_id: arg,
            extra: Extra::new(),
        })
    });
    PhysicalAp {
        dtype: a.dtype,
        memref: names.of(a.loc).into(),
        memsetref: Name::default(),
        offset: a.offset,
        ap: ap.into(),
        dynamic,
        extra: Extra::new(),
    }
}
