//! What one running instruction keeps for its own later steps.

use birsim_kernels::access::Pattern;

/// A dynamic operand of the running instruction.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Operand, counted over ins, outs, indirection_ins.
    pub operand: usize,
    /// Location.
    pub loc: u32,
    /// Pattern.
    pub pattern: Pattern,
}

/// Bytes of a table that an index chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// Operand, counted over ins, outs, indirection_ins.
    pub operand: usize,
    /// First arena byte.
    pub lo: usize,
    /// End.
    pub hi: usize,
}
