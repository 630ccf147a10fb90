//! Collectives over rank buffers.

mod views;
use birsim_kernels::access::Src;
use birsim_kernels::alu::AluOp;
use birsim_kernels::collective::*;
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();
use CollectiveDimension::{Free, Partition};

/// Rank r holds 100 r + element.
fn ranks(n: i32, shape: &[u32]) -> Vec<Tensor> {
    let len = shape.iter().product::<u32>() as i32;
    (0..n).map(|r| Tensor::i32(shape, &(0..len).map(|e| 100 * r + e).collect::<Vec<_>>())).collect()
}

fn views(tensors: &[Tensor]) -> Vec<Src<'_>> {
    tensors.iter().map(Tensor::src).collect()
}

fn empty(shape: &[u32]) -> Tensor {
    let len = shape.iter().product::<u32>() as usize;
    Tensor::i32(shape, &vec![-7; len])
}

#[test]
fn all_reduce_folds_in_rank_order() {
    let t: Vec<Tensor> = [16777216., 1., 1., -16777216.].iter().map(|v| Tensor::f32(&[1], &[*v])).collect();
    let mut y = Tensor::f32(&[1], &[9.]);
    all_reduce(AluOp::Add, &views(&t), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [0.]);
    let t = ranks(3, &[2, 2]);
    let mut y = empty(&[4]);
    all_reduce(AluOp::Max, &views(&t), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [200, 201, 202, 203]);
    all_reduce(AluOp::Min, &views(&t), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0, 1, 2, 3]);
}

#[test]
fn ranks_that_are_folded_one_by_one_give_the_same_sum() {
    let values =
        |r: usize| (0..300 * 1700).map(|e| ((e * 7919 + r * 31) % 1013) as f32 / 97.0 - 5.0).collect::<Vec<f32>>();
    let t: Vec<Tensor> = (0..5).map(|r| Tensor::f32(&[300, 1700], &values(r))).collect();
    for op in [AluOp::Add, AluOp::Max, AluOp::Min] {
        let mut whole = Tensor::f32(&[300, 1700], &[0.; 300 * 1700]);
        all_reduce(op, &views(&t), &mut whole.dst(), &P).unwrap();
        let mut acc = vec![7.; 300 * 1700];
        for (k, src) in views(&t).iter().enumerate() {
            fold_into(op, src, &mut acc, k == 0, &P).unwrap();
        }
        assert_eq!(acc, whole.values::<f32>(), "{op}");
    }
    let e = fold_into(AluOp::Add, &t[0].src(), &mut [0.; 3], true, &P).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S002, Some("510000 and 3")));
}

#[test]
fn d15_the_accumulator_wins_on_nan_and_ties() {
    let run = |op, values: &[f32]| {
        let t: Vec<Tensor> = values.iter().map(|v| Tensor::f32(&[1], &[*v])).collect();
        let mut y = Tensor::f32(&[1], &[0.]);
        all_reduce(op, &views(&t), &mut y.dst(), &P).unwrap();
        y.values::<f32>()[0]
    };
    assert_eq!(run(AluOp::Max, &[1., f32::NAN, 0.5]), 1.);
    assert!(run(AluOp::Min, &[f32::NAN, 1.]).is_nan());
    assert_eq!(run(AluOp::Max, &[-0., 0.]).to_bits(), (-0f32).to_bits());
    // The first rank seeds a sum, too.
    assert_eq!(run(AluOp::Add, &[-0.]).to_bits(), (-0f32).to_bits());
}

#[test]
fn reduce_scatter_keeps_one_slice() {
    let t = ranks(2, &[2, 4]);
    for (rank, dim, shape, want) in [
        (0, Partition, [1, 4], [100, 102, 104, 106]),
        (1, Partition, [1, 4], [108, 110, 112, 114]),
        (0, Free, [2, 2], [100, 102, 108, 110]),
        (1, Free, [2, 2], [104, 106, 112, 114]),
        // Partitions that differ leave only the order of elements.
        (1, Free, [1, 4], [108, 110, 112, 114]),
    ] {
        let mut y = empty(&shape);
        reduce_scatter(AluOp::Add, dim, &views(&t), rank, &mut y.dst(), &P).unwrap();
        assert_eq!(y.values::<i32>(), want, "{rank} {dim}");
    }
    let mut y = empty(&[1, 3]);
    assert_eq!(reduce_scatter(AluOp::Add, Free, &views(&t), 0, &mut y.dst(), &P).unwrap_err().code(), Code::S002);
    let mut y = empty(&[1, 4]);
    assert_eq!(reduce_scatter(AluOp::Add, Free, &views(&t), 2, &mut y.dst(), &P).unwrap_err().code(), Code::S008);
}

#[test]
fn all_gather_joins_along_either_dimension() {
    let t = ranks(2, &[2, 2]);
    let mut y = empty(&[4, 2]);
    all_gather(Partition, &views(&t), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0, 1, 2, 3, 100, 101, 102, 103]);
    let mut y = empty(&[2, 4]);
    all_gather(Free, &views(&t), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0, 1, 100, 101, 2, 3, 102, 103]);
    let mut y = empty(&[2, 3]);
    assert_eq!(all_gather(Free, &views(&t), &mut y.dst(), &P).unwrap_err().code(), Code::S002);
}

#[test]
fn all_to_all_transposes_the_chunks() {
    let t = ranks(3, &[1, 6]);
    for rank in 0..3 {
        let mut y = empty(&[1, 6]);
        all_to_all(&views(&t), rank, &mut y.dst(), &P).unwrap();
        let want: Vec<i32> = (0..6).map(|e| 100 * (e / 2) + 2 * rank as i32 + e % 2).collect();
        assert_eq!(y.values::<i32>(), want);
    }
    let mut y = empty(&[1, 4]);
    assert_eq!(all_to_all(&views(&t), 0, &mut y.dst(), &P).unwrap_err().code(), Code::S002);
}

fn table(rows: &[&[u32]]) -> ChunkTable {
    let values: Vec<u32> = rows.concat();
    let shape = [rows.len() as u32, rows[0].len() as u32];
    ChunkTable::new(&Tensor::of(Dtype::Uint32, &shape, &values).src(), rows[0].len()).unwrap()
}

#[test]
fn d67_all_to_all_v_takes_chunks_of_any_size() {
    let t = ranks(2, &[1, 5]);
    let run = |tables: &[ChunkTable]| {
        let mut y = empty(&[1, 6]);
        let segments = received_chunks(tables, &[4, 7], &[5, 5], 1, 6)?;
        route(&segments, &views(&t), &mut y.dst(), &P)?;
        Ok::<_, birsim_kernels::Error>(y.values::<i32>())
    };
    // Without row 3, rank q's chunk goes to slot q.
    let slots = [table(&[&[1, 3], &[0, 2], &[0, 0]]), table(&[&[0, 2], &[0, 1], &[0, 0]])];
    assert_eq!(run(&slots).unwrap(), [2, 3, 4, 101, 102, -7]);
    let placed = |at: [u32; 2]| [slots[0].clone(), table(&[&[0, 2], &[0, 1], &[0, 0], &at])];
    assert_eq!(run(&placed([3, 0])).unwrap(), [101, 102, -7, 2, 3, 4]);
    let what = |tables: &[ChunkTable]| run(tables).unwrap_err().what().to_string();
    assert_eq!(what(&placed([4, 0])), "the chunk that rank 4 sends to rank 7 leaves the result of rank 7");
    assert_eq!(what(&placed([u32::MAX, 0])), "the chunk that rank 4 sends to rank 7 leaves the result of rank 7");
    assert_eq!(what(&placed([1, 0])), "the chunks of ranks 7 and 4 overlap in the result of rank 7");
    let large = [table(&[&[0, 4], &[0, 1], &[0, 0]]), slots[1].clone()];
    assert_eq!(what(&large), "the chunk that rank 4 sends to rank 7 is larger than its slot in rank 7");
    let long = [table(&[&[0, 3], &[0, 3], &[0, 0]]), slots[1].clone()];
    assert_eq!(what(&long), "the chunk that rank 4 sends to rank 7 leaves the buffer of rank 4");
    // Chunks of nothing may start anywhere.
    let none = [table(&[&[0, 0], &[9, 9], &[0, 0]]), table(&[&[0, 0], &[9, 9], &[0, 0]])];
    assert_eq!(run(&none).unwrap(), [-7; 6]);
}

#[test]
fn d67_the_metadata_is_three_or_four_rows_of_uint32() {
    let t = Tensor::i32(&[3, 2], &[0; 6]);
    assert_eq!(ChunkTable::new(&t.src(), 2).unwrap_err().code(), Code::S007);
    let t = Tensor::filled(Dtype::Uint32, &[5, 2], 0);
    assert_eq!(ChunkTable::new(&t.src(), 2).unwrap_err().code(), Code::S002);
}

#[test]
fn reduce_scatter_needs_a_dimension_that_divides() {
    for (dim, shape) in [(Free, [4, 3]), (Partition, [3, 4])] {
        let t = ranks(2, &shape);
        let mut y = empty(&[6]);
        let e = reduce_scatter(AluOp::Add, dim, &views(&t), 0, &mut y.dst(), &P).unwrap_err();
        assert_eq!((e.code(), e.received_value()), (Code::S002, Some("3 by 2")));
    }
}

#[test]
fn permutations_name_their_source() {
    let pairs = [(0, 2), (2, 1)];
    assert_eq!([0, 1, 2].map(|r| permute_source(&pairs, r)), [None, Some(2), Some(0)]);
    let ring = [4, 1, 7];
    assert_eq!([4, 1, 7, 9].map(|r| ring_source(&ring, r)), [Some(7), Some(4), Some(1), None]);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|i| ring_rank(&ring, 1, i)),
        [Some(1), Some(4), Some(7), Some(1), Some(4)].map(|v| v)
    );
    assert_eq!(ring_source(&[], 0), None);
}

#[test]
fn a_lone_worker_scales_its_own_buffer() {
    let x = Tensor::i32(&[2, 2], &[1, -1, 3, 7]);
    let mut z = Tensor::f32(&[4], &[0.; 4]);
    scaled(4., &x.src(), &mut z.dst(), &P).unwrap();
    assert_eq!(z.values::<f32>(), [4., -4., 12., 28.]);
}

#[test]
fn reductions_know_three_operations() {
    let t = ranks(2, &[1]);
    let mut y = empty(&[1]);
    for op in AluOp::ALL {
        let got = all_reduce(*op, &views(&t), &mut y.dst(), &P).map_err(|e| e.code());
        let ok = matches!(op, AluOp::Add | AluOp::Max | AluOp::Min);
        assert_eq!(got, if ok { Ok(()) } else { Err(Code::S006) }, "{op}");
    }
    assert_eq!(all_reduce(AluOp::Add, &[], &mut y.dst(), &P).unwrap_err().code(), Code::S008);
    let mut packed = Tensor::filled(Dtype::Float8E5m2X4, &[1], 0);
    assert_eq!(all_reduce(AluOp::Add, &views(&t), &mut packed.dst(), &P).unwrap_err().code(), Code::S007);
}
