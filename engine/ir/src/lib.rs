//! BIR programs as data: a module in memory, typed and complete, the table of all opcodes, the text form ([`mod@format`])
//! and everything that can be said about a program without running it ([`validate`]).
//!
//! This crate knows nothing of worlds, memory or execution. It takes dtypes, ALU operations, enumerations and errors
//! from `birsim-kernels`; the engine binds opcodes to code.

pub mod accepts;
mod compact;
pub mod enums;
pub mod expr;
pub mod format;
pub mod listing;
pub mod module;
pub mod nearest;
pub mod opcodes;
pub mod operand;
pub mod params;
mod rows;
pub mod spelling;
pub mod storage;
pub mod sync;
pub mod table;
pub mod traits;
pub mod validate;
pub mod value;

pub use compact::{Extra, Name, Pairs};
pub use enums::*;
pub use expr::{Expr, Predicate, PredicateOp};
pub use module::{Block, BlockArgument, Dependency, Function, Instruction, Module, Queue, SourceLocation};
pub use operand::{ApPair, DynamicAp, ImmValue, Operand, PhysicalAp, RegisterAp, SymbolicAp};
pub use params::{Keys, Params};
pub use storage::{Location, LocationSet, RegisterDecl, Storage};
pub use sync::{SyncInfo, SyncKind, UpdateRef, WaitRef};
pub use table::{Fidelity, Field, FieldType, Opcode, Role, RouteClass, Row};
/// A list that is mostly empty.
pub use thin_vec::ThinVec;
pub use traits::{Demand, Rule, Steer, Trait, When};
pub use value::{Axis, Value};
