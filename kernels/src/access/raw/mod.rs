//! The one place where patterns meet raw memory. Everything outside of this folder reads and writes through its types.
//!
//! Three facts make the pointer arithmetic here sound, and each is established in one function:
//! - Every byte that a pattern addresses is in the memory of its view: `View::check` compares their extents once, when
//!   the view is built.
//! - Nobody else writes what a [`Src`] reads, and nobody else touches what a [`Dst`] writes: the views borrow their bytes,
//!   or the caller of `from_raw` promises it.
//! - Parts of a `Dst` have no byte in common: `Dst::split_at` demands a pattern whose lanes do not overlap, and a part
//!   refuses the lanes of others.
//!
//! The following programs used to compile, and read or wrote the same byte through two references.
//!
//! A result of a read that is still in use after a write:
//! ```compile_fail,E0502
//! # use birsim_kernels::{Dtype, access::{Dst, Pattern}};
//! let (pattern, mut bytes) = (Pattern::dense(Dtype::Uint8, &[1, 4]).unwrap(), [0; 4]);
//! let mut dst = Dst::new(&mut bytes, &pattern).unwrap();
//! let old = dst.as_src().run(0, 0, 4).unwrap();
//! dst.scatter(0, 0, &[1; 4]);
//! assert_eq!(old[0], 0);
//! ```
//!
//! Two open slices of one lane:
//! ```compile_fail,E0499
//! # use birsim_kernels::{Dtype, access::{Dst, Pattern}};
//! let (pattern, mut bytes) = (Pattern::dense(Dtype::Uint8, &[1, 4]).unwrap(), [0; 4]);
//! let mut dst = Dst::new(&mut bytes, &pattern).unwrap();
//! dst.with_bytes_out(0, 0, 4, |a| {
//!     dst.with_bytes_out(0, 0, 4, |b| b[0] = 1);
//!     a[0] += 1;
//! });
//! ```
//!
//! Two threads that write through one shared view:
//! ```compile_fail,E0596
//! # use birsim_kernels::{Dtype, access::{Dst, Pattern}};
//! fn race(dst: &Dst) {
//!     dst.scatter(0, 0, &[1; 4]);
//! }
//! ```
//! ```compile_fail,E0277
//! # use birsim_kernels::access::Dst;
//! fn shared<T: Sync>() {}
//! shared::<Dst>();
//! ```
//!
//! What they need is written so:
//! ```
//! # use birsim_kernels::{Dtype, access::{Dst, Pattern}};
//! let (pattern, mut bytes) = (Pattern::dense(Dtype::Uint8, &[2, 4]).unwrap(), [0; 8]);
//! let mut dst = Dst::new(&mut bytes, &pattern).unwrap();
//! let old = dst.as_src().run(0, 0, 4).unwrap()[0];
//! dst.scatter(0, 0, &[old + 1; 4]);
//! let (mut a, mut b) = dst.split_at(1);
//! std::thread::scope(|s| {
//!     s.spawn(move || a.scatter(0, 1, &[7]));
//!     s.spawn(move || b.scatter(1, 0, &[8; 4]));
//! });
//! assert_eq!(bytes, [1, 7, 1, 1, 8, 8, 8, 8]);
//! ```

mod rows;
#[cfg(test)]
mod tests;
mod transposed;
mod view;
mod walk;
mod window;

pub use rows::{Rows, RowsMut};
pub(crate) use transposed::copy_across;
pub use view::{Dst, Read, Src, View, Write};
pub use window::{Window, WindowMut};
