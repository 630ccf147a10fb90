//! Memory of one core: arenas, locations, shadows, and the resolution of access patterns.

pub mod accumulate;
pub mod arena;
pub mod common;
pub mod fill;
pub mod layout;
pub mod marks;
pub mod moving;
pub mod overlap;
mod runs;
pub mod shadow;
pub mod tensor_map;

pub use arena::{ArenaMem, UNWRITTEN};
pub use common::Common;
pub use fill::Fill;
pub use layout::{LocationInfo, PlaceRules, resolve, resolve_open};
pub use marks::{Marks, WrittenMarks};
pub use moving::Moving;
pub use shadow::Shadow;
pub use tensor_map::TensorMap;

crate::index::indices! {
    /// An arena: memory that patterns count bytes of.
    ArenaId of ArenaMem, WrittenMarks;
}
