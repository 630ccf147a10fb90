//! DevicePrint (57): the text of a tensor, collected for the caller of the simulator.

use super::fields::own;
use super::{Cx, Want};
use crate::Result;
use crate::ir::DebugBuffer;
use crate::ir::opcodes::params;
use crate::world::{DevicePrint, Diagnostic, Remark};
use birsim_kernels::access::Src;
use birsim_kernels::cast;
use std::fmt::Write;

bind! {
    DevicePrint(own) => device_print,
}

/// Text that one run collects at most; whole tensors may take more.
const MAX_TEXT: usize = 1 << 20;
const MAX_TEXT_WHOLE: usize = 1 << 26;
/// Larger tensors show the first and last rows and columns only.
const WHOLE: usize = 1000;
/// Rows and columns shown at either end.
const EDGE: usize = 3;

/// DevicePrint (57).
pub fn device_print(cx: &mut Cx, own: &params::DevicePrint) -> Result<()> {
    let prefix = &own.prefix;
    let used: usize = cx.m.prints.0.iter().map(|p| p.text.len()).sum();
    let print_all = cx.m.settings.print_all;
    let most = if print_all { MAX_TEXT_WHOLE } else { MAX_TEXT };
    if used >= most {
        let message = format!("DevicePrint text beyond {} MiB is left out", most >> 20);
        cx.m.findings.note(Diagnostic::warning(Remark::PrintCut, message).at(cx.row));
        return Ok(());
    }
    let mut text = String::new();
    let io = cx.open(&[Want::In(0)])?;
    let src = io.ins.src(0)?;
    let dims: Vec<String> = src.pattern().pairs().iter().map(|p| p.num.to_string()).collect();
    let _ = write!(text, "{prefix}{}{} [{}]", if prefix.is_empty() { "" } else { " " }, src.dtype(), dims.join(" x "));
    rows(&src, print_all, most, &mut text);
    drop(io);
    cx.m.prints.0.push(DevicePrint { stderr: own.output_buffer == DebugBuffer::Stderr, text });
    Ok(())
}

/// The indices among `n` that are printed; `None` is the gap between them.
fn shown(n: usize, whole: bool) -> impl Iterator<Item = Option<usize>> {
    let all = whole || n <= 2 * EDGE + 1;
    let head = if all { n } else { EDGE };
    let tail = if all { n } else { n - EDGE };
    (0..head).map(Some).chain((!all).then_some(None)).chain((tail..n).map(Some))
}

fn rows(src: &Src, print_all: bool, most: usize, out: &mut String) {
    let whole = print_all || src.len() <= WHOLE;
    for lane in shown(src.lanes(), whole) {
        out.push_str("\n ");
        if out.len() >= most {
            out.push_str(" ...");
            return;
        }
        let Some(lane) = lane else {
            out.push_str(" ...");
            continue;
        };
        for k in shown(src.lane_len(), whole) {
            out.push(' ');
            match k {
                None => out.push_str("..."),
                Some(k) => element(src, lane, k, out),
            }
        }
    }
}

fn element(src: &Src, lane: usize, k: usize, out: &mut String) {
    let dtype = src.dtype();
    let mut bytes = [0u8; 8];
    src.gather(lane, k, &mut bytes[..dtype.size()]);
    let raw = u64::from_le_bytes(bytes);
    let shift = 64 - 8 * dtype.size() as u32;
    let _ = if dtype.lanes() > 1 {
        write!(out, "0x{raw:0width$x}", width = 2 * dtype.size())
    } else if dtype.is_integer() && dtype.is_signed() {
        write!(out, "{}", ((raw << shift) as i64) >> shift)
    } else if dtype.is_integer() {
        write!(out, "{raw}")
    } else {
        let mut one = [0f32];
        cast::decode_f32(dtype, &bytes[..dtype.size()], &mut one);
        write!(out, "{}", one[0])
    };
}
