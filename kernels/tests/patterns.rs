//! Random access patterns: the kernels against a reference walk that is written here, byte for byte.
//!
//! Every destination is compared whole, so bytes outside its pattern must not change. Each case also runs with its
//! patterns given as plain offset lists (the general path), and large ones on 1, 2 and 5 threads. The seed is printed;
//! set `BIRSIM_SEED` to repeat a run.

mod util;

use birsim_kernels::access::{Dst, Imm, Input, Pair, Pattern, Source, Src};
use birsim_kernels::alu::{AluOp, Operation, address_op, float_op, int_op};
use birsim_kernels::cast::{decode_f32_value, decode_i32, encode_f32, encode_i32};
use birsim_kernels::copy::copy;
use birsim_kernels::elementwise::{
    TensorScalar, TensorScalarPtr, TensorTensor, tensor_scalar, tensor_scalar_ptr, tensor_tensor,
};
use birsim_kernels::reduce::{AxisListType, TensorReduce, tensor_reduce};
use birsim_kernels::{Dtype, Profile, Result};
use std::sync::Arc;
use util::patterns::{LARGE, Operand, Tally, counts, factors, operand, pools, seed, walk};
use util::{Rng, keep};

const CASES: usize = 20_000;

const PLAIN: [Dtype; 17] = [
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
    Dtype::Uint64,
    Dtype::Int64,
];

/// What a case runs.
#[derive(Debug)]
enum Kernel {
    Copy,
    Scalar(TensorScalar),
    Column(TensorScalarPtr),
    Tensor(TensorTensor),
    Reduce(TensorReduce),
}

struct Case {
    kernel: Kernel,
    a: Operand,
    /// Second tensor or column; finite values, because the sign of NaN op NaN is not promised.
    b: Operand,
    out: Operand,
}

fn case(rng: &mut Rng) -> Case {
    let (lanes, len) = counts(rng);
    let shape = |rng: &mut Rng| {
        let parts = 1 + rng.below(4) as usize;
        let mut nums = vec![lanes as u32];
        nums.extend(factors(rng, len, parts));
        nums
    };
    let (mut from, mut to) = (rng.pick(&PLAIN), rng.pick(&PLAIN));
    let floats = [AluOp::Add, AluOp::Subtract, AluOp::Mult, AluOp::Divide, AluOp::Max, AluOp::IsGt, AluOp::AbsMin];
    let ints = [AluOp::BitwiseXor, AluOp::LogicalShiftRight, AluOp::ArithShiftLeft, AluOp::BitwiseNot];
    let kernel = match rng.below(10) {
        0..=2 => {
            if rng.below(2) == 0 {
                from = rng.pick(Dtype::ALL);
                to = from;
            }
            Kernel::Copy
        }
        3..=4 => {
            let ops: &[AluOp] = if rng.below(3) == 0 { &ints } else { &floats };
            let (op0, op1) = (rng.pick(ops), rng.pick(ops));
            let (const0, const1) = (rng.below(9) as f64 - 4.0, rng.below(7) as f64 - 2.0);
            Kernel::Scalar(TensorScalar {
                op0,
                const0,
                reverse0: rng.below(2) == 0,
                op1,
                const1,
                reverse1: rng.below(2) == 0,
            })
        }
        5 => Kernel::Column(TensorScalarPtr {
            op0: rng.pick(&floats[..6]),
            reverse0: rng.below(2) == 0,
            op1: AluOp::Bypass,
            reverse1: false,
            address: rng.below(3) == 0,
        }),
        6..=7 => {
            let ops: &[AluOp] = if rng.below(3) == 0 { &ints } else { &floats };
            Kernel::Tensor(TensorTensor { op: rng.pick(ops), on_pool: false })
        }
        _ => Kernel::Reduce(TensorReduce {
            op: rng.pick(&[AluOp::Add, AluOp::Subtract, AluOp::Max, AluOp::BitwiseXor]),
            axis: rng.pick(&[AxisListType::X, AxisListType::XY, AxisListType::XYZ]),
            negate: rng.below(2) == 0,
            apply_transpose: false,
            accumulate: None,
            on_pool: false,
        }),
    };
    let float8 = |d: Dtype| d.is_float() && d.size() == 1;
    let nums = shape(rng);
    let a = operand(rng, from, &nums);
    let mut second = if float8(to) { Dtype::Bfloat16 } else { rng.pick(&[to, Dtype::Float32, Dtype::Int16]) };
    if second.is_packed() || second.size() == 8 && rng.below(2) == 0 {
        second = Dtype::Float32;
    }
    let mut b = match kernel {
        Kernel::Column(_) => operand(rng, second, &[lanes as u32, 1]),
        _ => {
            let nums = shape(rng);
            operand(rng, second, &nums)
        }
    };
    for at in walk(&b) {
        let small = (rng.below(33) as f32 - 16.0) * 0.5;
        encode_f32(second, Profile::reference().fp8(), &[small], &mut b.bytes[at..at + second.size()]);
    }
    let nums = match &kernel {
        Kernel::Reduce(p) => {
            // One output per row; the axis is cut to what the input has.
            let folded = (p.axis as usize + 1).min(a.pairs.len() - 1);
            a.pairs[..a.pairs.len() - folded].iter().map(|p| p.num).collect()
        }
        Kernel::Copy if rng.below(2) == 0 => factors(rng, lanes * len, 3),
        _ => shape(rng),
    };
    let mut kernel = kernel;
    if let Kernel::Reduce(p) = &mut kernel {
        let folded = (p.axis as usize).min(a.pairs.len() - 2);
        p.axis = [AxisListType::X, AxisListType::XY, AxisListType::XYZ][folded];
    }
    Case { kernel, a, b, out: operand(rng, to, &nums) }
}

fn run(c: &Case, [a, b, out]: [&Pattern; 3], bytes: &mut [u8], profile: &Profile) -> Result<()> {
    let (a, b) = (Src::new(&c.a.bytes, keep(a.clone())).unwrap(), Src::new(&c.b.bytes, keep(b.clone())).unwrap());
    let mut dst = Dst::new(bytes, keep(out.clone())).unwrap();
    match &c.kernel {
        Kernel::Copy => copy(&a, &mut dst, profile),
        Kernel::Scalar(p) => tensor_scalar(p, &Source::Apart(a), &mut dst, profile),
        Kernel::Column(p) => {
            tensor_scalar_ptr(p, &Source::Apart(a), Some(&Input::View(b)), None, &mut dst, None, profile)
        }
        Kernel::Tensor(p) => tensor_tensor(p, &Source::Apart(a), &Source::Apart(b), &mut dst, None, profile),
        Kernel::Reduce(p) => tensor_reduce(p, &a, &mut dst, profile),
    }
}

/// One element of the reference: decode, apply, encode, one at a time.
fn reference(c: &Case, profile: &Profile) -> Vec<u8> {
    let mut bytes = c.out.bytes.clone();
    let (a, b, out) = (walk(&c.a), walk(&c.b), walk(&c.out));
    let (from, to, size) = (c.a.dtype, c.out.dtype, c.out.dtype.size());
    let wide = |d: Dtype, e: &[u8]| {
        let mut v = [0i64];
        birsim_kernels::cast::decode_i64(d, e, &mut v);
        v[0]
    };
    let int = |d: Dtype, e: &[u8]| {
        let mut v = [0i32];
        decode_i32(d, e, &mut v);
        v[0]
    };
    let f = |op, x: f32, y: f32, reverse: bool| {
        let op = float_op(op, profile).unwrap();
        if reverse { op.call(y, x) } else { op.call(x, y) }
    };
    let g = |op, x: i32, y: i32, reverse: bool| {
        let op = int_op(op).unwrap();
        if reverse { op.call(y, x) } else { op.call(x, y) }
    };
    let n = if out.is_empty() { 0 } else { a.len() / out.len() };
    for (i, at) in out.iter().enumerate() {
        let dst = &mut bytes[*at..*at + size];
        let (x, y) = (a.get(i).map(|at| c.a.element(*at)), b.get(i).map(|at| c.b.element(*at)));
        let mut put = |v: f32| encode_f32(to, profile.fp8(), &[v], &mut *dst);
        match &c.kernel {
            Kernel::Copy if from == to => dst.copy_from_slice(x.unwrap()),
            Kernel::Copy => put(decode_f32_value(from, x.unwrap())),
            Kernel::Scalar(p) if p.op0.is_bitvec() => {
                let v = g(p.op0, int(from, x.unwrap()), p.const0 as i32, p.reverse0);
                encode_i32(to, profile.fp8(), &[g(p.op1, v, p.const1 as i32, p.reverse1)], dst);
            }
            Kernel::Scalar(p) => {
                let v = f(p.op0, decode_f32_value(from, x.unwrap()), p.const0 as f32, p.reverse0);
                put(f(p.op1, v, p.const1 as f32, p.reverse1));
            }
            Kernel::Column(p) => {
                let s = c.b.element(b[i / (out.len() / c.a.lanes())]);
                if p.address {
                    let (x, s) = (wide(from, x.unwrap()), wide(c.b.dtype, s));
                    let op = address_op(p.op0).unwrap();
                    let v = if p.reverse0 { op.call(s, x) } else { op.call(x, s) };
                    birsim_kernels::cast::encode_i64(to, profile.fp8(), &[v], dst);
                } else {
                    put(f(p.op0, decode_f32_value(from, x.unwrap()), decode_f32_value(c.b.dtype, s), p.reverse0));
                }
            }
            Kernel::Tensor(p) => {
                let integers = from.is_integer() && c.b.dtype.is_integer() && int_op(p.op).is_ok();
                if p.op.is_bitvec() || integers {
                    let v = g(p.op, int(from, x.unwrap()), int(c.b.dtype, y.unwrap()), false);
                    let bits = 8 * to.size() as u32;
                    // Ruling D53.
                    let v = match to.is_integer() && bits < 32 && !p.op.is_bitvec() {
                        true if to.is_signed() => v.clamp(-1 << (bits - 1), (1 << (bits - 1)) - 1),
                        true => v.clamp(0, (1 << bits) - 1),
                        false => v,
                    };
                    encode_i32(to, profile.fp8(), &[v], dst);
                } else {
                    let (x, y) = (decode_f32_value(from, x.unwrap()), decode_f32_value(c.b.dtype, y.unwrap()));
                    put(f(p.op, x, y, false));
                }
            }
            Kernel::Reduce(p) => {
                let row = &a[i * n..(i + 1) * n];
                if p.op.is_bitvec() || from.is_integer() && to == Dtype::Int32 {
                    let row = row.iter().map(|at| int(from, c.a.element(*at)));
                    let v = row.reduce(|acc, x| g(p.op, acc, x, false)).unwrap();
                    encode_i32(to, profile.fp8(), &[if p.negate { v.saturating_neg() } else { v }], dst);
                } else {
                    let row = row.iter().map(|at| decode_f32_value(from, c.a.element(*at)));
                    let v = row.reduce(|acc, x| f(p.op, acc, x, false)).unwrap();
                    put(if p.negate { -v } else { v });
                }
            }
        }
    }
    bytes
}

/// Replaces NaN inputs of a reduction: NaN op NaN has no promised sign.
fn without_nan(o: &mut Operand) {
    for at in walk(o) {
        if decode_f32_value(o.dtype, o.element(at)).is_nan() {
            o.bytes[at..at + o.dtype.size()].fill(0);
        }
    }
}

#[test]
fn random_patterns_match_the_reference_walk() {
    let seed = seed();
    let mut rng = Rng(seed);
    // Everything a kernel may be asked to write, uint64 included.
    let profile = Profile { cast_to_uint64: true, ..Profile::reference() };
    let pools = pools();
    let mut tally = Tally::default();
    let mut k = 0;
    while tally.cases < CASES {
        k += 1;
        let mut c = case(&mut rng);
        if matches!(c.kernel, Kernel::Reduce(_)) {
            without_nan(&mut c.a);
            // Overlapping elements may have been patched into NaN again.
            if walk(&c.a).iter().any(|at| decode_f32_value(c.a.dtype, c.a.element(*at)).is_nan()) {
                continue;
            }
        }
        let strided = [&c.a, &c.b, &c.out].map(Operand::strided);
        let listed = [&c.a, &c.b, &c.out].map(Operand::listed);
        let empty_rows = matches!(c.kernel, Kernel::Reduce(_)) && strided[0].is_empty() && !strided[2].is_empty();
        let mut first = c.out.bytes.clone();
        let outcome = run(&c, strided.each_ref(), &mut first, &profile);
        let what = format!(
            "BIRSIM_SEED={seed} case {k}: {:?} {} {:?} to {} {:?}",
            c.kernel, c.a.dtype, c.a.pairs, c.out.dtype, c.out.pairs
        );
        if empty_rows {
            assert!(outcome.is_err(), "{what}");
            continue;
        }
        outcome.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(first == reference(&c, &profile), "{what}: differs from the walk");
        let mut again = c.out.bytes.clone();
        run(&c, listed.each_ref(), &mut again, &profile).unwrap();
        assert!(first == again, "{what}: listed pattern differs");
        tally.case(&c.a, &c.out);
        tally.general_path += 1;
        if strided[0].len() >= LARGE {
            tally.threaded += 1;
            for pool in &pools {
                again.clone_from(&c.out.bytes);
                pool.install(|| run(&c, strided.each_ref(), &mut again, &profile)).unwrap();
                assert!(first == again, "{what}: differs on {} threads", pool.current_num_threads());
            }
        }
    }
    tally.check(CASES);
    assert_eq!(tally.longest_row, 65_536);
}

#[test]
fn hostile_patterns_are_refused_or_harmless() {
    let mut rng = Rng(99);
    let wild = [i64::MIN, i64::MIN + 1, -1 << 60, -1, 0, 1, 4, 1 << 31, 1 << 59, 1 << 60, 1 << 62, i64::MAX];
    let nums = [0, 1, 2, 3, 1 << 16, u32::MAX];
    let bytes = [0u8; 64];
    let mut accepted = 0;
    for _ in 0..50_000 {
        let pairs: Vec<Pair> =
            (0..rng.below(10)).map(|_| Pair { stride: rng.pick(&wild), num: rng.pick(&nums) }).collect();
        let Ok(p) = Pattern::new(rng.pick(Dtype::ALL), rng.pick(&wild), &pairs) else { continue };
        for p in [p.clone(), p.flat(), p.clone().shifted(rng.pick(&wild)), p.shifted(rng.pick(&wild)).shifted(8)] {
            let _ = (p.lanes_disjoint(), p.is_contiguous(), p.extent(), p.flat().extent());
            assert_eq!(p.flat().len(), p.len());
            if let Ok(src) = Src::new(&bytes, keep(p)) {
                accepted += 1;
                if !src.is_empty() && src.len() < 1 << 20 {
                    let (lane, last) = (src.lanes() - 1, src.lane_len() - 1);
                    src.read_f32(lane, last, &mut [0.0]);
                    assert!(src.pattern().byte_of(lane, last) >= 0);
                }
            }
        }
    }
    assert!(accepted > 500, "{accepted}");
    let list = Pattern::listed(Dtype::Int32, &[2, 1], Arc::from([0usize, 8])).unwrap();
    for by in [-8, -9, i64::MIN, i64::MAX] {
        assert!(Src::new(&bytes, keep(list.clone().shifted(by))).is_err(), "{by}");
    }
    assert!(Src::new(&bytes, keep(list.shifted(52))).is_ok());
}

#[test]
fn flat_patterns_keep_the_order() {
    let mut rng = Rng(5);
    let mut disjoint = 0;
    for _ in 0..2000 {
        let (lanes, len) = (1 + rng.below(5), 1 + rng.below(40));
        let mut nums = vec![lanes as u32];
        nums.extend(factors(&mut rng, len, 7));
        let o = operand(&mut rng, Dtype::Int16, &nums);
        let (p, expected) = (o.strided(), walk(&o));
        for (k, at) in expected.iter().enumerate() {
            assert_eq!(p.flat().byte_of(0, k), *at as i64);
            assert_eq!(p.byte_of(k / len as usize, k % len as usize), *at as i64);
        }
        if p.elements_disjoint() {
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|w| w[1] - w[0] >= 2), "{:?}", o.pairs);
            disjoint += 1;
        }
        if p.lanes_disjoint() {
            let lane = |k: usize| expected[k * len as usize..(k + 1) * len as usize].iter();
            for (i, j) in (0..lanes as usize).flat_map(|i| (0..i).map(move |j| (i, j))) {
                assert!(lane(i).all(|a| lane(j).all(|b| a.abs_diff(*b) >= 2)), "{:?}", o.pairs);
            }
        }
    }
    assert!(disjoint > 500, "{disjoint}");
}

#[test]
fn immediates_fill_lanes_like_tensors() {
    let x = util::Tensor::f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let p = TensorScalarPtr { op0: AluOp::Add, reverse0: false, op1: AluOp::Bypass, reverse1: false, address: false };
    let mut y = util::Tensor::zeros(Dtype::Float16, &[2, 3]);
    let profile = Profile::reference();
    let half = Input::Imm(Imm { dtype: Dtype::Float16, bits: 0x3800 });
    y.write(|d| tensor_scalar_ptr(&p, &Source::Apart(x.src()), Some(&half), None, d, None, &profile)).unwrap();
    assert_eq!(y.values(), [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]);
}
