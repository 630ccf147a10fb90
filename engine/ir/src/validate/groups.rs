//! Groups of ranks and pairs of ranks (`machine.md`): what is wrong with them whatever the number of ranks.

use super::{Slot, Walk};
use crate::{Instruction, Opcode, Value};
use birsim_kernels::{Code, Error};
use hashbrown::HashSet;

impl<'m> Walk<'m> {
    /// Checks the groups and pairs of a collective.
    pub(super) fn groups(&mut self, i: &'m Instruction) {
        if !matches!(i.opcode, Opcode::CollectiveCompute | Opcode::GetCurProcessingRankID) {
            return;
        }
        if let Some(Value::Groups(groups)) = i.field("replica_groups") {
            let mut seen = HashSet::new();
            let twice = groups.iter().flatten().find(|rank| !seen.insert(**rank));
            if let Some(rank) = twice {
                let e = Error::new(Code::J016, format!("rank {rank} is listed twice")).received(text(&groups));
                self.fault(i, Slot::Key("replica_groups"), e);
            }
            self.ranks(i, "replica_groups", &groups);
        }
        if let Some(Value::Groups(pairs)) = i.field("src_target_pairs") {
            let mut targets = HashSet::new();
            for pair in &pairs {
                let what = match pair.as_slice() {
                    [_, target] if targets.insert(*target) => continue,
                    [_, target] => format!("rank {target} is the target of two pairs"),
                    _ => "a pair is [source, target]".to_string(),
                };
                self.fault(i, Slot::Key("src_target_pairs"), Error::new(Code::J016, what).received(text(&pairs)));
                break;
            }
            self.ranks(i, "src_target_pairs", &pairs);
        }
    }

    /// Ranks are numbers from 0.
    fn ranks(&mut self, i: &'m Instruction, key: &'static str, lists: &[Vec<i64>]) {
        if let Some(bad) = lists.iter().flatten().find(|rank| u32::try_from(**rank).is_err()) {
            let e = Error::new(Code::J011, "a rank is a number from 0 to 2^32 - 1").received(bad);
            self.fault(i, Slot::Key(key), e);
        }
    }
}

/// Groups as they are written.
fn text(groups: &[Vec<i64>]) -> String {
    format!("{groups:?}")
}
