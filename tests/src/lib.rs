//! birsim-tests
