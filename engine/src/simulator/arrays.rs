//! Tensors as `ndarray` arrays: typed views go in, typed arrays come out.
//!
//! Only element types that Rust has by itself or from `half` are offered; the others go as bytes.

use super::Simulator;
use crate::sim::TensorInfo;
use crate::{Code, Cores, Error, Result};
use birsim_kernels::Dtype;
use bytemuck::Pod;
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayView, Dimension, IxDyn};

/// A Rust type that is the element of a tensor.
pub trait Scalar: Pod {
    /// The dtypes whose elements this type holds, bit for bit.
    const DTYPES: &'static [Dtype];
}

macro_rules! scalars {
    ($($ty:ty: $($dtype:ident)+;)*) => {
        $(impl Scalar for $ty {
            const DTYPES: &'static [Dtype] = &[$(Dtype::$dtype),+];
        })*
    };
}

scalars! {
    f32: Float32 Float32r;
    f16: Float16;
    bf16: Bfloat16;
    u8: Uint8;
    i8: Int8;
    u16: Uint16;
    i16: Int16;
    u32: Uint32;
    i32: Int32;
    u64: Uint64;
    i64: Int64;
}

impl Simulator {
    /// Binds an input to an array of its element type and shape, in any memory layout.
    pub fn bind_array<T: Scalar, D: Dimension>(&mut self, name: &str, array: ArrayView<'_, T, D>) -> Result<()> {
        let bytes = bytes_of(self.tensors(), name, array)?;
        self.bind(name, &bytes)
    }

    /// A tensor after the run, in its declared shape.
    pub fn output_array<T: Scalar>(&mut self, name: &str) -> Result<ArrayD<T>> {
        let shape = shape_of::<T>(self.tensors(), name)?;
        array_of(name, shape, &self.output(name)?)
    }
}

impl Cores {
    /// Binds an input of every core that has it; see [`Simulator::bind_array`].
    pub fn bind_array<T: Scalar, D: Dimension>(&mut self, name: &str, array: ArrayView<'_, T, D>) -> Result<()> {
        let bytes = bytes_of(&self.tensors(), name, array)?;
        self.bind(name, &bytes)
    }

    /// A tensor after the run; see [`Simulator::output_array`].
    pub fn output_array<T: Scalar>(&mut self, name: &str) -> Result<ArrayD<T>> {
        let shape = shape_of::<T>(&self.tensors(), name)?;
        array_of(name, shape, &self.output(name)?)
    }
}

/// The declared shape of a tensor whose elements are of type `T`.
fn shape_of<T: Scalar>(tensors: &[TensorInfo], name: &str) -> Result<Vec<usize>> {
    let info = tensors.iter().find(|t| t.name == name).ok_or_else(|| {
        Error::new(Code::F006, "the program has no tensor of this name").received(format!("'{name}'"))
    })?;
    if !T::DTYPES.contains(&info.dtype) {
        return Err(Error::new(Code::F004, format!("elements of {name} are {}", info.dtype))
            .received(std::any::type_name::<T>())
            .at(|p| p.tensor = Some(name.to_owned())));
    }
    let shape: Option<Vec<usize>> = info.shape.iter().map(|d| usize::try_from(*d).ok()).collect();
    shape.ok_or_else(|| {
        Error::new(Code::F004, "the shape does not fit this machine").received(format!("{:?}", info.shape))
    })
}

fn bytes_of<T: Scalar, D: Dimension>(
    tensors: &[TensorInfo],
    name: &str,
    array: ArrayView<'_, T, D>,
) -> Result<Vec<u8>> {
    let shape = shape_of::<T>(tensors, name)?;
    if array.shape() != shape {
        return Err(Error::new(Code::F004, format!("the shape of {name} is {shape:?}"))
            .received(format!("{:?}", array.shape()))
            .at(|p| p.tensor = Some(name.to_owned())));
    }
    Ok(match array.as_slice() {
        Some(elements) => bytemuck::cast_slice(elements).to_vec(),
        None => array.iter().flat_map(|x| bytemuck::bytes_of(x).iter().copied()).collect(),
    })
}

fn array_of<T: Scalar>(name: &str, shape: Vec<usize>, bytes: &[u8]) -> Result<ArrayD<T>> {
    let wrong = |text: String| {
        Error::new(Code::F004, format!("the memory of {name} does not hold its declared shape"))
            .received(text)
            .at(|p| p.tensor = Some(name.to_owned()))
    };
    // The bytes start at any address; elements of an array must be aligned.
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    let whole = elements.len() * size_of::<T>();
    bytemuck::cast_slice_mut::<T, u8>(&mut elements).copy_from_slice(&bytes[..whole]);
    ArrayD::from_shape_vec(IxDyn(&shape), elements)
        .map_err(|e| wrong(format!("{} bytes, shape {shape:?}: {e}", bytes.len())))
}
