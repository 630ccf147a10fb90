//! Pool (20), `alu.md` 6.5: the two innermost dimensions of the input are the window.

use crate::access::{CHUNK, Dst, Src};
use crate::cast::{check_cast, check_unpacked};
use crate::profile::{PoolAverage, PoolOrder};
use crate::{Code, Dtype, Error, Profile, Result, halt};

crate::named_enum! {
    /// What a pooling window is reduced to.
    PoolFunctionType {
        Max = 0, "Max";
        Avg = 1, "Avg";
    }
    aliases { "Average" => 1 }
}

/// One result per window, in float32. A window over the partition pair (an input of two pairs) covers everything.
pub fn pool(func: PoolFunctionType, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_unpacked(src.dtype())?;
    check_unpacked(dst.dtype())?;
    check_cast(Dtype::Float32, dst.dtype(), profile)?;
    let pairs = src.pattern().pairs();
    let Some(outer) = pairs.len().checked_sub(2) else {
        return Err(Error::new(Code::S008, "the input of a pool has two window dimensions").received(pairs.len()));
    };
    let flat = (outer == 0).then(|| src.pattern().flat());
    let src = flat.as_ref().map_or(Ok(*src), |flat| src.reshaped(flat))?;
    let window: usize = pairs[outer..].iter().map(|p| p.num as usize).product();
    let lanes = if outer == 0 { 1 } else { src.lanes() };
    let per_lane: usize = pairs[..outer].iter().skip(1).map(|p| p.num as usize).product();
    if (dst.lanes(), dst.lane_len()) != (lanes, per_lane) && !(dst.is_empty() && lanes * per_lane == 0) {
        return Err(Error::new(Code::S002, "a pool writes one element per window").received(format!(
            "{} partitions of {} elements for {lanes} of {per_lane} windows",
            dst.lanes(),
            dst.lane_len()
        )));
    }
    if dst.is_empty() {
        return Ok(());
    }
    if window == 0 {
        return Err(Error::new(Code::S008, "a pooling window needs at least one element"));
    }
    dst.for_lane_ranges(src.len(), |dst, range| {
        let (mut data, mut out) = ([0f32; CHUNK], [0f32; CHUNK]);
        for lane in range {
            let mut row = 0;
            while row < per_lane {
                halt::check()?;
                let count = (CHUNK / window).max(1).min(per_lane - row);
                if window <= CHUNK {
                    let data = &mut data[..count * window];
                    src.read_f32(lane, row * window, data);
                    for (o, w) in out.iter_mut().zip(data.chunks_exact(window)) {
                        let mut acc = Window::new(func);
                        acc.extend(w);
                        *o = acc.finish(window, profile);
                    }
                } else {
                    let mut acc = Window::new(func);
                    let mut at = 0;
                    while at < window {
                        halt::check()?;
                        let n = CHUNK.min(window - at);
                        src.read_f32(lane, row * window + at, &mut data[..n]);
                        acc.extend(&data[..n]);
                        at += n;
                    }
                    out[0] = acc.finish(window, profile);
                }
                dst.write_f32(lane, row, &out[..count], profile.fp8());
                row += count;
            }
        }
        Ok(())
    })
}

/// A window in progress. All pieces but the last have a multiple of four elements.
enum Window {
    Max(f32),
    Avg { lanes: [f32; 4], tail: [f32; 3], tail_len: usize },
}

impl Window {
    fn new(func: PoolFunctionType) -> Self {
        match func {
            PoolFunctionType::Max => Window::Max(-f32::MAX),
            PoolFunctionType::Avg => Window::Avg { lanes: [0.0; 4], tail: [0.0; 3], tail_len: 0 },
        }
    }

    fn extend(&mut self, values: &[f32]) {
        match self {
            // As C fmaxf: a NaN is ignored, so the accumulator never becomes one.
            Window::Max(acc) => *acc = values.iter().fold(*acc, |a, x| if *x > a { *x } else { a }),
            Window::Avg { lanes, tail, tail_len } => {
                let (quads, rest) = values.as_chunks::<4>();
                for q in quads {
                    for (l, x) in lanes.iter_mut().zip(q) {
                        *l += x;
                    }
                }
                for (t, x) in tail.iter_mut().zip(rest) {
                    *t = *x;
                }
                *tail_len = rest.len();
            }
        }
    }

    fn finish(self, window: usize, profile: &Profile) -> f32 {
        match self {
            Window::Max(acc) => acc,
            Window::Avg { lanes, tail, tail_len } => average(lanes, &tail[..tail_len], window, profile),
        }
    }
}

/// Ruling D25: four partial sums, (s0 + s2) + (s1 + s3), the tail in order, times the double 1 / N, narrowed once.
fn average(s: [f32; 4], tail: &[f32], window: usize, profile: &Profile) -> f32 {
    let quads = match profile.pool_order {
        PoolOrder::Halves => (s[0] + s[2]) + (s[1] + s[3]),
        PoolOrder::Pairs => (s[0] + s[1]) + (s[2] + s[3]),
    };
    let sum = tail.iter().fold(quads, |a, x| a + x);
    match profile.pool_average {
        PoolAverage::ReciprocalF64 => (f64::from(sum) * (1.0 / window as f64)) as f32,
        PoolAverage::ReciprocalF32 => sum * (1.0 / window as f64) as f32,
        PoolAverage::Divide => sum / window as f32,
    }
}
