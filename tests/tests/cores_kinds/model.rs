//! What each kind of collective gives, in plain loops over elements in group order.

use crate::values::{decode, encode};
use birsim_engine::ir::{CollectiveDimension, CollectiveKind};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use birsim_tests::fold::fold;

#[derive(Clone, Copy)]
pub struct Shape {
    pub rows: usize,
    pub cols: usize,
}

impl Shape {
    pub fn len(self) -> usize {
        self.rows * self.cols
    }
}

pub fn shape(rows: usize, cols: usize) -> Shape {
    Shape { rows, cols }
}

#[derive(Clone, Copy)]
pub struct Case {
    pub kind: CollectiveKind,
    pub dim: CollectiveDimension,
    pub op: AluOp,
    pub dtypes: [Dtype; 2],
    pub input: Shape,
    pub output: Shape,
}

/// The result at position `p`; `None` keeps the output. `inputs` are those of the members in group order: one, or two for
/// the kind that reduces two.
pub fn result(case: &Case, inputs: &[Vec<Vec<u32>>], p: usize) -> Option<Vec<u32>> {
    use CollectiveDimension::*;
    use CollectiveKind::*;
    let n = inputs.len();
    let [from, to] = case.dtypes;
    let value = |m: usize, input: usize, k: usize| decode(from, inputs[m][input][k]);
    let reduced =
        |members: &[usize], k: usize| encode(to, fold(case.op, members.iter().map(|m| value(*m, 0, k))).unwrap());
    let everyone: Vec<usize> = (0..n).collect();
    let all = |k: usize| reduced(&everyone, k);
    // A move keeps all bits; a conversion goes by the value.
    let moved = |m: usize, k: usize| if from == to { inputs[m][0][k] } else { encode(to, value(m, 0, k)) };
    let Shape { rows, cols } = case.input;
    let len = case.input.len();
    let whole = |m: usize| (0..len).map(|k| moved(m, k)).collect();
    Some(match (case.kind, case.dim) {
        (AllReduce, _) => (0..len).map(all).collect(),
        (ReduceScatter, Free) => {
            let width = cols / n;
            (0..rows).flat_map(|r| (0..width).map(move |c| r * cols + p * width + c)).map(all).collect()
        }
        (ReduceScatter, Partition) => (p * len / n..(p + 1) * len / n).map(all).collect(),
        (AllGather, Free) => {
            let pieces = (0..rows).flat_map(|r| (0..n).map(move |m| (r, m)));
            pieces.flat_map(|(r, m)| (0..cols).map(move |c| (m, r * cols + c))).map(|(m, k)| moved(m, k)).collect()
        }
        (AllGather, Partition) => {
            (0..n).flat_map(|m| (0..len).map(move |k| (m, k))).map(|(m, k)| moved(m, k)).collect()
        }
        (AllToAll, _) => {
            let chunk = len / n;
            (0..n).flat_map(|m| (0..chunk).map(move |c| (m, p * chunk + c))).map(|(m, k)| moved(m, k)).collect()
        }
        // Every position sends to the next one; the first has no source.
        (Permute, _) if p == 0 => return None,
        (Permute, _) => whole(p - 1),
        (PermuteImplicit | SendRecv, _) => whole((p + n - 1) % n),
        (PermuteReduce, _) => whole(p),
        (PermuteReduceImplicit, _) => {
            let before = (p + n - 1) % n;
            let both = |k| encode(to, fold(case.op, [value(before, 0, k), value(before, 1, k)]).unwrap());
            (0..len).map(both).collect()
        }
        // The last position, then the own one.
        (SendRecvCce, _) => (0..len).map(|k| reduced(&[n - 1, p], k)).collect(),
        (kind, _) => panic!("{kind}"),
    })
}
