//! Operands: counts, kinds, access patterns, immediates.

use super::index::Found;
use super::storage::row_bytes;
use super::{Slot, Walk};
use crate::traits::met;
use crate::{ApPair, DynamicAp, Expr, ImmValue, Instruction, Operand, Role, Rule};
use birsim_kernels::{Code, Dtype, Error};

/// Pairs of an access pattern (ruling D26).
pub(super) const MAX_PAIRS: usize = 8;

/// No access touches more elements.
const MAX_ELEMENTS: i128 = 1 << 40;

fn kind_letter(operand: &Operand) -> char {
    match operand {
        Operand::Physical(_) | Operand::Symbolic(_) | Operand::RegisterAp(_) => 'a',
        Operand::Imm { .. } | Operand::SymbolicImm { .. } | Operand::ImmArray { .. } => 'i',
        Operand::Register { .. } => 'r',
    }
}

/// Positions of the index operands that an address names.
fn index_arguments(operand: &Operand) -> Vec<i64> {
    match operand {
        Operand::Physical(a) => {
            let Some(d) = &a.dynamic else { return Vec::new() };
            let exprs = d.offset_expr.iter().chain(d.aff_expr.iter().map(|(e, _)| e));
            let named = exprs.filter_map(|e| super::expressions::names(e).ok()).flat_map(|n| n.index_operands);
            named.chain(d.indirect_arg_id).collect()
        }
        Operand::Symbolic(a) => vec![a.tensor_indirect_arg_id],
        _ => Vec::new(),
    }
}

/// Where the operands of an instruction are described.
fn listed(i: &Instruction) -> String {
    format!("`birsim ops {}` describes its operands", i.opcode)
}

impl<'m> Walk<'m> {
    pub(super) fn operands(&mut self, i: &'m Instruction) {
        let row = i.opcode.row();
        self.counts(i, "ins", &i.ins, row.ins);
        self.counts(i, "outs", &i.outs, row.outs);
        self.index_operands(i);
        for (n, o) in i.indirection_ins.iter().enumerate() {
            if kind_letter(o) != 'a' {
                let e = Error::new(Code::J009, "an index operand is an access pattern").received(o.kind());
                self.fault(i, Slot::Operand("indirection_ins", n), e);
            }
        }
        for (list, operands) in i.lists() {
            for (n, o) in operands.iter().enumerate() {
                self.operand(i, list, n, o);
            }
        }
    }

    fn counts(&mut self, i: &'m Instruction, list: &'static str, operands: &[Operand], roles: &[&'static str]) {
        let parsed = || roles.iter().map(|r| Role::parse(r));
        let least = parsed().filter(|r| !r.optional && !r.repeated).count();
        let open = parsed().any(|r| r.repeated);
        let got = operands.len();
        if got < least || (!open && got > roles.len()) {
            let most = roles.len();
            let expected = match (open, least == most) {
                (true, _) => format!("at least {least}"),
                (false, true) => format!("{least}"),
                (false, false) => format!("{least} to {most}"),
            };
            let names: Vec<&str> = parsed().map(|r| r.name).collect();
            let roles = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            let s = if expected.ends_with(" 1") || expected == "1" { "" } else { "s" };
            let e = Error::new(Code::J009, format!("{} takes {expected} operand{s} in `{list}`{roles}", i.opcode));
            return self.fault(i, Slot::Key(list), e.received(got).advice(listed(i)));
        }
        for (n, o) in operands.iter().enumerate() {
            let Some(role) = Role::of(roles, n) else { continue };
            if !role.kinds.contains(kind_letter(o)) {
                let kinds: Vec<&str> = role.words().collect();
                let e = Error::new(Code::J009, format!("the operand `{}` is {}", role.name, kinds.join(" or ")));
                self.fault(i, Slot::Operand(list, n), e.received(o.kind()).advice(listed(i)));
            }
            self.used(i, list, n, &role);
        }
    }

    /// An operand that this form of the opcode does not use.
    fn used(&mut self, i: &'m Instruction, list: &'static str, n: usize, role: &Role) {
        let named = |r: &&Rule| match r {
            Rule::Used(name, _) | Rule::Unused(name, _) => *name == role.name,
            _ => false,
        };
        for rule in i.opcode.row().rules.iter().filter(named) {
            let conditions = rule.conditions();
            let unused = matches!(rule, Rule::Unused(..));
            if met(conditions, i) != Some(unused) {
                continue;
            }
            let why: Vec<String> = conditions.iter().map(|c| format!("`{}`", c.key())).collect();
            let what = format!("this form of {} does not use the operand `{}`", i.opcode, role.name);
            let advice = format!("remove the operand, or choose a form that uses it with {}", why.join(", "));
            self.fault(i, Slot::Operand(list, n), Error::new(Code::J009, what).advice(advice));
        }
    }

    /// Index operands of an opcode, or of a form, that has no address to drive with them.
    fn index_operands(&mut self, i: &'m Instruction) {
        if i.indirection_ins.is_empty() {
            return;
        }
        let rule = i.opcode.row().rule(|r| matches!(r, Rule::VectorAddress(_)));
        if rule.and_then(|conditions| met(conditions, i)) == Some(false) || rule.is_none() {
            let what = format!("{} has no address that an index operand drives", i.opcode);
            let e = Error::new(Code::J009, what).received(format!("{} operands", i.indirection_ins.len()));
            return self.fault(i, Slot::Key("indirection_ins"), e.advice("remove `indirection_ins`"));
        }
        let named: Vec<i64> = i.ins.iter().chain(&i.outs).flat_map(index_arguments).collect();
        for n in 0..i.indirection_ins.len() {
            if !named.contains(&(n as i64)) {
                let e = Error::new(Code::J009, "no address names this index operand").received(format!("{named:?}"));
                let advice = "name its position in a `dynamic_ap_info` of `ins` or `outs`, or remove it";
                self.fault(i, Slot::Operand("indirection_ins", n), e.advice(advice));
            }
        }
    }

    fn operand(&mut self, i: &'m Instruction, list: &'static str, n: usize, o: &'m Operand) {
        let slot = Slot::Operand(list, n);
        let (memref, memsetref) = match o {
            Operand::Physical(a) => {
                self.pattern(i, list, n, &a.ap, a.offset);
                if let Some(d) = &a.dynamic {
                    self.dynamic(i, list, n, d);
                }
                (&a.memref, &a.memsetref)
            }
            Operand::Symbolic(a) => {
                self.pattern(i, list, n, &a.ap, 0);
                if a.addrs.is_empty() {
                    let e = Error::new(Code::J012, "a symbolic pattern has at least one address expression");
                    self.fault(i, Slot::OperandKey(list, n, "addrs"), e.received("[]"));
                }
                (&a.memref, &a.memsetref)
            }
            Operand::RegisterAp(a) => {
                self.pattern(i, list, n, &a.ap, a.const_ap_offset);
                if a.const_sub_tensor_id < -1 {
                    let e = Error::new(Code::J011, "a sub-tensor index is not negative, or -1 for none");
                    self.fault(i, Slot::OperandKey(list, n, "const_sub_tensor_id"), e.received(a.const_sub_tensor_id));
                }
                (&a.memref, &a.memsetref)
            }
            Operand::Imm { dtype, value, .. } => return self.immediate(i, slot, *dtype, std::slice::from_ref(value)),
            Operand::SymbolicImm { dtype, values, .. } | Operand::ImmArray { dtype, values, .. } => {
                if values.is_empty() {
                    self.fault(i, slot, Error::new(Code::J009, "a list of immediates holds at least one value"));
                }
                return self.immediate(i, slot, *dtype, values);
            }
            Operand::Register { .. } => return,
        };
        self.element_size(i, slot, o, memref, memsetref);
    }

    /// Ruling D1: a pattern may reinterpret the bytes of its location when its element divides the row.
    fn element_size(&mut self, i: &'m Instruction, slot: Slot, o: &Operand, memref: &str, memsetref: &str) {
        let location = match self.find(o, memref, memsetref) {
            Found::One(l) => l,
            Found::Set(set) => match set.locations.first() {
                Some(l) => l,
                None => return,
            },
            // A dangling name is reported with the references.
            _ => return,
        };
        let row = row_bytes(location);
        let size = o.dtype().size() as u64;
        if !row.is_multiple_of(size) {
            let what = format!("{} elements of {size} bytes do not divide a row of {row} bytes", o.dtype());
            let e = Error::new(Code::J008, what).received(o.dtype()).at(|p| p.tensor = Some(location.name.clone()));
            self.fault(i, slot, e.advice("choose a dtype whose size divides the row of the location"));
        }
    }

    fn pattern(&mut self, i: &'m Instruction, list: &'static str, n: usize, ap: &[ApPair], offset: i64) {
        let slot = Slot::OperandKey(list, n, "ap");
        if ap.is_empty() || ap.len() > MAX_PAIRS {
            let e = Error::new(Code::J008, format!("an access pattern has 1 to {MAX_PAIRS} pairs"));
            return self.fault(i, slot, e.received(format!("{} pairs", ap.len())));
        }
        if let Some(p) = ap.iter().find(|p| p.num < 0) {
            let e = Error::new(Code::J008, "a count of an access pattern is not negative");
            return self.fault(i, slot, e.received(p.num));
        }
        let elements = ap.iter().try_fold(1i128, |n, p| n.checked_mul(p.num.into()).filter(|n| *n <= MAX_ELEMENTS));
        if elements.is_none() {
            let e = Error::new(Code::J008, "an access pattern has at most 2^40 elements");
            return self.fault(i, slot, e.received(format!("{:?}", ap.iter().map(|p| p.num).collect::<Vec<_>>())));
        }
        // Each term is below 2^127 and there are at most nine: the sums stay inside i128 only when checked.
        let (mut lo, mut hi) = (i128::from(offset), i128::from(offset));
        for p in ap.iter().filter(|p| p.num > 0) {
            let reach = i128::from(p.step) * (i128::from(p.num) - 1);
            lo = lo.saturating_add(reach.min(0));
            hi = hi.saturating_add(reach.max(0));
        }
        if lo < i64::MIN.into() || hi > i64::MAX.into() {
            let e = Error::new(Code::J008, "an access pattern leaves the 64-bit range");
            self.fault(i, slot, e.received(format!("offsets {lo} to {hi}")));
        }
    }

    fn dynamic(&mut self, i: &'m Instruction, list: &'static str, n: usize, d: &'m DynamicAp) {
        let slot = Slot::OperandKey(list, n, "dynamic_ap_info");
        if !d.actual_ap.is_empty() {
            self.pattern(i, list, n, &d.actual_ap, d.c.unwrap_or(0));
        }
        let exprs: Vec<&Expr> = d.offset_expr.iter().chain(d.aff_expr.iter().map(|(e, _)| e)).collect();
        let (mut registers, mut index_operands) = (0, 0);
        for e in exprs {
            // A malformed expression is reported with the references.
            let Ok(names) = super::expressions::names(e) else { return };
            registers += names.registers.len();
            index_operands += names.index_operands.len();
        }
        if registers > 0 && index_operands > 0 {
            let what = "a dynamic address is a register or an index tensor, not both";
            let got = format!("{registers} registers, {index_operands} index tensors");
            self.fault(i, slot, Error::new(Code::J012, what).received(got));
        }
        if index_operands > 0 && i.indirection_ins.is_empty() && i.ins.len() < 2 {
            let e = Error::new(Code::J009, "a dynamic address names an index operand that the instruction lacks");
            self.fault(i, slot, e.received("no operand in `indirection_ins`"));
        }
    }

    fn immediate(&mut self, i: &'m Instruction, slot: Slot, dtype: Dtype, values: &[ImmValue]) {
        if !dtype.is_immediate() {
            let e = Error::new(Code::J011, "an immediate is an integer, float32, float16 or bfloat16").received(dtype);
            return self.fault(i, slot, e);
        }
        let range = match dtype {
            Dtype::Uint8 => 0..=255,
            Dtype::Int8 => -128..=127,
            // 16-bit floats are written as their bit pattern.
            Dtype::Uint16 | Dtype::Float16 | Dtype::Bfloat16 => 0..=65535,
            Dtype::Int16 => -32768..=32767,
            Dtype::Uint32 => 0..=i128::from(u32::MAX),
            Dtype::Int32 => i128::from(i32::MIN)..=i128::from(i32::MAX),
            Dtype::Uint64 => 0..=i128::from(u64::MAX),
            Dtype::Int64 => i128::from(i64::MIN)..=i128::from(i64::MAX),
            _ => return,
        };
        for v in values {
            let (fits, got) = match v {
                ImmValue::Int(v) => (range.contains(v), v.to_string()),
                ImmValue::Float(x) if dtype.is_integer() => {
                    (x.fract() == 0.0 && range.contains(&(*x as i128)), x.to_string())
                }
                ImmValue::Float(_) => (true, String::new()),
            };
            if !fits {
                let e = Error::new(Code::J011, format!("an immediate does not fit {dtype}")).received(got);
                self.fault(i, slot, e);
            }
        }
    }
}
