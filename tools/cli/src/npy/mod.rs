//! Tensor files of the command line: `.npy` files and their side files, `.npz` archives, names of files.

mod meta;
mod name;
mod npz;
mod write;

pub use birsim_npy::{Element, Header, Npy, descr_of, open, shape_text};
pub use meta::{dtype_of, meta_dtype};
pub use name::{decode_name, encode_name};
pub use npz::Archive;
pub use write::{temporary, write_atomic, write_npy, write_tensor};
