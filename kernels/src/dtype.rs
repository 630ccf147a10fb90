//! The twenty BIR dtypes (`numerics.md` 1.1).

use crate::Named;

crate::named_enum! {
    /// Element type of an access pattern, a location or an immediate.
    Dtype {
        Uint8 = 0, "uint8";
        Int8 = 1, "int8";
        Float4E2m1fnX4 = 2, "float4_e2m1fn_x4";
        Float8e3 = 3, "float8e3";
        Float8e4 = 4, "float8e4";
        Float8E4m3fn = 5, "float8_e4m3fn";
        Float8E8m0fnu = 6, "float8_e8m0fnu";
        Float8e5 = 7, "float8e5";
        Float8E4m3fnX4 = 8, "float8_e4m3fn_x4";
        Float8E5m2X4 = 9, "float8_e5m2_x4";
        Uint16 = 10, "uint16";
        Int16 = 11, "int16";
        Bfloat16 = 12, "bfloat16";
        Float16 = 13, "float16";
        Uint32 = 14, "uint32";
        Int32 = 15, "int32";
        Float32 = 16, "float32";
        Float32r = 17, "float32r";
        Uint64 = 18, "uint64";
        Int64 = 19, "int64";
    }
    aliases { "bool" => 0 }
}

const SIZES: [u8; 20] = [1, 1, 2, 1, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8];

impl Dtype {
    /// Bytes of one element: the storage stride, equal to the alignment.
    #[inline]
    pub const fn size(self) -> usize {
        SIZES[self as usize] as usize
    }

    /// Logical values in one element: 4 for the packed types, else 1.
    #[inline]
    pub const fn lanes(self) -> usize {
        if self.is_packed() { 4 } else { 1 }
    }

    /// One of the x4 container types of the MX instructions.
    #[inline]
    pub const fn is_packed(self) -> bool {
        matches!(self, Dtype::Float4E2m1fnX4 | Dtype::Float8E4m3fnX4 | Dtype::Float8E5m2X4)
    }

    /// An integer type; the E8M0 scale byte is not one.
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Dtype::Uint8
                | Dtype::Int8
                | Dtype::Uint16
                | Dtype::Int16
                | Dtype::Uint32
                | Dtype::Int32
                | Dtype::Uint64
                | Dtype::Int64
        )
    }

    /// A signed integer type.
    #[inline]
    pub const fn is_signed(self) -> bool {
        matches!(self, Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64)
    }

    /// A floating-point type, packed ones included (`numerics.md` 1.1: the E8M0 byte is not one).
    #[inline]
    pub const fn is_float(self) -> bool {
        !self.is_integer() && !matches!(self, Dtype::Float8E8m0fnu)
    }

    /// One of the eight dtypes that can be accumulated in memory (`numerics.md` 5.1).
    #[inline]
    pub const fn is_reducible(self) -> bool {
        matches!(
            self,
            Dtype::Float8e3
                | Dtype::Float8e4
                | Dtype::Float8e5
                | Dtype::Bfloat16
                | Dtype::Float16
                | Dtype::Int32
                | Dtype::Float32
                | Dtype::Int64
        )
    }

    /// Allowed as the dtype of an immediate (`bir-json.md` 6).
    #[inline]
    pub const fn is_immediate(self) -> bool {
        self.is_integer() || matches!(self, Dtype::Bfloat16 | Dtype::Float16 | Dtype::Float32)
    }

    /// Name in `ml_dtypes` / NumPy, used in `.npy.meta` side files.
    pub fn ml_dtypes_name(self) -> &'static str {
        match self {
            Dtype::Float4E2m1fnX4 => "float4_e2m1fn_x4",
            Dtype::Float8e3 => "float8_e3m4",
            Dtype::Float8e4 => "float8_e4m3",
            Dtype::Float8e5 => "float8_e5m2",
            Dtype::Float32r => "float32",
            other => other.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_follow_the_catalogue() {
        assert_eq!(Dtype::ALL.len(), 20);
        for (i, d) in Dtype::ALL.iter().enumerate() {
            assert_eq!(d.ordinal() as usize, i);
            assert_eq!(Dtype::from_name(d.name()), Some(*d));
        }
        assert_eq!(Dtype::from_name("bool"), Some(Dtype::Uint8));
        assert_eq!(Dtype::from_name("float"), None);
        assert_eq!(Dtype::ALL.iter().filter(|d| d.is_reducible()).count(), 8);
    }
}
