//! Matmult against a matrix library: integer-valued operands, so that no order of summation can matter.

use birsim_kernels::access::{Pattern, Src};
use birsim_kernels::matmul::{Matmult, Product, matmult};
use birsim_kernels::{Dtype, Profile};
use ndarray::Array2;

/// A pattern that lives as long as the test.
fn keep(pattern: Pattern) -> &'static Pattern {
    Box::leak(Box::new(pattern))
}

fn integers(rows: usize, cols: usize, seed: u64) -> Array2<f32> {
    let mut state = seed;
    Array2::from_shape_fn((rows, cols), |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 40) % 17) as f32 - 8.0
    })
}

#[test]
fn products_of_every_shape_agree_with_the_library() {
    for (k, m, n) in [(1, 1, 1), (3, 2, 5), (7, 13, 33), (31, 12, 64), (64, 96, 100), (128, 128, 512), (127, 61, 511)] {
        let (w, x) = (integers(k, m, 1 + k as u64), integers(k, n, 7 + n as u64));
        let want = w.t().dot(&x);
        let bytes = |a: &Array2<f32>| a.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let (wb, xb) = (bytes(&w), bytes(&x));
        let dense = |cols: usize| Pattern::dense(Dtype::Float32, &[k as u32, cols as u32]).unwrap();
        let weights = Src::new(&wb, keep(dense(m))).unwrap();
        let ifmap = Src::new(&xb, keep(dense(n))).unwrap();
        let mut out = Product::default();
        matmult(&Matmult::default(), &ifmap, &weights, &mut out, &Profile::reference()).unwrap();
        assert_eq!((out.rows(), out.cols()), (m, n));
        let got = Array2::from_shape_vec((m, n), out.values().to_vec()).unwrap();
        assert_eq!(got, want, "K = {k}, M = {m}, N = {n}");
    }
}
