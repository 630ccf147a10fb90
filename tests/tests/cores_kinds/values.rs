//! Elements as these tests understand them: bits in a `u32`, and what they mean, without the engine's casts.

use birsim_kernels::Dtype;

/// The element types that are tried.
pub const DTYPES: [Dtype; 5] = [Dtype::Float32, Dtype::Bfloat16, Dtype::Int32, Dtype::Float8e4, Dtype::Float8e5];

pub fn size(dtype: Dtype) -> usize {
    match dtype {
        Dtype::Float32 | Dtype::Int32 | Dtype::Uint32 => 4,
        Dtype::Bfloat16 => 2,
        _ => 1,
    }
}

/// Bits of the mantissa, and the bias, of an 8-bit float.
fn small(dtype: Dtype) -> (u32, i32) {
    match dtype {
        Dtype::Float8e4 => (3, 7),
        Dtype::Float8e5 => (2, 15),
        other => panic!("{other}"),
    }
}

fn small_value(dtype: Dtype, bits: u32) -> f32 {
    let (mantissa, bias) = small(dtype);
    let (exponent, fraction) = ((bits & 0x7f) >> mantissa, bits & ((1 << mantissa) - 1));
    let unit = 2f32.powi(1 - bias - mantissa as i32);
    let value = match exponent {
        0 => fraction as f32 * unit,
        e => (fraction + (1 << mantissa)) as f32 * unit * 2f32.powi(e as i32 - 1),
    };
    if bits & 0x80 != 0 { -value } else { value }
}

pub fn decode(dtype: Dtype, bits: u32) -> f32 {
    match dtype {
        Dtype::Float32 => f32::from_bits(bits),
        Dtype::Bfloat16 => f32::from_bits(bits << 16),
        Dtype::Int32 => bits as i32 as f32,
        _ => small_value(dtype, bits),
    }
}

/// The nearest element; of two that are equally near, the one with the even code. Values must be in the type's range.
pub fn encode(dtype: Dtype, value: f32) -> u32 {
    match dtype {
        Dtype::Float32 => value.to_bits(),
        Dtype::Bfloat16 if value.is_nan() => (value.to_bits() >> 16) | 0x40,
        Dtype::Bfloat16 => {
            let bits = value.to_bits();
            (bits + 0x7fff + (bits >> 16 & 1)) >> 16
        }
        Dtype::Int32 => value.round_ties_even() as i32 as u32,
        _ => {
            let codes = 0..(0x7f >> small(dtype).0) << small(dtype).0;
            let distance = |c: &u32| (small_value(dtype, *c) - value.abs()).abs();
            let nearest = codes.min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
            nearest.unwrap() | if value.is_sign_negative() { 0x80 } else { 0 }
        }
    }
}

/// What rank `rank` starts with. Sums of these are rounded, so that their order shows.
pub fn start(dtype: Dtype, rank: usize, len: usize, salt: usize) -> Vec<u32> {
    let one = |k: usize| {
        let h = (rank * 7919 + k * 104_729 + salt * 31) % 2003;
        match dtype {
            // Not all of them are float32 values.
            Dtype::Int32 => ((h as i32 - 1001) * 33_554 + k as i32) as u32,
            Dtype::Float8e4 | Dtype::Float8e5 => encode(dtype, (h % 29) as f32 / 8.0 - 1.75),
            _ => encode(dtype, (h as f32 - 1001.0) / 7.0),
        }
    };
    (0..len).map(one).collect()
}

pub fn bytes(dtype: Dtype, elements: &[u32]) -> Vec<u8> {
    elements.iter().flat_map(|e| e.to_le_bytes()[..size(dtype)].to_vec()).collect()
}

#[test]
fn elements_mean_what_they_should() {
    assert_eq!([0x38, 0x3f, 0x77, 0x01].map(|b| decode(Dtype::Float8e4, b)), [1.0, 1.875, 240.0, 2f32.powi(-9)]);
    assert_eq!([0x3c, 0x7b, 0x01].map(|b| decode(Dtype::Float8e5, b)), [1.0, 57344.0, 2f32.powi(-16)]);
    assert_eq!(encode(Dtype::Float8e4, 1.0625), 0x38, "a tie goes to the even code");
    assert_eq!(encode(Dtype::Float8e4, -1.1875), 0xba);
    assert_eq!(
        (encode(Dtype::Bfloat16, 1.0 + 1.0 / 256.0), encode(Dtype::Bfloat16, 1.0 + 3.0 / 256.0)),
        (0x3f80, 0x3f82)
    );
    for dtype in [Dtype::Float8e4, Dtype::Float8e5] {
        for bits in (0..0x70).chain(0x80..0xf0) {
            assert_eq!(encode(dtype, decode(dtype, bits)), bits, "{dtype}");
        }
    }
}
