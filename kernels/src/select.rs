//! Select (51) and CopyPredicated (52), with its select-reduce form.

use crate::access::{CHUNK, Dst, Input, Src, chunks};
use crate::accumulate::Epilogue;
use crate::cast::{check_unpacked, decode_f32};
use crate::isa::per_isa;
use crate::movement::{Value, each_lane, merge, same_shape};
use crate::profile::PredicateTest;
use crate::{Code, Dtype, Error, Profile, Result};

/// out = predicate ? on_true : on_false. The predicate is exactly 0 or 1 (`alu.md` 6.9); integers never pass through
/// float32. An operand that is `None` is the destination itself.
pub fn select(
    predicate: &Src,
    on_true: Option<&Input>,
    on_false: Option<&Input>,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    same_shape("ins[0]", predicate, dst)?;
    check_unpacked(predicate.dtype()).map_err(|e| e.operand("ins[0]"))?;
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let value = |name, input: Option<_>| input.map(|v| Value::exact(name, v, dst, profile)).transpose();
    let (yes, no) = (value("ins[1]", on_true)?, value("ins[2]", on_false)?);
    each_lane(dst, dst.len(), |dst, lane, [a, b]| {
        let mut pred = [0f32; CHUNK];
        let mut take = [false; CHUNK];
        chunks(dst.lane_len(), |start, n| {
            predicate.read_f32(lane, start, &mut pred[..n]);
            let mut bad = false;
            ones(&pred[..n], &mut take[..n], &mut bad);
            if bad && let Some((k, p)) = pred[..n].iter().enumerate().find(|(_, p)| **p != 0.0 && **p != 1.0) {
                return Err(Error::new(Code::S008, "the predicate of Select is exactly 0 or 1")
                    .received(format!("{p} in partition {lane}, element {}", start + k))
                    .operand("ins[0]"));
            }
            let (a, b) = (a.bytes(n, dtype), b.bytes(n, dtype));
            for (value, out) in [(&yes, &mut *a), (&no, &mut *b)] {
                match value {
                    Some(value) => value.read_exactly(lane, start, dtype, cfg, out),
                    None => dst.as_src().gather(lane, start, out),
                }
            }
            merge(dtype.size(), &take[..n], a, b);
            dst.scatter(lane, start, b);
            Ok(())
        })
    })
}

/// Fields and optional operands of CopyPredicated.
pub struct CopyPredicated<'a> {
    /// Take the source where the predicate is zero.
    pub reverse_pred: bool,
    /// The select-reduce form: this value replaces the old destination. A number, a full tensor, or one per partition.
    pub on_false: Option<Input<'a>>,
    /// Fold of the resulting rows into the engine's accumulator.
    pub epilogue: Option<Epilogue<'a>>,
}

/// dst = predicate ? src : (on_false, or the old dst).
///
/// The predicate is widened to uint32 by the cast rules and tested for non-zero (ruling D23).
pub fn copy_predicated(
    p: &CopyPredicated,
    predicate: &Src,
    src: &Input,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    same_shape("ins[0]", predicate, dst)?;
    check_unpacked(predicate.dtype()).map_err(|e| e.operand("ins[0]"))?;
    let (dtype, cfg) = (dst.dtype(), profile.fp8());
    let yes = Value::new("ins[1]", src, dst, p.on_false.is_some(), profile)?;
    let no = p.on_false.as_ref().map(|v| Value::new("ins[2]", v, dst, true, profile)).transpose()?;
    if let Some(e) = &p.epilogue {
        e.check(dst.lanes())?;
        check_unpacked(dtype).map_err(|e| e.operand("outs[0]"))?;
    }
    let by_value = profile.predicate_test == PredicateTest::Value;
    each_lane(dst, dst.len(), |dst, lane, [a, b]| {
        let mut take = [false; CHUNK];
        let mut fold = p.epilogue.as_ref().and_then(|e| e.lane(lane, dtype));
        chunks(dst.lane_len(), |start, n| {
            if by_value {
                values_differ_from_zero(predicate, lane, start, &mut take[..n]);
            } else {
                widened(predicate, lane, start, &mut take[..n]);
            }
            if p.reverse_pred {
                take[..n].iter_mut().for_each(|t| *t = !*t);
            }
            if let Some(fold) = &mut fold {
                // The fold sees the values before they are rounded, so it reads the operands before they are written.
                let (mut x, mut y) = ([0f32; CHUNK], [0f32; CHUNK]);
                yes.read_f32(lane, start, &mut x[..n]);
                match &no {
                    Some(no) => no.read_f32(lane, start, &mut y[..n]),
                    None => dst.as_src().read_f32(lane, start, &mut y[..n]),
                }
                for ((x, y), t) in x.iter_mut().zip(&y).zip(&take[..n]) {
                    *x = if *t { *x } else { *y };
                }
                fold.extend(&x[..n]);
            }
            let (a, b) = (a.bytes(n, dtype), b.bytes(n, dtype));
            yes.read(lane, start, dtype, cfg, a);
            match &no {
                Some(no) => no.read(lane, start, dtype, cfg, b),
                None => dst.as_src().gather(lane, start, b),
            }
            merge(dtype.size(), &take[..n], a, b);
            dst.scatter(lane, start, b);
            Ok(())
        })?;
        if let Some(fold) = fold {
            fold.finish();
        }
        Ok(())
    })
}

per_isa! {
    /// Marks the values that are one; `bad` is set when a value is neither 0 nor 1.
    fn ones(values: &[f32], take: &mut [bool], bad: &mut bool) {
        let mut wrong = 0u32;
        for (t, p) in take.iter_mut().zip(values) {
            *t = *p == 1.0;
            wrong |= u32::from((*p != 0.0) & (*p != 1.0));
        }
        *bad = wrong != 0;
    }
}

per_isa! {
    /// Marks the bytes that are not zero.
    fn nonzero(bytes: &[u8], take: &mut [bool]) {
        for (t, b) in take.iter_mut().zip(bytes) {
            *t = *b != 0;
        }
    }
}

/// The other predicate test: the element's value is not zero; a NaN is not.
fn values_differ_from_zero(predicate: &Src, lane: usize, start: usize, take: &mut [bool]) {
    let mut hub = [0f32; CHUNK];
    let hub = &mut hub[..take.len()];
    predicate.read_f32(lane, start, hub);
    for (t, v) in take.iter_mut().zip(hub) {
        *t = *v != 0.0;
    }
}

/// The predicate test: the element cast to uint32 is not zero.
fn widened(predicate: &Src, lane: usize, start: usize, take: &mut [bool]) {
    let dtype = predicate.dtype();
    predicate.with_bytes(lane, start, take.len(), |bytes| match dtype {
        Dtype::Uint8 => nonzero(bytes, take),
        Dtype::Uint16 | Dtype::Uint32 | Dtype::Uint64 => {
            for (t, e) in take.iter_mut().zip(bytes.chunks_exact(dtype.size())) {
                *t = e.iter().any(|b| *b != 0);
            }
        }
        _ => {
            let mut hub = [0f32; CHUNK];
            let hub = &mut hub[..take.len()];
            decode_f32(dtype, bytes, hub);
            for (t, v) in take.iter_mut().zip(hub) {
                // Negative values clamp to zero, halves round to even; NaN goes to an end of the range by its sign.
                *t = if v.is_nan() { v.is_sign_positive() } else { v.round_ties_even() >= 1.0 };
            }
        }
    });
}
