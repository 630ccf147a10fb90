//! What an opcode is, apart from its operands and keys: properties that stages of the machine ask the row for.

use super::{FieldType, Instruction, Row, Value};
use crate::table::Absence;

/// A property of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Trait {
    /// Reads every element before it writes the same element, so in-place operands need no copy (ruling D34);
    /// [`Rule::InPlace`] may narrow it.
    Elementwise,
    /// The matmul family: writers that accumulate in PSUM (`opcodes.md` 1).
    Matmul,
    /// Its record is written with every key that has a default (`bir-json.md` 5.1).
    WrittenWhole,
    /// Its record may leave the engine out: it is the first one of the row.
    ImpliesEngine,
    /// Ends a basic block or selects the next one.
    Terminator,
    /// Runs blocks: every engine takes part, and its updates act when the blocks have ended.
    RunsBlocks,
    /// Its record holds blocks.
    HoldsBlocks,
    /// A loop whose number of trips is known only at run time. Between trips, records of who wrote which bytes are dropped.
    ForgetsWriters,
    /// A core waits here for other cores.
    Meets,
    /// In the engines' own queues it runs when every engine that has work left is at one.
    JoinsAlone,
    /// Every engine meets here; its second updates follow when all have come.
    Barrier,
    /// Nothing after it is issued in the same tick.
    EndsWindow,
    /// May leave elements of its output as they were.
    KeepsSome,
    /// May reach DRAM through a register pattern (ruling D47).
    DramByRegister,
    /// A descriptor of a DMABlock.
    Descriptor,
    /// An element of its output comes from elements of the same partition. Without this trait and without
    /// [`Trait::Elementwise`] it may come from any element of an input.
    ByPartition,
    /// Software moves its operands, so it reaches every memory (`machine.md` 12).
    ReachesAll,
    /// Targets know it from gen3 on.
    SinceGen3,
    /// Targets know it from core_v4 on.
    SinceCoreV4,
}

/// What an instruction does to the flow of control or to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Runs its blocks for every value of a range of constants.
    Loop,
    /// Runs its blocks for every value of a range that is evaluated when the loop starts.
    DynamicLoop,
    /// Runs its blocks, and again while a condition holds.
    DoWhile,
    /// Goes on with another block.
    Jump,
    /// Goes on with one of two blocks.
    Branch,
    /// Ends the innermost loop.
    Break,
    /// Ends the function.
    Return,
    /// Ends the run.
    Exit,
    /// Runs a function.
    Call,
    /// Runs an embedded kernel as a function.
    CallKernel,
    /// Fires the next block of descriptors of a queue.
    Trigger,
    /// A block of descriptors, which is in a queue and runs when it is fired.
    QueueBlock,
    /// Goes on with another instance of a queue.
    SwitchQueue,
    /// Starts an instance of a queue again.
    ResetQueue,
    /// Sets semaphores to zero.
    ResetSemaphores,
}

/// What an opcode demands of its keys and operands beyond their types, whatever the machine. `validate` checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// `accumulation_flag` is one of the documented values.
    AccumulationFlag,
    /// A key is a pair of numbers: [rows, columns].
    RowsAndColumns(&'static str),
    /// `mask` has 32 entries, each a partition of a quadrant or the mark that keeps the destination.
    ShuffleMask,
    /// An operation with two operands, named by `op`, gets two.
    OperandsOfOp,
    /// A key lists semaphores.
    Semaphores(&'static str),
    /// A key lists at most so many numbers.
    AtMost(&'static str, usize),
    /// A key holds [source, target] pairs of ranks, no two with one target.
    RankPairs(&'static str),
    /// A key holds lists of ranks.
    Ranks(&'static str),
    /// A key holds groups of ranks, no rank twice.
    RankGroups(&'static str),
    /// `comp_op` is supported, and a comparison with a register reads one.
    Comparison,
    /// A key is an expression of one register.
    OneRegister(&'static str),
}

/// A set of traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits(u32);

impl Traits {
    /// The set of these.
    pub const fn of(list: &[Trait]) -> Self {
        let (mut bits, mut k) = (0, 0);
        while k < list.len() {
            bits |= 1 << list[k] as u32;
            k += 1;
        }
        Traits(bits)
    }

    /// Whether it holds one.
    pub const fn has(self, one: Trait) -> bool {
        self.0 & (1 << one as u32) != 0
    }
}

/// A condition on an own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The value is 0, false, or the first member.
    Zero(&'static str),
    /// The value is another one.
    Set(&'static str),
    /// The value is this ordinal.
    Is(&'static str, i64),
    /// The value is another ordinal.
    Not(&'static str, i64),
    /// There are at least this many outputs, whatever the keys.
    Outs(i64),
}

impl When {
    /// The key it looks at.
    pub const fn key(self) -> &'static str {
        match self {
            When::Zero(key) | When::Set(key) | When::Is(key, _) | When::Not(key, _) => key,
            When::Outs(_) => "outs",
        }
    }

    /// Whether a value meets it; an absent one is 0. Of outputs the value is their number.
    pub const fn meets(self, value: i64) -> bool {
        match self {
            When::Zero(_) => value == 0,
            When::Set(_) => value != 0,
            When::Is(_, wanted) => value == wanted,
            When::Not(_, other) => value != other,
            When::Outs(least) => value >= least,
        }
    }
}

/// What holds for some forms of an opcode only. All conditions of a rule must be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// [`Trait::Elementwise`] holds in this form only.
    InPlace(&'static [When]),
    /// Outputs that are marked `+` are read in this form only.
    Adds(&'static [When]),
    /// An index tensor may drive an address in this form only; without this rule it never does.
    VectorAddress(&'static [When]),
    /// Elements outside their tensor are left out in this form (ruling D22); without this rule they are a fault.
    SkipsOutside(&'static [When]),
    /// The operand of this role is used in this form only (`opcodes.md` 2).
    Used(&'static str, &'static [When]),
    /// The operand of this role is used in every form but this one.
    Unused(&'static str, &'static [When]),
}

impl Rule {
    /// The conditions.
    pub const fn conditions(self) -> &'static [When] {
        match self {
            Rule::InPlace(w) | Rule::Adds(w) | Rule::VectorAddress(w) | Rule::SkipsOutside(w) => w,
            Rule::Used(_, w) | Rule::Unused(_, w) => w,
        }
    }
}

impl Row {
    /// The opcode has a trait.
    pub const fn is(&self, one: Trait) -> bool {
        self.traits.has(one)
    }

    /// Conditions of the first rule that `pick` accepts.
    pub fn rule(&self, pick: impl Fn(&Rule) -> bool) -> Option<&'static [When]> {
        self.rules.iter().find(|r| pick(r)).map(|r| r.conditions())
    }
}

/// Whether all conditions are met by the keys as written; `None` when that depends on an expression.
pub fn met(conditions: &[When], i: &Instruction) -> Option<bool> {
    let mut known = true;
    for c in conditions {
        let value = match c {
            When::Outs(_) => i64::try_from(i.outs.len()).ok(),
            _ => number(i, c.key()),
        };
        match value {
            Some(v) if !c.meets(v) => return Some(false),
            Some(_) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// An own key as a number, its default included; absent is 0, an expression is unknown.
fn number(i: &Instruction, key: &str) -> Option<i64> {
    let row = i.opcode.row();
    let Some(k) = row.field_index(key) else { return Some(0) };
    match i.fields.get(k).and_then(Option::as_ref) {
        Some(Value::Bool(b)) => Some(i64::from(*b)),
        Some(Value::Int(v)) => Some(*v),
        Some(Value::Enum(o)) => Some(i64::from(*o)),
        Some(Value::Expr(e)) => e.as_const(),
        Some(_) => None,
        None => match (row.fields[k].ty, row.fields[k].default) {
            (FieldType::Bool, Absence::Bool(b)) => Some(i64::from(b)),
            (_, Absence::Int(v)) => Some(v),
            (_, Absence::Enum(o)) => Some(i64::from(o)),
            _ => Some(0),
        },
    }
}
