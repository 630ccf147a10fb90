//! Builds small kernels and prints what they become.

use birsim_ir::{FieldType, Instruction, Module, Operand as BirOperand, Value};
use birsim_kernels::{Code, Named};
use birsim_klr::ast::*;
use birsim_klr::{LowerOptions, Lowered, lower, read, write};

/// A tensor with its own address.
pub fn tensor(name: &str, memory: Memory, dtype: Dtype, dims: &[u64]) -> TensorName {
    let shape = Shape { par_dim: dims[0], free_dims: dims[1..].to_vec() };
    let free_elements: u64 = dims[1..].iter().product();
    let address = Address {
        name: name.into(),
        memory,
        par_size: dims[0],
        free_size: free_elements * dtype.size(),
        par_offset: None,
        free_offset: None,
        is_shared: false,
    };
    TensorName { name: name.into(), dtype, shape, address, free_elements, address_rotation: true }
}

/// The whole of a tensor as the front end writes it.
pub fn pattern(tensor: TensorName) -> BirAccessPattern {
    let dims = tensor.shape.dims();
    let pair = |k: usize| ApPair { step: dims[k + 1..].iter().product::<u64>() as i64, num: dims[k], offset: 0 };
    let pattern = (0..dims.len()).map(pair).collect();
    BirAccessPattern {
        tensor,
        offset: 0,
        pattern,
        scalar_offset: None,
        vector_offset: None,
        indirect_dim: 0,
        dtype_override: None,
    }
}

pub fn access(p: BirAccessPattern) -> TensorRef {
    TensorRef::Abstract(Access::BirPattern(p))
}

/// A whole SBUF tensor.
pub fn sb(name: &str, dtype: Dtype, dims: &[u64]) -> TensorRef {
    access(pattern(tensor(name, Memory::Sbuf, dtype, dims)))
}

/// A whole float32 SBUF tensor of 32 x 8.
pub fn f(name: &str) -> TensorRef {
    sb(name, Dtype::Float32, &[32, 8])
}

/// A float32 column of 32 partitions.
pub fn col(name: &str) -> TensorRef {
    sb(name, Dtype::Float32, &[32, 1])
}

/// A whole PSUM tensor.
pub fn ps(name: &str, dims: &[u64]) -> TensorRef {
    access(pattern(tensor(name, Memory::Psum, Dtype::Float32, dims)))
}

/// A whole HBM tensor.
pub fn hbm(name: &str, dtype: Dtype, dims: &[u64]) -> TensorRef {
    access(pattern(tensor(name, Memory::Hbm, dtype, dims)))
}

pub fn float(x: f32) -> Operand {
    Operand::Imm(Immediate::Float(x))
}

pub fn tile(r: TensorRef) -> Operand {
    Operand::Tile(Box::new(r))
}

pub fn stmt(name: &str, op: Operator) -> Stmt {
    let pos = Pos { line: 7, column: 2, line_end: None, column_end: None, filename: Some("k.py".into()) };
    Stmt { op, name: Some(name.into()), pos }
}

pub fn block(label: &str, body: Vec<Stmt>) -> Block {
    Block { label: label.into(), no_reorder: false, body }
}

/// A kernel of one body.
pub fn kernel(blocks: Vec<Block>) -> LncKernel {
    LncKernel {
        name: "k".into(),
        inputs: vec![],
        outputs: vec![],
        bodies: vec![blocks],
        shared_constants: vec![],
        shared_buffers: vec![],
        edges: vec![],
    }
}

/// Lowers a kernel, which must survive writing and reading on the way.
pub fn run(kernel: LncKernel) -> Result<Lowered, Vec<birsim_kernels::Error>> {
    run_with(kernel, &LowerOptions::default())
}

/// The same with options.
pub fn run_with(kernel: LncKernel, options: &LowerOptions) -> Result<Lowered, Vec<birsim_kernels::Error>> {
    let program = Program::Lnc(kernel);
    match read(&write(&program)).expect("what is written reads").contents {
        Contents::Program(again) => assert_eq!(again, program),
        other => panic!("{other:?}"),
    }
    lower(&program, options)
}

/// The module of a kernel that must lower.
pub fn module(kernel: LncKernel) -> Module {
    match run(kernel) {
        Ok(mut lowered) => lowered.modules.remove(0),
        Err(errors) => panic!("{errors:?}"),
    }
}

/// All instructions of one statement, which is the only one of a kernel of two cores.
pub fn all(op: Operator) -> Vec<Instruction> {
    let mut k = kernel(vec![block("main.1", vec![stmt("s", op)])]);
    k.bodies.push(vec![block("main.1", vec![])]);
    module(k).functions.remove(0).blocks.remove(0).instructions
}

/// The one instruction of a statement.
pub fn one(op: Operator) -> String {
    let list = all(op);
    assert_eq!(list.len(), 1, "{:?}", list.iter().map(|i| &i.name).collect::<Vec<_>>());
    text(&list[0])
}

/// The code and text of a refusal.
pub fn refused(op: Operator) -> String {
    let k = kernel(vec![block("main.1", vec![stmt("s", op)])]);
    let errors = run(k).expect_err("is refused");
    assert_eq!(errors.len(), 1, "{errors:?}");
    let e = &errors[0];
    assert_eq!(e.place().instruction.as_deref(), Some("s"));
    assert_eq!(e.place().source.as_deref(), Some("k.py:7:2"));
    assert!(matches!(e.code(), Code::K004 | Code::K005));
    format!("{} {}", e.code().id(), e.what())
}

fn operand(o: &BirOperand) -> String {
    match o {
        BirOperand::Physical(a) => {
            let pairs: Vec<String> = a.ap.iter().map(|p| format!("{}:{}", p.step, p.num)).collect();
            let dynamic = a.dynamic.as_ref().map_or(String::new(), |d| format!(" dynamic {:?}", d.offset_expr));
            let offset = if a.offset == 0 { String::new() } else { format!("+{}", a.offset) };
            format!("{}{offset}[{}]{dynamic}", a.memref, pairs.join(","))
        }
        BirOperand::Imm { dtype, value, .. } => format!("{dtype} {value:?}"),
        BirOperand::Register { regref, .. } => format!("%{regref}"),
        other => format!("{other:?}"),
    }
}

fn value(ty: &FieldType, v: &Value) -> String {
    match (ty, v) {
        (FieldType::Enum(def), Value::Enum(o)) => def.name_of(*o).unwrap_or("?").to_owned(),
        (FieldType::Enums(def), Value::Enums(list)) => {
            let names: Vec<&str> = list.iter().filter_map(|o| def.name_of(*o)).collect();
            format!("[{}]", names.join(","))
        }
        (_, Value::Bool(b)) => b.to_string(),
        (_, Value::Int(n)) => n.to_string(),
        (_, Value::Float(x)) => format!("{x:?}"),
        (_, Value::Str(s)) => s.clone(),
        (_, Value::Ints(list)) => {
            format!("{:?}", list.iter().map(|e| e.as_const().expect("constant")).collect::<Vec<_>>())
        }
        (_, Value::Expr(e)) => format!("{:?}", e.as_const().expect("constant")),
        (_, Value::Floats(list)) => format!("{list:?}"),
        (_, Value::Pairs(list)) => format!("{list:?}"),
        (_, Value::Groups(list)) => format!("{list:?}"),
        (_, other) => format!("{other:?}"),
    }
}

/// `Opcode Engine (ins) -> (outs) key=value ..`, without the fields that are false.
pub fn text(i: &Instruction) -> String {
    let list = |l: &[BirOperand]| l.iter().map(operand).collect::<Vec<_>>().join(" ");
    let mut text = format!("{} {} ({}) -> ({})", i.opcode, i.engine.name(), list(&i.ins), list(&i.outs));
    if !i.indirection_ins.is_empty() {
        text.push_str(&format!(" by ({})", list(&i.indirection_ins)));
    }
    for (field, v) in i.opcode.row().fields.iter().zip(&i.fields) {
        if let Some(v) = v.as_ref().filter(|v| **v != Value::Bool(false)) {
            text.push_str(&format!(" {}={}", field.key, value(&field.ty, v)));
        }
    }
    text
}
