//! Fields as values, evaluated in the current environment.

use super::Cx;
use crate::ir::When;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Named;

impl<'w> Cx<'_, 'w> {
    fn field_error(&self, k: usize, what: &str) -> Error {
        let key = self.inst.opcode.row().fields.get(k).map_or("?", |f| f.key);
        Error::new(Code::J003, format!("the key {key} {what}")).operand(key)
    }

    /// Integer field.
    pub fn int(&self, k: usize) -> Result<i64> {
        self.int_opt(k)?.ok_or_else(|| self.field_error(k, "is missing"))
    }

    /// Integer field that may be absent.
    pub fn int_opt(&self, k: usize) -> Result<Option<i64>> {
        Ok(match &self.inst.fields[k] {
            FieldValue::Absent => None,
            FieldValue::Int(v) => Some(*v),
            FieldValue::Float(x) if x.fract() == 0.0 && x.abs() < 9e18 => Some(*x as i64),
            FieldValue::Ex(e) => Some(self.eval(e)?),
            _ => return Err(self.field_error(k, "is not an integer")),
        })
    }

    /// Flag field; absent means false.
    pub fn flag(&self, k: usize) -> Result<bool> {
        Ok(self.int_opt(k)?.unwrap_or(0) != 0)
    }

    /// Float field.
    pub fn float(&self, k: usize) -> Result<f64> {
        match &self.inst.fields[k] {
            FieldValue::Float(x) => Ok(*x),
            _ => self.int(k).map(|i| i as f64),
        }
    }

    /// Enumeration field.
    pub fn named<T: Named>(&self, k: usize) -> Result<T> {
        self.named_opt(k)?.ok_or_else(|| self.field_error(k, "is missing"))
    }

    /// Enumeration field that may be absent.
    pub fn named_opt<T: Named>(&self, k: usize) -> Result<Option<T>> {
        match self.int_opt(k)? {
            None => Ok(None),
            Some(v) => u8::try_from(v)
                .ok()
                .and_then(T::from_ordinal)
                .map(Some)
                .ok_or_else(|| self.field_error(k, "has no such value").received(v)),
        }
    }

    /// All conditions on own keys are met.
    pub fn met(&self, conditions: &[When]) -> Result<bool> {
        for c in conditions {
            let value = match self.inst.opcode.row().field_index(c.key()) {
                Some(k) => self.int_opt(k)?.unwrap_or(0),
                None => 0,
            };
            if !c.meets(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// List of integers, evaluated; empty when absent.
    pub fn ints(&self, k: usize) -> Result<Vec<i64>> {
        match &self.inst.fields[k] {
            FieldValue::Exs(list) => list.iter().map(|e| self.eval(e)).collect(),
            FieldValue::Absent => Ok(Vec::new()),
            _ => Err(self.field_error(k, "is not a list of integers")),
        }
    }

    /// A pair of integers, when there is one.
    pub fn pair_opt(&self, k: usize) -> Result<Option<[i64; 2]>> {
        match &self.inst.fields[k] {
            FieldValue::Absent => Ok(None),
            FieldValue::Exs(list) => match list.as_ref() {
                [a, b] => Ok(Some([self.eval(a)?, self.eval(b)?])),
                _ => Err(self.field_error(k, "is not a pair of integers")),
            },
            _ => Err(self.field_error(k, "is not a pair of integers")),
        }
    }

    /// Any other field, as in the module.
    pub fn cold(&self, k: usize) -> Option<&'w crate::ir::Value> {
        match &self.inst.fields[k] {
            FieldValue::Cold(v) => Some(v),
            _ => None,
        }
    }
}
