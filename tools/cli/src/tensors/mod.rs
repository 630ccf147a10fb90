//! Which file belongs to which tensor, and what is in it.

mod bind;
mod collection;
mod names;
mod random;

pub use bind::{Files, Given, Origin, Plan, is_archive, origin_text, with_npy};
pub use names::resolve;
pub use random::random_bytes;

use birsim_engine::ir::TensorKind;
use birsim_kernels::Dtype;

/// A tensor of the program, as the command line sees it.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Memory-location name.
    pub name: String,
    /// Name of its set.
    pub set: String,
    /// The set's name also names the tensor (ruling D27).
    pub by_set: bool,
    /// Role.
    pub kind: TensorKind,
    /// Element type.
    pub dtype: Dtype,
    /// Logical shape.
    pub shape: Vec<u64>,
    /// File the program itself names; empty when none.
    pub file: String,
}
