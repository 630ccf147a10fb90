//! Printing (`klr.md` 5.9).

use crate::ast::{DevicePrint, PrintOutputBuffer};
use crate::lower::context::Core;
use birsim_ir::{DebugBuffer, Engine, Instruction, Opcode, Value};
use birsim_kernels::Result;

/// Prints a tensor.
pub fn device_print(cx: &mut Core<'_>, p: &DevicePrint) -> Result<Instruction> {
    let buffer = match p.buffer {
        PrintOutputBuffer::Stdout => DebugBuffer::Stdout,
        PrintOutputBuffer::Stderr => DebugBuffer::Stderr,
    };
    let mut inst = cx.inst("DevicePrint-", Opcode::DevicePrint, Engine::Pool);
    inst.ins.push(cx.ap(&p.src)?);
    Ok(inst.with("prefix", p.print_prefix.as_str()).with("output_buffer", Value::named(buffer)))
}
