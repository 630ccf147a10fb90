//! Enumerations that are written by name in BIR-JSON.

/// The names of one enumeration: what readers, writers and listings need to know about it.
#[derive(Debug)]
pub struct EnumDef {
    /// Name of the enumeration, as in the BIR model.
    pub name: &'static str,
    /// (ordinal, canonical name) of every value, in ordinal order.
    pub values: &'static [(u8, &'static str)],
    /// Other spellings that readers accept.
    pub aliases: &'static [(&'static str, u8)],
}

impl EnumDef {
    /// Ordinal of a canonical name or accepted alias.
    pub fn ordinal(&self, name: &str) -> Option<u8> {
        let canonical = self.values.iter().find(|(_, n)| *n == name).map(|(o, _)| *o);
        canonical.or_else(|| self.aliases.iter().find(|(n, _)| *n == name).map(|(_, o)| *o))
    }

    /// Canonical name of an ordinal.
    pub fn name_of(&self, ordinal: u8) -> Option<&'static str> {
        self.values.iter().find(|(o, _)| *o == ordinal).map(|(_, n)| *n)
    }
}

/// A Rust enum for a BIR enumeration.
pub trait Named: Copy + 'static {
    /// Names and ordinals.
    const DEF: &'static EnumDef;

    /// The value with this ordinal.
    fn from_ordinal(ordinal: u8) -> Option<Self>;

    /// The ordinal of this value.
    fn ordinal(self) -> u8;

    /// Canonical BIR name.
    fn name(self) -> &'static str {
        Self::DEF.name_of(self.ordinal()).unwrap_or("?")
    }

    /// The value with this name or alias.
    fn from_name(name: &str) -> Option<Self> {
        Self::DEF.ordinal(name).and_then(Self::from_ordinal)
    }
}

/// Declares an enum together with its BIR names: `Variant = ordinal, "name"`, then optional aliases.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $ord:literal, $text:literal;)+ }
     $(aliases { $($alias:literal => $target:literal),* $(,)? })?) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* #[doc = concat!("`", $text, "`")] $variant = $ord),+ }

        impl $name {
            /// Every value, in ordinal order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
        }

        impl $crate::Named for $name {
            const DEF: &'static $crate::EnumDef = &$crate::EnumDef {
                name: stringify!($name),
                values: &[$(($ord, $text)),+],
                aliases: &[$($(($alias, $target)),*)?],
            };

            fn from_ordinal(ordinal: u8) -> Option<Self> {
                match ordinal { $($ord => Some($name::$variant),)+ _ => None }
            }

            fn ordinal(self) -> u8 { self as u8 }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::Named::name(*self))
            }
        }
    };
}
