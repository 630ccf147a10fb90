//! TensorReduce and Pool.

mod util;

use birsim_kernels::access::{Dst, Pair, Pattern, Src};
use birsim_kernels::alu::{AluOp, Operation, float_op};
use birsim_kernels::pool::{PoolFunctionType, pool};
use birsim_kernels::reduce::{AxisListType, TensorReduce, tensor_reduce};
use birsim_kernels::{Code, Dtype, Profile};
use util::{Rng, Tensor, keep};

const R: Profile = Profile::reference();

fn reduce(op: AluOp, axis: AxisListType) -> TensorReduce {
    TensorReduce { op, axis, negate: false, apply_transpose: false, accumulate: None, on_pool: false }
}

fn run(p: &TensorReduce, x: &Tensor, dtype: Dtype, nums: &[u32]) -> Tensor {
    let mut y = Tensor::zeros(dtype, nums);
    y.write(|d| tensor_reduce(p, &x.src(), d, &R)).unwrap();
    y
}

#[test]
fn fault_65_folds_are_strictly_left_to_right() {
    // One number shows the order: left to right 0, pairwise 1, right to left 2.
    let big = 16_777_216.0;
    let x = Tensor::f32(&[1, 4], &[big, 1.0, 1.0, -big]);
    assert_eq!(run(&reduce(AluOp::Add, AxisListType::X), &x, Dtype::Float32, &[1, 1]).values(), [0.0]);
    let x = Tensor::f32(&[1, 3], &[10.0, 3.0, 4.0]);
    assert_eq!(run(&reduce(AluOp::Subtract, AxisListType::X), &x, Dtype::Float32, &[1, 1]).values(), [3.0]);
}

#[test]
fn average_divides_first() {
    let x = Tensor::f32(&[1, 3], &[1.0, 2.0, 4.0]);
    assert_eq!(run(&reduce(AluOp::Average, AxisListType::X), &x, Dtype::Float32, &[1, 1]).bits(), [0x4015_5556]);
}

#[test]
fn every_axis_against_a_plain_loop() {
    let nums = [3u32, 4, 5, 6];
    let x = Tensor::f32(&nums, &Rng(1).floats(360));
    let v = x.values();
    for (axis, folded) in [
        (AxisListType::X, 1),
        (AxisListType::XY, 2),
        (AxisListType::XYZ, 3),
        (AxisListType::XYZW, 4),
        (AxisListType::XYZWC, 4),
    ] {
        let n: usize = nums[4 - folded..].iter().map(|n| *n as usize).product();
        let out: Vec<u32> = if folded == 4 { vec![1, 1] } else { nums[..4 - folded].to_vec() };
        for op in [AluOp::Add, AluOp::Max, AluOp::Average] {
            let expected: Vec<f32> = v
                .chunks(n)
                .map(|row| {
                    let r = 1.0 / n as f32;
                    let seed = if op == AluOp::Average { row[0] / n as f32 } else { row[0] };
                    row[1..].iter().fold(seed, |a, x| match op {
                        AluOp::Add => a + x,
                        AluOp::Max => {
                            if a > *x {
                                a
                            } else {
                                *x
                            }
                        }
                        _ => a + r * x,
                    })
                })
                .collect();
            assert_eq!(run(&reduce(op, axis), &x, Dtype::Float32, &out).values(), expected, "{axis} {op}");
        }
    }
    let by_partition: Vec<f32> = (0..120).map(|k| (v[k] + v[120 + k]) + v[240 + k]).collect();
    assert_eq!(run(&reduce(AluOp::Add, AxisListType::C), &x, Dtype::Float32, &[1, 120]).values(), by_partition);
}

#[test]
fn long_and_short_rows_of_every_grouping_agree_with_a_plain_loop() {
    for (lanes, rows, n) in
        [(1, 1, 5000), (9, 1, 2049), (128, 1, 300), (3, 40, 7), (2, 9, 128), (2, 9, 129), (5, 3, 257), (1, 2000, 1)]
    {
        let x = Tensor::f32(&[lanes, rows, n], &Rng(u64::from(n)).floats((lanes * rows * n) as usize));
        let expected: Vec<f32> =
            x.values().chunks(n as usize).map(|row| row[1..].iter().fold(row[0], |a, x| a - x)).collect();
        let got = run(&reduce(AluOp::Subtract, AxisListType::X), &x, Dtype::Float32, &[lanes, rows]);
        assert_eq!(got.values(), expected, "{lanes} {rows} {n}");
    }
}

#[test]
fn negate_comes_before_the_accumulate_fold() {
    let x = Tensor::f32(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mut y = Tensor::f32(&[2, 1], &[100.0, 200.0]);
    let p = TensorReduce { negate: true, accumulate: Some(AluOp::Subtract), ..reduce(AluOp::Add, AxisListType::X) };
    y.write(|d| tensor_reduce(&p, &x.src(), d, &R)).unwrap();
    assert_eq!(y.values(), [-103.0, -207.0], "acc = accFn(acc, old)");
}

#[test]
fn d4_integer_reductions() {
    let x = Tensor::i32(&[1, 3], &[0x0100_0001, 1, 1]);
    assert_eq!(run(&reduce(AluOp::Add, AxisListType::X), &x, Dtype::Int32, &[1, 1]).ints(), [0x0100_0003]);
    assert_eq!(run(&reduce(AluOp::Add, AxisListType::X), &x, Dtype::Float32, &[1, 1]).values(), [16_777_216.0]);
    let x = Tensor::i32(&[1, 3], &[i32::MAX, 5, -5]);
    assert_eq!(run(&reduce(AluOp::Add, AxisListType::X), &x, Dtype::Int32, &[1, 1]).ints(), [i32::MAX - 5]);
    let pool = TensorReduce { on_pool: true, ..reduce(AluOp::Add, AxisListType::X) };
    assert_eq!(run(&pool, &x, Dtype::Int32, &[1, 1]).ints(), [i32::MAX], "wraps and comes back");
    let x = Tensor::i32(&[1, 3], &[0x0FF0, 0x00FF, 0x1234_00F1]);
    assert_eq!(run(&reduce(AluOp::BitwiseAnd, AxisListType::X), &x, Dtype::Int32, &[1, 1]).ints(), [0x00F0]);
    let negated = TensorReduce { negate: true, ..reduce(AluOp::BitwiseOr, AxisListType::X) };
    assert_eq!(run(&negated, &x, Dtype::Int32, &[1, 1]).ints(), [-0x1234_0FFF]);
}

#[test]
fn apply_transpose_swaps_inside_tiles() {
    let x = Tensor::f32(&[64, 64], &(0..4096).map(|k| k as f32).collect::<Vec<_>>());
    let p = TensorReduce { apply_transpose: true, ..reduce(AluOp::Subtract, AxisListType::X) };
    let at = |lane: usize, e: usize| ((lane & !31 | e & 31) * 64 + (e & !31 | lane & 31)) as f32;
    let expected: Vec<f32> = (0..64).map(|l| (1..64).fold(at(l, 0), |a, e| a - at(l, e))).collect();
    assert_eq!(run(&p, &x, Dtype::Float32, &[64, 1]).values(), expected);
    let odd = Tensor::f32(&[32, 31], &[0.0; 992]);
    let mut y = Tensor::zeros(Dtype::Float32, &[32, 1]);
    assert_eq!(y.write(|d| tensor_reduce(&p, &odd.src(), d, &R)).err().unwrap().code(), Code::S008);
}

#[test]
fn refused_reductions() {
    let x = Tensor::f32(&[2, 3], &[1.0; 6]);
    let mut one = Tensor::zeros(Dtype::Float32, &[1, 1]);
    let mut two = Tensor::zeros(Dtype::Float32, &[2, 1]);
    let fail =
        |y: &mut Tensor, p: TensorReduce, x: &Tensor| y.write(|d| tensor_reduce(&p, &x.src(), d, &R)).err().unwrap();
    let e = fail(&mut one, reduce(AluOp::Add, AxisListType::XYZ), &x);
    assert!(e.code() == Code::S008 && e.what().contains("num_dims, which is 3"), "{}", e.what());
    assert_eq!(fail(&mut one, reduce(AluOp::Add, AxisListType::X), &x).code(), Code::S002);
    let e = fail(&mut two, reduce(AluOp::Mod, AxisListType::X), &x);
    assert!(e.code() == Code::S006 && e.what().contains("visitInstTensorReduce(): op mod is not supported yet"));
    assert_eq!(fail(&mut one, reduce(AluOp::Mult, AxisListType::C), &x).code(), Code::S006);
    let negate = TensorReduce { negate: true, ..reduce(AluOp::Add, AxisListType::XYZWC) };
    assert_eq!(fail(&mut one, negate, &x).code(), Code::S008);
    let empty = Tensor::f32(&[2, 0], &[]);
    assert_eq!(fail(&mut two, reduce(AluOp::Add, AxisListType::X), &empty).code(), Code::S008);
    let mut none = Tensor::zeros(Dtype::Float32, &[0, 1]);
    let nothing = Tensor::f32(&[0, 3], &[]);
    none.write(|d| tensor_reduce(&reduce(AluOp::Add, AxisListType::X), &nothing.src(), d, &R)).unwrap();
}

#[test]
fn d25_average_pool_order_and_scaling() {
    let mut rng = Rng(25);
    for n in [1usize, 3, 4, 7, 25, 1024, 1025, 4099] {
        let v = rng.floats(n);
        let x = Tensor::f32(&[1, 1, n as u32], &v);
        let mut y = Tensor::zeros(Dtype::Float32, &[1, 1]);
        // Pairs [partition, window, window]: nothing but the window is left of the free dimensions.
        y.write(|d| pool(PoolFunctionType::Avg, &x.src(), d, &R)).unwrap();
        let whole = n / 4 * 4;
        let s: Vec<f32> = (0..4).map(|l| v[..whole].iter().skip(l).step_by(4).fold(0.0, |a, x| a + x)).collect();
        let sum = v[whole..].iter().fold((s[0] + s[2]) + (s[1] + s[3]), |a, x| a + x);
        assert_eq!(y.values(), [(f64::from(sum) * (1.0 / n as f64)) as f32], "{n}");
    }
}

#[test]
fn max_pool_ignores_nan_and_starts_at_the_lowest_number() {
    let inf = f32::INFINITY;
    let x = Tensor::f32(&[1, 3, 2, 2], &[f32::NAN, 3.0, -1.0, f32::NAN, -inf, -inf, -inf, -inf, 1.0, 2.0, inf, 0.0]);
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 3]);
    y.write(|d| pool(PoolFunctionType::Max, &x.src(), d, &R)).unwrap();
    assert_eq!(y.values(), [3.0, -f32::MAX, inf]);
}

#[test]
fn overlapping_windows_and_wide_ones() {
    let image: Vec<f32> = (0..36).map(|k| ((k * 17) % 23) as f32).collect();
    let x = Tensor::f32(&[1, 36], &image);
    // 3 x 3 windows with step 1 over a 6 x 6 image: five pairs.
    let pairs = [(144, 1), (24, 4), (4, 4), (24, 3), (4, 3)].map(|(stride, num)| Pair { stride, num });
    let src = x.src().reshaped(keep(Pattern::new(Dtype::Float32, 0, &pairs).unwrap())).unwrap();
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 4, 4]);
    y.write(|d| pool(PoolFunctionType::Max, &src, d, &R)).unwrap();
    for (k, got) in y.values().iter().enumerate() {
        let (r, c) = (k / 4, k % 4);
        let expected = (0..9).map(|w| image[(r + w / 3) * 6 + c + w % 3]).fold(f32::MIN, f32::max);
        assert_eq!(*got, expected);
    }
    let mut bad = Tensor::zeros(Dtype::Float32, &[1, 4]);
    assert_eq!(bad.write(|d| pool(PoolFunctionType::Max, &src, d, &R)).err().unwrap().code(), Code::S002);
    let one = Tensor::f32(&[4], &[1.0; 4]);
    let mut out = vec![0; 4];
    let mut dst = Dst::new(&mut out, keep(Pattern::dense(Dtype::Float32, &[1, 1]).unwrap())).unwrap();
    assert_eq!(pool(PoolFunctionType::Max, &one.src(), &mut dst, &R).unwrap_err().code(), Code::S008);
}

#[test]
fn maxima_with_nan_and_zeros_keep_the_sequential_result() {
    let mut rng = Rng(40);
    for k in 0..400 {
        let n = 70 + rng.below(1500) as usize;
        let specials = [f32::NAN, -f32::NAN, 0.0, -0.0, -1.0, f32::NEG_INFINITY];
        let v: Vec<f32> = (0..n)
            .map(|_| match (k % 4, rng.below(20)) {
                (0, _) => -1.0 - rng.below(50) as f32,
                (1, _) => rng.pick(&[0.0, -0.0, -1.0]),
                (_, 0) => rng.pick(&specials),
                _ => -(rng.below(9) as f32),
            })
            .collect();
        let x = Tensor::f32(&[1, n as u32], &v);
        for (op, wins) in [(AluOp::Max, (|a, x| a > x) as fn(f32, f32) -> bool), (AluOp::Min, |a, x| a < x)] {
            let expected = v[1..].iter().fold(v[0], |a, x| if wins(a, *x) { a } else { *x });
            let got = run(&reduce(op, AxisListType::X), &x, Dtype::Float32, &[1, 1]);
            assert_eq!(got.bits(), [expected.to_bits()], "{op} {v:?}");
        }
    }
}

#[test]
fn groups_of_rows_agree_with_a_plain_loop_for_every_operation_and_alignment() {
    let mut rng = Rng(41);
    let device = Profile::device();
    let ops = [
        AluOp::Add,
        AluOp::Subtract,
        AluOp::Mult,
        AluOp::Divide,
        AluOp::Max,
        AluOp::Min,
        AluOp::AbsMax,
        AluOp::IsGt,
        AluOp::LogicalAnd,
        AluOp::ModInt,
    ];
    for (rows, n) in [(16, 129), (37, 130), (48, 1000), (15, 300), (33, 161)] {
        // Some elements in front, so that rows begin anywhere in a cache line.
        for skip in [0usize, 1, 3] {
            let gap = n + skip;
            let values: Vec<f32> = (0..rows * gap + skip)
                .map(|_| if rng.below(300) == 0 { f32::NAN } else { 0.9 + rng.below(1000) as f32 / 4096.0 })
                .collect();
            let pairs = [Pair { stride: gap as i64 * 4, num: rows as u32 }, Pair { stride: 4, num: n as u32 }];
            let x = Src::new(
                bytemuck::cast_slice(&values),
                keep(Pattern::new(Dtype::Float32, skip as i64 * 4, &pairs).unwrap()),
            )
            .unwrap();
            for op in ops {
                let f = float_op(op, &device).unwrap();
                let row = |r: usize| &values[skip + r * gap..][..n];
                let expected: Vec<f32> =
                    (0..rows).map(|r| row(r)[1..].iter().fold(row(r)[0], |a, x| f.call(a, *x))).collect();
                let mut y = Tensor::zeros(Dtype::Float32, &[rows as u32, 1]);
                y.write(|d| tensor_reduce(&reduce(op, AxisListType::X), &x, d, &device)).unwrap();
                for (got, want) in y.values().iter().zip(&expected) {
                    assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{op} {rows} x {n}");
                }
            }
        }
    }
}

#[test]
fn d53_sums_of_64_bit_integers_saturate_in_32_bits() {
    let x = Tensor::i64(&[1, 3], &[i64::from(i32::MAX), i64::from(i32::MAX), 5]);
    let p = TensorReduce {
        op: AluOp::Add,
        axis: AxisListType::X,
        negate: false,
        apply_transpose: false,
        accumulate: None,
        on_pool: true,
    };
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 1]);
    y.write(|d| tensor_reduce(&p, &x.src(), d, &Profile::reference())).unwrap();
    assert_eq!(y.ints(), [i32::MAX]);
}
