//! What is to be run: items wait here for a worker. A worker gets items of the program it has loaded before others.

use super::manifest::Item;
use super::options::Limits;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;

/// An item with the number of its next try, from 1.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The item.
    pub item: Item,
    /// The try.
    pub attempt: u32,
    /// Its limits.
    pub limits: Limits,
    /// Jobs that it takes the place of.
    pub slots: usize,
}

/// The files of a program: items with the same files can share what a worker has loaded.
pub type Program = Vec<PathBuf>;

/// Items in the order they came, found by their order or by their program.
#[derive(Debug, Default)]
pub struct Queue {
    /// By a number that grows, so that the first is the oldest.
    items: BTreeMap<u64, Waiting>,
    /// Numbers by program; numbers that were taken from elsewhere are skipped.
    programs: HashMap<Program, VecDeque<u64>>,
    next: u64,
}

impl Queue {
    /// Adds an item at the end.
    pub fn push(&mut self, waiting: Waiting) {
        let number = self.next;
        self.next += 1;
        self.programs.entry(waiting.item.program.clone()).or_default().push_back(number);
        self.items.insert(number, waiting);
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Items that wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes the next item for a worker that has a program loaded, when it fits into the free slots. `taken` are the programs
    /// of the other workers: theirs come last.
    pub fn take(&mut self, loaded: Option<&Program>, taken: &[&Program], free: usize) -> Option<Waiting> {
        let own = loaded.and_then(|p| self.first_of(p));
        let number = match own {
            Some(number) => number,
            None => {
                // The head of the queue decides, unless another worker has its program; looking further is bounded.
                let mut near = self.items.iter().take(64);
                let other = near.find(|(_, w)| !taken.contains(&&w.item.program)).map(|(n, _)| *n);
                other.or_else(|| self.items.keys().next().copied())?
            }
        };
        if self.items.get(&number)?.slots > free {
            return None;
        }
        self.items.remove(&number)
    }

    fn first_of(&mut self, program: &Program) -> Option<u64> {
        let numbers = self.programs.get_mut(program)?;
        while let Some(first) = numbers.front() {
            if self.items.contains_key(first) {
                return Some(*first);
            }
            numbers.pop_front();
        }
        self.programs.remove(program);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(id: &str, program: &str, slots: usize) -> Waiting {
        let text = serde_json::json!({"id": id, "program": program}).to_string();
        let limits = Limits { threads: 1, memory: None, timeout: None };
        Waiting { item: Item::parse(&text, 1, 0).unwrap().unwrap(), attempt: 1, limits, slots }
    }

    fn ids(queue: &mut Queue, loaded: Option<&Program>, taken: &[&Program]) -> Vec<String> {
        std::iter::from_fn(|| queue.take(loaded, taken, 1)).map(|w| w.item.id).collect()
    }

    fn filled() -> Queue {
        let mut q = Queue::default();
        for (k, p) in ["a", "b", "a", "c", "b"].iter().enumerate() {
            q.push(waiting(&k.to_string(), p, 1));
        }
        q
    }

    #[test]
    fn the_loaded_program_comes_first_and_those_of_others_last() {
        let [a, b] = ["a", "b"].map(|p| vec![PathBuf::from(p)]);
        assert_eq!(ids(&mut filled(), Some(&b), &[&a]), ["1", "4", "3", "0", "2"]);
        assert_eq!(ids(&mut filled(), None, &[]), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn an_item_waits_for_its_slots() {
        let mut q = Queue::default();
        q.push(waiting("wide", "a", 2));
        q.push(waiting("small", "b", 1));
        assert!(q.take(None, &[], 1).is_none());
        assert_eq!(q.take(None, &[], 2).unwrap().item.id, "wide");
        assert_eq!((q.len(), q.is_empty()), (1, false));
    }
}
