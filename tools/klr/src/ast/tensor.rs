//! Tensors and addresses (`klr.md` 2.2, 2.3).

use crate::ast::{ApPair, Dtype, Memory};
use crate::codec::{Part, Show, Wire};
use crate::inspect::plain;
use crate::read::Reader;
use crate::write::Writer;
use birsim_kernels::Result;

record_type! {
    /// Logical shape: partition dimension first.
    Shape = 112 {
        par_dim "parDim": u64,
        free_dims "freeDims": Vec<u64>,
    }
}

record_type! {
    /// Memory region: rows and bytes per row.
    Address = 113 {
        name: String,
        memory: Memory,
        par_size "parSize": u64,
        free_size "freeSize": u64,
        par_offset "parOffset": Option<u64>,
        free_offset "freeOffset": Option<u64>,
        is_shared "isShared": bool,
    }
}

/// A tensor; repeated in full at every use.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorName {
    /// Name, unique in the kernel.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Logical shape.
    pub shape: Shape,
    /// Memory region.
    pub address: Address,
    /// Product of the free dimensions, redundant.
    pub free_elements: u64,
    /// The compiler may rotate the physical address.
    pub address_rotation: bool,
}

impl Wire for TensorName {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.record("TensorName", 114, 8, 8)?;
        let name = String::read(r).map_err(|e| e.operand("TensorName.name"))?;
        // Errors of the fields below name this tensor.
        let place = |e: birsim_kernels::Error| e.at(|p| p.tensor = Some(name.clone()));
        let dtype = Dtype::read(r).map_err(place)?;
        let shape = Shape::read(r).map_err(place)?;
        let address = Address::read(r).map_err(place)?;
        let free_elements = r.nat().map_err(place)?;
        // Two proof fields. They have no bytes, but one writer writes an empty array for each.
        r.skip_written_proofs();
        let address_rotation = r.boolean().map_err(place)?;
        r.leave();
        Ok(TensorName { name, dtype, shape, address, free_elements, address_rotation })
    }
    fn write(&self, w: &mut Writer) {
        w.tagged(114, 0, 8);
        self.name.write(w);
        self.dtype.write(w);
        self.shape.write(w);
        self.address.write(w);
        w.nat(self.free_elements);
        w.boolean(self.address_rotation);
    }
}

impl Show for TensorName {
    fn show(&self, out: &mut String) {
        out.push_str(&plain(&self.name));
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Tensor(self));
    }
}

record! {
    /// Allocated HBM tensor.
    TensorHbm = 126 {
        name: String,
        dtype: Dtype,
        address: u64,
        dims: Vec<ApPair>,
    }
}

record! {
    /// Allocated SBUF or PSUM tensor.
    TensorSram = 127 {
        name: String,
        dtype: Dtype,
        par_num "parNum": u64,
        pattern: Vec<ApPair>,
        par_offset "parOffset": u64,
        free_offset "freeOffset": u64,
    }
}

impl Shape {
    /// All dimensions, partition first.
    pub fn dims(&self) -> Vec<u64> {
        std::iter::once(self.par_dim).chain(self.free_dims.iter().copied()).collect()
    }

    /// Product of the free dimensions, unless it leaves 64 bits.
    pub fn free_elements(&self) -> Option<u64> {
        self.free_dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d))
    }
}

impl Dtype {
    /// Bytes per element (of the packed container for the `x4` types).
    pub fn size(self) -> u64 {
        match self {
            Dtype::Int64 | Dtype::Uint64 => 8,
            Dtype::Float32 | Dtype::Float32r | Dtype::Int32 | Dtype::Uint32 => 4,
            Dtype::Float8E5m2X4 | Dtype::Float8E4m3fnX4 => 4,
            Dtype::Bfloat16 | Dtype::Float16 | Dtype::Int16 | Dtype::Uint16 | Dtype::Float4E2m1fnX4 => 2,
            Dtype::Float8e3 | Dtype::Float8e4 | Dtype::Float8e5 | Dtype::Int8 | Dtype::Uint8 => 1,
            Dtype::Float8E4m3 | Dtype::Float8E4m3fn => 1,
        }
    }
}
