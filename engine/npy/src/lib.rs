//! NumPy files. The element type of a tensor comes from its declaration in the program, never from the file: NumPy has no
//! name for most of the narrow types, so the file's descriptor is only checked for compatibility.
//!
//! A guard of our own checks a header before npyz reads it, because npyz's parser recurses once per bracket and multiplies
//! dimensions without a check. Data are moved as bytes: reading raw types element by element would cost an allocation each.

mod element;
mod guard;
mod header;
mod read;

pub use element::{Element, descr_of, native_kind};
pub use header::{Header, header_bytes};
pub use read::{Npy, open, shape_text};

/// First bytes of every `.npy` file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
