//! The DVE reorganisers: StreamShuffle (39) and StreamTranspose (40).

use crate::access::{Dst, Src, chunks};
use crate::movement::{Block, no_cast, shapes};
use crate::{Code, Error, Result};

/// Partitions of a shuffle block and edge of a transpose tile.
pub const BLOCK: usize = 32;
/// Mask entry that leaves its output partition as it is.
pub const KEEP: u8 = 255;

/// `out[b + i] = in[b + mask[i]]` for every block of 32 partitions; entry 255 keeps the old row.
pub fn stream_shuffle(mask: &[u8], src: &Src, dst: &mut Dst) -> Result<()> {
    no_cast("StreamShuffle", src.dtype(), dst.dtype())?;
    if mask.len() != BLOCK {
        return Err(Error::new(Code::S008, "StreamShuffle Mask must have 32 elements")
            .received(mask.len())
            .operand("mask"));
    }
    if let Some(bad) = mask.iter().find(|m| **m != KEEP && usize::from(**m) >= BLOCK) {
        return Err(Error::new(Code::S008, "StreamShuffle Mask entry must be <32").received(bad).operand("mask"));
    }
    if src.lane_len() != dst.lane_len() {
        return Err(shapes("ins[0]", src, dst));
    }
    let from = |lane: usize| match mask[lane % BLOCK] {
        KEEP => None,
        m => Some(lane - lane % BLOCK + usize::from(m)),
    };
    if let Some(row) = (0..dst.lanes()).filter_map(from).find(|row| *row >= src.lanes()) {
        return Err(Error::new(Code::S002, "the shuffle reads a partition that its input does not have")
            .received(format!("partition {row} of {}", src.lanes()))
            .operand("ins[0]"));
    }
    dst.for_lanes(dst.len(), |dst, lane| {
        let Some(row) = from(lane) else { return Ok(()) };
        if let Some(run) = src.run(row, 0, src.lane_len()) {
            dst.scatter(lane, 0, run);
            return Ok(());
        }
        chunks(dst.lane_len(), |start, n| {
            src.with_bytes(row, start, n, |bytes| dst.scatter(lane, start, bytes));
            Ok(())
        })
    })
}

/// Transposes every 32 x 32 tile: partition and element swap their low five bits.
pub fn stream_transpose(src: &Src, dst: &mut Dst) -> Result<()> {
    no_cast("StreamTranspose", src.dtype(), dst.dtype())?;
    let (rows, cols) = (src.lanes(), src.lane_len());
    if rows == 0 || cols == 0 {
        return if dst.is_empty() { Ok(()) } else { Err(shapes("ins[0]", src, dst)) };
    }
    // Highest row and column that the formula reaches.
    let high = |len: usize, other: usize| (len - 1) / BLOCK * BLOCK + (other - 1).min(BLOCK - 1);
    if src.len() != dst.len() {
        return Err(shapes("ins[0]", src, dst));
    }
    let (down, across) = (high(rows, cols) + 1, high(cols, rows) + 1);
    if down > dst.lanes() || across > dst.lane_len() {
        return Err(Error::new(Code::S002, "StreamTranspose turns tiles of 32 x 32, and turned ones leave the result")
            .received(format!(
                "tiles of {rows} x {cols} reach {down} x {across}, the result has {} x {}",
                dst.lanes(),
                dst.lane_len()
            ))
            .operand("outs[0]")
            .advice("the input is at most 32 x 32, or both of its sides are multiples of 32"));
    }
    let size = src.dtype().size();
    dst.for_lane_groups(BLOCK, dst.len(), |dst, mut blocks| {
        blocks.try_for_each(|block| {
            let top = block * BLOCK;
            let height = (rows - top).min(BLOCK);
            let (mut tile, mut row) = (Block::new(), Block::new());
            let tile = tile.bytes(BLOCK * BLOCK, src.dtype());
            for left in (0..cols).step_by(BLOCK) {
                let width = (cols - left).min(BLOCK);
                for p in 0..height {
                    src.gather(top + p, left, &mut tile[p * BLOCK * size..][..width * size]);
                }
                for e in 0..width {
                    let row = row.bytes(height, src.dtype());
                    turn(size, tile, e, row);
                    dst.scatter(top + e, left, row);
                }
            }
            Ok(())
        })
    })
}

/// Column `e` of the tile as a row.
fn turn(size: usize, tile: &[u8], e: usize, row: &mut [u8]) {
    fn run<const N: usize>(tile: &[u8], e: usize, row: &mut [u8]) {
        let (tile, _) = tile.as_chunks::<N>();
        let (row, _) = row.as_chunks_mut::<N>();
        for (p, r) in row.iter_mut().enumerate() {
            *r = tile[p * BLOCK + e];
        }
    }
    match size {
        1 => run::<1>(tile, e, row),
        2 => run::<2>(tile, e, row),
        4 => run::<4>(tile, e, row),
        _ => run::<8>(tile, e, row),
    }
}
