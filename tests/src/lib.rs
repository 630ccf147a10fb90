//! Helpers of the cross-crate tests.

pub mod bug_cases;
pub mod build;
pub mod cases;
pub mod fold;
pub mod fuzz;
pub mod generate;
pub mod interpret;
pub mod klr;
pub mod machine;
pub mod outcome;
