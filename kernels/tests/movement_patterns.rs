//! Random access patterns: every movement kernel on strided views agrees with itself on dense copies, element by
//! element, leaves the bytes around its result alone, and does not depend on the number of threads.

mod util;
mod views;
use birsim_kernels::access::{Dst, Imm, Input, Pair, Pattern, Src};
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::dma::{self, Cce, TransposeOps};
use birsim_kernels::fill::memset_const;
use birsim_kernels::gather::gather;
use birsim_kernels::iota::{Affine, AffineSelect, affine_select, iota};
use birsim_kernels::range::{RangeSelect, range_select};
use birsim_kernels::search::{match_replace, max_index, max8};
use birsim_kernels::select::{CopyPredicated, copy_predicated, select};
use birsim_kernels::shuffle::{stream_shuffle, stream_transpose};
use birsim_kernels::{Dtype, Named, Profile};
use util::patterns::{LARGE, Operand, Tally, factors, pools, seed, spread};
use util::{Rng, keep};
use views::Tensor;

const P: Profile = Profile::reference();

/// A random operand of `lanes` x `len`, its free dimension split at random.
fn shaped(rng: &mut Rng, dtype: Dtype, lanes: u32, len: u32, overlap: bool) -> Operand {
    let parts = 1 + rng.below(3) as usize;
    let nums = [vec![lanes], factors(rng, u64::from(len), parts)].concat();
    spread(rng, dtype, &nums, overlap)
}

const PLAIN: [Dtype; 16] = [
    Dtype::Uint8,
    Dtype::Int8,
    Dtype::Float8e3,
    Dtype::Float8e4,
    Dtype::Float8E4m3fn,
    Dtype::Float8E8m0fnu,
    Dtype::Float8e5,
    Dtype::Uint16,
    Dtype::Int16,
    Dtype::Bfloat16,
    Dtype::Float16,
    Dtype::Uint32,
    Dtype::Int32,
    Dtype::Float32,
    Dtype::Float32r,
    Dtype::Int64,
];

type Kernel = fn(&[Src], &mut Dst) -> birsim_kernels::Result<()>;

/// Kernels over operands of one shape; the first operand is a predicate of zeros and ones.
const SAME_SHAPE: &[(&str, Kernel)] = &[
    ("memset", |_, d| memset_const(0x0123_4567_89AB_CDEF, d)),
    ("iota", |_, d| {
        let len = d.lane_len() as u32;
        iota(&Affine { base: -5, pattern: &[(3, len)], channel_multiplier: -2 }, d, &P)
    }),
    ("affine_select", |s, d| {
        let value = Affine { base: -2, pattern: &[(1, d.lane_len() as u32)], channel_multiplier: -1 };
        affine_select(&AffineSelect { value, compare_op: AluOp::IsGe, fill_value: 1.5 }, &s[1], d, &P)
    }),
    ("select", |s, d| select(&s[0], Some(&Input::View(s[1])), Some(&Input::View(s[2])), d, &P)),
    ("select_number", |s, d| select(&s[0], Some(&Input::Imm(Imm::f32(-3.5))), Some(&Input::View(s[2])), d, &P)),
    ("copy_predicated", |s, d| {
        let p = CopyPredicated { reverse_pred: true, on_false: None, epilogue: None };
        copy_predicated(&p, &s[0], &Input::View(s[1]), d, &P)
    }),
    ("select_reduce", |s, d| {
        let p = CopyPredicated { reverse_pred: false, on_false: Some(Input::View(s[2])), epilogue: None };
        copy_predicated(&p, &s[0], &Input::View(s[1]), d, &P)
    }),
    ("range_select", |s, d| {
        let p = RangeSelect {
            base: 3,
            compare_op0: AluOp::IsGe,
            compare_op1: AluOp::IsLt,
            fill_value: -1.0,
            num_active_channels: 0,
            epilogue: None,
        };
        range_select(&p, &s[1], &Input::Imm(Imm::f32(5.)), &Input::Imm(Imm::f32(900.)), d, &P)
    }),
    ("shuffle", |s, d| {
        let mask: Vec<u8> = (0..32).map(|i| if i % 3 == 0 { 255 } else { i % 2 }).collect();
        if s[1].dtype() == d.dtype() && d.lanes() > 1 { stream_shuffle(&mask, &s[1], d) } else { Ok(()) }
    }),
    ("dma_copy", |s, d| dma::transpose(TransposeOps::None, &s[1], d, &P)),
    ("replicate", |s, d| dma::replicate(&s[1], d, &P)),
    ("cce", |s, d| dma::cce(&Cce { op: AluOp::Add, constants: &[2.0, -0.5] }, &[s[1], s[2]], d, &P)),
    ("accumulate", |s, d| {
        let op = if d.dtype().is_reducible() { MemoryReductionOp::Add } else { MemoryReductionOp::Copy };
        dma::accumulate_copy(op, &s[1], d, &P)
    }),
];

#[test]
fn strided_views_agree_with_dense_ones() {
    let mut seen = std::collections::BTreeSet::new();
    let (mut tally, pools, start) = (Tally::default(), pools(), seed());
    for case in 0..4000u64 {
        let seed = start.wrapping_add(case);
        let mut dice = Rng(seed);
        let (name, kernel) = dice.pick(SAME_SHAPE);
        let lanes = dice.pick(&[0, 1, 2, 3, 7, 33]);
        let len = match case % 100 {
            0 => 65_536 / lanes.max(1),
            _ => dice.pick(&[0, 1, 2, 6, 30, 31, 1024, 1030]) / if lanes > 3 { 10 } else { 1 },
        };
        let packed = [Dtype::Float4E2m1fnX4, Dtype::Float8E4m3fnX4, Dtype::Float8E5m2X4, Dtype::Uint64];
        let moves_only = matches!(name, "memset" | "shuffle" | "dma_copy" | "copy_predicated");
        let to = if moves_only && dice.below(4) == 0 { dice.pick(&packed) } else { dice.pick(&PLAIN) };
        let from = if packed.contains(&to) || dice.below(2) == 0 { to } else { dice.pick(&PLAIN) };
        // Kernels that keep or combine old values read them: overlapping results would not be defined.
        let reads_dst = matches!(name, "copy_predicated" | "accumulate" | "shuffle");
        let mut pred = shaped(&mut dice, Dtype::Uint8, lanes, len, true);
        let bits: Vec<u8> = (0..lanes as usize * len as usize).map(|_| dice.below(2) as u8).collect();
        pred.set(|k| vec![bits[k]]);
        let (a, b) = (shaped(&mut dice, from, lanes, len, true), shaped(&mut dice, from, lanes, len, true));
        let mut out = shaped(&mut dice, to, lanes, len, !reads_dst);
        let (dp, da, db, mut dout) = (pred.dense(), a.dense(), b.dense(), out.dense());
        let context = format!("BIRSIM_SEED={start} case {case}: {name} {from} to {to}, {:?}", out.pairs);
        kernel(&[dp.src(), da.src(), db.src()], &mut dout.dst()).unwrap_or_else(|e| panic!("{context}: {e}"));
        let want = out.after(&dout.bytes);
        tally.case(&a, &out);
        let before = out.bytes.clone();
        let ins = [pred.src(), a.src(), b.src()];
        kernel(&ins, &mut out.dst()).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert!(out.bytes == want, "{context}");
        // All patterns as lists of offsets.
        let lists = [&pred, &a, &b].map(|o| Src::new(&o.bytes, keep(o.listed())).unwrap());
        let mut again = before.clone();
        kernel(&lists, &mut Dst::new(&mut again, keep(out.listed())).unwrap()).unwrap();
        assert!(again == want, "{context}: listed patterns differ");
        tally.general_path += 1;
        if lanes as usize * len as usize >= LARGE {
            tally.threaded += 1;
            for pool in &pools {
                again.clone_from(&before);
                pool.install(|| kernel(&ins, &mut Dst::new(&mut again, keep(out.strided())).unwrap())).unwrap();
                assert!(again == want, "{context}: differs on {} threads", pool.current_num_threads());
            }
        }
        seen.insert((name, to.name()));
    }
    tally.check(4000);
    // Every kernel has met most dtypes.
    assert!(seen.len() > SAME_SHAPE.len() * 12, "{}", seen.len());
}

#[test]
fn transposes_agree_with_dense_ones() {
    for seed in 0..1500u64 {
        let mut dice = Rng(seed ^ 0xABCD);
        let dtype = dice.pick(Dtype::ALL);
        if dice.below(2) == 0 {
            let (rows, cols) = dice.pick(&[(1, 32), (5, 7), (32, 32), (64, 32), (32, 64), (20, 31)]);
            let shape = if rows % 32 == 0 && cols % 32 == 0 { (rows, cols) } else { (cols, rows) };
            let a = shaped(&mut dice, dtype, rows, cols, true);
            let mut out = shaped(&mut dice, dtype, shape.0, shape.1, false);
            let (da, mut dout) = (a.dense(), out.dense());
            stream_transpose(&da.src(), &mut dout.dst()).unwrap();
            let want = out.after(&dout.bytes);
            stream_transpose(&a.src(), &mut out.dst()).unwrap();
            assert!(out.bytes == want, "seed {seed}");
            continue;
        }
        let op = dice.pick(TransposeOps::ALL);
        let nums = [2u32, 3, 1 + dice.below(4) as u32, 1 + dice.below(9) as u32];
        let total: u32 = nums.iter().product();
        let steps = [200i64, 60, 14, 1].map(|s| if dice.below(3) == 0 { -s } else { s });
        let size = dtype.size() as i64;
        let pairs: Vec<Pair> = steps.into_iter().zip(nums).map(|(s, num)| Pair { stride: s * size, num }).collect();
        let bytes = (0..800 * size).map(|_| dice.next() as u8).collect();
        let a = Operand { dtype, base: 400 * size, pairs, bytes };
        let dense = a.dense();
        let mut out = shaped(&mut dice, dtype, 1, total, false);
        let mut dout = out.dense();
        dma::transpose(op, &dense.src(), &mut dout.dst(), &P).unwrap();
        let want = out.after(&dout.bytes);
        dma::transpose(op, &a.src(), &mut out.dst(), &P).unwrap();
        assert!(out.bytes == want, "seed {seed} {op}");
    }
}

#[test]
fn searches_and_gathers_agree_with_dense_ones() {
    for seed in 0..600u64 {
        let mut dice = Rng(seed ^ 0x5EA2C4);
        let (lanes, len) = (dice.pick(&[1, 3, 16]), dice.pick(&[8, 30, 1025]));
        let dtype = dice.pick(&[Dtype::Int8, Dtype::Bfloat16, Dtype::Float8e4]);
        let data = shaped(&mut dice, dtype, lanes, len, true);
        let (dd, mut values) = (data.dense(), Tensor::filled(Dtype::Float32, &[lanes, 8], 0));
        max8(&dd.src(), &mut values.dst(), &P).unwrap();
        let mut out = shaped(&mut dice, Dtype::Float32, lanes, 8, false);
        let want = out.after(&values.bytes);
        max8(&data.src(), &mut out.dst(), &P).unwrap();
        assert!(out.bytes == want, "seed {seed} max");

        let mut index = Tensor::filled(Dtype::Uint32, &[lanes, 8], 0);
        max_index(&values.src(), &dd.src(), &mut index.dst(), &P).unwrap();
        let mut out = shaped(&mut dice, Dtype::Uint32, lanes, 8, false);
        let want = out.after(&index.bytes);
        max_index(&values.src(), &data.src(), &mut out.dst(), &P).unwrap();
        assert!(out.bytes == want, "seed {seed} index");

        let mut struck = Tensor::filled(Dtype::Float32, &[lanes, len], 0);
        match_replace(-1.5, &values.src(), &dd.src(), &mut struck.dst(), Some(&mut index.dst()), &P).unwrap();
        let mut out = shaped(&mut dice, Dtype::Float32, lanes, len, false);
        let want = out.after(&struck.bytes);
        match_replace(-1.5, &values.src(), &data.src(), &mut out.dst(), None, &P).unwrap();
        assert!(out.bytes == want, "seed {seed} replace");

        let mut at = shaped(&mut dice, Dtype::Uint16, lanes, 30, false);
        let picks: Vec<u16> = (0..lanes * 30).map(|_| dice.below(u64::from(len)) as u16).collect();
        at.set(|k| picks[k].to_le_bytes().to_vec());
        let mut taken = Tensor::filled(dtype, &[lanes, 30], 0);
        gather(&dd.src(), &at.dense().src(), &mut taken.dst(), &P).unwrap();
        let mut out = shaped(&mut dice, dtype, lanes, 30, false);
        let want = out.after(&taken.bytes);
        gather(&data.src(), &at.src(), &mut out.dst(), &P).unwrap();
        assert!(out.bytes == want, "seed {seed} gather");
    }
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let (lanes, len) = (128u32, 1500u32);
    let mut dice = Rng(99);
    let bits: Vec<u8> = (0..lanes * len).map(|_| dice.below(2) as u8).collect();
    let raw: Vec<u8> = (0..lanes * len * 4).map(|_| dice.next() as u8).collect();
    let pred = Tensor::of(Dtype::Uint8, &[lanes, len], &bits);
    let a = Tensor { dtype: Dtype::Float32, shape: vec![lanes, len], bytes: raw.clone() };
    for (name, kernel) in SAME_SHAPE {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out =
                Tensor { dtype: Dtype::Bfloat16, shape: vec![lanes, len], bytes: raw[..raw.len() / 2].to_vec() };
            pool.install(|| kernel(&[pred.src(), a.src(), a.src()], &mut out.dst()).unwrap());
            out.bytes
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5), "{name}");
    }
    // Explicit offsets take the general path of every kernel.
    let offsets: Vec<usize> = (0..(lanes * len) as usize).rev().map(|i| i * 2).collect();
    let mut out = Tensor::filled(Dtype::Bfloat16, &[lanes, len], 0);
    let listed = Pattern::listed(Dtype::Bfloat16, &[lanes, len], offsets.into()).unwrap();
    let mut plain = Tensor::filled(Dtype::Bfloat16, &[lanes, len], 0);
    for (name, kernel) in SAME_SHAPE {
        out.bytes.fill(0);
        plain.bytes.fill(0);
        kernel(&[pred.src(), a.src(), a.src()], &mut Dst::new(&mut out.bytes, keep(listed.clone())).unwrap()).unwrap();
        kernel(&[pred.src(), a.src(), a.src()], &mut plain.dst()).unwrap();
        let back: Vec<[u8; 2]> = out.bytes.as_chunks::<2>().0.iter().rev().copied().collect();
        assert!(back.as_flattened() == plain.bytes, "{name}");
    }
}
