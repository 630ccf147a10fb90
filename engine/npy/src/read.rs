//! Reading `.npy` files into the bytes of a declared tensor.

use crate::{Element, Header, descr_of};
use birsim_kernels::{Code, Dtype, Error, Named, Result};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// An opened `.npy` file or archive member: header read, data not yet.
pub struct Npy<'a> {
    header: Header,
    data: Box<dyn Read + 'a>,
    /// Bytes that can still come, when known.
    available: Option<u64>,
    /// A member of an archive: its checksum is compared when its end is read. (A pipe's end may never come.)
    member: bool,
    origin: String,
}

/// Opens a `.npy` file and reads its header.
pub fn open(path: &Path) -> Result<Npy<'static>> {
    let origin = path.display().to_string();
    let at = |e: Error| e.at(|p| p.file = Some(origin.clone()));
    let failed = |e: std::io::Error| at(Error::new(Code::F001, format!("cannot read the tensor file: {e}")));
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(at(Error::new(Code::F001, "this is a folder, not a tensor file")));
    }
    // Pipes have no length; what they deliver is checked while reading.
    let length = meta.is_file().then_some(meta.len());
    let mut data = BufReader::with_capacity(1 << 16, file);
    let header = Header::read(&mut data).map_err(at)?;
    let available = length.map(|n| n.saturating_sub(header.length));
    if let Some(got) = available.filter(|n| *n < header.bytes) {
        return Err(at(Error::new(Code::F003, "the .npy file is shorter than its header says")
            .received(format!("{got} bytes of data, shape {:?} needs {}", header.shape, header.bytes))));
    }
    Ok(Npy { header, data: Box::new(data), available, member: false, origin })
}

impl<'a> Npy<'a> {
    /// An array inside something else, such as an archive: its length is not known before its end is read, and its end
    /// is where damage shows.
    pub fn member(mut data: Box<dyn Read + 'a>, origin: String) -> Result<Npy<'a>> {
        let header = Header::read(&mut data).map_err(|e| e.at(|p| p.file = Some(origin.clone())))?;
        Ok(Npy { header, data, available: None, member: true, origin })
    }

    /// What the file says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// File, or archive and member, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The data as the little-endian, row-major bytes of a tensor of this dtype and shape; anything else is refused.
    pub fn into_tensor(self, dtype: Dtype, shape: &[u64]) -> Result<Vec<u8>> {
        let origin = self.origin.clone();
        let refuse = |what: &str, got: String| {
            Err(Error::new(Code::F004, what).received(got).at(|p| p.file = Some(origin.clone())))
        };
        let element = self.header.element;
        if !element.holds(dtype) {
            let descr = descr_of(dtype);
            return refuse(
                &format!("the file's element type does not fit a tensor of type {} (NumPy {descr})", dtype.name()),
                format!("NumPy {element}"),
            );
        }
        if self.header.shape != shape {
            let what = format!("the file's shape does not fit a tensor of shape {}", shape_text(shape));
            return refuse(&what, shape_text(&self.header.shape));
        }
        self.into_bytes()
    }

    /// The data as little-endian, row-major bytes, whatever its type.
    pub fn into_bytes(mut self) -> Result<Vec<u8>> {
        let want = self.header.bytes;
        let at = |e: Error, origin: String| e.at(|p| p.file = Some(origin));
        // A file's length was checked, so the reservation is honest; otherwise memory grows with what really arrives.
        let mut bytes = Vec::new();
        if self.available.is_some() {
            let room = bytes.try_reserve_exact(usize::try_from(want).unwrap_or(usize::MAX));
            if room.is_err() {
                let e = Error::new(Code::F003, "the file does not fit into memory").received(format!("{want} bytes"));
                return Err(at(e, self.origin));
            }
        }
        let got = (&mut self.data).take(want).read_to_end(&mut bytes);
        match got {
            Err(e) => {
                return Err(at(Error::new(Code::F001, format!("reading the tensor file failed: {e}")), self.origin));
            }
            Ok(n) if (n as u64) < want => {
                let e = Error::new(Code::F003, "the .npy data ends early").received(format!("{n} of {want} bytes"));
                return Err(at(e, self.origin));
            }
            Ok(_) => {}
        }
        if self.member
            && let Err(e) = self.data.read(&mut [0])
        {
            return Err(at(Error::new(Code::F003, format!("the archive member is damaged: {e}")), self.origin));
        }
        let Element { big_endian, size, .. } = self.header.element;
        if big_endian {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if self.header.fortran && self.header.shape.len() > 1 {
            bytes = row_major(&bytes, &self.header.shape, size);
        }
        Ok(bytes)
    }
}

/// Column-major to row-major order.
fn row_major(from: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut to = Vec::with_capacity(from.len());
    if from.is_empty() {
        return to;
    }
    // Every dimension divides the data's length here, so it fits usize.
    let dims: Vec<usize> = shape.iter().map(|d| *d as usize).collect();
    let mut strides = Vec::with_capacity(dims.len());
    let mut step = size;
    for d in &dims {
        strides.push(step);
        step *= d;
    }
    let mut index = vec![0usize; dims.len()];
    let mut at = 0usize;
    for _ in 0..from.len() / size {
        to.extend_from_slice(&from[at..at + size]);
        for k in (0..dims.len()).rev() {
            index[k] += 1;
            at += strides[k];
            if index[k] < dims[k] {
                break;
            }
            at -= strides[k] * dims[k];
            index[k] = 0;
        }
    }
    to
}

/// A shape as text, `4 x 8`.
pub fn shape_text(shape: &[u64]) -> String {
    match shape {
        [] => "scalar".to_string(),
        dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
    }
}
