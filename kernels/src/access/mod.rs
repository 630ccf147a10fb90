//! Resolved access patterns and the views kernels read and write through.
//!
//! A [`Pattern`] says at which byte of its arena every element lies. [`Src`] and [`Dst`] join a pattern with the
//! arena's bytes; building one proves the bounds, after which the walk needs no checks. A *lane* is one index of the
//! first pair (the partition for SBUF and PSUM); elements of a lane are numbered row-major, last pair fastest.

mod across;
mod input;
mod lanes;
mod par;
mod pattern;
mod view;

pub(crate) use across::Across;
pub use input::{Imm, Input};
pub use lanes::{CHUNK, chunks, pieces};
pub(crate) use par::piece_count;
pub use par::{for_lane_ranges, for_lanes};
pub use pattern::{MAX_PAIRS, Pair, Pattern};
pub use view::{Dst, Src, Window, WindowMut};
