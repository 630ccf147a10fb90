//! Helpers of the cross-crate tests.

pub mod cases;
pub mod klr;
