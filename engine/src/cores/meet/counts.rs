//! What the collectives of a run moved.

use crate::ir::CollectiveKind;
use std::collections::BTreeMap;

/// What collectives of one kind over one group moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveCount {
    /// Kind.
    pub kind: CollectiveKind,
    /// Ranks or cores of the group.
    pub group: Vec<u32>,
    /// Meetings that took place.
    pub count: u64,
    /// Bytes that the members brought.
    pub bytes: u64,
}

/// Meetings and bytes, by kind and group.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<(u8, Vec<u32>), (u64, u64)>);

impl Counts {
    /// Counts a meeting.
    pub fn add(&mut self, kind: CollectiveKind, group: Vec<u32>, bytes: u64) {
        let entry = self.0.entry((birsim_kernels::Named::ordinal(kind), group)).or_default();
        entry.0 += 1;
        entry.1 += bytes;
    }

    /// What was counted so far.
    pub fn list(&self) -> Vec<CollectiveCount> {
        let one = |((kind, group), (count, bytes)): (&(u8, Vec<u32>), &(u64, u64))| {
            let kind = birsim_kernels::Named::from_ordinal(*kind)?;
            Some(CollectiveCount { kind, group: group.clone(), count: *count, bytes: *bytes })
        };
        self.0.iter().filter_map(one).collect()
    }
}
