//! Matmult (8): values, orders, limits, PSUM writes.

use birsim_kernels::access::{Dst, Pair, Pattern, Src};
use birsim_kernels::matmul::*;
use birsim_kernels::{Class, Code, Dtype, Profile, cast};

/// A pattern that lives as long as the test.
fn keep(pattern: Pattern) -> &'static Pattern {
    Box::leak(Box::new(pattern))
}

/// Small deterministic generator: multiplies and xors, enough to vary bits.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn f32(&mut self) -> f32 {
        (self.next() as f32 / (1u64 << 30) as f32) - 1.0
    }

    fn vec(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.f32()).collect()
    }
}

fn encode(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    let mut out = vec![0; values.len() * dtype.size()];
    cast::encode_f32(dtype, cast::Fp8Config::DEFAULT, values, &mut out);
    out
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; bytes.len() / dtype.size()];
    cast::decode_f32(dtype, bytes, &mut out);
    out
}

fn view(bytes: &[u8], dtype: Dtype, nums: &[u32]) -> Src<'static> {
    let bytes: &'static [u8] = bytes.to_vec().leak();
    Src::new(bytes, keep(Pattern::dense(dtype, nums).unwrap())).unwrap()
}

fn floats(values: &[f32], nums: &[u32]) -> Src<'static> {
    view(&encode(Dtype::Float32, values), Dtype::Float32, nums)
}

fn run(p: &Matmult, ifmap: &Src, weights: &Src) -> birsim_kernels::Result<Product> {
    let mut out = Product::default();
    matmult(p, ifmap, weights, &mut out, &Profile::reference())?;
    Ok(out)
}

/// The contract, written down naively.
fn chain(k: usize, m: usize, n: usize, w: &[f32], x: &[f32]) -> Vec<f32> {
    let mut out = Vec::new();
    for i in 0..m {
        for j in 0..n {
            out.push((0..k).fold(0.0f32, |acc, q| w[q * m + i].mul_add(x[q * n + j], acc)));
        }
    }
    out
}

/// The same with `matmul_fma` off.
fn two_roundings(k: usize, m: usize, n: usize, w: &[f32], x: &[f32]) -> Vec<f32> {
    let one = |i, j| (0..k).fold(0.0f32, |acc, q| w[q * m + i] * x[q * n + j] + acc);
    (0..m * n).map(|e| one(e / n, e % n)).collect()
}

fn same_bits(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "element {i}: {a} {b}");
    }
}

#[test]
fn vectors_of_the_specification() {
    let w = [1.0, 2.0, 3.0, 4.0];
    let x = [1.0, 0.0, 2.0, 0.0, 1.0, 1.0];
    let out = run(&Matmult::default(), &floats(&x, &[2, 3]), &floats(&w, &[2, 2])).unwrap();
    assert_eq!(out.values(), [1.0, 3.0, 5.0, 2.0, 4.0, 8.0]);
    assert_eq!((out.rows(), out.cols(), out.row(1)), (2, 3, &[2.0, 4.0, 8.0][..]));
    let w8 = view(&[1, 2, 3, 4], Dtype::Uint8, &[2, 2]);
    let x8 = view(&[1, 0, 2, 0, 1, 1], Dtype::Uint8, &[2, 3]);
    let p = Matmult { weights_zero: Some(1), ifmap_zero: Some(0), ..Matmult::default() };
    assert_eq!(run(&p, &x8, &w8).unwrap().values(), [0.0, 2.0, 2.0, 1.0, 3.0, 5.0]);
    let p = Matmult { ifmap_zero: Some(2), ..Matmult::default() };
    assert_eq!(run(&p, &x8, &w8).unwrap().values(), [-7.0, -5.0, -3.0, -10.0, -8.0, -4.0]);
}

#[test]
fn float32r_rounds_both_and_needs_a_partner() {
    let v = encode(Dtype::Float32, &[f32::from_bits(0x3F80_0800)]);
    let r = view(&v, Dtype::Float32r, &[1, 1]);
    let f = view(&v, Dtype::Float32, &[1, 1]);
    assert_eq!(run(&Matmult::default(), &r, &r).unwrap().values()[0].to_bits(), 0x3F80_0000);
    assert_eq!(run(&Matmult::default(), &f, &f).unwrap().values()[0].to_bits(), 0x3F80_1000);
    for (a, b) in [(&r, &f), (&f, &r)] {
        assert_eq!(run(&Matmult::default(), a, b).unwrap_err().code(), Code::S007);
    }
}

#[test]
fn every_path_gives_the_bits_of_the_chain() {
    let mut rng = Rng(1);
    for (k, m, n) in [
        (1, 1, 1),
        (2, 3, 5),
        (7, 12, 32),
        (128, 128, 512),
        (127, 13, 33),
        (64, 25, 100),
        (33, 5, 15),
        (128, 6, 16),
        (5, 11, 31),
        (128, 127, 65),
    ] {
        let (w, x) = (rng.vec(k * m), rng.vec(k * n));
        let (ws, xs) = (floats(&w, &[k as u32, m as u32]), floats(&x, &[k as u32, n as u32]));
        for fma in [true, false] {
            let want = if fma { chain(k, m, n, &w, &x) } else { two_roundings(k, m, n, &w, &x) };
            for isa in Isa::available() {
                let mut out = Product::default();
                product_on(isa, fma, &xs, &ws, &mut out).unwrap();
                same_bits(out.values(), &want);
            }
        }
    }
}

#[test]
fn specials_travel_on_every_path() {
    let (k, m, n) = (40, 14, 35);
    let mut rng = Rng(7);
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, -1e-45, f32::MAX, f32::MIN_POSITIVE];
    let mut w = rng.vec(k * m);
    let mut x = rng.vec(k * n);
    for (i, v) in odd.iter().enumerate() {
        w[i * 37 % (k * m)] = *v;
        x[i * 101 % (k * n)] = *v;
    }
    let want = chain(k, m, n, &w, &x);
    for isa in Isa::available() {
        let mut out = Product::default();
        product_on(isa, true, &floats(&x, &[k as u32, n as u32]), &floats(&w, &[k as u32, m as u32]), &mut out)
            .unwrap();
        same_bits(out.values(), &want);
    }
}

#[test]
fn threads_do_not_change_bits() {
    let mut rng = Rng(3);
    let (w, x) = (floats(&rng.vec(128 * 128), &[128, 128]), floats(&rng.vec(128 * 512), &[128, 512]));
    let mut seen: Option<Vec<f32>> = None;
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let out = pool.install(|| run(&Matmult::default(), &x, &w)).unwrap();
        same_bits(seen.get_or_insert_with(|| out.values().to_vec()), out.values());
    }
}

#[test]
fn narrow_dtypes_are_widened_exactly() {
    let mut rng = Rng(5);
    for dtype in [
        Dtype::Bfloat16,
        Dtype::Float16,
        Dtype::Float8e3,
        Dtype::Float8e4,
        Dtype::Float8E4m3fn,
        Dtype::Float8e5,
        Dtype::Uint8,
    ] {
        let (k, m, n) = (19, 9, 40);
        let scale = if dtype == Dtype::Uint8 { 100.0 } else { 1.0 };
        let mut values = |len| encode(dtype, &rng.vec(len).iter().map(|v| v.abs() * scale).collect::<Vec<_>>());
        let (w, x) = (values(k * m), values(k * n));
        let out = run(&Matmult::default(), &view(&x, dtype, &[19, 40]), &view(&w, dtype, &[19, 9])).unwrap();
        same_bits(out.values(), &chain(k, m, n, &decode(dtype, &w), &decode(dtype, &x)));
    }
}

#[test]
fn mixed_dtypes_and_rejected_dtypes() {
    let w = view(&encode(Dtype::Bfloat16, &[2.0]), Dtype::Bfloat16, &[1, 1]);
    let x = view(&encode(Dtype::Float16, &[3.0]), Dtype::Float16, &[1, 1]);
    assert_eq!(run(&Matmult::default(), &x, &w).unwrap().values(), [6.0]);
    for bad in [Dtype::Int8, Dtype::Int32, Dtype::Uint16, Dtype::Float8E8m0fnu, Dtype::Float8E4m3fnX4] {
        let b = view(&[0; 8], bad, &[1, 1]);
        assert_eq!(run(&Matmult::default(), &b, &w).unwrap_err().code(), Code::S007, "{bad}");
        assert_eq!(run(&Matmult::default(), &x, &b).unwrap_err().code(), Code::S007, "{bad}");
    }
}

#[test]
fn fault_11_operands_of_many_dimensions_equal_their_flat_form() {
    let mut rng = Rng(11);
    let x = encode(Dtype::Float32, &rng.vec(128 * 512));
    let w = floats(&rng.vec(128 * 64), &[128, 64]);
    let flat = run(&Matmult::default(), &view(&x, Dtype::Float32, &[128, 512]), &w).unwrap();
    let deep = run(&Matmult::default(), &view(&x, Dtype::Float32, &[128, 4, 8, 16]), &w).unwrap();
    same_bits(flat.values(), deep.values());
}

#[test]
fn fault_11_a_convolution_window_is_gathered_in_pattern_order() {
    // A 6 x 7 image per lane; the window starts at (1, 2), is 4 x 4 and steps two columns.
    let (k, m) = (3usize, 2usize);
    let image: Vec<f32> = (0..k * 42).map(|i| (i % 11) as f32).collect();
    let bytes = encode(Dtype::Float32, &image);
    let pairs = [
        Pair { stride: 42 * 4, num: 3 },
        Pair { stride: 7 * 4, num: 4 },
        Pair { stride: 2 * 4, num: 2 },
        Pair { stride: 0, num: 2 },
    ];
    let pattern = Pattern::new(Dtype::Float32, (7 + 2) * 4, &pairs).unwrap();
    let x = Src::new(&bytes, keep(pattern)).unwrap();
    let w: Vec<f32> = (0..k * m).map(|i| i as f32 + 1.0).collect();
    let mut flat = Vec::new();
    for lane in 0..k {
        for r in 0..4 {
            for c in 0..2 {
                flat.extend([image[lane * 42 + (1 + r) * 7 + 2 + 2 * c]; 2]);
            }
        }
    }
    let out = run(&Matmult::default(), &x, &floats(&w, &[3, 2])).unwrap();
    assert_eq!(out.values(), chain(k, m, 16, &w, &flat));
}

#[test]
fn fault_45_the_product_is_stationary_transposed_times_moving() {
    let w: Vec<f32> = (0..128 * 64).map(|i| (i % 5) as f32).collect();
    let x: Vec<f32> = (0..128 * 512).map(|i| (i % 7) as f32).collect();
    let out = run(&Matmult::default(), &floats(&x, &[128, 512]), &floats(&w, &[128, 64])).unwrap();
    assert_eq!((out.rows(), out.cols()), (64, 512));
    let want: f32 = (0..128).map(|k| w[k * 64 + 3] * x[k * 512 + 400]).sum();
    assert_eq!(out.row(3)[400], want);
}

#[test]
fn fault_17_a_destination_of_many_dimensions_receives_every_element() {
    let ones = floats(&[1.0; 128 * 128], &[128, 128]);
    let moving = floats(&[1.0; 128 * 512], &[128, 512]);
    let out = run(&Matmult::default(), &moving, &ones).unwrap();
    let mut mem = vec![0u8; 128 * 512 * 4];
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[128, 2, 2, 128]).unwrap())).unwrap();
    for m in 0..out.rows() {
        store_row(&mut dst, m, 0, out.row(m), Marks::None, &Profile::reference()).unwrap();
    }
    assert!(decode(Dtype::Float32, &mem).iter().all(|v| *v == 128.0));
}

#[test]
fn limits_are_errors() {
    let one = |k: u32, n: u32| floats(&vec![1.0; (k * n) as usize], &[k, n]);
    let code = |p: &Matmult, x: &Src, w: &Src| run(p, x, w).unwrap_err().code();
    let p = Matmult::default();
    assert_eq!(code(&p, &one(129, 1), &one(129, 1)), Code::S008);
    assert_eq!(code(&p, &one(1, 513), &one(1, 1)), Code::S008);
    assert_eq!(code(&p, &one(1, 1), &one(1, 129)), Code::S008);
    assert_eq!(code(&p, &one(2, 1), &one(3, 1)), Code::S002);
    let gen1 = Matmult { limits: PeLimits::of(10, Dtype::Float32), level: 10, ..p.clone() };
    assert_eq!(code(&gen1, &one(1, 1), &one(1, 65)), Code::S008);
    let gen4 = Matmult { limits: PeLimits::of(40, Dtype::Float32), level: 40, ..p.clone() };
    assert_eq!(run(&gen4, &one(1, 4096), &one(1, 1)).unwrap().cols(), 4096);
    assert_eq!(code(&gen4, &one(1, 4097), &one(1, 1)), Code::S008);
    assert_eq!(PeLimits::of(40, Dtype::Bfloat16).moving, 8192);
    for (tile_size, tile_position) in
        [([48, 32], [0, 0]), ([32, 32], [16, 0]), ([32, 64], [128, 0]), ([32, 32], [0, -32])]
    {
        let p = Matmult { tile_size, tile_position, ..p.clone() };
        assert_eq!(code(&p, &one(1, 1), &one(1, 1)), Code::S008, "{tile_size:?} {tile_position:?}");
    }
    let tile = Matmult { tile_size: [32, 64], tile_position: [32, 64], ..p.clone() };
    assert!(run(&tile, &one(32, 1), &one(32, 64)).is_ok());
    assert_eq!(code(&tile, &one(33, 1), &one(33, 64)), Code::S008);
    assert_eq!(code(&tile, &one(32, 1), &one(32, 65)), Code::S008);
    let huge = Matmult { tile_size: [i64::MAX, i64::MIN], tile_position: [i64::MAX; 2], ..p };
    assert_eq!(code(&huge, &one(1, 1), &one(1, 1)), Code::S008);
}

#[test]
fn empty_operands_make_empty_or_zero_products() {
    let none = floats(&[], &[4, 0]);
    let w = floats(&[1.0; 8], &[4, 2]);
    assert!(run(&Matmult::default(), &none, &w).unwrap().values().is_empty());
    let (x0, w0) = (floats(&[], &[0, 3]), floats(&[], &[0, 2]));
    assert_eq!(run(&Matmult::default(), &x0, &w0).unwrap().values(), [0.0; 6]);
}

#[test]
fn a_reused_product_holds_nothing_of_the_last_one() {
    let mut out = Product::default();
    let profile = Profile::reference();
    let nan = floats(&[f32::NAN; 128 * 40], &[128, 40]);
    matmult(&Matmult::default(), &nan, &nan, &mut out, &profile).unwrap();
    let (x, w) = (floats(&[1.0; 6], &[2, 3]), floats(&[1.0; 4], &[2, 2]));
    matmult(&Matmult::default(), &x, &w, &mut out, &profile).unwrap();
    assert_eq!(out.values(), [2.0; 6]);
}

#[test]
fn double_row_contracts_over_two_rows_per_lane() {
    let (k, m, n) = (5usize, 3usize, 4usize);
    let w: Vec<f32> = (0..k * 2 * m).map(|i| (i % 4) as f32).collect();
    let x: Vec<f32> = (0..k * 2 * n).map(|i| (i % 5) as f32).collect();
    let d = Dtype::Float8E4m3fn;
    let (ws, xs) = (view(&encode(d, &w), d, &[5, 2, 3]), view(&encode(d, &x), d, &[5, 2, 4]));
    let p = Matmult { perf_mode: MatmultPerfMode::DoubleRow, ..Matmult::default() };
    let out = run(&p, &xs, &ws).unwrap();
    // [k, 2, m] read as [2k, m] is the same product with k and half as one row index.
    assert_eq!(out.values(), chain(2 * k, m, n, &w, &x));
    let f32s = floats(&[1.0; 8], &[2, 4]);
    assert_eq!(run(&p, &f32s, &f32s).unwrap_err().code(), Code::S007);
    let odd = view(&[0; 6], d, &[2, 3]);
    assert_eq!(run(&p, &xs, &odd).unwrap_err().code(), Code::S002);
}

#[test]
fn d56_software_interleave_is_plain_unless_another_order_is_chosen() {
    let d = Dtype::Float8E4m3fn;
    // One lane, two columns: pairs (1, 2) and (3, 4) hold the two rows of column 0 and column 1.
    let w = view(&encode(d, &[1.0, 2.0, 3.0, 4.0]), d, &[1, 4]);
    let x = view(&encode(d, &[1.0, 8.0]), d, &[1, 2]);
    let p = Matmult { perf_mode: MatmultPerfMode::DoubleRowSwInterleave, ..Matmult::default() };
    let mut profile = Profile::reference();
    let mut out = Product::default();
    matmult(&p, &x, &w, &mut out, &profile).unwrap();
    assert_eq!(out.values(), [17.0, 35.0]);
    profile.set("matmul_sw_interleave", "refuse").unwrap();
    let e = matmult(&p, &x, &w, &mut out, &profile).unwrap_err();
    assert_eq!((e.code(), e.class()), (Code::U002, Class::Unsupported));
    profile.set("matmul_sw_interleave", "reversed").unwrap();
    matmult(&p, &x, &w, &mut out, &profile).unwrap();
    assert_eq!(out.values(), [35.0, 17.0]);
}

#[test]
fn d50_sparse_and_replication_name_what_is_missing() {
    let x = floats(&[1.0; 128], &[128, 1]);
    let tags = view(&[0; 256], Dtype::Int16, &[128, 1]);
    assert_eq!(matmult_sparse(&x, &x, &tags).unwrap_err().code(), Code::U002);
    let short = floats(&[1.0; 64], &[64, 1]);
    assert_eq!(matmult_sparse(&short, &short, &tags).unwrap_err().code(), Code::S008);
    let p = Matmult { replication: [0, 3, 8], ..Matmult::default() };
    assert_eq!(run(&p, &x, &x).unwrap_err().code(), Code::U002);
}

#[test]
fn d33_onezero_hints_have_no_place_in_the_kernel_and_modes_2_and_3_are_plain() {
    let (x, w) = (floats(&[1.0, 2.0], &[1, 2]), floats(&[3.0, 4.0], &[1, 2]));
    for perf_mode in [MatmultPerfMode::DoubleColumn, MatmultPerfMode::DoublePixel] {
        let p = Matmult { perf_mode, ..Matmult::default() };
        assert_eq!(run(&p, &x, &w).unwrap().values(), [3.0, 6.0, 4.0, 8.0]);
    }
}

#[test]
fn d50_transpose_moves_values_beside_an_identity() {
    let mut data: Vec<f32> = (0..6).map(|i| i as f32).collect();
    data[4] = f32::INFINITY;
    let x = floats(&data, &[2, 3]);
    let eye = floats(&[1.0, 0.0, 0.0, 1.0], &[2, 2]);
    let p = Matmult { is_transpose: true, ..Matmult::default() };
    let want = [0.0, 3.0, 1.0, f32::INFINITY, 2.0, 5.0];
    let out = run(&p, &x, &eye).unwrap();
    assert_eq!((out.rows(), out.cols()), (3, 2));
    assert_eq!(out.values(), want);
    assert_eq!(run(&p, &eye, &x).unwrap().values(), want);
    let general = floats(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    assert_eq!(run(&p, &x, &general).unwrap_err().code(), Code::U002);
    // Up to level 20 the flag is ignored.
    let old = Matmult { level: 20, ..p };
    assert_eq!(run(&old, &floats(&[5.0, 6.0], &[2, 1]), &general).unwrap().values(), [23.0, 34.0]);
}

#[test]
fn d18_marks_decide_copy_or_add_per_element() {
    for d in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16, Dtype::Int32] {
        let mut mem = encode(d, &[10.0, 20.0, 30.0, 40.0]);
        let mut dst = Dst::new(&mut mem, keep(Pattern::dense(d, &[1, 4]).unwrap())).unwrap();
        let profile = Profile::reference();
        store_row(&mut dst, 0, 1, &[1.0, 2.0], Marks::Each(&[true, false]), &profile).unwrap();
        store_row(&mut dst, 0, 3, &[1.0], Marks::All, &profile).unwrap();
        assert_eq!(decode(d, &mem), [10.0, 21.0, 2.0, 41.0], "{d}");
    }
    let mut mem = encode(Dtype::Float8E4m3fn, &[1.0]);
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float8E4m3fn, &[1, 1]).unwrap())).unwrap();
    assert_eq!(store_row(&mut dst, 0, 0, &[1.0], Marks::All, &Profile::reference()).unwrap_err().code(), Code::S007);
    assert_eq!(store_row(&mut dst, 0, 1, &[1.0], Marks::None, &Profile::reference()).unwrap_err().code(), Code::S002);
}

#[test]
fn psum_rounds_product_and_sum_in_its_own_dtype() {
    let profile = Profile::reference();
    let mut mem = encode(Dtype::Bfloat16, &[256.0]);
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Bfloat16, &[1, 1]).unwrap())).unwrap();
    store_row(&mut dst, 0, 0, &[1.0], Marks::All, &profile).unwrap();
    assert_eq!(mem, [0x80, 0x43]);
    let mut mem = encode(Dtype::Float32, &[256.0]);
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[1, 1]).unwrap())).unwrap();
    store_row(&mut dst, 0, 0, &[1.0], Marks::All, &profile).unwrap();
    assert_eq!(mem, 0x4380_8000u32.to_le_bytes());
}

#[test]
fn fault_63_a_finished_product_is_added_last() {
    // 2^24 is there first; the next group member contributes 1 + 1 as one finished sum.
    let ones = floats(&[1.0, 1.0], &[2, 1]);
    let out = run(&Matmult::default(), &ones, &ones).unwrap();
    let mut mem = encode(Dtype::Float32, &[16777216.0]);
    let mut dst = Dst::new(&mut mem, keep(Pattern::dense(Dtype::Float32, &[1, 1]).unwrap())).unwrap();
    store_row(&mut dst, 0, 0, out.row(0), Marks::All, &Profile::reference()).unwrap();
    assert_eq!(decode(Dtype::Float32, &mem), [16777218.0]);
}

#[test]
fn fault_7_overlapping_windows_add_up() {
    let ones = floats(&[1.0; 128], &[128, 1]);
    let moving = floats(&vec![1.0; 128 * 500], &[128, 500]);
    let out = run(&Matmult::default(), &moving, &ones).unwrap();
    let mut mem = vec![0xFFu8; 512 * 4];
    let mut written = [false; 512];
    for shift in 0..3i64 {
        let pairs = [Pair { stride: 2048, num: 1 }, Pair { stride: 4, num: 500 }];
        let mut dst = Dst::new(&mut mem, keep(Pattern::new(Dtype::Float32, 4 * shift, &pairs).unwrap())).unwrap();
        let at = shift as usize;
        let marks = written[at..at + 500].to_vec();
        store_row(&mut dst, 0, 0, out.row(0), Marks::Each(&marks), &Profile::reference()).unwrap();
        written[at..at + 500].fill(true);
    }
    let got = decode(Dtype::Float32, &mem);
    let want: Vec<f32> = (0..502).map(|c: i32| 128.0 * (c + 1).min(3).min(502 - c) as f32).collect();
    assert_eq!(got[..502], want);
    assert_eq!(mem[502 * 4..], [0xFF; 40]);
}

#[test]
fn any_access_pattern_equals_the_walk_written_out() {
    let seed = 20_240;
    let mut rng = Rng(seed);
    for round in 0..400 {
        let k = 1 + (rng.next() % 40) as u32;
        let operand = |rng: &mut Rng, limit: u32| loop {
            let dtype = [Dtype::Float32, Dtype::Bfloat16, Dtype::Float8e5][rng.next() as usize % 3];
            let size = dtype.size() as i64;
            let mut pairs = vec![Pair { stride: (rng.next() as i64 % 9 - 4) * 64, num: k }];
            for _ in 0..1 + rng.next() % 4 {
                pairs.push(Pair { stride: (rng.next() as i64 % 7 - 3) * size, num: 1 + (rng.next() % 6) as u32 });
            }
            if pairs[1..].iter().map(|p| p.num).product::<u32>() <= limit {
                break (dtype, pairs);
            }
        };
        let (wd, wp) = operand(&mut rng, 128);
        let (xd, xp) = operand(&mut rng, 512);
        let base = 20_000i64;
        let value = |d: Dtype, byte: i64| ((byte / d.size() as i64 * 7) % 13 - 6) as f32 * 0.25;
        let memory = |d: Dtype| {
            encode(d, &(0..40_000 / d.size() as i64).map(|i| value(d, i * d.size() as i64)).collect::<Vec<_>>())
        };
        let walk = |d: Dtype, pairs: &[Pair]| {
            let mut bytes = vec![base];
            for p in pairs {
                bytes = bytes.iter().flat_map(|b| (0..i64::from(p.num)).map(move |i| b + i * p.stride)).collect();
            }
            bytes.iter().map(|b| value(d, *b)).collect::<Vec<f32>>()
        };
        let (wm, xm) = (memory(wd), memory(xd));
        let w = Src::new(&wm, keep(Pattern::new(wd, base, &wp).unwrap())).unwrap();
        let x = Src::new(&xm, keep(Pattern::new(xd, base, &xp).unwrap())).unwrap();
        let out = run(&Matmult::default(), &x, &w).unwrap();
        let want = chain(k as usize, w.lane_len(), x.lane_len(), &walk(wd, &wp), &walk(xd, &xp));
        assert_eq!(out.values(), want, "seed {seed}, round {round}: {wd} {wp:?}, {xd} {xp:?}");
    }
}

#[test]
fn rows_that_lie_apart_unaligned_or_backwards_give_the_bits_of_the_chain() {
    let mut rng = Rng(11);
    let (k, most) = (9usize, 160usize);
    let gap = most as i64 * 4 + 6;
    for m in 1..=26 {
        for (n, stride) in [(32, gap), (96, -gap), (128, gap), (160, 0), (100, -gap), (33, gap)] {
            let memory: Vec<u8> = (0..k as i64 * gap + 2).map(|_| rng.next() as u8 & 0x3F).collect();
            let base = if stride < 0 { (k as i64 - 1) * gap + 2 } else { 2 };
            let pairs = [Pair { stride, num: k as u32 }, Pair { stride: 4, num: n as u32 }];
            let x = Src::new(&memory, keep(Pattern::new(Dtype::Float32, base, &pairs).unwrap())).unwrap();
            let at = |e: usize| (base + stride * (e / n) as i64) as usize + e % n * 4;
            let values: Vec<f32> =
                (0..k * n).map(|e| f32::from_le_bytes(memory[at(e)..at(e) + 4].try_into().unwrap())).collect();
            let w = rng.vec(k * m);
            for fma in [true, false] {
                let want = if fma { chain(k, m, n, &w, &values) } else { two_roundings(k, m, n, &w, &values) };
                for isa in Isa::available() {
                    let mut out = Product::default();
                    product_on(isa, fma, &x, &floats(&w, &[k as u32, m as u32]), &mut out).unwrap();
                    same_bits(out.values(), &want);
                }
            }
        }
    }
}

#[test]
fn d55_the_reference_rounds_multiply_and_add_separately() {
    let mut rng = Rng(55);
    let (k, m, n) = (64, 16, 40);
    let (w, x) = (rng.vec(k * m), rng.vec(k * n));
    let (ws, xs) = (floats(&w, &[k as u32, m as u32]), floats(&x, &[k as u32, n as u32]));
    let under = |profile: &Profile| {
        let mut out = Product::default();
        matmult(&Matmult { fma: profile.matmul_fma, ..Matmult::default() }, &xs, &ws, &mut out, profile).unwrap();
        out.values().to_vec()
    };
    same_bits(&under(&Profile::reference()), &two_roundings(k, m, n, &w, &x));
    same_bits(&under(&Profile::device()), &chain(k, m, n, &w, &x));
    assert_ne!(under(&Profile::reference()), under(&Profile::device()));
}

#[test]
fn d55_products_that_leave_float32_are_rounded_before_they_are_added() {
    let d = Dtype::Bfloat16;
    // Exponents from the smallest subnormal number to infinity.
    let values: Vec<f32> = (0..256u32)
        .map(|e| f32::from_bits(e << 23 | (e * 37 % 128) << 16))
        .map(|v| if v.is_nan() { 1.0 } else { v })
        .collect();
    let (k, m, n) = (4, 64, 64);
    let mut rng = Rng(7);
    let mut pick = |len: usize| {
        (0..len)
            .map(|_| {
                let r = rng.vec(1)[0].to_bits();
                let v = values[(r >> 3) as usize % 256];
                if r & 1 == 0 { v } else { -v }
            })
            .collect::<Vec<f32>>()
    };
    let (w, x) = (pick(k * m), pick(k * n));
    let ws = view(&encode(d, &w), d, &[k as u32, m as u32]);
    let xs = view(&encode(d, &x), d, &[k as u32, n as u32]);
    let want = two_roundings(k, m, n, &w, &x);
    assert_ne!(
        want.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        chain(k, m, n, &w, &x).iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        "the operands are of the kind that shows the difference"
    );
    for isa in Isa::available() {
        let mut out = Product::default();
        product_on(isa, false, &xs, &ws, &mut out).unwrap();
        same_bits(out.values(), &want);
    }
}

#[test]
fn a_product_that_goes_straight_into_psum_has_the_bits_of_the_two_steps() {
    let profile = Profile::default();
    for (k, m, n) in [(1, 1, 1), (3, 5, 7), (128, 12, 64), (128, 128, 512), (64, 33, 100), (128, 128, 37)] {
        for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float8e4] {
            for fma in [false, true] {
                let random = |seed: usize, count: usize| -> Vec<f32> {
                    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 8191) as f32 / 1024.0 - 4.0).collect()
                };
                let (w, x) = (encode(dtype, &random(1, k * m)), encode(dtype, &random(2, k * n)));
                let (w, x) = (view(&w, dtype, &[k as u32, m as u32]), view(&x, dtype, &[k as u32, n as u32]));
                let p = Matmult { fma, ..Matmult::default() };
                let mut product = Product::default();
                matmult(&p, &x, &w, &mut product, &profile).unwrap();
                // Rows with a gap between them, as partitions of PSUM have.
                let pitch = 4 * (n as i64 + 3);
                let pairs = [Pair { stride: pitch, num: m as u32 }, Pair { stride: 4, num: n as u32 }];
                let pattern = Pattern::new(Dtype::Float32, 0, &pairs).unwrap();
                let mut old = random(3, m * (n + 3));
                old[0] = -0.0;
                for add in [false, true] {
                    let (mut two, mut one) = (old.clone(), old.clone());
                    let mut dst = Dst::new(bytemuck::cast_slice_mut(&mut two), &pattern).unwrap();
                    for lane in 0..m {
                        let marks = if add { Marks::All } else { Marks::None };
                        store_row(&mut dst, lane, 0, product.row(lane), marks, &profile).unwrap();
                    }
                    let mut dst = Dst::new(bytemuck::cast_slice_mut(&mut one), &pattern).unwrap();
                    let mut scratch = Product::default();
                    assert!(matmult_into(&p, &x, &w, &mut dst, add, &mut scratch, &profile).unwrap());
                    same_bits(&one, &two);
                }
            }
        }
    }
}

#[test]
fn a_destination_of_another_shape_or_dtype_is_left_to_the_two_steps() {
    let (x, w) = (floats(&[1.0; 8], &[2, 4]), floats(&[1.0; 6], &[2, 3]));
    let into = |dtype, nums: &[u32]| {
        let pattern = Pattern::dense(dtype, nums).unwrap();
        let mut bytes = vec![7u8; pattern.len() * dtype.size()];
        let mut dst = Dst::new(&mut bytes, &pattern).unwrap();
        let p = Matmult::default();
        let done = matmult_into(&p, &x, &w, &mut dst, false, &mut Product::default(), &Profile::default()).unwrap();
        assert!(done || bytes.iter().all(|b| *b == 7));
        done
    };
    assert!(into(Dtype::Float32, &[3, 4]) && into(Dtype::Float32, &[3, 2, 2]));
    assert!(!into(Dtype::Float32, &[4, 3]) && !into(Dtype::Float32, &[3, 5]) && !into(Dtype::Bfloat16, &[3, 4]));
}
