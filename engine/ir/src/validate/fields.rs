//! Own keys: required ones, types, ranges, and what the row demands beyond them.

use super::operands::MAX_PAIRS;
use super::sync::MAX_ID;
use super::{Slot, Walk};
use crate::accepts;
use crate::table::{Absence, Field};
use crate::{Axis, BranchCompare, Demand, Expr, FieldType, Instruction, Operand, Steer, Value};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Code, Error, Named};

/// Whether a value has the variant that the row asks for.
fn fits(ty: FieldType, value: &Value) -> bool {
    matches!(
        (ty, value),
        (FieldType::Bool | FieldType::Int(..) | FieldType::Bits | FieldType::Float, Value::Expr(_))
            | (FieldType::Bool, Value::Bool(_))
            | (FieldType::Int(..) | FieldType::Bits, Value::Int(_))
            | (FieldType::Float, Value::Float(_) | Value::Int(_))
            | (FieldType::Str, Value::Str(_))
            | (FieldType::Enum(_), Value::Enum(_))
            | (FieldType::Enums(_), Value::Enums(_))
            | (FieldType::Ints | FieldType::Exprs, Value::Ints(_))
            | (FieldType::Floats, Value::Floats(_))
            | (FieldType::Strs | FieldType::Axes, Value::Strs(_))
            | (FieldType::Pairs, Value::Pairs(_))
            | (FieldType::Groups, Value::Groups(_))
            | (FieldType::Map, Value::Map(_) | Value::Strs(_))
            | (FieldType::Expr, Value::Expr(_) | Value::Int(_))
            | (FieldType::Axis, Value::Axis(_))
            | (FieldType::Json, Value::Json(_))
    )
}

impl<'m> Walk<'m> {
    pub(super) fn fields(&mut self, i: &'m Instruction) {
        for (field, value) in i.opcode.row().fields.iter().zip(&i.fields) {
            match value {
                None if matches!(field.default, Absence::Required) => {
                    // The one missing key for which the reference has a number.
                    let number = if i.opcode.steers(Steer::CallKernel) && field.key == "func" { " (250)" } else { "" };
                    let e = Error::new(Code::J003, format!("{} has no key `{}`{number}", i.opcode, field.key));
                    let e = e.advice(accepts::add(field.key, &accepts::of_type(field.ty)));
                    self.fault(i, Slot::Key(field.key), e);
                }
                None => {}
                Some(v) => self.field(i, field, v),
            }
        }
    }

    fn field(&mut self, i: &'m Instruction, field: &'static Field, value: &'m Value) {
        let slot = Slot::Key(field.key);
        if !fits(field.ty, value) {
            let e = Error::new(Code::J002, format!("the value of `{}` has another type", field.key));
            return self.fault(i, slot, e.received(format!("{value:?}")));
        }
        match (field.ty, value) {
            (FieldType::Int(lo, hi), Value::Int(v)) if *v < lo || *v > hi => {
                let e = Error::new(Code::J011, format!("`{}` is {lo} to {hi}", field.key)).received(v);
                self.fault(i, slot, e);
            }
            (FieldType::Enum(def), Value::Enum(o)) if def.name_of(*o).is_none() => {
                self.fault(i, slot, Error::new(Code::J005, format!("{} has no such value", def.name)).received(o));
            }
            (FieldType::Enums(def), Value::Enums(list)) => {
                if let Some(o) = list.iter().find(|o| def.name_of(**o).is_none()) {
                    self.fault(i, slot, Error::new(Code::J005, format!("{} has no such value", def.name)).received(o));
                }
            }
            (FieldType::Pairs, Value::Pairs(pairs)) => {
                if pairs.is_empty() || pairs.len() > MAX_PAIRS {
                    let e = Error::new(Code::J008, format!("`{}` has 1 to {MAX_PAIRS} pairs", field.key));
                    self.fault(i, slot, e.received(format!("{} pairs", pairs.len())));
                } else if let Some((_, num)) = pairs.iter().find(|(_, num)| *num < 0) {
                    let e = Error::new(Code::J008, format!("a count of `{}` is not negative", field.key));
                    self.fault(i, slot, e.received(num));
                }
            }
            (FieldType::Groups, Value::Groups(groups)) if holds_ranks(i, field.key) => {
                if let Some(r) = groups.iter().flatten().find(|r| !(0..=i64::from(u32::MAX)).contains(*r)) {
                    let e = Error::new(Code::J011, format!("`{}` holds global ranks", field.key)).received(r);
                    self.fault(i, slot, e);
                }
            }
            (FieldType::Axis, Value::Axis(axis)) => self.axis(i, slot, axis),
            _ => {}
        }
    }

    /// Ruling D35: a stride of 0 reads as 1, a negative one is invalid.
    fn axis(&mut self, i: &'m Instruction, slot: Slot, axis: &'m Axis) {
        if let Some(stride) = axis.stride.as_const().filter(|s| *s < 0) {
            self.fault(i, slot, Error::new(Code::J011, "the stride of a loop is not negative").received(stride));
        }
        if axis.name.is_empty() {
            self.fault(i, slot, Error::new(Code::J003, "a loop axis has a name"));
        }
        if i.opcode.steers(Steer::DynamicLoop) && !is_one_register(&axis.ub) {
            let what = "the upper bound of a DynamicForLoop is a constant plus one register with a coefficient";
            self.fault(i, slot, Error::new(Code::S010, what).received(&axis.ub));
        }
    }

    /// What the row demands of keys and operands beyond their types.
    pub(super) fn demands(&mut self, i: &'m Instruction) {
        for demand in i.opcode.row().demands {
            match *demand {
                Demand::AccumulationFlag => self.accumulation_flag(i),
                Demand::RowsAndColumns(key) => {
                    if let Some(Value::Ints(pair)) = value(i, key)
                        && pair.len() != 2
                    {
                        let e = Error::new(Code::J011, format!("`{key}` is [rows, columns]"));
                        self.fault(i, Slot::Key(key), e.received(format!("{} numbers", pair.len())));
                    }
                }
                Demand::ShuffleMask => self.shuffle(i),
                Demand::OperandsOfOp => self.operands_of_op(i),
                Demand::Semaphores(key) => self.ids(i, key),
                Demand::AtMost(key, most) => {
                    if let Some(Value::Floats(params)) = value(i, key)
                        && params.len() > most
                    {
                        let e = Error::new(Code::J011, format!("a distribution has at most {most} parameters"));
                        self.fault(i, Slot::Key(key), e.received(params.len()));
                    }
                }
                Demand::RankPairs(key) => {
                    if let Some(Value::Groups(pairs)) = value(i, key)
                        && let Some(p) = pairs.iter().find(|p| p.len() != 2)
                    {
                        let e = Error::new(Code::J011, format!("`{key}` holds [source, target] pairs"));
                        self.fault(i, Slot::Key(key), e.received(format!("{p:?}")));
                    }
                }
                // Looked at with the key itself, and in `groups`.
                Demand::Ranks(_) | Demand::RankGroups(_) => {}
                Demand::Comparison => self.branch(i),
                Demand::OneRegister(key) => {
                    if let Some(Value::Expr(cond)) = value(i, key)
                        && super::expressions::names(cond).is_ok_and(|n| n.registers.len() != 1 || !n.axes.is_empty())
                    {
                        let e = Error::new(Code::J012, "the condition of a DoWhile is one register");
                        self.fault(i, Slot::Key(key), e.received(cond));
                    }
                }
            }
        }
    }

    fn accumulation_flag(&mut self, i: &'m Instruction) {
        if let Some(Value::Int(flag)) = value(i, "accumulation_flag")
            && !matches!(flag, 0..=4 | 6)
        {
            let e = Error::new(Code::J011, "an accumulation flag is 0, 1, 2, 3, 4 or 6").received(flag);
            self.fault(i, Slot::Key("accumulation_flag"), e);
        }
    }

    fn operands_of_op(&mut self, i: &'m Instruction) {
        let op = match value(i, "op") {
            Some(Value::Enum(n)) => AluOp::from_ordinal(*n),
            _ => None,
        };
        // A unary operation may be written with the second operand that the catalogue lists for all of them.
        if op.is_some_and(|op| !op.is_unary()) && i.ins.len() == 1 {
            let e = Error::new(Code::J009, "the operand is a register or an immediate");
            self.fault(i, Slot::Operand("ins", 1), e);
        }
    }

    fn shuffle(&mut self, i: &'m Instruction) {
        let Some(Value::Ints(mask)) = value(i, "mask") else { return };
        if mask.len() != 32 {
            let e = Error::new(Code::J011, "a shuffle mask has 32 entries").received(mask.len());
            return self.fault(i, Slot::Key("mask"), e);
        }
        let bad = mask.iter().filter_map(Expr::as_const).find(|v| !matches!(v, 0..=31 | 255));
        if let Some(v) = bad {
            let e = Error::new(Code::J011, "an entry of a shuffle mask is 0 to 31, or 255 to keep the destination");
            self.fault(i, Slot::Key("mask"), e.received(v));
        }
    }

    fn ids(&mut self, i: &'m Instruction, key: &'static str) {
        let Some(Value::Ints(ids)) = value(i, key) else { return };
        let bad = ids.iter().filter_map(Expr::as_const).find(|v| !(0..=i64::from(MAX_ID)).contains(v));
        if let Some(v) = bad {
            self.fault(i, Slot::Key(key), Error::new(Code::J011, "semaphore and event ids are 0..255").received(v));
        }
    }

    fn branch(&mut self, i: &'m Instruction) {
        let Some(Value::Enum(o)) = value(i, "comp_op") else { return };
        let by_register = match BranchCompare::from_ordinal(*o) {
            Some(BranchCompare::Unsupported) => {
                let e = Error::new(Code::U002, "the comparison of this branch is marked unsupported");
                return self.fault(i, Slot::Key("comp_op"), e.received("Unsupported"));
            }
            Some(op) => op >= BranchCompare::LtReg,
            None => return,
        };
        if let (true, Some(Operand::Imm { .. })) = (by_register, i.ins.get(1)) {
            let e = Error::new(Code::J009, "a comparison with a register reads ins[1] as a register");
            self.fault(i, Slot::Operand("ins", 1), e.received("imm_value"));
        }
    }
}

fn value<'i>(i: &'i Instruction, key: &str) -> Option<&'i Value> {
    i.opcode.row().field_index(key).and_then(|n| i.fields.get(n)).and_then(Option::as_ref)
}

fn holds_ranks(i: &Instruction, key: &str) -> bool {
    let of_ranks = |d: &Demand| match d {
        Demand::Ranks(k) | Demand::RankGroups(k) | Demand::RankPairs(k) => *k == key,
        _ => false,
    };
    i.opcode.row().demands.iter().any(of_ranks)
}

/// c + coeff * register (`bir-json.md` 9).
fn is_one_register(ub: &Expr) -> bool {
    match ub {
        Expr::Affine { terms, .. } => matches!(terms.as_slice(), [(Expr::Register(_), _)]),
        Expr::Register(_) => true,
        _ => false,
    }
}
