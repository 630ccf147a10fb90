//! Storage records: tensors, their placed pieces, registers (`bir-json.md` 4).

use super::{AddressSpace, Engine, Extra, MemoryType, TensorClass, TensorKind};
use birsim_kernels::Dtype;

/// One record of a function's `allocations`.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// A tensor.
    Set(LocationSet),
    /// A scalar register.
    Register(RegisterDecl),
}

/// `memory_location_set`: one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct LocationSet {
    /// Name, by convention `<tensor>_set`.
    pub name: String,
    /// Role.
    pub kind: TensorKind,
    /// Declared element type.
    pub dtype: Dtype,
    /// Logical shape; dimensions before `partition_dim` are block dimensions.
    pub tensor_shape: Vec<u64>,
    /// Index of the partition dimension.
    pub partition_dim: u64,
    /// Who sees it.
    pub addr_space: AddressSpace,
    /// Class, when written.
    pub tensor_class: Option<TensorClass>,
    /// Pieces.
    pub locations: Vec<Location>,
    /// `.npy` bound to it; empty when none.
    pub file: String,
    /// `no_spill` (also read as `do_not_spill`), `do_not_rotate`, `virtual`, `volatile`, `debug` and unknown keys.
    pub extra: Extra,
}

/// `memory_location`: one placed piece of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// Name.
    pub name: String,
    /// Memory it lives in.
    pub ty: MemoryType,
    /// [partitions, bytes per partition]; KLR writes further free dimensions.
    pub dims: Vec<u64>,
    /// Byte address: inside every partition for SB and PSUM.
    pub addr: u64,
    /// First partition.
    pub base: i64,
    /// PSUM bank; the absolute value counts.
    pub bank: i64,
    /// Has an address.
    pub allocated: bool,
    /// The address was chosen by the user.
    pub user_allocated: bool,
    /// Write-protected region for the checker.
    pub pinned: bool,
    /// Index inside the set; -1 when unset.
    pub tensor_id: i64,
    /// Role, when it differs from the set's.
    pub kind: Option<TensorKind>,
    /// Address space, when it differs from the set's.
    pub addr_space: Option<AddressSpace>,
    /// Alias entries: [set, location, kind bits] with the set possibly empty.
    pub alias: Vec<(String, String, i64)>,
    /// Target of a pointer.
    pub pointer_ref_memloc: Option<String>,
    /// Unknown and bookkeeping keys.
    pub extra: Extra,
}

/// `register`: a scalar register.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterDecl {
    /// Name.
    pub name: String,
    /// 1 (32 bit) or 2 (64 bit).
    pub num_physical_regs: u32,
    /// Engine it belongs to.
    pub engine: Engine,
    /// Element type.
    pub dtype: Dtype,
    /// Physical id; -1 = symbolic.
    pub reg_id: i64,
    /// Unknown keys.
    pub extra: Extra,
}
