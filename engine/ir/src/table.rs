//! The opcode table: what is known about every InstructionType. The macro that rows are written in is in `rows.rs`.

use super::traits::{Demand, Rule, Steer, Trait, Traits};
use super::{Engine, Value, opcodes};
use birsim_kernels::EnumDef;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// Number of instruction types: of rows.
pub const OPCODES: usize = {
    let (mut n, mut family) = (0, 0);
    while family < opcodes::FAMILIES.len() {
        n += opcodes::FAMILIES[family].len();
        family += 1;
    }
    n
};

/// An InstructionType by ordinal. Constants carry the BIR names: `Opcode::TensorScalar`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(u8);

impl Opcode {
    /// For the rows only. It does not check the ordinal; the table and its tests do.
    pub(crate) const fn declare(ordinal: u8) -> Self {
        Opcode(ordinal)
    }

    /// The opcode with this ordinal.
    pub fn from_ordinal(ordinal: u8) -> Option<Self> {
        ((ordinal as usize) < OPCODES).then_some(Opcode(ordinal))
    }

    /// The opcode with this BIR name.
    pub fn from_name(name: &str) -> Option<Self> {
        BY_NAME.get(name).copied()
    }

    /// All, in ordinal order.
    pub fn all() -> impl Iterator<Item = Opcode> {
        (0..OPCODES as u8).map(Opcode)
    }

    /// InstructionType ordinal.
    pub const fn ordinal(self) -> u8 {
        self.0
    }

    /// The row of the table.
    pub fn row(self) -> &'static Row {
        ROWS[self.0 as usize]
    }

    /// BIR name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The opcode has a trait.
    pub fn is(self, one: Trait) -> bool {
        self.row().is(one)
    }

    /// It steers in this way.
    pub fn steers(self, how: Steer) -> bool {
        self.row().steers == Some(how)
    }

    /// Matmul family: the writers that accumulate in PSUM (`opcodes.md` 1).
    pub fn is_matmul(self) -> bool {
        self.is(Trait::Matmul)
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
    /// Names of enclosing loop axes. An instruction reads how far each is from its lower bound.
    Axes,
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

/// What the absence of a key means.
#[derive(Clone, Copy, Debug)]
pub enum Absence {
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

impl Absence {
    /// The default as a value, when there is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Absence::Required | Absence::Absent => None,
            Absence::Bool(b) => Some(Value::Bool(b)),
            Absence::Int(i) => Some(Value::Int(i)),
            Absence::Float(x) => Some(Value::Float(x)),
            Absence::Enum(o) => Some(Value::Enum(o)),
            Absence::Str(s) => Some(Value::Str(s.to_string())),
        }
    }
}

impl Absence {
    /// Whether a value is this default, bit for bit.
    pub fn is(self, value: &Value) -> bool {
        match (self, value) {
            (Absence::Bool(d), Value::Bool(v)) => d == *v,
            (Absence::Int(d), Value::Int(v)) => d == *v,
            (Absence::Float(d), Value::Float(v)) => d.to_bits() == v.to_bits(),
            (Absence::Enum(d), Value::Enum(v)) => d == *v,
            (Absence::Str(d), Value::Str(v)) => d == v,
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
    pub default: Absence,
}

impl Field {
    /// The default as the format writes it: an enumeration by name. `None` when there is none.
    pub fn default_in_json(&self) -> Option<Json> {
        Some(match self.default {
            Absence::Required | Absence::Absent => return None,
            Absence::Bool(b) => b.into(),
            Absence::Int(i) => i.into(),
            Absence::Float(x) => x.into(),
            Absence::Str(s) => s.into(),
            Absence::Enum(ordinal) => match self.ty {
                FieldType::Enum(def) | FieldType::Enums(def) => def.name_of(ordinal).into(),
                _ => ordinal.into(),
            },
        })
    }
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
    /// The fact that the documents leave open, for opcodes whose results depend on birsim's reading of it.
    pub open: Option<&'static str>,
    /// What it does to the flow of control or to queues.
    pub steers: Option<Steer>,
    /// Properties.
    pub traits: Traits,
    /// What holds for some forms only.
    pub rules: &'static [Rule],
    /// What it demands of its keys and operands beyond their types.
    pub demands: &'static [Demand],
}

/// A role of an operand, parsed from the table's notation: `name`, then `:` and the kinds it accepts (`a` access
/// pattern, `i` immediate, `r` register; `a` alone when left out), then marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// What the operand is for.
    pub name: &'static str,
    /// Letters of the accepted kinds.
    pub kinds: &'static str,
    /// `?`: may be left out.
    pub optional: bool,
    /// `*`: zero or more times.
    pub repeated: bool,
    /// `#`: a table; indices choose which of its elements are accessed.
    pub table: bool,
    /// `+`: an output whose elements are read, combined and written; [`Rule::Adds`] may narrow it.
    pub adds: bool,
    /// `@`: the operand `ins[1]`, when there is one, moves its address.
    pub moved: bool,
    /// `&`: holds addresses when its elements have 64 bits.
    pub addresses: bool,
    /// `^`: holds indices into the table.
    pub index: bool,
}

impl Role {
    /// Reads the notation.
    pub fn parse(text: &'static str) -> Role {
        let body = text.trim_end_matches(['?', '*', '#', '+', '@', '&', '^']);
        let marks = &text[body.len()..];
        let (name, kinds) = body.split_once(':').unwrap_or((body, "a"));
        Role {
            name,
            kinds,
            optional: marks.contains('?'),
            repeated: marks.contains('*'),
            table: marks.contains('#'),
            adds: marks.contains('+'),
            moved: marks.contains('@'),
            addresses: marks.contains('&'),
            index: marks.contains('^'),
        }
    }

    /// The accepted kinds in words.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.chars().map(|kind| match kind {
            'a' => "an access pattern",
            'i' => "an immediate",
            _ => "a register",
        })
    }

    /// The role of operand `k` of a list; the last one is repeated. `None` beyond the list.
    pub fn of(roles: &[&'static str], k: usize) -> Option<Role> {
        let role = Role::parse(roles.get(k).or(roles.last())?);
        (k < roles.len() || role.repeated).then_some(role)
    }
}

impl Row {
    /// Index of a field by JSON key.
    pub fn field_index(&self, key: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.key == key)
    }
}

static ROWS: [&Row; OPCODES] = by_ordinal();

/// The rows in ordinal order. A number that is used twice, or a gap, does not compile.
const fn by_ordinal() -> [&'static Row; OPCODES] {
    let mut rows: [Option<&'static Row>; OPCODES] = [None; OPCODES];
    let mut family = 0;
    while family < opcodes::FAMILIES.len() {
        let mut k = 0;
        while k < opcodes::FAMILIES[family].len() {
            let row = &opcodes::FAMILIES[family][k];
            assert!(rows[row.opcode.0 as usize].is_none(), "two rows have one ordinal");
            rows[row.opcode.0 as usize] = Some(row);
            k += 1;
        }
        family += 1;
    }
    let mut out = [&opcodes::FAMILIES[0][0]; OPCODES];
    let mut n = 0;
    while n < OPCODES {
        out[n] = rows[n].expect("every ordinal has a row");
        n += 1;
    }
    out
}

static BY_NAME: LazyLock<HashMap<&str, Opcode>> = LazyLock::new(|| ROWS.iter().map(|r| (r.name, r.opcode)).collect());
