//! Own keys of an instruction: as written, or as what its opcode prepared from them.

use super::expr::Ex;
use super::{FieldValue, OperandRange, Opnd, Program, Resolved, Scalars};
use crate::ir::{Engine, Keys, MemoryType, Opcode, Value, When};
use crate::target::Target;
use crate::{Code, Error, Result};
use birsim_kernels::{Dtype, Profile};
use std::any::Any;
use std::cell::Cell;
use std::fmt;

/// Own keys of an instruction.
pub enum Own {
    /// What the opcode prepared: the parameters of its kernel.
    Ready(Ready),
    /// As written, in the order of the row, because a value depends on the run or is refused. They are prepared at every
    /// execution.
    Keys(Box<[FieldValue]>),
}

/// Prepared parameters, of a type that only the opcode's own code knows. Without parameters nothing is allocated.
pub type Ready = Box<dyn Any + Send + Sync>;

/// Prepares the parameters of an instruction from what is known about it.
pub type Prepare = fn(&Draft) -> Result<Ready>;

impl Own {
    /// What `prepare` makes of an instruction. `None` when that depends on the run or is refused; the run then raises the
    /// error.
    pub fn of(draft: &Draft, open: bool, prepare: Prepare) -> Option<Own> {
        if open { None } else { prepare(draft).ok().map(Own::Ready) }
    }

    /// The prepared parameters, when they are ready.
    pub fn get<P: 'static>(&self) -> Option<&P> {
        match self {
            Own::Ready(ready) => ready.downcast_ref(),
            Own::Keys(_) => None,
        }
    }

    /// The keys as written, when they still depend on the run.
    pub fn keys(&self) -> &[FieldValue] {
        match self {
            Own::Ready(_) => &[],
            Own::Keys(fields) => fields,
        }
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Own::Ready(_) => f.write_str("ready"),
            Own::Keys(fields) => fields.fmt(f),
        }
    }
}

/// The error of an operand that is not there, or not a tensor.
pub fn missing(opcode: Opcode, role: &str, k: usize) -> Error {
    Error::new(Code::J009, format!("{opcode} needs a tensor operand here")).operand(format!("{role}[{k}]"))
}

/// An instruction as its opcode prepares it: when the program is loaded, or right before it runs.
pub struct Draft<'a> {
    /// InstructionType.
    pub opcode: Opcode,
    /// Engine.
    pub engine: Engine,
    /// A matmul that decides by the accumulate marks alone, whatever its flag says.
    pub auto_accumulate: bool,
    /// Own keys, in the order of the row.
    pub fields: &'a [FieldValue],
    /// Operands, in the program's table.
    pub operands: OperandRange,
    /// The program, as far as it is compiled.
    pub program: &'a Program,
    /// Choices of numerics.
    pub profile: &'a Profile,
    /// Machine the program runs on.
    pub target: Target,
    /// What is known when the instruction runs; `None` when the program is loaded.
    pub now: Option<Now<'a>>,
    /// Something was asked for that depends on the run.
    pub waits: Cell<bool>,
}

/// What is known when an instruction runs.
pub struct Now<'a> {
    /// Registers and loop axes.
    pub scalars: Scalars<'a>,
    /// Its dynamic operands.
    pub dynamic: &'a [Resolved],
}

impl Draft<'_> {
    fn value_of(&self, k: usize, e: &Ex) -> Result<i64> {
        match (&self.now, e.as_const()) {
            (Some(now), _) => e.eval(&now.scalars),
            (None, Some(v)) => Ok(v),
            (None, None) => {
                self.waits.set(true);
                Err(self.error(k, "depends on the run"))
            }
        }
    }

    /// Number of inputs.
    pub fn n_ins(&self) -> usize {
        self.operands.ins as usize
    }

    /// Number of outputs.
    pub fn n_outs(&self) -> usize {
        self.operands.outs as usize
    }

    /// Inputs.
    pub fn ins(&self) -> &[Opnd] {
        &self.program.operands[self.operands.first as usize..][..self.n_ins()]
    }

    /// Outputs.
    pub fn outs(&self) -> &[Opnd] {
        &self.program.operands[self.operands.first as usize + self.n_ins()..][..self.n_outs()]
    }

    /// Number of elements of operand `k`, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    pub fn elements(&self, k: usize) -> Result<Option<u64>> {
        Ok(match self.operand(k) {
            Some(Opnd::Static { pattern, .. }) => Some(self.program.patterns[*pattern].len() as u64),
            Some(Opnd::Dynamic(spec)) => {
                Some(spec.ap.iter().fold(1, |n: u64, p| n.saturating_mul(p.num.unsigned_abs())))
            }
            Some(Opnd::Faulty(e)) => return Err((**e).clone()),
            _ => None,
        })
    }

    /// Operand `k`, counted over ins, outs, indirection_ins.
    pub fn operand(&self, k: usize) -> Option<&Opnd> {
        let r = self.operands;
        let all = (r.ins + r.outs + r.indirect) as usize;
        if k < all { self.program.operands.get(r.first as usize + k) } else { None }
    }

    /// Element type of output `k`, which is a tensor.
    pub fn out_dtype(&self, k: usize) -> Result<Dtype> {
        match self.operand(self.n_ins() + k) {
            Some(Opnd::Static { pattern, .. }) => Ok(self.program.patterns[*pattern].dtype()),
            Some(Opnd::Dynamic(spec)) => Ok(spec.dtype),
            Some(Opnd::Faulty(e)) => Err((**e).clone()),
            _ => Err(missing(self.opcode, "outs", k)),
        }
    }

    /// Memory that operand `k` is in, counted over ins, outs, indirection_ins; `None` when it is not a tensor.
    pub fn memory(&self, k: usize) -> Result<Option<MemoryType>> {
        let location = match self.operand(k) {
            Some(Opnd::Static { loc, .. }) => *loc,
            Some(Opnd::Dynamic(_)) => match &self.now {
                Some(now) => match now.dynamic.iter().find(|d| d.operand == k) {
                    Some(found) => found.loc,
                    None => return Ok(None),
                },
                None => {
                    self.waits.set(true);
                    return Err(Error::new(Code::B001, "the place of an operand depends on the run"));
                }
            },
            Some(Opnd::Faulty(e)) => return Err((**e).clone()),
            _ => return Ok(None),
        };
        Ok(Some(self.program.locations[location].ty))
    }

    /// Some tensor operand is in PSUM.
    pub fn any_in_psum(&self) -> Result<bool> {
        for k in 0..self.n_ins() + self.n_outs() {
            if self.memory(k)? == Some(MemoryType::Psum) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The instruction says that it may read memory that nothing wrote.
    pub fn reads_uninit(&self) -> bool {
        let field = self.opcode.row().field_index("can_read_uninit");
        field.is_some_and(|k| matches!(self.fields[k], FieldValue::Int(1)))
    }

    /// All conditions on own keys are met.
    pub fn met(&self, conditions: &[When]) -> Result<bool> {
        for c in conditions {
            let value = match (c, self.opcode.row().field_index(c.key())) {
                (When::Outs(_), _) => self.n_outs() as i64,
                (_, Some(k)) => self.int(k)?.unwrap_or(0),
                (_, None) => 0,
            };
            if !c.meets(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Keys for Draft<'_> {
    fn int(&self, k: usize) -> Result<Option<i64>> {
        match &self.fields[k] {
            FieldValue::Absent => Ok(None),
            FieldValue::Int(v) => Ok(Some(*v)),
            FieldValue::Float(x) if x.fract() == 0.0 && x.abs() < 9e18 => Ok(Some(*x as i64)),
            FieldValue::Ex(e) => self.value_of(k, e).map(Some),
            _ => Err(self.error(k, "is not an integer")),
        }
    }

    fn float(&self, k: usize) -> Result<Option<f64>> {
        match &self.fields[k] {
            FieldValue::Float(x) => Ok(Some(*x)),
            _ => Ok(self.int(k)?.map(|v| v as f64)),
        }
    }

    fn ints(&self, k: usize) -> Result<Option<Box<[i64]>>> {
        match &self.fields[k] {
            FieldValue::Absent => Ok(None),
            FieldValue::Exs(list) => list.iter().map(|e| self.value_of(k, e)).collect::<Result<_>>().map(Some),
            _ => Err(self.error(k, "is not a list of integers")),
        }
    }

    fn value(&self, k: usize) -> Option<&Value> {
        match &self.fields[k] {
            FieldValue::Cold(v) => Some(v),
            _ => None,
        }
    }

    fn error(&self, k: usize, what: &str) -> Error {
        let key = self.opcode.row().fields.get(k).map_or("?", |f| f.key);
        Error::new(Code::J003, format!("the key {key} {what}")).operand(key)
    }
}
