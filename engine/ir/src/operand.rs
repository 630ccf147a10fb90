//! Operands of instructions (`bir-json.md` 6).

use super::{Expr, Extra, IndirectDim, Name, Pairs};
use birsim_kernels::Dtype;

/// One `[step, num]` pair; steps count elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApPair {
    /// Distance of neighbours in elements.
    pub step: i64,
    /// Number of elements.
    pub num: i64,
}

/// `physical_ap`.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicalAp {
    /// Element type of the access.
    pub dtype: Dtype,
    /// Location name; empty when only the set is named.
    pub memref: Name,
    /// Set name; may be empty when `memref` is unique.
    pub memsetref: Name,
    /// Offset in elements.
    pub offset: i64,
    /// Pairs, outermost (partition) first.
    pub ap: Pairs,
    /// Run-time part of the address.
    pub dynamic: Option<Box<DynamicAp>>,
    /// Unknown and bookkeeping keys (`access_shape`, `memref_owner_func`, ...).
    pub extra: Extra,
}

/// `dynamic_ap_info` of a physical pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicAp {
    /// Run-time offset expression: one register (scalar form) or one index tensor (vector form).
    pub offset_expr: Option<Expr>,
    /// Static pairs before the dynamic term.
    pub actual_ap: Vec<ApPair>,
    /// Static part of the offset.
    pub c: Option<i64>,
    /// Further (expression, coefficient) terms.
    pub aff_expr: Vec<(Expr, i64)>,
    /// Axis an index vector drives.
    pub indirect_dim: Option<IndirectDim>,
    /// Bound of the indices.
    pub indirect_dim_max_index: Option<u64>,
    /// Number of index operands.
    pub num_indirect_args: Option<u64>,
    /// Position of the index operand.
    pub indirect_arg_id: Option<i64>,
    /// Unknown keys.
    pub extra: Extra,
}

/// `symbolic_ap` / `symbolic_pwap`.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolicAp {
    /// Element type of the access.
    pub dtype: Dtype,
    /// Written as `symbolic_pwap`.
    pub pwap: bool,
    /// Set name.
    pub memsetref: Name,
    /// Location name, rarely given.
    pub memref: Name,
    /// Pairs, outermost first.
    pub ap: Pairs,
    /// One address expression per tensor dimension.
    pub addrs: Vec<Expr>,
    /// Index operand of an indirect access; -1 when none.
    pub tensor_indirect_arg_id: i64,
    /// Number of its indices.
    pub num_tensor_indirect_indices: Option<u64>,
    /// Unknown and bookkeeping keys.
    pub extra: Extra,
}

/// `register_ap`.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterAp {
    /// Element type of the access.
    pub dtype: Dtype,
    /// Set name.
    pub memsetref: Name,
    /// Location name, rarely given.
    pub memref: Name,
    /// Pairs, outermost first.
    pub ap: Pairs,
    /// Register with the resolved address, or the offset when `is_regloc_offset`.
    pub regref: Option<String>,
    /// `regref` holds an element offset.
    pub is_regloc_offset: bool,
    /// Register with the element offset.
    pub reg_ap_offset: Option<String>,
    /// Static element offset.
    pub const_ap_offset: i64,
    /// Register with the sub-tensor index.
    pub reg_sub_tensor_id: Option<String>,
    /// Static sub-tensor index; -1 when none.
    pub const_sub_tensor_id: i64,
    /// Unknown and bookkeeping keys.
    pub extra: Extra,
}

/// A scalar immediate as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ImmValue {
    /// Integer, or the bit pattern of a 16-bit float.
    Int(i128),
    /// Float.
    Float(f64),
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Access pattern with a static address.
    Physical(PhysicalAp),
    /// Access pattern whose address is affine in the loop axes.
    Symbolic(Box<SymbolicAp>),
    /// Access pattern whose address is in registers.
    RegisterAp(Box<RegisterAp>),
    /// `imm_value`.
    Imm {
        /// Element type.
        dtype: Dtype,
        /// Value.
        value: ImmValue,
        /// Unknown keys.
        extra: Extra,
    },
    /// `symbolic_imm_value`: `value_list[expr]`.
    SymbolicImm {
        /// Element type.
        dtype: Dtype,
        /// Values.
        values: Vec<ImmValue>,
        /// Index.
        expr: Expr,
        /// Unknown keys.
        extra: Extra,
    },
    /// `imm_array`.
    ImmArray {
        /// Element type.
        dtype: Dtype,
        /// Values.
        values: Vec<ImmValue>,
        /// Unknown keys.
        extra: Extra,
    },
    /// `register_access`.
    Register {
        /// Element type.
        dtype: Dtype,
        /// Register name.
        regref: String,
        /// Unknown keys.
        extra: Extra,
    },
}

impl Operand {
    /// Keys that were not understood.
    pub fn extra(&self) -> &Extra {
        match self {
            Operand::Physical(a) => &a.extra,
            Operand::Symbolic(a) => &a.extra,
            Operand::RegisterAp(a) => &a.extra,
            Operand::Imm { extra, .. }
            | Operand::SymbolicImm { extra, .. }
            | Operand::ImmArray { extra, .. }
            | Operand::Register { extra, .. } => extra,
        }
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Operand::Physical(a) => a.dtype,
            Operand::Symbolic(a) => a.dtype,
            Operand::RegisterAp(a) => a.dtype,
            Operand::Imm { dtype, .. }
            | Operand::SymbolicImm { dtype, .. }
            | Operand::ImmArray { dtype, .. }
            | Operand::Register { dtype, .. } => *dtype,
        }
    }

    /// JSON `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Operand::Physical(_) => "physical_ap",
            Operand::Symbolic(a) if a.pwap => "symbolic_pwap",
            Operand::Symbolic(_) => "symbolic_ap",
            Operand::RegisterAp(_) => "register_ap",
            Operand::Imm { .. } => "imm_value",
            Operand::SymbolicImm { .. } => "symbolic_imm_value",
            Operand::ImmArray { .. } => "imm_array",
            Operand::Register { .. } => "register_access",
        }
    }

    /// The pairs, when the operand is an access pattern.
    pub fn ap(&self) -> Option<&[ApPair]> {
        match self {
            Operand::Physical(a) => Some(&a.ap),
            Operand::Symbolic(a) => Some(&a.ap),
            Operand::RegisterAp(a) => Some(&a.ap),
            _ => None,
        }
    }
}
