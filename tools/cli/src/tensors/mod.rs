//! Which file belongs to which tensor, and what is in it.

mod bind;
mod collection;
mod names;
mod random;

pub use bind::{Files, Given, Origin, Plan, is_archive, origin_text, with_npy};
pub use names::{resolve, split_rank};
pub use random::random_bytes;

use birsim_engine::ir::TensorKind;
use birsim_kernels::Dtype;
use std::path::{Path, PathBuf};

/// A tensor of the program, as the command line sees it.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Rank, in a run of several. The tensors of a rank stand together, in rank order.
    pub rank: Option<usize>,
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

impl Decl {
    /// Size of the tensor.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.dtype.size() as u64, |n, dim| n.saturating_mul(*dim))
    }

    /// The name with its rank, as the command line takes it.
    pub fn label(&self) -> String {
        self.rank.map_or_else(|| self.name.clone(), |rank| format!("rank{rank}/{}", self.name))
    }

    /// The folder below `out` that files of the tensor are written to.
    pub fn folder(&self, out: &Path) -> PathBuf {
        self.rank.map_or_else(|| out.to_path_buf(), |rank| out.join(format!("rank{rank}")))
    }
}
