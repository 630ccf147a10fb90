//! The macro that turns the rows of `table.rs` into the enum [`super::AluOp`], its maps and its properties.
//!
//! A row is `Variant = ordinal "name" [traits]`, followed by the columns that the operation has:
//!
//! | Column | Meaning |
//! |---|---|
//! | `float [f]` | it is in the float map and computes `f` |
//! | `float [f, reading: g]` | the same; `g` where the profile asks for that reading |
//! | `float [f] if [reading]` | it is in the float map where the profile asks for that reading |
//! | `integer [f, reading: g] in [maps]` | what it computes on integers, and which of the integer maps have it |
//! | `compare [<]` | it is in the compare map, as this Rust operator |
//! | `accumulator [v]` | ZeroAccumulate starts at `v`; without the column, at the first value |
//! | `cache [v]` | a TensorScalarCache without an immediate starts at `v`; without the column, at 0 |
//!
//! Readings are the functions of [`readings`]. Every generated `match` names each row, so a column that a new row forgets
//! is an operation that the map does not have, never one that computes something else.

/// Properties of an operation that instructions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// Looks at its left operand only.
    Unary,
    /// Selects the int32 path in the instructions that have one (`alu.md` 2.1).
    Bitvec,
    /// Runs on 64-bit integers on Pool (ruling D4).
    Pool,
    /// The larger or the smaller of its operands.
    Extreme,
    /// The order of the operands of an integer fold cannot be seen in its bits.
    AnyOrder,
    /// The same, where the arithmetic wraps.
    AnyOrderWrapping,
}

/// The integer maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerMap {
    /// int32, saturating.
    Int,
    /// int64, wrapping.
    Address,
    /// Registers: 32 or 64 bits, signed or not, wrapping.
    Register,
}

/// Questions to the profile, by the name that rows use.
pub(super) mod readings {
    use crate::Profile;
    use crate::profile::{FloatMaxMin, IntOverflow, ShiftRange};

    pub fn ieee_max_min(p: &Profile) -> bool {
        p.float_max_min == FloatMaxMin::Ieee
    }

    pub fn float_mod(p: &Profile) -> bool {
        p.float_mod
    }

    pub fn signed_abs_max(p: &Profile) -> bool {
        p.abs_max_keeps_sign
    }

    pub fn wrapping(p: &Profile) -> bool {
        p.integer_overflow == IntOverflow::Wrap
    }

    pub fn masked_shifts(p: &Profile) -> bool {
        p.shift_range == ShiftRange::Masked
    }
}

/// Tells the compiler the type of a closure's operands.
#[inline(always)]
pub(super) fn of<T, F: Fn(T, T) -> T + Copy>(f: F) -> F {
    f
}

/// One entry of a map: the member and whether its second reading applies. Rows without the column give `None`.
macro_rules! entry {
    () => { None };
    ($member:expr, [$($only:expr)?], [$($second:expr)?], $closure:expr) => {
        (true $(&& $only)?).then_some(($member, false $(|| $second)?))
    };
}

/// A column's value, if the row has the column. What follows a value only decides whether there is one.
macro_rules! value {
    () => {
        None
    };
    ($value:expr $(, $column:tt)?) => {
        Some($value)
    };
}

macro_rules! operations {
    ($(
        $op:ident = $ord:literal $text:literal [$($trait:ident)*]
            $(float [$f:expr $(, $f_second:ident: $f_other:expr)?] $(if [$f_only:ident])?)?
            $(integer [$i:expr $(, $i_second:ident: $i_other:expr)?] in [$($map:ident)*])?
            $(compare [$cmp:tt])?
            $(accumulator [$acc:expr])?
            $(cache [$cache:expr])?;
    )+) => {
        $crate::named_enum! {
            /// The ALU operations.
            AluOp { $($op = $ord, $text;)+ }
        }

        impl AluOp {
            /// The properties of the operation.
            pub(super) const fn traits(self) -> &'static [$crate::alu::Trait] {
                match self { $(AluOp::$op => &[$($crate::alu::Trait::$trait),*]),+ }
            }

            /// Where `ZeroAccumulate` starts; `None` means at the first value.
            pub(crate) fn accumulator_start(self) -> Option<f32> {
                match self { $(AluOp::$op => value!($($acc)?)),+ }
            }

            /// Where the cache of a TensorScalarCache starts (ruling D6); `None` means at 0.
            pub(crate) fn cache_start(self) -> Option<f32> {
                match self { $(AluOp::$op => value!($($cache)?)),+ }
            }
        }

        /// The members of the float map.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum FloatKind { $($(#[doc = stringify!($f)] $op,)?)+ }

        /// The members of the integer maps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum IntegerKind { $($(#[doc = stringify!($i)] $op,)?)+ }

        /// The members of the compare map.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum CompareKind { $($(#[doc = stringify!($cmp)] $op,)?)+ }

        /// The entry of the float map: the member, and whether the second reading of it applies.
        pub(super) fn float_entry(op: AluOp, profile: &$crate::Profile) -> Option<(FloatKind, bool)> {
            use $crate::alu::declare::readings;
            match op {
                $(AluOp::$op => entry!($(
                    FloatKind::$op, [$(readings::$f_only(profile))?], [$(readings::$f_second(profile))?], $f
                )?)),+
            }
        }

        /// The entry of an integer map, and whether the second reading of it applies under a profile.
        pub(super) fn integer_entry(
            op: AluOp,
            map: $crate::alu::IntegerMap,
            profile: Option<&$crate::Profile>,
        ) -> Option<(IntegerKind, bool)> {
            use $crate::alu::{IntegerMap, declare::readings};
            match op {
                $(AluOp::$op => entry!($(
                    IntegerKind::$op,
                    [[$(IntegerMap::$map),*].contains(&map)],
                    [$(profile.is_some_and(readings::$i_second))?],
                    $i
                )?)),+
            }
        }

        /// The entry of the compare map.
        pub(super) fn compare_entry(op: AluOp) -> Option<CompareKind> {
            match op { $(AluOp::$op => value!($(CompareKind::$op, $cmp)?)),+ }
        }

        /// Evaluates `$body` with `$g` bound to the float closure of a member.
        macro_rules! with_float {
            ($kind:expr, $second:expr, $g:ident => $body:expr) => {
                match ($kind, $second) {
                    $($(
                        $(($crate::alu::table::FloatKind::$op, true) => {
                            let $g = $crate::alu::declare::of::<f32, _>($f_other);
                            $body
                        })?
                        ($crate::alu::table::FloatKind::$op, _) => {
                            let $g = $crate::alu::declare::of::<f32, _>($f);
                            $body
                        }
                    )?)+
                }
            };
        }

        /// The first reading of one named member of the float map.
        macro_rules! float_closure {
            $($(($op) => { $crate::alu::declare::of::<f32, _>($f) };)?)+
        }

        /// Evaluates `$body` with `$g` bound to the integer closure of a member on values of type `$t`.
        macro_rules! with_integer {
            ($t:ty, $kind:expr, $second:expr, $g:ident => $body:expr) => {
                match ($kind, $second) {
                    $($(
                        $(($crate::alu::table::IntegerKind::$op, true) => {
                            let $g = $crate::alu::declare::of::<$t, _>($i_other);
                            $body
                        })?
                        ($crate::alu::table::IntegerKind::$op, _) => {
                            let $g = $crate::alu::declare::of::<$t, _>($i);
                            $body
                        }
                    )?)+
                }
            };
        }

        /// Evaluates `$run!(operator)` with the operator of a comparison.
        macro_rules! with_comparison {
            ($kind:expr, $run:ident) => {
                match $kind { $($($crate::alu::table::CompareKind::$op => $run!($cmp),)?)+ }
            };
        }

        pub(super) use {float_closure, with_comparison, with_float, with_integer};
    };
}

pub(super) use {entry, operations, value};
