//! Where instructions of a front end come from: files and lines, shared by all cores and by the thread that traces.

use std::sync::{Arc, Mutex, PoisonError};

/// A line of the user's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// The table of source lines. Handles share one table, so that a front end can add lines while the engine runs on
/// another thread. It is locked to add a line and to print one, never while instructions run.
#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<Mutex<Vec<Line>>>);

/// File and line.
type Line = (Arc<str>, u32);

impl Sources {
    /// Adds a line, also when the table has it already: a caller with a cheap key, such as a code object, keeps the id.
    pub fn add(&self, file: impl Into<Arc<str>>, line: u32) -> SourceId {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.push((file.into(), line));
        SourceId(u32::try_from(table.len() - 1).unwrap_or(u32::MAX))
    }

    /// File and line.
    pub fn get(&self, id: SourceId) -> Option<Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id.0 as usize).cloned()
    }

    /// `file:line`, when the id is in the table.
    pub fn text(&self, id: SourceId) -> Option<String> {
        self.get(id).map(|(file, line)| format!("{file}:{line}"))
    }
}
