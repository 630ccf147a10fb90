//! birsim-benches
