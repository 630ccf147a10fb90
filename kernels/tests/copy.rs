//! The copy family.

mod util;

use birsim_kernels::access::{Dst, Pair, Pattern, Src};
use birsim_kernels::copy::copy;
use birsim_kernels::{Code, Dtype, Profile};
use util::{Rng, Tensor, keep};

const R: Profile = Profile::reference();

#[test]
fn equal_dtypes_keep_every_bit() {
    for dtype in Dtype::ALL {
        let mut x = Tensor::zeros(*dtype, &[5, 333]);
        let mut rng = Rng(u64::from(*dtype as u8));
        x.bytes.iter_mut().for_each(|b| *b = rng.next() as u8);
        let mut y = Tensor::zeros(*dtype, &[5, 333]);
        y.write(|d| copy(&x.src(), d, &R)).unwrap();
        assert_eq!(x.bytes, y.bytes, "{dtype}");
    }
    let x = Tensor::i32(&[1, 1], &[0x0100_0001]);
    let mut y = Tensor::zeros(Dtype::Int32, &[1, 1]);
    y.write(|d| copy(&x.src(), d, &R)).unwrap();
    assert_eq!(y.ints(), [0x0100_0001]);
}

#[test]
fn different_dtypes_are_cast_with_the_default_config() {
    let x = Tensor::f32(&[2, 3], &[0.5, 1.5, 300.0, -200.0, 126.5, -128.5]);
    let mut y = Tensor::zeros(Dtype::Int8, &[2, 3]);
    y.write(|d| copy(&x.src(), d, &R)).unwrap();
    assert_eq!(y.values(), [0.0, 2.0, 127.0, -128.0, 126.0, -128.0]);
    let mut y = Tensor::zeros(Dtype::Float8e4, &[2, 3]);
    y.write(|d| copy(&x.src(), d, &R)).unwrap();
    assert_eq!(y.bytes[2], 0x77, "300 saturates");
    let mut infinite = R;
    infinite.fp8_saturate = false;
    y.write(|d| copy(&x.src(), d, &infinite)).unwrap();
    assert_eq!(y.bytes[2], 0x78);
}

#[test]
fn fault_33_shapes_may_differ_when_totals_agree() {
    let mut x = Tensor::zeros(Dtype::Float32, &[128, 2, 512]);
    let mut rng = Rng(33);
    x.bytes.iter_mut().for_each(|b| *b = rng.next() as u8);
    for nums in [vec![128, 1024], vec![256, 512], vec![1, 131_072], vec![131_072, 1], vec![64, 4, 512]] {
        let mut y = Tensor::zeros(Dtype::Float32, &nums);
        y.write(|d| copy(&x.src(), d, &R)).unwrap();
        assert_eq!(x.bytes, y.bytes, "{nums:?}");
    }
    let short = Tensor::zeros(Dtype::Float32, &[128, 2, 511]);
    let mut y = Tensor::zeros(Dtype::Float32, &[128, 1024]);
    let e = y.write(|d| copy(&short.src(), d, &R)).err().unwrap();
    assert_eq!(e.code(), Code::S002);
    let got = e.received_value().unwrap();
    assert!(got.contains("[128, 2, 511]") && got.contains("[128, 1024]"), "{got}");
}

#[test]
fn strides_on_either_side() {
    let x: Vec<u8> = (0..200).collect();
    let pairs = |s: [i64; 3], n: [u32; 3]| [0, 1, 2].map(|k| Pair { stride: s[k], num: n[k] });
    // Reversed partitions, every second byte, a broadcast dimension.
    let src = Pattern::new(Dtype::Uint8, 60, &pairs([-20, 0, 2], [4, 2, 5])).unwrap();
    let mut out = vec![0xEE; 60];
    let dst = Pattern::new(Dtype::Uint8, 3, &pairs([12, 5, 1], [4, 2, 5])).unwrap();
    copy(&Src::new(&x, keep(src)).unwrap(), &mut Dst::new(&mut out, keep(dst)).unwrap(), &R).unwrap();
    let mut expected = vec![0xEE; 60];
    for (w, y, k) in (0..4).flat_map(|w| (0..2).flat_map(move |y| (0..5).map(move |k| (w, y, k)))) {
        expected[3 + 12 * w + 5 * y + k] = x[60 - 20 * w + 2 * k];
    }
    assert_eq!(out, expected);
}

#[test]
fn packed_types_move_but_do_not_convert() {
    let x = Tensor { dtype: Dtype::Float4E2m1fnX4, nums: vec![1, 2], bytes: vec![1, 2, 3, 4] };
    let mut y = Tensor::zeros(Dtype::Float32, &[1, 2]);
    assert_eq!(y.write(|d| copy(&x.src(), d, &R)).err().unwrap().code(), Code::S007);
    let mut y = Tensor::zeros(Dtype::Float4E2m1fnX4, &[2, 1]);
    y.write(|d| copy(&x.src(), d, &R)).unwrap();
    assert_eq!(y.bytes, x.bytes);
}

#[test]
fn a_source_that_lies_across_equals_the_walk_written_out() {
    let mut rng = Rng(77);
    for (lanes, len) in [(64, 16), (100, 40), (17, 33), (8, 16), (7, 100), (129, 15), (70, 128)] {
        for dtype in [Dtype::Uint8, Dtype::Bfloat16, Dtype::Float32, Dtype::Int64] {
            let size = dtype.size() as i64;
            for (step, base) in [(i64::from(lanes) * size, 0), (i64::from(lanes) * size + 5, 3), (1, 0), (0, 2)] {
                let bytes: Vec<u8> =
                    (0..base + step * i64::from(len) + i64::from(lanes) * size + 1).map(|_| rng.next() as u8).collect();
                let pairs = [Pair { stride: size, num: lanes }, Pair { stride: step, num: len }];
                let x = Src::new(&bytes, keep(Pattern::new(dtype, base, &pairs).unwrap())).unwrap();
                // Lanes apart, touching, and overlapping: there the last writer counts.
                let row = i64::from(len) * size;
                for lane_step in [row, row + 9, -row, size, row / 2] {
                    let start = if lane_step < 0 { -lane_step * i64::from(lanes - 1) } else { 0 } + 1;
                    let room = (start + lane_step.abs() * i64::from(lanes) + row + 7) as usize;
                    let (mut out, mut expected) = (vec![0xEE; room], vec![0xEE; room]);
                    for l in 0..i64::from(lanes) {
                        for e in 0..i64::from(len) {
                            let (from, to) = (base + l * size + e * step, start + l * lane_step + e * size);
                            expected[to as usize..][..size as usize]
                                .copy_from_slice(&bytes[from as usize..][..size as usize]);
                        }
                    }
                    let pairs = [Pair { stride: lane_step, num: lanes }, Pair { stride: size, num: len }];
                    let mut dst = Dst::new(&mut out, keep(Pattern::new(dtype, start, &pairs).unwrap())).unwrap();
                    copy(&x, &mut dst, &R).unwrap();
                    assert!(out == expected, "{dtype} {lanes} x {len}, step {step}, lanes {lane_step} apart");
                }
            }
        }
    }
}
