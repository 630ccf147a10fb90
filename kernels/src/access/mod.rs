//! Resolved access patterns and the views kernels read and write through.
//!
//! A [`Pattern`] says at which byte of its arena every element is. [`Src`] and [`Dst`] join a pattern with the
//! arena's bytes; building one proves the bounds, after which the walk needs no checks. A *lane* is one index of the
//! first pair (the partition for SBUF and PSUM); elements of a lane are numbered row-major, last pair fastest.
//!
//! Who may touch which byte is checked by the compiler. A [`Src`] is a shared borrow of its bytes and a [`Dst`] an
//! exclusive one, so writers take `&mut self`. Threads share the work of a kernel by owning parts of its [`Dst`]
//! ([`Dst::split_at`]), as threads share a slice. An operand that is the destination itself is not a second view of
//! the same bytes but [`Source::Same`]: it is read through the destination.

mod input;
mod pattern;
mod raw;
mod source;
mod split;
mod typed;

pub use input::{Imm, Input};
pub use pattern::{MAX_PAIRS, Pair, Pattern};
pub(crate) use raw::copy_across;
pub use raw::{Dst, Read, Rows, RowsMut, Src, View, Window, WindowMut, Write};
pub use source::Source;
pub(crate) use split::{for_pieces, piece_count};
pub use typed::{CHUNK, chunks, pieces};
