//! Views over plain vectors for the kernel tests.
#![allow(dead_code)]

use birsim_kernels::Dtype;
use birsim_kernels::access::{Dst, Pair, Pattern, Src};

/// A pattern that lives as long as the test.
pub fn keep(pattern: Pattern) -> &'static Pattern {
    Box::leak(Box::new(pattern))
}

/// A little-endian tensor that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: Dtype,
    pub shape: Vec<u32>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn of<T: bytemuck::NoUninit>(dtype: Dtype, shape: &[u32], values: &[T]) -> Tensor {
        let bytes = bytemuck::cast_slice(values).to_vec();
        assert_eq!(bytes.len(), shape.iter().product::<u32>() as usize * dtype.size());
        Tensor { dtype, shape: shape.to_vec(), bytes }
    }

    pub fn f32(shape: &[u32], values: &[f32]) -> Tensor {
        Tensor::of(Dtype::Float32, shape, values)
    }

    pub fn i32(shape: &[u32], values: &[i32]) -> Tensor {
        Tensor::of(Dtype::Int32, shape, values)
    }

    pub fn filled(dtype: Dtype, shape: &[u32], byte: u8) -> Tensor {
        let bytes = vec![byte; shape.iter().product::<u32>() as usize * dtype.size()];
        Tensor { dtype, shape: shape.to_vec(), bytes }
    }

    pub fn pattern(&self) -> Pattern {
        Pattern::dense(self.dtype, &self.shape).unwrap()
    }

    pub fn src(&self) -> Src<'_> {
        Src::new(&self.bytes, keep(self.pattern())).unwrap()
    }

    pub fn dst(&mut self) -> Dst<'_> {
        let pattern = self.pattern();
        Dst::new(&mut self.bytes, keep(pattern)).unwrap()
    }

    pub fn src_at(&self, base: i64, pairs: &[(i64, u32)]) -> Src<'_> {
        Src::new(&self.bytes, keep(strided(self.dtype, base, pairs))).unwrap()
    }

    pub fn dst_at(&mut self, base: i64, pairs: &[(i64, u32)]) -> Dst<'_> {
        let pattern = strided(self.dtype, base, pairs);
        Dst::new(&mut self.bytes, keep(pattern)).unwrap()
    }

    pub fn values<T: bytemuck::AnyBitPattern>(&self) -> Vec<T> {
        self.bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }
}

/// A pattern with steps and offset in elements.
pub fn strided(dtype: Dtype, base: i64, pairs: &[(i64, u32)]) -> Pattern {
    let size = dtype.size() as i64;
    let pairs: Vec<Pair> = pairs.iter().map(|(step, num)| Pair { stride: step * size, num: *num }).collect();
    Pattern::new(dtype, base * size, &pairs).unwrap()
}
