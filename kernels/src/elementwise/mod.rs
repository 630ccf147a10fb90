//! Element-wise kernels: TensorScalar (28), TensorScalarPtr (29), TensorTensor (31) (`alu.md` 6.1, 6.2, 6.6).
//!
//! A source has memory of its own or is the destination itself ([`crate::access::Source`]); anything else the caller
//! copies first.

mod lane_loop;
mod native;
mod normalise;
mod number;
mod numeric_path;
mod tensor_scalar;
mod tensor_tensor;
pub(crate) mod through_f32;

pub(crate) use normalise::normalise;
pub(crate) use number::Number;
pub(crate) use numeric_path::{AddressResult, clamp_int, int_range};
pub use numeric_path::{NumericPath, tensor_reduce_path, tensor_tensor_path};
pub use tensor_scalar::{TensorScalar, TensorScalarPtr, scalar_tensor_tensor, tensor_scalar, tensor_scalar_ptr};
pub use tensor_tensor::{TensorTensor, tensor_tensor};
