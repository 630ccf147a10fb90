//! birsim-cli
