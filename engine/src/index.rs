//! Index types: what a number counts is part of its type, so a row is never taken for a block.
//!
//! Tables stay plain vectors and component slices. Each index type lists the elements of the tables that it counts, and
//! `Index` is implemented for those only: `program.insts[row]` compiles with a row and with nothing else that has a type.
//! It costs nothing at run time. [`at`](crate::world::RowId::at) gives the position, for tables of other kinds.

/// Declares index types, each with the elements of the tables that it counts.
macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident of $($element:ty),+;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index of an element at a position. Tables have fewer than 2^32 elements.
            #[inline]
            pub fn of(position: usize) -> Self {
                $name(position as u32)
            }

            /// The position.
            #[inline]
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        $(crate::index::counts!($name: $element);)+
    )*};
}

/// Lets an index type index tables of an element type.
macro_rules! counts {
    ($name:ty: $element:ty) => {
        crate::index::counts!(@ $name, $element, [$element]);
        crate::index::counts!(@ $name, $element, Vec<$element>);
    };
    (@ $name:ty, $element:ty, $table:ty) => {
        impl std::ops::Index<$name> for $table {
            type Output = $element;
            #[inline]
            fn index(&self, k: $name) -> &$element {
                &self[k.at()]
            }
        }

        impl std::ops::IndexMut<$name> for $table {
            #[inline]
            fn index_mut(&mut self, k: $name) -> &mut $element {
                &mut self[k.at()]
            }
        }
    };
}

pub(crate) use {counts, indices};
