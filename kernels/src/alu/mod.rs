//! ALU operations and the maps they are looked up in (`alu.md`).
//!
//! [`AluOp`] and everything that is known about an operation is one row of `table.rs`. A lookup ([`float_op`], [`int_op`],
//! [`address_op`], [`compare_op`]) checks membership once and returns a small value that is applied to an element or, faster,
//! to rows of them.

mod blocks;
#[cfg(target_arch = "x86_64")]
mod columns;
mod compare;
mod declare;
mod float;
mod floats;
mod integer;
mod integers;
mod operation;
mod register;
mod table;

pub(crate) use blocks::{GROUP, ROWS};
pub use compare::{CompareOp, compare_op};
pub(crate) use compare::{and_compare, compare_to_zero};
pub use declare::{IntegerMap, Trait};
pub(crate) use float::FloatVisitor;
pub use float::{FloatOp, average_op, float_op};
pub use integer::{AddressOp, IntOp, address_op, int_op};
pub use operation::Operation;
pub use register::register_op;
pub use table::AluOp;

use crate::{Code, Error, Named, Profile};

impl AluOp {
    /// The operation has this property.
    #[inline]
    pub fn is(self, property: Trait) -> bool {
        self.traits().contains(&property)
    }

    /// One of the eight bit-vector operations, which select the int32 path (`alu.md` 2.1).
    #[inline]
    pub fn is_bitvec(self) -> bool {
        self.is(Trait::Bitvec)
    }

    /// Looks at its left operand only.
    #[inline]
    pub fn is_unary(self) -> bool {
        self.is(Trait::Unary)
    }
}

/// The maps of operations, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Map {
    Float,
    Int,
    Address,
    Compare,
}

impl Map {
    fn name(self) -> &'static str {
        match self {
            Map::Float => "float",
            Map::Int => "int",
            Map::Address => "address",
            Map::Compare => "compare",
        }
    }

    /// The map has this operation under the profile `reference`.
    fn has(self, op: AluOp) -> bool {
        match self {
            Map::Float => table::float_entry(op, &Profile::reference()).is_some(),
            Map::Int => table::integer_entry(op, IntegerMap::Int, None).is_some(),
            Map::Address => table::integer_entry(op, IntegerMap::Address, None).is_some(),
            Map::Compare => table::compare_entry(op).is_some(),
        }
    }

    /// What a program can use in the place of an operation that is missing.
    fn advice(self) -> String {
        let names = |present: bool| {
            let listed = AluOp::ALL.iter().filter(|op| self.has(**op) == present).map(|op| op.name());
            listed.collect::<Vec<_>>().join(", ")
        };
        match self {
            Map::Float => {
                format!("the float map has {}; mod and mod_int with --set float_mod=true", names(true))
            }
            Map::Int | Map::Address => format!("the {} map has all operations but {}", self.name(), names(false)),
            Map::Compare => format!("the compare map has {}", names(true)),
        }
    }
}

/// The error of a lookup that misses.
#[cold]
fn miss(op: AluOp, map: Map) -> Error {
    Error::new(Code::S006, format!("the ALU op {op} is not supported yet: it is not in the {} map", map.name()))
        .received(op)
        .advice(map.advice())
}
