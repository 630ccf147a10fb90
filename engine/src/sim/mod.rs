//! One simulated core: how it is built, stepped, watched, and its tensors from outside.

mod builder;
mod common;
mod core;
mod refusals;
mod reset;
mod summary;
mod tensors;
mod watch;

pub use builder::{Builder, MemMode};
pub use core::{Core, Progress};
pub use refusals::Refusal;
pub use summary::RunSummary;
pub use tensors::TensorInfo;
