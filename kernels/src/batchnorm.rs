//! Batch normalisation: BNStats (34), BNStatsAggregate (35), BNGradients (36), BNBackprop (37), BNBackprop2 (38).
//!
//! Everything is float32 with one rounding per operation, in element order (`opcodes.md` 6).

use crate::access::{CHUNK, Dst, Src, chunks};
use crate::cast;
use crate::{Code, Dtype, Error, Profile, Result, halt};

/// Fields of BNStats.
#[derive(Clone, Copy, Debug, Default)]
pub struct BnStats {
    /// Swaps partition and element inside every 32 x 32 tile first.
    pub apply_transpose: bool,
}

/// BNStats (34): per lane \[count, mean, M2\] of the even and of the odd elements; M2 = sum of squared deviations.
///
/// Both halves are weighted by one running count, which grows at every even element (ruling D29).
pub fn bn_stats(p: &BnStats, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    shapes("x", src, dst.lanes(), src.lane_len())?;
    writes(dst, 6, profile)?;
    let len = src.lane_len();
    let transpose = p.apply_transpose && len != 1;
    if transpose && !(src.lanes().is_multiple_of(32) && len.is_multiple_of(32)) {
        return Err(Error::new(Code::S008, "apply_transpose works on whole tiles of 32 partitions x 32 elements")
            .received(format!("{} x {len}", src.lanes())));
    }
    let read = |lane: usize, at: usize, out: &mut [f32]| {
        if transpose { read_transposed(src, lane, at, out) } else { src.read_f32(lane, at, out) }
    };
    dst.for_lane_groups(TOGETHER, src.len(), |dst, mut groups| {
        groups.try_for_each(|group| {
            let first = group * TOGETHER;
            let lanes = TOGETHER.min(dst.lanes() - first);
            // For each partition: [mean, M2] of the even and the odd half.
            let (mut mean, mut m2) = ([[0.0f32; 2]; TOGETHER], [[0.0f32; 2]; TOGETHER]);
            let mut bufs = [[0.0f32; CHUNK]; TOGETHER];
            let mut n = 0.0f32;
            chunks(len, |at, count| {
                for (i, buf) in bufs[..lanes].iter_mut().enumerate() {
                    read(first + i, at, &mut buf[..count]);
                }
                // All pieces but the last have an even length, so no pair is split between two pieces.
                for at in 0..count / 2 {
                    n += 1.0;
                    let x = std::array::from_fn(|l| [bufs[l][2 * at], bufs[l][2 * at + 1]]);
                    welford(1.0 / n, &x, &mut mean, &mut m2);
                }
                if count % 2 == 1 {
                    n += 1.0;
                    // The lane has no odd element left, so the odd half keeps its state.
                    let odd = (mean, m2);
                    let x = std::array::from_fn(|l| [bufs[l][count - 1], 0.0]);
                    welford(1.0 / n, &x, &mut mean, &mut m2);
                    for l in 0..TOGETHER {
                        (mean[l][1], m2[l][1]) = (odd.0[l][1], odd.1[l][1]);
                    }
                }
                Ok(())
            })?;
            for l in 0..lanes {
                let counts = [len.div_ceil(2) as f32, (len / 2) as f32];
                let out = [counts[0], mean[l][0], m2[l][0], counts[1], mean[l][1], m2[l][1]];
                dst.write_f32(first + l, 0, &out, profile.fp8());
            }
            Ok(())
        })
    })
}

/// Partitions whose recurrences run side by side; a single one would wait for its own last result at every step.
const TOGETHER: usize = 8;

/// One step of the recurrence for both halves of several partitions.
#[inline(always)]
fn welford(r: f32, x: &[[f32; 2]; TOGETHER], mean: &mut [[f32; 2]; TOGETHER], m2: &mut [[f32; 2]; TOGETHER]) {
    for l in 0..TOGETHER {
        for h in 0..2 {
            let old = mean[l][h];
            let new = (1.0 - r) * old + r * x[l][h];
            mean[l][h] = new;
            m2[l][h] += (x[l][h] - new) * (x[l][h] - old);
        }
    }
}

/// Elements `at..` of `lane` after the tile transposition. `at` is a multiple of 32.
fn read_transposed(src: &Src, lane: usize, at: usize, out: &mut [f32]) {
    for (i, v) in out.iter_mut().enumerate() {
        let e = at + i;
        src.read_f32((lane & !31) | (e & 31), (e & !31) | (lane & 31), std::slice::from_mut(v));
    }
}

/// BNStatsAggregate (35): merges \[count, mean, M2\] triples into \[mean, population variance\].
pub fn bn_stats_aggregate(src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    shapes("statistics", src, dst.lanes(), src.lane_len())?;
    writes(dst, 2, profile)?;
    if !src.lane_len().is_multiple_of(6) {
        return Err(
            Error::new(Code::S002, "statistics come in pairs of triples: six values each").received(src.lane_len())
        );
    }
    dst.for_lanes(src.len(), |dst, lane| {
        let (mut n, mut mean, mut var) = (0.0f32, 0.0f32, 0.0f32);
        let mut triple = [0.0f32; 3];
        for at in (0..src.lane_len()).step_by(3) {
            if at.is_multiple_of(3 * CHUNK) {
                halt::check()?;
            }
            src.read_f32(lane, at, &mut triple);
            let [n_t, mean_t, m2_t] = triple;
            let r = 1.0 / (n_t + n);
            let delta = mean - mean_t;
            mean = (mean * n + n_t * mean_t) * r;
            var = (var * n + m2_t) * r + n_t * n * delta * delta * r * r;
            n += n_t;
        }
        dst.write_f32(lane, 0, &[mean, var], profile.fp8());
        Ok(())
    })
}

/// BNGradients (36): per lane \[sum dy, sum (x - m) dy vf^2, sum (x - m) dy vf\].
pub fn bn_gradients(x: &Src, dy: &Src, mean: &Src, factor: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let len = x.lane_len();
    shapes("x", x, dst.lanes(), len)?;
    shapes("dy", dy, dst.lanes(), len)?;
    shapes("mean", mean, dst.lanes(), 1)?;
    shapes("variance factor", factor, dst.lanes(), 1)?;
    writes(dst, 3, profile)?;
    dst.for_lanes(x.len(), |dst, lane| {
        let ([m], [vf]) = (column::<1>(mean, lane), column::<1>(factor, lane));
        let mut out = [0.0f32; 3];
        let (mut xs, mut dys) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        chunks(len, |at, n| {
            x.read_f32(lane, at, &mut xs[..n]);
            dy.read_f32(lane, at, &mut dys[..n]);
            for (x, dy) in xs[..n].iter().zip(&dys) {
                let t = (x - m) * dy * vf;
                out[2] += t;
                out[1] += t * vf;
                out[0] += dy;
            }
            Ok(())
        })?;
        dst.write_f32(lane, 0, &out, profile.fp8());
        Ok(())
    })
}

/// Gradient operands of the two backprop instructions (ruling D11).
#[derive(Clone, Copy)]
pub enum Gradients<'a, 's> {
    /// BNBackprop (37): \[scale, A, Bc\] per lane.
    Joint(&'s Src<'a>),
    /// BNBackprop2 (38): \[scale\] and \[A, Bc\] per lane.
    Split(&'s Src<'a>, &'s Src<'a>),
}

/// Fields of BNBackprop and BNBackprop2.
#[derive(Clone, Copy, Debug)]
pub struct BnBackprop {
    /// Elements the statistics were taken over.
    pub total_elements: f32,
}

/// BNBackprop (37) and BNBackprop2 (38): dx = (dy * n - ((x - m) * Bc + A)) * scale.
pub fn bn_backprop(
    p: &BnBackprop,
    x: &Src,
    dy: &Src,
    gradients: Gradients,
    mean: &Src,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let len = dst.lane_len();
    shapes("x", x, dst.lanes(), len)?;
    shapes("dy", dy, dst.lanes(), len)?;
    shapes("mean", mean, dst.lanes(), 1)?;
    match gradients {
        Gradients::Joint(g) => shapes("gradients", g, dst.lanes(), 3)?,
        Gradients::Split(s, ab) => {
            shapes("scale", s, dst.lanes(), 1)?;
            shapes("gradients", ab, dst.lanes(), 2)?;
        }
    }
    writes(dst, len, profile)?;
    dst.for_lanes(dst.len(), |dst, lane| {
        let [m] = column(mean, lane);
        let [scale, a, bc] = match gradients {
            Gradients::Joint(g) => column(g, lane),
            Gradients::Split(s, ab) => {
                let ([scale], [a, bc]) = (column(s, lane), column(ab, lane));
                [scale, a, bc]
            }
        };
        let (mut xs, mut dys) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        chunks(len, |at, n| {
            x.read_f32(lane, at, &mut xs[..n]);
            dy.read_f32(lane, at, &mut dys[..n]);
            for (x, dy) in xs[..n].iter_mut().zip(&dys) {
                *x = (dy * p.total_elements - ((*x - m) * bc + a)) * scale;
            }
            dst.write_f32(lane, at, &xs[..n], profile.fp8());
            Ok(())
        })
    })
}

/// The first N values of a lane.
fn column<const N: usize>(src: &Src, lane: usize) -> [f32; N] {
    let mut out = [0.0; N];
    src.read_f32(lane, 0, &mut out);
    out
}

fn shapes(name: &str, src: &Src, lanes: usize, len: usize) -> Result<()> {
    cast::check_unpacked(src.dtype()).map_err(|e| e.operand(name))?;
    if src.lanes() != lanes || src.lane_len() != len {
        return Err(Error::new(Code::S002, format!("{name} has {lanes} partitions of {len} elements"))
            .received(format!("{} x {}", src.lanes(), src.lane_len()))
            .operand(name));
    }
    Ok(())
}

fn writes(dst: &Dst, len: usize, profile: &Profile) -> Result<()> {
    cast::check_unpacked(dst.dtype())?;
    cast::check_cast(Dtype::Float32, dst.dtype(), profile)?;
    if dst.lane_len() != len {
        return Err(
            Error::new(Code::S002, format!("the output has {len} values per partition")).received(dst.lane_len())
        );
    }
    Ok(())
}
