//! Every kind of collective on 2 to 64 ranks against plain loops: groups in any order, ranks left out, both dimensions, in
//! place, and in loops.

use birsim_benches::programs::{module, repeat, tensor};
use birsim_engine::ir::{
    ApPair, CollectiveDimension, CollectiveKind, Engine, Expr, Extra, Instruction, MemoryType, Name, Opcode, Operand,
    PhysicalAp, TensorKind, Value,
};
use birsim_engine::{Cores, Simulator};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;

fn area(name: &str, rows: usize, cols: usize) -> Operand {
    Operand::Physical(PhysicalAp {
        dtype: Dtype::Float32,
        memref: name.into(),
        memsetref: Name::default(),
        offset: 0,
        ap: vec![ApPair { step: cols as i64, num: rows as i64 }, ApPair { step: 1, num: cols as i64 }].into(),
        dynamic: None,
        extra: Extra::new(),
    })
}

/// What a rank starts with.
fn start(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|k| ((rank * 37 + k * 11) % 23) as f32 - 9.5).collect()
}

const KEPT: f32 = 77.0;

struct Shape {
    rows: usize,
    cols: usize,
}

impl Shape {
    fn len(&self) -> usize {
        self.rows * self.cols
    }
}

struct Case {
    kind: CollectiveKind,
    dim: CollectiveDimension,
    input: Shape,
    output: Shape,
}

/// The result at position `p`, from the inputs in group order; `None` keeps the output.
fn plain(case: &Case, op: AluOp, inputs: &[Vec<f32>], p: usize) -> Option<Vec<f32>> {
    let n = inputs.len();
    let fold = |k: usize, members: &mut dyn Iterator<Item = usize>| {
        let mut values = members.map(|m| inputs[m][k]);
        let first = values.next().unwrap();
        values.fold(first, |acc, x| match op {
            AluOp::Add => acc + x,
            AluOp::Max => {
                if x > acc {
                    x
                } else {
                    acc
                }
            }
            _ => {
                if x < acc {
                    x
                } else {
                    acc
                }
            }
        })
    };
    let all = |k: usize| fold(k, &mut (0..n));
    let (rows, cols) = (case.input.rows, case.input.cols);
    let len = case.input.len();
    Some(match (case.kind, case.dim) {
        (CollectiveKind::AllReduce, _) => (0..len).map(all).collect(),
        (CollectiveKind::ReduceScatter, CollectiveDimension::Free) => {
            let width = cols / n;
            (0..rows).flat_map(|r| (0..width).map(move |c| r * cols + p * width + c)).map(all).collect()
        }
        (CollectiveKind::ReduceScatter, CollectiveDimension::Partition) => {
            (p * len / n..(p + 1) * len / n).map(all).collect()
        }
        (CollectiveKind::AllGather, CollectiveDimension::Free) => {
            (0..rows).flat_map(|r| inputs.iter().flat_map(move |x| x[r * cols..(r + 1) * cols].to_vec())).collect()
        }
        (CollectiveKind::AllGather, CollectiveDimension::Partition) => inputs.concat(),
        (CollectiveKind::AllToAll, _) => {
            let chunk = len / n;
            inputs.iter().flat_map(|x| x[p * chunk..(p + 1) * chunk].to_vec()).collect()
        }
        // Every position sends to the next one; the first has no source.
        (CollectiveKind::Permute, _) if p == 0 => return None,
        (CollectiveKind::Permute, _) => inputs[p - 1].clone(),
        (CollectiveKind::PermuteImplicit | CollectiveKind::SendRecv, _) => inputs[(p + n - 1) % n].clone(),
        (CollectiveKind::PermuteReduce, _) => inputs[p].clone(),
        // The last position, then the own one.
        (CollectiveKind::SendRecvCce, _) => (0..len).map(|k| fold(k, &mut [n - 1, p].into_iter())).collect(),
        (kind, _) => panic!("{kind}"),
    })
}

fn instruction(case: &Case, op: AluOp, group: &[usize], rank: usize, in_place: bool) -> Instruction {
    let p = group.iter().position(|r| *r == rank);
    let name = |r: usize| group[r] as i64;
    let mut i = Instruction::new("cc", Opcode::CollectiveCompute, Engine::Pool)
        .with("kind", Value::named(case.kind))
        .with("op", Value::named(op))
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
    i.ins.push(area("x", case.input.rows, case.input.cols));
    i.outs.push(area(if in_place { "x" } else { "y" }, case.output.rows, case.output.cols));
    i
}

fn check(case: &Case, op: AluOp, ranks: usize, group: &[usize], in_place: bool) {
    let modules: Vec<_> = (0..ranks)
        .map(|rank| {
            let storage = vec![
                tensor("x", MemoryType::Sb, TensorKind::Internal, case.input.rows as u64, case.input.cols as u64),
                tensor("y", MemoryType::Sb, TensorKind::Internal, case.output.rows as u64, case.output.cols as u64),
            ];
            let outside = !group.contains(&rank);
            // An exchange has no group that a rank could be outside of.
            let list = match outside && case.kind == CollectiveKind::SendRecv {
                true => Vec::new(),
                // Loops count executions: the collective reads the same inputs again, and gives the same.
                false if in_place => vec![instruction(case, op, group, rank, true)],
                false => vec![repeat("i", 2, vec![instruction(case, op, group, rank, false)])],
            };
            module(storage, list)
        })
        .collect();
    let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut cores = Cores::load(&Simulator::builder().threads(2).lnc(1), &modules).unwrap();
    for rank in 0..ranks {
        cores.bind_rank(rank, "x", &bytes(&start(rank, case.input.len()))).unwrap();
        cores.bind_rank(rank, "y", &bytes(&vec![KEPT; case.output.len()])).unwrap();
    }
    cores.run().unwrap_or_else(|e| panic!("{} {:?} of {group:?}: {e}", case.kind, case.dim));
    let inputs: Vec<Vec<f32>> = group.iter().map(|r| start(*r, case.input.len())).collect();
    for rank in 0..ranks {
        let name = if in_place { "x" } else { "y" };
        let kept = if in_place { start(rank, case.input.len()) } else { vec![KEPT; case.output.len()] };
        let position = group.iter().position(|r| *r == rank);
        let want = position.and_then(|p| plain(case, op, &inputs, p)).unwrap_or(kept);
        let got = cores.output_rank(rank, name).unwrap();
        assert_eq!(got, bytes(&want), "{} {:?} of {group:?} of {ranks}, rank {rank}", case.kind, case.dim);
    }
}

#[test]
fn every_kind_equals_plain_loops() {
    use CollectiveKind::*;
    for ranks in [2usize, 3, 4, 8, 16, 64] {
        // All in order, all backwards, and without rank 1.
        let all: Vec<usize> = (0..ranks).collect();
        let back: Vec<usize> = (0..ranks).rev().collect();
        let some: Vec<usize> = (0..ranks).filter(|r| *r != 1).collect();
        for group in [all, back, some].into_iter().filter(|g| g.len() > 1) {
            let n = group.len();
            let shape = |rows: usize, cols: usize| Shape { rows, cols };
            for dim in [CollectiveDimension::Free, CollectiveDimension::Partition] {
                let free = dim == CollectiveDimension::Free;
                let gathered = if free { shape(2, 3 * n) } else { shape(2 * n, 3) };
                let whole = || if free { shape(2, 3 * n) } else { shape(2 * n, 3) };
                if gathered.rows <= 128 {
                    check(
                        &Case { kind: AllGather, dim, input: shape(2, 3), output: gathered },
                        AluOp::Bypass,
                        ranks,
                        &group,
                        false,
                    );
                    for op in [AluOp::Add, AluOp::Max, AluOp::Min] {
                        let case = Case { kind: ReduceScatter, dim, input: whole(), output: shape(2, 3) };
                        check(&case, op, ranks, &group, false);
                    }
                }
            }
            let dim = CollectiveDimension::Free;
            for in_place in [false, true] {
                for op in [AluOp::Add, AluOp::Max, AluOp::Min] {
                    check(
                        &Case { kind: AllReduce, dim, input: shape(2, 3), output: shape(2, 3) },
                        op,
                        ranks,
                        &group,
                        in_place,
                    );
                }
                let case = Case { kind: AllToAll, dim, input: shape(2, 2 * n), output: shape(2, 2 * n) };
                check(&case, AluOp::Bypass, ranks, &group, in_place);
                for kind in [Permute, PermuteImplicit, PermuteReduce, SendRecv] {
                    let case = Case { kind, dim, input: shape(2, 3), output: shape(2, 3) };
                    check(&case, AluOp::Bypass, ranks, &group, in_place);
                }
                let case = Case { kind: SendRecvCce, dim, input: shape(2, 3), output: shape(2, 3) };
                check(&case, AluOp::Add, ranks, &group, in_place);
            }
        }
    }
}
