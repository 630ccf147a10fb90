//! Appending an instruction that Python describes by opcode, operands and fields.

use crate::op::{Op, Opnd};
use crate::register::VirtualRegister;
use crate::tensor::NkiTensor;
use crate::trace::here;
use birsim_engine::ir::{Axis, Engine, Expr, FieldType, Opcode, Value};
use birsim_kernels::{Dtype, Named};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString};
use std::sync::atomic::Ordering;

/// The opcode and engine of two names or numbers.
fn head(opcode: &str, engine: u8) -> PyResult<Op> {
    let opcode = Opcode::from_name(opcode).ok_or_else(|| PyValueError::new_err(format!("no opcode {opcode}")))?;
    let engine = Engine::from_ordinal(engine).ok_or_else(|| PyValueError::new_err(format!("no engine {engine}")))?;
    Ok(Op::new(opcode, engine))
}

/// An operand.
fn operand(py: Python<'_>, ob: &Bound<'_, PyAny>, core: u32, source: u32) -> PyResult<Opnd> {
    if let Ok(t) = ob.cast::<NkiTensor>() {
        return Ok(Opnd::Access(t.get().access(py, core, source)?));
    }
    if let Ok(r) = ob.cast::<VirtualRegister>() {
        return Ok(Opnd::Reg(r.get().id()));
    }
    if ob.cast::<PyFloat>().is_ok() {
        return Ok(Opnd::Float(ob.extract::<f64>()? as f32));
    }
    if let Ok(n) = ob.extract::<i64>() {
        return Ok(Opnd::Int(n, Dtype::Int32));
    }
    let kind = ob.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!("{kind} is no operand; operands are tensors, numbers and registers")))
}

/// A field's value of the type that the opcode's row declares.
fn value(ty: FieldType, ob: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(match ty {
        FieldType::Bool => Value::Bool(ob.extract()?),
        FieldType::Int(..) | FieldType::Bits => match ob.cast::<VirtualRegister>() {
            Ok(r) => Value::Expr(Expr::Register(format!("reg{}", r.get().id()))),
            Err(_) => Value::Int(ob.extract()?),
        },
        FieldType::Float => Value::Float(ob.extract()?),
        FieldType::Str => Value::Str(ob.extract()?),
        FieldType::Enum(_) => Value::Enum(ob.extract()?),
        FieldType::Ints | FieldType::Exprs => {
            let list: Vec<i64> = ob.extract()?;
            Value::Ints(list.into_iter().map(Expr::Const).collect())
        }
        FieldType::Floats => Value::Floats(ob.extract()?),
        FieldType::Strs | FieldType::Axes => Value::Strs(ob.extract()?),
        FieldType::Enums(_) => Value::Enums(ob.extract()?),
        FieldType::Pairs => Value::Pairs(ob.extract()?),
        FieldType::Groups => Value::Groups(ob.extract()?),
        FieldType::Expr => Value::Expr(Expr::Const(ob.extract()?)),
        FieldType::Map | FieldType::Axis | FieldType::Json => {
            return Err(PyTypeError::new_err("a field of this type is set by loops only"));
        }
    })
}

/// Appends one instruction to the stream of the core that is being traced.
#[pyfunction]
#[pyo3(signature = (opcode, engine, ins, outs, fields, name=None))]
pub fn emit(
    py: Python<'_>,
    opcode: &str,
    engine: u8,
    ins: &Bound<'_, PyAny>,
    outs: &Bound<'_, PyAny>,
    fields: &Bound<'_, PyDict>,
    name: Option<&str>,
) -> PyResult<()> {
    let (session, core) = here(opcode)?;
    let mut op = head(opcode, engine)?;
    op.source = session.source(py);
    for item in ins.try_iter()? {
        op.ins.push(operand(py, &item?, core, op.source)?);
    }
    for item in outs.try_iter()? {
        let item = item?;
        if let Ok(t) = item.cast::<NkiTensor>() {
            t.get().storage.written.store(true, Ordering::Relaxed);
        }
        op.outs.push(operand(py, &item, core, op.source)?);
    }
    let row = op.opcode.row();
    for (key, given) in fields.iter() {
        let key = key.cast::<PyString>()?.to_cow()?.into_owned();
        let at =
            row.field_index(&key).ok_or_else(|| PyValueError::new_err(format!("{} has no field {key}", row.name)))?;
        op.fields.push((at, value(row.fields[at].ty, &given)?));
    }
    op.name = name.filter(|n| !n.is_empty()).map(Into::into);
    session.append(py, core, op)
}

/// Begins the body of a loop that is traced once.
#[pyfunction]
pub fn open_body() -> PyResult<()> {
    let (session, core) = here("a loop")?;
    session.open(core);
    Ok(())
}

/// Ends the body and appends its loop: over a register, or while a register is not zero.
#[pyfunction]
#[pyo3(signature = (register, lower=None, upper=None, step=1))]
pub fn close_body(
    py: Python<'_>,
    register: &Bound<'_, VirtualRegister>,
    lower: Option<&Bound<'_, PyAny>>,
    upper: Option<&Bound<'_, PyAny>>,
    step: i64,
) -> PyResult<()> {
    let (session, core) = here("a loop")?;
    let body = session.close(core);
    let name = format!("reg{}", register.get().id());
    let bound = |ob: &Bound<'_, PyAny>| -> PyResult<Expr> {
        match ob.cast::<VirtualRegister>() {
            Ok(r) => Ok(Expr::Register(format!("reg{}", r.get().id()))),
            Err(_) => Ok(Expr::Const(ob.extract::<i64>()?)),
        }
    };
    let mut op = match (lower, upper) {
        (Some(lower), Some(upper)) => {
            let axis = Axis { name, lb: bound(lower)?, ub: bound(upper)?, stride: Expr::Const(step) };
            let mut op = head("DynamicForLoop", Engine::All.ordinal())?;
            let at = op.opcode.row().field_index("DynamicForLoopAxis").unwrap_or(0);
            op.fields.push((at, Value::Axis(Box::new(axis))));
            op
        }
        _ => {
            let mut op = head("DoWhile", Engine::All.ordinal())?;
            let at = op.opcode.row().field_index("cond").unwrap_or(0);
            op.fields.push((at, Value::Expr(Expr::Register(name))));
            op
        }
    };
    op.source = session.source(py);
    op.body = body;
    session.append(py, core, op)
}

/// Drops the body of a loop: its kernel raised.
#[pyfunction]
pub fn drop_body() -> PyResult<()> {
    let (session, core) = here("a loop")?;
    drop(session.close(core));
    Ok(())
}

/// Ordinal of an enumeration's value by the field and name, for the Python tables.
#[pyfunction]
pub fn ordinals(opcode: &str, field: &str) -> PyResult<Vec<(String, u8)>> {
    let row = head(opcode, 0)?.opcode.row();
    let at = row.field_index(field).ok_or_else(|| PyValueError::new_err(format!("{opcode} has no field {field}")))?;
    match row.fields[at].ty {
        FieldType::Enum(def) | FieldType::Enums(def) => {
            Ok(def.values.iter().map(|(ordinal, name)| (name.to_string(), *ordinal)).collect())
        }
        _ => Err(PyValueError::new_err(format!("{opcode}.{field} is no enumeration"))),
    }
}
