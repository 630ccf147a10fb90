//! Errors that name a core of the run.

use super::agree::Difference;
use crate::sim::Core;
use crate::world::RowId;
use crate::{Code, Error};

/// A core of the run and its row.
pub(super) type Side = (u32, RowId);

/// An error of a core with the fields that name the core.
pub(super) fn placed(core: &Core, e: Error) -> Error {
    let seat = core.seat();
    e.at(|p| (p.rank, p.core) = (seat.rank_field(), seat.core_field()))
}

/// An error of a row of a core.
pub(super) fn at(cores: &[Core], e: Error, (core, row): Side) -> Error {
    let core = &cores[core as usize];
    placed(core, core.locate(e, row))
}

/// The fault of two members that do not agree.
pub(super) fn disagree(cores: &[Core], what: &str, d: &Difference, sides: [Side; 2]) -> Error {
    let text = |k: usize| {
        let core = &cores[sides[k].0 as usize];
        format!("{} at {} on {}", d.values[k], core.row_text(sides[k].1), core.seat().name())
    };
    let e = Error::new(Code::S008, format!("the members of {what} disagree on {}", d.what))
        .received(format!("{}; {}", text(0), text(1)))
        .operand(&d.key);
    at(cores, e, sides[1])
}
