//! How values of several ranks become one, as the rules of collectives say it.

use birsim_kernels::alu::AluOp;

/// Folds values in their order: the first seeds. Max and min keep what they have unless the next value is really larger or
/// smaller, so that what they have wins on NaN and on ties.
pub fn fold(op: AluOp, values: impl IntoIterator<Item = f32>) -> Option<f32> {
    values.into_iter().reduce(|acc, x| match op {
        AluOp::Add => acc + x,
        AluOp::Max if x > acc => x,
        AluOp::Min if x < acc => x,
        AluOp::Max | AluOp::Min => acc,
        other => panic!("a collective does not reduce with {other}"),
    })
}
