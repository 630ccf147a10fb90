//! Where a core sits: in its rank, and in the run.
//!
//! Barriers, shared tensors, remote semaphores and local collectives name the cores of a rank; other collectives and
//! messages name ranks, and core i of a rank meets core i of the others. Without ranks, all cores are one logical core and
//! core ids serve as ranks.

/// The place of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Number of the core in the run.
    pub id: u32,
    /// Its number in its rank.
    pub core: u32,
    /// Cores of a rank.
    pub cores: u32,
    /// Its rank.
    pub rank: u32,
    /// Ranks of the run.
    pub ranks: u32,
    /// Ranks and cores have numbers of their own.
    pub apart: bool,
}

impl Seat {
    /// Core `core` of `cores` that serve as ranks.
    pub fn plain(core: u32, cores: u32) -> Seat {
        let id = if cores > 1 { core } else { 0 };
        Seat { id, core, cores, rank: core, ranks: cores, apart: false }
    }

    /// Core `id` of a run of `ranks` ranks with `cores` cores each.
    pub fn of_rank(id: u32, cores: u32, ranks: u32) -> Seat {
        Seat { id, core: id % cores, cores, rank: id / cores, ranks, apart: true }
    }

    /// The core of the run that stands for a rank.
    pub fn of_rank_named(&self, rank: u32) -> Option<u32> {
        match rank {
            r if r == self.rank => Some(self.id),
            r if r >= self.ranks || self.ranks == 1 => None,
            r => Some(if self.apart { r * self.cores + self.core } else { r }),
        }
    }

    /// The core of the run that is a core of the own rank.
    pub fn of_core_named(&self, core: u32) -> Option<u32> {
        match core {
            c if c == self.core => Some(self.id),
            c if c >= self.cores || self.cores == 1 => None,
            c => Some(if self.apart { self.rank * self.cores + c } else { c }),
        }
    }

    /// The core as messages name it.
    pub fn name(&self) -> String {
        match (self.apart, self.cores) {
            (false, _) => format!("core {}", self.core),
            (true, 1) => format!("rank {}", self.rank),
            (true, _) => format!("rank {} core {}", self.rank, self.core),
        }
    }

    /// Rank, when ranks and cores are counted apart.
    pub fn rank_field(&self) -> Option<u32> {
        self.apart.then_some(self.rank)
    }

    /// Core number, in a run of several cores.
    pub fn core_field(&self) -> Option<u32> {
        (self.apart || self.cores > 1).then_some(self.core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d73_core_i_of_a_rank_meets_core_i_of_the_others() {
        let seat = Seat::of_rank(5, 2, 4);
        assert_eq!((seat.rank, seat.core), (2, 1));
        assert_eq!([0, 1, 2, 3, 4].map(|r| seat.of_rank_named(r)), [Some(1), Some(3), Some(5), Some(7), None]);
        assert_eq!([0, 1, 2].map(|c| seat.of_core_named(c)), [Some(4), Some(5), None]);
    }

    #[test]
    fn d73_without_ranks_core_ids_serve_as_ranks() {
        let seat = Seat::plain(1, 3);
        assert_eq!([0, 1, 2, 3].map(|r| seat.of_rank_named(r)), [Some(0), Some(1), Some(2), None]);
        assert_eq!([0, 1, 2, 3].map(|c| seat.of_core_named(c)), [Some(0), Some(1), Some(2), None]);
        let alone = Seat::plain(3, 1);
        assert_eq!([0, 3].map(|r| alone.of_rank_named(r)), [None, Some(0)]);
    }
}
