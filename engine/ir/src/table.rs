//! The opcode table: what is known about every InstructionType, and the macro its rows are written in.

use super::{Engine, Value, opcodes};
use birsim_kernels::EnumDef;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// Number of instruction types.
pub const OPCODES: usize = 110;

/// An InstructionType by ordinal. Constants carry the BIR names: `Opcode::TensorScalar`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(u8);

impl Opcode {
    /// For the rows only: the macro checks nothing, the table's tests do.
    pub(crate) const fn declare(ordinal: u8) -> Self {
        Opcode(ordinal)
    }

    /// The opcode with this ordinal, below 110.
    pub fn from_ordinal(ordinal: u8) -> Option<Self> {
        ((ordinal as usize) < OPCODES).then_some(Opcode(ordinal))
    }

    /// The opcode with this BIR name.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.by_name.get(name).copied()
    }

    /// All 110, in ordinal order.
    pub fn all() -> impl Iterator<Item = Opcode> {
        (0..OPCODES as u8).map(Opcode)
    }

    /// InstructionType ordinal.
    pub const fn ordinal(self) -> u8 {
        self.0
    }

    /// The row of the table.
    pub fn row(self) -> &'static Row {
        TABLE.rows[self.0 as usize]
    }

    /// BIR name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Matmul family: the writers that accumulate in PSUM (`opcodes.md` 1).
    pub fn is_matmul(self) -> bool {
        matches!(self.0, 8 | 9 | 95)
    }

    /// Reads every element before it writes the same element, so in-place operands need no copy (ruling D34).
    pub fn is_elementwise(self) -> bool {
        matches!(self.0, 1 | 3 | 4 | 19 | 21 | 22 | 23 | 28 | 29 | 31 | 32 | 51 | 52 | 103)
    }

    /// Its record is written with every key that has a default (`bir-json.md` 5.1): the matmul family and Activation.
    pub fn is_written_whole(self) -> bool {
        self.is_matmul() || self.0 == 4
    }

    /// Ends a basic block or selects the next one.
    pub fn is_terminator(self) -> bool {
        matches!(self.0, 78 | 79 | 81 | 82 | 83)
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How an instruction is routed (`opcodes.md` 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteClass {
    /// A kernel runs.
    Kernel,
    /// Intercepted before dispatch; owns blocks.
    ControlFlow,
    /// Only its waits and updates act.
    NoOp,
    /// Base type, never instantiated.
    Abstract,
    /// The reference skips it and notes the name.
    Skipped,
}

impl RouteClass {
    /// Word used in listings.
    pub const fn word(self) -> &'static str {
        match self {
            RouteClass::Kernel => "kernel",
            RouteClass::ControlFlow => "control-flow",
            RouteClass::NoOp => "no-op",
            RouteClass::Abstract => "abstract",
            RouteClass::Skipped => "skipped",
        }
    }
}

/// How faithful an instruction is to the documented reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Same bits as documented.
    Exact,
    /// Same up to a stated error or to an undocumented detail.
    Approximate,
    /// The reference does not execute it; birsim does.
    Extension,
    /// Skipped and noted, as the reference does.
    Skipped,
    /// Refused.
    Unsupported,
}

impl Fidelity {
    /// Word used in listings.
    pub const fn word(self) -> &'static str {
        match self {
            Fidelity::Exact => "exact",
            Fidelity::Approximate => "approximate",
            Fidelity::Extension => "extension",
            Fidelity::Skipped => "skipped",
            Fidelity::Unsupported => "unsupported",
        }
    }
}

/// JSON type of a field. Bool, Int, Bits and Float fields also accept an affine expression.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// true / false.
    Bool,
    /// Integer in [lo, hi].
    Int(i64, i64),
    /// Raw bits: an integer of up to 64 bits, signed or unsigned.
    Bits,
    /// Number.
    Float,
    /// Text.
    Str,
    /// Name or ordinal of an enumeration.
    Enum(&'static EnumDef),
    /// List of integers or expressions.
    Ints,
    /// List of expressions; like [`FieldType::Ints`], but constants are written as expressions too.
    Exprs,
    /// List of numbers.
    Floats,
    /// List of texts.
    Strs,
    /// List of enumeration values.
    Enums(&'static EnumDef),
    /// List of `[step, num]` or `{"step","num"}`.
    Pairs,
    /// List of lists of integers.
    Groups,
    /// Object of texts, or list of `[text, text]`. A plain list of texts is accepted too and read as [`Value::Strs`].
    Map,
    /// Affine expression.
    Expr,
    /// Loop axis {name, lb, ub, stride}.
    Axis,
    /// Kept as written.
    Json,
}

impl FieldType {
    /// Unsigned 8-bit integer.
    pub const U8: FieldType = FieldType::Int(0, u8::MAX as i64);
    /// Unsigned 32-bit integer.
    pub const U32: FieldType = FieldType::Int(0, u32::MAX as i64);
    /// Any integer.
    pub const I64: FieldType = FieldType::Int(i64::MIN, i64::MAX);
}

/// Default of a field.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// The key must be present.
    Required,
    /// Absent means absent.
    Absent,
    /// Flag.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Float.
    Float(f64),
    /// Ordinal of the enumeration.
    Enum(u8),
    /// Text.
    Str(&'static str),
}

impl Default {
    /// The default as a value, when there is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Default::Required | Default::Absent => None,
            Default::Bool(b) => Some(Value::Bool(b)),
            Default::Int(i) => Some(Value::Int(i)),
            Default::Float(x) => Some(Value::Float(x)),
            Default::Enum(o) => Some(Value::Enum(o)),
            Default::Str(s) => Some(Value::Str(s.to_string())),
        }
    }
}

impl Default {
    /// Whether a value is this default, bit for bit.
    pub fn is(self, value: &Value) -> bool {
        match (self, value) {
            (Default::Bool(d), Value::Bool(v)) => d == *v,
            (Default::Int(d), Value::Int(v)) => d == *v,
            (Default::Float(d), Value::Float(v)) => d.to_bits() == v.to_bits(),
            (Default::Enum(d), Value::Enum(v)) => d == *v,
            (Default::Str(d), Value::Str(v)) => d == v,
            _ => false,
        }
    }
}

/// One own key of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// JSON key.
    pub key: &'static str,
    /// JSON type.
    pub ty: FieldType,
    /// Default.
    pub default: Default,
}

/// Everything the project knows about one InstructionType.
#[derive(Debug)]
pub struct Row {
    /// InstructionType.
    pub opcode: Opcode,
    /// BIR name.
    pub name: &'static str,
    /// Routing.
    pub class: RouteClass,
    /// Usual engines.
    pub engines: &'static [Engine],
    /// Roles of `ins`, in the notation that [`Role::parse`] reads.
    pub ins: &'static [&'static str],
    /// Roles of `outs`, same notation.
    pub outs: &'static [&'static str],
    /// Own keys.
    pub fields: &'static [Field],
    /// Fidelity when executed.
    pub fidelity: Fidelity,
    /// Where the semantics are specified.
    pub spec: &'static str,
    /// What is missing, for opcodes that are executed in part.
    pub partial: Option<&'static str>,
}

/// A role of an operand, parsed from the table's notation: `name`, then `:` and the kinds it accepts (`a` access
/// pattern, `i` immediate, `r` register; `a` alone when left out), then `?` when optional or `*` when repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// What the operand is for.
    pub name: &'static str,
    /// Letters of the accepted kinds.
    pub kinds: &'static str,
    /// May be left out.
    pub optional: bool,
    /// Zero or more times.
    pub repeated: bool,
}

impl Role {
    /// Reads the notation.
    pub fn parse(text: &'static str) -> Role {
        let body = text.trim_end_matches(['?', '*']);
        let (name, kinds) = body.split_once(':').unwrap_or((body, "a"));
        Role { name, kinds, optional: text.ends_with('?'), repeated: text.ends_with('*') }
    }
}

impl Row {
    /// Index of a field by JSON key.
    pub fn field_index(&self, key: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.key == key)
    }
}

struct Table {
    rows: [&'static Row; OPCODES],
    by_name: HashMap<&'static str, Opcode>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut rows: [Option<&'static Row>; OPCODES] = [None; OPCODES];
    for row in opcodes::FAMILIES.iter().flat_map(|f| f.iter()) {
        rows[row.opcode.0 as usize] = Some(row);
    }
    // A missing row is a defect that a test of the table reports. Row 0 replaces it, so that every lookup returns a row.
    let first = &opcodes::FAMILIES[0][0];
    let rows = rows.map(|r| r.unwrap_or(first));
    let by_name = rows.iter().map(|r| (r.name, r.opcode)).collect();
    Table { rows, by_name }
});

/// Declares the rows of one family:
///
/// ```text
/// rows! {
///     TensorTensor = 31, Kernel, [Dve, Pool], ["in0", "in1"] => ["out", "reduced?"], Exact, "alu 6.2" {
///         op: Ty::Enum(AluOp::DEF) => Def::Required;
///         acc: Ty::Enum(EngineAccumulation::DEF) => Def::Enum(0);
///     }
/// }
/// ```
///
/// It generates `Opcode::TensorTensor`, `field::TensorTensor::op` (the index of the field) and the row itself.
#[macro_export]
#[doc(hidden)]
macro_rules! rows {
    ($($name:ident = $ord:literal, $class:ident, [$($engine:ident),*], [$($in:literal),*] => [$($out:literal),*],
        $fidelity:ident, $spec:literal $(, partial $partial:literal)?
        { $($key:ident : $ty:expr => $default:expr;)* })+) => {
        #[allow(non_upper_case_globals)]
        impl $crate::table::Opcode {
            $(#[doc = concat!("InstructionType ", stringify!($ord), ".")]
              pub const $name: $crate::table::Opcode = $crate::table::Opcode::declare($ord);)+
        }

        /// Indices of the fields of each opcode of this family.
        #[allow(non_snake_case, non_upper_case_globals, missing_docs)]
        pub mod field {
            $(pub mod $name {
                #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
                #[repr(usize)]
                enum Index { $($key,)* Count }
                $(pub const $key: usize = Index::$key as usize;)*
                pub const COUNT: usize = Index::Count as usize;
            })+
        }

        /// Rows of this family.
        pub static ROWS: &[$crate::table::Row] = {
            #[allow(unused_imports)]
            use $crate::table::{Default as Def, FieldType as Ty};
            &[$($crate::table::Row {
                opcode: $crate::table::Opcode::$name,
                name: stringify!($name),
                class: $crate::table::RouteClass::$class,
                engines: &[$($crate::Engine::$engine),*],
                ins: &[$($in),*],
                outs: &[$($out),*],
                fields: &[$($crate::table::Field {
                    key: stringify!($key), ty: $ty, default: $default,
                }),*],
                fidelity: $crate::table::Fidelity::$fidelity,
                spec: $spec,
                partial: $crate::rows!(@partial $($partial)?),
            }),+]
        };
    };
    (@partial) => { None };
    (@partial $text:literal) => { Some($text) };
}
