//! The three working types of the element-wise kernels as one trait, so that each kernel is written once.

use crate::access::{Dst, Imm, Input, Src};
use crate::accumulate::LaneFold;
use crate::alu::{AddressOp, FloatOp, IntOp, Operation};
use crate::cast::Fp8Config;
use crate::profile::BitvecImmediate;
use crate::{Code, Dtype, Error, Profile, Result};

/// A working type: float32, int32 (bit-vector path) or int64 (address path).
pub(crate) trait Number: bytemuck::Pod + Send + Sync {
    /// An operation of this type's map.
    type Op: Operation<Value = Self>;

    /// Memory of this dtype holds working values as they are.
    fn is_native(dtype: Dtype) -> bool;
    fn read(src: &Src, lane: usize, start: usize, out: &mut [Self]);
    fn write(dst: &mut Dst, lane: usize, start: usize, values: &[Self], cfg: Fp8Config);
    fn immediate(imm: &Imm) -> Result<Self>;
    fn negate(self) -> Self;
    fn fold_into(fold: &mut LaneFold, values: &[Self]);

    /// The elements in place, when they are neighbours and already working values.
    #[inline]
    fn in_place<'a>(src: &Src<'a>, lane: usize, start: usize, n: usize) -> Option<&'a [Self]> {
        if !Self::is_native(src.dtype()) {
            return None;
        }
        bytemuck::try_cast_slice(src.run(lane, start, n)?).ok()
    }

    /// Every piece of every lane can be used in place.
    fn always_in_place(src: &Src) -> bool {
        let aligned = src.is_empty() || Self::in_place(src, 0, 0, 1).is_some();
        let stride = src.pattern().pairs()[0].stride;
        Self::is_native(src.dtype())
            && src.pattern().is_contiguous()
            && aligned
            && stride % size_of::<Self>() as i64 == 0
    }

    /// The elements in place for writing, as [`Number::in_place`].
    #[inline]
    fn in_place_mut<'a>(dst: &'a mut Dst, lane: usize, start: usize, n: usize) -> Option<&'a mut [Self]> {
        if !Self::is_native(dst.dtype()) {
            return None;
        }
        bytemuck::try_cast_slice_mut(dst.run_mut(lane, start, n)?).ok()
    }
}

macro_rules! number {
    ($t:ident, $op:ident, [$($native:ident),+], $read:ident, $write:ident, $negate:expr, $fold:expr, $imm:expr) => {
        impl Number for $t {
            type Op = $op;

            #[inline]
            fn is_native(dtype: Dtype) -> bool {
                matches!(dtype, $(Dtype::$native)|+)
            }
            #[inline]
            fn read(src: &Src, lane: usize, start: usize, out: &mut [Self]) {
                src.$read(lane, start, out);
            }
            #[inline]
            fn write(dst: &mut Dst, lane: usize, start: usize, values: &[Self], cfg: Fp8Config) {
                dst.$write(lane, start, values, cfg);
            }
            fn immediate(imm: &Imm) -> Result<Self> {
                $imm(imm)
            }
            #[inline]
            fn negate(self) -> Self {
                $negate(self)
            }
            fn fold_into(fold: &mut LaneFold, values: &[Self]) {
                $fold(fold, values)
            }
        }
    };
}

number!(
    f32,
    FloatOp,
    [Float32, Float32r],
    read_f32,
    write_f32,
    |v: f32| -v,
    |fold: &mut LaneFold, values: &[f32]| fold.extend(values),
    |imm: &Imm| Ok(imm.as_f32())
);
number!(
    i32,
    IntOp,
    [Int32, Uint32],
    read_i32,
    write_i32,
    i32::saturating_neg,
    |fold: &mut LaneFold, values: &[i32]| widen(fold, values, |v| v as f32),
    bitvec_immediate
);
number!(
    i64,
    AddressOp,
    [Int64, Uint64],
    read_i64,
    write_i64,
    i64::wrapping_neg,
    |fold: &mut LaneFold, values: &[i64]| widen(fold, values, |v| v as f32),
    |imm: &Imm| Ok(imm.as_i64())
);

/// The accumulator folds float32 values of the produced tensor.
fn widen<T: Copy>(fold: &mut LaneFold, values: &[T], f: impl Fn(T) -> f32) {
    let mut buf = [0.0; 64];
    for part in values.chunks(buf.len()) {
        for (b, v) in buf.iter_mut().zip(part) {
            *b = f(*v);
        }
        fold.extend(&buf[..part.len()]);
    }
}

/// Ruling D2: a number on the bit-vector path is the integer it equals, modulo 2^32; one with a fraction is invalid.
fn integral(value: f64) -> Result<i32> {
    if value.trunc() != value || !value.is_finite() {
        return Err(Error::new(Code::J011, "an immediate of a bit-vector operation must be an integer").received(value));
    }
    Ok(value.rem_euclid(4_294_967_296.0) as u32 as i32)
}

/// The immediate of a TensorScalar on the bit-vector path, under the profile's reading.
pub(crate) fn bitvec_number(value: f64, profile: &Profile) -> Result<i32> {
    match profile.bitvec_immediate {
        BitvecImmediate::Integer => integral(value),
        BitvecImmediate::FloatBits => Ok((value as f32).to_bits() as i32),
    }
}

/// An immediate of the bit-vector path under the profile's reading: where float32 bits are meant, the same bits as int32.
pub(crate) fn bitvec_input<'a>(input: &Input<'a>, profile: &Profile) -> Option<Input<'a>> {
    match input {
        Input::Imm(imm) if profile.bitvec_immediate == BitvecImmediate::FloatBits && imm.dtype.is_float() => {
            Some(Input::Imm(Imm::i32(imm.as_f32().to_bits() as i32)))
        }
        _ => None,
    }
}

/// Float immediates follow ruling D2; integer ones keep their bits (ruling D3).
fn bitvec_immediate(imm: &Imm) -> Result<i32> {
    if imm.dtype.is_float() { integral(f64::from(imm.as_f32())) } else { Ok(imm.as_i32()) }
}
