//! StreamShuffle and StreamTranspose.

mod views;
use birsim_kernels::shuffle::{stream_shuffle, stream_transpose};
use birsim_kernels::{Code, Dtype};
use views::Tensor;

#[test]
fn rows_move_inside_their_block() {
    let x = Tensor::i32(&[64, 2], &(0..128).collect::<Vec<i32>>());
    let mut y = Tensor::filled(Dtype::Int32, &[64, 2], 0);
    let mask: Vec<u8> = (0..32).map(|i| (i * 7 + 5) % 32).collect();
    stream_shuffle(&mask, &x.src(), &mut y.dst()).unwrap();
    let got: Vec<i32> = y.values();
    for p in 0..64 {
        let from = (p / 32 * 32 + usize::from(mask[p % 32])) as i32;
        assert_eq!(got[p * 2..][..2], [2 * from, 2 * from + 1], "partition {p}");
    }
}

#[test]
fn fault_15_mask_255_keeps_the_destination() {
    let x = Tensor::of(Dtype::Uint32, &[32, 3], &[7u32; 96]);
    let mut y = Tensor::of(Dtype::Uint32, &[32, 3], &[0xDEAD_BEEFu32; 96]);
    let mask: Vec<u8> = (0..32).map(|i| if i % 2 == 0 { i } else { 255 }).collect();
    stream_shuffle(&mask, &x.src(), &mut y.dst()).unwrap();
    for (i, v) in y.values::<u32>().iter().enumerate() {
        assert_eq!(*v, if i / 3 % 2 == 0 { 7 } else { 0xDEAD_BEEF });
    }
}

#[test]
fn shuffle_refuses_bad_masks_and_casts() {
    let x = Tensor::of(Dtype::Uint8, &[16, 1], &[0u8; 16]);
    let mut y = x.clone();
    let identity: Vec<u8> = (0..32).collect();
    stream_shuffle(&identity, &x.src(), &mut y.dst()).unwrap();
    let mut bad = identity.clone();
    bad[31] = 32;
    assert_eq!(stream_shuffle(&bad, &x.src(), &mut y.dst()).unwrap_err().code(), Code::S008);
    assert_eq!(stream_shuffle(&identity[1..], &x.src(), &mut y.dst()).unwrap_err().code(), Code::S008);
    let mut beyond = identity.clone();
    beyond[3] = 16;
    assert_eq!(stream_shuffle(&beyond, &x.src(), &mut y.dst()).unwrap_err().code(), Code::S002);
    let mut z = Tensor::filled(Dtype::Int8, &[16, 1], 0);
    assert_eq!(stream_shuffle(&identity, &x.src(), &mut z.dst()).unwrap_err().code(), Code::S007);
    let mut w = Tensor::filled(Dtype::Uint8, &[16, 2], 0);
    assert_eq!(stream_shuffle(&identity, &x.src(), &mut w.dst()).unwrap_err().code(), Code::S002);
}

fn transposed<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    dtype: Dtype,
    rows: u32,
    cols: u32,
    make: impl Fn(u32) -> T,
) {
    let x = Tensor::of(dtype, &[rows, cols], &(0..rows * cols).map(make).collect::<Vec<T>>());
    // Whole tiles stay in place; a smaller matrix turns its sides.
    let shape = if rows.is_multiple_of(32) && cols.is_multiple_of(32) { [rows, cols] } else { [cols, rows] };
    let mut y = Tensor::filled(dtype, &shape, 0);
    stream_transpose(&x.src(), &mut y.dst()).unwrap();
    let (a, b) = (x.values::<T>(), y.values::<T>());
    for p in 0..rows as usize {
        for e in 0..cols as usize {
            let to = ((p & 31) | (e & !31)) + shape[1] as usize * ((p & !31) | (e & 31));
            assert_eq!(b[to], a[p * cols as usize + e], "{dtype} {rows}x{cols} at {p},{e}");
        }
    }
}

#[test]
fn every_tile_is_transposed_in_every_width() {
    for (rows, cols) in [(32, 32), (64, 32), (32, 96), (128, 64), (20, 10), (1, 32), (32, 1), (1, 1)] {
        transposed(Dtype::Uint8, rows, cols, |i| (i * 31) as u8);
        transposed(Dtype::Bfloat16, rows, cols, |i| i as u16);
        transposed(Dtype::Float32, rows, cols, |i| i);
        transposed(Dtype::Int64, rows, cols, |i| i64::from(i) << 32);
    }
}

#[test]
fn ragged_transposes_are_refused() {
    let x = Tensor::filled(Dtype::Uint8, &[40, 10], 1);
    for shape in [[10, 40], [40, 10], [20, 20]] {
        let mut y = Tensor::filled(Dtype::Uint8, &shape, 0);
        assert_eq!(stream_transpose(&x.src(), &mut y.dst()).unwrap_err().code(), Code::S002);
    }
    let mut y = Tensor::filled(Dtype::Int8, &[10, 40], 0);
    assert_eq!(stream_transpose(&x.src(), &mut y.dst()).unwrap_err().code(), Code::S007);
}
