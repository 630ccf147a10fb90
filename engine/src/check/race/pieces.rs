//! Records of what happened to ranges of bytes: neighbouring bytes with the same record are one piece.

use std::collections::BTreeMap;

/// The pieces of an arena or a tensor, by first byte; each with its end and its record.
#[derive(Clone, Debug)]
pub(super) struct Pieces<R>(BTreeMap<usize, (usize, R)>);

impl<R> Default for Pieces<R> {
    fn default() -> Self {
        Pieces(BTreeMap::new())
    }
}

impl<R: Clone + Default> Pieces<R> {
    /// Pieces that have bytes of [lo, hi): first byte, end, record.
    pub fn over(&self, lo: usize, hi: usize) -> impl Iterator<Item = (usize, usize, &R)> {
        let start = self.0.range(..=lo).next_back().filter(|(_, (end, _))| *end > lo).map_or(lo, |(from, _)| *from);
        self.0.range(start..hi).map(|(from, (end, record))| (*from, *end, record))
    }

    /// Forgets everything when there are more than `most` pieces, so that memory stays bounded.
    pub fn bound(&mut self, most: usize) {
        if self.0.len() > most {
            self.0.clear();
        }
    }

    /// Makes [lo, hi) one piece with this record.
    pub fn replace(&mut self, lo: usize, hi: usize, record: R) {
        self.cut(lo);
        self.cut(hi);
        let inside: Vec<usize> = self.0.range(lo..hi).map(|(from, _)| *from).collect();
        inside.iter().for_each(|from| _ = self.0.remove(from));
        self.0.insert(lo, (hi, record));
    }

    /// Changes the records of all bytes of [lo, hi). Bytes that no piece has get an empty one first.
    pub fn change(&mut self, lo: usize, hi: usize, mut f: impl FnMut(&mut R)) {
        self.cut(lo);
        self.cut(hi);
        let mut at = lo;
        while at < hi {
            at = match self.0.range_mut(at..hi).next() {
                Some((from, (end, record))) if *from == at => {
                    f(record);
                    *end
                }
                next => {
                    let end = next.map_or(hi, |(from, _)| *from);
                    let mut record = R::default();
                    f(&mut record);
                    self.0.insert(at, (end, record));
                    end
                }
            };
        }
    }

    /// Splits the piece that contains `at`, if there is one.
    fn cut(&mut self, at: usize) {
        let Some((_, piece)) = self.0.range_mut(..at).next_back().filter(|(_, (end, _))| *end > at) else { return };
        let rest = piece.clone();
        piece.0 = at;
        self.0.insert(at, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(p: &Pieces<Vec<u8>>) -> Vec<(usize, usize, Vec<u8>)> {
        p.over(0, 100).map(|(lo, hi, r)| (lo, hi, r.clone())).collect()
    }

    #[test]
    fn changes_split_pieces_and_fill_gaps() {
        let mut p = Pieces::default();
        p.replace(10, 20, vec![1]);
        p.change(5, 15, |r| r.push(2));
        assert_eq!(all(&p), [(5, 10, vec![2]), (10, 15, vec![1, 2]), (15, 20, vec![1])]);
        assert_eq!(p.over(12, 13).count(), 1);
        assert_eq!(p.over(20, 30).count(), 0);
        p.replace(8, 12, vec![3]);
        assert_eq!(all(&p), [(5, 8, vec![2]), (8, 12, vec![3]), (12, 15, vec![1, 2]), (15, 20, vec![1])]);
        p.bound(3);
        assert_eq!(all(&p), []);
    }
}
