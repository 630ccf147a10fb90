//! BIR-JSON.
