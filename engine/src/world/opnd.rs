//! Operands as the compiled program holds them.

use super::*;
use crate::ir::{Engine, Opcode, Trait};
use crate::memory::{ArenaId, LocationInfo, Moving};
use crate::world::expr::Ex;
use birsim_kernels::access::Imm;
use birsim_kernels::profile::Guard;
use birsim_kernels::{Code, Dtype, Error};
use std::sync::Arc;

/// Where a dynamic operand's location comes from.
#[derive(Clone, Debug)]
pub struct DynamicSpec {
    /// Set, before binding of formal arguments.
    pub set: SetId,
    /// Location inside the set, by tensor id.
    pub sub: Ex,
    /// Element offset.
    pub offset: Ex,
    /// `offset` is the byte address of an element, as the program declares addresses.
    pub absolute: bool,
    /// Element type.
    pub dtype: Dtype,
    /// Pairs.
    pub ap: Box<[crate::ir::ApPair]>,
    /// Index vector, for the vector form of a dynamic offset.
    pub vector: Option<VectorSpec>,
    /// Written as `register_ap` (ruling D47).
    pub by_register: bool,
    /// `ins[1]` times this is added to the offset (TensorCopyDynamicSrc and Dst).
    pub operand_scale: Option<Ex>,
    /// Run-time offset in bytes.
    pub bytes: Option<Ex>,
    /// What is known at load, when the offset is all that depends on the run.
    pub anchor: Option<Anchor>,
}

/// A dynamic operand of which everything but the offset is known at load.
#[derive(Clone, Debug)]
pub struct Anchor {
    /// Location.
    pub loc: LocId,
    /// Its arena.
    pub arena: ArenaId,
    /// Bytes of the arena that the location reaches over.
    pub extent: (i64, i64),
    /// The pattern, without its offset.
    pub moving: Moving,
}

impl DynamicSpec {
    /// Decides what the run cannot change for an operand of an instruction, and refuses what no run would accept. `place`
    /// tells where a location is.
    pub(crate) fn fix(
        &mut self,
        program: &Program,
        opcode: Opcode,
        guard: Guard,
        place: impl Fn(LocId) -> LocationInfo,
    ) -> Result<(), Error> {
        let set = &program.sets[self.set];
        // A formal argument is bound by the call, and an index vector picks rows of its own.
        if set.formal || self.vector.is_some() {
            return Ok(());
        }
        let sub = self.sub.as_const().and_then(|s| usize::try_from(s).ok());
        let Some(loc) = sub.and_then(|s| set.locations.get(s)).copied() else { return Ok(()) };
        let place = place(loc);
        self.guard(opcode, guard, &place, &program.locations[loc])?;
        let (lo, hi) = place.extent();
        self.anchor = Moving::of(&place, self.dtype, &self.ap).map(|moving| Anchor {
            loc,
            arena: place.arena,
            extent: (lo as i64, hi as i64),
            moving,
        });
        Ok(())
    }

    /// Most instructions cannot access DRAM through a register pattern (ruling D47).
    pub fn guard(&self, opcode: Opcode, guard: Guard, place: &LocationInfo, meta: &LocationMeta) -> Result<(), Error> {
        let guarded = guard == Guard::Refuse && self.by_register && place.ty.is_dram();
        if !guarded || opcode.is(Trait::DramByRegister) {
            return Ok(());
        }
        Err(Error::new(Code::S015, "this instruction cannot access DRAM through a register pattern")
            .received(opcode)
            .at(|p| p.tensor = Some(meta.name.to_string())))
    }
}

/// Vector form of a dynamic offset (`bir-json.md` 6.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorSpec {
    /// Index operand, counted in `indirection_ins`.
    pub arg: u32,
    /// Axis it drives.
    pub dim: crate::ir::IndirectDim,
    /// Bound of the indices.
    pub max_index: Option<u64>,
    /// Elements from one index to the next; the step of the driven axis when absent.
    pub coefficient: Option<i64>,
}

/// A register named by an operand or expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegRef {
    /// Engine whose file holds it.
    pub engine: Engine,
    /// Slot: of the physical or the symbolic file.
    pub slot: u32,
    /// Physical register.
    pub physical: bool,
    /// 64 bits wide.
    pub wide: bool,
    /// Read as signed.
    pub signed: bool,
}

/// A compiled operand.
#[derive(Clone, Debug)]
pub enum Opnd {
    /// Address known at load, bounds proven.
    Static {
        /// Location.
        loc: LocId,
        /// Its arena.
        arena: ArenaId,
        /// Index in [`Program::patterns`].
        pattern: PatternId,
    },
    /// Address evaluated at issue.
    Dynamic(Box<DynamicSpec>),
    /// A fault that executing the instruction raises.
    Faulty(Box<Error>),
    /// Immediate.
    Imm {
        /// Bits.
        imm: Imm,
        /// The number as written: ruling D2 asks whether it is an integer.
        number: f64,
    },
    /// `value_list[expr]`.
    SymbolicImm(Box<(Dtype, Vec<Imm>, Ex)>),
    /// Immediate array.
    ImmArray(Arc<[Imm]>),
    /// Register.
    Register(RegRef, Dtype),
}
