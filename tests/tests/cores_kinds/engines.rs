//! Several engines of a core stand at meetings at once.

use crate::groups;
use crate::model::{Case, result, shape};
use crate::place::Place;
use crate::values::start;
use birsim_benches::programs::{cell, module, step};
use birsim_engine::ir::{CollectiveDimension, CollectiveKind, Engine, Instruction, Opcode, Value};
use birsim_engine::{Cores, IssueOrder, Order, Simulator};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;

const F: Dtype = Dtype::Float32;

fn place(name: &str) -> Place {
    Place { name: name.into(), dtype: F, shape: shape(2, 3), strided: false }
}

/// Two collectives over one group on two engines, each of which comes late on some ranks: the first of the list meets the
/// first, whoever is there earlier.
#[test]
fn collectives_on_two_engines_meet_in_list_order() {
    for ranks in [2, 3, 4, 8, 16, 64] {
        let group = groups(ranks).pop().unwrap();
        for kinds in [
            [CollectiveKind::AllReduce, CollectiveKind::AllReduce],
            [CollectiveKind::PermuteImplicit, CollectiveKind::AllReduce],
        ] {
            let orders = [IssueOrder::Window, IssueOrder::Reference, IssueOrder::Seeded(1), IssueOrder::Seeded(2)];
            orders.into_iter().for_each(|order| run(ranks, &group, kinds, order));
        }
    }
}

fn run(ranks: usize, group: &[usize], kinds: [CollectiveKind; 2], order: IssueOrder) {
    let case = |kind| Case {
        kind,
        dim: CollectiveDimension::Free,
        op: AluOp::Add,
        dtypes: [F; 2],
        input: shape(2, 3),
        output: shape(2, 3),
    };
    let names = [["x0", "y0"], ["x1", "y1"]];
    let modules: Vec<_> = (0..ranks)
        .map(|rank| {
            let mut storage: Vec<_> = names.iter().flatten().map(|n| place(n).storage()).collect();
            storage.push(place("slow").storage());
            let mut list = Vec::new();
            for (k, (kind, [x, y])) in kinds.iter().zip(names).enumerate() {
                let engine = [Engine::Pool, Engine::Activation][k];
                let delay = (rank + k) % 2 * 3;
                let wait =
                    |d| step(format!("slow-{k}-{d}"), engine, cell("slow", k as i64), cell("slow", k as i64), 0.5);
                list.extend((0..delay).map(wait));
                let mut i = Instruction::new(format!("cc{k}"), Opcode::CollectiveCompute, engine)
                    .with("kind", Value::named(*kind))
                    .with("op", Value::named(AluOp::Add))
                    .with("replica_groups", Value::Groups(vec![group.iter().map(|r| *r as i64).collect()]));
                i.ins.push(place(x).operand());
                i.outs.push(place(y).operand());
                list.push(i);
            }
            module(storage, list)
        })
        .collect();
    let builder = Simulator::builder().threads(2).lnc(1).order(Order::Sync).schedule(order);
    let mut cores = Cores::load(&builder, &modules).unwrap();
    for rank in 0..ranks {
        cores.bind_rank(rank, "slow", &[0; 24]).unwrap();
        for (k, [x, _]) in names.into_iter().enumerate() {
            cores.bind_rank(rank, x, &place(x).memory(&start(F, rank, 6, k))).unwrap();
        }
    }
    cores.run().unwrap_or_else(|e| panic!("{kinds:?} on {ranks} ranks, {order:?}: {e}"));
    for (k, [_, y]) in names.into_iter().enumerate() {
        let inputs: Vec<_> = group.iter().map(|rank| vec![start(F, *rank, 6, k)]).collect();
        for (p, rank) in group.iter().enumerate() {
            let want = place(y).memory(&result(&case(kinds[k]), &inputs, p).unwrap());
            let got = cores.output_rank(*rank, y).unwrap();
            assert_eq!(got, want, "{y} of {kinds:?}, rank {rank} of {ranks}, {order:?}");
        }
    }
}
