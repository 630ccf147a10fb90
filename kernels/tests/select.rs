//! Select, CopyPredicated and RangeSelect.

mod views;
use birsim_kernels::access::{Imm, Input};
use birsim_kernels::accumulate::{Accumulator, EngineAccumulationType as Cmd, Epilogue};
use birsim_kernels::alu::AluOp;
use birsim_kernels::range::{RangeSelect, range_select};
use birsim_kernels::select::{CopyPredicated, copy_predicated, select};
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();
const PLAIN: CopyPredicated = CopyPredicated { reverse_pred: false, on_false: None, epilogue: None };

#[test]
fn select_takes_tensors_and_numbers() {
    let p = Tensor::of(Dtype::Uint8, &[2, 2], &[1u8, 0, 0, 1]);
    let x = Tensor::f32(&[2, 2], &[1., 2., 3., 4.]);
    let mut out = Tensor::filled(Dtype::Float32, &[2, 2], 0);
    select(&p.src(), Some(&Input::View(x.src())), Some(&Input::Imm(Imm::f32(-7.5))), &mut out.dst(), &P).unwrap();
    assert_eq!(out.values::<f32>(), [1., -7.5, -7.5, 4.]);
    let mut out = Tensor::filled(Dtype::Int8, &[2, 2], 0);
    select(&p.src(), Some(&Input::Imm(Imm::f32(300.))), Some(&Input::View(x.src())), &mut out.dst(), &P).unwrap();
    assert_eq!(out.values::<i8>(), [127, 2, 3, 127]);
}

#[test]
fn select_refuses_a_predicate_that_is_not_a_bit() {
    let x = Tensor::f32(&[1, 2], &[1., 2.]);
    for bad in [2.0f32, 0.5, -1.0, f32::NAN] {
        let p = Tensor::f32(&[1, 2], &[1., bad]);
        let mut out = Tensor::filled(Dtype::Float32, &[1, 2], 0);
        let e =
            select(&p.src(), Some(&Input::View(x.src())), Some(&Input::View(x.src())), &mut out.dst(), &P).unwrap_err();
        assert_eq!(e.code(), Code::S008, "{bad}");
        assert!(e.received_value().unwrap().contains("element 1"));
    }
}

#[test]
fn fault_71_select_does_not_broadcast_partitions() {
    let p = Tensor::of(Dtype::Uint8, &[4, 1], &[1u8, 1, 1, 1]);
    let one = Tensor::f32(&[1, 1], &[1.]);
    let mut out = Tensor::filled(Dtype::Float32, &[4, 1], 0);
    let e =
        select(&p.src(), Some(&Input::View(one.src())), Some(&Input::View(one.src())), &mut out.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S002);
}

#[test]
fn copy_predicated_keeps_the_old_value() {
    let p = Tensor::i32(&[1, 4], &[0, 7, 0, 1 << 30]);
    let x = Tensor::i32(&[1, 4], &[1, 2, 3, 0x0100_0001]);
    let mut y = Tensor::i32(&[1, 4], &[10, 20, 30, 40]);
    copy_predicated(&PLAIN, &p.src(), &Input::View(x.src()), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [10, 2, 30, 0x0100_0001]);
    let mut y = Tensor::i32(&[1, 4], &[10, 20, 30, 40]);
    let reverse = CopyPredicated { reverse_pred: true, ..PLAIN };
    copy_predicated(&reverse, &p.src(), &Input::Imm(Imm::i32(-1)), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [-1, 20, -1, 40]);
}

#[test]
fn d23_the_predicate_is_widened_to_an_unsigned_word() {
    let cases = [(0.5f32, false), (0.51, true), (1.5, true), (-0.0, false), (-3.0, false), (f32::INFINITY, true)];
    for (value, taken) in cases.into_iter().chain([(f32::NAN, true), (-f32::NAN, false), (1e-30, false)]) {
        let p = Tensor::f32(&[1, 1], &[value]);
        let mut y = Tensor::f32(&[1, 1], &[0.]);
        copy_predicated(&PLAIN, &p.src(), &Input::Imm(Imm::f32(1.)), &mut y.dst(), &P).unwrap();
        assert_eq!(y.values::<f32>() == [1.], taken, "{value}");
    }
    let p = Tensor::of(Dtype::Uint32, &[1, 1], &[1u32 << 31]);
    let mut y = Tensor::f32(&[1, 1], &[0.]);
    copy_predicated(&PLAIN, &p.src(), &Input::Imm(Imm::f32(1.)), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [1.]);
}

#[test]
fn a_strided_destination_keeps_its_gaps() {
    let p = Tensor::of(Dtype::Uint8, &[2, 2], &[1u8, 0, 1, 1]);
    let mut y = Tensor::of(Dtype::Uint16, &[2, 4], &[9u16; 8]);
    let x = Tensor::of(Dtype::Uint16, &[2, 2], &[1u16, 2, 3, 4]);
    copy_predicated(&PLAIN, &p.src(), &Input::View(x.src()), &mut y.dst_at(1, &[(4, 2), (2, 2)]), &P).unwrap();
    assert_eq!(y.values::<u16>(), [9, 1, 9, 9, 9, 3, 9, 4]);
}

fn fold(kind: Cmd, op: AluOp, state: &Accumulator) -> Option<Epilogue<'_>> {
    Some(Epilogue { kind, op, init: None, state, profile: &P })
}

#[test]
fn select_reduce_folds_the_selected_rows() {
    let p = Tensor::of(Dtype::Uint8, &[2, 3], &[1u8, 0, 1, 0, 0, 1]);
    let x = Tensor::f32(&[2, 3], &[1., 9., 3., 9., 9., -2.]);
    let column = Tensor::f32(&[2, 1], &[-1., -5.]);
    let mut y = Tensor::filled(Dtype::Float32, &[2, 3], 0);
    let state = Accumulator::default();
    state.set(0, 100.);
    state.set(1, -4.);
    let form = CopyPredicated {
        reverse_pred: true,
        on_false: Some(Input::Imm(Imm::f32(0.))),
        epilogue: fold(Cmd::Accumulate, AluOp::Add, &state),
    };
    copy_predicated(&form, &p.src(), &Input::View(x.src()), &mut y.dst(), &P).unwrap();
    assert_eq!([state.get(0), state.get(1)], [109., 14.]);
    let form = CopyPredicated {
        reverse_pred: false,
        on_false: Some(Input::View(column.src())),
        epilogue: fold(Cmd::ZeroAccumulate, AluOp::Max, &state),
    };
    copy_predicated(&form, &p.src(), &Input::View(x.src()), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [1., -1., 3., -5., -5., -2.]);
    assert_eq!([state.get(0), state.get(1)], [3., -2.]);
    let bad = CopyPredicated { epilogue: fold(Cmd::ZeroAccumulate, AluOp::BitwiseAnd, &state), ..PLAIN };
    let e = copy_predicated(&bad, &p.src(), &Input::View(x.src()), &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S006);
}

fn range(base: i64, op0: AluOp, op1: AluOp, fill_value: f32) -> RangeSelect<'static> {
    RangeSelect { base, compare_op0: op0, compare_op1: op1, fill_value, num_active_channels: 0, epilogue: None }
}

#[test]
fn fault_09_range_select_keeps_the_window() {
    let x = Tensor::f32(&[2, 4], &[1., 2., 3., 4., 5., 6., 7., 8.]);
    let (lo, hi) = (Tensor::f32(&[2, 1], &[11., 10.]), Tensor::f32(&[2, 1], &[13., 12.]));
    let mut y = Tensor::filled(Dtype::Float32, &[2, 4], 0);
    let p = range(10, AluOp::IsGe, AluOp::IsLt, f32::MIN);
    range_select(&p, &x.src(), &Input::View(lo.src()), &Input::View(hi.src()), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [f32::MIN, 2., 3., f32::MIN, 5., 6., f32::MIN, f32::MIN]);
    assert_eq!(y.values::<u32>()[0], 0xFF7F_FFFF);
}

#[test]
fn range_select_reduces_unrounded_values() {
    let x = Tensor::f32(&[1, 3], &[1.0000001, 5., 2.]);
    let mut y = Tensor::filled(Dtype::Bfloat16, &[1, 3], 0);
    let state = Accumulator::default();
    let epilogue = fold(Cmd::ZeroAccumulate, AluOp::Max, &state);
    let p = RangeSelect { epilogue, ..range(0, AluOp::IsLt, AluOp::IsGe, f32::MIN) };
    range_select(&p, &x.src(), &Input::Imm(Imm::f32(1.)), &Input::Imm(Imm::f32(0.)), &mut y.dst(), &P).unwrap();
    assert_eq!(state.get(0), 1.0000001);
    // The smallest float32 is below the bfloat16 range.
    assert_eq!(y.values::<u16>(), [0x3F80, 0xFF80, 0xFF80]);
}

#[test]
fn range_select_refuses_what_it_cannot_mean() {
    let x = Tensor::f32(&[2, 2], &[0.; 4]);
    let one = Input::Imm(Imm::f32(1.));
    let mut y = x.clone();
    let bad = range(0, AluOp::Add, AluOp::IsLt, 0.);
    assert_eq!(range_select(&bad, &x.src(), &one, &one, &mut y.dst(), &P).unwrap_err().code(), Code::S006);
    let part = RangeSelect { num_active_channels: 1, ..range(0, AluOp::IsGe, AluOp::IsLt, 0.) };
    assert_eq!(range_select(&part, &x.src(), &one, &one, &mut y.dst(), &P).unwrap_err().code(), Code::U002);
    let wide = Input::View(x.src());
    let ok = range(0, AluOp::IsGe, AluOp::IsLt, 0.);
    assert_eq!(range_select(&ok, &x.src(), &wide, &one, &mut y.dst(), &P).unwrap_err().code(), Code::S002);
}

#[test]
fn d65_select_keeps_integers() {
    let big = [16_777_217, -1, i32::MAX, -16_777_219];
    let x = Tensor::of(Dtype::Int32, &[1, 4], &big);
    let p = Tensor::of(Dtype::Uint8, &[1, 4], &[1u8, 1, 1, 1]);
    let run = |dtype| {
        let mut out = Tensor::filled(dtype, &[1, 4], 0);
        select(&p.src(), Some(&Input::View(x.src())), Some(&Input::Imm(Imm::i32(16_777_219))), &mut out.dst(), &P)
            .unwrap();
        out
    };
    assert_eq!(run(Dtype::Int32).values::<i32>(), big);
    assert_eq!(run(Dtype::Uint32).values::<u32>(), big.map(|v| v as u32));
    assert_eq!(run(Dtype::Int64).values::<i64>(), big.map(i64::from));
    assert_eq!(run(Dtype::Int16).values::<i16>(), [i16::MAX, -1, i16::MAX, i16::MIN]);
    assert_eq!(run(Dtype::Uint8).values::<u8>(), [255, 0, 255, 0]);
    let none = Tensor::of(Dtype::Uint8, &[1, 4], &[0u8; 4]);
    let mut out = Tensor::filled(Dtype::Int64, &[1, 4], 0);
    select(&none.src(), Some(&Input::View(x.src())), Some(&Input::Imm(Imm::i32(16_777_219))), &mut out.dst(), &P)
        .unwrap();
    assert_eq!(out.values::<i64>(), [16_777_219; 4]);
}
