//! The golden check.

use birsim_kernels::Dtype;
use birsim_kernels::compare::{Comparison, HISTOGRAM_EDGES, Tolerance, compare};

fn f32s(got: &[f32], want: &[f32], t: &Tolerance) -> Comparison {
    compare(Dtype::Float32, bytemuck::cast_slice(got), bytemuck::cast_slice(want), t)
}

#[test]
fn exact_means_equal_bits() {
    assert!(f32s(&[1.0, -0.0], &[1.0, -0.0], &Tolerance::EXACT).equal);
    let c = f32s(&[1.0, 0.0, 2.0], &[1.0, -0.0, 2.0000002], &Tolerance::EXACT);
    assert_eq!((c.equal, c.mismatches, c.first_mismatch), (false, 2, Some(1)));
    assert_eq!(c.max_abs, f64::from(2.0000002f32) - 2.0);
}

#[test]
fn any_nan_equals_any_nan_unless_bits_count() {
    let (a, b) = (f32::from_bits(0x7FC0_0001), f32::from_bits(0xFFC0_0000));
    assert!(f32s(&[a], &[b], &Tolerance::EXACT).equal);
    let bits = Tolerance { nan_bits: true, ..Tolerance::EXACT };
    let c = f32s(&[a], &[b], &bits);
    assert_eq!((c.equal, c.nan_mismatches), (false, 1));
    assert!(f32s(&[a], &[a], &bits).equal);
}

#[test]
fn d52_the_first_number_is_percent() {
    let t = Tolerance::from_percent(1.0, 1e-5);
    assert_eq!(t, Tolerance::default());
    assert!(f32s(&[101.0], &[100.0], &t).equal);
    assert!(!f32s(&[101.1], &[100.0], &t).equal);
    assert!(f32s(&[1e-6, 0.0], &[0.0, -0.0], &t).equal);
}

#[test]
fn nan_meets_nan_and_infinity_the_same_infinity() {
    let t = Tolerance { rtol: 1e9, atol: 1e9, nan_bits: false };
    let inf = f32::INFINITY;
    assert!(f32s(&[f32::NAN, inf, -inf], &[f32::NAN, inf, -inf], &t).equal);
    for (got, want, nan, infinite) in
        [(f32::NAN, 1.0, 1, 0), (1.0, f32::NAN, 1, 0), (inf, -inf, 0, 1), (1.0, inf, 0, 1)]
    {
        let c = f32s(&[0.0, got], &[0.0, want], &t);
        assert_eq!((c.equal, c.nan_mismatches, c.inf_mismatches, c.first_mismatch), (false, nan, infinite, Some(1)));
        assert!(!c.max_abs.is_nan() && !c.max_rel.is_nan());
    }
}

#[test]
fn integers_are_compared_without_float_loss() {
    let (a, b) = ([i64::MAX, i64::MIN], [i64::MAX - 1, i64::MIN + 1]);
    let (a, b): (&[u8], &[u8]) = (bytemuck::cast_slice(&a), bytemuck::cast_slice(&b));
    assert_eq!(compare(Dtype::Int64, a, b, &Tolerance::EXACT).mismatches, 2);
    assert!(compare(Dtype::Int64, a, b, &Tolerance { atol: 1.0, ..Tolerance::EXACT }).equal);
    assert!(!compare(Dtype::Int64, a, b, &Tolerance { atol: 0.5, ..Tolerance::EXACT }).equal);
    let (a, b) = (u64::MAX.to_le_bytes(), 0u64.to_le_bytes());
    let c = compare(Dtype::Uint64, &a, &b, &Tolerance::EXACT);
    assert_eq!(c.max_abs, 1.8446744073709552e19);
    let c = compare(Dtype::Int8, &[0x80], &[0x7F], &Tolerance { atol: 254.0, ..Tolerance::EXACT });
    assert_eq!((c.equal, c.max_abs), (false, 255.0));
    assert!(!compare(Dtype::Uint8, &[1], &[1], &Tolerance { atol: f64::NAN, ..Tolerance::EXACT }).mismatches > 0);
}

#[test]
fn every_dtype_finds_a_changed_bit() {
    for dtype in Dtype::ALL {
        let mut want: Vec<u8> = (0..dtype.size() * 9).map(|i| (i * 37 + 1) as u8 & 0x33).collect();
        let same = compare(*dtype, &want, &want, &Tolerance::EXACT);
        assert_eq!((same.equal, same.elements), (true, 9 * dtype.lanes()), "{dtype}");
        let got = want.clone();
        want[dtype.size() * 5] ^= 0x01;
        let c = compare(*dtype, &got, &want, &Tolerance::EXACT);
        assert_eq!((c.mismatches, c.first_mismatch), (1, Some(5)), "{dtype}");
        assert!(compare(*dtype, &got, &want, &Tolerance { atol: 1e30, ..Tolerance::EXACT }).equal, "{dtype}");
    }
}

#[test]
fn packed_values_are_compared_one_by_one() {
    // Codes of fp4: 0.5 against 1.0 in the second nibble, 6.0 against -6.0 in the last.
    let c = compare(Dtype::Float4E2m1fnX4, &[0x10, 0x70], &[0x20, 0xF0], &Tolerance::EXACT);
    assert_eq!((c.elements, c.mismatches, c.max_abs), (4, 2, 12.0));
    let c = compare(Dtype::Float8E4m3fnX4, &[0x38, 0, 0, 0x40], &[0x38, 0, 0, 0x38], &Tolerance::EXACT);
    assert_eq!((c.elements, c.mismatches, c.max_abs, c.first_mismatch), (4, 1, 1.0, Some(0)));
}

#[test]
fn the_histogram_counts_every_element_once() {
    let got = [0.0, 1e-9, 0.5, 0.75, 100.0, f32::NAN];
    let c = f32s(&got, &[0.0; 6], &Tolerance::default());
    let mut want = [0; HISTOGRAM_EDGES.len() + 1];
    (want[0], want[1], want[9], want[11]) = (1, 1, 2, 2);
    assert_eq!(c.histogram, want);
    assert_eq!(c.histogram.iter().sum::<usize>(), c.elements);
}

#[test]
fn a_surplus_is_a_mismatch() {
    let c = f32s(&[1.0, 2.0, 3.0], &[1.0], &Tolerance::default());
    assert_eq!((c.equal, c.mismatches, c.first_mismatch, c.elements), (false, 2, Some(1), 3));
    let c = f32s(&[], &[], &Tolerance::EXACT);
    assert!(c.equal);
}

#[test]
fn any_number_of_threads_gives_the_same_result() {
    let want: Vec<f32> = (0..50_000).map(|i| (i as f32 * 0.37).sin()).collect();
    let got: Vec<f32> = want.iter().enumerate().map(|(i, w)| if i % 777 == 5 { w * 1.25 } else { *w }).collect();
    let results: Vec<Comparison> = [1, 2, 5]
        .iter()
        .map(|n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(*n).build().unwrap();
            pool.install(|| f32s(&got, &want, &Tolerance::default()))
        })
        .collect();
    assert_eq!(results[0].first_mismatch, Some(5));
    assert!(results.windows(2).all(|w| w[0] == w[1]));
}
