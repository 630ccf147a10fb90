//! Register files: reading, writing, and the values that expressions see.

use super::expr::Env;
use super::spawn::engine_index;
use super::{AxisId, Induction, RegRef, RegisterFile};
use crate::{Code, Error, Result};

/// Register values as expressions and branches see them.
pub struct Scalars<'a> {
    /// Register files, by engine.
    pub registers: &'a [RegisterFile],
    /// Loop axes.
    pub induction: &'a [Induction],
    /// Where the core sits.
    pub seat: super::Seat,
}

impl Env for Scalars<'_> {
    fn axis(&self, axis: AxisId) -> Result<i64> {
        match self.induction.get(axis.at()) {
            Some(i) if i.live => Ok(i.value),
            _ => Err(Error::new(Code::B001, "an axis is used outside its loop").received(axis)),
        }
    }

    fn register(&self, reg: RegRef) -> Result<i64> {
        Ok(read_register(self.registers, reg))
    }

    fn core(&self) -> i64 {
        i64::from(self.seat.core)
    }

    fn rank(&self) -> i64 {
        i64::from(self.seat.rank)
    }
}

/// Value of a register, extended to 64 bits by its signedness.
pub fn read_register(files: &[RegisterFile], reg: RegRef) -> i64 {
    let file = &files[engine_index(reg.engine)];
    let raw = if reg.physical {
        let lo = u64::from(file.physical[reg.slot as usize]);
        let hi = if reg.wide { u64::from(file.physical[reg.slot as usize + 1]) } else { 0 };
        lo | hi << 32
    } else {
        file.symbolic[reg.slot as usize]
    };
    match (reg.wide, reg.signed) {
        (true, _) => raw as i64,
        (false, true) => i64::from(raw as u32 as i32),
        (false, false) => i64::from(raw as u32),
    }
}

/// Stores a register value, cut to the register's width.
pub fn write_register(files: &mut [RegisterFile], reg: RegRef, value: u64) {
    let file = &mut files[engine_index(reg.engine)];
    if reg.physical {
        file.physical[reg.slot as usize] = value as u32;
        if reg.wide {
            file.physical[reg.slot as usize + 1] = (value >> 32) as u32;
        }
    } else {
        file.symbolic[reg.slot as usize] = if reg.wide { value } else { value & 0xFFFF_FFFF };
    }
}
