//! NumPy files. The element type of a tensor comes from its declaration in the program, never from the file: NumPy has no
//! name for most of the narrow types, so the file's descriptor is only checked for compatibility.

mod element;
mod header;
mod name;
mod npz;
mod read;
mod write;

pub use element::Element;
pub use header::Header;
pub use name::{decode_name, encode_name};
pub use npz::Archive;
pub(crate) use read::shape_text;
pub use read::{Npy, dtype_of, meta_dtype, open};
pub use write::{descr_of, write_atomic, write_npy, write_tensor};

/// First bytes of every `.npy` file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
