//! Operands and small unions (`klr.md` 2.3, 2.4).

use crate::ast::{Access, ApPair, TensorHbm, TensorSram};
use crate::codec::{Part, Show};
use crate::inspect::plain;
use std::fmt::Write as _;

union! {
    /// A tensor operand; only `abstract` comes from kernels.
    TensorRef = 128 {
        0 Abstract(Access) "abstract",
        1 Sbuf(TensorSram) "sbuf",
        2 Psum(TensorSram) "psum",
        3 Hbm(TensorHbm) "hbm",
        4 Register(u64) "register",
    }
}

union! {
    /// An immediate; int or float is what the author wrote.
    Immediate = 131 {
        0 Register(u64) "register",
        1 Pointer "pointer",
        2 Int(i32) "int",
        3 Float(f32) "float",
    }
}

union! {
    /// An immediate or a tensor.
    Operand = 133 {
        0 Imm(Immediate) "imm",
        1 Tile(Box<TensorRef>) "tile",
    }
}

record! {
    /// Value generator: offset + partition x channelMultiplier + sum of index x step.
    DataPattern = 134 {
        offset: i64,
        pattern: Vec<ApPair>,
        channel_multiplier "channelMultiplier": i64,
    }
}

union! {
    /// What a local gather does on an index miss.
    IndexMissBehavior = 143 {
        0 Imm(Immediate) "imm",
        1 Skip "skip",
    }
}

union! {
    /// What a DMA does with out-of-range indices.
    DmaBounds = 141 {
        0 Skip "skip",
        1 Error "error",
        2 Reg(u64) "reg",
    }
}

union! {
    /// Participants of a collective.
    ReplicaGroup = 198 {
        0 Unspecified "unspecified",
        1 Named(String) "named",
        2 Literal(Vec<Vec<i64>>) "literal",
    }
}

impl Show for TensorRef {
    fn show(&self, out: &mut String) {
        match self {
            TensorRef::Abstract(access) => access.show(out),
            TensorRef::Sbuf(t) | TensorRef::Psum(t) => {
                let counts: Vec<String> = t.pattern.iter().map(|p| p.num.to_string()).collect();
                let memory = self.constructor();
                let _ = write!(out, "{memory} {} {}[{}]", plain(&t.name), t.dtype, counts.join("x"));
                let _ = write!(out, " +{}/{} ", t.par_offset, t.free_offset);
                t.pattern.show(out);
                let _ = write!(out, " partitions={}", t.par_num);
            }
            TensorRef::Hbm(t) => {
                let counts: Vec<String> = t.dims.iter().map(|p| p.num.to_string()).collect();
                let _ = write!(out, "hbm {} {}[{}] +{} ", plain(&t.name), t.dtype, counts.join("x"), t.address);
                t.dims.show(out);
            }
            TensorRef::Register(n) => {
                let _ = write!(out, "register {n}");
            }
        }
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Reference(self));
        if let TensorRef::Abstract(access) = self {
            access.parts(visit);
        }
    }
}

impl Show for Immediate {
    fn show(&self, out: &mut String) {
        let _ = match self {
            Immediate::Register(n) => write!(out, "register {n}"),
            Immediate::Pointer => write!(out, "pointer"),
            Immediate::Int(n) => write!(out, "{n}"),
            Immediate::Float(x) => write!(out, "{x:?}"),
        };
    }
}

impl Show for Operand {
    fn show(&self, out: &mut String) {
        match self {
            Operand::Imm(imm) => imm.show(out),
            Operand::Tile(tile) => tile.show(out),
        }
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        if let Operand::Tile(tile) = self {
            tile.parts(visit);
        }
    }
}

impl Show for IndexMissBehavior {
    fn show(&self, out: &mut String) {
        match self {
            IndexMissBehavior::Imm(imm) => imm.show(out),
            IndexMissBehavior::Skip => out.push_str("skip"),
        }
    }
}

impl Show for DmaBounds {
    fn show(&self, out: &mut String) {
        out.push_str(self.constructor());
        if let DmaBounds::Reg(n) = self {
            let _ = write!(out, " {n}");
        }
    }
}

impl Show for ReplicaGroup {
    fn show(&self, out: &mut String) {
        match self {
            ReplicaGroup::Unspecified => out.push_str("unspecified"),
            ReplicaGroup::Named(name) => name.show(out),
            ReplicaGroup::Literal(groups) => groups.show(out),
        }
    }
}
