//! Tensors that several cores of a rank see.
//!
//! Each core works on its own copy during a round and notes which bytes it writes. At the end of the round the bytes written
//! go to the other copies, in core order, whether their values changed or not: of two cores that write one byte, the higher
//! wins, and that is always told.

use crate::sim::Core;
use crate::world::{Diagnostic, Remark};
use crate::{Code, Error, Result};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The copies of one tensor.
struct Shared {
    name: String,
    /// (core, location) of every copy, in core order.
    copies: Vec<(usize, usize)>,
}

/// The shared tensors of a rank.
#[derive(Default)]
pub(crate) struct SharedMemory {
    tensors: Vec<Shared>,
    of_copy: HashMap<(usize, usize), usize>,
}

/// Bytes of a tensor that a core wrote: first byte, inside the tensor, and contents.
type Written = Vec<(usize, Vec<u8>)>;

impl SharedMemory {
    /// Finds the tensors that are declared shared and that more than one core has. `first` is the number of the rank's first
    /// core in the run.
    pub(super) fn new(cores: &mut [Core], first: usize) -> Result<Self> {
        let mut names: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
        let mut order: Vec<&str> = Vec::new();
        for (id, core) in cores.iter().enumerate() {
            for (at, t) in core.tensors().iter().enumerate() {
                if t.shared && core.find(&t.name) == Some(at) {
                    let copies = names.entry(&t.name).or_default();
                    if copies.is_empty() {
                        order.push(&t.name);
                    }
                    copies.push((first + id, at));
                }
            }
        }
        let mut tensors = Vec::new();
        for name in order {
            let copies = names.remove(name).unwrap_or_default();
            if let [head, rest @ ..] = copies.as_slice()
                && !rest.is_empty()
            {
                alike(cores, first, name, *head, rest)?;
                tensors.push(Shared { name: name.to_owned(), copies });
            }
        }
        windows(cores, first, &mut tensors)?;
        for (core, at) in tensors.iter().flat_map(|t| &t.copies) {
            cores[core - first].note_writes(*at)?;
        }
        let mut this = SharedMemory { tensors, of_copy: HashMap::new() };
        this.index();
        Ok(this)
    }

    /// The tensor that a location is a copy of.
    pub(super) fn tensor_of(&self, copy: (usize, usize)) -> Option<usize> {
        self.of_copy.get(&copy).copied()
    }

    /// Name of a tensor.
    pub(super) fn name_of(&self, tensor: usize) -> &str {
        &self.tensors[tensor].name
    }

    fn index(&mut self) {
        self.of_copy.clear();
        for (k, t) in self.tensors.iter().enumerate() {
            self.of_copy.extend(t.copies.iter().map(|c| (*c, k)));
        }
    }

    /// Adds a copy of the tensor with this key; it takes over what the other copies hold.
    pub(crate) fn join(&mut self, cores: &mut [Core], key: &str, copy: (usize, usize)) -> Result<()> {
        // A location that was released may have been a copy of another tensor.
        self.tensors.iter_mut().for_each(|t| t.copies.retain(|c| *c != copy));
        cores[copy.0].note_writes(copy.1)?;
        let Some(shared) = self.tensors.iter_mut().find(|t| t.name == key) else {
            self.tensors.push(Shared { name: key.to_string(), copies: vec![copy] });
            self.index();
            return Ok(());
        };
        if let Some((first, at)) = shared.copies.first().copied() {
            let place = cores[first].place(at)?;
            if cores[first].arena(&place)?.touched() > 0 {
                let bytes = cores[first].read(at, place.bytes() as usize)?;
                cores[copy.0].write(copy.1, &bytes)?;
            }
        }
        shared.copies.push(copy);
        shared.copies.sort_unstable();
        self.index();
        Ok(())
    }

    /// Writes the first bytes of all copies of what a location is a copy of. False when it is none.
    pub(crate) fn bind(&mut self, cores: &mut [Core], copy: (usize, usize), bytes: &[u8]) -> Result<bool> {
        let Some(shared) = self.tensors.iter_mut().find(|t| t.copies.contains(&copy)) else { return Ok(false) };
        for (core, at) in &shared.copies {
            cores[*core].write(*at, bytes)?;
        }
        Ok(true)
    }

    /// Merges what the cores wrote in this round; `ran` are those that ran.
    pub(super) fn merge(&mut self, cores: &mut [Core], ran: &[bool]) -> Result<()> {
        if self.tensors.iter().all(|t| t.copies.iter().all(|(core, _)| !ran[*core])) {
            return Ok(());
        }
        for Shared { name, copies } in &self.tensors {
            let mut written: Vec<(usize, Written)> = Vec::new();
            let mut sources = Vec::new();
            for (core, at) in copies.iter().copied().filter(|(core, _)| ran[*core]) {
                let mut list = Written::new();
                for (lo, hi) in cores[core].written_runs(at)? {
                    let mut bytes = vec![0; hi - lo];
                    cores[core].read_at(at, lo, &mut bytes)?;
                    list.push((lo, bytes));
                }
                if !list.is_empty() {
                    written.push((core, list));
                    sources.push((core, at));
                }
            }
            for race in races(&written) {
                let [low, high] = [race.cores[0], race.cores[1]].map(|id| cores[id].seat().core);
                let message = format!(
                    "cores {low} and {high} write byte {} of {name} without a barrier between them; core {high} wins",
                    race.byte
                );
                let d = Diagnostic::warning(Remark::CoreRace, message).of(name.clone());
                cores[race.cores[1]].remark(d);
            }
            for (core, at) in copies.iter().copied() {
                // The last writer's own copy is right as far as it wrote; earlier writes never go over later ones.
                for ((_, list), source) in written.iter().zip(&sources) {
                    if *source == (core, at) && written.len() == 1 {
                        continue;
                    }
                    for (offset, bytes) in list {
                        cores[core].write_at(at, *offset, bytes)?;
                    }
                }
            }
        }
        let mut cleared: Vec<(usize, usize)> = self.tensors.iter().flat_map(|t| t.copies.iter().copied()).collect();
        cleared.retain(|(core, _)| ran[*core]);
        cleared.into_iter().try_for_each(|(core, at)| cores[core].clear_marks(at))
    }
}

/// Adds the windows that cores have on tensors of other cores.
fn windows(cores: &[Core], first: usize, tensors: &mut Vec<Shared>) -> Result<()> {
    for (id, core) in cores.iter().enumerate() {
        for (at, (name, target)) in core.windows() {
            let bad = |code: Code, what: &str| {
                let e = Error::new(code, what).received(format!("[{name}, {target}]")).operand("remote_local_target");
                Err(super::faults::placed(core, e).at(|p| p.tensor = Some(core.tensors()[at].name.clone())))
            };
            let Some(owner) = cores.get(target as usize) else {
                return bad(Code::J016, "a window names a core that the rank has not");
            };
            let Some(to) = owner.find(&name) else {
                return bad(Code::J006, "a window names a tensor that the core has not");
            };
            let (own, other) = (&core.tensors()[at], &owner.tensors()[to]);
            if own.bytes != other.bytes || own.dtype != other.dtype {
                return bad(Code::J013, "a window has another size or element type than its tensor");
            }
            let (window, head) = ((first + id, at), (first + target as usize, to));
            match tensors.iter_mut().find(|t| t.copies.contains(&head)) {
                Some(t) => t.copies.push(window),
                None => tensors.push(Shared { name: name.clone(), copies: vec![head, window] }),
            }
        }
    }
    tensors.iter_mut().for_each(|t| t.copies.sort_unstable());
    Ok(())
}

/// Copies of one tensor have one shape and element type.
fn alike(cores: &[Core], first: usize, name: &str, head: (usize, usize), rest: &[(usize, usize)]) -> Result<()> {
    let info = |(core, at): (usize, usize)| &cores[core - first].tensors()[at];
    let text =
        |c: (usize, usize)| format!("{:?} of {} on {}", info(c).shape, info(c).dtype, cores[c.0 - first].seat().name());
    let same = |c: &&(usize, usize)| {
        let (a, b) = (info(head), info(**c));
        a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes
    };
    match rest.iter().find(|c| !same(c)) {
        None => Ok(()),
        Some(other) => Err(Error::new(
            Code::J013,
            format!("the shared tensor {name} has another shape or element type on another core"),
        )
        .received(format!("{}; {}", text(head), text(*other)))
        .at(|p| p.tensor = Some(name.to_owned()))),
    }
}

/// Two cores that wrote one byte, and the first such byte.
struct Race {
    cores: [usize; 2],
    byte: usize,
}

/// For every core, the first byte that it and a lower one wrote, each pair once.
fn races(written: &[(usize, Written)]) -> Vec<Race> {
    let mut out: Vec<Race> = Vec::new();
    // Runs of the cores so far: first byte, end and core; later writers take over.
    let mut owner: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (core, list) in written {
        let mut told = None;
        for (lo, bytes) in list {
            let hi = lo + bytes.len();
            let start = owner.range(..=lo).next_back().filter(|(_, (end, _))| end > lo).map_or(*lo, |(at, _)| *at);
            if told.is_none()
                && let Some((at, (_, other))) = owner.range(start..hi).find(|(_, (_, other))| other != core)
            {
                told = Some(Race { cores: [*other, *core], byte: (*at).max(*lo) });
            }
            cut(&mut owner, *lo, hi);
            owner.insert(*lo, (hi, *core));
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

    fn wrote(core: usize, runs: &[(usize, usize)]) -> (usize, Written) {
        (core, runs.iter().map(|(lo, n)| (*lo, vec![0; *n])).collect())
    }

    #[test]
    fn d72_the_first_byte_that_two_cores_wrote_is_found() {
        let found = |list: &[(usize, Written)]| -> Vec<(usize, usize, usize)> {
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
