//! Components as slices. All entities of a kind are one archetype in the order they were spawned, so a column of a table
//! is a slice that row, engine and location numbers index.

/// The slice of a component that is read.
macro_rules! slice {
    ($query:expr) => {
        $query.contiguous_iter().ok().and_then(|mut i| i.next()).unwrap_or_default()
    };
}

/// The table of components that are written, as optional columns; `column!` turns one into a slice.
macro_rules! table {
    ($query:expr) => {
        $query.contiguous_iter_mut().ok().and_then(|mut i| i.next())
    };
}

/// The mutable slice of a column, without change detection.
macro_rules! column {
    ($table:expr) => {
        match &mut $table {
            Some(s) => s.bypass_change_detection(),
            None => &mut [],
        }
    };
}

pub(crate) use {column, slice, table};
