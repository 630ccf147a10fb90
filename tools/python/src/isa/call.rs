//! One call of a function of `nki.isa`: its arguments, the checks they share, and what it appends.

use super::{In, Kind, Row, Token, token};
use crate::dtype::Dt;
use crate::errors::invalid;
use crate::op::{Access, Op, Opnd, Region, Role};
use crate::register::VirtualRegister;
use crate::tensor::{Moves, NkiTensor};
use crate::trace::Session;
use birsim_engine::ir::{ActivationFunction, Engine, EngineAccumulation};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Dtype, Named};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Partitions on chip.
const PARTITIONS: i64 = 128;

/// A call.
pub struct Call<'a, 'py> {
    /// Token of the GIL.
    pub py: Python<'py>,
    /// Row of the function.
    pub row: &'a Row,
    /// Arguments by parameter; `None` stands for absent and for None.
    pub args: SmallVec<[Option<Bound<'py, PyAny>>; 16]>,
    /// Session.
    pub session: Arc<Session>,
    /// Core.
    pub core: u32,
    /// Place in the source.
    pub source: u32,
}

impl<'py> Call<'_, 'py> {
    /// An error that names the function.
    #[cold]
    pub fn refuse(&self, text: impl std::fmt::Display) -> PyErr {
        invalid(self.py, format!("{} {text}", self.row.name))
    }

    /// The generation of the target.
    pub fn generation(&self) -> u8 {
        match self.session.settings.target {
            birsim_engine::Target::Trn3 => 4,
            birsim_engine::Target::Trn2 => 3,
            _ => 2,
        }
    }

    /// The target as text.
    pub fn target(&self) -> String {
        self.session.settings.target.to_string()
    }

    /// The function exists on the target.
    pub fn available(&self) -> PyResult<()> {
        if self.row.since <= self.generation() {
            return Ok(());
        }
        let first = if self.row.since == 4 { "trn3" } else { "trn2" };
        Err(self.refuse(format!("exists from {first} on, not on {}", self.target())))
    }

    fn name(&self, k: usize) -> &'static str {
        self.row.params[k].name
    }

    /// The argument is given and not None.
    pub fn has(&self, k: usize) -> bool {
        self.args[k].is_some()
    }

    fn wrong(&self, k: usize, wanted: &str) -> PyErr {
        let got = self.args[k].as_ref().map_or_else(
            || "None".to_owned(),
            |v| v.get_type().name().map_or_else(|_| "?".to_owned(), |n| n.to_string()),
        );
        PyTypeError::new_err(format!("{}: {} is {wanted}, not {got}", self.row.name, self.name(k)))
    }

    /// A tensor, checked against the memories and limits of the parameter.
    pub fn t(&self, k: usize) -> PyResult<Bound<'py, NkiTensor>> {
        let Some(Ok(t)) = self.args[k].as_ref().map(|v| v.cast::<NkiTensor>()) else {
            return Err(self.wrong(k, "a tensor"));
        };
        let memories = match self.row.params[k].kind {
            Kind::Out(m) | Kind::Src(m) | Kind::Scalar(m) | Kind::Value(m) => m,
            _ => super::ANY,
        };
        self.fits(self.name(k), t.get(), memories)?;
        Ok(t.clone())
    }

    /// A tensor that may be absent.
    pub fn opt(&self, k: usize) -> PyResult<Option<Bound<'py, NkiTensor>>> {
        if self.has(k) { self.t(k).map(Some) } else { Ok(None) }
    }

    /// Memories and partitions of an operand.
    pub fn fits(&self, label: &str, t: &NkiTensor, memories: In) -> PyResult<()> {
        let region = t.storage.region;
        if !memories.has(region) {
            let advice = match region {
                Region::Psum => "; copy it to sbuf with tensor_copy",
                Region::Sbuf => "",
                _ => "; copy it to sbuf with dma_copy",
            };
            return Err(self.refuse(format!(
                "{label} lies in {}, it must be in {} ({}){advice}",
                region.name(),
                memories.names(),
                self.target()
            )));
        }
        if t.on_chip() {
            let n = t.partitions();
            if n > PARTITIONS {
                return Err(self.refuse(format!(
                    "{label} partition dimension {n} exceeds the maximum {PARTITIONS} of {}",
                    t.where_text()
                )));
            }
            if t.storage.core != self.core {
                return Err(self.refuse(format!("{label} belongs to the other core")));
            }
        }
        if !Arc::ptr_eq(&t.storage.session, &self.session) {
            return Err(self.refuse(format!("{label} belongs to another run of a kernel")));
        }
        Ok(())
    }

    /// Partitions and elements per partition of two operands agree.
    pub fn same(&self, a: usize, b: usize) -> PyResult<()> {
        let (x, y) = (self.t(a)?, self.t(b)?);
        let (x, y) = (x.get(), y.get());
        if x.partitions() == y.partitions() && x.free() == y.free() {
            return Ok(());
        }
        Err(self.refuse(format!(
            "{} has the shape {} and {} {}: partitions and elements per partition must agree",
            self.name(b),
            y.shape_text(),
            self.name(a),
            x.shape_text()
        )))
    }

    /// A vector operand has one element in each partition of `data`.
    pub fn vector(&self, k: usize, data: usize) -> PyResult<()> {
        let Some(Ok(v)) = self.args[k].as_ref().map(|v| v.cast::<NkiTensor>()) else { return Ok(()) };
        let (v, data) = (v.get(), self.t(data)?);
        if v.free() == 1 && v.partitions() == data.get().partitions() {
            return Ok(());
        }
        Err(self.refuse(format!(
            "{} has the shape {}; a vector operand has one element in each of the {} partitions",
            self.name(k),
            v.shape_text(),
            data.get().partitions()
        )))
    }

    /// At most one of two inputs lies in PSUM.
    pub fn one_psum(&self, a: usize, b: usize) -> PyResult<()> {
        let psum = |k: usize| {
            let v = self.args[k].as_ref().map(|v| v.cast::<NkiTensor>());
            matches!(v, Some(Ok(t)) if t.get().storage.region == Region::Psum)
        };
        if psum(a) && psum(b) {
            let (a, b) = (self.name(a), self.name(b));
            return Err(self.refuse(format!("{a} and {b} both lie in psum; one of them may ({})", self.target())));
        }
        Ok(())
    }

    /// Types of two operands are equal.
    pub fn same_type(&self, a: usize, b: usize) -> PyResult<()> {
        let (x, y) = (self.t(a)?, self.t(b)?);
        if x.get().dt.bir() == y.get().dt.bir() {
            return Ok(());
        }
        Err(self.refuse(format!(
            "{} has the type {} and {} {}: they must be equal",
            self.name(b),
            y.get().dt.name(),
            self.name(a),
            x.get().dt.name()
        )))
    }

    /// The pattern of a tensor that is read.
    pub fn read(&self, t: &NkiTensor) -> PyResult<Opnd> {
        if let Some(Moves::Indirect { .. }) = t.moves.as_deref() {
            return Err(self.refuse("takes no gathered view; copy it to a tile with tensor_copy first"));
        }
        Ok(Opnd::Access(t.access(self.py, self.core, self.source)?))
    }

    /// An input by parameter.
    pub fn input(&self, k: usize) -> PyResult<Opnd> {
        self.read(self.t(k)?.get())
    }

    /// The pattern of a tensor that is written.
    pub fn write(&self, t: &NkiTensor) -> PyResult<Opnd> {
        t.storage.written.store(true, Ordering::Relaxed);
        self.read(t)
    }

    /// An output by parameter.
    pub fn output(&self, k: usize) -> PyResult<Opnd> {
        self.write(self.t(k)?.get())
    }

    /// A number or tensor; numbers become integers under bit operations and float32 else.
    pub fn operand(&self, k: usize, bits: bool) -> PyResult<Opnd> {
        let Some(v) = &self.args[k] else {
            return Ok(if bits { Opnd::Int(0, Dtype::Int32) } else { Opnd::Float(0.0) });
        };
        if v.cast::<NkiTensor>().is_ok() {
            return self.input(k);
        }
        if let Ok(r) = v.cast::<VirtualRegister>() {
            return Ok(Opnd::Reg(r.get().id()));
        }
        let wrong = |_| self.wrong(k, "a number or a tensor");
        if bits {
            let n = self.whole(v).map_err(wrong)?;
            let dtype = if n > i64::from(i32::MAX) { Dtype::Uint32 } else { Dtype::Int32 };
            return Ok(Opnd::Int(n, dtype));
        }
        Ok(Opnd::Float(self.real(v).map_err(wrong)? as f32))
    }

    fn real(&self, v: &Bound<'py, PyAny>) -> PyResult<f64> {
        match v.extract::<f64>() {
            Ok(x) => Ok(x),
            Err(e) => match v.call_method0("item") {
                // An array of one element.
                Ok(item) => item.extract(),
                Err(_) => Err(e),
            },
        }
    }

    fn whole(&self, v: &Bound<'py, PyAny>) -> PyResult<i64> {
        match v.extract::<i64>() {
            Ok(n) => Ok(n),
            Err(e) => {
                let x = self.real(v)?;
                if x.fract() == 0.0 { Ok(x as i64) } else { Err(e) }
            }
        }
    }

    /// A Python integer, not a float: the class of an exact operand.
    pub fn exact(&self, k: usize) -> Option<i64> {
        match &self.args[k] {
            None => Some(0),
            Some(v) if v.cast::<PyFloat>().is_ok() || v.cast::<NkiTensor>().is_ok() => None,
            Some(v) if v.cast::<VirtualRegister>().is_ok() => None,
            Some(v) => v.extract::<i64>().ok(),
        }
    }

    /// A number.
    pub fn number(&self, k: usize, default: f64) -> PyResult<f64> {
        match &self.args[k] {
            None => Ok(default),
            Some(v) => self.real(v).map_err(|_| self.wrong(k, "a number")),
        }
    }

    /// An integer; a register is read.
    pub fn int(&self, k: usize, default: i64) -> PyResult<i64> {
        match &self.args[k] {
            None => Ok(default),
            Some(v) => self
                .whole(v)
                .map_err(|e| if e.is_instance_of::<PyTypeError>(self.py) { self.wrong(k, "an integer") } else { e }),
        }
    }

    /// An integer or a register, as a value of a field.
    pub fn int_or_register(&self, k: usize) -> PyResult<birsim_engine::ir::Value> {
        use birsim_engine::ir::{Expr, Value};
        if let Some(Ok(r)) = self.args[k].as_ref().map(|v| v.cast::<VirtualRegister>()) {
            return Ok(match r.get().known() {
                Some(n) => Value::Int(n),
                None => Value::Expr(Expr::Register(format!("reg{}", r.get().id()))),
            });
        }
        Ok(Value::Int(self.int(k, 0)?))
    }

    /// A register that the instruction writes: from now on only the machine knows its value.
    pub fn register(&self, k: usize) -> PyResult<Bound<'py, VirtualRegister>> {
        let Some(Ok(r)) = self.args[k].as_ref().map(|v| v.cast::<VirtualRegister>()) else {
            return Err(self.wrong(k, "a register of nki.isa.register_alloc"));
        };
        r.get().writable()?;
        r.get().holds(None);
        Ok(r.clone())
    }

    /// A number or a register as the operand of a register instruction.
    pub fn word(&self, k: usize) -> PyResult<Opnd> {
        match self.args[k].as_ref().map(|v| v.cast::<VirtualRegister>()) {
            Some(Ok(r)) => Ok(Opnd::Reg(r.get().id())),
            _ => Ok(Opnd::Int(self.int(k, 0)?, Dtype::Int32)),
        }
    }

    /// True or false.
    pub fn flag(&self, k: usize) -> PyResult<bool> {
        match &self.args[k] {
            None => Ok(false),
            Some(v) => match v.cast::<PyBool>() {
                Ok(b) => Ok(b.is_true()),
                Err(_) => v.is_truthy(),
            },
        }
    }

    /// A list of integers.
    pub fn ints(&self, k: usize) -> PyResult<Vec<i64>> {
        let Some(v) = &self.args[k] else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for item in v.try_iter().map_err(|_| self.wrong(k, "a list of integers"))? {
            out.push(self.whole(&item?).map_err(|_| self.wrong(k, "a list of integers"))?);
        }
        Ok(out)
    }

    /// A list of (step, count) pairs.
    pub fn pairs(&self, k: usize) -> PyResult<Vec<(i64, i64)>> {
        let Some(v) = &self.args[k] else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for item in v.try_iter().map_err(|_| self.wrong(k, "a list of [step, count] pairs"))? {
            match crate::tensor::ints(&item?).as_deref() {
                Ok([step, count]) => out.push((*step, *count)),
                _ => return Err(self.wrong(k, "a list of [step, count] pairs")),
            }
        }
        Ok(out)
    }

    /// A list of tensors; one tensor is a list of one.
    pub fn tensors(&self, k: usize, memories: In) -> PyResult<Vec<Bound<'py, NkiTensor>>> {
        let Some(v) = &self.args[k] else { return Ok(Vec::new()) };
        if let Ok(t) = v.cast::<NkiTensor>() {
            return Ok(vec![t.clone()]);
        }
        let mut out = Vec::new();
        for item in v.try_iter().map_err(|_| self.wrong(k, "a list of tensors"))? {
            let item = item?;
            let t = item.cast::<NkiTensor>().map_err(|_| self.wrong(k, "a list of tensors"))?;
            self.fits(&format!("{}[{}]", self.name(k), out.len()), t.get(), memories)?;
            out.push(t.clone());
        }
        Ok(out)
    }

    /// An operation.
    pub fn token(&self, k: usize) -> PyResult<Option<Token>> {
        self.args[k].as_ref().map(token).transpose()
    }

    /// An operation of arithmetic; bypass when absent.
    pub fn alu(&self, k: usize) -> PyResult<AluOp> {
        match self.token(k)? {
            None => Ok(AluOp::Bypass),
            Some(Token { alu: Some(op), .. }) => Ok(op),
            Some(t) => Err(self.refuse(format!(
                "{} is nl.{}, which is a function of activation; arithmetic such as nl.add is expected",
                self.name(k),
                t.name
            ))),
        }
    }

    /// An activation function.
    pub fn func(&self, k: usize) -> PyResult<ActivationFunction> {
        match self.token(k)? {
            Some(Token { func: Some(f), .. }) => Ok(f),
            Some(t) => Err(self.refuse(format!(
                "{} is nl.{}, which is no activation function such as nl.exp or nl.copy",
                self.name(k),
                t.name
            ))),
            None => Err(self.wrong(k, "an activation function")),
        }
    }

    /// The number of a member of an enumeration, given as member, number or name.
    pub fn member(&self, k: usize, names: &[(&str, i64)], default: i64) -> PyResult<i64> {
        let Some(v) = &self.args[k] else { return Ok(default) };
        let text = |s: &Bound<'py, PyString>| -> PyResult<i64> {
            let s = s.to_cow()?;
            let name = s.rsplit('.').next().unwrap_or(&s);
            let found = names.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            found.ok_or_else(|| {
                let known: Vec<&str> = names.iter().map(|(n, _)| *n).collect();
                PyTypeError::new_err(format!(
                    "{}: {} is one of {}, not {s:?}",
                    self.row.name,
                    self.name(k),
                    known.join(", ")
                ))
            })
        };
        if let Ok(s) = v.cast::<PyString>() {
            return text(s);
        }
        if let Ok(n) = v.cast::<PyInt>() {
            let n: i64 = n.extract()?;
            if names.iter().any(|(_, v)| *v == n) {
                return Ok(n);
            }
        } else if let Ok(value) = v.getattr("value")
            && let Ok(s) = value.cast::<PyString>()
        {
            return text(s);
        }
        let known: Vec<&str> = names.iter().map(|(n, _)| *n).collect();
        Err(self.wrong(k, &format!("one of {}", known.join(", "))))
    }

    /// The engine that the author chose; `None` leaves it to the function.
    pub fn engine(&self, k: usize, allowed: &[Engine]) -> PyResult<Option<Engine>> {
        const NAMES: &[(&str, i64)] =
            &[("unknown", 0), ("tensor", 1), ("scalar", 2), ("gpsimd", 3), ("dma", 4), ("vector", 5), ("sync", 6)];
        let engine = match self.member(k, NAMES, 0)? {
            1 => Engine::Pe,
            2 => Engine::Activation,
            3 => Engine::Pool,
            4 => Engine::Dma,
            5 => Engine::Dve,
            6 => Engine::Sp,
            _ => return Ok(None),
        };
        if allowed.contains(&engine) {
            return Ok(Some(engine));
        }
        let word = |e: &Engine| match e {
            Engine::Pe => "tensor",
            Engine::Activation => "scalar",
            Engine::Pool => "gpsimd",
            Engine::Dma => "dma",
            Engine::Dve => "vector",
            _ => "sync",
        };
        let list: Vec<&str> = allowed.iter().map(word).collect();
        Err(self.refuse(format!(
            "cannot run on the {} engine; it runs on {} ({})",
            word(&engine),
            list.join(" or "),
            self.target()
        )))
    }

    /// What is done with the accumulation registers.
    pub fn command(&self, k: usize, default: i64) -> PyResult<EngineAccumulation> {
        const NAMES: &[(&str, i64)] =
            &[("idle", 0), ("reset", 1), ("reduce", 2), ("reset_reduce", 3), ("load_reduce", 4)];
        Ok(match self.member(k, NAMES, default)? {
            1 => EngineAccumulation::Zero,
            2 => EngineAccumulation::AddAccumulate,
            3 => EngineAccumulation::ZeroAccumulate,
            4 => EngineAccumulation::LoadAccumulate,
            _ => EngineAccumulation::Idle,
        })
    }

    /// A label.
    fn label(&self) -> Option<Box<str>> {
        let at = self.row.params.iter().position(|p| matches!(p.kind, Kind::Name))?;
        let text: String = self.args[at].as_ref()?.extract().ok()?;
        (!text.is_empty()).then(|| text.into())
    }

    /// Appends an instruction.
    pub fn emit(&self, mut op: Op) -> PyResult<()> {
        op.source = self.source;
        op.name = self.label();
        self.session.append(self.py, self.core, op)
    }

    /// A tensor of the front end's own.
    pub fn scratch(&self, shape: &[i64], dt: Dt, region: Region) -> NkiTensor {
        let shape = SmallVec::from_slice(shape);
        NkiTensor::whole(self.session.declare(self.core, "", shape, dt.bir(), region, Role::Internal), dt)
    }

    /// Emits with the tile that takes an accumulator: engines drain it to float32, other types are a copy of that.
    pub fn drained(&self, mut op: Op, res: Option<&NkiTensor>) -> PyResult<()> {
        let Some(res) = res else { return self.emit(op) };
        if res.dt.bir() == Dtype::Float32 {
            op.outs.push(self.write(res)?);
            return self.emit(op);
        }
        let shape: Vec<i64> = res.dims.iter().map(|d| d.1).collect();
        let float = Dt::named("float32").unwrap_or(res.dt);
        let stage = self.scratch(&shape, float, Region::Sbuf);
        op.outs.push(self.read(&stage)?);
        self.emit(op)?;
        let copy = Op::new(birsim_engine::ir::Opcode::TensorCopy, Engine::Dve);
        self.emit(copy.input(self.read(&stage)?).output(self.write(res)?))
    }

    /// The access of an operand, to be changed.
    pub fn access(&self, t: &NkiTensor) -> PyResult<Access> {
        t.access(self.py, self.core, self.source)
    }
}

/// The value of an enumeration's field.
pub fn named<T: Named>(v: T) -> birsim_engine::ir::Value {
    birsim_engine::ir::Value::named(v)
}
