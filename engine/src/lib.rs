//! The simulated machine.
//!
//! [`ir`] is a BIR module in memory, [`mod@format`] its JSON form; both are the crate `birsim-ir`. The machine itself is
//! an ECS world: see `ARCHITECTURE.md` in this folder.

pub mod check;
pub mod control;
pub mod cores;
pub mod exec;
mod index;
pub mod memory;
pub mod session;
pub mod sim;
pub mod simulator;
pub mod sync;
pub mod systems;
pub mod target;
pub mod world;

pub use birsim_ir::{self as ir, format};
pub use birsim_kernels::{Class, Code, Error, Place, Result};
pub use check::{Check, Dump, TraceRow, TraceSink};

pub use cores::{CollectiveCount, Cores};
pub use exec::effects::{Access, Effect};
pub use memory::{Fill, TensorMap};
pub use session::Session;
pub use sim::{Builder, Core, MemMode, Refusal, RunSummary, TensorInfo};
pub use simulator::{Scalar, Simulator};
pub use target::Target;
pub use world::compile::Order;
pub use world::{DevicePrint, Diagnostic, Held, IssueOrder, Limits, Remark, Severity, Stats};
