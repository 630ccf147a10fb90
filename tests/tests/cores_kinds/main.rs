//! Every kind of collective on 2 to 64 ranks against plain loops: groups in any order, ranks left out, both dimensions,
//! strided, in place, in loops, on several engines, in all element types.

mod engines;
mod model;
mod place;
mod values;
mod vary;
mod windows;

use birsim_benches::programs::{module, repeat};
use birsim_engine::ir::{CollectiveDimension, CollectiveKind, Engine, Expr, Instruction, Opcode, Storage, Value};
use birsim_engine::{Cores, Simulator};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use model::{Case, result, shape};
use place::Place;
use values::start;

/// How a collective uses its tensors.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// On all of its tensors' memory.
    Dense,
    /// In a loop of two trips, on part of the memory of each tensor.
    Strided,
    /// Into its own input.
    InPlace,
}

/// A collective of a program and its tensors.
struct Step {
    case: Case,
    way: Way,
    ins: Vec<Place>,
    out: Place,
}

impl Step {
    /// The `k`-th of a program.
    fn new(k: usize, case: Case, way: Way) -> Step {
        let strided = way == Way::Strided;
        let input =
            |name: &str| Place { name: format!("{name}{k}"), dtype: case.dtypes[0], shape: case.input, strided };
        let two = case.kind == CollectiveKind::PermuteReduceImplicit;
        let ins: Vec<Place> = if two { vec![input("x"), input("w")] } else { vec![input("x")] };
        let out = match way {
            Way::InPlace => ins[0].clone(),
            _ => Place { name: format!("y{k}"), dtype: case.dtypes[1], shape: case.output, strided },
        };
        Step { case, way, ins, out }
    }

    /// What a rank has in the `k`-th input.
    fn start(&self, rank: usize, k: usize) -> Vec<u32> {
        start(self.case.dtypes[0], rank, self.case.input.len(), k)
    }

    fn storage(&self) -> impl Iterator<Item = Storage> {
        let out = (self.way != Way::InPlace).then_some(&self.out);
        self.ins.iter().chain(out).map(Place::storage)
    }

    /// What a rank of a group does.
    fn instruction(&self, group: &[usize], rank: usize) -> Instruction {
        let case = &self.case;
        let p = group.iter().position(|r| *r == rank);
        let name = |r: usize| group[r] as i64;
        let mut i = Instruction::new(format!("cc-{}", self.out.name), Opcode::CollectiveCompute, Engine::Pool)
            .with("kind", Value::named(case.kind))
            .with("op", Value::named(case.op))
            .with("cc_dim", Value::named(case.dim));
        let n = group.len();
        match (case.kind, p) {
            (CollectiveKind::Permute, _) => {
                let pairs = (1..n).map(|k| vec![name(k - 1), name(k)]).collect();
                i.set("src_target_pairs", Value::Groups(pairs));
            }
            (CollectiveKind::SendRecv, Some(p)) => {
                i.set("send_to_rank", Value::Int(name((p + 1) % n)));
                i.set("recv_from_rank", Value::Ints(vec![Expr::Const(name((p + n - 1) % n))]));
            }
            _ => {
                i.set("replica_groups", Value::Groups(vec![(0..n).map(name).collect()]));
            }
        }
        if let (CollectiveKind::SendRecvCce, Some(p)) = (case.kind, p) {
            i.set("recv_from_rank", Value::Ints([n - 1, p].map(|k| Expr::Const(name(k))).to_vec()));
        }
        i.ins.extend(self.ins.iter().map(Place::operand));
        i.outs.push(self.out.operand());
        // Loops count executions: the collective reads the same inputs again, and gives the same.
        if self.way == Way::Strided { repeat(&format!("i-{}", self.out.name), 2, vec![i]) } else { i }
    }

    /// An exchange has no group that a rank could be outside of.
    fn runs_on(&self, group: &[usize], rank: usize) -> bool {
        self.case.kind != CollectiveKind::SendRecv || group.contains(&rank)
    }

    fn bind(&self, cores: &mut Cores, rank: usize) {
        if self.way != Way::InPlace {
            cores.bind_rank(rank, &self.out.name, &self.out.memory(&self.out.untouched())).unwrap();
        }
        for (k, place) in self.ins.iter().enumerate() {
            cores.bind_rank(rank, &place.name, &place.memory(&self.start(rank, k))).unwrap();
        }
    }

    fn check(&self, cores: &mut Cores, ranks: usize, group: &[usize]) {
        let case = &self.case;
        let of = |rank: &usize| (0..self.ins.len()).map(|k| self.start(*rank, k)).collect();
        let inputs: Vec<Vec<Vec<u32>>> = group.iter().map(of).collect();
        for rank in 0..ranks {
            let kept = if self.way == Way::InPlace { self.start(rank, 0) } else { self.out.untouched() };
            let position = group.iter().position(|r| *r == rank);
            let want = position.and_then(|p| result(case, &inputs, p)).unwrap_or(kept);
            let got = cores.output_rank(rank, &self.out.name).unwrap();
            assert_eq!(
                got,
                self.out.memory(&want),
                "{} {:?} {:?} of {:?}, {group:?} of {ranks}, rank {rank}",
                case.kind,
                case.dim,
                case.op,
                case.dtypes
            );
        }
    }
}

/// Runs all steps as one program.
fn check(steps: &[Step], ranks: usize, group: &[usize]) {
    let modules: Vec<_> = (0..ranks)
        .map(|rank| {
            let own = steps.iter().filter(|s| s.runs_on(group, rank)).map(|s| s.instruction(group, rank));
            module(steps.iter().flat_map(Step::storage).collect(), own.collect())
        })
        .collect();
    let mut cores = Cores::load(&Simulator::builder().threads(2).lnc(1), &modules).unwrap();
    (0..ranks).for_each(|rank| steps.iter().for_each(|s| s.bind(&mut cores, rank)));
    cores.run().unwrap_or_else(|e| panic!("{group:?} of {ranks}: {e}"));
    steps.iter().for_each(|s| s.check(&mut cores, ranks, group));
}

/// All in order, without rank 1, and all backwards; of many ranks the last only.
fn groups(ranks: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..ranks).collect();
    let some = (0..ranks).filter(|r| *r != 1).collect();
    let back = (0..ranks).rev().collect();
    let groups = [all, some, back].into_iter().filter(|g: &Vec<usize>| g.len() > 1);
    groups.skip(if ranks > 16 { 2 } else { 0 }).collect()
}

const REDUCE: [AluOp; 3] = [AluOp::Add, AluOp::Max, AluOp::Min];

/// Every kind, operation and dimension, each way that fits it, for a group of `n`.
fn every_step(dtypes: [Dtype; 2], n: usize) -> Vec<Step> {
    use CollectiveDimension::{Free, Partition};
    use CollectiveKind::*;
    let mut all: Vec<(Case, Way)> = Vec::new();
    let one = Case { kind: AllReduce, dim: Free, op: AluOp::Bypass, dtypes, input: shape(2, 3), output: shape(2, 3) };
    for way in [Way::Dense, Way::Strided] {
        for dim in [Free, Partition] {
            let whole = if dim == Free { shape(2, 3 * n) } else { shape(2 * n, 3) };
            all.push((Case { kind: AllGather, dim, output: whole, ..one }, way));
            all.extend(REDUCE.map(|op| (Case { kind: ReduceScatter, dim, op, input: whole, ..one }, way)));
        }
    }
    let in_place = (dtypes[0] == dtypes[1]).then_some(Way::InPlace);
    for way in [Way::Dense, Way::Strided].into_iter().chain(in_place) {
        for op in REDUCE {
            all.extend([AllReduce, PermuteReduceImplicit, SendRecvCce].map(|kind| (Case { kind, op, ..one }, way)));
        }
        let chunks = shape(2, 2 * n);
        all.push((Case { kind: AllToAll, input: chunks, output: chunks, ..one }, way));
        all.extend([Permute, PermuteImplicit, PermuteReduce, SendRecv].map(|kind| (Case { kind, ..one }, way)));
    }
    all.into_iter().enumerate().map(|(k, (case, way))| Step::new(k, case, way)).collect()
}

fn every_kind(dtypes: [Dtype; 2]) {
    for ranks in [2, 3, 4, 8, 16, 64] {
        for group in groups(ranks) {
            check(&every_step(dtypes, group.len()), ranks, &group);
        }
    }
}

#[test]
fn every_kind_equals_plain_loops_in_float32() {
    every_kind([Dtype::Float32; 2]);
}

#[test]
fn every_kind_equals_plain_loops_in_bfloat16() {
    every_kind([Dtype::Bfloat16; 2]);
}

#[test]
fn every_kind_equals_plain_loops_in_int32() {
    every_kind([Dtype::Int32; 2]);
}

#[test]
fn every_kind_equals_plain_loops_in_float8e4() {
    every_kind([Dtype::Float8e4; 2]);
}

#[test]
fn every_kind_equals_plain_loops_in_float8e5() {
    every_kind([Dtype::Float8e5; 2]);
}

/// Reductions narrow once, to the type of the output; moves convert as a copy does.
#[test]
fn every_kind_converts_to_the_type_of_its_output() {
    every_kind([Dtype::Float32, Dtype::Bfloat16]);
    every_kind([Dtype::Float8e4, Dtype::Float32]);
    every_kind([Dtype::Int32, Dtype::Float32]);
}
