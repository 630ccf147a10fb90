//! The own keys of an instruction as a typed record, which the macro `rows!` generates from the row.

use super::Value;
use birsim_kernels::{Error, Named, Result};

/// Where a record takes its values from: own keys by index, their defaults included.
pub trait Keys {
    /// An integer, a flag or an enumeration value; `None` when absent.
    fn int(&self, k: usize) -> Result<Option<i64>>;
    /// A number.
    fn float(&self, k: usize) -> Result<Option<f64>>;
    /// A list of integers.
    fn ints(&self, k: usize) -> Result<Option<Box<[i64]>>>;
    /// Any other value, as in the module.
    fn value(&self, k: usize) -> Option<&Value>;
    /// The error of a key.
    fn error(&self, k: usize, what: &str) -> Error;
}

/// The record of one opcode.
pub trait Params: Sized + Send + Sync + 'static {
    /// Reads all keys.
    fn decode(keys: &dyn Keys) -> Result<Self>;
}

/// A value that must be there.
pub fn need<T>(keys: &dyn Keys, k: usize, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| keys.error(k, "is missing"))
}

/// A flag.
pub fn flag(keys: &dyn Keys, k: usize) -> Result<Option<bool>> {
    Ok(keys.int(k)?.map(|v| v != 0))
}

/// An unsigned integer of the member's width.
pub fn unsigned<T: TryFrom<i64> + Bounded>(keys: &dyn Keys, k: usize) -> Result<Option<T>> {
    let Some(v) = keys.int(k)? else { return Ok(None) };
    T::try_from(v).map(Some).map_err(|_| keys.error(k, &format!("is 0 to {}", T::MOST)).received(v))
}

/// The end of an unsigned type's range.
pub trait Bounded {
    /// The largest value.
    const MOST: u64;
}

impl Bounded for u8 {
    const MOST: u64 = u8::MAX as u64;
}

impl Bounded for u32 {
    const MOST: u64 = u32::MAX as u64;
}

/// An enumeration value.
pub fn named<T: Named>(keys: &dyn Keys, k: usize) -> Result<Option<T>> {
    let Some(v) = keys.int(k)? else { return Ok(None) };
    let known = u8::try_from(v).ok().and_then(T::from_ordinal);
    known.map(Some).ok_or_else(|| keys.error(k, "has no such value").received(v))
}

/// A text.
pub fn text(keys: &dyn Keys, k: usize) -> Result<Option<Box<str>>> {
    match keys.value(k) {
        None => Ok(None),
        Some(Value::Str(v)) => Ok(Some(v.as_str().into())),
        Some(_) => Err(keys.error(k, "has another type")),
    }
}

macro_rules! lists {
    ($(#[$doc:meta] $name:ident: $variant:ident => $ty:ty;)+) => {
        $(#[$doc]
        pub fn $name(keys: &dyn Keys, k: usize) -> Result<Option<Box<[$ty]>>> {
            match keys.value(k) {
                None => Ok(None),
                Some(Value::$variant(v)) => Ok(Some(v.as_slice().into())),
                Some(_) => Err(keys.error(k, "has another type")),
            }
        })+
    };
}

lists! {
    /// A list of numbers.
    floats: Floats => f64;
    /// A list of [step, count].
    pairs: Pairs => (i64, i64);
    /// A list of lists of integers.
    groups: Groups => Vec<i64>;
}

/// A list of enumeration values.
pub fn enums<T: Named>(keys: &dyn Keys, k: usize) -> Result<Option<Box<[T]>>> {
    match keys.value(k) {
        None => Ok(None),
        Some(Value::Enums(list)) => {
            let one = |o: &u8| T::from_ordinal(*o).ok_or_else(|| keys.error(k, "has no such value").received(o));
            list.iter().map(one).collect::<Result<_>>().map(Some)
        }
        Some(_) => Err(keys.error(k, "has another type")),
    }
}
