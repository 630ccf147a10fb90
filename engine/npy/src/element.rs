//! The element descriptor of a `.npy` file and the dtypes it may mean.

use birsim_kernels::Dtype;
use npyz::{Endianness, TypeChar, TypeStr};
use std::fmt;

/// A scalar type descriptor such as `<f4`, `|V2` or `>i8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes are stored most significant first.
    pub big_endian: bool,
    /// NumPy's kind letter: `f`, `i`, `u`, `b` or `V`.
    pub kind: u8,
    /// Bytes of one element.
    pub size: usize,
    order: Endianness,
}

impl Element {
    /// `None` for anything but a plain scalar of 1 to 16 bytes, so for text, objects, dates and complex numbers.
    pub fn of(descr: &TypeStr) -> Option<Element> {
        let kind = match descr.type_char() {
            TypeChar::Float => b'f',
            TypeChar::Int => b'i',
            TypeChar::Uint => b'u',
            TypeChar::Bool => b'b',
            TypeChar::RawData => b'V',
            _ => return None,
        };
        let size = descr.num_bytes().filter(|n| matches!(n, 1 | 2 | 4 | 8 | 16))?;
        let order = descr.endianness();
        // Raw elements are bits in the order the writer had them, whatever the mark says.
        Some(Element { big_endian: order == Endianness::Big && kind != b'V' && size > 1, kind, size, order })
    }

    /// Reads a descriptor.
    pub fn parse(text: &str) -> Option<Element> {
        Element::of(&text.parse().ok()?)
    }

    /// The descriptor can hold elements of `dtype`: NumPy's own type where there is one, else raw bits of the same width.
    pub fn holds(&self, dtype: Dtype) -> bool {
        if self.size != dtype.size() {
            return false;
        }
        match native_kind(dtype) {
            Some(kind) => self.kind == kind || (self.kind == b'b' && dtype == Dtype::Uint8),
            None => matches!(self.kind, b'V' | b'u'),
        }
    }

    /// The BIR dtype this descriptor names by itself, when NumPy has a name for it.
    pub fn native(&self) -> Option<Dtype> {
        Some(match (self.kind, self.size) {
            (b'u' | b'b', 1) => Dtype::Uint8,
            (b'i', 1) => Dtype::Int8,
            (b'u', 2) => Dtype::Uint16,
            (b'i', 2) => Dtype::Int16,
            (b'f', 2) => Dtype::Float16,
            (b'u', 4) => Dtype::Uint32,
            (b'i', 4) => Dtype::Int32,
            (b'f', 4) => Dtype::Float32,
            (b'u', 8) => Dtype::Uint64,
            (b'i', 8) => Dtype::Int64,
            _ => return None,
        })
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.order, self.kind as char, self.size)
    }
}

/// Kind letter of the NumPy type that represents `dtype` exactly.
pub fn native_kind(dtype: Dtype) -> Option<u8> {
    match dtype {
        Dtype::Float16 | Dtype::Float32 | Dtype::Float32r => Some(b'f'),
        d if d.is_integer() && d.is_signed() => Some(b'i'),
        d if d.is_integer() => Some(b'u'),
        _ => None,
    }
}

/// NumPy descriptor a tensor of this dtype is written with: its own type, else raw bits.
pub fn descr_of(dtype: Dtype) -> String {
    let size = dtype.size();
    match native_kind(dtype) {
        Some(kind) => format!("{}{}{size}", if size == 1 { '|' } else { '<' }, kind as char),
        None => format!("|V{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_read() {
        let e = Element::parse("<f4").unwrap();
        assert_eq!((e.big_endian, e.kind, e.size), (false, b'f', 4));
        assert!(Element::parse(">i8").unwrap().big_endian);
        assert!(!Element::parse(">V2").unwrap().big_endian);
        assert_eq!(Element::parse("|V1").unwrap().to_string(), "|V1");
        for bad in ["", "<", "|O", "<U4", "<M8[s]", "|S7", "<f3", "<f99999", "f", "<f-4", "|b4", "é4", "<c8", "|V3"] {
            assert_eq!(Element::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_declaration_decides_what_a_descriptor_may_hold() {
        let holds = |d: &str, t| Element::parse(d).unwrap().holds(t);
        assert!(holds("<f4", Dtype::Float32) && holds(">f4", Dtype::Float32r));
        assert!(!holds("<i4", Dtype::Float32), "same width, other kind");
        assert!(!holds("|V4", Dtype::Float32), "raw bits only where NumPy has no type");
        assert!(!holds("<f8", Dtype::Float32));
        assert!(holds("<V2", Dtype::Bfloat16) && holds("|V2", Dtype::Bfloat16) && holds("<u2", Dtype::Bfloat16));
        assert!(!holds("<f2", Dtype::Bfloat16), "float16 is not bfloat16");
        assert!(holds("|u1", Dtype::Float8E8m0fnu));
        assert!(holds("|V4", Dtype::Float8E4m3fnX4) && holds("|V2", Dtype::Float4E2m1fnX4));
        assert!(holds("|b1", Dtype::Uint8) && !holds("|b1", Dtype::Int8));
    }
}
