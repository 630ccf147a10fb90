//! Tensor files as NumPy and others write them.

mod common;

use birsim_cli::npy::{Archive, open};
use birsim_kernels::{Code, Dtype};
use common::{Sandbox, f32s, npy};

fn read(bytes: &[u8], dtype: Dtype, shape: &[u64]) -> Result<Vec<u8>, Code> {
    let s = Sandbox::new();
    let path = s.write("t.npy", bytes);
    open(&path).and_then(|n| n.into_tensor(dtype, shape)).map_err(|e| e.code())
}

#[test]
fn little_endian_row_major_is_taken_as_it_is() {
    let data = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(read(&npy("<f4", false, "(2, 3)", &data), Dtype::Float32, &[2, 3]), Ok(data));
}

#[test]
fn big_endian_is_swapped() {
    let data: Vec<u8> = [1u16, 0x0203].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read(&npy(">u2", false, "(2,)", &data), Dtype::Uint16, &[2]), Ok(vec![1, 0, 3, 2]));
    // Raw bits of a type NumPy cannot name are never swapped.
    assert_eq!(read(&npy(">V2", false, "(2,)", &data), Dtype::Bfloat16, &[2]), Ok(data));
}

#[test]
fn column_major_is_reordered() {
    // A 2 x 3 x 2 array whose element at [i, j, k] is 100 i + 10 j + k.
    let mut data = Vec::new();
    let mut want = Vec::new();
    for k in 0..2u8 {
        for j in 0..3u8 {
            (0..2u8).for_each(|i| data.push(100 * i + 10 * j + k));
        }
    }
    for i in 0..2u8 {
        for j in 0..3u8 {
            (0..2u8).for_each(|k| want.push(100 * i + 10 * j + k));
        }
    }
    assert_eq!(read(&npy("|u1", true, "(2, 3, 2)", &data), Dtype::Uint8, &[2, 3, 2]), Ok(want));
    assert_eq!(read(&npy("|u1", true, "(0, 3)", &[]), Dtype::Uint8, &[0, 3]), Ok(vec![]));
}

#[test]
fn every_spelling_of_narrow_types_is_read() {
    for (descr, dtype) in [
        ("<V2", Dtype::Bfloat16),
        ("|V2", Dtype::Bfloat16),
        ("<u2", Dtype::Bfloat16),
        ("<V1", Dtype::Float8e4),
        ("|V1", Dtype::Float8E4m3fn),
        ("<f1", Dtype::Float8e5),
        ("|u1", Dtype::Float8E8m0fnu),
        ("|V4", Dtype::Float8E4m3fnX4),
        ("<u4", Dtype::Float8E5m2X4),
        ("|V2", Dtype::Float4E2m1fnX4),
        ("|b1", Dtype::Uint8),
    ] {
        let data: Vec<u8> = (0..2 * dtype.size() as u8).collect();
        assert_eq!(read(&npy(descr, false, "(2,)", &data), dtype, &[2]), Ok(data), "{descr}");
    }
}

#[test]
fn wrong_kind_width_or_shape_is_refused_by_name() {
    let data = [0u8; 16];
    for (descr, dtype) in
        [("<i4", Dtype::Float32), ("|V4", Dtype::Float32), ("<f8", Dtype::Float32), ("<f2", Dtype::Bfloat16)]
    {
        let shape = if descr == "<f8" { "(2,)" } else { "(4,)" };
        assert_eq!(read(&npy(descr, false, shape, &data), dtype, &[4]), Err(Code::F004), "{descr}");
    }
    let file = npy("<f4", false, "(4,)", &data);
    for shape in [&[2u64, 2][..], &[4, 1], &[1, 4], &[5], &[]] {
        assert_eq!(read(&file, Dtype::Float32, shape), Err(Code::F004), "{shape:?}");
    }
}

#[test]
fn damaged_files_are_errors_and_cost_no_memory() {
    let good = npy("<f4", false, "(2, 2)", &[7; 16]);
    for cut in 0..good.len() {
        assert_eq!(read(&good[..cut], Dtype::Float32, &[2, 2]), Err(Code::F003), "cut at {cut}");
    }
    let claims = npy("<f4", false, "(1000000000000, 100000)", &[7; 16]);
    assert_eq!(read(&claims, Dtype::Float32, &[1_000_000_000_000, 100_000]), Err(Code::F003));
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert_eq!(read(&long, Dtype::Float32, &[1]), Err(Code::F003));
    // Whatever a byte of the header becomes, the reader answers with a tensor or a typed error.
    for at in 0..good.len() - 16 {
        for value in [0, b'(', b'9', b'\'', 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            if let Err(code) = read(&bytes, Dtype::Float32, &[2, 2]) {
                assert!(matches!(code, Code::F003 | Code::F004), "{code} at {at}");
            }
        }
    }
}

#[test]
fn bytes_after_the_data_are_ignored() {
    let mut bytes = npy("<f4", false, "(1,)", &f32s(&[1.0]));
    bytes.extend([9; 5]);
    assert_eq!(read(&bytes, Dtype::Float32, &[1]), Ok(f32s(&[1.0])));
}

#[test]
fn a_damaged_archive_member_is_refused() {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("x.npy", options).unwrap();
    zip.write_all(&npy("<f4", false, "(2,)", &f32s(&[1.0, 2.0]))).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    let s = Sandbox::new();
    let member = |bytes: &[u8]| {
        let path = s.write("a.npz", bytes);
        let mut archive = Archive::open(&path).unwrap();
        archive.member("x").unwrap().into_bytes().map_err(|e| e.code())
    };
    assert_eq!(member(&bytes), Ok(f32s(&[1.0, 2.0])));
    let at = bytes.windows(4).position(|w| w == 1.0f32.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    assert_eq!(member(&bytes), Err(Code::F003));
}
