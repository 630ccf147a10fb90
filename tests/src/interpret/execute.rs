//! Instructions without control flow.

use super::*;

impl<'a> Plain<'a> {
    pub(super) fn execute(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        match i.opcode {
            Opcode::TensorScalar => {
                let (a, b) = (float(i, "const0"), float(i, "const1"));
                let v: Vec<u32> = self.read(f, i, 0)?.iter().map(|x| (f32::from_bits(*x) * a + b).to_bits()).collect();
                self.write(f, i, &v)
            }
            Opcode::TensorTensor => {
                let (x, y) = (self.read(f, i, 0)?, self.read(f, i, 1)?);
                let max = i.field("op") == Some(Value::named(AluOp::Max));
                let one = |(x, y): (&u32, &u32)| {
                    let (x, y) = (f32::from_bits(*x), f32::from_bits(*y));
                    // The second operand when they do not compare (ruling D5).
                    let first = if max { x > y } else { x < y };
                    if first { x.to_bits() } else { y.to_bits() }
                };
                let v: Vec<u32> = x.iter().zip(&y).map(one).collect();
                self.write(f, i, &v)
            }
            Opcode::TensorCopy | Opcode::DMACopy | Opcode::Load | Opcode::Save | Opcode::DMADescriptorCopy => {
                let v = self.read(f, i, 0)?;
                self.write(f, i, &v)
            }
            Opcode::Memset => {
                let Some(Value::Int(bits)) = i.field("constant") else { unreachable!("a constant is bits") };
                let n = self.keys(f, i, &i.outs[0])?.len() / 4;
                self.write(f, i, &vec![bits as u32; n])
            }
            Opcode::Matmult => self.matmult(f, i),
            Opcode::RegisterMove => {
                let v = self.scalar(f, &i.ins[0]);
                self.set_register(f, &i.outs[0], v);
                Ok(())
            }
            Opcode::RegisterAlu => {
                let (a, b) = (self.scalar(f, &i.ins[0]), self.scalar(f, &i.ins[1]));
                let Some(Value::Enum(op)) = i.field("op") else { unreachable!("op is named") };
                let wide = i.field("is_64bit") == Some(Value::Bool(true));
                let (a, b) = if wide { (a, b) } else { (i64::from(a as i32), i64::from(b as i32)) };
                let v = match AluOp::from_ordinal(op) {
                    Some(AluOp::Add) => a.wrapping_add(b),
                    Some(AluOp::Subtract) => a.wrapping_sub(b),
                    Some(AluOp::Mult) => a.wrapping_mul(b),
                    Some(AluOp::BitwiseAnd) => a & b,
                    Some(AluOp::BitwiseXor) => a ^ b,
                    Some(AluOp::Max) => a.max(b),
                    Some(AluOp::IsLt) => i64::from(a < b),
                    other => unreachable!("{other:?} is not generated"),
                };
                self.set_register(f, &i.outs[0], v);
                Ok(())
            }
            Opcode::TensorLoad => {
                let v = self.read(f, i, 0)?[0];
                self.set_register(f, &i.outs[0], i64::from(v as i32));
                Ok(())
            }
            Opcode::TensorSave => {
                let v = self.scalar(f, &i.ins[0]) as u32;
                self.write(f, i, &[v])
            }
            Opcode::DMATrigger => {
                let n = self.fires.entry(i.name.clone()).or_default();
                *n += 1;
                let b = self.fired(i).expect("the block exists");
                for d in b.blocks.iter().flat_map(|b| &b.instructions) {
                    self.seen(format!("op {}", d.opcode));
                    self.execute(self.module.entry().expect("a module has an entry"), d)?;
                }
                Ok(())
            }
            Opcode::GroupResetSemaphores => {
                let Some(Value::Ints(ids)) = i.field("sema_group") else { return Ok(()) };
                ids.iter().filter_map(Expr::as_const).for_each(|id| self.semaphores[id as usize] = 0);
                Ok(())
            }
            Opcode::SwitchQueueInstance | Opcode::ResetQueueInstance => self.rewind(i),
            Opcode::NoOp | Opcode::EventSemaphore | Opcode::AllEngineBarrier | Opcode::Drain => Ok(()),
            _ => self.control(f, i),
        }
    }

    pub(super) fn rewind(&mut self, i: &Instruction) -> Run<()> {
        let queue = text(i, "queue");
        if i.opcode == Opcode::SwitchQueueInstance {
            if let Some(q) = self.module.queues.iter().find(|q| q.name == queue) {
                q.semaphores.iter().chain(&q.use_special_sema).for_each(|id| self.semaphores[*id as usize] = 0);
            }
            if i.field("no_rearm") == Some(Value::Bool(true)) {
                return Ok(());
            }
        }
        for name in strings(i, "instance") {
            if let Some(b) = self.dma_block(&queue, &name) {
                self.fires.remove(&text(b, "dma_trigger"));
            }
        }
        Ok(())
    }

    pub(super) fn matmult(&mut self, f: &'a Function, i: &'a Instruction) -> Run<()> {
        let (x, w) = (self.read(f, i, 0)?, self.read(f, i, 1)?);
        let k = i.ins[0].ap().expect("a pattern")[0].num as usize;
        let (n, m) = (x.len() / k, w.len() / k);
        let (x, w): (Vec<f32>, Vec<f32>) =
            (x.iter().map(|b| f32::from_bits(*b)).collect(), w.iter().map(|b| f32::from_bits(*b)).collect());
        let flag = match i.field("accumulation_flag") {
            Some(Value::Int(v)) => v,
            _ => 0,
        };
        self.seen(format!("matmult flag {flag}"));
        let keys = self.keys(f, i, &i.outs[0])?;
        let old = self.words(&keys);
        let mut out = Vec::new();
        for row in 0..m {
            for col in 0..n {
                // Small integers: every order of summation gives the same.
                let sum: f32 = (0..k).map(|k| w[k * m + row] * x[k * n + col]).fold(0.0, |s, v| s + v);
                let e = row * n + col;
                let adds = flag & 1 == 0 && flag & 4 != 0 && self.marks.contains(&keys[e * 4]);
                if adds {
                    self.seen("matmult adds");
                }
                out.push((if adds { f32::from_bits(old[e]) + sum } else { sum }).to_bits());
            }
        }
        self.marks.extend(&keys);
        self.write(f, i, &out)
    }

    /// An integer operand.
    pub(super) fn scalar(&self, f: &Function, o: &Operand) -> i64 {
        match o {
            Operand::Imm { value: ImmValue::Int(v), .. } => *v as i64,
            Operand::Register { dtype, regref, .. } => {
                let v = self.register(f, regref);
                match dtype {
                    Dtype::Int64 => v,
                    Dtype::Uint32 => i64::from(v as u32),
                    _ => i64::from(v as i32),
                }
            }
            other => unreachable!("{other:?} is no scalar"),
        }
    }

    /// The value of a register, extended by its type.
    pub fn register(&self, f: &Function, name: &str) -> i64 {
        let d = declared(f, name);
        // Physical registers that nothing wrote are all ones (ruling D48).
        let fresh = if d.reg_id >= 0 { u64::MAX } else { 0 };
        let raw = self.registers.get(name).copied().unwrap_or(fresh);
        match (d.num_physical_regs == 2, d.dtype) {
            (true, _) => raw as i64,
            (false, Dtype::Int32) => i64::from(raw as i32),
            _ => i64::from(raw as u32),
        }
    }

    pub(super) fn set_register(&mut self, f: &Function, o: &Operand, value: i64) {
        let Operand::Register { regref, .. } = o else { unreachable!("the output is a register") };
        let wide = declared(f, regref).num_physical_regs == 2;
        self.registers.insert(regref.clone(), if wide { value as u64 } else { u64::from(value as u32) });
    }

    pub(super) fn value(&self, f: &Function, e: &Expr) -> i64 {
        match e {
            Expr::Const(c) => *c,
            Expr::Affine { terms, c } => terms.iter().map(|(t, k)| self.value(f, t) * k).sum::<i64>() + c,
            Expr::Axis(name) => self.axes.iter().rev().find(|(n, _)| n == name).expect("the axis is live").1,
            Expr::Register(name) => self.register(f, name),
            Expr::Modulo(a, b) => self.value(f, a).rem_euclid(self.value(f, b)),
            Expr::FloorDiv(a, b) => self.value(f, a).div_euclid(self.value(f, b)),
            other => unreachable!("{other:?} is not generated"),
        }
    }
}

pub(super) fn declared<'f>(f: &'f Function, name: &str) -> &'f birsim_engine::ir::RegisterDecl {
    let of = f.allocations.iter().find_map(|s| match s {
        Storage::Register(r) if r.name == name => Some(r),
        _ => None,
    });
    of.expect("the register is declared")
}
