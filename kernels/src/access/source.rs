//! Operands of kernels that may work in place.

use super::{Dst, Pattern, Src};
use crate::Result;

/// A tensor operand of a kernel that reads every element before it writes the same one.
///
/// Whoever calls the kernel says which of the two cases holds. The kernel cannot mix them up: it has no second view of the
/// destination's bytes.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Memory of its own.
    Apart(Src<'a>),
    /// The elements of the destination, as they are before the instruction writes them.
    Same,
}

impl<'a> Source<'a> {
    /// The operand's elements, while nothing is written.
    #[inline]
    pub fn view<'b>(&'b self, dst: &'b Dst) -> Src<'b> {
        match self {
            Source::Apart(src) => *src,
            Source::Same => dst.as_src(),
        }
    }

    /// The operand, when it has memory of its own: it may then be used while the destination is written.
    #[inline]
    pub fn apart(&self) -> Option<&Src<'a>> {
        match self {
            Source::Apart(src) => Some(src),
            Source::Same => None,
        }
    }

    /// The operand under another pattern. One that is the destination follows the pattern of that.
    pub fn reshaped<'b>(&self, pattern: &'b Pattern) -> Result<Source<'b>>
    where
        'a: 'b,
    {
        match self {
            Source::Apart(src) => src.reshaped(pattern).map(Source::Apart),
            Source::Same => Ok(Source::Same),
        }
    }
}

impl<'a> From<Src<'a>> for Source<'a> {
    fn from(src: Src<'a>) -> Self {
        Source::Apart(src)
    }
}
