//! Collectives (48) as functions over the buffers of all ranks, given in rank order.
//!
//! A reducing kind folds in group order, in float32; a routing kind is a list of [`Segment`]s, so that every rank's result
//! is one call of [`route`]. Kinds whose result is one rank's buffer (Permute, SendRecv, PermuteReduce, and every kind on
//! a single rank) are a [`crate::copy::copy`] from that rank.

use crate::access::{CHUNK, Dst, Pattern, Src, chunks};
use crate::alu::AluOp;
use crate::cast::{check_unpacked, ieee_max, ieee_min, sse_max, sse_min};
use crate::movement::{Block, Linear, castable, read_as, shapes};
use crate::parallel;
use crate::profile::FloatMaxMin;
use crate::{Code, Dtype, Error, Profile, Result};
use std::ops::{ControlFlow, Range};

/// Elements that a thread folds at a time.
const PIECE: usize = 256 * 1024;

crate::named_enum! {
    /// Dimension along which a collective joins or splits buffers.
    CollectiveDimension {
        Partition = 0, "Partition";
        Free = 1, "Free";
    }
}

/// How a reducing kind combines two elements.
#[derive(Clone, Copy)]
enum Fold {
    Add,
    Max(FloatMaxMin),
    Min(FloatMaxMin),
}

impl Fold {
    fn of(op: AluOp, profile: &Profile) -> Result<Fold> {
        match op {
            AluOp::Add => Ok(Fold::Add),
            AluOp::Max => Ok(Fold::Max(profile.cce_max_min)),
            AluOp::Min => Ok(Fold::Min(profile.cce_max_min)),
            other => Err(Error::new(Code::S006, "a collective reduces with add, max or min").received(other)),
        }
    }

    /// Folds the elements of one more rank into the accumulator. Each operation has a loop of its own, which the compiler can
    /// vectorise.
    fn apply(self, acc: &mut [f32], x: &[f32]) {
        fn each(acc: &mut [f32], x: &[f32], f: impl Fn(f32, f32) -> f32) {
            acc.iter_mut().zip(x).for_each(|(acc, x)| *acc = f(*acc, *x));
        }
        match self {
            Fold::Add => each(acc, x, |acc, x| acc + x),
            Fold::Max(FloatMaxMin::Ieee) => each(acc, x, ieee_max),
            Fold::Min(FloatMaxMin::Ieee) => each(acc, x, ieee_min),
            // The accumulator is the second operand of the SSE rule: it wins on NaN and ties (ruling D15).
            Fold::Max(FloatMaxMin::Sse) => each(acc, x, |acc, x| sse_max(x, acc)),
            Fold::Min(FloatMaxMin::Sse) => each(acc, x, |acc, x| sse_min(x, acc)),
        }
    }
}

fn first<'a, 'b>(ranks: &'b [Src<'a>]) -> Result<&'b Src<'a>> {
    ranks.first().ok_or_else(|| Error::new(Code::S008, "a collective has at least one rank"))
}

/// The patterns of the buffers as one lane each.
fn flat_patterns(ranks: &[Src]) -> Vec<Pattern> {
    ranks.iter().map(|r| r.pattern().flat()).collect()
}

fn flattened<'a>(ranks: &[Src<'a>], patterns: &'a [Pattern]) -> Result<Vec<Src<'a>>> {
    ranks.iter().zip(patterns).map(|(r, flat)| r.reshaped(flat)).collect()
}

/// Folds the buffers of all ranks: AllReduce, SendRecvCCE, PermuteReduceImplicit. The first rank seeds the accumulator.
pub fn all_reduce(op: AluOp, ranks: &[Src], dst: &mut Dst, profile: &Profile) -> Result<()> {
    if let Some(bad) = ranks.iter().find(|r| r.len() != dst.len()) {
        return Err(shapes("ins[0]", bad, dst));
    }
    let patterns = flat_patterns(ranks);
    let flat = flattened(ranks, &patterns)?;
    let row = dst.lane_len();
    reduce(op, &flat, |lane, start| (0, lane * row + start), dst, profile)
}

/// Folds the buffer of one more rank into an accumulator with as many elements, so that AllReduce reads every buffer where it
/// stands. The first rank `seeds` the accumulator. [`all_reduce`] of the accumulator alone makes the result of it.
pub fn fold_into(op: AluOp, src: &Src, acc: &mut [f32], seeds: bool, profile: &Profile) -> Result<()> {
    let fold = Fold::of(op, profile)?;
    check_unpacked(src.dtype())?;
    if src.len() != acc.len() {
        return Err(Error::new(Code::S002, "a rank has another number of elements than the first").received(format!(
            "{} and {}",
            src.len(),
            acc.len()
        )));
    }
    let row = src.lane_len().max(1);
    let lanes = (PIECE / row).max(1);
    let parts: Vec<(usize, &mut [f32])> = acc.chunks_mut(lanes * row).enumerate().collect();
    let failed = parallel::first_break_of(parts, |(part, acc)| {
        let mut input = [0f32; CHUNK];
        let all = acc.chunks_mut(row).enumerate().try_for_each(|(lane, acc)| {
            chunks(acc.len(), |start, n| {
                let acc = &mut acc[start..start + n];
                if seeds {
                    src.read_f32(part * lanes + lane, start, acc);
                } else {
                    src.read_f32(part * lanes + lane, start, &mut input[..n]);
                    fold.apply(acc, &input[..n]);
                }
                Ok(())
            })
        });
        all.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    });
    failed.map_or(Ok(()), Err)
}

/// The stand-in of a worker that sees only its own buffer: the sum of N equal replicas, N * in (`opcodes.md` 10).
pub fn scaled(scale: f32, src: &Src, dst: &mut Dst, profile: &Profile) -> Result<()> {
    check_unpacked(src.dtype())?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    let mut flat = None;
    let from = Linear::new("ins[0]", src, dst, &mut flat)?;
    dst.for_lanes(dst.len(), |dst, lane| {
        let mut values = [0f32; CHUNK];
        chunks(dst.lane_len(), |start, n| {
            from.read_f32(lane, start, &mut values[..n]);
            values[..n].iter_mut().for_each(|v| *v *= scale);
            dst.write_f32(lane, start, &values[..n], profile.fp8());
            Ok(())
        })
    })
}

/// Folds the element that `at` names in every rank into each destination element.
fn reduce(
    op: AluOp,
    ranks: &[Src],
    at: impl Fn(usize, usize) -> (usize, usize) + Sync,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let fold = Fold::of(op, profile)?;
    first(ranks)?;
    check_unpacked(dst.dtype())?;
    castable(Dtype::Float32, dst.dtype(), profile)?;
    ranks.iter().try_for_each(|r| check_unpacked(r.dtype()))?;
    dst.for_lanes(dst.len() * ranks.len(), |dst, lane| {
        let (mut acc, mut input) = ([0f32; CHUNK], [0f32; CHUNK]);
        chunks(dst.lane_len(), |start, n| {
            let (from, element) = at(lane, start);
            for (k, r) in ranks.iter().enumerate() {
                if k == 0 {
                    r.read_f32(from, element, &mut acc[..n]);
                    continue;
                }
                r.read_f32(from, element, &mut input[..n]);
                fold.apply(&mut acc[..n], &input[..n]);
            }
            dst.write_f32(lane, start, &acc[..n], profile.fp8());
            Ok(())
        })
    })
}

/// Reduces all buffers and keeps slice `rank` of the result.
///
/// Along the free dimension, when the partitions agree, the slice is taken from every partition; else it is a range of
/// the elements in order.
pub fn reduce_scatter(
    op: AluOp,
    dim: CollectiveDimension,
    ranks: &[Src],
    rank: usize,
    dst: &mut Dst,
    profile: &Profile,
) -> Result<()> {
    let whole = first(ranks)?;
    member(rank, ranks.len())?;
    for r in ranks {
        let alike = r.lanes() == whole.lanes() && r.lane_len() == whole.lane_len();
        if !alike || dst.len().checked_mul(ranks.len()) != Some(r.len()) {
            return Err(shapes("ins[0]", r, dst).advice("the input has one slice per rank"));
        }
    }
    let row = dst.lane_len();
    // A tensor in one lane has no partitions of its own to divide.
    let (size, what) = match dim {
        CollectiveDimension::Free => (whole.lane_len(), "free"),
        CollectiveDimension::Partition if whole.lanes() > 1 => (whole.lanes(), "partition"),
        CollectiveDimension::Partition => (whole.len(), "partition"),
    };
    if !size.is_multiple_of(ranks.len()) {
        let what = format!("the {what} dimension does not divide into one slice per rank");
        return Err(Error::new(Code::S002, what).received(format!("{size} by {}", ranks.len())).operand("ins[0]"));
    }
    if per_lane(dim, whole.lanes(), dst.lanes()) {
        return reduce(op, ranks, |lane, start| (lane, rank * row + start), dst, profile);
    }
    let (patterns, skip) = (flat_patterns(ranks), rank * dst.len());
    let flat = flattened(ranks, &patterns)?;
    reduce(op, &flat, |lane, start| (0, skip + lane * row + start), dst, profile)
}

fn per_lane(dim: CollectiveDimension, a: usize, b: usize) -> bool {
    dim == CollectiveDimension::Free && a == b
}

fn member(rank: usize, ranks: usize) -> Result<()> {
    if rank < ranks {
        return Ok(());
    }
    Err(Error::new(Code::S008, "the rank is not in the replica group").received(format!("rank {rank} of {ranks}")))
}

/// A range of elements that moves from one rank's buffer into the result, both in element order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Rank it comes from.
    pub source: usize,
    /// First element there.
    pub from: usize,
    /// First element in the result.
    pub to: usize,
    /// Number of elements.
    pub count: usize,
}

/// Moves segments, later ones over earlier ones. Elements that no segment names keep their value.
pub fn route(segments: &[Segment], ranks: &[Src], dst: &mut Dst, profile: &Profile) -> Result<()> {
    let (flat, dtype) = (dst.pattern().flat(), dst.dtype());
    let mut to = dst.reshaped(&flat)?;
    let reach = |r: Range<usize>, len: usize| r.start <= r.end && r.end <= len;
    for s in segments {
        member(s.source, ranks.len())?;
        let src = &ranks[s.source];
        castable(src.dtype(), dtype, profile)?;
        if !reach(s.from..s.from.saturating_add(s.count), src.len())
            || !reach(s.to..s.to.saturating_add(s.count), to.len())
        {
            return Err(Error::new(Code::S002, "a segment of a collective leaves its buffer").received(format!(
                "{s:?} of {} into {} elements",
                src.len(),
                to.len()
            )));
        }
    }
    let mut block = Block::new();
    for s in segments {
        let flat = ranks[s.source].pattern().flat();
        let src = ranks[s.source].reshaped(&flat)?;
        chunks(s.count, |at, n| {
            let bytes = block.bytes(n, dtype);
            read_as(&src, 0, s.from + at, dtype, profile.fp8(), bytes);
            to.scatter(0, s.to + at, bytes);
            Ok(())
        })?;
    }
    Ok(())
}

/// Joins the buffers of all ranks: one after the other, or along the free dimension partition by partition.
pub fn all_gather(dim: CollectiveDimension, ranks: &[Src], dst: &mut Dst, profile: &Profile) -> Result<()> {
    let one = first(ranks)?;
    let n = one.len();
    let alike = |r: &Src| r.lanes() == one.lanes() && r.lane_len() == one.lane_len();
    if !ranks.iter().all(alike) || n.checked_mul(ranks.len()) != Some(dst.len()) {
        return Err(shapes("ins[0]", one, dst).advice("the result holds the buffers of all ranks"));
    }
    if !per_lane(dim, one.lanes(), dst.lanes()) {
        let whole = |source| Segment { source, from: 0, to: source * n, count: n };
        return route(&(0..ranks.len()).map(whole).collect::<Vec<_>>(), ranks, dst, profile);
    }
    ranks.iter().try_for_each(|r| castable(r.dtype(), dst.dtype(), profile))?;
    let row = one.lane_len();
    dst.for_lanes(dst.len(), |dst, lane| {
        let mut block = Block::new();
        for (k, r) in ranks.iter().enumerate() {
            chunks(row, |start, n| {
                let bytes = block.bytes(n, dst.dtype());
                read_as(r, lane, start, dst.dtype(), profile.fp8(), bytes);
                dst.scatter(lane, k * row + start, bytes);
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// Chunk p of the result is the chunk that rank p holds for `rank`.
pub fn all_to_all(ranks: &[Src], rank: usize, dst: &mut Dst, profile: &Profile) -> Result<()> {
    let one = first(ranks)?;
    member(rank, ranks.len())?;
    let count = dst.len() / ranks.len();
    if count * ranks.len() != dst.len() || ranks.iter().any(|r| r.len() != dst.len()) {
        return Err(shapes("ins[0]", one, dst).advice("input and result hold one chunk per rank"));
    }
    let segments: Vec<Segment> =
        (0..ranks.len()).map(|source| Segment { source, from: rank * count, to: source * count, count }).collect();
    route(&segments, ranks, dst, profile)
}

/// Where the chunks of an AllToAllV are, as the metadata tensor of one rank says: row 0 counts sent, row 1 where they
/// start, row 2 received counts, row 3, which may be absent, where received chunks go. All in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkTable {
    /// Elements per receiver.
    pub counts: Vec<usize>,
    /// Where each chunk starts in the sender's buffer.
    pub starts: Vec<usize>,
    /// Where the chunk of each sender goes; without it each sender has a slot of equal size.
    pub received_at: Option<Vec<usize>>,
}

impl ChunkTable {
    /// From the elements of the metadata, row by row, for a group of `n`.
    pub fn new(metadata: &Src, n: usize) -> Result<ChunkTable> {
        let rows = metadata.len().checked_div(n).unwrap_or(0);
        if !matches!(metadata.dtype(), Dtype::Uint32) {
            return Err(Error::new(Code::S007, "the metadata of AllToAllV is uint32")
                .received(metadata.dtype())
                .operand("ins[1]"));
        }
        if !(3..=4).contains(&rows) || rows * n != metadata.len() {
            return Err(Error::new(Code::S002, format!("the metadata of AllToAllV has 3 or 4 rows of {n} elements"))
                .received(format!("{} x {}", metadata.lanes(), metadata.lane_len()))
                .operand("ins[1]"));
        }
        let flat = metadata.pattern().flat();
        let all = metadata.reshaped(&flat)?;
        let mut values = vec![0i64; metadata.len()];
        chunks(values.len(), |at, len| {
            all.read_i64(0, at, &mut values[at..at + len]);
            Ok(())
        })?;
        let row = |k: usize| values[k * n..(k + 1) * n].iter().map(|v| *v as u32 as usize).collect::<Vec<_>>();
        Ok(ChunkTable { counts: row(0), starts: row(1), received_at: (rows == 4).then(|| row(3)) })
    }
}

/// AllToAllV: what `rank` receives, chunks of any size. `names` are the ranks as messages call them, `lens` the elements of
/// their buffers, `room` those of the result.
pub fn received_chunks(
    tables: &[ChunkTable],
    names: &[u32],
    lens: &[usize],
    rank: usize,
    room: usize,
) -> Result<Vec<Segment>> {
    let n = tables.len();
    member(rank, n)?;
    let (me, slot) = (names[rank], room / n);
    let mut segments: Vec<Segment> = Vec::with_capacity(n);
    for (source, table) in tables.iter().enumerate() {
        let (count, from, who) = (table.counts[rank], table.starts[rank], names[source]);
        let to = tables[rank].received_at.as_ref().map_or(source * slot, |at| at[source]);
        let fault = |what: String, got: String| {
            Err(Error::new(Code::S002, format!("the chunk that rank {who} sends to rank {me} {what}")).received(got))
        };
        let range = |at: usize| format!("elements {at}..{}", at + count);
        if count == 0 {
            continue;
        }
        if from + count > lens[source] {
            return fault(format!("leaves the buffer of rank {who}"), format!("{} of {}", range(from), lens[source]));
        }
        if tables[rank].received_at.is_none() && count > slot {
            return fault(
                format!("is larger than its slot in rank {me}"),
                format!("{count} elements, {slot} in a slot"),
            );
        }
        if to + count > room {
            return fault(format!("leaves the result of rank {me}"), format!("{} of {room}", range(to)));
        }
        segments.push(Segment { source, from, to, count });
    }
    let mut order: Vec<&Segment> = segments.iter().collect();
    order.sort_by_key(|s| s.to);
    if let Some(pair) = order.windows(2).find(|p| p[0].to + p[0].count > p[1].to) {
        let (a, b) = (names[pair[0].source], names[pair[1].source]);
        let what = format!("the chunks of ranks {a} and {b} overlap in the result of rank {me}");
        let got = format!("elements {}..{} and from {}", pair[0].to, pair[0].to + pair[0].count, pair[1].to);
        return Err(Error::new(Code::S002, what).received(got));
    }
    Ok(segments)
}

/// Permute: the rank whose buffer becomes the result of `rank`; `None` leaves the result as it is.
pub fn permute_source(pairs: &[(u32, u32)], rank: u32) -> Option<u32> {
    pairs.iter().find(|(_, target)| *target == rank).map(|(source, _)| *source)
}

/// PermuteImplicit: the predecessor of `rank` in its ring.
pub fn ring_source(group: &[u32], rank: u32) -> Option<u32> {
    let at = group.iter().position(|r| *r == rank)?;
    group.get((at + group.len() - 1) % group.len()).copied()
}

/// GetCurProcessingRankID for a ring: own rank at iteration 0, then the predecessors.
pub fn ring_rank(group: &[u32], rank: u32, iteration: u64) -> Option<u32> {
    let at = group.iter().position(|r| *r == rank)? as u64;
    let n = group.len() as u64;
    group.get(((at + n - iteration % n) % n) as usize).copied()
}
