//! Tensors that several cores of a rank see.
//!
//! Each core notes during a round which bytes it writes. At the end of the round they become what all cores see, in core order,
//! whether their values changed or not: of two cores that write one byte, the higher wins, and that is always told.
//!
//! A large tensor has one storage from the first write on, of which each core has a view ([`Common`]). Before that the cores
//! share what was given, or have nothing. Of a small tensor every core has a copy, and bytes that one core wrote go to the
//! others: that costs less than to map it.

use crate::memory::Common;
use crate::sim::Core;
use crate::{Code, Error, Result};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// One tensor.
pub(super) struct Shared {
    pub name: String,
    /// (core, location) of every copy or view, in core order.
    pub copies: Vec<(usize, usize)>,
    /// What the views show.
    pub common: Option<Common>,
}

impl Shared {
    fn new(name: String, copies: Vec<(usize, usize)>) -> Shared {
        Shared { name, copies, common: None }
    }
}

/// The shared tensors of a rank.
#[derive(Default)]
pub(crate) struct SharedMemory {
    tensors: Vec<Shared>,
    of_copy: HashMap<(usize, usize), usize>,
}

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
                tensors.push(Shared::new(name.to_owned(), copies));
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

    /// Bytes that the storages of its tensors map at most, beside the memories of the cores: of each the file, and a view
    /// that is about to take the place of a core's memory.
    pub(super) fn mapped(&self, cores: &[Core]) -> u64 {
        let heads = self.tensors.iter().filter_map(|t| t.copies.first());
        heads.map(|(core, at)| cores[*core].tensors()[*at].bytes.saturating_mul(2)).fold(0, u64::saturating_add)
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
        for tensor in &mut self.tensors {
            tensor.copies.retain(|c| *c != copy);
            if tensor.copies.is_empty() {
                tensor.common = None;
            }
        }
        cores[copy.0].note_writes(copy.1)?;
        let Some(shared) = self.tensors.iter_mut().find(|t| t.name == key) else {
            self.tensors.push(Shared::new(key.to_string(), vec![copy]));
            self.index();
            return Ok(());
        };
        if let Some(common) = &shared.common {
            let bytes = cores[copy.0].place(copy.1)?.bytes() as usize;
            cores[copy.0].see(copy.1, common.view()?)?;
            cores[copy.0].note_initialised(copy.1, 0, bytes)?;
        } else if let Some((first, at)) = shared.copies.first().copied() {
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
        shared.bind(cores, bytes).map(|()| true)
    }

    /// Merges what the cores wrote in this round; `ran` are those that ran.
    pub(super) fn merge(&mut self, cores: &mut [Core], ran: &[bool]) -> Result<()> {
        if self.tensors.iter().all(|t| t.copies.iter().all(|(core, _)| !ran[*core])) {
            return Ok(());
        }
        for shared in &mut self.tensors {
            shared.merge(cores)?;
        }
        let mut copies = self.tensors.iter().flat_map(|t| t.copies.iter().copied());
        copies.try_for_each(|(core, at)| cores[core].clear_marks(at))
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
                None => tensors.push(Shared::new(name.clone(), vec![head, window])),
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
