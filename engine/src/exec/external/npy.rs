//! The `.npy` files exchanged with an external kernel: plain, row-major, little-endian.

use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use std::io::Read;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read.
const MAX_HEADER: usize = 1 << 16;

/// NumPy's descriptor of a dtype; raw bits where NumPy has no name.
fn descr(dtype: Dtype) -> String {
    let size = dtype.size();
    let order = if size == 1 { '|' } else { '<' };
    match dtype {
        Dtype::Float16 | Dtype::Float32 | Dtype::Float32r => format!("{order}f{size}"),
        d if d.is_integer() => format!("{order}{}{size}", if d.is_signed() { 'i' } else { 'u' }),
        _ => format!("|V{size}"),
    }
}

fn failed(path: &Path, what: impl std::fmt::Display) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Error::new(Code::S019, what.to_string()).at(|p| p.file = Some(name))
}

/// Writes a tensor.
pub(super) fn write(path: &Path, dtype: Dtype, shape: &[u64], bytes: &[u8]) -> Result<()> {
    let dims: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let dims = if shape.len() > 1 { dims.trim_end_matches(", ") } else { dims.trim_end() };
    let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}", descr(dtype));
    let total = (10 + text.len() + 1).next_multiple_of(64);
    let mut out = Vec::with_capacity(total + bytes.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&((total - 10) as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out.extend_from_slice(bytes);
    std::fs::write(path, out).map_err(|e| failed(path, format!("an operand cannot be written: {e}")))
}

/// Reads a result: as many elements of the same width, in any shape.
pub(super) fn read(path: &Path, dtype: Dtype, elements: usize) -> Result<Vec<u8>> {
    let mut file = std::fs::File::open(path).map_err(|e| failed(path, format!("a result is missing: {e}")))?;
    let malformed = || failed(path, "a result is no .npy file in row-major order");
    let mut start = [0u8; 8];
    file.read_exact(&mut start).map_err(|_| malformed())?;
    let mut length = [0u8; 4];
    let counted = if start[6] == 1 { 2 } else { 4 };
    file.read_exact(&mut length[..counted]).map_err(|_| malformed())?;
    let length = u32::from_le_bytes(length) as usize;
    if &start[..6] != MAGIC || length > MAX_HEADER {
        return Err(malformed());
    }
    let mut header = vec![0; length];
    file.read_exact(&mut header).map_err(|_| malformed())?;
    let header: String = String::from_utf8_lossy(&header).split_whitespace().collect();
    // The data decide about the shape: only type and order are taken from the header.
    let own = descr(dtype);
    let raw = [format!("V{}", dtype.size()), format!("u{}", dtype.size())];
    let found = header.split("'descr':'").nth(1).and_then(|r| r.split('\'').next()).ok_or_else(malformed)?;
    let bare = found.trim_start_matches(['<', '|', '=']);
    let fits = own.trim_start_matches(['<', '|']) == bare || (own.contains('V') && raw.iter().any(|r| r == bare));
    if !header.contains("'fortran_order':False") || !fits {
        return Err(failed(path, "a result has the wrong element type or order").received(found.to_string()));
    }
    let want = elements * dtype.size();
    let mut bytes = Vec::with_capacity(want.min(1 << 20));
    file.take(want as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| failed(path, format!("a result cannot be read: {e}")))?;
    if bytes.len() != want {
        let got = if bytes.len() > want { format!("more than {want} bytes") } else { format!("{} bytes", bytes.len()) };
        return Err(failed(path, format!("a result of {elements} elements of {dtype} has {want} bytes")).received(got));
    }
    Ok(bytes)
}
