//! What every KLR type can do, and the macros that derive it from one declaration per type.

use crate::ast::{TensorName, TensorRef};
use crate::read::Reader;
use crate::write::Writer;
use birsim_kernels::Result;

/// A type with a serialized form (`klr.md` 1.3 and 1.4).
pub(crate) trait Wire: Sized {
    /// Decodes one value.
    fn read(r: &mut Reader<'_>) -> Result<Self>;
    /// Appends the head-layout encoding.
    fn write(&self, w: &mut Writer);
}

/// A type that the listing can print and that may hold tensors.
pub(crate) trait Show {
    /// Appends a one-line text.
    fn show(&self, out: &mut String);
    /// True for a value that listings leave out.
    fn absent(&self) -> bool {
        false
    }
    /// Visits every tensor and tensor reference below this value, nested offsets included.
    fn parts<'a>(&'a self, _visit: &mut dyn FnMut(Part<'a>)) {}
}

/// What [`Show::parts`] finds.
pub(crate) enum Part<'a> {
    /// A tensor.
    Tensor(&'a TensorName),
    /// A tensor reference; its tensor follows when it is an abstract one.
    Reference(&'a TensorRef),
}

/// A record: named fields in wire order.
pub(crate) trait Record {
    /// Calls `f` with each field's KLR name and value.
    fn fields<'a>(&'a self, f: &mut dyn FnMut(&'static str, &'a dyn Show));
}

/// The KLR spelling of a field or constructor: the literal when given, else the Rust name.
macro_rules! klr_name {
    ($rust:ident) => {
        stringify!($rust)
    };
    ($rust:ident $name:literal) => {
        $name
    };
}

/// Declares a record: type tag, then fields `name "klrName": Type`. A field marked `= value` is missing from the
/// short form that older layouts write (`klr.md` 4), which then takes that value; all such fields of a
/// record are there, or none.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident = $tag:literal {
        $($field:ident $($text:literal)? : $ty:ty $(= $default:expr)?),+ $(,)?
    }) => {
        record_type! { $(#[$meta])* $name = $tag { $($field $($text)? : $ty $(= $default)?),+ } }

        impl crate::codec::Show for $name {
            fn show(&self, out: &mut String) {
                out.push('(');
                crate::inspect::show_record(self, out);
                out.push(')');
            }
            fn parts<'a>(&'a self, visit: &mut dyn FnMut(crate::codec::Part<'a>)) {
                $(crate::codec::Show::parts(&self.$field, visit);)+
            }
        }
    };
}

/// A record whose listing form is written by hand.
macro_rules! record_type {
    ($(#[$meta:meta])* $name:ident = $tag:literal {
        $($field:ident $($text:literal)? : $ty:ty $(= $default:expr)?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[doc = concat!("Field `", klr_name!($field $($text)?), "`.")] pub $field: $ty),+
        }

        impl crate::codec::Wire for $name {
            fn read(r: &mut crate::read::Reader<'_>) -> birsim_kernels::Result<Self> {
                const FULL: usize = [$(stringify!($field)),+].len();
                const LATE: usize = [$($(stringify!($default),)?)*""].len() - 1;
                let _short = r.record(stringify!($name), $tag, FULL, FULL - LATE)?;
                $(let $field = record_field!(r, _short, $name, klr_name!($field $($text)?), $ty $(, $default)?);)+
                r.leave();
                Ok($name { $($field),+ })
            }
            fn write(&self, w: &mut crate::write::Writer) {
                w.tagged($tag, 0, [$(stringify!($field)),+].len());
                $(crate::codec::Wire::write(&self.$field, w);)+
            }
        }

        impl crate::codec::Record for $name {
            fn fields<'a>(&'a self, f: &mut dyn FnMut(&'static str, &'a dyn crate::codec::Show)) {
                $(f(klr_name!($field $($text)?), &self.$field);)+
            }
        }
    };
}

macro_rules! record_field {
    ($r:ident, $short:ident, $name:ident, $text:expr, $ty:ty) => {
        match <$ty as crate::codec::Wire>::read($r) {
            Ok(value) => value,
            Err(e) => return Err(e.operand(concat!(stringify!($name), ".", $text))),
        }
    };
    ($r:ident, $short:ident, $name:ident, $text:expr, $ty:ty, $default:expr) => {
        if $short { $default } else { record_field!($r, $short, $name, $text, $ty) }
    };
}

/// Declares a union: type tag, then constructors with none or one argument, in wire order from 0.
macro_rules! union {
    ($(#[$meta:meta])* $name:ident = $tag:literal {
        $($index:literal $variant:ident $(($ty:ty))? $text:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("Constructor `", $text, "`.")] $variant $(($ty))?),+
        }

        impl $name {
            /// KLR spelling of the constructor.
            pub fn constructor(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $text),+ }
            }
        }

        impl crate::codec::Wire for $name {
            fn read(r: &mut crate::read::Reader<'_>) -> birsim_kernels::Result<Self> {
                let head = r.constructor(stringify!($name), $tag)?;
                let value = match head.index {
                    $($index => {
                        r.arguments(&head, union_arity!($($ty)?))?;
                        Self::$variant $((<$ty as crate::codec::Wire>::read(r)?))?
                    })+
                    _ => return Err(r.unknown_constructor(&head)),
                };
                r.leave();
                Ok(value)
            }
            fn write(&self, w: &mut crate::write::Writer) {
                match self {
                    $(union_pattern!(value, $variant $($ty)?) => {
                        w.tagged($tag, $index, union_arity!($($ty)?));
                        union_write!(value, w $(, $ty)?);
                    })+
                }
            }
        }
    };
}

macro_rules! union_arity {
    () => {
        0
    };
    ($ty:ty) => {
        1
    };
}

macro_rules! union_pattern {
    ($value:ident, $variant:ident) => {
        Self::$variant
    };
    ($value:ident, $variant:ident $ty:ty) => {
        Self::$variant($value)
    };
}

macro_rules! union_write {
    ($value:ident, $w:ident) => {};
    ($value:ident, $w:ident, $ty:ty) => {
        crate::codec::Wire::write($value, $w)
    };
}

/// Declares an enumeration without arguments: type tag, then members in wire order from 0.
macro_rules! enumeration {
    ($(#[$meta:meta])* $name:ident = $tag:literal { $($variant:ident = $index:literal, $text:literal;)+ }) => {
        birsim_kernels::named_enum! { $(#[$meta])* $name { $($variant = $index, $text;)+ } }

        impl crate::codec::Wire for $name {
            fn read(r: &mut crate::read::Reader<'_>) -> birsim_kernels::Result<Self> {
                let head = r.constructor(stringify!($name), $tag)?;
                let Some(value) = <$name as birsim_kernels::Named>::from_ordinal(head.index) else {
                    return Err(r.unknown_constructor(&head));
                };
                r.arguments(&head, 0)?;
                r.leave();
                Ok(value)
            }
            fn write(&self, w: &mut crate::write::Writer) {
                w.tagged($tag, *self as u8, 0);
            }
        }

        impl crate::codec::Show for $name {
            fn show(&self, out: &mut String) {
                out.push_str(birsim_kernels::Named::name(*self));
            }
        }
    };
}

/// Declares the operator union: every constructor has one boxed parameter record.
macro_rules! operators {
    ($(#[$meta:meta])* $name:ident = $tag:literal {
        $($index:literal $variant:ident($ty:ty) $text:literal),+ $(,)?
    }) => {
        union! { $(#[$meta])* $name = $tag { $($index $variant($ty) $text),+ } }

        impl $name {
            /// Kind 1..=76 as the reference compiler counts: wire index + 1.
            pub fn kind(&self) -> u8 {
                match self { $(Self::$variant(_) => $index + 1),+ }
            }

            /// The parameters.
            pub(crate) fn record(&self) -> &dyn Record {
                match self { $(Self::$variant(p) => &**p),+ }
            }
        }

        impl Show for $name {
            fn show(&self, out: &mut String) {
                out.push_str(self.constructor());
                out.push(' ');
                crate::inspect::show_record(self.record(), out);
            }
            fn parts<'a>(&'a self, visit: &mut dyn FnMut(crate::codec::Part<'a>)) {
                match self { $(Self::$variant(p) => p.parts(visit)),+ }
            }
        }
    };
}

impl<T: Wire> Wire for Vec<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let count = r.list()?;
        // The count may be false, so memory is not reserved for it: the vector grows as elements are read.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(T::read(r)?);
        }
        Ok(items)
    }
    fn write(&self, w: &mut Writer) {
        w.list(self.len());
        self.iter().for_each(|item| item.write(w));
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self, out: &mut String) {
        out.push('[');
        for (i, item) in self.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            item.show(out);
        }
        out.push(']');
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.iter().for_each(|item| item.parts(visit));
    }
}

impl<T: Wire> Wire for Option<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let some = r.option()?;
        let value = if some { Some(T::read(r)?) } else { None };
        r.leave();
        Ok(value)
    }
    fn write(&self, w: &mut Writer) {
        match self {
            None => w.tagged(255, 0, 0),
            Some(value) => {
                w.tagged(255, 1, 1);
                value.write(w);
            }
        }
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self, out: &mut String) {
        match self {
            None => out.push_str("none"),
            Some(value) => value.show(out),
        }
    }
    fn absent(&self) -> bool {
        self.is_none()
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.iter().for_each(|value| value.parts(visit));
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        T::read(r).map(Box::new)
    }
    fn write(&self, w: &mut Writer) {
        (**self).write(w);
    }
}

impl<T: Show> Show for Box<T> {
    fn show(&self, out: &mut String) {
        (**self).show(out);
    }
    fn absent(&self) -> bool {
        (**self).absent()
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        (**self).parts(visit);
    }
}

macro_rules! scalar {
    ($ty:ty, $read:ident, $write:ident) => {
        impl Wire for $ty {
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                r.$read()
            }
            fn write(&self, w: &mut Writer) {
                w.$write(*self);
            }
        }

        impl Show for $ty {
            fn show(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }
        }
    };
}

scalar!(bool, boolean, boolean);
scalar!(u64, nat, nat);
scalar!(i64, int, int);
scalar!(i32, int32, int32);

impl Wire for f32 {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.float32()
    }
    fn write(&self, w: &mut Writer) {
        w.float32(*self);
    }
}

impl Show for f32 {
    fn show(&self, out: &mut String) {
        out.push_str(&format!("{self:?}"));
    }
}

impl Wire for String {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.text()
    }
    fn write(&self, w: &mut Writer) {
        w.text(self);
    }
}

impl Show for String {
    fn show(&self, out: &mut String) {
        out.push_str(&format!("{self:?}"));
    }
}
