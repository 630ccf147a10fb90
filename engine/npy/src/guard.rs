//! What must hold of a header's text before npyz parses it.
//!
//! npyz is meant for files one trusts: nested brackets cost stack and, where it tries two readings, time that doubles
//! with each level; the product of the dimensions may overflow; a second key of one name replaces the first. The guard
//! reads the text once, refuses all that, and puts two spellings right that npyz does not know.

use crate::header::malformed;
use birsim_kernels::Result;

/// Brackets inside each other: dictionary, list of fields, field, shape of the field.
const MAX_DEPTH: usize = 4;
/// NumPy allows 64 dimensions.
const MAX_DIMS: usize = 64;
/// The keys that NumPy writes, and no others.
const KEYS: usize = 3;

/// Checks the dictionary text of a header and returns it as npyz reads it, of the same length.
pub fn checked(text: &str) -> Result<Vec<u8>> {
    let mut scan = Scan { bytes: text.as_bytes(), out: text.as_bytes().to_vec(), ..Scan::default() };
    while scan.at < scan.bytes.len() {
        scan.token()?;
    }
    if scan.depth > 0 {
        return Err(malformed("a bracket of the .npy header is not closed"));
    }
    if scan.keys > KEYS {
        return Err(malformed("the .npy header has keys that NumPy does not write, or one of them twice")
            .received(format!("{} keys", scan.keys)));
    }
    Ok(scan.out)
}

#[derive(Default)]
struct Scan<'a> {
    bytes: &'a [u8],
    out: Vec<u8>,
    at: usize,
    depth: usize,
    keys: usize,
    numbers: usize,
    /// Product of all numbers, zeros left out: no larger than this is any product that npyz forms.
    product: u64,
}

impl Scan<'_> {
    fn token(&mut self) -> Result<()> {
        match self.bytes[self.at] {
            b'\'' | b'"' => return self.text(),
            b'0'..=b'9' => return self.number(),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => return self.word(),
            b'{' if self.depth > 0 => return Err(self.odd()),
            b'{' | b'[' | b'(' => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(malformed("brackets of the .npy header are nested too deep")
                        .received(format!("more than {MAX_DEPTH} levels")));
                }
            }
            b'}' | b']' | b')' => self.depth = self.depth.checked_sub(1).ok_or_else(|| self.odd())?,
            b':' => self.keys += 1,
            b',' | b'-' | b' ' | b'\t' => {}
            // Line ends between tokens are blanks to Python, but not to npyz.
            b'\n' | b'\r' => self.out[self.at] = b' ',
            _ => return Err(self.odd()),
        }
        self.at += 1;
        Ok(())
    }

    /// A quoted text. Escapes are refused: no name or type needs one.
    fn text(&mut self) -> Result<()> {
        let quote = self.bytes[self.at];
        let body = &self.bytes[self.at + 1..];
        let end = body.iter().position(|b| *b == quote || *b == b'\\' || *b == b'\n');
        match end.map(|e| (e, body[e])) {
            Some((end, b)) if b == quote => {
                // ml_dtypes names float8_e5m2 so, which neither NumPy nor npyz takes for a type: it is raw bits.
                if matches!(&body[..end], b"<f1" | b"|f1" | b">f1") {
                    self.out[self.at + 1..][..3].copy_from_slice(b"|V1");
                }
                self.at += end + 2;
                Ok(())
            }
            Some((_, b'\\')) => Err(malformed("a text of the .npy header has an escape sequence")),
            _ => Err(malformed("a text of the .npy header does not end")),
        }
    }

    fn number(&mut self) -> Result<()> {
        let digits = self.run(u8::is_ascii_digit);
        let value: u64 = std::str::from_utf8(digits)
            .ok()
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| malformed("a dimension is not a number that fits 64 bits"))?;
        self.numbers += 1;
        if self.numbers > MAX_DIMS {
            return Err(malformed("the array has more than 64 dimensions"));
        }
        self.product = self
            .product
            .max(1)
            .checked_mul(value.max(1))
            .filter(|p| *p <= i64::MAX as u64)
            .ok_or_else(|| malformed("the shape is larger than any file can be"))?;
        // Python 2 wrote long integers with a trailing L.
        if self.bytes.get(self.at) == Some(&b'L') {
            self.out[self.at] = b' ';
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self) -> Result<()> {
        let start = self.at;
        match self.run(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            b"True" | b"False" => Ok(()),
            _ => {
                self.at = start;
                Err(self.odd())
            }
        }
    }

    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|b| !belongs(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn odd(&self) -> birsim_kernels::Error {
        let rest = String::from_utf8_lossy(&self.bytes[self.at..]);
        let got: String = rest.chars().take(12).collect();
        malformed("the .npy header is not the dictionary that NumPy writes").received(format!("'{got}'"))
    }
}
