//! AllToAllV: chunks of any size, none among them, at any place.

use crate::groups;
use crate::model::shape;
use crate::place::Place;
use crate::values::{DTYPES, start};
use birsim_benches::programs::module;
use birsim_engine::ir::{CollectiveKind, Engine, Instruction, Opcode, Value};
use birsim_engine::{Cores, Simulator};
use birsim_kernels::Dtype;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|k| all.swap(k, self.below(k + 1)));
        all
    }
}

/// Who sends how much to whom, and where it lies; all by position in the group.
struct Plan {
    /// Elements from the first to the second.
    counts: Vec<Vec<usize>>,
    /// Where they start in the buffer of the first.
    starts: Vec<Vec<usize>>,
    /// Where they go in the buffer of the second, by receiver and sender.
    arrives: Vec<Vec<usize>>,
    /// Elements of a slot.
    slot: usize,
    sent: usize,
    received: usize,
}

impl Plan {
    /// With `listed` the receivers say where chunks go; else each sender has a slot.
    fn new(r: &mut Random, n: usize, most: usize, listed: bool) -> Plan {
        let mut count = || if most == 0 { 0 } else { r.below(most + 1) };
        let counts: Vec<Vec<usize>> = (0..n).map(|_| (0..n).map(|_| count()).collect()).collect();
        let slot = most.max(1).next_multiple_of(2);
        // Chunks lie in any order, with a gap of one element between them.
        let mut laid = |sizes: &dyn Fn(usize, usize) -> usize| {
            let mut all = vec![vec![0; n]; n];
            for (k, places) in all.iter_mut().enumerate() {
                let mut at = 0;
                for other in r.order(n) {
                    places[other] = at;
                    at += sizes(k, other) + 1;
                }
            }
            all
        };
        let starts = laid(&|from, to| counts[from][to]);
        let arrives = match listed {
            true => laid(&|to, from| counts[from][to]),
            false => vec![(0..n).map(|q| q * slot).collect(); n],
        };
        let room = (n * (most + 1)).next_multiple_of(2);
        Plan { counts, starts, arrives, slot, sent: room, received: if listed { room } else { n * slot } }
    }

    /// The metadata of a member. What it holds in row 2 is for nobody.
    fn metadata(&self, p: usize, listed: bool) -> Vec<u32> {
        let row = |list: &[usize]| list.iter().map(|v| *v as u32).collect::<Vec<u32>>();
        let mut all = [row(&self.counts[p]), row(&self.starts[p]), vec![99; self.counts.len()]].concat();
        if listed {
            all.extend(row(&self.arrives[p]));
        }
        all
    }
}

fn check(seed: u64, dtype: Dtype, ranks: usize, group: &[usize], most: usize, listed: bool) {
    let (n, mut r) = (group.len(), Random(seed));
    let plan = Plan::new(&mut r, n, most, listed);
    assert!(plan.slot >= most);
    let rows = if listed { 4 } else { 3 };
    // What is strided shows that elements count in their order, not by their bytes.
    let data = |name: &str, len: usize, strided| Place { name: name.into(), dtype, shape: shape(2, len / 2), strided };
    let table =
        |name: &str, rows| Place { name: name.into(), dtype: Dtype::Uint32, shape: shape(rows, n), strided: false };
    let (x, y) = (data("x", plan.sent, false), data("y", plan.received, true));
    let (meta, told) = (table("meta", rows), table("told", 4));
    let mut i = Instruction::new("cc", Opcode::CollectiveCompute, Engine::Pool)
        .with("kind", Value::named(CollectiveKind::AllToAllV))
        .with("replica_groups", Value::Groups(vec![group.iter().map(|r| *r as i64).collect()]));
    i.ins = vec![x.operand(), meta.operand()];
    i.outs = vec![y.operand(), told.operand()];
    let program = module([&x, &y, &meta, &told].into_iter().map(Place::storage).collect(), vec![i]);
    let mut cores = Cores::load(&Simulator::builder().threads(2).ranks(ranks as u32), &[program]).unwrap();
    for rank in 0..ranks {
        let own = group.iter().position(|g| *g == rank).map_or_else(|| meta.untouched(), |p| plan.metadata(p, listed));
        cores.bind_rank(rank, "x", &x.memory(&start(dtype, rank, plan.sent, 0))).unwrap();
        cores.bind_rank(rank, "meta", &meta.memory(&own)).unwrap();
        cores.bind_rank(rank, "y", &y.memory(&y.untouched())).unwrap();
        cores.bind_rank(rank, "told", &told.memory(&told.untouched())).unwrap();
    }
    let what = format!("{dtype}, {group:?} of {ranks}, chunks of at most {most}, listed: {listed}");
    cores.run().unwrap_or_else(|e| panic!("{what}: {e}"));
    for rank in 0..ranks {
        let (mut data, mut counts) = (y.untouched(), told.untouched());
        if let Some(p) = group.iter().position(|g| *g == rank) {
            for (q, sender) in group.iter().enumerate() {
                let (count, from, to) = (plan.counts[q][p], plan.starts[q][p], plan.arrives[p][q]);
                let theirs = start(dtype, *sender, plan.sent, 0);
                data[to..to + count].copy_from_slice(&theirs[from..from + count]);
                counts[2 * n + q] = count as u32;
            }
        }
        assert_eq!(cores.output_rank(rank, "y").unwrap(), y.memory(&data), "{what}, rank {rank}");
        assert_eq!(cores.output_rank(rank, "told").unwrap(), told.memory(&counts), "{what}, rank {rank}");
    }
}

#[test]
fn chunks_of_any_size_arrive_where_they_should() {
    let mut seed = 0;
    for ranks in [2, 3, 4, 8, 16, 64] {
        for group in groups(ranks) {
            for dtype in DTYPES {
                for (most, listed) in [(0, false), (0, true), (1, false), (5, false), (5, true)] {
                    seed += 1;
                    // Many ranks cost the most and differ in nothing but their number.
                    if ranks <= 4 || seed % 4 == 0 {
                        check(seed, dtype, ranks, &group, most, listed);
                    }
                }
            }
        }
    }
}
