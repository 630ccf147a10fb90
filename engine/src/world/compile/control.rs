//! Instructions that change the flow of control: loops, branches, calls, queues.

use super::{Context, Enclosing};
use crate::ir::{Axis, BranchCompare, Expr, Instruction, Opcode, Steer, Trait, Value};
use crate::world::expr::Ex;
use crate::world::scope::Scope;
use crate::world::*;
use crate::{Code, Error, Result};
use birsim_kernels::Named;
use birsim_kernels::profile::LoopWithoutBounds;

impl Context<'_> {
    /// What the instruction does to control flow; compiles its body, if any.
    pub(super) fn control(&mut self, i: &Instruction) -> Result<(Control, Option<ListId>)> {
        let text = |key: &str| match i.field(key) {
            Some(Value::Str(s)) => Some(s),
            _ => None,
        };
        let need = |key: &str| {
            text(key).ok_or_else(|| Error::new(Code::J003, format!("the key {key} is missing")).operand(key))
        };
        let Some(steer) = i.opcode.row().steers else { return Ok((Control::None, None)) };
        Ok(match steer {
            Steer::Loop | Steer::DynamicLoop => {
                let key = if steer == Steer::Loop { "LoopAxis" } else { "DynamicForLoopAxis" };
                let axis = match i.field(key) {
                    Some(Value::Axis(a)) => Some(*a),
                    _ => None,
                };
                let control = self.loop_control(steer, axis.as_ref())?;
                let Control::Loop { axis: id, lb, .. } = &control else { return Ok((control, None)) };
                self.axes.push(Enclosing {
                    name: axis.map_or_else(String::new, |a| a.name),
                    axis: *id,
                    lb: lb.clone(),
                    registers: induction_registers(i),
                });
                let (list, _) = self.block_list(&i.blocks)?;
                self.axes.pop();
                (control, Some(list))
            }
            Steer::DoWhile => {
                let cond = match i.field("cond") {
                    Some(Value::Expr(e)) => self.expr(&e).map_err(|e| e.operand("cond"))?,
                    Some(Value::Int(c)) => Ex::C(c),
                    _ => return Err(Error::new(Code::J003, "the key cond is missing").operand("cond")),
                };
                let (list, _) = self.block_list(&i.blocks)?;
                (Control::DoWhile(cond), Some(list))
            }
            Steer::Jump => (Control::Jump(self.block_named(&need("target")?)?), None),
            Steer::Branch => {
                let target = |key: &str| match text(key) {
                    Some(n) if !n.is_empty() => self.block_named(&n).map(Some).map_err(|e| e.operand(key)),
                    _ => Ok(None),
                };
                let op = match i.field("comp_op") {
                    Some(Value::Enum(o)) => BranchCompare::from_ordinal(o),
                    _ => None,
                };
                let op = op.ok_or_else(|| Error::new(Code::J003, "the key comp_op is missing").operand("comp_op"))?;
                (Control::Branch { op, on_true: target("on_true")?, on_false: target("on_false")? }, None)
            }
            Steer::Break => (Control::Break, None),
            Steer::Return => (Control::Return, None),
            Steer::Exit => (Control::Exit, None),
            // Without a callee a call does nothing.
            Steer::Call => match text("target").filter(|t| !t.is_empty()) {
                Some(target) => self.call(i, &target, i.field("arguments"))?,
                None => (Control::None, None),
            },
            Steer::CallKernel => {
                let Some(name) = text("func").filter(|f| !f.is_empty()) else {
                    return Err(Error::new(Code::J003, "an NKIKernel names its function in func (250)").operand("func"));
                };
                let mut pairs = Vec::new();
                for key in ["func_args", "func_outs"] {
                    self.kernel_bindings(i, &name, key, &mut pairs)?;
                }
                self.call(i, &name, Some(Value::Map(pairs)))?
            }
            Steer::Trigger => {
                let queue = text("queue").unwrap_or_default();
                let names = match i.field("dma_blocks") {
                    Some(Value::Strs(n)) => n,
                    _ => Vec::new(),
                };
                let mut blocks = Vec::new();
                for n in &names {
                    let key = (queue.clone(), n.clone());
                    blocks.push(*self.compiler.dma_blocks.get(&key).ok_or_else(|| {
                        Error::new(Code::J006, format!("the queue {queue} has no DMABlock named {n}"))
                            .received(n)
                            .operand("dma_blocks")
                    })?);
                }
                let trigger = self.compiler.triggers.get(&i.name).copied().unwrap_or_default();
                (Control::Trigger { trigger, blocks: blocks.into() }, None)
            }
            Steer::SwitchQueue | Steer::ResetQueue => (self.rewind(i)?, None),
            Steer::ResetSemaphores => (self.group_reset(i)?, None),
            Steer::QueueBlock => {
                return Err(Error::new(Code::J009, "a DMABlock belongs in a queue, not in a block")
                    .advice("move it to the module's queues and fire it with a DMATrigger"));
            }
        })
    }

    fn loop_control(&mut self, steer: Steer, axis: Option<&Axis>) -> Result<Control> {
        let id = AxisId::of(self.program.axes.len());
        self.program.axes.push(axis.map_or("", |a| a.name.as_str()).into());
        let once = self.layout.profile.loop_without_bounds == LoopWithoutBounds::Once;
        let Some(a) = axis else {
            let zero = || Ex::C(0);
            return Ok(Control::Loop { axis: id, lb: zero(), ub: zero(), stride: zero(), degenerate: once });
        };
        let (lb, ub, stride) = (self.expr(&a.lb)?, self.expr(&a.ub)?, self.expr(&a.stride)?);
        if steer == Steer::DynamicLoop {
            check_dynamic_bound(&a.ub)?;
        }
        let constants = [lb.as_const(), ub.as_const(), stride.as_const()];
        if steer == Steer::Loop && constants.iter().any(Option::is_none) {
            return Err(Error::new(Code::J012, "the bounds of a Loop are constants")
                .advice("use DynamicForLoop for bounds that depend on registers or outer axes"));
        }
        if stride.as_const().is_some_and(|s| s < 0) {
            return Err(Error::new(Code::J011, "the stride of a loop is not negative").received(&a.name));
        }
        let degenerate = once && steer == Steer::Loop && constants == [Some(0); 3];
        Ok(Control::Loop { axis: id, lb, ub, stride, degenerate })
    }

    pub(super) fn call(
        &self,
        _: &Instruction,
        target: &str,
        arguments: Option<Value>,
    ) -> Result<(Control, Option<ListId>)> {
        let function = *self.compiler.functions.get(target).ok_or_else(|| {
            Error::new(Code::J006, format!("there is no function named {target}")).received(target).operand("target")
        })?;
        let pairs = match arguments {
            Some(Value::Map(m)) => m,
            _ => Vec::new(),
        };
        let set = |scope: &Scope, name: &str, what: &str| {
            let direct = scope.sets.get(name).copied();
            let by_loc = || scope.locations.get(name).map(|l| self.program.locations[*l].set);
            direct.or_else(by_loc).ok_or_else(|| {
                Error::new(Code::J006, format!("there is no {what} tensor set named {name}"))
                    .received(name)
                    .operand("arguments")
            })
        };
        let callee = &self.compiler.scopes[function];
        let mut bindings = Vec::new();
        for (formal, actual) in &pairs {
            let f = set(callee, formal, "formal")?;
            let a = set(self.scope(), actual, "actual")?;
            bindings.push((f, a));
        }
        let mut free: Vec<&str> = callee
            .sets
            .iter()
            .filter(|(_, s)| self.program.sets[**s].formal && bindings.iter().all(|(f, _)| f != *s))
            .map(|(name, _)| name.as_str())
            .collect();
        if !free.is_empty() {
            free.sort_unstable();
            return Err(Error::new(Code::J009, format!("the call of {target} leaves formal arguments unbound"))
                .received(free.join(", "))
                .operand("arguments")
                .advice("`arguments` maps every formal tensor set of the callee to one of the caller"));
        }
        Ok((Control::Call { function, bindings: bindings.into() }, None))
    }

    /// Argument maps of an NKIKernel: maps, or lists of set names in formal order.
    pub(super) fn kernel_bindings(
        &self,
        i: &Instruction,
        callee: &str,
        key: &str,
        out: &mut Vec<(String, String)>,
    ) -> Result<()> {
        match i.field(key) {
            Some(Value::Map(m)) => out.extend(m),
            Some(Value::Strs(names)) => {
                let f = *self.compiler.functions.get(callee).ok_or_else(|| {
                    Error::new(Code::J006, format!("there is no function named {callee}")).received(callee)
                })?;
                let scope = &self.compiler.scopes[f];
                let mut formals: Vec<(SetId, &String)> =
                    scope.sets.iter().filter(|(_, s)| self.program.sets[**s].formal).map(|(n, s)| (*s, n)).collect();
                formals.sort();
                let done = out.len();
                out.extend(formals.iter().skip(done).map(|(_, n)| (*n).clone()).zip(names));
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn rewind(&self, i: &Instruction) -> Result<Control> {
        let queue = match i.field("queue") {
            Some(Value::Str(q)) => q,
            _ => String::new(),
        };
        let names = match i.field("instance").or_else(|| i.field("instance_name")) {
            Some(Value::Strs(n)) => n,
            Some(Value::Str(n)) => vec![n],
            Some(Value::Json(serde_json::Value::Array(a))) => {
                a.iter().filter_map(|v| v.as_str().map(str::to_string)).collect()
            }
            Some(Value::Json(serde_json::Value::String(n))) => vec![n],
            _ => Vec::new(),
        };
        let mut triggers: Vec<TriggerId> = Vec::new();
        for n in names {
            let key = (queue.clone(), n);
            triggers.extend(self.compiler.dma_blocks.get(&key).and_then(|p| self.compiler.owner.get(p)));
        }
        triggers.sort_unstable();
        triggers.dedup();
        let mut clear = Vec::new();
        if i.opcode.steers(Steer::SwitchQueue) {
            if let Some(q) = self.compiler.queues.get(&queue) {
                clear.extend(&self.compiler.queue_semaphores[*q as usize]);
            }
            if i.field("no_rearm") == Some(Value::Bool(true)) {
                triggers.clear();
            }
        }
        Ok(Control::Rewind { clear: clear.into(), triggers: triggers.into() })
    }

    /// GroupResetSemaphores writes 0 to every listed semaphore, whatever its mode (`machine.md` 8).
    pub(super) fn group_reset(&self, i: &Instruction) -> Result<Control> {
        let mut clear = Vec::new();
        if let Some(Value::Ints(list)) = i.field("sema_group") {
            for e in list {
                let id = e.as_const().and_then(|v| u32::try_from(v).ok()).filter(|v| *v < 256).ok_or_else(|| {
                    Error::new(Code::J011, "semaphore ids are 0..255").received(format!("{e:?}")).operand("sema_group")
                })?;
                clear.push(id);
            }
        }
        Ok(Control::Rewind { clear: clear.into(), triggers: Box::default() })
    }

    /// Compiles a DMABlock of a queue with its descriptors; returns its row.
    pub(super) fn dma_block(&mut self, i: &Instruction) -> Result<RowId> {
        let mut descriptors = Vec::new();
        for d in i.blocks.iter().flat_map(|b| &b.instructions) {
            if !d.opcode.is(Trait::Descriptor) {
                return Err(Error::new(Code::J009, "a DMABlock holds DMADescriptor instructions only")
                    .received(d.opcode)
                    .at(|p| p.instruction = Some(d.name.clone())));
            }
            descriptors.push(self.instruction(BlockId::NONE, descriptors.len() as u32, d)?);
        }
        let mut plain = Instruction::new(i.name.clone(), Opcode::NoOp, i.engine);
        plain.sync = i.sync.clone();
        let row = self.instruction(BlockId::NONE, 0, &plain)?;
        let inst = &mut self.program.insts[row];
        inst.opcode = Opcode::DMABlock;
        inst.control = Control::Descriptors(descriptors.into());
        Ok(row)
    }
}

/// The upper bound of a DynamicForLoop is c + coeff * register (error 1910 of the reference).
pub(super) fn check_dynamic_bound(ub: &Expr) -> Result<()> {
    let ok = match ub {
        Expr::Affine { terms, .. } => matches!(terms.as_slice(), [(Expr::Register(_), _)]),
        Expr::Register(_) => true,
        _ => false,
    };
    if ok { Ok(()) } else { Err(Error::new(Code::S010, "the upper bound of the loop is not one register term")) }
}

/// Registers that a loop lists as its own.
pub(super) fn induction_registers(i: &Instruction) -> Vec<String> {
    match i.field("registers") {
        Some(Value::Json(serde_json::Value::Array(a))) => {
            a.iter().filter_map(|v| v.as_str().map(str::to_string)).collect()
        }
        _ => Vec::new(),
    }
}
