//! Names of a module, indexed.

use crate::{Block, Function, Instruction, Location, LocationSet, Module, RegisterDecl, Steer, Storage};
use hashbrown::{HashMap, HashSet};

/// Names of one function's storage.
pub(super) struct Scope<'m> {
    sets: HashMap<&'m str, &'m LocationSet>,
    /// The first location with a name, and whether there are more.
    locations: HashMap<&'m str, Named<'m>>,
    pub registers: HashMap<&'m str, &'m RegisterDecl>,
}

struct Named<'m> {
    set: &'m LocationSet,
    location: &'m Location,
    ambiguous: bool,
}

/// Outcome of a look-up.
pub(super) enum Found<'m> {
    /// The location.
    One(&'m Location),
    /// The set exists; which of its locations is meant is not said or found out at run time.
    Set(&'m LocationSet),
    /// Several sets have a location of that name.
    Ambiguous,
    /// No such set.
    NoSet,
    /// No such location.
    NoLocation,
}

impl<'m> Scope<'m> {
    fn new(function: &'m Function) -> Self {
        let mut scope = Scope { sets: HashMap::new(), locations: HashMap::new(), registers: HashMap::new() };
        for storage in &function.allocations {
            match storage {
                Storage::Register(r) => {
                    scope.registers.insert(&r.name, r);
                }
                Storage::Set(set) => {
                    scope.sets.insert(&set.name, set);
                    for location in &set.locations {
                        scope.locations.entry(&location.name).and_modify(|n| n.ambiguous = true).or_insert(Named {
                            set,
                            location,
                            ambiguous: false,
                        });
                    }
                }
            }
        }
        scope
    }

    pub fn set_names(&self) -> impl Iterator<Item = &'m str> {
        self.sets.keys().copied()
    }

    pub fn location_names(&self) -> impl Iterator<Item = &'m str> {
        self.locations.keys().copied()
    }

    pub fn set(&self, name: &str) -> Option<&'m LocationSet> {
        self.sets.get(name).copied()
    }

    /// The location of a pair of names; either may be empty.
    pub fn find(&self, memref: &str, memsetref: &str) -> Found<'m> {
        if memref.is_empty() {
            return self.set(memsetref).map_or(Found::NoSet, Found::Set);
        }
        let named = self.locations.get(memref);
        if memsetref.is_empty() {
            return match named {
                Some(n) if n.ambiguous => Found::Ambiguous,
                Some(n) => Found::One(n.location),
                None => Found::NoLocation,
            };
        }
        match (named, self.set(memsetref)) {
            (Some(n), Some(set)) if std::ptr::eq(n.set, set) => Found::One(n.location),
            (_, Some(set)) => set.locations.iter().find(|l| l.name == memref).map_or(Found::NoLocation, Found::One),
            (_, None) => Found::NoSet,
        }
    }
}

/// Names of the whole module.
pub(super) struct Index<'m> {
    /// One scope per function, `functions` first, then `nki_functions`.
    pub scopes: Vec<Scope<'m>>,
    pub functions: HashMap<&'m str, usize>,
    /// Names of DMABlocks by queue.
    pub queues: HashMap<&'m str, HashSet<&'m str>>,
    pub triggers: HashSet<&'m str>,
    pub instructions: HashSet<&'m str>,
}

impl<'m> Index<'m> {
    pub fn new(module: &'m Module) -> Self {
        let functions = module.functions.iter().chain(&module.nki_functions);
        let mut index = Index {
            scopes: functions.clone().map(Scope::new).collect(),
            functions: functions.clone().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect(),
            queues: HashMap::new(),
            triggers: HashSet::new(),
            instructions: HashSet::new(),
        };
        for queue in &module.queues {
            let mut blocks = HashSet::new();
            visit(&queue.blocks, 0, &mut |i| {
                index.instructions.insert(&i.name);
                if i.opcode.steers(Steer::QueueBlock) {
                    blocks.insert(i.name.as_str());
                }
            });
            index.queues.entry(&queue.name).or_default().extend(blocks);
        }
        for function in functions {
            visit(&function.blocks, 0, &mut |i| {
                index.instructions.insert(&i.name);
                if i.opcode.steers(Steer::Trigger) {
                    index.triggers.insert(&i.name);
                }
            });
        }
        index
    }
}

fn visit<'m>(blocks: &'m [Block], depth: usize, f: &mut impl FnMut(&'m Instruction)) {
    if depth > super::MAX_NESTING {
        return;
    }
    for i in blocks.iter().flat_map(|b| &b.instructions) {
        f(i);
        visit(&i.blocks, depth + 1, f);
    }
}
