//! Meetings that have not taken place, for the report of a deadlock.

use super::line::{members, together};
use super::{Floor, Waiting};
use crate::world::RowId;

/// A meeting that a core waits for.
pub(in crate::cores) struct Missing {
    /// Its row.
    pub row: RowId,
    /// What it is.
    pub text: String,
    /// Members that have not come.
    pub absent: Vec<usize>,
    /// Where the members met last.
    pub last: Option<String>,
}

impl Floor {
    /// What a core waits for at meetings, row by row.
    pub fn standing(&self, core: usize) -> Vec<Missing> {
        let one = |(row, w): (&RowId, &Waiting)| {
            let members = members(&w.meeting);
            let here = |m: &u32| {
                *m == core as u32
                    || w.at.iter().any(|key| self.here.get(key).is_some_and(|h| h.iter().any(|s| s.0 == *m)))
            };
            let mut absent: Vec<usize> = members.iter().filter(|m| !here(m)).map(|m| *m as usize).collect();
            absent.sort_unstable();
            absent.dedup();
            let last = self.last.get(&together(core as u32, &members)).cloned();
            Missing { row: *row, text: w.meeting.describe(), absent, last }
        };
        self.waiting[core].iter().map(one).collect()
    }
}
