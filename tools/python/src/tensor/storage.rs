//! Storage of tensors.

use crate::op::Region;
use crate::trace::Session;
use birsim_kernels::Dtype;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Storage of a tensor; released when its last view is gone and the last instruction that names it has run.
pub struct Storage {
    /// Session it belongs to.
    pub session: Arc<Session>,
    /// Core that made it.
    pub core: u32,
    /// Number of its location.
    pub loc: u32,
    /// Unique name.
    pub name: String,
    /// Shape.
    pub shape: SmallVec<[i64; 5]>,
    /// Element type it was made with.
    pub dtype: Dtype,
    /// Memory.
    pub region: Region,
    /// An instruction writes to it.
    pub written: AtomicBool,
}

impl Storage {
    /// Describes the storage of a location.
    pub fn new(
        session: Arc<Session>,
        core: u32,
        loc: u32,
        name: String,
        shape: SmallVec<[i64; 5]>,
        dtype: Dtype,
        region: Region,
    ) -> Storage {
        Storage { session, core, loc, name, shape, dtype, region, written: AtomicBool::new(false) }
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> i64 {
        self.shape.iter().product::<i64>() * self.dtype.size() as i64
    }

    /// Bytes from one partition to the next.
    pub fn row_bytes(&self) -> i64 {
        self.shape[1..].iter().product::<i64>() * self.dtype.size() as i64
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if self.region != Region::SharedHbm || self.session.settings.cores == 1 {
            self.session.dropped(self.core, self.loc, self.bytes().unsigned_abs());
        }
    }
}
