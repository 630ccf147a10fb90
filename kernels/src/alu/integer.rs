//! The int map (int32, saturating) and the address map (int64, wrapping), `alu.md` 2 and 4.
//!
//! The documents confirm the bit, shift, add, subtract, mult, max and min entries; the other entries have their natural
//! meaning (`alu.md` 3).

use super::declare::{IntegerMap, Trait};
use super::floats::truth;
use super::integers::Integer;
use super::operation::loops;
use super::table::{IntegerKind, integer_entry, with_integer};
use super::{AluOp, Map, Operation, blocks, miss};
use crate::access::{Rows, RowsMut};
use crate::{Profile, Result};

macro_rules! map {
    ($(#[$doc:meta])* $name:ident, $t:ident, $lookup:ident, $map:ident, wraps $wraps:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            op: AluOp,
            kind: IntegerKind,
            /// The profile asks for the second reading of the operation.
            second: bool,
        }

        /// Looks `op` up in this map.
        pub fn $lookup(op: AluOp) -> Result<$name> {
            let (kind, second) = integer_entry(op, IntegerMap::$map, None).ok_or_else(|| miss(op, Map::$map))?;
            Ok($name { op, kind, second })
        }

        impl $name {
            /// The same operation under the choices of a profile.
            #[must_use]
            pub fn under(self, profile: &Profile) -> Self {
                let second = integer_entry(self.op, IntegerMap::$map, Some(profile)).is_some_and(|(_, second)| second);
                $name { second, ..self }
            }
        }

        const _: () = {
            macro_rules! with_op {
                ($op:expr, $f:ident => $body:expr) => {
                    with_integer!($t, $op.kind, $op.second, $f => $body)
                };
            }

            impl Operation for $name {
                loops!($name, $t, with_op);

                fn fold_side_by_side(self, acc: &mut [$t], rows: &[&[$t]]) {
                    with_op!(self, f => blocks::fold_group(acc, rows, f));
                }

                fn has_any_order(self) -> bool {
                    let wraps = $wraps && !self.second && self.op.is(Trait::AnyOrderWrapping);
                    wraps || self.op.is(Trait::Extreme) || self.op.is(Trait::AnyOrder)
                }

                fn fold_any_order(self, data: &[$t]) -> Option<$t> {
                    if !self.has_any_order() {
                        return None;
                    }
                    with_op!(self, f => blocks::fold_any_order(data, f))
                }
            }
        };
    };
}

map! {
    /// A member of the int map: int32, arithmetic saturates.
    IntOp, i32, int_op, Int, wraps false
}

map! {
    /// A member of the address map: int64, arithmetic wraps.
    AddressOp, i64, address_op, Address, wraps true
}
