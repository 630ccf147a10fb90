//! One instruction: operands, fields, staging.

use super::Context;
use crate::ir::traits::met;
use crate::ir::{Engine, FieldType, Instruction, Role, Rule, Trait, Value};
use crate::memory::ArenaId;
use crate::memory::overlap::Overlaps;
use crate::world::expr::Ex;
use crate::world::*;
use crate::{Code, Error, Result};

impl Context<'_> {
    /// Compiles one instruction and everything inside it; returns its row.
    pub(super) fn instruction(&mut self, block: BlockId, index: u32, i: &Instruction) -> Result<RowId> {
        self.instruction_inner(block, index, i).map_err(|e| {
            e.at(|p| {
                p.instruction = Some(i.name.clone());
                p.opcode = Some(i.opcode.name().to_string());
            })
        })
    }

    fn instruction_inner(&mut self, block: BlockId, index: u32, i: &Instruction) -> Result<RowId> {
        let (control, body) = self.control(i)?;
        let fields = self.fields(i)?;
        let mut predicates = Vec::new();
        for p in &i.predicates {
            predicates.push(CompiledPredicate { ex: self.expr(&p.expr)?, op: p.op });
        }
        let first = self.program.operands.len() as u32;
        for (role, list) in i.lists() {
            for (k, o) in list.iter().enumerate() {
                self.moving = takes_offset(i, role, k);
                let compiled = self.operand(o).map_err(|e| e.operand(format!("{role}[{k}]")));
                let moving = std::mem::take(&mut self.moving);
                let compiled = match compiled? {
                    Opnd::Dynamic(mut spec) => {
                        if moving {
                            spec.operand_scale = Some(match i.field("scale") {
                                Some(Value::Expr(e)) => self.expr(&e).map_err(|e| e.operand("scale"))?,
                                Some(Value::Int(s)) => Ex::C(s),
                                _ => Ex::C(1),
                            });
                        }
                        let guard = self.layout.profile.dram_by_register;
                        match spec.fix(self.program, i.opcode, guard, |loc| self.layout.placements[loc].clone()) {
                            Ok(()) => Opnd::Dynamic(spec),
                            Err(e) => Opnd::Faulty(Box::new(e.operand(format!("{role}[{k}]")))),
                        }
                    }
                    Opnd::Register(..) if role == "outs" => self.written_register(o)?,
                    Opnd::Faulty(e) => Opnd::Faulty(Box::new(e.operand(format!("{role}[{k}]")))),
                    fine => fine,
                };
                self.program.operands.push(compiled);
            }
        }
        if let Some(e) = super::matmul::misfit(i, u32::from(self.layout.target.arch() as u8)) {
            let out = first as usize + i.ins.len();
            self.program.operands[out] = Opnd::Faulty(Box::new(e));
        }
        let operands = OperandRange {
            first,
            ins: count(i.ins.len())?,
            outs: count(i.outs.len())?,
            indirect: count(i.indirection_ins.len())?,
        };
        let sync = self.sync(i)?;
        // In list order the engine decides which registers and accumulators are used, never the order, so an instruction
        // without one runs on the usual engine of its opcode. With queues there is none to put it in: executing it is a fault.
        let engine = match i.engine {
            Engine::Unassigned if !self.by_sync => i.opcode.row().engines.first().copied().unwrap_or(i.engine),
            e => e,
        };
        let auto_accumulate = self.program.functions.get(self.function.at()).is_some_and(|f| f.auto_psum);
        let draft = Draft {
            opcode: i.opcode,
            engine,
            auto_accumulate,
            fields: &fields,
            operands,
            program: self.program,
            profile: &self.layout.profile,
            target: self.layout.target,
            now: None,
            waits: Default::default(),
        };
        let (forms, reads_uninit) = (Forms::of(&draft), draft.reads_uninit());
        let own = Own::of(&draft, forms.open(), self.compiler.prepare).unwrap_or(Own::Keys(fields));
        let mut inst = Inst {
            opcode: i.opcode,
            engine,
            name: i.name.as_str().into(),
            own,
            operands,
            predicates: predicates.into(),
            overlaps: Overlaps::default(),
            all_static: false,
            apart: false,
            in_place: in_place(i),
            forms,
            reads_uninit,
            body,
            control,
            block,
            index,
            source: i
                .debug
                .as_ref()
                .and_then(|d| Some(format!("{}:{}", d.filename.as_deref()?, d.lineno.unwrap_or(0)).into_boxed_str()))
                .map_or(Origin::Unknown, Origin::Text),
            auto_accumulate,
        };
        (inst.overlaps, inst.apart) = overlaps(self.program, &inst);
        inst.all_static = all_static(self.program, &inst);
        self.program.syncs.push(sync);
        Ok(self.program.push(inst))
    }

    /// A register output, or the fault it raises: the body of a loop does not write its induction variable (S012).
    fn written_register(&mut self, o: &crate::ir::Operand) -> Result<Opnd> {
        let compiled = self.operand(o)?;
        let crate::ir::Operand::Register { regref, .. } = o else { return Ok(compiled) };
        match self.axes.iter().rev().find(|e| e.name == *regref || e.registers.contains(regref)) {
            Some(e) => {
                let what = format!("the loop over {} counts in the register {regref}, which its body writes", e.name);
                Ok(Opnd::Faulty(Box::new(Error::new(Code::S012, what).received(regref))))
            }
            None => Ok(compiled),
        }
    }

    /// Distance of an axis from its lower bound: 0 in the first iteration.
    fn since_first(&self, name: &str) -> Result<Ex> {
        let axis = self.axis(name)?;
        let lb = self.axes.iter().rev().find(|e| e.axis == axis).map_or(Ex::C(0), |e| e.lb.clone());
        Ok(Ex::Lin(Box::new([(Ex::Axis(axis), 1), (lb, -1)]), 0))
    }

    fn fields(&self, i: &Instruction) -> Result<Box<[FieldValue]>> {
        let row = i.opcode.row();
        let mut out = Vec::with_capacity(row.fields.len());
        for (k, f) in row.fields.iter().enumerate() {
            let value = i.fields.get(k).cloned().flatten().or_else(|| f.default.value());
            out.push(match value {
                None => FieldValue::Absent,
                Some(Value::Bool(b)) => FieldValue::Int(i64::from(b)),
                Some(Value::Int(v)) => FieldValue::Int(v),
                Some(Value::Enum(o)) => FieldValue::Int(i64::from(o)),
                Some(Value::Float(x)) => FieldValue::Float(x),
                // Control instructions compile their own expressions.
                Some(Value::Expr(e)) if !matches!(f.key, "cond") => {
                    FieldValue::Ex(self.expr(&e).map_err(|e| e.operand(f.key))?)
                }
                Some(Value::Ints(list)) => {
                    let list: Result<Vec<Ex>> = list.iter().map(|e| self.expr(e)).collect();
                    FieldValue::Exs(list.map_err(|e| e.operand(f.key))?.into())
                }
                Some(Value::Strs(axes)) if matches!(f.ty, FieldType::Axes) => {
                    let all: Result<Vec<Ex>> = axes.iter().map(|a| self.since_first(a)).collect();
                    FieldValue::Exs(all.map_err(|e| e.operand(f.key))?.into())
                }
                Some(other) => FieldValue::Cold(Box::new(other)),
            });
        }
        Ok(out.into())
    }
}

/// The form reads every element before it writes the same element.
fn in_place(i: &Instruction) -> bool {
    let rule = i.opcode.row().rule(|r| matches!(r, Rule::InPlace(_)));
    i.opcode.is(Trait::Elementwise) && rule.is_none_or(|conditions| met(conditions, i) == Some(true))
}

/// No operand has an address that depends on the run.
pub(crate) fn all_static(p: &Program, inst: &Inst) -> bool {
    !p.operands_of(inst).iter().any(|o| matches!(o, Opnd::Dynamic(_)))
}

/// How static inputs lie to static outputs (ruling D34), and whether that is all, because nothing else can meet.
pub(crate) fn overlaps(p: &Program, inst: &Inst) -> (Overlaps, bool) {
    let r = inst.operands;
    let (ins, outs) = (r.ins as usize, r.outs as usize);
    let operands = p.operands_of(inst);
    // An operand that was refused is reported when the others are resolved, so that errors keep their order.
    let (mut found, mut apart) = (Overlaps::default(), !operands.iter().any(|o| matches!(o, Opnd::Faulty(_))));
    for (k, src) in operands.iter().enumerate().filter(|(k, _)| !(ins..ins + outs).contains(k)) {
        for (o, dst) in operands[ins..ins + outs].iter().enumerate() {
            match (src, dst) {
                (Opnd::Static { arena: a, pattern: src, .. }, Opnd::Static { arena: b, pattern: dst, .. }) => {
                    if a == b {
                        found.note(k, o, &p.patterns[*src], &p.patterns[*dst]);
                    }
                }
                _ => apart &= !may_meet(p, src, dst),
            }
        }
    }
    (found, apart)
}

/// Two operands, at least one of which depends on the run, may have bytes in common.
fn may_meet(p: &Program, a: &Opnd, b: &Opnd) -> bool {
    // `None`: nobody knows; an empty range: no memory.
    let reach = |o: &Opnd| match o {
        Opnd::Static { arena, pattern, .. } => Some((*arena, p.patterns[*pattern].extent().unwrap_or((0, 0)))),
        Opnd::Dynamic(spec) => spec.anchor.as_ref().map(|a| (a.arena, a.extent)),
        _ => Some((ArenaId::default(), (0, 0))),
    };
    match (reach(a), reach(b)) {
        (Some((a, (lo, hi))), Some((b, (from, to)))) => a == b && lo < to && from < hi,
        _ => true,
    }
}

/// The operand whose address `ins[1]` moves.
fn takes_offset(i: &Instruction, role: &str, k: usize) -> bool {
    let row = i.opcode.row();
    let roles = match role {
        "ins" => row.ins,
        "outs" => row.outs,
        _ => return false,
    };
    i.ins.len() > 1 && Role::of(roles, k).is_some_and(|r| r.moved)
}

pub(super) fn count(n: usize) -> Result<u16> {
    u16::try_from(n)
        .map_err(|_| Error::new(Code::J009, "an instruction has at most 65535 operands or syncs").received(n))
}
