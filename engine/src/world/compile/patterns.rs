//! Access patterns, each kept once: a large program repeats few of them, and one takes some hundred bytes.

use crate::world::PatternId;
use birsim_kernels::access::Pattern;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash, Hasher};

/// Finds patterns of the program by what they address.
#[derive(Default)]
pub(in crate::world) struct SharedPatterns {
    table: HashTable<PatternId>,
    hashes: DefaultHashBuilder,
}

impl SharedPatterns {
    /// The number of a pattern among those kept; a new one is added to them.
    pub(in crate::world) fn number(&mut self, pattern: Pattern, kept: &mut Vec<Pattern>) -> PatternId {
        let next = PatternId::of(kept.len());
        if pattern.offsets().is_some() {
            kept.push(pattern);
            return next;
        }
        let hash = hash(&self.hashes, &pattern);
        if let Some(same) = self.table.find(hash, |id| same(&kept[id.at()], &pattern)) {
            return *same;
        }
        self.table.insert_unique(hash, next, |id| self::hash(&self.hashes, &kept[id.at()]));
        kept.push(pattern);
        next
    }
}

/// Both address the same elements in the same order.
fn same(a: &Pattern, b: &Pattern) -> bool {
    a.base() == b.base() && a.dtype() == b.dtype() && a.pairs() == b.pairs() && a.offsets().is_none()
}

fn hash(hashes: &DefaultHashBuilder, pattern: &Pattern) -> u64 {
    let mut hasher = hashes.build_hasher();
    (pattern.base(), pattern.dtype() as u8).hash(&mut hasher);
    pattern.pairs().iter().for_each(|p| (p.stride, p.num).hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_kernels::Dtype;
    use birsim_kernels::access::Pair;

    #[test]
    fn equal_patterns_have_one_number() {
        let (mut shared, mut kept) = (SharedPatterns::default(), Vec::new());
        let rows = |n| [Pair { stride: 64, num: 4 }, Pair { stride: 4, num: n }];
        let mut number = |dtype, base, n| shared.number(Pattern::new(dtype, base, &rows(n)).unwrap(), &mut kept);
        let first = number(Dtype::Float32, 8, 2);
        assert_ne!(first, number(Dtype::Int32, 8, 2));
        assert_ne!(first, number(Dtype::Float32, 12, 2));
        assert_ne!(first, number(Dtype::Float32, 8, 3));
        assert_eq!(first, number(Dtype::Float32, 8, 2));
        assert_eq!(kept.len(), 4);
    }
}
