//! The `.npy` files exchanged with an external kernel. Operands are written as `numpy.save` does; a result may be in any
//! layout that NumPy writes, and in any shape of as many elements.

use crate::{Code, Error, Result};
use birsim_kernels::Dtype;
use birsim_npy::{header_bytes, open};
use std::io::Write;
use std::path::Path;

fn failed(path: &Path, what: impl std::fmt::Display) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Error::new(Code::S019, what.to_string()).at(|p| p.file = Some(name))
}

/// Writes a tensor.
pub(super) fn write(path: &Path, dtype: Dtype, shape: &[u64], bytes: &[u8]) -> Result<()> {
    let attempt = || {
        let mut file = std::fs::File::create(path)?;
        file.write_all(&header_bytes(dtype, shape))?;
        file.write_all(bytes)
    };
    attempt().map_err(|e| failed(path, format!("an operand cannot be written: {e}")))
}

/// Reads a result: as many elements of the same width, in any shape.
pub(super) fn read(path: &Path, dtype: Dtype, elements: usize) -> Result<Vec<u8>> {
    // Whatever is wrong with the file is a fault of the kernel that wrote it.
    let fault = |e: Error| {
        let fault = failed(path, format!("a result cannot be used: {}", e.what()));
        e.received_value().map_or(fault.clone(), |got| fault.received(got))
    };
    let found = std::fs::metadata(path).map_err(|e| failed(path, format!("a result is missing: {e}")))?;
    let file = open(path).map_err(fault)?;
    let header = file.header();
    if !header.element.holds(dtype) {
        return Err(failed(path, format!("a result has another element type than {dtype}"))
            .received(format!("NumPy {}", header.element)));
    }
    let want = (elements * dtype.size()) as u64;
    // NumPy ignores bytes after the data. Here they mean that the kernel wrote something else than the header says.
    let data = found.len().saturating_sub(header.length);
    if (header.bytes, data) != (want, want) {
        return Err(failed(path, format!("a result of {elements} elements of {dtype} has {want} bytes"))
            .received(format!("{data} bytes, shape {:?}", header.shape)));
    }
    file.into_bytes().map_err(fault)
}
