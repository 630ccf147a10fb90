//! The cast engine against the vectors of `numerics.md` 8 and an oracle written in float64.

mod vectors;

use birsim_kernels::cast::{
    Fp8Config, MemoryReductionOp, accumulate, cast, check_cast, decode_f32, decode_f32_value, decode_i32, decode_i64,
    encode_f32, encode_i32, encode_i64, sse_max, sse_min,
};
use birsim_kernels::{Code, Dtype, Named, Profile};

/// Big-endian hex text to little-endian bytes.
fn bytes(hex: &str) -> Vec<u8> {
    let mut out: Vec<u8> =
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    out.reverse();
    out
}

fn dtype(name: &str) -> Dtype {
    Dtype::from_name(name).unwrap()
}

fn encode_one(to: Dtype, cfg: Fp8Config, x: f32) -> u64 {
    let mut out = [0; 8];
    encode_f32(to, cfg, &[x], &mut out[..to.size()]);
    u64::from_le_bytes(out)
}

#[test]
fn every_documented_conversion() {
    assert_eq!(vectors::CASTS.len(), 152);
    for (from, to, input, expected, without) in vectors::CASTS {
        let configs = [(Fp8Config::DEFAULT, *expected), (Fp8Config::ACCUMULATE, *without)];
        for (cfg, expected) in configs {
            let expected = if expected == "-" { vectors_default(from, to, input) } else { expected };
            let got = if *to == "nibble" {
                let mut out = [0; 2];
                let x = decode_f32_value(dtype(from), &bytes(input));
                encode_f32(Dtype::Float4E2m1fnX4, cfg, &[x, 0.0, 0.0, 0.0], &mut out);
                format!("{:X}", out[0] & 15)
            } else {
                let mut out = vec![0; dtype(to).size()];
                cast(dtype(from), dtype(to), cfg, &bytes(input), &mut out).unwrap();
                if expected == "NaN" {
                    assert!(decode_f32_value(dtype(to), &out).is_nan(), "{from} {input}");
                    continue;
                }
                out.iter().rev().map(|b| format!("{b:02X}")).collect()
            };
            assert_eq!(got, expected, "{from} -> {to} of {input} with {cfg:?}");
        }
    }
}

fn vectors_default(from: &str, to: &str, input: &str) -> &'static str {
    vectors::CASTS.iter().find(|v| (v.0, v.1, v.2) == (from, to, input)).unwrap().3
}

#[test]
fn every_documented_accumulation() {
    assert_eq!(vectors::ACCUMULATIONS.len(), 15);
    for (name, op, dst, src, expected) in vectors::ACCUMULATIONS {
        let mut d = bytes(dst);
        accumulate(MemoryReductionOp::from_name(op).unwrap(), dtype(name), &mut d, &bytes(src)).unwrap();
        assert_eq!(d, bytes(expected), "{name} {op} {dst} {src}");
    }
}

#[test]
fn exactly_eight_dtypes_accumulate() {
    for d in Dtype::ALL {
        for op in [MemoryReductionOp::Add, MemoryReductionOp::Min, MemoryReductionOp::Max] {
            let mut dst = vec![1; d.size()];
            let out = accumulate(op, *d, &mut dst, &vec![1; d.size()]);
            assert_eq!(out.is_ok(), d.is_reducible(), "{d}");
            if let Err(e) = out {
                assert_eq!((e.code(), e.what().contains("unsupported dtype")), (Code::S007, true));
            }
        }
        let mut dst = vec![1; d.size()];
        accumulate(MemoryReductionOp::Copy, *d, &mut dst, &vec![9; d.size()]).unwrap();
        assert_eq!(dst, vec![9; d.size()]);
    }
}

/// mantissa bits, bias, largest finite code, first code past it, NaN code, whether those take a sign.
struct Format(u32, i32, u32, u32, u32, bool);

fn format_of(d: Dtype) -> Format {
    match d {
        Dtype::Float8e3 => Format(4, 3, 0x6F, 0x70, 0x78, true),
        Dtype::Float8e4 => Format(3, 7, 0x77, 0x78, 0x7C, true),
        Dtype::Float8E4m3fn => Format(3, 7, 0x7E, 0x7F, 0x7F, false),
        Dtype::Float8e5 => Format(2, 15, 0x7B, 0x7C, 0x7E, true),
        Dtype::Float16 => Format(10, 15, 0x7BFF, 0x7C00, 0x7E00, true),
        _ => Format(7, 127, 0x7F7F, 0x7F80, 0x7FC0, true),
    }
}

fn value_of(f: &Format, code: u32) -> f64 {
    let (e, m) = ((code >> f.0) as i32, f64::from(code & ((1 << f.0) - 1)));
    let one = f64::from(1u32 << f.0);
    if e == 0 { m / one * 2f64.powi(1 - f.1) } else { (1.0 + m / one) * 2f64.powi(e - f.1) }
}

/// What `x` becomes: nearest code, ties to the even one, with the flushed band and the configs of `numerics.md` 4.
fn oracle(d: Dtype, cfg: Fp8Config, x: f32) -> u32 {
    let f = format_of(d);
    let fp8 = d.size() == 1;
    let top = if fp8 { 0x80 } else { 0x8000 };
    let sign = if x.is_sign_negative() { top } else { 0 };
    if x.is_nan() {
        return match (fp8 && cfg.suppress_nan, d) {
            (true, _) => sign,
            (false, Dtype::Float8E4m3fn | Dtype::Float8e5 | Dtype::Bfloat16) => f.4,
            _ => f.4 | sign,
        };
    }
    let a = f64::from(x.abs());
    if fp8 && a < value_of(&f, 1) {
        return sign;
    }
    // Binary search for the code at or below, then round.
    let (mut lo, mut hi) = (0, f.2 + 1);
    while hi - lo > 1 {
        let mid = (lo + hi) / 2;
        if value_of(&f, mid) <= a { lo = mid } else { hi = mid }
    }
    // The slot past the largest finite value counts as its neighbour.
    let (below, above) = (a - value_of(&f, lo), value_of(&f, lo + 1) - a);
    let up = above < below || (above == below && lo & 1 == 1);
    let code = if x.is_infinite() { f.2 + 1 } else { lo + u32::from(up) };
    if code <= f.2 {
        return code | sign;
    }
    match (fp8, cfg.saturate) {
        (true, true) => f.2 | sign,
        (true, false) if !f.5 => {
            if cfg.suppress_nan {
                sign
            } else {
                f.3
            }
        }
        _ => f.3 | sign,
    }
}

const NARROW: [Dtype; 6] =
    [Dtype::Float8e3, Dtype::Float8e4, Dtype::Float8E4m3fn, Dtype::Float8e5, Dtype::Float16, Dtype::Bfloat16];

const CONFIGS: [Fp8Config; 4] =
    [Fp8Config::DEFAULT, Fp8Config::ACCUMULATE, Fp8Config::QUANTIZE, Fp8Config::new(false, true)];

#[test]
fn every_code_decodes_and_comes_back() {
    for d in NARROW {
        let f = format_of(d);
        let top: u32 = if d.size() == 1 { 0x80 } else { 0x8000 };
        for code in 0..2 * top {
            let x = decode_f32_value(d, &code.to_le_bytes()[..d.size()]);
            let magnitude = code & (top - 1);
            assert_eq!(x.is_sign_negative(), code & top != 0);
            if magnitude <= f.2 {
                assert_eq!(f64::from(x.abs()), value_of(&f, magnitude), "{d} {code:x}");
                assert_eq!(encode_one(d, Fp8Config::DEFAULT, x), u64::from(code), "{d} {code:x}");
            } else if magnitude == f.3 && d != Dtype::Float8E4m3fn {
                assert!(x.is_infinite());
                assert_eq!(encode_one(d, Fp8Config::ACCUMULATE, x), u64::from(code));
            } else {
                assert!(x.is_nan());
                assert_eq!(encode_one(d, Fp8Config::DEFAULT, x), u64::from(oracle(d, Fp8Config::DEFAULT, x)));
                if d.size() == 1 {
                    assert_eq!(x.to_bits() & 0x7FFF_FFFF, 0x7FC0_0000);
                }
            }
        }
    }
}

/// The inputs at which a result can change: every midpoint and every value, with both float32 neighbours.
fn boundaries(d: Dtype) -> Vec<f32> {
    let f = format_of(d);
    let mut out = vec![0.0, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::NAN];
    for code in 0..=f.2 {
        let (a, b) = (value_of(&f, code), value_of(&f, code + 1));
        for v in [a, (a + b) / 2.0, b] {
            let bits = (v as f32).to_bits();
            out.extend([bits.saturating_sub(1), bits, bits + 1].map(f32::from_bits));
        }
    }
    out.extend(out.clone().iter().map(|x| -x));
    out
}

#[test]
fn narrowing_rounds_like_the_oracle_at_every_boundary() {
    for d in NARROW {
        let inputs = boundaries(d);
        for cfg in CONFIGS {
            let mut out = vec![0u8; inputs.len() * d.size()];
            encode_f32(d, cfg, &inputs, &mut out);
            for (x, code) in inputs.iter().zip(out.chunks(d.size())) {
                let code = code.iter().rev().fold(0, |c, b| c << 8 | u32::from(*b));
                assert_eq!(code, oracle(d, cfg, *x), "{d} {:08x} {cfg:?}", x.to_bits());
            }
        }
    }
}

#[test]
fn narrowing_rounds_like_the_oracle_on_random_bits() {
    let mut state = 0x9E37_79B9_u32;
    for _ in 0..200_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let x = f32::from_bits(state ^ (state >> 15));
        for d in NARROW {
            assert_eq!(encode_one(d, Fp8Config::DEFAULT, x), u64::from(oracle(d, Fp8Config::DEFAULT, x)), "{d} {x:e}");
        }
    }
}

#[test]
fn fp8_flushes_below_its_smallest_subnormal() {
    for d in [Dtype::Float8e3, Dtype::Float8e4, Dtype::Float8E4m3fn, Dtype::Float8e5] {
        let least = decode_f32_value(d, &[1]);
        assert_eq!(encode_one(d, Fp8Config::DEFAULT, least.next_down()), 0);
        assert_eq!(encode_one(d, Fp8Config::DEFAULT, -least.next_down()), 0x80);
        assert_eq!(encode_one(d, Fp8Config::DEFAULT, least), 1);
    }
}

/// Rounding by the standard library, saturation in 128-bit integers.
fn int_oracle(d: Dtype, x: f32) -> i128 {
    let bits = d.size() as u32 * 8;
    let (lo, hi) =
        if d.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    if x.is_nan() {
        return if x.is_sign_negative() { lo } else { hi };
    }
    (f64::from(x).round_ties_even() as i128).clamp(lo, hi)
}

fn int_value(d: Dtype, raw: u64) -> i128 {
    let shift = 64 - d.size() * 8;
    if d.is_signed() { i128::from((raw << shift) as i64 >> shift) } else { i128::from(raw) }
}

#[test]
fn float_to_int_rounds_to_even_and_saturates() {
    let mut inputs =
        vec![f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e10, -1e10, 0.0, -0.0];
    for half in -140..1100 {
        inputs.push(half as f32 * 0.5);
    }
    for p in [7, 8, 15, 16, 22, 23, 24, 31, 32, 63, 64] {
        let base = 2f32.powi(p);
        for delta in [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] {
            inputs.extend([base + delta, -base - delta]);
        }
        inputs.extend([base.next_down(), base.next_up(), -base.next_down(), -base.next_up()]);
    }
    inputs.extend(inputs.clone().iter().flat_map(|x| [x.next_up(), x.next_down()]));
    for d in Dtype::ALL.iter().copied().filter(|d| d.is_integer()) {
        let mut out = vec![0; inputs.len() * d.size()];
        encode_f32(d, Fp8Config::DEFAULT, &inputs, &mut out);
        for (x, raw) in inputs.iter().zip(out.chunks(d.size())) {
            let raw = raw.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
            assert_eq!(int_value(d, raw), int_oracle(d, *x), "{x:e} to {d}");
        }
    }
    for x in [-1.0f32, 0.4, 0.5, 127.0, 254.5, 255.5, 1e9, f32::NAN] {
        assert_eq!(
            encode_one(Dtype::Float8E8m0fnu, Fp8Config::DEFAULT, x),
            encode_one(Dtype::Uint8, Fp8Config::DEFAULT, x)
        );
    }
}

#[test]
fn spot_values_of_float_to_int8() {
    let x = [0.5f32, 1.5, 2.5, -0.5, 126.5, 127.5, -128.5, 300.0, -200.0];
    let got = x.map(|x| encode_one(Dtype::Int8, Fp8Config::DEFAULT, x) as i8);
    assert_eq!(got, [0, 2, 2, 0, 126, 127, -128, 127, -128]);
}

#[test]
fn fault_1_float_to_int() {
    let x = [
        0.5f32,
        1.5,
        2.5,
        -0.5,
        -1.5,
        126.5,
        127.5,
        -128.5,
        254.5,
        255.5,
        300.0,
        -200.0,
        2147483520.0,
        2147483648.0,
        -2147483904.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ];
    let int8 = [0i64, 2, 2, 0, -2, 126, 127, -128, 127, 127, 127, -128, 127, 127, -128, 127, -128];
    let uint8 = [0i64, 2, 2, 0, 0, 126, 128, 0, 254, 255, 255, 0, 255, 255, 0, 255, 0];
    for (i, x) in x.iter().enumerate() {
        assert_eq!(encode_one(Dtype::Int8, Fp8Config::DEFAULT, *x) as i8 as i64, int8[i], "{x}");
        assert_eq!(encode_one(Dtype::Uint8, Fp8Config::DEFAULT, *x) as i64, uint8[i], "{x}");
    }
    assert_eq!(encode_one(Dtype::Int32, Fp8Config::DEFAULT, 2147483648.0) as i32, i32::MAX);
    assert_eq!(encode_one(Dtype::Int32, Fp8Config::DEFAULT, 2147483520.0) as i32, 2147483520);
    assert_eq!(encode_one(Dtype::Int32, Fp8Config::DEFAULT, -2147483904.0) as i32, i32::MIN);
}

#[test]
fn fault_47_fp8_rounds_ties_to_even() {
    let d = Dtype::Float8e4;
    for (x, y) in [(126.2386f32, 128.0), (31.6051, 32.0), (1.97, 2.0), (1.0625, 1.0), (1.1875, 1.25)] {
        for d in [d, Dtype::Float8E4m3fn] {
            let code = encode_one(d, Fp8Config::DEFAULT, x) as u8;
            assert_eq!(decode_f32_value(d, &[code]), y, "{x} as {d}");
        }
    }
    // A hair above the tie goes up.
    for d in [d, Dtype::Float8E4m3fn] {
        let code = encode_one(d, Fp8Config::DEFAULT, 1.0625 + 2f32.powi(-20)) as u8;
        assert_eq!(decode_f32_value(d, &[code]), 1.125, "{d}");
    }
    let code = encode_one(d, Fp8Config::DEFAULT, 3.0 * 2f32.powi(-10)) as u8;
    assert_eq!(decode_f32_value(d, &[code]), 2f32.powi(-8));
}

#[test]
fn fault_49_nan_goes_to_the_end_its_sign_names() {
    for d in Dtype::ALL.iter().copied().filter(|d| d.is_integer()) {
        for x in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 510.0, -200.0] {
            let direct = int_value(d, encode_one(d, Fp8Config::DEFAULT, x));
            assert_eq!(direct, int_oracle(d, x), "{x} to {d}");
            if d != Dtype::Uint64 {
                let mut out = [0; 8];
                cast(Dtype::Float32, d, Fp8Config::DEFAULT, &x.to_le_bytes(), &mut out[..d.size()]).unwrap();
                assert_eq!(int_value(d, u64::from_le_bytes(out)), direct);
            }
        }
    }
}

#[test]
fn wide_integers_reach_the_hub_rounded_once() {
    for v in [0i64, 1, -1, (1 << 24) + 1, (1 << 53) + (1 << 29) + 1, i64::MAX, i64::MIN, 0x7FFF_FFBF_FFFF_FFFF] {
        assert_eq!(decode_f32_value(Dtype::Int64, &v.to_le_bytes()), v as f32);
        // The documented method for the upper half: halve with a sticky bit, convert, double.
        let u = v as u64;
        let expected = if v >= 0 { v as f32 } else { ((u >> 1 | u & 1) as i64) as f32 * 2.0 };
        assert_eq!(decode_f32_value(Dtype::Uint64, &u.to_le_bytes()), expected);
    }
    assert_eq!(decode_f32_value(Dtype::Uint32, &u32::MAX.to_le_bytes()), 4294967296.0);
}

#[test]
fn same_dtype_keeps_every_byte() {
    for d in Dtype::ALL {
        let src: Vec<u8> = (0..d.size() * 64).map(|i| (i * 37 + 5) as u8 | 0x80).collect();
        let mut dst = vec![0; src.len()];
        cast(*d, *d, Fp8Config::DEFAULT, &src, &mut dst).unwrap();
        assert_eq!(src, dst);
    }
}

#[test]
fn packed_containers_hold_four_values() {
    let values = [1.0f32, -2.0, 0.5, 6.0, 3.0, -0.0, 1.5, -6.0];
    for d in [Dtype::Float4E2m1fnX4, Dtype::Float8E4m3fnX4, Dtype::Float8E5m2X4] {
        let mut packed = vec![0; 2 * d.size()];
        cast(Dtype::Float32, d, Fp8Config::QUANTIZE, bytemuck::cast_slice(&values), &mut packed).unwrap();
        let mut back = [0f32; 8];
        decode_f32(d, &packed, &mut back);
        assert_eq!(back.map(f32::to_bits), values.map(f32::to_bits), "{d}");
    }
    let mut packed = [0; 2];
    encode_f32(Dtype::Float4E2m1fnX4, Fp8Config::DEFAULT, &[0.5, 1.0, 1.5, -6.0], &mut packed);
    assert_eq!(u16::from_le_bytes(packed), 0xF321, "lane 0 is the lowest nibble");
    let bad = cast(Dtype::Float32, Dtype::Float8E5m2X4, Fp8Config::DEFAULT, &[0; 12], &mut [0; 4]);
    assert_eq!(bad.unwrap_err().code(), Code::S002);
}

#[test]
fn d3_integers_keep_their_bits_off_the_hub() {
    let mut i = [0i32; 1];
    decode_i32(Dtype::Uint32, &u32::MAX.to_le_bytes(), &mut i);
    assert_eq!(i, [-1]);
    decode_i32(Dtype::Int8, &[0x80], &mut i);
    assert_eq!(i, [-128]);
    decode_i32(Dtype::Uint16, &[0xFF, 0xFF], &mut i);
    assert_eq!(i, [65535]);
    decode_i32(Dtype::Float32, &2.5f32.to_le_bytes(), &mut i);
    assert_eq!(i, [2], "floats follow the cast rules");
    decode_i32(Dtype::Int64, &(1i64 << 40).to_le_bytes(), &mut i);
    assert_eq!(i, [i32::MAX], "wider integers follow the cast rules");
    let mut l = [0i64; 1];
    decode_i64(Dtype::Uint32, &u32::MAX.to_le_bytes(), &mut l);
    assert_eq!(l, [0xFFFF_FFFF]);
    decode_i64(Dtype::Int32, &(-5i32).to_le_bytes(), &mut l);
    assert_eq!(l, [-5]);
    let mut out = [0; 8];
    encode_i32(Dtype::Uint8, Fp8Config::DEFAULT, &[0x1234_56FF], &mut out[..1]);
    assert_eq!(out[0], 0xFF);
    encode_i32(Dtype::Int64, Fp8Config::DEFAULT, &[-2], &mut out);
    assert_eq!(i64::from_le_bytes(out), -2);
    encode_i64(Dtype::Int32, Fp8Config::DEFAULT, &[0x1_0000_0001], &mut out[..4]);
    assert_eq!(out[..4], [1, 0, 0, 0]);
    encode_i32(Dtype::Float32, Fp8Config::DEFAULT, &[16_777_217], &mut out[..4]);
    assert_eq!(f32::from_le_bytes([out[0], out[1], out[2], out[3]]), 16_777_216.0);
}

#[test]
fn uint64_is_a_destination_of_the_wide_path_only() {
    let reference = Profile::reference();
    assert_eq!(check_cast(Dtype::Float32, Dtype::Uint64, &reference).unwrap_err().code(), Code::S007);
    check_cast(Dtype::Uint64, Dtype::Uint64, &reference).unwrap();
    check_cast(Dtype::Int32, Dtype::Int64, &reference).unwrap();
    check_cast(Dtype::Int32, Dtype::Uint64, &Profile::device()).unwrap();
}

#[test]
fn sse_select_gives_the_second_operand_on_nan_and_ties() {
    assert_eq!(sse_max(f32::NAN, 1.0), 1.0);
    assert!(sse_max(1.0, f32::NAN).is_nan());
    assert!(sse_min(-0.0, 0.0).is_sign_positive() && sse_max(0.0, -0.0).is_sign_negative());
    assert_eq!((sse_max(2.0, 1.0), sse_min(2.0, 1.0)), (2.0, 1.0));
}

#[test]
fn long_casts_cross_blocks() {
    let src: Vec<u8> = (0..5000i32).flat_map(|i| (i * 7 - 9000).to_le_bytes()).collect();
    let mut dst = vec![0; 5001 * 2];
    // An odd start leaves the destination unaligned.
    cast(Dtype::Int32, Dtype::Int16, Fp8Config::DEFAULT, &src, &mut dst[1..10_001]).unwrap();
    for i in 0..5000usize {
        let got = i16::from_le_bytes([dst[1 + 2 * i], dst[2 + 2 * i]]);
        assert_eq!(i32::from(got), (i as i32 * 7 - 9000).clamp(-32768, 32767));
    }
}

#[test]
fn d57_a_negative_nan_has_no_sign_in_float8e5() {
    for bits in [0x7FC0_0000u32, 0xFFC0_0000, 0xFFFF_FFFF, 0x7F80_0001] {
        for (d, positive, negative) in [
            (Dtype::Float8e3, 0x78, 0xF8),
            (Dtype::Float8e4, 0x7C, 0xFC),
            (Dtype::Float8E4m3fn, 0x7F, 0x7F),
            (Dtype::Float8e5, 0x7E, 0x7E),
        ] {
            for cfg in [Fp8Config::DEFAULT, Fp8Config::ACCUMULATE] {
                let mut code = [0u8];
                cast(Dtype::Float32, d, cfg, &bits.to_le_bytes(), &mut code).unwrap();
                assert_eq!(code[0], if bits >> 31 == 1 { negative } else { positive }, "{bits:08X} to {d}");
            }
        }
    }
    let mut infinite = [0u8];
    cast(Dtype::Float32, Dtype::Float8e5, Fp8Config::ACCUMULATE, &f32::NEG_INFINITY.to_le_bytes(), &mut infinite)
        .unwrap();
    assert_eq!(infinite[0], 0xFC, "an infinity keeps its sign");
}
