//! Typed reads and writes of lane pieces: gather or run, then the documented conversion.

use super::{Dst, Src};
use crate::cast::{self, Fp8Config};
use crate::{Result, halt};

/// Elements handled per step of a kernel's loop: three fp32 buffers of this length stay in the L1 cache.
pub const CHUNK: usize = 1024;

impl Src<'_> {
    /// Elements `start..` of `lane` as float32 by the cast rules. `out` holds at most [`CHUNK`] elements.
    #[inline]
    pub fn read_f32(&self, lane: usize, start: usize, out: &mut [f32]) {
        self.with_bytes(lane, start, out.len(), |b| cast::decode_f32(self.dtype(), b, out));
    }

    /// Elements as int32 for the bit-vector path (ruling D3).
    #[inline]
    pub fn read_i32(&self, lane: usize, start: usize, out: &mut [i32]) {
        self.with_bytes(lane, start, out.len(), |b| cast::decode_i32(self.dtype(), b, out));
    }

    /// Elements as 64-bit integers for the address path (ruling D3).
    #[inline]
    pub fn read_i64(&self, lane: usize, start: usize, out: &mut [i64]) {
        self.with_bytes(lane, start, out.len(), |b| cast::decode_i64(self.dtype(), b, out));
    }

    /// The bytes of all elements in order.
    pub fn to_dense(&self) -> Vec<u8> {
        let mut out = vec![0; self.len() * self.dtype().size()];
        self.copy_dense(&mut out);
        out
    }

    /// Copies the bytes of all elements in order; `out` has room for them.
    pub fn copy_dense(&self, out: &mut [u8]) {
        let row = self.lane_len() * self.dtype().size();
        if row > 0 {
            out.chunks_exact_mut(row).enumerate().for_each(|(lane, out)| self.gather(lane, 0, out));
        }
    }

    /// Hands the raw bytes of `n` elements, at most [`CHUNK`], to `f`: in place when contiguous, else gathered.
    #[inline]
    pub fn with_bytes<R>(&self, lane: usize, start: usize, n: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        assert!(n <= CHUNK, "more than one chunk requested");
        if let Some(run) = self.run(lane, start, n) {
            return f(run);
        }
        with_buffer(n * self.dtype().size(), |bytes| {
            self.gather(lane, start, bytes);
            f(bytes)
        })
    }
}

impl Dst<'_> {
    /// Writes float32 values through the cast rules with the default FP8 config of `cfg`.
    #[inline]
    pub fn write_f32(&mut self, lane: usize, start: usize, values: &[f32], cfg: Fp8Config) {
        let dtype = self.dtype();
        self.with_bytes_out(lane, start, values.len(), |b| cast::encode_f32(dtype, cfg, values, b));
    }

    /// Writes int32 results of the bit-vector path (ruling D3).
    #[inline]
    pub fn write_i32(&mut self, lane: usize, start: usize, values: &[i32], cfg: Fp8Config) {
        let dtype = self.dtype();
        self.with_bytes_out(lane, start, values.len(), |b| cast::encode_i32(dtype, cfg, values, b));
    }

    /// Writes 64-bit results of the address path (ruling D3).
    #[inline]
    pub fn write_i64(&mut self, lane: usize, start: usize, values: &[i64], cfg: Fp8Config) {
        let dtype = self.dtype();
        self.with_bytes_out(lane, start, values.len(), |b| cast::encode_i64(dtype, cfg, values, b));
    }

    /// Writes all elements from their bytes in order.
    pub fn fill_from_dense(&mut self, bytes: &[u8]) {
        let row = self.lane_len() * self.dtype().size();
        if row > 0 {
            bytes.chunks_exact(row).enumerate().for_each(|(lane, bytes)| self.scatter(lane, 0, bytes));
        }
    }

    /// Lets `f` fill the bytes of `n` elements, at most [`CHUNK`], then stores them.
    #[inline]
    pub fn with_bytes_out<R>(&mut self, lane: usize, start: usize, n: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        assert!(n <= CHUNK, "more than one chunk written");
        if let Some(run) = self.run_mut(lane, start, n) {
            return f(run);
        }
        with_buffer(n * self.dtype().size(), |bytes| {
            let out = f(bytes);
            self.scatter(lane, start, bytes);
            out
        })
    }
}

/// Lends `len` zeroed bytes, aligned to 8, of at most one chunk. The buffer has one of three sizes, because zeroing a large
/// one costs more than a short lane.
#[inline]
fn with_buffer<R>(len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    const SMALL: usize = 16;
    if len <= SMALL * 8 {
        f(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut [0; SMALL])[..len])
    } else if len <= SMALL * 64 {
        f(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut [0; SMALL * 8])[..len])
    } else {
        f(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut [0; CHUNK])[..len])
    }
}

/// Splits a lane into pieces of at most [`CHUNK`] elements.
pub fn chunks(len: usize, f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    pieces(len, CHUNK, f)
}

/// Splits a lane into pieces of at most `size` elements: `f(start, count)`.
pub fn pieces(len: usize, size: usize, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let size = size.max(1);
    let mut at = 0;
    while at < len {
        if at > 0 {
            halt::check()?;
        }
        let n = size.min(len - at);
        f(at, n)?;
        at += n;
    }
    Ok(())
}
