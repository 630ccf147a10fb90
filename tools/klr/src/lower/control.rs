//! Blocks, branches and the set-up code before the first block (`klr.md` 5.1 and 8).

use super::context::{Core, int_imm};
use super::ops;
use crate::ast::{self, BrCmpOp, CmpBranch, Operator, Stmt};
use birsim_ir::{
    Block, CopyMode, Dependency, DgeType, EdgeKind, Engine, Expr, Extra, Instruction, Opcode, Operand, SourceLocation,
    Value,
};
use birsim_kernels::{Code, Dtype, Error};
use std::collections::{HashMap, HashSet};

/// Edges copy the name of the earlier statement to each later one, so its length is bounded.
const MAX_NAME: usize = 4096;

fn empty(name: String, instructions: Vec<Instruction>) -> Block {
    Block { name, arguments: Vec::new(), instructions, extra: Extra::new() }
}

fn branch(stmt: Option<&Stmt>) -> Option<&CmpBranch> {
    match stmt.map(|s| &s.op) {
        Some(Operator::CmpBranch(p)) => Some(p),
        _ => None,
    }
}

/// The labels of a body, checked: they are unique, every target exists, and a branch ends its block.
struct Labels<'a> {
    index: HashMap<&'a str, usize>,
    /// Blocks that replace the only branch that leads to them.
    inlined: HashSet<usize>,
    /// Blocks that some branch leads to.
    targets: HashSet<usize>,
}

impl<'a> Labels<'a> {
    fn new(body: &'a [ast::Block], errors: &mut Vec<Error>) -> Labels<'a> {
        let mut index = HashMap::new();
        let at = |block: &ast::Block, e: Error| e.at(|p| p.block = Some(block.label.clone()));
        for (i, block) in body.iter().enumerate() {
            if index.insert(block.label.as_str(), i).is_some() {
                errors.push(at(block, Error::new(Code::K005, "two blocks have one label")));
            }
        }
        let mut uses: HashMap<usize, Vec<(usize, bool)>> = HashMap::new();
        for (i, block) in body.iter().enumerate() {
            for (s, stmt) in block.body.iter().enumerate() {
                let Some(p) = branch(Some(stmt)) else { continue };
                let place = |e: Error| at(block, e).at(|p| p.instruction.clone_from(&stmt.name));
                if s + 1 != block.body.len() {
                    errors.push(place(Error::new(Code::K005, "a branch is not the last statement of its block")));
                }
                let always = p.op == BrCmpOp::Always;
                let other = (!always && !p.false_label.is_empty()).then_some(&p.false_label);
                for label in std::iter::once(&p.true_label).chain(other) {
                    match index.get(label.as_str()) {
                        Some(target) => uses.entry(*target).or_default().push((i, always)),
                        None => errors.push(place(
                            Error::new(Code::K005, "a branch leads to a label that does not exist")
                                .received(format!("{label:?}")),
                        )),
                    }
                }
            }
            let last = branch(block.body.last());
            if block.no_reorder && last.is_none_or(|p| p.op != BrCmpOp::Always) {
                let what = "a no_reorder block must end in an unconditional branch";
                errors.push(at(block, Error::new(Code::K005, what)));
            }
        }
        // Inlined: reached by one unconditional branch of another block, and by nothing else.
        let inlined = (1..body.len())
            .filter(|i| body[*i].no_reorder && branch(body[*i - 1].body.last()).is_some())
            .filter(|i| matches!(uses.get(i).map(Vec::as_slice), Some([(from, true)]) if from != i))
            .collect();
        Labels { index, inlined, targets: uses.into_keys().collect() }
    }
}

impl Core<'_> {
    /// All blocks of the core's body.
    pub fn blocks(&mut self, body: &[ast::Block], errors: &mut Vec<Error>) -> Vec<Block> {
        let labels = Labels::new(body, errors);
        if !errors.is_empty() && labels.index.len() != body.len() {
            return Vec::new();
        }
        self.find_identities(body);
        let mut blocks = Vec::new();
        for (i, block) in body.iter().enumerate() {
            if labels.inlined.contains(&i) {
                continue;
            }
            let mut instructions = Vec::new();
            self.stationary = None;
            let mut current = i;
            // Follows the chain of inlined blocks; each is reached once, so the chain ends.
            'chain: loop {
                for stmt in &body[current].body {
                    if let Some(p) = branch(Some(stmt)).filter(|p| p.op == BrCmpOp::Always)
                        && let Some(next) =
                            labels.index.get(p.true_label.as_str()).filter(|n| labels.inlined.contains(n))
                    {
                        current = *next;
                        continue 'chain;
                    }
                    let place = |e: Error| e.at(|p| p.block = Some(body[current].label.clone()));
                    match self.statement(stmt) {
                        Ok(list) => instructions.extend(list),
                        Err(e) => errors.push(place(e)),
                    }
                }
                break;
            }
            blocks.push(empty(block.label.clone(), instructions));
        }
        self.finish(&mut blocks, &labels, body);
        blocks
    }

    /// One statement: helpers before, the instruction, helpers after.
    fn statement(&mut self, stmt: &Stmt) -> Result<Vec<Instruction>, Error> {
        let lowered = ops::lower(self, &stmt.op);
        let before = std::mem::take(&mut self.before);
        let after = std::mem::take(&mut self.after);
        let mut main = lowered.map_err(|e| {
            e.at(|p| {
                p.instruction = Some(stmt.name.clone().unwrap_or_else(|| "nki-op".to_owned()));
                p.opcode = Some(stmt.op.constructor().to_owned());
                p.source = Some(stmt.pos.to_string());
            })
        })?;
        // Collectives keep their own numbering.
        if let Some(name) = stmt.name.as_ref().filter(|_| main.opcode != Opcode::CollectiveCompute) {
            main.name.clone_from(name);
        }
        let mut list = before;
        list.push(main);
        list.extend(after);
        if self.options.device_dump {
            self.dump(&mut list);
        }
        for inst in &mut list {
            let claimed = self.names.claim(&inst.name);
            if stmt.name.as_deref() == Some(&inst.name) && claimed != inst.name {
                self.note(format!("two statements are named {}; the second becomes {claimed}", inst.name));
            }
            inst.name = claimed;
            inst.debug = Some(Box::new(SourceLocation {
                lineno: i64::try_from(stmt.pos.line).ok(),
                op_name: Some(stmt.name.clone().unwrap_or_else(|| "nki-op".to_owned())),
                filename: stmt.pos.filename.clone(),
                extra: Extra::new(),
            }));
        }
        Ok(list)
    }

    /// Prints after every write to a tensor whose own elements are not 32 bits wide, also through another dtype.
    fn dump(&mut self, list: &mut Vec<Instruction>) {
        let outputs: Vec<Operand> = list.iter().flat_map(|i| &i.outs).cloned().collect();
        for out in outputs {
            let Operand::Physical(ap) = &out else { continue };
            if self.tensors.element_bytes(&ap.memsetref).is_none_or(|size| size == 4) {
                continue;
            }
            let prefix = format!("COMPILER-GENERATED-COREID-{}-DevicePrint-", self.core);
            let mut print = self.inst(&prefix, Opcode::DevicePrint, Engine::Pool);
            print.set("prefix", Value::from(ap.memref.as_str()));
            print.ins.push(out);
            list.push(print);
        }
    }

    /// Notes which tensors the kernel builds as identity matrices: an affine select on itself that fills ones.
    fn find_identities(&mut self, body: &[ast::Block]) {
        for stmt in body.iter().flat_map(|b| &b.body) {
            let Operator::NcAffineSelect(p) = &stmt.op else { continue };
            let one = matches!(p.on_false_value, ast::Immediate::Float(1.0) | ast::Immediate::Int(1));
            if let (ast::TensorRef::Abstract(dst), ast::TensorRef::Abstract(src)) = (&p.dst, &p.on_true_tile)
                && one
                && p.cmp_op == ast::AluOp::NotEqual
                && dst.tensor().name == src.tensor().name
            {
                self.identity_tensors.insert(dst.tensor().name.clone());
            }
        }
    }

    /// Puts the set-up code first and closes an empty last block.
    fn finish(&mut self, blocks: &mut Vec<Block>, labels: &Labels<'_>, body: &[ast::Block]) {
        let mut setup = self.in_place_copies();
        setup.append(&mut self.setup);
        setup.extend(self.initial_moves(blocks));
        for inst in &mut setup {
            inst.name = self.names.claim(&inst.name);
        }
        let fresh = |wanted: &str| {
            let mut name = wanted.to_owned();
            while labels.index.contains_key(name.as_str()) {
                name.push('_');
            }
            name
        };
        if let Some(last) = blocks.last_mut().filter(|b| b.instructions.is_empty() && !body.is_empty()) {
            let name = fresh(&format!("{}-RESUME-Block-compiler-inserted", self.kernel.name));
            let inst = Instruction::new("UnconditionalBranch-RESUME", Opcode::UnconditionalBranch, Engine::Unassigned);
            let mut inst = inst.with("target", name.as_str());
            inst.name = self.names.claim(&inst.name);
            last.instructions.push(inst);
            blocks.push(empty(name, Vec::new()));
        }
        match blocks.first_mut() {
            // A first block that a branch leads back to must not repeat the set-up.
            Some(first) if !labels.targets.contains(&0) => {
                first.instructions.splice(0..0, setup);
            }
            Some(_) if setup.is_empty() => {}
            _ => blocks.insert(0, empty(fresh("COMPILER-GENERATED-entry"), setup)),
        }
    }

    /// Fresh registers hold 0 (ruling D48), unless the first block writes them before anything reads them.
    fn initial_moves(&mut self, blocks: &[Block]) -> Vec<Instruction> {
        let mut seen: HashMap<&str, bool> = HashMap::new();
        for inst in blocks.first().into_iter().flat_map(|b| &b.instructions) {
            for name in read_registers(inst) {
                seen.entry(name).or_insert(false);
            }
            for out in &inst.outs {
                if let Operand::Register { regref, .. } = out {
                    seen.entry(regref).or_insert(true);
                }
            }
        }
        let mut moves = Vec::new();
        for register in &self.registers {
            if seen.get(register.name.as_str()) == Some(&true) {
                continue;
            }
            let name = format!("RegisterMove-initial-{}", register.name);
            let mut inst = Instruction::new(name, Opcode::RegisterMove, Engine::All);
            inst.ins.push(int_imm(0));
            inst.outs.push(Operand::Register {
                dtype: Dtype::Int32,
                regref: register.name.clone(),
                extra: Extra::new(),
            });
            moves.push(inst);
        }
        moves
    }

    /// An in-place output starts as a copy of its input. With several cores, one core copies and all wait for it.
    fn in_place_copies(&mut self) -> Vec<Instruction> {
        let mut list = Vec::new();
        let cores = self.kernel.bodies.len();
        for (region, input, output) in std::mem::take(&mut self.tensors.in_place) {
            let whole = |placement: &super::tensors::Placement| {
                let row = region.bytes / region.dtype.size() as u64;
                let pair = |step: u64, num: u64| birsim_ir::ApPair {
                    step: i64::try_from(step).unwrap_or(i64::MAX),
                    num: i64::try_from(num).unwrap_or(i64::MAX),
                };
                Operand::Physical(birsim_ir::PhysicalAp {
                    dtype: region.dtype,
                    memref: placement.location.as_str().into(),
                    memsetref: placement.set.as_str().into(),
                    offset: 0,
                    ap: vec![pair(row, region.rows), pair(1, row)].into(),
                    dynamic: None,
                    extra: Extra::new(),
                })
            };
            if self.core == 0 {
                let mut copy = self
                    .inst("COMPILER-GENERATED-alias-copy-", Opcode::DMACopy, Engine::Dma)
                    .with("mode", Value::named(CopyMode::Copy))
                    .with("dge_type", Value::named(DgeType::Unassigned));
                copy.ins.push(whole(&input));
                copy.outs.push(whole(&output));
                list.push(copy);
            }
            if cores > 1 {
                let all = (0..cores as i64).map(Expr::Const).collect();
                let mut barrier = self
                    .inst("COMPILER-GENERATED-alias-barrier-", Opcode::CoreBarrier, Engine::All)
                    .with("cores", Value::Ints(all));
                barrier.ins.push(whole(&output));
                barrier.outs.push(whole(&output));
                list.push(barrier);
            }
        }
        list
    }
}

/// Registers that an instruction reads, those in run-time offsets included.
fn read_registers(inst: &Instruction) -> Vec<&str> {
    let mut names = Vec::new();
    for operand in inst.ins.iter().chain(&inst.outs) {
        if let Operand::Physical(ap) = operand
            && let Some(Expr::Affine { terms, .. }) = ap.dynamic.as_ref().and_then(|d| d.offset_expr.as_ref())
        {
            names.extend(terms.iter().filter_map(|(e, _)| match e {
                Expr::Register(name) => Some(name.as_str()),
                _ => None,
            }));
        }
    }
    for operand in &inst.ins {
        if let Operand::Register { regref, .. } = operand {
            names.push(regref);
        }
    }
    names
}

/// Adds the declared edges: `to` waits for `from` (`klr.md` 8.4).
pub fn edges(edges: &[ast::Edges], blocks: &mut [Block], errors: &mut Vec<Error>) {
    let mut found: HashMap<String, (usize, usize)> = HashMap::new();
    for (b, block) in blocks.iter().enumerate() {
        for (i, inst) in block.instructions.iter().enumerate() {
            found.entry(inst.name.clone()).or_insert((b, i));
            // Collectives keep their generated names, but edges use the name of the statement.
            if let Some(name) = inst.debug.as_ref().and_then(|d| d.op_name.as_ref())
                && inst.opcode == Opcode::CollectiveCompute
            {
                found.entry(name.clone()).or_insert((b, i));
            }
        }
    }
    let missing = |name: &str| {
        let what = format!("{name} is not found, unable to complete dependency edge insertion");
        Error::new(Code::K005, what)
    };
    for edge in edges {
        let Some((b, i)) = found.get(&edge.from_edge) else {
            errors.push(missing(&edge.from_edge));
            continue;
        };
        let on = blocks[*b].instructions[*i].name.clone();
        if on.len() > MAX_NAME {
            let what = format!("a statement name in an edge is longer than {MAX_NAME} bytes");
            errors.push(Error::new(Code::K005, what).received(on.len()));
            continue;
        }
        let mut seen = HashSet::new();
        for to in &edge.to_edges {
            match found.get(to) {
                Some((b, i)) => {
                    let list = &mut blocks[*b].instructions[*i].dependencies;
                    if seen.insert((b, i)) {
                        list.push(Dependency { on: on.clone(), kind: EdgeKind::Ordered });
                    }
                }
                None => errors.push(missing(to)),
            }
        }
    }
}
