//! MatmultMx (95) and QuantizeMx (96): vectors, layout, contraction, limits.

mod views;

use birsim_kernels::access::Src;
use birsim_kernels::matmul::{Matmult, MatmultPerfMode, PeLimits, Product};
use birsim_kernels::mx::*;
use birsim_kernels::{Code, Dtype, Profile, cast};
use views::Tensor;

const P: Profile = Profile::reference();

fn bf16(v: f32) -> u16 {
    (v.to_bits() >> 16) as u16
}

/// Quantises 32 x (4 * containers) values given by `f(partition, element)`; returns data bytes and scale bytes.
fn quantize(out: Dtype, containers: u32, profile: &Profile, f: impl Fn(usize, usize) -> f32) -> (Tensor, Tensor) {
    let w = 4 * containers as usize;
    let values: Vec<u16> = (0..32 * w).map(|i| bf16(f(i / w, i % w))).collect();
    let x = Tensor::of(Dtype::Bfloat16, &[32, 4 * containers], &values);
    let mut q = Tensor::filled(out, &[32, containers], 0x55);
    let mut s = Tensor::filled(Dtype::Uint8, &[32, containers], 0x5A);
    quantize_mx(&QuantizeMx, &x.src(), &mut q.dst(), &mut s.dst(), profile).unwrap();
    (q, s)
}

fn matmul4(ifmap: &Tensor, weights: &Tensor, is: &Src, ws: &Src) -> birsim_kernels::Result<Product> {
    let p = Matmult { limits: PeLimits::of(40, Dtype::Float32), level: 40, ..Matmult::default() };
    let mut out = Product::default();
    matmult_mx(&p, &ifmap.src(), &weights.src(), is, ws, &mut out)?;
    Ok(out)
}

#[test]
fn shared_exponent_and_codes_of_the_specification() {
    let f4 = Dtype::Float4E2m1fnX4;
    let f8 = Dtype::Float8E4m3fnX4;
    let f5 = Dtype::Float8E5m2X4;
    let rows: [(Dtype, u32, u8, u8); 20] = [
        (f4, 0x3F80_0000, 125, 6),
        (f4, 0x3FC0_0000, 125, 7),
        (f4, 0x3FFE_0000, 125, 7),
        (f4, 0xC040_0000, 126, 0xF),
        (f4, 0x0000_0000, 1, 0),
        (f4, 0x0380_0000, 5, 6),
        (f4, 0x7F80_0000, 253, 7),
        (f8, 0x3F80_0000, 119, 0x78),
        (f8, 0x3FC0_0000, 119, 0x7C),
        (f8, 0x3FFE_0000, 119, 0x7E),
        (f8, 0xC040_0000, 120, 0xFC),
        (f8, 0x0000_0000, 1, 0),
        (f8, 0x0380_0000, 1, 0x68),
        (f8, 0x7F80_0000, 247, 0x7E),
        (f5, 0x3F80_0000, 112, 0x78),
        (f5, 0x3FC0_0000, 112, 0x7A),
        (f5, 0x3FFE_0000, 112, 0x7B),
        (f5, 0xC040_0000, 113, 0xFA),
        (f5, 0x0380_0000, 1, 0x54),
        (f5, 0x7F80_0000, 240, 0x7B),
    ];
    for (d, bits, scale, code) in rows {
        // The block maximum sits in partition 5, lane 2 of block row 0, container 0.
        let (q, s) = quantize(d, 1, &P, |p, e| if (p, e) == (5, 2) { f32::from_bits(bits) } else { 0.0 });
        assert_eq!(s.bytes[0], scale, "{d} {bits:08X}");
        let lane = if d == f4 { (q.bytes[5 * 2 + 1]) & 15 } else { q.bytes[5 * 4 + 2] };
        assert_eq!(lane, code, "{d} {bits:08X}");
        let zeros = q.bytes.iter().filter(|b| **b == 0).count();
        assert_eq!(zeros, q.bytes.len() - usize::from(code != 0));
    }
}

#[test]
fn only_the_scale_rows_of_the_layout_are_written() {
    let (_, s) = quantize(Dtype::Float8E5m2X4, 3, &P, |p, e| (p * 16 + e) as f32);
    for (row, bytes) in s.bytes.chunks(3).enumerate() {
        assert_eq!(bytes.contains(&0x5A), row >= 4, "scale row {row}");
    }
    for (i, slot) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 32), (5, 33), (7, 35), (8, 64), (12, 96), (15, 99)] {
        assert_eq!(scale_slot(i), slot);
    }
}

#[test]
fn blocks_are_eight_partitions_by_four_elements() {
    let (_, s) = quantize(Dtype::Float8E4m3fnX4, 2, &P, |p, e| if (p, e) == (15, 4) { 256.0 } else { 1.0 });
    assert_eq!(s.bytes[..8], [119, 119, 119, 127, 119, 119, 119, 119]);
}

#[test]
fn nan_and_infinity_of_a_block() {
    for (d, scale) in [(Dtype::Float4E2m1fnX4, 253), (Dtype::Float8E4m3fnX4, 247), (Dtype::Float8E5m2X4, 240)] {
        let (q, s) = quantize(d, 1, &P, |p, e| if (p, e) == (0, 0) { f32::NAN } else { 1.0 });
        assert_eq!(s.bytes[0], scale);
        assert!(q.bytes[..8 * d.size()].iter().all(|b| *b == 0), "{d}: NaN and all that is divided by 2^126");
    }
    let mut alternative = Profile::reference();
    alternative.mx_alternative_emax = true;
    let (q, s) = quantize(Dtype::Float4E2m1fnX4, 1, &alternative, |_, e| if e == 0 { f32::INFINITY } else { 1.0 });
    assert_eq!(s.bytes[0], 254);
    assert!(q.bytes.iter().all(|b| *b & 0x77 == 0), "the multiplier is zero and Inf times zero is NaN");
}

#[test]
fn fault_25_a_block_of_465_clamps_unless_the_scale_is_a_binade_higher() {
    let block = |profile: &Profile| {
        // 465 is no bfloat16; float16 holds it.
        let x = Tensor::of(Dtype::Float16, &[32, 4], &[0x5F44u16; 128]);
        let mut q = Tensor::filled(Dtype::Float8E4m3fnX4, &[32, 1], 0);
        let mut s = Tensor::filled(Dtype::Float8E8m0fnu, &[32, 1], 0);
        quantize_mx(&QuantizeMx, &x.src(), &mut q.dst(), &mut s.dst(), profile).unwrap();
        let mut out = [0.0; 4];
        dequantize(&q.src(), &s.src(), 0, 0, &mut out).unwrap();
        (s.bytes[0], q.bytes[0], out[0])
    };
    // 465 / 1 saturates to 448; 465 / 2 = 232.5 rounds to 240.
    assert_eq!(block(&Profile::reference()), (127, 0x7E, 448.0));
    assert_eq!(block(&Profile::device()), (128, 0x77, 480.0));
    let (_, s) = quantize(Dtype::Float8E4m3fnX4, 1, &Profile::device(), |_, _| 0.0);
    assert_eq!(s.bytes[0], 0);
}

#[test]
fn fault_5_quantising_into_a_slice_of_scales_leaves_its_neighbours() {
    let x = Tensor::of(Dtype::Bfloat16, &[128, 8], &[bf16(1.5); 1024]);
    let mut q = Tensor::filled(Dtype::Float8E4m3fnX4, &[128, 2], 0);
    let mut s = Tensor::filled(Dtype::Uint8, &[128, 8], 0xA5);
    quantize_mx(&QuantizeMx, &x.src(), &mut q.dst(), &mut s.dst_at(2, &[(8, 128), (1, 2)]), &P).unwrap();
    for (row, bytes) in s.bytes.chunks(8).enumerate() {
        let inside = if row % 32 < 4 { 119 } else { 0xA5 };
        assert_eq!(bytes, [0xA5, 0xA5, inside, inside, 0xA5, 0xA5, 0xA5, 0xA5]);
    }
}

#[test]
fn dequantising_is_a_power_of_two() {
    assert_eq!(scaled(1.5, 130), 12.0);
    assert_eq!(scaled(1.0, 1).to_bits(), 0x0080_0000);
    assert_eq!(scaled(1.0, 0).to_bits(), 0x0040_0000);
    assert_eq!(scaled(448.0, 255), f32::INFINITY);
    assert_eq!(scaled(-1.0, 255), f32::NEG_INFINITY);
    assert_eq!(scaled(0.0, 255), 0.0);
    assert_eq!(scaled(0.5, 255), f32::powi(2.0, 127));
    // 2^-9 * 2^-127 = 2^-136 is a subnormal.
    assert_eq!(scaled(f32::powi(2.0, -9), 0).to_bits(), 1 << 13);
}

#[test]
fn the_contraction_runs_over_partitions_and_lanes() {
    for (d, lane) in [
        (Dtype::Float8E4m3fnX4, Dtype::Float8E4m3fn),
        (Dtype::Float8E5m2X4, Dtype::Float8e5),
        (Dtype::Float4E2m1fnX4, Dtype::Float4E2m1fnX4),
    ] {
        for p in [32usize, 64, 128] {
            let (m, n) = (6usize, 5usize);
            let value = |i: usize, by: usize| [0.0f32, 0.5, 1.0, -1.5, 2.0, -3.0, 4.0, 6.0][i * by % 8];
            let (w, x): (Vec<f32>, Vec<f32>) =
                ((0..p * 4 * m).map(|i| value(i, 3)).collect(), (0..p * 4 * n).map(|i| value(i, 5)).collect());
            let pack = |v: &[f32], c: usize| {
                let mut t = Tensor::filled(d, &[p as u32, c as u32], 0);
                cast::encode_f32(lane, cast::Fp8Config::QUANTIZE, v, &mut t.bytes);
                t
            };
            let scales = |c: usize, by: usize| {
                let bytes: Vec<u8> = (0..128 * c).map(|i| 124 + (i * by % 7) as u8).collect();
                Tensor::of(Dtype::Uint8, &[128, c as u32], &bytes)
            };
            let (ws, xs) = (scales(m, 3), scales(n, 5));
            let out = matmul4(&pack(&x, n), &pack(&w, m), &xs.src(), &ws.src()).unwrap();
            assert_eq!((out.rows(), out.cols()), (m, n));
            for i in 0..m {
                for j in 0..n {
                    let mut want = 0.0f32;
                    for r in 0..p {
                        let slot = scale_slot(r / 8);
                        let (sw, sx) = (ws.bytes[slot * m + i], xs.bytes[slot * n + j]);
                        for q in 0..4 {
                            let a = w[r * 4 * m + 4 * i + q] * f32::powi(2.0, i32::from(sw) - 127);
                            let b = x[r * 4 * n + 4 * j + q] * f32::powi(2.0, i32::from(sx) - 127);
                            want = a.mul_add(b, want);
                        }
                    }
                    assert_eq!(out.row(i)[j], want, "{d} {p} [{i}][{j}]");
                }
            }
        }
    }
}

#[test]
fn operands_may_differ_in_format_and_sit_in_a_slice_of_the_scales() {
    let w = Tensor::filled(Dtype::Float8E5m2X4, &[32, 2], 0x3C);
    let x = Tensor::filled(Dtype::Float4E2m1fnX4, &[32, 3], 0x22);
    let s = Tensor::filled(Dtype::Float8E8m0fnu, &[32, 16], 128);
    let out = matmul4(&x, &w, &s.src_at(4 * 16 + 3, &[(16, 4), (1, 3)]), &s.src_at(12 * 16, &[(16, 4), (1, 2)]));
    // 128 products of 2 * 2.
    assert_eq!(out.unwrap().values(), [512.0; 6]);
}

#[test]
fn quantise_and_multiply_gives_the_plain_product_of_representable_values() {
    let f = |p: usize, e: usize| ((p * 3 + e * 5) % 8) as f32 - 3.0;
    let (xq, xs) = quantize(Dtype::Float8E4m3fnX4, 3, &P, f);
    let (wq, ws) = quantize(Dtype::Float8E4m3fnX4, 2, &P, f);
    let out = matmul4(&xq, &wq, &xs.src(), &ws.src()).unwrap();
    for m in 0..2 {
        for n in 0..3 {
            let want: f32 = (0..32).flat_map(|p| (0..4).map(move |q| f(p, 4 * m + q) * f(p, 4 * n + q))).sum();
            assert_eq!(out.row(m)[n], want);
        }
    }
}

#[test]
fn contract_violations_are_errors() {
    let d = Dtype::Float8E4m3fnX4;
    let t = |p: u32, c: u32| Tensor::filled(d, &[p, c], 0);
    let s = |p: u32, c: u32| Tensor::filled(Dtype::Uint8, &[p, c], 127);
    let code =
        |x: &Tensor, w: &Tensor, xs: &Tensor, ws: &Tensor| matmul4(x, w, &xs.src(), &ws.src()).err().map(|e| e.code());
    assert_eq!(code(&t(32, 2), &t(32, 2), &s(4, 2), &s(4, 2)), None);
    assert_eq!(code(&t(32, 2), &t(64, 2), &s(64, 2), &s(64, 2)), Some(Code::S002));
    assert_eq!(code(&t(96, 2), &t(96, 2), &s(96, 2), &s(96, 2)), Some(Code::S008));
    assert_eq!(code(&t(32, 2), &t(32, 3), &s(32, 2), &s(32, 3)), Some(Code::S008));
    assert_eq!(code(&t(32, 2), &t(32, 130), &s(32, 2), &s(32, 130)), Some(Code::S008));
    assert_eq!(code(&t(32, 4098), &t(32, 2), &s(32, 4098), &s(32, 2)), Some(Code::S008));
    assert_eq!(code(&t(32, 2), &t(32, 2), &s(3, 2), &s(4, 2)), Some(Code::S002));
    assert_eq!(code(&t(128, 2), &t(128, 2), &s(99, 2), &s(100, 2)), Some(Code::S002));
    assert_eq!(code(&t(32, 2), &t(32, 2), &s(32, 3), &s(32, 2)), Some(Code::S002));
    let plain = Tensor::filled(Dtype::Bfloat16, &[32, 2], 0);
    assert_eq!(code(&plain, &t(32, 2), &s(32, 2), &s(32, 2)), Some(Code::S007));
    let wide = Tensor::filled(Dtype::Int32, &[32, 2], 0);
    assert_eq!(code(&t(32, 2), &t(32, 2), &wide, &s(32, 2)), Some(Code::S007));
    let p = Matmult { perf_mode: MatmultPerfMode::DoubleRow, ..Matmult::default() };
    let (x, xs) = (t(32, 2), s(32, 2));
    let e = matmult_mx(&p, &x.src(), &x.src(), &xs.src(), &xs.src(), &mut Product::default()).unwrap_err();
    assert_eq!(e.code(), Code::U002);
    for (start, ok) in [(0, true), (4, true), (12, true), (32, true), (16, false), (2, false), (31, false), (108, true)]
    {
        assert_eq!(check_scale_partition(start).is_ok(), ok, "{start}");
    }
}

#[test]
fn quantize_checks_its_operands() {
    let go = |x: &Tensor, mut q: Tensor, mut s: Tensor| {
        quantize_mx(&QuantizeMx, &x.src(), &mut q.dst(), &mut s.dst(), &P).err().map(|e| e.code())
    };
    let x = Tensor::filled(Dtype::Bfloat16, &[32, 8], 0);
    let q = || Tensor::filled(Dtype::Float8E4m3fnX4, &[32, 2], 0);
    let s = || Tensor::filled(Dtype::Uint8, &[32, 2], 0);
    assert_eq!(go(&x, q(), s()), None);
    assert_eq!(go(&Tensor::filled(Dtype::Float32, &[32, 8], 0), q(), s()), Some(Code::S007));
    assert_eq!(go(&x, Tensor::filled(Dtype::Float8E4m3fn, &[32, 8], 0), s()), Some(Code::S007));
    assert_eq!(go(&Tensor::filled(Dtype::Bfloat16, &[32, 9], 0), q(), s()), Some(Code::S002));
    assert_eq!(go(&x, q(), Tensor::filled(Dtype::Uint8, &[32, 1], 0)), Some(Code::S002));
    assert_eq!(go(&x, q(), Tensor::filled(Dtype::Uint16, &[32, 2], 0)), Some(Code::S007));
    let x8 = Tensor::filled(Dtype::Bfloat16, &[8, 8], 0);
    assert_eq!(go(&x8, Tensor::filled(Dtype::Float8E4m3fnX4, &[8, 2], 0), s()), Some(Code::S008));
}

#[test]
fn wide_tiles_quantise_the_same_in_one_piece_and_in_columns() {
    let f = |p: usize, e: usize| ((p * 131 + e * 17) % 509) as f32 * 0.37 - 90.0;
    let (q, s) = quantize(Dtype::Float8E4m3fnX4, 300, &P, f);
    for c in [0usize, 127, 128, 129, 299] {
        let (q1, s1) = quantize(Dtype::Float8E4m3fnX4, 1, &P, |p, e| f(p, 4 * c + e));
        for p in 0..32 {
            assert_eq!(q.bytes[(p * 300 + c) * 4..][..4], q1.bytes[p * 4..][..4]);
        }
        for row in 0..4 {
            assert_eq!(s.bytes[row * 300 + c], s1.bytes[row]);
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|c| u8::from_str_radix(std::str::from_utf8(c).unwrap(), 16).unwrap()).collect()
}

#[test]
fn a_small_product_with_mixed_scales() {
    let x = concat!(
        "4440c438c4440044b8404000c444c0c4c440c0c400380038c440c4b8b844440040c044b800c0b8b8b8003844c0c44044",
        "c4b844004000380040c444440000c04044c438000040b80000b8c03840c0380038b800003844b8b844c000b8c400c040",
        "44b800b8384444c0403844c40000b8b8c0b8b8384444c40040b84040c40000c040c4b8c440c040c4004440c0c4c0c038",
        "c044c0384400b800c4c0c0c0b8c43840c400c0c0c4b84038384400c040b8c440b800c400b8b8c40040b840400044c0c0",
        "44c4c0b8b8c038b8b8c00038c43800000040c40040c400384044b8c4b84044c440400044b844443800c044440038b8c4",
        "4038c400c0380038c40038c440c038c00000380000c038c038c040c440b800c00038c4b8c0c0b840b8c0004000000000",
        "c4004040383840c0b8b83844c400b84044b80038c43844c4c44000c4c4b80038c044c4c4c0b840b8c0c0c0b8c0b8c400",
        "000040c438b8c40038c4b840b80000c00044c43838b8c438440044003800c0c4c43800b8c4c044c438c044383844c0b8",
    );
    let w = concat!(
        "40404400c040c4b840b8c4c03800384044000044c0c000c04400b844b8b8c00044c4c0c04440b8380038403840c000c4",
        "444438c038c400c4c4380044c040444044c0b8c4b8b8443840b840c4b80044c4c444b840444440b83800c0c0c4b8b840",
        "b8b8c0c4444400b844b8c038383840b84438403844b8c044c440c438c0c044b8b840b840c4c4c00038b8c0b8b8c438b8",
        "384000c4403800c044c438c000c0b8b800404438b838c4380040c0c0c40038c0c0b8c000b8004444b844400000c04444",
        "40c440b838b800004044b8c444b8b8400000440044b838b838c4c0b8004040b8384040c0b8444044b8c444b84000c400",
        "383838b8b844c400b80044c0c038c038",
    );
    let x = Tensor::of(Dtype::Float8E4m3fnX4, &[32, 3], &hex(x));
    let w = Tensor::of(Dtype::Float8E4m3fnX4, &[32, 2], &hex(w));
    let xs = Tensor::of(Dtype::Uint8, &[4, 3], &[125u8, 129, 125, 125, 128, 125, 126, 128, 126, 128, 127, 125]);
    let ws = Tensor::of(Dtype::Uint8, &[4, 2], &[125u8, 129, 127, 128, 127, 125, 125, 126]);
    let out = matmul4(&x, &w, &xs.src(), &ws.src()).unwrap();
    assert_eq!(out.values(), [1.375, -37.0, 0.4375, -63.375, 128.0, -1.25]);
}
