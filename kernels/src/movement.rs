//! Checks and reads that the movement kernels share.

use crate::access::{CHUNK, Dst, Imm, Input, Pattern, Src};
use crate::cast::{self, Fp8Config};
use crate::elementwise::Number;
use crate::isa::per_isa;
use crate::{Code, Dtype, Error, Profile, Result};

/// Space for the bytes of one chunk of any dtype.
pub(crate) struct Block([u64; CHUNK]);

impl Block {
    pub(crate) const fn new() -> Self {
        Block([0; CHUNK])
    }

    /// The first `n` elements of `dtype`.
    pub(crate) fn bytes(&mut self, n: usize, dtype: Dtype) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.0)[..n * dtype.size()]
    }
}

/// [`Dst::for_lanes`] with blocks that are cleared once for all lanes of a thread.
pub(crate) fn each_lane<const N: usize>(
    dst: &mut Dst,
    elements: usize,
    f: impl Fn(&mut Dst, usize, &mut [Block; N]) -> Result<()> + Sync,
) -> Result<()> {
    dst.for_lane_ranges(elements, |dst, mut lanes| {
        let mut blocks = [const { Block::new() }; N];
        lanes.try_for_each(|lane| f(dst, lane, &mut blocks))
    })
}

/// Checks that an operand has the lanes and the elements per lane of the destination.
pub(crate) fn same_shape(name: &str, src: &Src, dst: &Dst) -> Result<()> {
    if src.lanes() == dst.lanes() && src.lane_len() == dst.lane_len() {
        return Ok(());
    }
    Err(shapes(name, src, dst))
}

/// The error of operands whose shapes do not agree.
#[cold]
pub(crate) fn shapes(name: &str, src: &Src, dst: &Dst) -> Error {
    Error::new(Code::S002, format!("{name} and the result differ in shape"))
        .received(format!("{} x {} and {} x {}", src.lanes(), src.lane_len(), dst.lanes(), dst.lane_len()))
        .operand(name)
}

/// Checks that both dtypes are the same, for instructions that only move bits.
pub(crate) fn no_cast(instruction: &str, src: Dtype, dst: Dtype) -> Result<()> {
    if src == dst {
        return Ok(());
    }
    Err(Error::new(Code::S007, format!("{instruction} does not support cast"))
        .received(format!("{src} to {dst}"))
        .advice("give both operands one dtype; a TensorCopy before or after it converts"))
}

/// Checks that a conversion between the two dtypes exists: packed elements can only be moved.
pub(crate) fn castable(src: Dtype, dst: Dtype, profile: &Profile) -> Result<()> {
    if src == dst {
        return Ok(());
    }
    cast::check_unpacked(src)?;
    cast::check_unpacked(dst)?;
    cast::check_cast(src, dst, profile)
}

/// Reads elements as the bytes of `to`: unchanged when the dtypes agree, else through float32. At most a chunk.
pub(crate) fn read_as(src: &Src, lane: usize, start: usize, to: Dtype, cfg: Fp8Config, out: &mut [u8]) {
    if src.dtype() == to {
        return src.gather(lane, start, out);
    }
    let n = out.len() / to.size();
    let mut hub = [0f32; CHUNK];
    src.read_f32(lane, start, &mut hub[..n]);
    cast::encode_f32(to, cfg, &hub[..n], out);
}

/// As [`read_as`], but integers stay integers: same width, same bits; a wider destination extends them, a
/// narrower one saturates.
pub(crate) fn read_exactly(src: &Src, lane: usize, start: usize, to: Dtype, cfg: Fp8Config, out: &mut [u8]) {
    let from = src.dtype();
    if !between_integers(from, to) {
        return read_as(src, lane, start, to, cfg, out);
    }
    let mut values = [0i64; CHUNK];
    let values = &mut values[..out.len() / to.size()];
    src.read_i64(lane, start, values);
    integers_as(from, to, values, out);
}

fn between_integers(from: Dtype, to: Dtype) -> bool {
    from != to && from.is_integer() && to.is_integer()
}

/// Integers of `from` as bytes of `to`.
fn integers_as(from: Dtype, to: Dtype, values: &mut [i64], out: &mut [u8]) {
    if to.size() < from.size() {
        let bits = 8 * to.size() as u32;
        let (low, high) = if to.is_signed() { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        for v in values.iter_mut() {
            // Values of uint64 above the range of int64 were read as negative.
            *v = if *v < 0 && !from.is_signed() { high } else { (*v).clamp(low, high) };
        }
    }
    cast::encode_i64(to, Fp8Config::DEFAULT, values, out);
}

/// An immediate as one element of `to`, in the first bytes.
pub(crate) fn scalar_as(imm: Imm, to: Dtype, profile: &Profile) -> Result<[u8; 8]> {
    castable(imm.dtype, to, profile)?;
    if imm.dtype == to {
        return Ok(imm.bytes());
    }
    let mut out = [0; 8];
    cast::encode_f32(to, profile.fp8(), &[imm.as_f32()], &mut out[..to.size()]);
    Ok(out)
}

/// Repeats one element over `out`.
pub(crate) fn repeat(element: &[u8], out: &mut [u8]) {
    // Each arm has a constant width; copying an unknown length per element would be a function call.
    match *element {
        [b] => out.fill(b),
        [a, b] => out.as_chunks_mut().0.fill([a, b]),
        [a, b, c, d] => out.as_chunks_mut().0.fill([a, b, c, d]),
        _ => out.chunks_exact_mut(element.len()).for_each(|e| e.copy_from_slice(element)),
    }
}

per_isa! {
    /// Copies the elements of `from` that `take` selects over those of `out`.
    pub(crate) fn merge(size: usize, take: &[bool], from: &[u8], out: &mut [u8]) {
        // Without a branch, because processors rarely predict a data-dependent predicate.
        macro_rules! run {
            ($t:ident) => {{
                const N: usize = size_of::<$t>();
                for ((o, f), t) in out.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0).zip(take) {
                    let (old, new) = ($t::from_le_bytes(*o), $t::from_le_bytes(*f));
                    *o = (if *t { new } else { old }).to_le_bytes();
                }
            }};
        }
        match size {
            1 => run!(u8),
            2 => run!(u16),
            4 => run!(u32),
            _ => run!(u64),
        }
    }
}

/// A value operand of a select: full tensor, one element per lane, or one element for all.
pub(crate) enum Value<'a> {
    Full(&'a Src<'a>),
    PerLane(&'a Src<'a>),
    One([u8; 8], f32),
}

impl<'a> Value<'a> {
    /// Classifies an operand. `per_lane` allows one element per partition beside full tensors.
    pub(crate) fn new(name: &str, input: &'a Input, dst: &Dst, per_lane: bool, profile: &Profile) -> Result<Self> {
        castable(input.dtype(), dst.dtype(), profile).map_err(|e| e.operand(name))?;
        match input {
            Input::Imm(imm) => Ok(Value::One(scalar_as(*imm, dst.dtype(), profile)?, imm.as_f32())),
            Input::View(s) if s.lanes() == dst.lanes() && s.lane_len() == dst.lane_len() => Ok(Value::Full(s)),
            Input::View(s) if per_lane && s.lanes() == dst.lanes() && s.lane_len() == 1 => Ok(Value::PerLane(s)),
            Input::View(s) => Err(shapes(name, s, dst)),
        }
    }

    /// The same for a select between full tensors and numbers, in which integers stay integers.
    pub(crate) fn exact(name: &str, input: &'a Input, dst: &Dst, profile: &Profile) -> Result<Self> {
        let mut value = Self::new(name, input, dst, false, profile)?;
        if let (Value::One(bytes, _), Input::Imm(imm)) = (&mut value, input)
            && between_integers(imm.dtype, dst.dtype())
        {
            integers_as(imm.dtype, dst.dtype(), &mut [imm.as_i64()], &mut bytes[..dst.dtype().size()]);
        }
        Ok(value)
    }

    /// Elements `start..` of a lane of an [`Value::exact`] operand as bytes of `to`.
    pub(crate) fn read_exactly(&self, lane: usize, start: usize, to: Dtype, cfg: Fp8Config, out: &mut [u8]) {
        match self {
            Value::Full(s) => read_exactly(s, lane, start, to, cfg, out),
            other => other.read(lane, start, to, cfg, out),
        }
    }

    /// Elements `start..` of a lane as bytes of `to`.
    pub(crate) fn read(&self, lane: usize, start: usize, to: Dtype, cfg: Fp8Config, out: &mut [u8]) {
        match self {
            Value::Full(s) => read_as(s, lane, start, to, cfg, out),
            Value::PerLane(s) => {
                let mut one = [0; 8];
                read_as(s, lane, 0, to, cfg, &mut one[..to.size()]);
                repeat(&one[..to.size()], out);
            }
            Value::One(bytes, _) => repeat(&bytes[..to.size()], out),
        }
    }

    /// Elements `start..` of a lane on the float path.
    pub(crate) fn read_f32(&self, lane: usize, start: usize, out: &mut [f32]) {
        match self {
            Value::Full(s) => s.read_f32(lane, start, out),
            Value::PerLane(s) => {
                let mut one = [0.0];
                s.read_f32(lane, 0, &mut one);
                out.fill(one[0]);
            }
            Value::One(_, value) => out.fill(*value),
        }
    }
}

/// The source of a copy-like kernel: shapes may differ as long as the number of elements agrees.
pub(crate) struct Linear<'a> {
    src: Src<'a>,
    /// Row length of the destination when the source is walked as one lane.
    flat: Option<usize>,
}

impl<'a> Linear<'a> {
    /// `flat` keeps the pattern of a source that is walked as one lane.
    pub(crate) fn new(name: &str, src: &Src<'a>, dst: &Dst, flat: &'a mut Option<Pattern>) -> Result<Self> {
        if src.lanes() == dst.lanes() && src.lane_len() == dst.lane_len() {
            return Ok(Linear { src: *src, flat: None });
        }
        if src.len() != dst.len() {
            return Err(shapes(name, src, dst));
        }
        Ok(Linear { src: src.reshaped(flat.insert(src.pattern().flat()))?, flat: Some(dst.lane_len()) })
    }

    fn at(&self, lane: usize, start: usize) -> (usize, usize) {
        match self.flat {
            Some(row) => (0, lane * row + start),
            None => (lane, start),
        }
    }

    /// The elements for the destination's elements `start..` of `lane`, as bytes of `to`.
    pub(crate) fn read_as(&self, lane: usize, start: usize, to: Dtype, cfg: Fp8Config, out: &mut [u8]) {
        let (lane, start) = self.at(lane, start);
        read_as(&self.src, lane, start, to, cfg, out);
    }

    /// The same elements of a whole lane, when they are float32 in memory.
    pub(crate) fn whole_lane(&self, lane: usize, len: usize) -> Option<&[f32]> {
        let (lane, start) = self.at(lane, 0);
        f32::in_place(&self.src, lane, start, len)
    }

    /// The same elements on the float path: in place where memory allows, else read into `buf`.
    pub(crate) fn floats<'b>(&'b self, lane: usize, start: usize, buf: &'b mut [f32]) -> &'b [f32] {
        let (lane, start) = self.at(lane, start);
        if let Some(values) = f32::in_place(&self.src, lane, start, buf.len()) {
            return values;
        }
        self.src.read_f32(lane, start, buf);
        buf
    }

    /// The same elements on the float path.
    pub(crate) fn read_f32(&self, lane: usize, start: usize, out: &mut [f32]) {
        let (lane, start) = self.at(lane, start);
        self.src.read_f32(lane, start, out);
    }
}
