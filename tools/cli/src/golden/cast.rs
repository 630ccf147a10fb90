//! Goldens of another element type: `float64` and `int64` are what NumPy computes with by default.

use crate::npy::Element;
use birsim_kernels::{Code, Dtype, Error, Named, Profile, Result, cast};

/// The golden's element type is a number that can be converted.
pub fn castable(element: Element, to: Dtype) -> bool {
    matches!(element.kind, b'f' | b'i' | b'u') && element.size <= 8 && to.lanes() == 1 && to != Dtype::Float8E8m0fnu
}

/// Little-endian elements as elements of `to`, each rounded once, to nearest even. A number that an integer type cannot
/// hold is an error: no output could equal it.
pub fn convert(element: Element, bytes: &[u8], to: Dtype) -> Result<Vec<u8>> {
    let mut out = vec![0; bytes.len() / element.size * to.size()];
    for (k, (from, into)) in bytes.chunks_exact(element.size).zip(out.chunks_exact_mut(to.size())).enumerate() {
        let number = number(element, from);
        if to.is_integer() {
            let value = integer(number, to).ok_or_else(|| {
                Error::new(Code::F004, format!("element {k} of the golden does not fit {}", to.name())).received(
                    match number {
                        Number::Int(i) => i.to_string(),
                        Number::Float(x) => x.to_string(),
                    },
                )
            })?;
            into.copy_from_slice(&value.to_le_bytes()[..to.size()]);
        } else {
            let value = match number {
                Number::Float(x) if matches!(to, Dtype::Float32 | Dtype::Float32r) => x as f32,
                Number::Int(i) if matches!(to, Dtype::Float32 | Dtype::Float32r) => i as f32,
                Number::Float(x) => to_odd(x),
                // No type narrower than float32 tells integers of more than 53 bits from their neighbours.
                Number::Int(i) => to_odd(i as f64),
            };
            cast::encode_f32(to, Profile::reference().fp8(), &[value], into);
        }
    }
    Ok(out)
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

fn number(element: Element, bytes: &[u8]) -> Number {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let unused = 64 - 8 * element.size as u32;
    match (element.kind, element.size) {
        (b'f', 8) => Number::Float(f64::from_bits(bits)),
        (b'f', 4) => Number::Float(f32::from_bits(bits as u32).into()),
        (b'f', _) => {
            let mut value = [0f32];
            cast::decode_f32(Dtype::Float16, bytes, &mut value);
            Number::Float(value[0].into())
        }
        (b'i', _) => Number::Int(i128::from((bits << unused) as i64 >> unused)),
        _ => Number::Int(bits.into()),
    }
}

/// The value as an integer of this type; `None` when there is no such integer.
fn integer(number: Number, to: Dtype) -> Option<i128> {
    let value = match number {
        Number::Int(i) => i,
        Number::Float(x) if x.fract() == 0.0 && x.abs() < 1e30 => x as i128,
        Number::Float(_) => return None,
    };
    let bits = 8 * to.size() as u32;
    let range = if to.is_signed() { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
    range.contains(&value).then_some(value)
}

/// Float32, rounded to odd: rounding that to a type of at most 22 bits of precision is like rounding once.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || !near.is_finite() {
        return near;
    }
    let bits = near.to_bits();
    // Rounded towards zero; then the last bit is set when anything was cut off.
    let cut = if f64::from(near).abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(cut | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(descr: &str, bytes: &[u8], to: Dtype) -> Result<Vec<u8>> {
        convert(Element::parse(descr).unwrap(), bytes, to)
    }

    #[test]
    fn numbers_are_rounded_once() {
        // 1 + 2^-8 + 2^-40: above the midpoint of two bfloat16, which float32 does not see.
        let x = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(one("<f8", &x.to_le_bytes(), Dtype::Bfloat16).unwrap(), [0x81, 0x3f]);
        assert_eq!(one("<f8", &(1.0 + 2f64.powi(-8)).to_le_bytes(), Dtype::Bfloat16).unwrap(), [0x80, 0x3f]);
        assert_eq!(one("<f8", &0.1f64.to_le_bytes(), Dtype::Float32).unwrap(), 0.1f32.to_le_bytes());
        assert_eq!(one("<f8", &f64::NAN.to_le_bytes(), Dtype::Float16).unwrap()[1] & 0x7c, 0x7c);
    }

    #[test]
    fn integers_must_fit() {
        assert_eq!(one("<i8", &(-3i64).to_le_bytes(), Dtype::Int32).unwrap(), (-3i32).to_le_bytes());
        assert_eq!(one("<f8", &7.0f64.to_le_bytes(), Dtype::Uint8).unwrap(), [7]);
        for (descr, bytes, to) in [
            ("<i8", (1i64 << 40).to_le_bytes(), Dtype::Int32),
            ("<i8", (-1i64).to_le_bytes(), Dtype::Uint16),
            ("<f8", 0.5f64.to_le_bytes(), Dtype::Int32),
            ("<f8", f64::INFINITY.to_le_bytes(), Dtype::Int64),
        ] {
            assert_eq!(one(descr, &bytes, to).unwrap_err().code(), Code::F004, "{descr}");
        }
    }
}
