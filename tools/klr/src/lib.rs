//! birsim-klr
