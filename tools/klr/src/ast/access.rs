//! Accesses to tensors (`klr.md` 2.3).

use crate::ast::{Dtype, TensorName};
use crate::codec::{Part, Show, Wire};
use crate::inspect::plain;
use crate::read::Reader;
use crate::write::Writer;
use birsim_kernels::Result;
use std::fmt::Write as _;

record_type! {
    /// One axis of a pattern; `offset` counts steps and is already part of a `birPattern`'s linear offset.
    ApPair = 119 {
        step: i64,
        num: u64,
        offset: u64,
    }
}

record_type! {
    /// Lowered pattern: linear element offset, then one pair per axis, partition axis first.
    BirAccessPattern = 124 {
        tensor: TensorName,
        offset: u64,
        pattern: Vec<ApPair>,
        scalar_offset "scalarOffset": Option<ScalarOffset>,
        vector_offset "vectorOffset": Option<Box<Access>>,
        indirect_dim "indirectDim": i64,
        dtype_override "dtypeOverride": Option<Dtype>,
    }
}

record_type! {
    /// Strided pattern with separate partition and free offsets.
    AccessPattern = 120 {
        tensor: TensorName,
        par_num "parNum": u64,
        pattern: Vec<ApPair>,
        par_offset "parOffset": u64,
        free_offset "freeOffset": u64,
        fixed_axis "fixedAxis": Vec<u64>,
    }
}

union! {
    /// How a tensor is accessed.
    Access = 125 {
        0 Simple(TensorName) "simple",
        1 Basic(AccessBasic) "basic",
        2 Pattern(AccessPattern) "pattern",
        3 BirPattern(BirAccessPattern) "birPattern",
    }
}

union! {
    /// Dynamic scalar offset.
    ScalarOffset = 123 {
        0 Reg(String) "reg",
        1 Acc(Box<Access>) "acc",
    }
}

union! {
    /// One dimension of a basic access.
    Index = 117 {
        0 Coord(u64) "coord",
        1 Slice(Slice) "slice",
    }
}

/// A range of indices, end exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// First index.
    pub l: u64,
    /// End index, exclusive.
    pub u: u64,
    /// Step, never 0.
    pub step: i64,
}

impl Slice {
    /// Number of indices; 0 also for the forbidden step 0.
    pub fn count(&self) -> u64 {
        match self.step {
            0 => 0,
            1.. => self.u.saturating_sub(self.l).div_ceil(self.step.unsigned_abs()),
            _ => self.l.saturating_sub(self.u) / self.step.unsigned_abs(),
        }
    }
}

impl Wire for Slice {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        // The fourth field is a proof and has no bytes.
        r.record("Slice", 115, 4, 4)?;
        let slice = Slice { l: r.nat()?, u: r.nat()?, step: r.int()? };
        r.leave();
        Ok(slice)
    }
    fn write(&self, w: &mut Writer) {
        w.tagged(115, 0, 4);
        w.nat(self.l);
        w.nat(self.u);
        w.int(self.step);
    }
}

/// One index or slice per dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessBasic {
    /// Tensor.
    pub tensor: TensorName,
    /// Index of every dimension.
    pub indexes: Vec<Index>,
}

impl Wire for AccessBasic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        // The third field is a proof and has no bytes.
        r.record("AccessBasic", 118, 3, 3)?;
        let basic = AccessBasic { tensor: Wire::read(r)?, indexes: Wire::read(r)? };
        r.leave();
        Ok(basic)
    }
    fn write(&self, w: &mut Writer) {
        w.tagged(118, 0, 3);
        self.tensor.write(w);
        self.indexes.write(w);
    }
}

impl Access {
    /// The tensor accessed.
    pub fn tensor(&self) -> &TensorName {
        match self {
            Access::Simple(tensor) => tensor,
            Access::Basic(basic) => &basic.tensor,
            Access::Pattern(pattern) => &pattern.tensor,
            Access::BirPattern(pattern) => &pattern.tensor,
        }
    }

    /// Element counts of the accessed axes, partition axis first.
    pub fn counts(&self) -> Vec<u64> {
        match self {
            Access::Simple(tensor) => tensor.shape.dims(),
            Access::Basic(basic) => basic.indexes.iter().map(Index::count).collect(),
            Access::Pattern(pattern) => pattern.pattern.iter().map(|p| p.num).collect(),
            Access::BirPattern(pattern) => pattern.pattern.iter().map(|p| p.num).collect(),
        }
    }
}

impl Index {
    /// Number of elements of this dimension.
    pub fn count(&self) -> u64 {
        match self {
            Index::Coord(_) => 1,
            Index::Slice(slice) => slice.count(),
        }
    }
}

impl Show for ApPair {
    fn show(&self, out: &mut String) {
        let _ = write!(out, "{}:{}", self.step, self.num);
        if self.offset != 0 {
            let _ = write!(out, "@{}", self.offset);
        }
    }
}

impl Show for Index {
    fn show(&self, out: &mut String) {
        let _ = match self {
            Index::Coord(i) => write!(out, "{i}"),
            Index::Slice(s) if s.step == 1 => write!(out, "{}:{}", s.l, s.u),
            Index::Slice(s) => write!(out, "{}:{}:{}", s.l, s.u, s.step),
        };
    }
}

impl Show for ScalarOffset {
    fn show(&self, out: &mut String) {
        match self {
            ScalarOffset::Reg(name) => {
                let _ = write!(out, "%{}", plain(name));
            }
            ScalarOffset::Acc(access) => access.show(out),
        }
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        if let ScalarOffset::Acc(access) = self {
            access.parts(visit);
        }
    }
}

impl Show for Access {
    /// `tensor dtype[shape] form`, the shape being that of the access: `x float32[64x32] +2048 [32:64, 1:32]`.
    fn show(&self, out: &mut String) {
        let tensor = self.tensor();
        let mut dtype = tensor.dtype;
        if let Access::BirPattern(BirAccessPattern { dtype_override: Some(other), .. }) = self {
            dtype = *other;
        }
        let counts: Vec<String> = self.counts().iter().map(u64::to_string).collect();
        let _ = write!(out, "{} {}[{}]", plain(&tensor.name), dtype, counts.join("x"));
        match self {
            Access::Simple(_) => {}
            Access::Basic(basic) => {
                out.push_str(" at ");
                basic.indexes.show(out);
            }
            Access::Pattern(p) => {
                let _ = write!(out, " +{}/{} ", p.par_offset, p.free_offset);
                p.pattern.show(out);
                let _ = write!(out, " partitions={}", p.par_num);
                if !p.fixed_axis.is_empty() {
                    out.push_str(" fixed=");
                    p.fixed_axis.show(out);
                }
            }
            Access::BirPattern(p) => {
                let _ = write!(out, " +{} ", p.offset);
                p.pattern.show(out);
                if let Some(offset) = &p.scalar_offset {
                    out.push_str(" scalarOffset=(");
                    offset.show(out);
                    out.push(')');
                }
                if let Some(offset) = &p.vector_offset {
                    out.push_str(" vectorOffset=(");
                    offset.show(out);
                    out.push(')');
                }
                if p.indirect_dim != 0 || p.scalar_offset.is_some() || p.vector_offset.is_some() {
                    let _ = write!(out, " indirectDim={}", p.indirect_dim);
                }
            }
        }
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Tensor(self.tensor()));
        if let Access::BirPattern(p) = self {
            p.scalar_offset.parts(visit);
            p.vector_offset.parts(visit);
        }
    }
}
