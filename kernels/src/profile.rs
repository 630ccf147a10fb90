//! Every choice that the documents leave open, as data: one field per ruling or proposed rule.

use crate::cast::Fp8Config;
use crate::matmul::SwInterleave;
use crate::{Code, Error, Named, Result};

/// A type that a profile field can have: it can be read from and shown as text.
pub trait Choice: Sized + PartialEq {
    /// Parses a `--set` value.
    fn parse(text: &str) -> Option<Self>;
    /// The text `parse` accepts.
    fn show(&self) -> String;
}

impl Choice for bool {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl<T: Named + PartialEq> Choice for T {
    fn parse(text: &str) -> Option<Self> {
        T::from_name(text)
    }
    fn show(&self) -> String {
        self.name().to_string()
    }
}

/// What is known about one field of [`Profile`].
#[derive(Debug)]
pub struct FieldInfo {
    /// Field name, as `--set` takes it.
    pub name: &'static str,
    /// Ruling (`D4`) or spec section behind it.
    pub source: &'static str,
    /// Opcodes whose results depend on it; `*` for all.
    pub opcodes: &'static [&'static str],
    /// What it decides.
    pub what: &'static str,
}

macro_rules! profile {
    ($($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $reference:expr, device $device:expr, $source:literal, [$($op:literal),*];)+) => {
        /// The choices a run is made under. Presets are [`Profile::reference`] and [`Profile::device`].
        #[derive(Clone, Debug, PartialEq)]
        pub struct Profile { $($(#[doc = $doc])+ pub $field: $ty),+ }

        impl Profile {
            /// Every field, in declaration order.
            pub const FIELDS: &'static [FieldInfo] = &[$(FieldInfo {
                name: stringify!($field), source: $source, opcodes: &[$($op),*], what: concat!($($doc),+),
            }),+];

            /// The documented reference simulator.
            pub const fn reference() -> Self { Profile { $($field: $reference),+ } }

            /// Public device documentation, where it differs from the reference.
            pub const fn device() -> Self { Profile { $($field: $device),+ } }

            /// Sets one field from text.
            pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
                let bad = || Error::new(Code::F008, format!("'{value}' is not a value of the profile field {name}"));
                match name {
                    $(stringify!($field) => self.$field = <$ty as Choice>::parse(value).ok_or_else(bad)?,)+
                    _ => return Err(Error::new(Code::F008, format!("there is no profile field named {name}"))
                        .advice("list the fields with `birsim ops --fidelity`")),
                }
                Ok(())
            }

            /// (field, value) of every field, as text.
            pub fn values(&self) -> Vec<(&'static FieldInfo, String)> {
                let shown = [$(self.$field.show()),+];
                Self::FIELDS.iter().zip(shown).collect()
            }

            /// Fields that differ from [`Profile::reference`].
            pub fn differences(&self) -> Vec<(&'static FieldInfo, String)> {
                let base = Profile::reference();
                let same = [$(self.$field == base.$field),+];
                self.values().into_iter().zip(same).filter(|(_, same)| !same).map(|(v, _)| v).collect()
            }
        }
    };
}

// One row a field: doc, name: type = reference value, device value, source, [opcodes it touches].
profile! {
    /// FP8 narrowing saturates overflow and infinity in copies, stores and kernel results.
    fp8_saturate: bool = true, device true, "numerics 4.3", ["*"];
    /// FP8 narrowing writes a signed zero for NaN in copies, stores and kernel results.
    fp8_suppress_nan: bool = false, device false, "numerics 4.3", ["*"];
    /// Values of another dtype may be cast to uint64; off, only the 64-bit path writes that dtype.
    cast_to_uint64: bool = false, device true, "numerics 2.1", ["*"];
    /// Weights of DoubleRowSwInterleave: refused, or de-interleaved in plain or reversed column order.
    matmul_sw_interleave: SwInterleave = SwInterleave::Refuse, device SwInterleave::Refuse, "D50", ["Matmult"];
    /// A matrix product adds a * b with one rounding (fused) instead of two.
    matmul_fma: bool = true, device true, "matmul-mx 2.4", ["Matmult", "MatmultMx"];
    /// Derivative_silu is the form the notes print, 0.25 at 0, instead of the derivative.
    silu_derivative_printed: bool = false, device false, "activation 3", ["Activation"];
    /// MX blocks are scaled by one binade more, so that quantising never saturates.
    mx_alternative_emax: bool = false, device true, "matmul-mx 5.2", ["QuantizeMx"];
    /// The scale byte of an MX block is at least 1, also for a block of zeros.
    mx_scale_floor_one: bool = true, device false, "matmul-mx 5.4", ["QuantizeMx"];
    /// The float map evaluates mod (floored) and mod_int (truncated) instead of refusing them.
    float_mod: bool = false, device true, "D46", ["*"];
    /// TensorTensor and TensorReduce of integers compute in saturating int32; off, in float32 outside the Pool predicate.
    integer_arithmetic: bool = true, device false, "D4", ["TensorTensor", "TensorReduce"];
    /// abs_max and abs_min return the chosen operand with its sign, ties the second, instead of its magnitude.
    abs_max_keeps_sign: bool = false, device true, "alu-ops 4.7", ["*"];
    /// Equal values of MatchReplace meet the data from the last slot to the first.
    match_replace_descending: bool = false, device true, "nki-api 2.3", ["MaxIndexAndMatchReplace"];
}

impl Profile {
    /// FP8 config of copies, stores and kernel results.
    pub const fn fp8(&self) -> Fp8Config {
        Fp8Config { saturate: self.fp8_saturate, suppress_nan: self.fp8_suppress_nan }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Profile::reference()
    }
}
