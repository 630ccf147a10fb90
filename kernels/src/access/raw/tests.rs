//! Small enough for Miri: every way to the bytes, with patterns of each kind, and the refusals that soundness rests on.

use crate::Dtype;
use crate::access::{Dst, Pair, Pattern, Source, Src, copy_across};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn strided(dtype: Dtype, base: i64, pairs: &[(i64, u32)]) -> Pattern {
    let pairs: Vec<Pair> = pairs.iter().map(|(stride, num)| Pair { stride: *stride, num: *num }).collect();
    Pattern::new(dtype, base, &pairs).unwrap()
}

/// Patterns of two lanes of six elements inside 64 bytes: dense, with gaps, reversed, with three pairs, and listed.
fn patterns(dtype: Dtype) -> Vec<Pattern> {
    let s = dtype.size() as i64;
    vec![
        Pattern::dense(dtype, &[2, 6]).unwrap(),
        strided(dtype, 3, &[(7 * s, 2), (s, 6)]),
        strided(dtype, 7 * s, &[(-7 * s, 2), (s, 6)]),
        strided(dtype, 1, &[(6 * s + 2, 2), (2 * s, 3), (s, 2)]),
        strided(dtype, 0, &[(s, 2), (2 * s, 6)]),
        Pattern::listed(dtype, &[2, 6], (0..12).map(|k| (k * 5 % 12) * s as usize).collect::<Arc<[usize]>>()).unwrap(),
    ]
}

const DTYPES: [Dtype; 4] = [Dtype::Uint8, Dtype::Bfloat16, Dtype::Float32, Dtype::Int32];

/// The bytes of elements `start..start + n` of a lane, one by one.
fn expected(bytes: &[u8], p: &Pattern, lane: usize, start: usize, n: usize) -> Vec<u8> {
    (start..start + n).flat_map(|e| bytes[p.byte_of(lane, e) as usize..][..p.dtype().size()].to_vec()).collect()
}

fn memory(len: usize) -> Vec<u8> {
    (0..len).map(|k| (k * 37 + 11) as u8).collect()
}

#[test]
fn every_piece_of_a_lane_is_read_and_written() {
    for dtype in DTYPES {
        for p in patterns(dtype) {
            let mut bytes = memory(64);
            for lane in 0..2 {
                for (start, n) in [(0, 6), (0, 1), (5, 1), (2, 3), (6, 0)] {
                    let mut found = vec![0; n * dtype.size()];
                    let before = bytes.clone();
                    let src = Src::new(&before, &p).unwrap();
                    src.gather(lane, start, &mut found);
                    assert_eq!(found, expected(&before, &p, lane, start, n), "{p:?}");
                    assert!(src.run(lane, start, n).is_none_or(|run| run == found));
                    found.iter_mut().for_each(|b| *b = !*b);
                    let mut dst = Dst::new(&mut bytes, &p).unwrap();
                    dst.scatter(lane, start, &found);
                    let changed = bytes.iter().zip(&before).filter(|(a, b)| a != b).count();
                    assert_eq!((expected(&bytes, &p, lane, start, n), changed), (found, n * dtype.size()), "{p:?}");
                }
            }
        }
    }
}

#[test]
fn slices_of_lanes_are_those_of_the_memory() {
    let p = Pattern::dense(Dtype::Float32, &[3, 2]).unwrap();
    let mut bytes = memory(24);
    let copy = bytes.clone();
    let mut dst = Dst::new(&mut bytes, &p).unwrap();
    assert_eq!(dst.as_src().run_lanes(1..3), Some(&copy[8..24]));
    assert_eq!(dst.as_src().run_lanes(1..4), None);
    dst.run_lanes_mut(0..2).unwrap().fill(1);
    dst.run_mut(2, 1, 1).unwrap().fill(2);
    assert_eq!(bytes[..16], [1; 16]);
    assert_eq!(bytes[20..], [2; 4]);
}

#[test]
fn parts_own_their_lanes_and_nothing_else() {
    let p = strided(Dtype::Uint8, 0, &[(8, 4), (1, 5)]);
    let mut bytes = vec![0; 29];
    let (mut a, rest) = Dst::new(&mut bytes, &p).unwrap().split_at(1);
    let (mut b, mut c) = rest.split_at(3);
    std::thread::scope(|s| {
        s.spawn(|| a.scatter(0, 0, &[1; 5]));
        s.spawn(|| (1..3).for_each(|lane| b.run_mut(lane, 0, 5).unwrap().fill(2)));
        s.spawn(|| c.with_bytes_out(3, 1, 4, |out| out.fill(3)));
    });
    for part in [&mut a, &mut c] {
        assert!(part.run_mut(1, 0, 5).is_none() && part.as_src().run(1, 0, 5).is_none());
        assert!(catch_unwind(AssertUnwindSafe(|| part.scatter(1, 0, &[9]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| part.as_src().gather(1, 0, &mut [9]))).is_err());
        // A part shows its bytes neither under another pattern nor at computed addresses.
        assert!(part.reshaped(&Pattern::dense(Dtype::Uint8, &[1, 1]).unwrap()).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| part.window().write(8, &[9]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| part.as_src().window().bytes(8, 1).is_some())).is_err());
    }
    assert_eq!(bytes[..5], [1; 5]);
    assert_eq!((&bytes[8..13], &bytes[16..21], &bytes[24..]), (&[2; 5][..], &[2; 5][..], &[0, 3, 3, 3, 3][..]));
}

#[test]
fn lanes_that_share_bytes_are_not_split() {
    let p = strided(Dtype::Uint8, 0, &[(4, 3), (1, 5)]);
    let mut bytes = vec![0; 16];
    let whole = Dst::new(&mut bytes, &p).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| whole.split_at(1))).is_err());
    let listed = Pattern::listed(Dtype::Uint8, &[2, 1], Arc::from([3usize, 3])).unwrap();
    let whole = Dst::new(&mut bytes, &listed).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| whole.split_at(1))).is_err());
}

#[test]
fn nothing_outside_of_the_memory_is_reached() {
    let mut bytes = vec![0; 12];
    for p in [
        Pattern::dense(Dtype::Uint8, &[1, 13]).unwrap(),
        strided(Dtype::Uint8, -1, &[(0, 1), (1, 2)]),
        strided(Dtype::Uint8, 3, &[(-2, 3), (1, 1)]),
        Pattern::listed(Dtype::Int32, &[1, 1], Arc::from([9usize])).unwrap(),
    ] {
        assert!(Src::new(&bytes, &p).is_err() && Dst::new(&mut bytes, &p).is_err(), "{p:?}");
    }
    let p = Pattern::dense(Dtype::Uint8, &[2, 6]).unwrap();
    let wide = Pattern::dense(Dtype::Uint8, &[2, 7]).unwrap();
    let mut dst = Dst::new(&mut bytes, &p).unwrap();
    assert!(dst.reshaped(&wide).is_err() && dst.as_src().reshaped(&wide).is_err());
    for (lane, start, n) in [(2, 0, 1), (0, 6, 1), (0, 3, 4), (0, usize::MAX, 2), (usize::MAX, 0, 1)] {
        assert!(dst.run_mut(lane, start, n).is_none() && dst.as_src().run(lane, start, n).is_none());
        assert!(catch_unwind(AssertUnwindSafe(|| dst.scatter(lane, start, &vec![1; n]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| dst.as_src().gather(lane, start, &mut vec![1; n]))).is_err());
    }
}

#[test]
fn a_window_ends_where_its_view_does() {
    let p = strided(Dtype::Uint8, 4, &[(4, 2), (1, 2)]);
    let mut bytes = memory(16);
    let copy = bytes.clone();
    let mut dst = Dst::new(&mut bytes, &p).unwrap();
    let mut two = [0; 2];
    let src = dst.as_src();
    assert_eq!(src.window().bytes(4, 6), Some(&copy[4..10]));
    assert!(src.window().read(8, &mut two) && two == copy[8..10]);
    for byte in [3, 9, -1, i64::MAX, i64::MIN] {
        assert!(!src.window().read(byte, &mut two));
    }
    let mut window = dst.window();
    assert!(window.write(5, &[7, 8]) && window.read(5, &mut two) && two == [7, 8]);
    for byte in [3, 9, -1, i64::MAX, i64::MIN] {
        assert!(!window.write(byte, &[7, 8]));
    }
    assert_eq!((bytes[4], &bytes[5..7], &bytes[7..]), (copy[4], &[7, 8][..], &copy[7..]));
}

#[test]
fn a_source_that_is_the_destination_is_read_before_it_is_written() {
    let p = Pattern::dense(Dtype::Uint8, &[2, 3]).unwrap();
    let mut bytes = memory(6);
    let copy = bytes.clone();
    let mut dst = Dst::new(&mut bytes, &p).unwrap();
    let flat = p.flat();
    let (source, mut dst) = (Source::Same.reshaped(&flat).unwrap(), dst.reshaped(&flat).unwrap());
    let mut old = [0; 6];
    source.view(&dst).gather(0, 0, &mut old);
    old.iter_mut().for_each(|b| *b = !*b);
    dst.scatter(0, 0, &old);
    assert!(bytes.iter().zip(copy).all(|(a, b)| *a == !b));
}

#[test]
fn tiles_across_reach_every_element_once() {
    let (lanes, len) = (37, 19);
    let from = strided(Dtype::Bfloat16, 1, &[(2, lanes), (2 * i64::from(lanes) + 1, len)]);
    let to = strided(Dtype::Bfloat16, 0, &[(2 * i64::from(len) + 3, lanes), (2, len)]);
    let bytes = memory(from.extent().unwrap().1 as usize);
    let mut out = vec![0; to.extent().unwrap().1 as usize];
    let src = Src::new(&bytes, &from).unwrap();
    copy_across(&src, &mut Dst::new(&mut out, &to).unwrap()).unwrap().unwrap();
    assert_eq!(Src::new(&out, &to).unwrap().to_dense(), src.to_dense());
}
