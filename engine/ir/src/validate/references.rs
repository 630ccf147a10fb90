//! Every name resolves to an object of the right kind (`bir-json.md` 2, pass two).

use super::index::Found;
use super::{Slot, Walk};
use crate::nearest::nearest;
use crate::{Block, Expr, Function, Instruction, Operand, Steer, Storage, Value};
use birsim_kernels::{Code, Error};

fn dangling(what: impl Into<String>, name: &str) -> Error {
    Error::new(Code::J006, what).received(if name.is_empty() { "(no name)" } else { name })
}

impl<'m> Walk<'m> {
    pub(super) fn function_references(&mut self, function: &'m Function) {
        let Some(scope) = self.scope else { return };
        for name in &function.arguments {
            if self.index.scopes[scope].set(name).is_none() {
                let e = dangling(format!("the formal argument {name} is not a tensor set of the function"), name);
                self.push(e.operand("arguments"));
            }
        }
        for storage in &function.allocations {
            let Storage::Set(set) = storage else { continue };
            for location in &set.locations {
                let pointer = location.pointer_ref_memloc.iter().map(|n| ("", n.as_str(), "pointer_ref_memloc"));
                let alias = location.alias.iter().map(|(s, l, _)| (s.as_str(), l.as_str(), "alias"));
                for (set, target, key) in pointer.chain(alias) {
                    if !matches!(self.index.scopes[scope].find(target, set), Found::One(_)) {
                        let e = dangling(format!("there is no memory location named {target}"), target);
                        let name = location.name.clone();
                        self.push(e.operand(key).at(|p| p.tensor = Some(name)));
                    }
                }
            }
        }
    }

    pub(super) fn block_arguments(&mut self, block: &'m Block) {
        for argument in &block.arguments {
            if !self.has_register(&argument.name) {
                let what = format!("the block argument {} is not a register of the function", argument.name);
                self.push(dangling(what, &argument.name).operand("arguments"));
            }
            for (value, from) in &argument.incoming {
                if !self.has_block(from) {
                    let e = dangling(format!("there is no block named {from} in this function"), from);
                    self.push(e.operand("incoming_values"));
                }
                if let Operand::Register { regref, .. } = value
                    && !self.has_register(regref)
                {
                    let e = dangling(format!("there is no register named {regref} in this function"), regref);
                    self.push(e.operand("incoming_values"));
                }
            }
        }
    }

    pub(super) fn references(&mut self, i: &'m Instruction) {
        for (list, operands) in i.lists() {
            for (n, operand) in operands.iter().enumerate() {
                self.operand_references(i, Slot::Operand(list, n), operand);
            }
        }
        for (field, value) in i.opcode.row().fields.iter().zip(&i.fields) {
            match value {
                Some(Value::Expr(e)) => self.expression_references(i, Slot::Key(field.key), e),
                Some(Value::Ints(list)) => {
                    list.iter().for_each(|e| self.expression_references(i, Slot::Key(field.key), e));
                }
                Some(Value::Axis(a)) => {
                    [&a.lb, &a.ub, &a.stride]
                        .into_iter()
                        .for_each(|e| self.expression_references(i, Slot::Key(field.key), e));
                }
                _ => {}
            }
        }
        i.predicates.iter().for_each(|p| self.expression_references(i, Slot::Key("predicates"), &p.expr));
        i.order.iter().for_each(|e| self.expression_references(i, Slot::Key("order"), e));
        for wait in &i.sync.on_wait {
            if let Some(regref) = &wait.regref {
                self.register_reference(i, Slot::Key("sync_info"), regref);
            }
        }
        for d in i.dependencies.iter().chain(&i.loop_carried_dependencies) {
            if !self.index.instructions.contains(d.on.as_str()) {
                let e = dangling(format!("there is no instruction named {}", d.on), &d.on);
                self.fault(i, Slot::Key("dependencies"), e);
            }
        }
        self.named_targets(i);
    }

    fn operand_references(&mut self, i: &'m Instruction, slot: Slot, operand: &'m Operand) {
        match operand {
            Operand::Physical(a) => {
                self.location_reference(i, slot, operand, &a.memref, &a.memsetref, false);
                if let Some(d) = &a.dynamic {
                    let exprs = d.offset_expr.iter().chain(d.aff_expr.iter().map(|(e, _)| e));
                    exprs.for_each(|e| self.expression_references(i, slot, e));
                }
            }
            Operand::Symbolic(a) => {
                self.location_reference(i, slot, operand, &a.memref, &a.memsetref, true);
                a.addrs.iter().for_each(|e| self.expression_references(i, slot, e));
            }
            Operand::RegisterAp(a) => {
                self.location_reference(i, slot, operand, &a.memref, &a.memsetref, true);
                let registers = [&a.regref, &a.reg_ap_offset, &a.reg_sub_tensor_id];
                registers.into_iter().flatten().for_each(|r| self.register_reference(i, slot, r));
            }
            Operand::SymbolicImm { expr, .. } => self.expression_references(i, slot, expr),
            Operand::Register { regref, .. } => self.register_reference(i, slot, regref),
            Operand::Imm { .. } | Operand::ImmArray { .. } => {}
        }
    }

    /// The location that an operand names, in the function's scope, its owner's, or for queues any scope.
    pub(super) fn find(&self, operand: &Operand, memref: &str, memsetref: &str) -> Found<'m> {
        let owner = match operand {
            Operand::Physical(a) => a.extra.get("memref_owner_func").and_then(|v| v.as_str()),
            _ => None,
        };
        let owner = owner.filter(|o| !o.is_empty()).and_then(|o| self.index.functions.get(o).copied());
        match owner.or(self.scope) {
            Some(scope) => self.index.scopes[scope].find(memref, memsetref),
            None => {
                let mut all = self.index.scopes.iter().map(|s| s.find(memref, memsetref));
                let resolved = all.find(|f| matches!(f, Found::One(_) | Found::Set(_)));
                resolved.unwrap_or(if memref.is_empty() { Found::NoSet } else { Found::NoLocation })
            }
        }
    }

    fn location_reference(
        &mut self,
        i: &'m Instruction,
        slot: Slot,
        operand: &Operand,
        memref: &str,
        memsetref: &str,
        by_set: bool,
    ) {
        let mut known = Vec::new();
        let mut e = match self.find(operand, memref, memsetref) {
            Found::One(_) => return,
            Found::Set(set) if by_set || set.locations.len() == 1 => return,
            Found::Set(set) => dangling(
                format!("the tensor set {memsetref} has {} locations and `memref` names none", set.locations.len()),
                memsetref,
            ),
            Found::Ambiguous => dangling(format!("several tensor sets have a location named {memref}"), memref)
                .advice("name the set in `memsetref`"),
            Found::NoSet if memsetref.is_empty() => dangling("the operand names no memory location", ""),
            Found::NoSet => {
                known = self.visible().flat_map(|s| s.set_names()).collect();
                dangling(format!("there is no tensor set named {memsetref}"), memsetref)
            }
            Found::NoLocation if memsetref.is_empty() => {
                known = self.visible().flat_map(|s| s.location_names()).collect();
                dangling(format!("there is no memory location named {memref}"), memref)
            }
            Found::NoLocation => {
                dangling(format!("the tensor set {memsetref} has no memory location named {memref}"), memref)
            }
        };
        let wanted = if memref.is_empty() || matches!(e.received_value(), Some(v) if v == memsetref) {
            memsetref
        } else {
            memref
        };
        if let Some(name) = nearest(wanted, known.into_iter()) {
            e = e.advice(format!("did you mean {name}?"));
        }
        self.fault(i, slot, e);
    }

    /// Scopes that the current place sees.
    fn visible(&self) -> impl Iterator<Item = &super::index::Scope<'m>> {
        let own = self.scope;
        self.index.scopes.iter().enumerate().filter(move |(n, _)| own.is_none_or(|o| o == *n)).map(|(_, s)| s)
    }

    fn has_register(&self, name: &str) -> bool {
        match self.scope {
            Some(scope) => self.index.scopes[scope].registers.contains_key(name),
            None => self.index.scopes.iter().any(|s| s.registers.contains_key(name)),
        }
    }

    fn has_block(&self, name: &str) -> bool {
        self.lists.iter().rev().any(|names| names.contains(name))
    }

    fn register_reference(&mut self, i: &'m Instruction, slot: Slot, name: &str) {
        if !self.has_register(name) {
            let mut e = dangling(format!("there is no register named {name} in this function"), name);
            if let Some(close) = nearest(name, self.visible().flat_map(|s| s.registers.keys().copied())) {
                e = e.advice(format!("did you mean {close}?"));
            }
            self.fault(i, slot, e);
        }
    }

    fn expression_references(&mut self, i: &'m Instruction, slot: Slot, expr: &Expr) {
        match super::expressions::names(expr) {
            Err(e) => self.fault(i, slot, e),
            Ok(names) => {
                for axis in names.axes {
                    if !self.axes.contains(&axis) {
                        let e = dangling(format!("no enclosing loop has an axis named {axis}"), axis);
                        self.fault(i, slot, e);
                    }
                }
                names.registers.into_iter().for_each(|r| self.register_reference(i, slot, r));
            }
        }
    }

    /// Names that own keys hold: blocks, functions, queues, triggers, call bindings.
    fn named_targets(&mut self, i: &'m Instruction) {
        let text = |key: &str| match i.opcode.row().field_index(key).and_then(|n| i.fields.get(n)) {
            Some(Some(Value::Str(s))) if !s.is_empty() => Some(s.as_str()),
            _ => None,
        };
        let Some(steer) = i.opcode.row().steers else { return };
        match steer {
            Steer::Branch => {
                for key in ["on_true", "on_false"] {
                    self.block_reference(i, key, text(key));
                }
            }
            Steer::Jump => self.block_reference(i, "target", text("target")),
            Steer::Call => self.callee(i, "target", text("target"), &["arguments"]),
            Steer::CallKernel => self.callee(i, "func", text("func"), &["func_args", "func_outs"]),
            Steer::Trigger => self.trigger(i, text("queue")),
            Steer::SwitchQueue | Steer::ResetQueue => {
                if let Some(queue) = text("queue")
                    && !self.index.queues.contains_key(queue)
                {
                    self.fault(i, Slot::Key("queue"), dangling(format!("there is no queue named {queue}"), queue));
                }
            }
            Steer::QueueBlock => {
                if let Some(trigger) = text("dma_trigger")
                    && !self.index.triggers.contains(trigger)
                {
                    let e = dangling(format!("there is no DMATrigger named {trigger}"), trigger);
                    self.fault(i, Slot::Key("dma_trigger"), e);
                }
            }
            Steer::Loop | Steer::DynamicLoop | Steer::DoWhile => {}
            Steer::Break | Steer::Return | Steer::Exit | Steer::ResetSemaphores => {}
        }
    }

    fn block_reference(&mut self, i: &'m Instruction, key: &'static str, target: Option<&str>) {
        if let Some(target) = target
            && !self.has_block(target)
        {
            let e = dangling(format!("there is no block named {target} in this function"), target);
            self.fault(i, Slot::Key(key), e);
        }
    }

    fn trigger(&mut self, i: &'m Instruction, queue: Option<&str>) {
        let Some(Value::Strs(blocks)) = i.opcode.row().field_index("dma_blocks").and_then(|n| i.fields[n].as_ref())
        else {
            return;
        };
        let Some(queue) = queue else {
            // Without a queue the blocks may be in any queue.
            for b in blocks {
                if !self.index.queues.values().any(|q| q.contains(b.as_str())) {
                    self.fault(i, Slot::Key("dma_blocks"), dangling(format!("no queue has a DMABlock named {b}"), b));
                }
            }
            return;
        };
        let missing: Vec<&String> = match self.index.queues.get(queue) {
            Some(known) => blocks.iter().filter(|b| !known.contains(b.as_str())).collect(),
            None => {
                self.fault(i, Slot::Key("queue"), dangling(format!("there is no queue named {queue}"), queue));
                return;
            }
        };
        for b in missing {
            let e = dangling(format!("the queue {queue} has no DMABlock named {b}"), b);
            self.fault(i, Slot::Key("dma_blocks"), e);
        }
    }

    fn callee(&mut self, i: &'m Instruction, key: &'static str, target: Option<&str>, bindings: &[&'static str]) {
        let Some(target) = target else { return };
        let Some(&callee) = self.index.functions.get(target) else {
            self.fault(i, Slot::Key(key), dangling(format!("there is no function named {target}"), target));
            return;
        };
        for key in bindings {
            let Some(value) = i.opcode.row().field_index(key).and_then(|n| i.fields[n].as_ref()) else { continue };
            let (formals, actuals): (Vec<&str>, Vec<&str>) = match value {
                Value::Map(pairs) => pairs.iter().map(|(f, a)| (f.as_str(), a.as_str())).unzip(),
                Value::Strs(names) => (Vec::new(), names.iter().map(String::as_str).collect()),
                _ => continue,
            };
            for formal in formals {
                if self.index.scopes[callee].set(formal).is_none() {
                    let what = format!("the function {target} has no tensor set named {formal} to bind");
                    self.fault(i, Slot::Key(key), dangling(what, formal));
                }
            }
            for actual in actuals {
                let known = match self.scope {
                    Some(scope) => self.index.scopes[scope].set(actual).is_some(),
                    None => false,
                };
                if !known {
                    let what = format!("the calling function has no tensor set named {actual}");
                    self.fault(i, Slot::Key(key), dangling(what, actual));
                }
            }
        }
    }
}
