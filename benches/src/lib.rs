//! Programs that benchmarks and schedule tests generate.

pub mod programs;
