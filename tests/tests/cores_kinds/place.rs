//! Where the elements of a tensor lie: all of its memory, or a strided part of it.

use crate::model::Shape;
use crate::values::{bytes, size};
use birsim_engine::ir::{ApPair, Extra, MemoryType, Name, Operand, PhysicalAp, Storage, TensorKind};
use birsim_kernels::Dtype;

/// Bits of elements that nothing writes.
pub const KEPT: u32 = 0x4d4d_4d4d;

/// A tensor in SBUF and the part of it that a collective uses.
#[derive(Clone)]
pub struct Place {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Shape,
    pub strided: bool,
}

impl Place {
    /// Elements between rows, between columns, and before the first.
    fn steps(&self) -> (usize, usize, usize) {
        if self.strided { (2 * self.shape.cols + 3, 2, 1) } else { (self.shape.cols, 1, 0) }
    }

    pub fn storage(&self) -> Storage {
        let (pitch, ..) = self.steps();
        let (rows, kind) = (self.shape.rows as u64, TensorKind::Internal);
        let mut s = birsim_benches::programs::tensor(&self.name, MemoryType::Sb, kind, rows, pitch as u64);
        if let Storage::Set(set) = &mut s {
            set.dtype = self.dtype;
            set.locations[0].dims[1] = (pitch * size(self.dtype)) as u64;
        }
        s
    }

    pub fn operand(&self) -> Operand {
        let (pitch, step, offset) = self.steps();
        Operand::Physical(PhysicalAp {
            dtype: self.dtype,
            memref: self.name.as_str().into(),
            memsetref: Name::default(),
            offset: offset as i64,
            ap: vec![
                ApPair { step: pitch as i64, num: self.shape.rows as i64 },
                ApPair { step: step as i64, num: self.shape.cols as i64 },
            ]
            .into(),
            dynamic: None,
            extra: Extra::new(),
        })
    }

    /// All bytes of the tensor with these elements in the part that is used.
    pub fn memory(&self, elements: &[u32]) -> Vec<u8> {
        let (pitch, step, offset) = self.steps();
        let mut all = vec![KEPT; self.shape.rows * pitch];
        for (k, e) in elements.iter().enumerate() {
            all[offset + k / self.shape.cols * pitch + k % self.shape.cols * step] = *e;
        }
        bytes(self.dtype, &all)
    }

    /// The same before anything was written.
    pub fn untouched(&self) -> Vec<u32> {
        vec![KEPT; self.shape.len()]
    }
}
