//! Iota, AffineSelect and GetSequenceBounds.

mod views;
use birsim_kernels::alu::AluOp;
use birsim_kernels::iota::{Affine, AffineSelect, affine_select, iota};
use birsim_kernels::sequence::sequence_bounds;
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();

fn values(p: &Affine, lanes: u32, len: u32) -> Vec<i32> {
    let mut t = Tensor::filled(Dtype::Int32, &[lanes, len], 0);
    iota(p, &mut t.dst(), &P).unwrap();
    t.values()
}

#[test]
fn base_step_and_channel_add_up() {
    let p = Affine { base: 100, pattern: &[(-2, 4)], channel_multiplier: 10 };
    assert_eq!(values(&p, 2, 4), [100, 98, 96, 94, 110, 108, 106, 104]);
}

#[test]
fn values_wrap_in_32_bits() {
    let p = Affine { base: 2147483646, pattern: &[(1, 3)], channel_multiplier: 1 };
    assert_eq!(values(&p, 2, 3), [2147483646, 2147483647, -2147483648, 2147483647, -2147483648, -2147483647]);
    let p = Affine { base: 1 << 40, pattern: &[(1 << 33, 2)], channel_multiplier: i64::MIN };
    assert_eq!(values(&p, 2, 2), [0, 0, 0, 0]);
}

#[test]
fn d24_the_channel_counts_from_the_first_partition_of_the_pattern() {
    let mut t = Tensor::filled(Dtype::Int32, &[4, 1], 0);
    iota(&Affine { base: 0, pattern: &[(1, 1)], channel_multiplier: 5 }, &mut t.dst_at(2, &[(1, 2), (1, 1)]), &P)
        .unwrap();
    assert_eq!(t.values::<i32>(), [0, 0, 0, 5]);
}

#[test]
fn d32_the_order_is_row_major() {
    let p = Affine { base: 0, pattern: &[(100, 2), (10, 3), (1, 2)], channel_multiplier: 1000 };
    let want: Vec<i32> = (0..2)
        .flat_map(|w| {
            (0..2).flat_map(move |z| (0..3).flat_map(move |y| (0..2).map(move |x| 1000 * w + 100 * z + 10 * y + x)))
        })
        .collect();
    assert_eq!(values(&p, 2, 12), want);
    // The same walk with the partition as a pair of the pattern.
    let p = Affine { base: 0, pattern: &[(1000, 2), (100, 2), (10, 3), (1, 2)], channel_multiplier: 0 };
    assert_eq!(values(&p, 2, 12), want);
}

#[test]
fn pieces_longer_than_a_chunk_join_without_a_seam() {
    let p = Affine { base: 7, pattern: &[(10_000, 3), (3, 1111)], channel_multiplier: 0 };
    let got = values(&p, 1, 3333);
    for (i, v) in got.iter().enumerate() {
        assert_eq!(*v, 7 + 10_000 * (i as i32 / 1111) + 3 * (i as i32 % 1111), "element {i}");
    }
}

#[test]
fn results_are_cast_to_the_destination() {
    let mut t = Tensor::filled(Dtype::Uint8, &[1, 5], 0);
    iota(&Affine { base: -1, pattern: &[(100, 5)], channel_multiplier: 0 }, &mut t.dst(), &P).unwrap();
    assert_eq!(t.bytes, [0, 99, 199, 255, 255]);
    let mut t = Tensor::filled(Dtype::Float32, &[1, 2], 0);
    iota(&Affine { base: 16777217, pattern: &[(1, 2)], channel_multiplier: 0 }, &mut t.dst(), &P).unwrap();
    assert_eq!(t.values::<f32>(), [16777216.0, 16777218.0]);
}

#[test]
fn a_pattern_of_another_size_is_refused() {
    let mut t = Tensor::filled(Dtype::Int32, &[2, 3], 0);
    let e = iota(&Affine { base: 0, pattern: &[(1, 4)], channel_multiplier: 0 }, &mut t.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S002);
    let long = [(0, u32::MAX); 8];
    let e = iota(&Affine { base: 0, pattern: &long, channel_multiplier: 0 }, &mut t.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S002);
}

fn selected(op: AluOp, fill_value: f32) -> Vec<f32> {
    let x = Tensor::f32(&[3, 3], &[1., 2., 3., 4., 5., 6., 7., 8., 9.]);
    let mut y = Tensor::filled(Dtype::Float32, &[3, 3], 0);
    let value = Affine { base: 0, pattern: &[(-1, 3)], channel_multiplier: 1 };
    affine_select(&AffineSelect { value, compare_op: op, fill_value }, &x.src(), &mut y.dst(), &P).unwrap();
    y.values()
}

#[test]
fn affine_select_compares_the_index_with_zero() {
    assert_eq!(selected(AluOp::IsGe, 0.), [1., 0., 0., 4., 5., 0., 7., 8., 9.]);
    assert_eq!(selected(AluOp::IsGt, 0.), [0., 0., 0., 4., 0., 0., 7., 8., 0.]);
    assert_eq!(selected(AluOp::IsEqual, 0.), [1., 0., 0., 0., 5., 0., 0., 0., 9.]);
    assert_eq!(selected(AluOp::NotEqual, -1.), [-1., 2., 3., 4., -1., 6., 7., 8., -1.]);
    assert_eq!(selected(AluOp::IsLt, 0.), [0., 2., 3., 0., 0., 6., 0., 0., 0.]);
    assert_eq!(selected(AluOp::IsLe, 0.), [1., 2., 3., 0., 5., 6., 0., 0., 9.]);
}

#[test]
fn fault_09_the_fill_value_keeps_its_float_bits() {
    let fill = -3.4028234663852886e38f64 as f32;
    let got = selected(AluOp::IsEqual, fill);
    assert_eq!(got[1].to_bits(), 0xFF7F_FFFF);
}

#[test]
fn affine_select_refuses_arithmetic() {
    let x = Tensor::f32(&[1, 1], &[1.]);
    let mut y = x.clone();
    let value = Affine { base: 0, pattern: &[(1, 1)], channel_multiplier: 0 };
    let p = AffineSelect { value, compare_op: AluOp::Add, fill_value: 0. };
    assert_eq!(affine_select(&p, &x.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S006);
}

#[test]
fn equal_dtypes_keep_the_bits_of_the_input() {
    let x = Tensor::of(Dtype::Int32, &[1, 2], &[0x0100_0001i32, 5]);
    let mut y = Tensor::filled(Dtype::Int32, &[1, 2], 0);
    let value = Affine { base: 0, pattern: &[(1, 2)], channel_multiplier: 0 };
    let p = AffineSelect { value, compare_op: AluOp::IsEqual, fill_value: 2.5 };
    affine_select(&p, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0x0100_0001, 2]);
}

#[test]
fn sequence_bounds_frame_each_run() {
    let ids = Tensor::i32(&[1, 7], &[3, 3, 0, 5, 5, 5, 3]);
    let mut out = Tensor::filled(Dtype::Int32, &[1, 2, 7], 0);
    sequence_bounds(&ids.src(), &mut out.dst(), &P).unwrap();
    assert_eq!(out.values::<i32>(), [0, 0, 7, 3, 3, 3, 6, 2, 2, -1, 6, 6, 6, 7]);
    let ids = Tensor::f32(&[2, 2], &[1., 1., 0., 0.]);
    let mut out = Tensor::filled(Dtype::Float32, &[2, 4], 0);
    sequence_bounds(&ids.src(), &mut out.dst(), &P).unwrap();
    assert_eq!(out.values::<f32>(), [0., 0., 2., 2., 2., 2., -1., -1.]);
    let mut out = Tensor::filled(Dtype::Float32, &[2, 3], 0);
    assert_eq!(sequence_bounds(&ids.src(), &mut out.dst(), &P).unwrap_err().code(), Code::S002);
}

#[test]
fn d65_affine_select_keeps_integers() {
    let x = Tensor::of(Dtype::Int32, &[1, 3], &[16_777_217, 33_554_433, -16_777_217]);
    let mut out = Tensor::filled(Dtype::Int64, &[1, 3], 0);
    let value = Affine { base: 0, pattern: &[(1, 3)], channel_multiplier: 0 };
    let p = AffineSelect { value, compare_op: AluOp::IsGe, fill_value: -1.0 };
    affine_select(&p, &x.src(), &mut out.dst(), &P).unwrap();
    assert_eq!(out.values::<i64>(), [16_777_217, 33_554_433, -16_777_217]);
}
