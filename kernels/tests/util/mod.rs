//! Dense tensors for the kernel tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod patterns;

use birsim_kernels::access::{Dst, Pattern, Src};
use birsim_kernels::cast::{Fp8Config, decode_f32, encode_f32};
use birsim_kernels::{Dtype, Result};

/// A pattern that lives as long as the test.
pub fn keep(pattern: Pattern) -> &'static Pattern {
    Box::leak(Box::new(pattern))
}

/// A dense tensor of `nums`, partitions first.
pub struct Tensor {
    pub dtype: Dtype,
    pub nums: Vec<u32>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn zeros(dtype: Dtype, nums: &[u32]) -> Self {
        let n: u32 = nums.iter().product();
        Tensor { dtype, nums: nums.to_vec(), bytes: vec![0; n as usize * dtype.size()] }
    }

    /// Values through the cast rules.
    pub fn of(dtype: Dtype, nums: &[u32], values: &[f32]) -> Self {
        let mut out = Tensor::zeros(dtype, nums);
        assert_eq!(out.bytes.len(), values.len() * dtype.size());
        encode_f32(dtype, Fp8Config::DEFAULT, values, &mut out.bytes);
        out
    }

    pub fn f32(nums: &[u32], values: &[f32]) -> Self {
        Tensor::of(Dtype::Float32, nums, values)
    }

    pub fn i32(nums: &[u32], values: &[i32]) -> Self {
        Tensor { dtype: Dtype::Int32, nums: nums.to_vec(), bytes: bytemuck::cast_slice(values).to_vec() }
    }

    pub fn i64(nums: &[u32], values: &[i64]) -> Self {
        Tensor { dtype: Dtype::Int64, nums: nums.to_vec(), bytes: bytemuck::cast_slice(values).to_vec() }
    }

    pub fn pattern(&self) -> Pattern {
        Pattern::dense(self.dtype, &self.nums).unwrap()
    }

    pub fn src(&self) -> Src<'_> {
        Src::new(&self.bytes, keep(self.pattern())).unwrap()
    }

    pub fn dst(&mut self) -> Dst<'_> {
        let pattern = self.pattern();
        Dst::new(&mut self.bytes, keep(pattern)).unwrap()
    }

    /// Runs `f` on the whole tensor as destination.
    pub fn write(&mut self, f: impl FnOnce(&mut Dst) -> Result<()>) -> Result<&mut Self> {
        f(&mut self.dst())?;
        Ok(self)
    }

    pub fn values(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.bytes.len() / self.dtype.size()];
        decode_f32(self.dtype, &self.bytes, &mut out);
        out
    }

    pub fn bits(&self) -> Vec<u32> {
        self.values().iter().map(|v| v.to_bits()).collect()
    }

    pub fn ints(&self) -> Vec<i32> {
        self.bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
    }

    pub fn longs(&self) -> Vec<i64> {
        self.bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect()
    }
}

/// A small generator with a printable seed.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Numbers of both signs with a few fractional bits.
    pub fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.below(4001) as f32 / 16.0 - 125.0).collect()
    }
}
