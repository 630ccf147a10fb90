//! Accumulation groups of matmuls (`klr.md` 5.2 and 11).
//!
//! The first matmul that reaches a PSUM destination overwrites it, later ones with the same destination pattern add.
//! Any other write to the location ends its groups. "First" is decided along every path of the control flow: a matmul
//! adds only when its group is open on every path that leads to it, so a group inside a loop starts again in each trip.

use birsim_ir::{ApPair, Block, Instruction, MemoryType, Name, Opcode, Operand, PhysicalAp, Storage};
use std::collections::{HashMap, HashSet, VecDeque};

/// Flag bits of `accumulation_flag`.
const START: i64 = 1;
const STOP: i64 = 2;
const ACCUMULATE: i64 = 4;

/// A set of groups by number.
#[derive(Clone, PartialEq)]
struct Open(Vec<u64>);

impl Open {
    fn new(groups: usize, all: bool) -> Self {
        Open(vec![if all { u64::MAX } else { 0 }; groups.div_ceil(64)])
    }
    fn has(&self, group: usize) -> bool {
        self.0[group / 64] >> (group % 64) & 1 == 1
    }
    fn insert(&mut self, group: usize) {
        self.0[group / 64] |= 1 << (group % 64);
    }
    fn remove(&mut self, group: usize) {
        self.0[group / 64] &= !(1 << (group % 64));
    }
    /// Intersects with another set; true when a group was removed.
    fn meet(&mut self, other: &Open) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *a & !b != 0;
            *a &= b;
        }
        changed
    }
}

/// Location, offset and pairs: what makes two destinations the same.
type Destination = (Name, i64, Vec<(i64, i64)>);

/// What an instruction does to the groups.
enum Effect {
    /// A matmul of this group.
    Member(usize),
    /// Another write to locations: these groups end.
    Ends(Vec<usize>),
}

fn target(inst: &Instruction, key: &str) -> Option<String> {
    match inst.field(key) {
        Some(birsim_ir::Value::Str(name)) => Some(name),
        _ => None,
    }
}

/// Blocks that may run after block `i`.
fn successors(blocks: &[Block], by_name: &HashMap<&str, usize>, i: usize) -> Vec<usize> {
    let next = (i + 1 < blocks.len()).then_some(i + 1);
    let find = |name: Option<String>| name.and_then(|n| by_name.get(n.as_str()).copied());
    match blocks[i].instructions.last() {
        Some(last) if last.opcode == Opcode::UnconditionalBranch => find(target(last, "target")).into_iter().collect(),
        Some(last) if last.opcode == Opcode::CompareAndBranch => {
            let no = target(last, "on_false");
            let no = if no.is_some() { find(no) } else { next };
            find(target(last, "on_true")).into_iter().chain(no).collect()
        }
        _ => next.into_iter().collect(),
    }
}

/// Sets the flags of every matmul; returns remarks about destinations that overlap an open group.
pub fn assign(blocks: &mut [Block], storage: &[Storage]) -> Vec<String> {
    let psum: HashMap<&str, u64> = storage
        .iter()
        .filter_map(|s| match s {
            Storage::Set(set) => Some(&set.locations),
            Storage::Register(_) => None,
        })
        .flatten()
        .filter(|l| l.ty == MemoryType::Psum)
        .map(|l| (l.name.as_str(), l.dims.get(1).copied().unwrap_or(0)))
        .collect();
    // Groups by destination, and the groups of each location.
    let mut numbers: HashMap<Destination, usize> = HashMap::new();
    let mut destinations: Vec<PhysicalAp> = Vec::new();
    let mut of_location: HashMap<Name, Vec<usize>> = HashMap::new();
    for inst in blocks.iter().flat_map(|b| &b.instructions).filter(|i| i.opcode.is_matmul()) {
        let Some(Operand::Physical(ap)) = inst.outs.first() else { continue };
        let key = (ap.memref.clone(), ap.offset, ap.ap.iter().map(|p| (p.step, p.num)).collect());
        let next = destinations.len();
        if *numbers.entry(key).or_insert(next) == next {
            destinations.push(ap.clone());
            of_location.entry(ap.memref.clone()).or_default().push(next);
        }
    }
    if destinations.is_empty() {
        return Vec::new();
    }
    let effect = |inst: &Instruction| -> Option<Effect> {
        if inst.opcode.is_matmul() {
            let Some(Operand::Physical(ap)) = inst.outs.first() else { return None };
            let key = (ap.memref.clone(), ap.offset, ap.ap.iter().map(|p| (p.step, p.num)).collect());
            return numbers.get(&key).map(|n| Effect::Member(*n));
        }
        let mut ended = Vec::new();
        for out in &inst.outs {
            if let Operand::Physical(ap) = out {
                ended.extend(of_location.get(&ap.memref).into_iter().flatten());
            }
        }
        (!ended.is_empty()).then_some(Effect::Ends(ended))
    };
    let effects: Vec<Vec<(usize, Effect)>> = blocks
        .iter()
        .map(|b| b.instructions.iter().enumerate().filter_map(|(i, inst)| Some((i, effect(inst)?))).collect())
        .collect();
    let step = |open: &mut Open, effect: &Effect| match effect {
        Effect::Member(group) => open.insert(*group),
        Effect::Ends(groups) => groups.iter().for_each(|g| open.remove(*g)),
    };

    // Greatest fixed point: every group counts as open at every block's entry until some path closes it.
    let by_name: HashMap<&str, usize> = blocks.iter().enumerate().map(|(i, b)| (b.name.as_str(), i)).collect();
    let edges: Vec<Vec<usize>> = (0..blocks.len()).map(|i| successors(blocks, &by_name, i)).collect();
    let mut entry = vec![Open::new(destinations.len(), true); blocks.len()];
    entry[0] = Open::new(destinations.len(), false);
    let mut queued = vec![false; blocks.len()];
    let mut queue = VecDeque::from([0usize]);
    let mut reached = vec![false; blocks.len()];
    reached[0] = true;
    while let Some(i) = queue.pop_front() {
        queued[i] = false;
        let mut open = entry[i].clone();
        effects[i].iter().for_each(|(_, e)| step(&mut open, e));
        for &next in &edges[i] {
            let changed = entry[next].meet(&open);
            if (changed || !reached[next]) && !queued[next] {
                queued[next] = true;
                queue.push_back(next);
            }
            reached[next] = true;
        }
    }
    let straight = blocks.iter().enumerate().all(|(i, _)| edges[i].iter().all(|n| *n == i + 1));

    let mut notes = Vec::new();
    // The last member of each open group, for the STOP bit of straight-line code.
    let mut last: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut stops: HashSet<(usize, usize)> = HashSet::new();
    let mut flags: Vec<(usize, usize, i64)> = Vec::new();
    for (b, list) in effects.iter().enumerate() {
        let mut open = if reached[b] { entry[b].clone() } else { Open::new(destinations.len(), false) };
        for (i, effect) in list {
            if let Effect::Member(group) = effect {
                let continues = open.has(*group);
                flags.push((b, *i, if continues { ACCUMULATE } else { START }));
                if !continues {
                    stops.extend(last.remove(group));
                    let pitch = psum.get(destinations[*group].memref.as_str()).copied().unwrap_or(0);
                    let others = of_location.get(&destinations[*group].memref).into_iter().flatten();
                    if notes.len() < 20
                        && let Some(other) = others.copied().find(|o| {
                            o != group && open.has(*o) && overlap(&destinations[*group], &destinations[*o], pitch)
                        })
                    {
                        notes.push(format!(
                            "matmul {} writes a part of the open accumulation group of {} with another pattern",
                            blocks[b].instructions[*i].name, destinations[other].memref
                        ));
                    }
                }
                last.insert(*group, (b, *i));
            }
            step(&mut open, effect);
        }
    }
    stops.extend(last.into_values());
    for (b, i, flag) in flags {
        let stop = if straight && stops.contains(&(b, i)) { STOP } else { 0 };
        blocks[b].instructions[i].set("accumulation_flag", (flag | stop).into());
    }
    notes
}

/// Rows and columns that a pattern touches: (first row, last row, first column, last column).
fn extent(ap: &PhysicalAp, pitch: i64) -> Option<(i64, i64, i64, i64)> {
    let (mut rows, mut columns) = (0i64, 0i64);
    for ApPair { step, num } in &ap.ap {
        let span = step.checked_mul(num.checked_sub(1)?)?.max(0);
        if step % pitch == 0 { rows = rows.checked_add(span / pitch)? } else { columns = columns.checked_add(span)? }
    }
    let (row, column) = (ap.offset / pitch, ap.offset % pitch);
    Some((row, row.checked_add(rows)?, column, column.checked_add(columns)?))
}

fn overlap(a: &PhysicalAp, b: &PhysicalAp, pitch: u64) -> bool {
    let size = a.dtype.size() as u64;
    if a.dtype.size() != b.dtype.size() || pitch < size {
        return true;
    }
    let Ok(pitch) = i64::try_from(pitch / size) else { return true };
    let (Some(a), Some(b)) = (extent(a, pitch), extent(b, pitch)) else { return true };
    a.0 <= b.1 && b.0 <= a.1 && a.2 <= b.3 && b.2 <= a.3
}
