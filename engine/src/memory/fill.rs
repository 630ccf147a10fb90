//! What memory holds before anything is written to it.

use super::UNWRITTEN;
use birsim_kernels::Dtype;
use birsim_kernels::cast::{self, Fp8Config};

/// What never-written memory reads as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Every byte is this one.
    Byte(u8),
    /// Elements of float types are NaN, those of integer types 4: what NKI kernels start from.
    NanOrFour,
}

impl Default for Fill {
    fn default() -> Self {
        Fill::Byte(UNWRITTEN)
    }
}

impl From<u8> for Fill {
    fn from(byte: u8) -> Self {
        Fill::Byte(byte)
    }
}

impl Fill {
    /// Eight bytes that repeat over an arena of elements of `dtype`.
    pub fn bytes(self, dtype: Dtype) -> [u8; 8] {
        let mut out = [UNWRITTEN; 8];
        let size = dtype.size();
        match self {
            Fill::Byte(b) => out = [b; 8],
            Fill::NanOrFour if dtype.is_integer() => {
                out.chunks_exact_mut(size).for_each(|e| e.copy_from_slice(&4u64.to_le_bytes()[..size]));
            }
            Fill::NanOrFour if dtype.lanes() > 1 => {}
            Fill::NanOrFour => {
                let values = [f32::NAN; 8];
                cast::encode_f32(dtype, Fp8Config::DEFAULT, &values[..8 / size], &mut out[..8 / size * size]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_start_as_nan_and_integers_as_four() {
        for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16, Dtype::Float8e4, Dtype::Float8e5] {
            let bytes = Fill::NanOrFour.bytes(dtype);
            let mut value = [0.0];
            cast::decode_f32(dtype, &bytes[..dtype.size()], &mut value);
            assert!(value[0].is_nan(), "{dtype}");
        }
        assert_eq!(Fill::NanOrFour.bytes(Dtype::Int32), [4, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(Fill::NanOrFour.bytes(Dtype::Uint8), [4; 8]);
        assert_eq!(Fill::Byte(0xA5).bytes(Dtype::Float32), [0xA5; 8]);
    }
}
