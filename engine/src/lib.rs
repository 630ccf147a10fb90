//! birsim-engine
