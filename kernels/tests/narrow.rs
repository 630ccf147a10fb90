//! Narrow types beside the small floats: every rounding boundary with both float32 neighbours, against exact arithmetic.

use birsim_kernels::Dtype;
use birsim_kernels::cast::{Fp8Config, decode_f32, encode_f32};

const CFG: Fp8Config = Fp8Config::DEFAULT;

/// A value, and its neighbours one unit in the last place away, in both signs.
fn around(values: impl IntoIterator<Item = f64>) -> Vec<f32> {
    let mut out = vec![0.0, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)];
    for v in values {
        let v = v as f32;
        out.extend([v.next_down(), v, v.next_up()]);
    }
    out.extend(out.clone().iter().map(|x| -x));
    out
}

/// The nearest of `grid` (magnitudes, ascending, an even number of steps for even codes), ties to the even index.
fn nearest(grid: &[f64], x: f64) -> usize {
    let best = |k: usize| (grid[k] - x).abs();
    (0..grid.len()).reduce(|a, b| if best(b) < best(a) || best(b) == best(a) && b % 2 == 0 { b } else { a }).unwrap()
}

#[test]
fn fp4_lanes_round_to_even_at_every_boundary() {
    const GRID: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let mut inputs = around(GRID.windows(2).flat_map(|w| [w[0], (w[0] + w[1]) / 2.0, w[1]]).chain([7.0, 8.0, 1e6]));
    inputs.resize(inputs.len().next_multiple_of(4), 0.0);
    let mut out = vec![0u8; inputs.len() / 2];
    encode_f32(Dtype::Float4E2m1fnX4, CFG, &inputs, &mut out);
    let mut back = vec![0.0; inputs.len()];
    decode_f32(Dtype::Float4E2m1fnX4, &out, &mut back);
    for (k, x) in inputs.iter().enumerate() {
        let code = out[k / 2] >> (4 * (k % 2)) & 15;
        let magnitude = nearest(&GRID, f64::from(x.abs()).min(6.0));
        let want = magnitude as u8 | if x.is_sign_negative() { 8 } else { 0 };
        assert_eq!(code, want, "{x:e}");
        assert_eq!(f64::from(back[k].abs()), GRID[magnitude]);
        assert_eq!(back[k].is_sign_negative(), x.is_sign_negative());
    }
}

#[test]
fn float32r_rounds_to_even_at_every_boundary_of_every_exponent() {
    // 11 mantissa bits are kept: codes are the upper 20 bits.
    let mut inputs = Vec::new();
    for exponent in (0u32..255).step_by(3) {
        for mantissa in [0u32, 1, 2, 3, 0x3FF, 0x400, 0x7FE, 0x7FF] {
            let code = exponent << 11 | mantissa;
            for low in [0u32, 1, 0x7FF, 0x800, 0x801, 0xFFF] {
                inputs.push(f32::from_bits(code << 12 | low));
            }
        }
    }
    inputs.extend(inputs.clone().iter().map(|x| -x));
    let mut out = vec![0u8; inputs.len() * 4];
    encode_f32(Dtype::Float32r, CFG, &inputs, &mut out);
    for (x, b) in inputs.iter().zip(out.as_chunks::<4>().0) {
        let (bits, got) = (x.to_bits(), u32::from_le_bytes(*b));
        let (code, low) = (bits >> 12, bits & 0xFFF);
        let up = low > 0x800 || low == 0x800 && code % 2 == 1;
        assert_eq!(got, (code + u32::from(up)) << 12, "{bits:08x}");
    }
    // Infinity and NaN pass.
    for bits in [0x7F80_0000u32, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001] {
        let mut out = [0u8; 4];
        encode_f32(Dtype::Float32r, CFG, &[f32::from_bits(bits)], &mut out);
        assert_eq!(u32::from_le_bytes(out), bits);
    }
}

#[test]
fn short_integers_round_to_even_at_every_boundary() {
    let halves = |last: i32| around((0..2 * last).map(|k| f64::from(k) * 0.5));
    for (dtype, last) in [
        (Dtype::Uint8, 260),
        (Dtype::Int8, 260),
        (Dtype::Float8E8m0fnu, 260),
        (Dtype::Uint16, 65_540),
        (Dtype::Int16, 65_540),
    ] {
        let (lo, hi) = match dtype {
            Dtype::Uint8 | Dtype::Float8E8m0fnu => (0i64, 255),
            Dtype::Int8 => (-128, 127),
            Dtype::Uint16 => (0, 65_535),
            _ => (-32_768, 32_767),
        };
        let inputs = halves(last);
        let mut out = vec![0u8; inputs.len() * dtype.size()];
        encode_f32(dtype, CFG, &inputs, &mut out);
        for (x, b) in inputs.iter().zip(out.chunks(dtype.size())) {
            let raw = b.iter().rev().fold(0i64, |v, b| v << 8 | i64::from(*b));
            let got = if lo < 0 && raw > hi { raw - (1i64 << (8 * dtype.size())) } else { raw };
            let want = (f64::from(*x).round_ties_even().clamp(-1e9, 1e9) as i64).clamp(lo, hi);
            assert_eq!(got, want, "{x:e} to {dtype}");
        }
    }
}
