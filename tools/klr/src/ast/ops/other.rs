//! Printing and opaque instructions.

use crate::ast::{PrintOutputBuffer, TensorRef};

record! {
    /// Parameters of `extendedInst`.
    ExtendedInst = 210 {
        opcode: u64,
        has_read "hasRead": bool,
        has_write "hasWrite": bool,
        ports: u64,
        data0: Vec<u64>,
        data1: Vec<u64>,
    }
}

record! {
    /// Parameters of `devicePrint`.
    DevicePrint = 215 {
        src: TensorRef,
        print_prefix "printPrefix": String,
        buffer: PrintOutputBuffer,
    }
}
