//! The header of a `.npy` file: magic, version, length, and a Python dictionary literal.

use super::{Element, MAGIC};
use birsim_kernels::{Code, Error, Result};
use std::io::Read;

/// Longest header that is read; NumPy's own limit for safe literals is 10 000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// NumPy allows 64 dimensions.
const MAX_DIMS: usize = 64;

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
}

impl Header {
    /// Reads a header; the reader is left at the first data byte. Reads no more than the header and never more than 64 KiB.
    pub fn read(from: &mut dyn Read) -> Result<Header> {
        let mut start = [0u8; 10];
        fill(from, &mut start)?;
        if &start[..6] != MAGIC {
            return Err(malformed("the file does not start with the .npy magic").received(show(&start[..6])));
        }
        let short = u16::from_le_bytes([start[8], start[9]]);
        let length = match (start[6], start[7]) {
            (1, 0) => usize::from(short),
            (2 | 3, 0) => {
                let mut rest = [0u8; 2];
                fill(from, &mut rest)?;
                (u32::from(short) | (u32::from(u16::from_le_bytes(rest)) << 16)) as usize
            }
            (major, minor) => {
                return Err(malformed("unknown .npy format version").received(format!("{major}.{minor}")));
            }
        };
        if length > MAX_HEADER {
            return Err(malformed("the .npy header is longer than 64 KiB").received(format!("{length} bytes")));
        }
        let mut text = vec![0u8; length];
        fill(from, &mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| malformed("the .npy header is not text"))?;
        parse(text)
    }
}

fn fill(from: &mut dyn Read, to: &mut [u8]) -> Result<()> {
    from.read_exact(to).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => malformed("the file ends inside the .npy header"),
        _ => Error::new(Code::F001, format!("reading failed: {e}")),
    })
}

pub(super) fn malformed(what: &str) -> Error {
    Error::new(Code::F003, what)
}

fn show(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`: a flat dictionary with these three keys.
fn parse(text: &str) -> Result<Header> {
    let mut p = Scanner { rest: text };
    let (mut element, mut fortran, mut shape) = (None, None, None);
    p.expect('{')?;
    while !p.accept('}') {
        let key = p.string()?;
        p.expect(':')?;
        match key {
            "descr" => {
                let text = p.string().map_err(|_| {
                    malformed("only plain element types are supported, not records")
                        .advice("store one plain array per tensor")
                })?;
                element = Some(Element::parse(text).ok_or_else(|| {
                    malformed("the element type is not a plain number or raw bits")
                        .received(format!("descr '{text}'"))
                        .advice("store numbers or void (raw) elements of 1, 2, 4 or 8 bytes")
                })?);
            }
            "fortran_order" => fortran = Some(p.boolean()?),
            "shape" => shape = Some(p.tuple()?),
            other => return Err(malformed("unknown key in the .npy header").received(format!("'{other}'"))),
        }
        if !p.accept(',') {
            p.expect('}')?;
            break;
        }
    }
    if !p.rest.trim().is_empty() {
        return Err(malformed("text after the dictionary of the .npy header"));
    }
    let missing = |key: &str| malformed("a key of the .npy header is missing").received(format!("no '{key}'"));
    let element = element.ok_or_else(|| missing("descr"))?;
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    let shape: Vec<u64> = shape.ok_or_else(|| missing("shape"))?;
    let bytes = shape
        .iter()
        .try_fold(element.size as u64, |n, d| n.checked_mul(*d))
        .filter(|n| *n <= i64::MAX as u64)
        .ok_or_else(|| malformed("the shape is larger than any file can be").received(format!("{shape:?}")))?;
    Ok(Header { element, fortran, shape, bytes })
}

struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn accept(&mut self, c: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.accept(c) {
            return Ok(());
        }
        let got: String = self.rest.chars().take(12).collect();
        Err(malformed("the .npy header is not a dictionary literal").received(format!("'{got}' where '{c}' should be")))
    }

    fn string(&mut self) -> Result<&'a str> {
        self.skip();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or_else(|| malformed("a text is missing in the .npy header"))?;
        let body = &self.rest[1..];
        let end = body.find(quote).ok_or_else(|| malformed("a text of the .npy header does not end"))?;
        self.rest = &body[end + 1..];
        Ok(&body[..end])
    }

    fn boolean(&mut self) -> Result<bool> {
        self.skip();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(malformed("fortran_order is neither True nor False"))
    }

    fn tuple(&mut self) -> Result<Vec<u64>> {
        let mut dims = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            self.skip();
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let number = self.rest[..digits].parse();
            dims.push(number.map_err(|_| malformed("a dimension is not a number that fits 64 bits"))?);
            // Python 2 wrote long integers with a trailing L.
            self.rest = self.rest[digits..].trim_start_matches('L');
            if dims.len() > MAX_DIMS {
                return Err(malformed("the array has more than 64 dimensions"));
            }
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numpy_header_is_read() {
        let h = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }      \n").unwrap();
        assert_eq!((h.shape, h.bytes, h.fortran), (vec![4, 8], 128, false));
        let h = parse("{\"shape\":(),\"descr\":\"|V2\",\"fortran_order\":True}").unwrap();
        assert_eq!((h.shape, h.bytes, h.fortran), (vec![], 2, true));
        assert_eq!(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}").unwrap().shape, [3]);
        assert_eq!(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5)}").unwrap().bytes, 0);
    }

    #[test]
    fn hostile_headers_are_refused() {
        for bad in [
            "",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ((((((",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} trailing",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 'y'}",
            "{'descr: '",
        ] {
            assert_eq!(parse(bad).unwrap_err().code(), Code::F003, "{bad}");
        }
        let many = "1,".repeat(100);
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({many})}}");
        assert_eq!(parse(&text).unwrap_err().code(), Code::F003);
    }
}
