//! Pulls one CBOR head at a time; every failure names the byte where it was seen.

use birsim_kernels::error::Code;
use birsim_kernels::{Error, Result};

/// How deep tagged values may nest. Real files stay below twenty; only offset accesses can recurse.
const MAX_DEPTH: u32 = 96;

/// A cursor over the bytes of a file.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: u32,
}

/// Head of a tagged value, read by [`Reader::constructor`].
pub(crate) struct Head {
    /// Constructor index.
    pub index: u8,
    type_name: &'static str,
    length: u64,
    start: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, pos: 0, depth: 0 }
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Number of bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// The next bytes without taking them, fewer than `count` at the end.
    pub fn peek(&self, count: usize) -> &'a [u8] {
        &self.bytes[self.pos..self.bytes.len().min(self.pos.saturating_add(count))]
    }

    /// Takes everything that is left.
    pub fn skip_rest(&mut self) {
        self.pos = self.bytes.len();
    }

    #[cold]
    pub fn fail(&self, at: usize, expected: &str, found: impl std::fmt::Display) -> Error {
        Error::new(Code::K001, format!("expected {expected}, found {found}"))
            .at(|p| p.source = Some(format!("byte {at}")))
    }

    /// Describes the byte at `at`, for messages.
    fn describe(&self, at: usize) -> String {
        let Some(&byte) = self.bytes.get(at) else { return "the end of the file".to_owned() };
        let kind = match byte >> 5 {
            0 => "an unsigned integer",
            1 => "a negative integer",
            2 => "a byte string",
            3 => "a text string",
            4 => "an array",
            5 => "a map",
            6 => "a tagged value",
            _ => match byte {
                0xf4 | 0xf5 => "a boolean",
                0xfa => "a 32-bit float",
                _ => "a simple value or a float of another width",
            },
        };
        format!("{kind} (byte {byte:#04x})")
    }

    fn take(&mut self, count: usize, expected: &str) -> Result<&'a [u8]> {
        if count > self.remaining() {
            let found = format!("the end of the file after {} of {count} bytes", self.remaining());
            return Err(self.fail(self.bytes.len(), expected, found));
        }
        let start = self.pos;
        self.pos += count;
        Ok(&self.bytes[start..self.pos])
    }

    /// Argument of a head whose major type must be one of `majors`; returns (major, argument).
    fn head(&mut self, majors: &[u8], expected: &str) -> Result<(u8, u64)> {
        let start = self.pos;
        let Some(&first) = self.bytes.get(start) else {
            return Err(self.fail(start, expected, "the end of the file"));
        };
        let (major, info) = (first >> 5, first & 31);
        let width = match info {
            0..=23 => 0,
            24..=27 => 1 << (info - 24),
            // Reserved forms and indefinite lengths are never written.
            _ => return Err(self.fail(start, expected, format!("the reserved head {first:#04x}"))),
        };
        if !majors.contains(&major) {
            return Err(self.fail(start, expected, self.describe(start)));
        }
        self.pos += 1;
        if width == 0 {
            return Ok((major, info.into()));
        }
        let argument = self.take(width, expected)?.iter().fold(0, |n, b| n << 8 | u64::from(*b));
        Ok((major, argument))
    }

    pub fn nat(&mut self) -> Result<u64> {
        Ok(self.head(&[0], "an unsigned integer")?.1)
    }

    pub fn int(&mut self) -> Result<i64> {
        let start = self.pos;
        let (major, argument) = self.head(&[0, 1], "an integer")?;
        match i64::try_from(argument) {
            Ok(n) if major == 0 => Ok(n),
            Ok(n) => Ok(-1 - n),
            Err(_) => Err(self.fail(start, "an integer of 64 bits", "a wider one")),
        }
    }

    pub fn int32(&mut self) -> Result<i32> {
        let start = self.pos;
        let value = self.int()?;
        i32::try_from(value).map_err(|_| self.fail(start, "an integer of 32 bits", value))
    }

    pub fn boolean(&mut self) -> Result<bool> {
        match self.bytes.get(self.pos) {
            Some(0xf4 | 0xf5) => {
                self.pos += 1;
                Ok(self.bytes[self.pos - 1] == 0xf5)
            }
            _ => Err(self.fail(self.pos, "a boolean", self.describe(self.pos))),
        }
    }

    pub fn float32(&mut self) -> Result<f32> {
        if self.bytes.get(self.pos) != Some(&0xfa) {
            return Err(self.fail(self.pos, "a 32-bit float", self.describe(self.pos)));
        }
        self.pos += 1;
        let bits = self.take(4, "a 32-bit float")?.iter().fold(0, |n, b| n << 8 | u32::from(*b));
        Ok(f32::from_bits(bits))
    }

    pub fn text(&mut self) -> Result<String> {
        let (_, length) = self.head(&[3], "a text string")?;
        let start = self.pos;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = self.take(length, "a text string")?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => Err(self.fail(start + e.valid_up_to(), "UTF-8 text", "an invalid sequence")),
        }
    }

    /// Head of a list: its element count, which every element must be able to back with a byte.
    pub fn list(&mut self) -> Result<usize> {
        let start = self.pos;
        let (_, count) = self.head(&[4], "a list")?;
        match usize::try_from(count) {
            Ok(n) if n <= self.remaining() => Ok(n),
            _ => {
                let found = format!("{count} elements with {} bytes left", self.remaining());
                Err(self.fail(start, "a list that fits the file", found))
            }
        }
    }

    /// Head of a tagged value of the given type: tag, constructor, array length. Pair with [`Self::leave`].
    pub fn constructor(&mut self, type_name: &'static str, tag: u8) -> Result<Head> {
        let start = self.pos;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail(start, &format!("at most {MAX_DEPTH} nested values"), "one more"));
        }
        let expected = || format!("{type_name} (tag {tag})");
        let (_, number) = self.head(&[6], &expected())?;
        if number >> 8 != u64::from(tag) {
            return Err(self.fail(start, &expected(), format!("tag {}, constructor {}", number >> 8, number & 255)));
        }
        let (_, length) = self.head(&[4], &format!("the field count of {type_name}"))?;
        Ok(Head { index: (number & 255) as u8, type_name, length, start })
    }

    /// Ends a tagged value.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Checks the argument count of a constructor.
    pub fn arguments(&self, head: &Head, count: u64) -> Result<()> {
        if head.length == count {
            return Ok(());
        }
        let expected = format!("{count} arguments of {} constructor {}", head.type_name, head.index);
        Err(self.fail(head.start, &expected, head.length))
    }

    #[cold]
    pub fn unknown_constructor(&self, head: &Head) -> Error {
        self.fail(head.start, &format!("a constructor of {}", head.type_name), format!("constructor {}", head.index))
    }

    /// Head of a record of `full` fields, or of the `short` form of an older layout (true).
    pub fn record(&mut self, type_name: &'static str, tag: u8, full: usize, short: usize) -> Result<bool> {
        let head = self.constructor(type_name, tag)?;
        if head.index != 0 {
            return Err(self.unknown_constructor(&head));
        }
        match usize::try_from(head.length) {
            Ok(n) if n == full => Ok(false),
            Ok(n) if n == short => Ok(true),
            _ => {
                let counts = if full == short { full.to_string() } else { format!("{short} or {full}") };
                let expected = format!("{counts} fields of {type_name} (tag {tag})");
                Err(self.fail(head.start, &expected, head.length))
            }
        }
    }

    /// Head of an `Option`: true when a value follows. Pair with [`Self::leave`].
    pub fn option(&mut self) -> Result<bool> {
        let head = self.constructor("Option", 255)?;
        match head.index {
            0 | 1 => {
                self.arguments(&head, head.index.into())?;
                Ok(head.index == 1)
            }
            _ => Err(self.unknown_constructor(&head)),
        }
    }

    /// Takes the two empty arrays that one writer emits for the proofs of a `TensorName`.
    pub fn skip_written_proofs(&mut self) {
        if self.peek(2) == [0x80, 0x80] {
            self.pos += 2;
        }
    }
}
