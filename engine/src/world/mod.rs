//! The ECS world of one core: components, resources, and how a module becomes entities.

pub(crate) mod columns;
pub mod compile;
pub mod components;
pub mod counter;
pub mod expr;
pub mod meeting;
pub mod operands;
pub mod own;
pub mod placement;
pub mod post;
pub mod program;
pub mod registers;
pub mod remark;
pub mod rules;
pub mod scope;
pub mod scratch;
pub mod seat;
pub mod source;
pub mod spawn;
pub mod state;
mod tables;

pub use components::*;
pub use counter::*;
pub use meeting::*;
pub use own::*;
pub use post::*;
pub use program::*;
pub use registers::*;
pub use remark::*;
pub use rules::*;
pub use scratch::*;
pub use seat::*;
pub use source::*;
pub use spawn::Entities;
pub use state::*;
