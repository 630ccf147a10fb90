//! The header of a `.npy` file: magic, version, length, and a Python dictionary literal.

use crate::{Element, MAGIC, descr_of, guard};
use birsim_kernels::{Code, Dtype, Error, Result};
use npyz::{DType, NpyHeader, Order};
use std::io::Read;

/// Longest header that is read; NumPy's own limit for safe literals is 10 000 bytes.
const MAX_HEADER: usize = 1 << 16;

/// What a `.npy` file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element descriptor.
    pub element: Element,
    /// Column-major data.
    pub fortran: bool,
    /// Shape.
    pub shape: Vec<u64>,
    /// Bytes of data that follow.
    pub bytes: u64,
    /// Bytes before the data.
    pub length: u64,
}

impl Header {
    /// Reads a header; the reader is left at the first data byte. Reads no more than the header and never more than 64 KiB.
    pub fn read(from: &mut dyn Read) -> Result<Header> {
        let mut file = vec![0u8; 10];
        fill(from, &mut file)?;
        if &file[..6] != MAGIC {
            return Err(malformed("the file does not start with the .npy magic").received(show(&file[..6])));
        }
        if !matches!((file[6], file[7]), (1..=3, 0)) {
            return Err(malformed("unknown .npy format version").received(format!("{}.{}", file[6], file[7])));
        }
        let mut length = usize::from(u16::from_le_bytes([file[8], file[9]]));
        if file[6] > 1 {
            file.resize(12, 0);
            fill(from, &mut file[10..])?;
            length |= usize::from(u16::from_le_bytes([file[10], file[11]])) << 16;
        }
        if length > MAX_HEADER {
            return Err(malformed("the .npy header is longer than 64 KiB").received(format!("{length} bytes")));
        }
        let start = file.len();
        file.resize(start + length, 0);
        fill(from, &mut file[start..])?;
        let text = std::str::from_utf8(&file[start..]).map_err(|_| malformed("the .npy header is not text"))?;
        let text = guard::checked(text)?;
        file[start..].copy_from_slice(&text);
        interpret(&file)
    }
}

/// Reads a guarded header with npyz and takes over what a tensor needs.
fn interpret(file: &[u8]) -> Result<Header> {
    let header = NpyHeader::from_reader(file).map_err(|e| {
        // The parser draws the text with a marker below it; its first line says what is missing.
        let text = e.to_string();
        let first: String = text.lines().next().unwrap_or_default().chars().take(100).collect();
        malformed("the .npy header is not the dictionary that NumPy writes").received(first.trim_end())
    })?;
    let DType::Plain(plain) = header.dtype() else {
        return Err(
            malformed("only plain element types are supported, not records").advice("store one plain array per tensor")
        );
    };
    let element = Element::of(&plain).ok_or_else(|| {
        malformed("the element type is not a plain number or raw bits")
            .received(format!("descr '{plain}'"))
            .advice("store numbers or void (raw) elements of 1, 2, 4 or 8 bytes")
    })?;
    let shape = header.shape().to_vec();
    let bytes = header
        .len()
        .checked_mul(element.size as u64)
        .filter(|n| *n <= i64::MAX as u64)
        .ok_or_else(|| malformed("the shape is larger than any file can be").received(format!("{shape:?}")))?;
    Ok(Header { element, fortran: header.order() == Order::Fortran, shape, bytes, length: file.len() as u64 })
}

fn fill(from: &mut dyn Read, to: &mut [u8]) -> Result<()> {
    from.read_exact(to).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => malformed("the file ends inside the .npy header"),
        _ => Error::new(Code::F001, format!("reading failed: {e}")),
    })
}

pub(crate) fn malformed(what: &str) -> Error {
    Error::new(Code::F003, what)
}

fn show(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// Magic, version and dictionary, padded so that the data starts at a multiple of 64 bytes.
///
/// These are the bytes that `numpy.save` writes, so that equal tensors make equal files; npyz spells the shape differently.
pub fn header_bytes(dtype: Dtype, shape: &[u64]) -> Vec<u8> {
    let dims: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let dims = if shape.len() > 1 { dims.trim_end_matches(", ") } else { dims.trim_end() };
    let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}", descr_of(dtype));
    // Version 1.0 counts in 16 bits; only absurdly many dimensions need version 2.0.
    let long = text.len() + 75 > usize::from(u16::MAX);
    let fixed = if long { 12 } else { 10 };
    let total = (fixed + text.len() + 1).next_multiple_of(64);
    let length = ((total - fixed) as u32).to_le_bytes();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(if long { &[2, 0] } else { &[1, 0] });
    out.extend_from_slice(&length[..fixed - 8]);
    out.extend_from_slice(text.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header> {
        let mut file = b"\x93NUMPY\x02\x00".to_vec();
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(text.as_bytes());
        Header::read(&mut file.as_slice())
    }

    #[test]
    fn a_numpy_header_is_read() {
        let h = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }      \n").unwrap();
        assert_eq!((h.shape, h.bytes, h.fortran), (vec![4, 8], 128, false));
        let h = parse("{\"shape\":(),\"descr\":\"|V2\",\"fortran_order\":True}").unwrap();
        assert_eq!((h.shape, h.bytes, h.fortran), (vec![], 2, true));
        assert_eq!(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}").unwrap().shape, [3]);
        assert_eq!(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5)}").unwrap().bytes, 0);
        let lines = "{'descr': '<f4',\n 'fortran_order': False,\r\n 'shape': (2, 3)}\n\n";
        assert_eq!(parse(lines).unwrap().shape, [2, 3]);
    }

    #[test]
    fn the_one_byte_float_of_ml_dtypes_is_raw_bits() {
        let h = parse("{'descr': '<f1', 'fortran_order': False, 'shape': (5,), }").unwrap();
        assert_eq!((h.element.kind, h.element.size, h.bytes), (b'V', 1, 5));
        assert!(h.element.holds(Dtype::Float8e5) && !h.element.holds(Dtype::Uint8));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let shape = |s: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {s}}}");
        let deep = |n: usize| format!("{}{}", "(".repeat(n), ")".repeat(n));
        let cases = [
            String::new(),
            "{}".into(),
            "{'descr': '<f4'}".into(),
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}".into(),
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}".into(),
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}".into(),
            "{'descr: '".into(),
            "[".repeat(60_000),
            "{".repeat(60_000),
            "{'descr': {'descr': 1}, 'fortran_order': False, 'shape': (1,)}".into(),
            "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1,)}".into(),
            "{'descr': b'<f4', 'fortran_order': False, 'shape': (1,)}".into(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 'y'}".into(),
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}".into(),
            format!("{} trailing", shape("(1,)")),
            format!("{}(1,)", shape("(1,)")),
            shape("(-1,)"),
            shape("(1.5,)"),
            shape("(1e3,)"),
            shape("(0x10,)"),
            shape("(99999999999999999999,)"),
            shape("(18446744073709551615, 2)"),
            shape("(4294967296, 4294967296, 0)"),
            shape("(9223372036854775807,)"),
            shape("(((((("),
            shape("1,)"),
            shape(&deep(30_000)),
            shape(&format!("({})", "1,".repeat(100))),
            shape(&format!("({})", "9".repeat(60_000))),
        ];
        for bad in cases {
            let short: String = bad.chars().take(80).collect();
            let e = parse(&bad).expect_err(&short);
            assert_eq!(e.code(), Code::F003, "{short}");
            assert!(e.to_string().len() < 600, "a short message for {short}: {e}");
        }
    }

    #[test]
    fn the_header_is_numpys() {
        let h = header_bytes(Dtype::Float32, &[4, 8]);
        assert_eq!(h.len(), 128);
        assert!(h[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }"));
        let text = String::from_utf8(header_bytes(Dtype::Uint8, &[3])[10..].to_vec()).unwrap();
        assert!(text.contains("'shape': (3,), "), "{text}");
        assert!(String::from_utf8_lossy(&header_bytes(Dtype::Int64, &[])[10..]).contains("'shape': (), "));
        for d in Dtype::ALL.iter().copied() {
            let bytes = header_bytes(d, &[2, 3]);
            let read = Header::read(&mut bytes.as_slice()).unwrap();
            assert_eq!((read.length, read.bytes), (128, 6 * d.size() as u64), "{d}");
            assert!(read.element.holds(d) && read.shape == [2, 3], "{d}");
        }
    }
}
