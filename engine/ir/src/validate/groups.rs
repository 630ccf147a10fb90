//! Groups of ranks and pairs of ranks (`machine.md`): what is wrong with them whatever the number of ranks.

use super::{Slot, Walk};
use crate::{Demand, Instruction, Value};
use birsim_kernels::{Code, Error};
use hashbrown::HashSet;

impl<'m> Walk<'m> {
    /// Checks the groups and pairs of ranks that the row says an instruction has.
    pub(super) fn groups(&mut self, i: &'m Instruction) {
        for demand in i.opcode.row().demands {
            match *demand {
                Demand::RankGroups(key) => self.disjoint(i, key),
                Demand::RankPairs(key) => self.pairs(i, key),
                _ => {}
            }
        }
    }

    fn disjoint(&mut self, i: &'m Instruction, key: &'static str) {
        let Some(Value::Groups(groups)) = i.field(key) else { return };
        let mut seen = HashSet::new();
        let twice = groups.iter().flatten().find(|rank| !seen.insert(**rank));
        if let Some(rank) = twice {
            let e = Error::new(Code::J016, format!("rank {rank} is listed twice")).received(text(&groups));
            self.fault(i, Slot::Key(key), e);
        }
        self.ranks(i, key, &groups);
    }

    fn pairs(&mut self, i: &'m Instruction, key: &'static str) {
        let Some(Value::Groups(pairs)) = i.field(key) else { return };
        let mut targets = HashSet::new();
        for pair in &pairs {
            let what = match pair.as_slice() {
                [_, target] if targets.insert(*target) => continue,
                [_, target] => format!("rank {target} is the target of two pairs"),
                _ => "a pair is [source, target]".to_string(),
            };
            self.fault(i, Slot::Key(key), Error::new(Code::J016, what).received(text(&pairs)));
            break;
        }
        self.ranks(i, key, &pairs);
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
