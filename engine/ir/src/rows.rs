//! The macro that the rows of the opcode table are written in.

/// Declares the rows of one family:
///
/// ```text
/// rows! {
///     TensorTensor = 31, Kernel, [Dve, Pool], ["in0", "in1"] => ["out", "reduced?"], Exact, "alu 6.2" {
///         op: Ty::Enum(AluOp::DEF) => Def::Required;
///         acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
///     }
/// }
/// ```
///
/// After the text of `partial`, a row may say how it steers, `steers Jump`, list its traits, `is [Elementwise]`, say what
/// holds for some of its forms only, `rules [Used("reduced", &[Set("acc")])]`, and what it demands of its keys beyond their
/// types, `demands [RowsAndColumns("tile_size")]`.
///
/// It generates `Opcode::TensorTensor`, `field::TensorTensor::op` (the index of the field), the record
/// `params::TensorTensor { op: AluOp, acc: EngineAccumulation }` and the row itself.
#[macro_export]
#[doc(hidden)]
macro_rules! rows {
    ($($name:ident = $ord:literal, $class:ident, [$($engine:ident),*], [$($in:literal),*] => [$($out:literal),*],
        $fidelity:ident, $spec:literal $(, partial $partial:literal)? $(, open $open:literal)?
        $(, steers $steer:ident)? $(, is [$($trait:ident),* $(,)?])? $(, rules [$($rule:expr),* $(,)?])?
        $(, demands [$($demand:expr),* $(,)?])?
        { $($key:ident : Ty :: $kind:ident $(($($arg:tt)*))? => Def :: $def:ident $(($($dv:tt)*))?;)* })+) => {
        #[allow(non_upper_case_globals)]
        impl $crate::table::Opcode {
            $(#[doc = concat!("InstructionType ", stringify!($ord), ".")]
              pub const $name: $crate::table::Opcode = $crate::table::Opcode::declare($ord);)+
        }

        /// Indices of the fields of each opcode of this family.
        #[allow(non_snake_case, non_upper_case_globals, missing_docs)]
        pub mod field {
            $(pub mod $name {
                #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
                #[repr(usize)]
                enum Index { $($key,)* Count }
                $(pub const $key: usize = Index::$key as usize;)*
                pub const COUNT: usize = Index::Count as usize;
            })+
        }

        /// Records of the own keys of each opcode of this family.
        #[allow(missing_docs, unused_imports, non_snake_case, clippy::upper_case_acronyms)]
        pub mod params {
            use super::*;
            $(
                #[derive(Clone, Debug)]
                pub struct $name { $(pub $key: $crate::rows!(@field $def, $kind $($($arg)*)?),)* }

                impl $crate::params::Params for $name {
                    fn decode(_keys: &dyn $crate::params::Keys) -> birsim_kernels::Result<Self> {
                        Ok($name { $($key: $crate::rows!(
                            @read $def, _keys, super::field::$name::$key, $kind $($($arg)*)?
                        ),)* })
                    }
                }
            )+
        }

        /// Rows of this family.
        pub const ROWS: &[$crate::table::Row] = {
            #[allow(unused_imports)]
            use $crate::table::{Absence as Def, FieldType as Ty};
            #[allow(unused_imports)]
            use $crate::traits::{Demand::*, Rule::*, When::*};
            &[$($crate::table::Row {
                opcode: $crate::table::Opcode::$name,
                name: stringify!($name),
                class: $crate::table::RouteClass::$class,
                engines: &[$($crate::Engine::$engine),*],
                ins: &[$($in),*],
                outs: &[$($out),*],
                fields: &[$($crate::table::Field {
                    key: stringify!($key), ty: Ty::$kind $(($($arg)*))?, default: Def::$def $(($($dv)*))?,
                }),*],
                fidelity: $crate::table::Fidelity::$fidelity,
                spec: $spec,
                partial: $crate::rows!(@text $($partial)?),
                open: $crate::rows!(@text $($open)?),
                steers: $crate::rows!(@steer $($steer)?),
                traits: $crate::traits::Traits::of(&[$($($crate::traits::Trait::$trait),*)?]),
                rules: &[$($($rule),*)?],
                demands: &[$($($demand),*)?],
            }),+]
        };
    };
    (@field Absent, $($of:tt)*) => { Option<$crate::rows!(@type $($of)*)> };
    (@field $def:ident, $($of:tt)*) => { $crate::rows!(@type $($of)*) };
    (@type Bool) => { bool };
    (@type Int $($range:tt)*) => { i64 };
    (@type Bits) => { i64 };
    (@type U8) => { u8 };
    (@type U32) => { u32 };
    (@type I64) => { i64 };
    (@type Expr) => { i64 };
    (@type Float) => { f64 };
    (@type Str) => { Box<str> };
    (@type Enum $of:ident :: DEF) => { $of };
    (@type Enums $of:ident :: DEF) => { Box<[$of]> };
    (@type Ints) => { Box<[i64]> };
    (@type Exprs) => { Box<[i64]> };
    (@type Axes) => { Box<[i64]> };
    (@type Floats) => { Box<[f64]> };
    (@type Pairs) => { Box<[(i64, i64)]> };
    (@type Groups) => { Box<[Vec<i64>]> };
    // A key that only the compiler of the program reads is not kept in the record.
    (@type $other:ident) => { () };
    (@read Absent, $keys:ident, $k:expr, $($of:tt)*) => { $crate::rows!(@value $keys, $k, $($of)*) };
    (@read $def:ident, $keys:ident, $k:expr, $($of:tt)*) => {
        $crate::params::need($keys, $k, $crate::rows!(@value $keys, $k, $($of)*))?
    };
    (@value $keys:ident, $k:expr, Bool) => { $crate::params::flag($keys, $k)? };
    (@value $keys:ident, $k:expr, Int $($range:tt)*) => { $keys.int($k)? };
    (@value $keys:ident, $k:expr, Bits) => { $keys.int($k)? };
    (@value $keys:ident, $k:expr, U8) => { $crate::params::unsigned($keys, $k)? };
    (@value $keys:ident, $k:expr, U32) => { $crate::params::unsigned($keys, $k)? };
    (@value $keys:ident, $k:expr, I64) => { $keys.int($k)? };
    (@value $keys:ident, $k:expr, Expr) => { $keys.int($k)? };
    (@value $keys:ident, $k:expr, Float) => { $keys.float($k)? };
    (@value $keys:ident, $k:expr, Str) => { $crate::params::text($keys, $k)? };
    (@value $keys:ident, $k:expr, Enum $of:ident :: DEF) => { $crate::params::named::<$of>($keys, $k)? };
    (@value $keys:ident, $k:expr, Enums $of:ident :: DEF) => { $crate::params::enums::<$of>($keys, $k)? };
    (@value $keys:ident, $k:expr, Ints) => { $keys.ints($k)? };
    (@value $keys:ident, $k:expr, Exprs) => { $keys.ints($k)? };
    (@value $keys:ident, $k:expr, Axes) => { $keys.ints($k)? };
    (@value $keys:ident, $k:expr, Floats) => { $crate::params::floats($keys, $k)? };
    (@value $keys:ident, $k:expr, Pairs) => { $crate::params::pairs($keys, $k)? };
    (@value $keys:ident, $k:expr, Groups) => { $crate::params::groups($keys, $k)? };
    (@value $keys:ident, $k:expr, $other:ident) => { Some(()) };
    (@steer) => { None };
    (@steer $steer:ident) => { Some($crate::traits::Steer::$steer) };
    (@text) => { None };
    (@text $text:literal) => { Some($text) };
}
