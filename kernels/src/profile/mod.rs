//! Every choice that the documents leave open, as data: one field per question with more than one known answer.
//!
//! [`Profile`] is declared in `fields.rs`, one row a field; the types of fields that are not booleans are in `choices.rs`.
//! Questions with a single known answer are [`NOTES`]. Kernels read a field once per call, never per element.

mod choices;
mod fields;
mod notes;

pub use choices::*;
pub use fields::Profile;
pub use notes::{NOTES, Note};

use crate::Named;
use crate::cast::Fp8Config;

/// A type that a profile field can have: it can be read from and shown as text.
pub trait Choice: Sized + PartialEq {
    /// Parses a `--set` value; `documented` is the value of the reference preset.
    fn parse(text: &str, documented: &Self) -> Option<Self>;
    /// The text `parse` accepts.
    fn show(&self) -> String;
    /// Every text `parse` accepts.
    fn accepted(documented: &Self) -> Vec<&'static str>;
}

impl Choice for bool {
    fn parse(text: &str, _: &Self) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn accepted(_: &Self) -> Vec<&'static str> {
        vec!["false", "true"]
    }
}

impl<T: Named + PartialEq> Choice for T {
    fn parse(text: &str, _: &Self) -> Option<Self> {
        T::from_name(text)
    }
    fn show(&self) -> String {
        self.name().to_string()
    }
    fn accepted(_: &Self) -> Vec<&'static str> {
        T::DEF.values.iter().map(|(_, name)| *name).collect()
    }
}

/// What is known about one field of [`Profile`].
#[derive(Debug)]
pub struct FieldInfo {
    /// Field name, as `--set` takes it.
    pub name: &'static str,
    /// Part of the simulator it belongs to.
    pub topic: &'static str,
    /// Rulings (`D4`) and sections of the pages in `engine/docs` (`alu 2.1`) that it decides.
    pub sources: &'static [&'static str],
    /// Opcodes whose results depend on it; `*` for all, empty when no instruction does.
    pub opcodes: &'static [&'static str],
    /// What it decides.
    pub what: &'static str,
}

impl FieldInfo {
    /// The results of this opcode depend on the field.
    pub fn touches(&self, opcode: &str) -> bool {
        touches(self.opcodes, opcode)
    }
}

impl Note {
    /// The fact is about this opcode.
    pub fn touches(&self, opcode: &str) -> bool {
        touches(self.opcodes, opcode)
    }
}

fn touches(opcodes: &[&str], opcode: &str) -> bool {
    opcodes == ["*"] || opcodes.contains(&opcode)
}

macro_rules! profile {
    ($($topic:literal { $($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $reference:expr $(, device $device:expr)?,
        [$($source:literal),+], [$($op:literal),*];)+ })+) => {
        /// The choices a run is made under. Presets are [`Profile::reference`] and [`Profile::device`].
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Profile { $($($(#[doc = $doc])+ pub $field: $ty),+),+ }

        impl Profile {
            /// Every field, in declaration order.
            pub const FIELDS: &'static [FieldInfo] = &[$($(FieldInfo {
                name: stringify!($field), topic: $topic, sources: &[$($source),+], opcodes: &[$($op),*],
                what: concat!($($doc),+),
            }),+),+];

            /// The documented reference simulator.
            pub const fn reference() -> Self { Profile { $($($field: $reference),+),+ } }

            /// Public device documentation, where it differs from the reference.
            pub const fn device() -> Self {
                Profile { $($($field: profile!(@or $reference $(, $device)?)),+),+ }
            }

            /// Sets one field from text.
            pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
                const DOCUMENTED: Profile = Profile::reference();
                let bad = |accepted: Vec<&str>| Error::new(Code::F008, format!("'{value}' is not a value of the profile field {name}"))
                    .advice(format!("accepted: {}", accepted.join(", ")));
                match name {
                    $($(stringify!($field) => {
                        self.$field = <$ty as Choice>::parse(value, &DOCUMENTED.$field)
                            .ok_or_else(|| bad(<$ty as Choice>::accepted(&DOCUMENTED.$field)))?;
                    })+)+
                    _ if NOTES.iter().any(|n| n.name == name) => {
                        return Err(Error::new(Code::F008, format!("{name} is not a choice: only one reading of it is known"))
                            .advice("list the fields with `birsim ops --fidelity`"));
                    }
                    _ => return Err(Error::new(Code::F008, format!("there is no profile field named {name}"))
                        .advice("list the fields with `birsim ops --fidelity`")),
                }
                Ok(())
            }

            /// (field, value) of every field, as text.
            pub fn values(&self) -> Vec<(&'static FieldInfo, String)> {
                let shown = [$($(self.$field.show()),+),+];
                Self::FIELDS.iter().zip(shown).collect()
            }

            /// (field, accepted values) of every field, as text.
            pub fn accepted() -> Vec<(&'static FieldInfo, Vec<&'static str>)> {
                const DOCUMENTED: Profile = Profile::reference();
                let lists = [$($(<$ty as Choice>::accepted(&DOCUMENTED.$field)),+),+];
                Self::FIELDS.iter().zip(lists).collect()
            }

            /// Fields that differ from [`Profile::reference`].
            pub fn differences(&self) -> Vec<(&'static FieldInfo, String)> {
                let base = Profile::reference();
                let same = [$($(self.$field == base.$field),+),+];
                self.values().into_iter().zip(same).filter(|(_, same)| !same).map(|(v, _)| v).collect()
            }
        }
    };
    (@or $reference:expr) => { $reference };
    (@or $reference:expr, $device:expr) => { $device };
}

use profile;

impl Profile {
    /// How copies, stores and kernel results are narrowed.
    pub const fn fp8(&self) -> Fp8Config {
        Fp8Config {
            saturate: self.fp8_saturate,
            suppress_nan: self.fp8_suppress_nan,
            carry: matches!(self.fp8_round_past_max, PastMax::Carry),
            e5m2_nan_overflows: self.fp8_e5m2_nan_overflows,
            via_int32: matches!(self.float_to_int, FloatToInt::ViaInt32),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Profile::reference()
    }
}
