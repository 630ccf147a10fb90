//! What benchmarks share: programs that they (and schedule tests) generate, and the NumPy side.

pub mod numpy;
pub mod programs;
