//! What cores wrote to a shared tensor becomes what all of them see.

use super::shared::Shared;
use crate::Result;
use crate::memory::Common;
use crate::memory::arena::LAZY_FROM;
use crate::sim::Core;
use crate::world::{Diagnostic, Remark};
use std::collections::BTreeMap;

/// What a core wrote of a tensor in a round.
struct Wrote {
    core: usize,
    location: usize,
    /// First bytes and ends, in order.
    runs: Vec<(usize, usize)>,
}

impl Shared {
    /// Merges what the cores wrote.
    pub fn merge(&mut self, cores: &mut [Core]) -> Result<()> {
        let mut written = Vec::new();
        for (core, location) in self.copies.iter().copied() {
            let runs = cores[core].written_runs(location)?;
            if !runs.is_empty() {
                written.push(Wrote { core, location, runs });
            }
        }
        for race in races(&written) {
            let [low, high] = [race.cores[0], race.cores[1]].map(|id| cores[id].seat().core);
            let message = format!(
                "cores {low} and {high} write byte {} of {} without a barrier between them; core {high} wins",
                race.byte, self.name
            );
            let d = Diagnostic::warning(Remark::CoreRace, message).of(self.name.clone());
            cores[race.cores[1]].remark(d);
        }
        if self.common.is_some() {
            return self.take_over(cores, &written);
        }
        match written.is_empty() {
            true => Ok(()),
            false if self.is_large(cores)? => self.begin(cores, &written),
            false => self.copy(cores, &written),
        }
    }

    /// One storage pays.
    fn is_large(&self, cores: &[Core]) -> Result<bool> {
        for (core, at) in &self.copies {
            if cores[*core].place(*at)?.bytes() < LAZY_FROM as u64 || !cores[*core].sees_whole(*at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes one storage of the copies, which differ in nothing but what was written in this round.
    fn begin(&mut self, cores: &mut [Core], written: &[Wrote]) -> Result<()> {
        let Some((core, at)) = self.copies.first().copied() else { return Ok(()) };
        let Some(mut common) = cores[core].new_common(at)? else { return self.copy(cores, written) };
        let mut fresh = cores[core].copy_present(at, &mut common)?;
        fresh += put(cores, written, &mut common)?;
        for (core, at) in &self.copies {
            cores[*core].see(*at, common.view()?)?;
        }
        self.common = Some(common);
        cores[core].account(fresh)?;
        self.initialised(cores, written)
    }

    /// Takes what the cores wrote over into the storage.
    fn take_over(&mut self, cores: &mut [Core], written: &[Wrote]) -> Result<()> {
        let (Some(common), Some((first, _))) = (&mut self.common, self.copies.first()) else { return Ok(()) };
        let fresh = put(cores, written, common)?;
        cores[*first].account(fresh)?;
        for (core, at) in &self.copies {
            let others = written.iter().filter(|w| w.core != *core || written.len() > 1);
            cores[*core].settle(*at, common, others.flat_map(|w| w.runs.iter().copied()))?;
        }
        self.initialised(cores, written)
    }

    /// Bytes that one core wrote are initialised on all.
    fn initialised(&self, cores: &mut [Core], written: &[Wrote]) -> Result<()> {
        for (core, at) in &self.copies {
            for w in written.iter().filter(|w| w.core != *core) {
                w.runs.iter().try_for_each(|(lo, hi)| cores[*core].note_initialised(*at, *lo, *hi))?;
            }
        }
        Ok(())
    }

    /// Copies what cores wrote to the copies of the others.
    fn copy(&self, cores: &mut [Core], written: &[Wrote]) -> Result<()> {
        let mut contents = Vec::new();
        for Wrote { core, location, runs } in written {
            for (lo, hi) in runs {
                let mut bytes = vec![0; hi - lo];
                cores[*core].read_at(*location, *lo, &mut bytes)?;
                contents.push((*core, *lo, bytes));
            }
        }
        for (core, at) in self.copies.iter().copied() {
            // The last writer's own copy is right as far as it wrote; earlier writes never go over later ones.
            for (writer, lo, bytes) in &contents {
                if *writer != core || written.len() > 1 {
                    cores[core].write_at(at, *lo, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the first bytes for all cores.
    pub fn bind(&mut self, cores: &mut [Core], bytes: &[u8]) -> Result<()> {
        let (Some(common), Some((first, at))) = (&mut self.common, self.copies.first().copied()) else {
            return self.copies.iter().try_for_each(|(core, at)| cores[*core].write(*at, bytes));
        };
        cores[first].check_size(at, bytes.len())?;
        let mut fresh = 0;
        common.write(0, bytes, &mut |n| {
            fresh += n;
            Ok(())
        })?;
        cores[first].account(fresh)?;
        for (core, at) in &self.copies {
            cores[*core].settle(*at, common, std::iter::once((0, bytes.len())))?;
            cores[*core].note_initialised(*at, 0, bytes.len())?;
        }
        Ok(())
    }
}

/// Writes into a storage what cores wrote, in core order. Returns how many bytes of it were touched.
fn put(cores: &[Core], written: &[Wrote], common: &mut Common) -> Result<u64> {
    let mut fresh = 0;
    for Wrote { core, location, runs } in written {
        for (lo, hi) in runs {
            let bytes = cores[*core].bytes_at(*location, *lo, *hi)?;
            common.write(*lo, &bytes, &mut |n| {
                fresh += n;
                Ok(())
            })?;
        }
    }
    Ok(fresh)
}

/// Two cores that wrote one byte, and the first such byte.
struct Race {
    cores: [usize; 2],
    byte: usize,
}

/// For every core, the first byte that it and a lower one wrote, each pair once.
fn races(written: &[Wrote]) -> Vec<Race> {
    let mut out: Vec<Race> = Vec::new();
    // Runs of the cores so far: first byte, end and core; later writers take over.
    let mut owner: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for Wrote { core, runs, .. } in written {
        let mut told = None;
        for (lo, hi) in runs {
            let start = owner.range(..=lo).next_back().filter(|(_, (end, _))| end > lo).map_or(*lo, |(at, _)| *at);
            if told.is_none()
                && let Some((at, (_, other))) = owner.range(start..*hi).find(|(_, (_, other))| other != core)
            {
                told = Some(Race { cores: [*other, *core], byte: (*at).max(*lo) });
            }
            cut(&mut owner, *lo, *hi);
            owner.insert(*lo, (*hi, *core));
        }
        out.extend(told);
    }
    out
}

/// Takes [lo, hi) out of the runs.
fn cut(owner: &mut BTreeMap<usize, (usize, usize)>, lo: usize, hi: usize) {
    if let Some((at, (end, core))) = owner.range(..lo).next_back().map(|(a, e)| (*a, *e)).filter(|(_, e)| e.0 > lo) {
        owner.insert(at, (lo, core));
        if end > hi {
            owner.insert(hi, (end, core));
        }
    }
    let inside: Vec<usize> = owner.range(lo..hi).map(|(at, _)| *at).collect();
    for at in inside {
        if let Some((end, core)) = owner.remove(&at).filter(|(end, _)| *end > hi) {
            owner.insert(hi, (end, core));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(core: usize, runs: &[(usize, usize)]) -> Wrote {
        Wrote { core, location: 0, runs: runs.iter().map(|(lo, n)| (*lo, lo + n)).collect() }
    }

    #[test]
    fn d72_the_first_byte_that_two_cores_wrote_is_found() {
        let found = |list: &[Wrote]| -> Vec<(usize, usize, usize)> {
            races(list).iter().map(|r| (r.cores[0], r.cores[1], r.byte)).collect()
        };
        assert_eq!(found(&[wrote(0, &[(0, 4)]), wrote(1, &[(4, 4)])]), []);
        assert_eq!(found(&[wrote(0, &[(0, 8)]), wrote(1, &[(6, 1)])]), [(0, 1, 6)]);
        assert_eq!(found(&[wrote(0, &[(5, 8)]), wrote(2, &[(0, 100)])]), [(0, 2, 5)]);
        // Core 2 meets what is left of core 0, not what core 1 has taken over.
        let three = [wrote(0, &[(0, 10)]), wrote(1, &[(2, 2)]), wrote(2, &[(3, 1), (8, 4)])];
        assert_eq!(found(&three), [(0, 1, 2), (1, 2, 3)]);
    }
}
