//! Loops, calls and terminators.

use super::*;

impl<'a> Plain<'a> {
    pub(super) fn control(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        match i.opcode {
            Opcode::Loop | Opcode::DynamicForLoop => {
                let key = if i.opcode == Opcode::Loop { "LoopAxis" } else { "DynamicForLoopAxis" };
                let Some(Value::Axis(axis)) = i.field(key) else { unreachable!("a loop has an axis") };
                let Axis { name, lb, ub, stride } = *axis;
                let (lb, ub, stride) = (self.value(f, &lb), self.value(f, &ub), self.value(f, &stride).max(1));
                if lb >= ub {
                    self.seen("zero trips");
                }
                let parallel = i.field("isParallel") == Some(Value::Bool(true));
                self.seen(if parallel { "parallel loop" } else { "plain loop" });
                self.axes.push((name, lb));
                let depth = self.axes.len();
                self.seen(format!("depth {depth}"));
                let out = match parallel {
                    true => self.instruction_major(f, i, (lb, ub, stride)),
                    false => self.trips(f, i, (lb, ub, stride)),
                };
                self.axes.pop();
                out
            }
            Opcode::DoWhile => {
                let Some(Value::Expr(cond)) = i.field("cond") else { unreachable!("a DoWhile has a condition") };
                loop {
                    self.blocks(f, &i.blocks)?;
                    if self.left_loop() || self.value(f, &cond) == 0 {
                        return Ok(());
                    }
                }
            }
            Opcode::Call | Opcode::NKIKernel => {
                let kernel = i.opcode == Opcode::NKIKernel;
                let name = text(i, if kernel { "func" } else { "target" });
                let mut all = self.module.functions.iter().chain(&self.module.nki_functions);
                let callee = all.find(|g| g.name == name).expect("the callee exists");
                let keys: &[&str] = if kernel { &["func_args", "func_outs"] } else { &["arguments"] };
                let mut pairs = Vec::new();
                for key in keys {
                    let Some(Value::Map(more)) = i.field(key) else { unreachable!("calls bind") };
                    pairs.extend(more);
                }
                if self.calls > 0 {
                    return Err(("BIR-S013".into(), i.name.clone()));
                }
                let before = std::mem::replace(&mut self.bindings, pairs.into_iter().collect());
                self.calls += 1;
                let out = self.blocks(callee, &callee.blocks);
                self.calls -= 1;
                self.bindings = before;
                if self.next != Next::Exit {
                    self.next = Next::Fall;
                    // An expanded kernel ends with a Return.
                    if kernel && out.is_ok() {
                        self.semaphores.fill(0);
                    }
                }
                out
            }
            Opcode::UnconditionalBranch => {
                self.next = Next::To(text(i, "target"));
                Ok(())
            }
            Opcode::CompareAndBranch => {
                let Some(Value::Enum(op)) = i.field("comp_op") else { unreachable!("comp_op is named") };
                let (a, b) = (self.scalar(f, &i.ins[0]), self.scalar(f, &i.ins[1]));
                use BranchCompare as C;
                let taken = match C::from_ordinal(op) {
                    Some(C::LtImm | C::LtReg) => a < b,
                    Some(C::LeImm | C::LeReg) => a <= b,
                    Some(C::EqImm | C::EqReg) => a == b,
                    Some(C::NeImm | C::NeReg) => a != b,
                    Some(C::GeImm | C::GeReg) => a >= b,
                    Some(C::GtImm | C::GtReg) => a > b,
                    other => unreachable!("{other:?} is not generated"),
                };
                self.seen(if taken { "branch taken" } else { "branch not taken" });
                let target = text(i, if taken { "on_true" } else { "on_false" });
                self.next = if target.is_empty() { Next::Fall } else { Next::To(target) };
                Ok(())
            }
            Opcode::Break => {
                self.next = Next::Break;
                Ok(())
            }
            Opcode::Return => {
                self.semaphores.fill(0);
                self.next = Next::Return;
                Ok(())
            }
            Opcode::Exit => {
                self.next = Next::Exit;
                Ok(())
            }
            other => unreachable!("{other} is not generated"),
        }
    }

    pub(super) fn trips(&mut self, f: &'a Function, i: &'a Instruction, (lb, ub, stride): (i64, i64, i64)) -> Run<()> {
        let mut v = lb;
        while v < ub {
            self.axes.last_mut().expect("the loop has an axis").1 = v;
            self.blocks(f, &i.blocks)?;
            if self.left_loop() {
                break;
            }
            v += stride;
        }
        Ok(())
    }

    /// After a body: true when the loop is over. A Break ends here, other exits go on outwards.
    pub(super) fn left_loop(&mut self) -> bool {
        if self.next == Next::Break {
            self.next = Next::Fall;
            return true;
        }
        self.next != Next::Fall
    }

    pub(super) fn instruction_major(
        &mut self,
        f: &'a Function,
        i: &'a Instruction,
        (lb, ub, stride): (i64, i64, i64),
    ) -> Run<()> {
        for inner in i.blocks.iter().flat_map(|b| &b.instructions) {
            for v in (lb..ub).step_by(stride as usize) {
                self.axes.last_mut().expect("the loop has an axis").1 = v;
                self.issue(f, inner)?;
            }
        }
        Ok(())
    }
}
