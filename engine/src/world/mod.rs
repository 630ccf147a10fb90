//! The ECS world of one core: components, resources, and how a module becomes entities.

pub mod compile;
pub mod components;
pub mod expr;
pub mod operands;
pub mod program;
pub mod scope;
pub mod spawn;
pub mod state;

pub use components::*;
pub use program::*;
pub use state::*;
