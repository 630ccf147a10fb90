//! Operands that may be a tensor or a scalar.

use super::{Pattern, Src};
use crate::cast;
use crate::{Dtype, Result};

/// An immediate or register value: the bits of one element of `dtype`.
///
/// Integers are sign- or zero-extended to 64 bits by their dtype; floats hold their own bit pattern in the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imm {
    /// Element type.
    pub dtype: Dtype,
    /// Bit pattern.
    pub bits: u64,
}

impl Imm {
    /// A float32 immediate.
    pub fn f32(value: f32) -> Self {
        Imm { dtype: Dtype::Float32, bits: u64::from(value.to_bits()) }
    }

    /// An int32 immediate.
    pub fn i32(value: i32) -> Self {
        Imm { dtype: Dtype::Int32, bits: i64::from(value) as u64 }
    }

    /// The bytes of the element, little-endian; only the first `dtype.size()` count.
    pub fn bytes(&self) -> [u8; 8] {
        self.bits.to_le_bytes()
    }

    /// Value on the float path.
    pub fn as_f32(&self) -> f32 {
        let mut out = [0.0];
        cast::decode_f32(self.dtype, &self.bytes()[..self.dtype.size()], &mut out);
        out[0]
    }

    /// Value on the bit-vector path (ruling D3).
    pub fn as_i32(&self) -> i32 {
        let mut out = [0];
        cast::decode_i32(self.dtype, &self.bytes()[..self.dtype.size()], &mut out);
        out[0]
    }

    /// Value on the address path: integers by ruling D3; floats as C converts them to an unsigned 64-bit integer, by
    /// truncation in two ranges around 2^63 (`alu.md` 2.1).
    pub fn as_i64(&self) -> i64 {
        if self.dtype.is_float() {
            let x = self.as_f32();
            return match x {
                _ if x.is_nan() => i64::MIN,
                _ if x >= 9_223_372_036_854_775_808.0 => x as u64 as i64,
                _ => x as i64,
            };
        }
        let mut out = [0];
        cast::decode_i64(self.dtype, &self.bytes()[..self.dtype.size()], &mut out);
        out[0]
    }
}

/// An operand of a kernel.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// A tensor in memory.
    View(Src<'a>),
    /// An immediate or register value.
    Imm(Imm),
}

impl<'a> Input<'a> {
    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Input::View(s) => s.dtype(),
            Input::Imm(i) => i.dtype,
        }
    }

    /// The same operand; a tensor under another pattern of its bytes.
    pub(crate) fn reshaped<'b>(&self, pattern: &'b Pattern) -> Result<Input<'b>>
    where
        'a: 'b,
    {
        match self {
            Input::View(s) => s.reshaped(pattern).map(Input::View),
            Input::Imm(i) => Ok(Input::Imm(*i)),
        }
    }

    /// The tensor, when it is one.
    pub fn view(&self) -> Option<&Src<'a>> {
        match self {
            Input::View(s) => Some(s),
            Input::Imm(_) => None,
        }
    }
}
