//! Memset with a constant.

mod views;
use birsim_kernels::{Dtype, fill::memset_const};
use views::Tensor;

#[test]
fn the_store_is_as_wide_as_the_dtype() {
    for dtype in Dtype::ALL {
        let mut t = Tensor::filled(*dtype, &[3, 1500], 0xEE);
        memset_const(0x8877_6655_4433_2211, &mut t.dst()).unwrap();
        let want = &0x8877_6655_4433_2211u64.to_le_bytes()[..dtype.size()];
        assert!(t.bytes.chunks_exact(dtype.size()).all(|e| e == want), "{dtype}");
    }
}

#[test]
fn bytes_outside_the_pattern_stay() {
    let mut t = Tensor::filled(Dtype::Uint16, &[4, 6], 0xA5);
    memset_const(0x1234, &mut t.dst_at(2, &[(12, 2), (2, 2)])).unwrap();
    let got: Vec<u16> = t.values();
    for (i, v) in got.iter().enumerate() {
        let hit = [2, 4, 14, 16].contains(&i);
        assert_eq!(*v, if hit { 0x1234 } else { 0xA5A5 }, "element {i}");
    }
}

#[test]
fn an_empty_pattern_writes_nothing() {
    let mut t = Tensor::filled(Dtype::Float32, &[2, 2], 7);
    memset_const(0, &mut t.dst_at(0, &[(2, 0), (1, 2)])).unwrap();
    memset_const(0, &mut t.dst_at(0, &[(2, 2), (1, 0)])).unwrap();
    assert!(t.bytes.iter().all(|b| *b == 7));
}
