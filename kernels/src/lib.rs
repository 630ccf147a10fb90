//! What one BIR instruction computes: pure functions over bytes.
//!
//! This crate knows dtypes, conversions, ALU operations, access patterns and the kernels built from them. It knows
//! nothing of the machine: no entities, no semaphores, no modules. A kernel takes [`access::Src`] and [`access::Dst`]
//! views plus its parameters, and either writes its result or returns an [`error::Error`].

#[macro_use]
mod names;

pub mod access;
pub mod accumulate;
pub mod activation;
pub mod alu;
pub mod batchnorm;
pub mod cast;
pub mod collective;
pub mod compare;
pub mod copy;
pub mod dma;
pub mod dtype;
pub mod elementwise;
pub mod error;
pub mod fill;
pub mod gather;
pub mod halt;
pub mod indirect;
pub mod iota;
pub mod isa;
pub mod matmul;
mod movement;
pub mod mx;
mod parallel;
pub mod pool;
pub mod profile;
pub mod range;
pub mod reduce;
pub mod rehearsal;
pub mod rng;
pub mod rulings;
pub mod scan;
pub mod search;
pub mod select;
pub mod sequence;
pub mod shuffle;

pub use dtype::Dtype;
pub use error::{Class, Code, Error, Place, Result};
pub use names::{EnumDef, Named};
pub use profile::Profile;
