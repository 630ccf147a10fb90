//! Dense tensors that a case owns.

use birsim_kernels::access::{Dst, Pair, Pattern, Src};
use birsim_kernels::cast::{Fp8Config, encode_f32};
use birsim_kernels::{Dtype, Result};
use memmap2::MmapMut;

/// Partitions and elements per partition.
pub const SHAPE: [u32; 2] = [128, 8192];

/// Size of a huge page.
const HUGE: usize = 2 << 20;

/// A dense tensor.
pub struct Tensor {
    /// Element type.
    pub dtype: Dtype,
    pattern: Pattern,
    map: MmapMut,
    start: usize,
    bytes: usize,
}

impl Tensor {
    /// All bytes zero, in huge pages where the system has them: NumPy asks for them too.
    pub fn zeros(dtype: Dtype, nums: &[u32]) -> Self {
        let bytes = nums.iter().product::<u32>() as usize * dtype.size();
        let map = MmapMut::map_anon(bytes + HUGE).expect("memory for a tensor");
        #[cfg(target_os = "linux")]
        // Without them the numbers are a little worse, that is all.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().align_offset(HUGE);
        Tensor { dtype, pattern: dense(dtype, nums), map, start, bytes }
    }

    /// Values between `low` and 4.
    pub fn from(dtype: Dtype, low: f32, nums: &[u32]) -> Self {
        let mut out = Tensor::zeros(dtype, nums);
        let mut state = 1u64;
        let values: Vec<f32> = (0..nums.iter().product())
            .map(|_: u32| low + (4.0 - low) * (draw(&mut state) as f32 / 4294967296.0))
            .collect();
        encode_f32(dtype, Fp8Config::DEFAULT, &values, out.bytes());
        out
    }

    /// Values of both signs.
    pub fn random(dtype: Dtype) -> Self {
        Tensor::from(dtype, -4.0, &SHAPE)
    }

    /// Integers below `high`.
    pub fn ints(high: u32, nums: &[u32]) -> Self {
        let mut out = Tensor::zeros(Dtype::Int32, nums);
        let mut state = 2u64;
        for e in out.bytes().chunks_exact_mut(4) {
            e.copy_from_slice(&(draw(&mut state) % high).to_le_bytes());
        }
        out
    }

    /// The same bytes in another shape of equal size.
    pub fn shaped(mut self, nums: &[u32]) -> Self {
        self.pattern = dense(self.dtype, nums);
        self
    }

    /// The first `n` elements of every row: a tile whose lanes are far apart, as in a partitioned memory.
    pub fn tile(mut self, n: u32) -> Self {
        let [rows, columns] = self.pattern.pairs() else { return self };
        let pairs = [*rows, Pair { stride: columns.stride, num: n }];
        self.pattern = self.pattern.with_pairs(&pairs).expect("part of a dense pattern");
        self
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.map[self.start..][..self.bytes]
    }

    /// Read view.
    pub fn src(&self) -> Result<Src<'_>> {
        Src::new(&self.map[self.start..][..self.bytes], &self.pattern)
    }

    /// Write view.
    pub fn dst(&mut self) -> Result<Dst<'_>> {
        Dst::new(&mut self.map[self.start..][..self.bytes], &self.pattern)
    }
}

fn dense(dtype: Dtype, nums: &[u32]) -> Pattern {
    Pattern::dense(dtype, nums).expect("a dense pattern")
}

fn draw(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 32) as u32
}
