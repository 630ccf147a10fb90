//! The rows of the opcode table, one file per family.

pub mod elementwise;

use super::Row;

/// Every family's rows.
pub static FAMILIES: &[&[Row]] = &[elementwise::ROWS];
