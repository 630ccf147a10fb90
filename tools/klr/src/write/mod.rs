//! Writes KLR files in the head layout.

use crate::ast::{LncKernel, Program};
use crate::codec::Wire;

/// Bytes of a file with the given contents: version 0.0.12, metadata `NKI`, newest record lengths.
pub fn write(program: &Program) -> Vec<u8> {
    let mut w = Writer::default();
    w.tagged(0xd9, 0xf7, 3);
    [0, 0, 12].into_iter().for_each(|n| w.nat(n));
    w.tagged(235, 0, 1);
    w.text("NKI");
    match program {
        Program::Kernel(kernel) => {
            w.tagged(236, 2, 1);
            kernel.write(&mut w);
        }
        Program::Lnc(kernel) => {
            w.tagged(236, 3, 1);
            LncKernel::write(kernel, &mut w);
        }
    }
    w.bytes
}

/// Collects the bytes.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn head(&mut self, major: u8, argument: u64) {
        let top = major << 5;
        let wide = argument.to_be_bytes();
        match argument {
            0..=23 => self.bytes.push(top | argument as u8),
            24..=0xff => self.bytes.extend([top | 24, wide[7]]),
            0x100..=0xffff => {
                self.bytes.push(top | 25);
                self.bytes.extend(&wide[6..]);
            }
            0x1_0000..=0xffff_ffff => {
                self.bytes.push(top | 26);
                self.bytes.extend(&wide[4..]);
            }
            _ => {
                self.bytes.push(top | 27);
                self.bytes.extend(wide);
            }
        }
    }

    pub fn nat(&mut self, value: u64) {
        self.head(0, value);
    }

    pub fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(n) => self.head(0, n),
            // -1 - value is the bitwise complement and cannot overflow.
            Err(_) => self.head(1, !value as u64),
        }
    }

    pub fn int32(&mut self, value: i32) {
        self.int(value.into());
    }

    pub fn boolean(&mut self, value: bool) {
        self.bytes.push(0xf4 | u8::from(value));
    }

    pub fn float32(&mut self, value: f32) {
        self.bytes.push(0xfa);
        self.bytes.extend(value.to_bits().to_be_bytes());
    }

    pub fn text(&mut self, value: &str) {
        self.head(3, value.len() as u64);
        self.bytes.extend(value.as_bytes());
    }

    pub fn list(&mut self, count: usize) {
        self.head(4, count as u64);
    }

    pub fn tagged(&mut self, tag: u8, constructor: u8, fields: usize) {
        self.bytes.extend([0xd9, tag, constructor]);
        self.list(fields);
    }
}
