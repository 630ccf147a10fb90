//! The scan form of TensorScalarPtr and TensorScalarCache.

mod util;

use birsim_kernels::access::{Imm, Input, Source};
use birsim_kernels::accumulate::EngineAccumulationType as Acc;
use birsim_kernels::alu::{AluOp, Operation, float_op};
use birsim_kernels::scan::{TSCMode, TensorScalarCache, TensorTensorScan, tensor_scalar_cache, tensor_tensor_scan};
use birsim_kernels::{Code, Dtype, Profile};
use util::{Rng, Tensor};

const R: Profile = Profile::reference();

fn cache(op0: AluOp, op1: AluOp, mode: TSCMode) -> TensorScalarCache {
    TensorScalarCache { op0, reverse0: false, op1, reverse1: false, mode, acc: Acc::ZeroAccumulate }
}

#[test]
fn a_scan_is_one_float32_chain_per_partition() {
    let (n, ops) = (1500, [AluOp::Mult, AluOp::Add, AluOp::Subtract, AluOp::Max, AluOp::Divide]);
    let a = Tensor::of(Dtype::Bfloat16, &[3, n], &Rng(1).floats(4500));
    let b = Tensor::f32(&[3, n], &Rng(2).floats(4500));
    let init = Tensor::f32(&[3, 1], &[1.0, -2.0, 0.5]);
    for (op0, op1) in ops.iter().flat_map(|x| ops.map(|y| (*x, y))) {
        for reverse in 0..4 {
            let p = TensorTensorScan { op0, reverse0: reverse & 1 != 0, op1, reverse1: reverse & 2 != 0 };
            let mut y = Tensor::zeros(Dtype::Float32, &[3, n]);
            let initial = Input::View(init.src());
            y.write(|d| {
                tensor_tensor_scan(&p, &Source::Apart(a.src()), &initial, &Source::Apart(b.src()), d, None, &R)
            })
            .unwrap();
            let (f, g) = (float_op(op0, &R).unwrap(), float_op(op1, &R).unwrap());
            let (x, z, got) = (a.values(), b.values(), y.bits());
            for lane in 0..3 {
                let mut state = init.values()[lane];
                for k in lane * n as usize..(lane + 1) * n as usize {
                    let v = if p.reverse0 { f.call(state, x[k]) } else { f.call(x[k], state) };
                    state = if p.reverse1 { g.call(z[k], v) } else { g.call(v, z[k]) };
                    assert!(got[k] == state.to_bits() || state.is_nan(), "{p:?} {k}");
                }
            }
        }
    }
}

#[test]
fn the_state_keeps_float32_whatever_is_written() {
    let a = Tensor::f32(&[1, 3], &[1.0; 3]);
    let b = Tensor::f32(&[1, 3], &[0.3; 3]);
    let p = TensorTensorScan { op0: AluOp::Mult, reverse0: false, op1: AluOp::Add, reverse1: false };
    let mut y = Tensor::zeros(Dtype::Int8, &[1, 3]);
    let zero = Input::Imm(Imm::f32(0.0));
    y.write(|d| tensor_tensor_scan(&p, &Source::Apart(a.src()), &zero, &Source::Apart(b.src()), d, None, &R)).unwrap();
    assert_eq!(y.values(), [0.0, 1.0, 1.0], "0.3, 0.6, 0.9");
}

#[test]
fn d6_the_cache_takes_a_scalar_or_itself() {
    let x = Tensor::f32(&[1, 3], &[2.0, 3.0, 4.0]);
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 3]);
    let ten = Input::Imm(Imm::f32(10.0));
    let p = cache(AluOp::Mult, AluOp::Add, TSCMode::Cumulative);
    y.write(|d| tensor_scalar_cache(&p, &x.src(), Some(&ten), None, d, &R)).unwrap();
    assert_eq!(y.values(), [20.0, 50.0, 90.0]);
    // Without a scalar stage 0 works on the cache: v = in + cache; cache = v * cache, starting at 1.
    let p = cache(AluOp::Add, AluOp::Mult, TSCMode::TensorScan);
    y.write(|d| tensor_scalar_cache(&p, &x.src(), None, None, d, &R)).unwrap();
    assert_eq!(y.values(), [3.0, 18.0, 396.0]);
    let p = TensorScalarCache { reverse0: true, ..cache(AluOp::Subtract, AluOp::Add, TSCMode::Cumulative) };
    y.write(|d| tensor_scalar_cache(&p, &x.src(), Some(&ten), None, d, &R)).unwrap();
    assert_eq!(y.values(), [8.0, 15.0, 21.0], "10 - in");
    let p = TensorScalarCache { reverse1: true, ..cache(AluOp::Bypass, AluOp::Subtract, TSCMode::Cumulative) };
    y.write(|d| tensor_scalar_cache(&p, &x.src(), None, None, d, &R)).unwrap();
    assert_eq!(y.values(), [-2.0, -5.0, -9.0], "cache - v");
    let p = cache(AluOp::Bypass, AluOp::Subtract, TSCMode::Cumulative);
    y.write(|d| tensor_scalar_cache(&p, &x.src(), None, None, d, &R)).unwrap();
    assert_eq!(y.values(), [2.0, 1.0, 3.0], "v - cache");
}

#[test]
fn d6_start_values_and_what_is_written() {
    let x = Tensor::f32(&[2, 3], &[-2.0, -3.0, -1.0, 5.0, 6.0, 7.0]);
    for (op1, expected) in
        [(AluOp::Add, [-6.0, 18.0]), (AluOp::Mult, [-6.0, 210.0]), (AluOp::Max, [-1.0, 7.0]), (AluOp::Min, [-3.0, 5.0])]
    {
        let mut y = Tensor::zeros(Dtype::Float32, &[2, 1]);
        y.write(|d| tensor_scalar_cache(&cache(AluOp::Bypass, op1, TSCMode::Reduce), &x.src(), None, None, d, &R))
            .unwrap();
        assert_eq!(y.values(), expected, "{op1}");
    }
    let load = TensorScalarCache { acc: Acc::LoadAccumulate, ..cache(AluOp::Bypass, AluOp::Add, TSCMode::Cumulative) };
    let (s, start) = (Input::Imm(Imm::f32(0.0)), Input::Imm(Imm::f32(100.0)));
    let mut y = Tensor::zeros(Dtype::Float32, &[2, 3]);
    y.write(|d| tensor_scalar_cache(&load, &x.src(), Some(&s), Some(&start), d, &R)).unwrap();
    assert_eq!(y.values(), [98.0, 95.0, 94.0, 105.0, 111.0, 118.0]);
    let e = y.write(|d| tensor_scalar_cache(&load, &x.src(), Some(&s), None, d, &R)).err().unwrap();
    assert_eq!(e.code(), Code::S008);
    let zero = cache(AluOp::Bypass, AluOp::Add, TSCMode::Cumulative);
    let e = y.write(|d| tensor_scalar_cache(&zero, &x.src(), Some(&s), Some(&start), d, &R)).err().unwrap();
    assert_eq!(e.code(), Code::S008, "a third operand requires LoadAccumulate");
}

#[test]
fn refused_scans() {
    let x = Tensor::f32(&[2, 3], &[0.0; 6]);
    let mut y = Tensor::zeros(Dtype::Float32, &[2, 3]);
    let bits = cache(AluOp::BitwiseAnd, AluOp::Add, TSCMode::Cumulative);
    let e = y.write(|d| tensor_scalar_cache(&bits, &x.src(), None, None, d, &R)).err().unwrap();
    assert_eq!(e.code(), Code::S006, "the cache knows the float map only");
    let one = Tensor::f32(&[1, 3], &[0.0; 3]);
    let p = TensorTensorScan { op0: AluOp::Mult, reverse0: false, op1: AluOp::Add, reverse1: false };
    let zero = Input::Imm(Imm::f32(0.0));
    let e = y
        .write(|d| tensor_tensor_scan(&p, &Source::Apart(one.src()), &zero, &Source::Apart(x.src()), d, None, &R))
        .err()
        .unwrap();
    assert_eq!(e.code(), Code::S002);
    let column = Input::View(x.src());
    let e = y
        .write(|d| tensor_tensor_scan(&p, &Source::Apart(x.src()), &column, &Source::Apart(x.src()), d, None, &R))
        .err()
        .unwrap();
    assert_eq!(e.code(), Code::S002);
}
