//! Storage records: shapes and sizes that a machine can address (`bir-json.md` 4).

use super::Walk;
use crate::{Location, LocationSet, MemoryType, RegisterDecl, Storage, TensorKind};
use birsim_kernels::{Code, Error};

/// No tensor is larger; device memory is a fraction of it.
const MAX_BYTES: u64 = 1 << 40;

/// No shape has more dimensions.
const MAX_RANK: usize = 16;

/// Physical register ids are below this on every architecture.
const MAX_REG_ID: i64 = 1024;

/// Product of dimensions, when it stays addressable.
fn product(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MAX_BYTES)
}

impl<'m> Walk<'m> {
    pub(super) fn storage(&mut self, allocations: &'m [Storage]) {
        let sets = || allocations.iter().filter_map(|s| if let Storage::Set(s) = s { Some(s) } else { None });
        let registers = allocations.iter().filter_map(|s| match s {
            Storage::Register(r) => Some(r),
            Storage::Set(_) => None,
        });
        self.unique("tensor set", sets().map(|s| s.name.as_str()));
        self.unique("register", registers.clone().map(|r| r.name.as_str()));
        for set in sets() {
            self.unique("memory location", set.locations.iter().map(|l| l.name.as_str()));
        }
        if self.full {
            registers.for_each(|r| self.register(r));
            sets().for_each(|s| self.set(s));
        }
    }

    fn bad(&mut self, code: Code, tensor: &str, key: &str, what: String, got: impl std::fmt::Display) {
        let e = Error::new(code, what).received(got).operand(key).at(|p| p.tensor = Some(tensor.to_string()));
        self.push(e);
    }

    fn register(&mut self, r: &'m RegisterDecl) {
        if !(1..=2).contains(&r.num_physical_regs) {
            let what = "a register takes 1 or 2 physical registers".to_string();
            self.bad(Code::J011, &r.name, "numPhysicalRegs", what, r.num_physical_regs);
        }
        if !(-1..MAX_REG_ID).contains(&r.reg_id) {
            let what = format!("a physical register id is below {MAX_REG_ID}, or -1 for none");
            self.bad(Code::J011, &r.name, "reg_id", what, r.reg_id);
        }
    }

    fn set(&mut self, set: &'m LocationSet) {
        let shape = &set.tensor_shape;
        let bytes = product(shape).and_then(|n| n.checked_mul(set.dtype.size() as u64)).filter(|b| *b <= MAX_BYTES);
        if shape.len() > MAX_RANK || bytes.is_none() {
            let what = format!("a tensor has at most {MAX_RANK} dimensions and 2^40 bytes");
            self.bad(Code::J013, &set.name, "tensor_shape", what, format!("{shape:?}"));
        }
        if set.partition_dim != 0 && set.partition_dim >= shape.len() as u64 {
            let what = format!("the partition dimension is one of the {} dimensions of the shape", shape.len());
            self.bad(Code::J011, &set.name, "partition_dim", what, set.partition_dim);
        }
        for location in &set.locations {
            self.location(set, location);
        }
        let outside = set.kind.is_input() || set.kind.is_output() || set.kind == TensorKind::Const;
        let room: Option<u64> =
            set.locations.iter().try_fold(0u64, |n, l| product(&l.dims).and_then(|b| n.checked_add(b)));
        if let (true, Some(bytes), Some(room)) = (outside, bytes, room)
            && !set.locations.is_empty()
            && bytes > room
        {
            let what = format!("the tensor's {bytes} bytes do not fit the {room} bytes of its locations");
            self.bad(Code::J013, &set.name, "dims", what, format!("{shape:?} of {}", set.dtype));
        }
    }

    fn location(&mut self, set: &'m LocationSet, l: &'m Location) {
        let on_chip = matches!(l.ty, MemoryType::Sb | MemoryType::Psum);
        let known_rank = !l.dims.is_empty() && l.dims.len() <= MAX_RANK && (!on_chip || l.dims.len() >= 2);
        if !known_rank || l.dims.contains(&0) || product(&l.dims).is_none() {
            let what = "dims are [partitions, bytes per partition], all positive, 2^40 bytes at most".to_string();
            return self.bad(Code::J013, &l.name, "dims", what, format!("{:?}", l.dims));
        }
        let row = row_bytes(l);
        if !row.is_multiple_of(set.dtype.size() as u64) {
            let what = format!("a row of {row} bytes holds no whole number of {} elements", set.dtype);
            self.bad(Code::J013, &l.name, "dims", what, format!("{:?}", l.dims));
        }
        if l.addr.checked_add(row).is_none() {
            self.bad(Code::J013, &l.name, "addr", "the address leaves 64 bits".to_string(), l.addr);
        }
        if l.base < 0 || l.base > i64::from(i32::MAX) {
            self.bad(Code::J011, &l.name, "base", "the first partition is not negative".to_string(), l.base);
        }
        if l.ty == MemoryType::Psum && l.bank.unsigned_abs() > 7 {
            self.bad(Code::J011, &l.name, "bank", "PSUM has the banks 0 to 7".to_string(), l.bank);
        }
    }
}

/// Bytes of one partition row; a record of one dimension is one row. 0 when `dims` make no sense.
pub(super) fn row_bytes(l: &Location) -> u64 {
    match l.dims.as_slice() {
        [] => 0,
        [total] => *total,
        dims => dims.iter().skip(1).fold(1u64, |n, d| n.saturating_mul(*d)),
    }
}
