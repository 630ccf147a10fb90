//! From native instructions to rows of the program. Everything here costs what the block costs, whatever ran before.

use super::block::{Arg, Block, Flow, Instr, LocationId, Role, Step};
use super::storage::Known;
use crate::ir::table::{Absence, OPCODES};
use crate::ir::{self, ApPair, Engine, Opcode, Rule, Trait, When};
use crate::memory::overlap::Overlaps;
use crate::memory::resolve;
use crate::world::compile::{all_static, overlaps};
use crate::world::expr::Ex;
use crate::world::operands::{imm, number};
use crate::world::*;
use crate::{Class, Code, Error, Result};
use birsim_kernels::Dtype;

/// Loops nest at most this deep; every depth has one axis.
pub(super) const MAX_DEPTH: u32 = 64;
/// Released bytes that may wait for the end of a tick.
const MAX_IDLE: u64 = 1 << 20;
/// Registers of a core at most.
const MAX_REGISTERS: u32 = 1 << 20;

/// What the row of an opcode says, in the form that instructions need.
struct Template {
    /// Default fields.
    fields: Box<[FieldValue]>,
    /// Fields that decide whether every element is read before the same element is written; `None` when it never is.
    in_place: Option<Box<[(usize, When)]>>,
    /// A later operand moves the address of the first one, which a session says with a dynamic view instead.
    moves: bool,
}

/// Templates of every opcode seen so far.
pub(super) struct Templates {
    of: [Option<Template>; OPCODES],
    /// Keys of the instruction that is being lowered, kept for its memory.
    fields: Vec<FieldValue>,
}

impl std::default::Default for Templates {
    fn default() -> Self {
        Templates { of: [const { None }; OPCODES], fields: Vec::new() }
    }
}

impl Templates {
    fn of(&mut self, opcode: Opcode) -> &Template {
        self.of[opcode.ordinal() as usize].get_or_insert_with(|| Template::new(opcode))
    }

    /// The default keys of an opcode.
    fn fields(&mut self, opcode: Opcode) -> Vec<FieldValue> {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        fields.extend_from_slice(&self.of(opcode).fields);
        fields
    }
}

impl Template {
    fn new(opcode: Opcode) -> Self {
        let row = opcode.row();
        let conditions = row.rule(|r| matches!(r, Rule::InPlace(_))).unwrap_or_default();
        let placed = conditions.iter().filter_map(|c| Some((row.field_index(c.key())?, *c)));
        Template {
            fields: row.fields.iter().map(|f| default_value(f.default)).collect(),
            in_place: opcode.is(Trait::Elementwise).then(|| placed.collect()),
            moves: [row.ins, row.outs].iter().any(|roles| ir::Role::of(roles, 0).is_some_and(|r| r.moved)),
        }
    }

    fn in_place(&self, fields: &[FieldValue]) -> bool {
        self.in_place.as_ref().is_some_and(|conditions| {
            conditions.iter().all(|(k, when)| match &fields[*k] {
                FieldValue::Int(v) => when.meets(*v),
                FieldValue::Absent => when.meets(0),
                _ => false,
            })
        })
    }
}

fn default_value(default: Absence) -> FieldValue {
    match default {
        Absence::Required | Absence::Absent => FieldValue::Absent,
        Absence::Bool(b) => FieldValue::Int(i64::from(b)),
        Absence::Int(i) => FieldValue::Int(i),
        Absence::Float(x) => FieldValue::Float(x),
        Absence::Enum(o) => FieldValue::Int(i64::from(o)),
        Absence::Str(s) => FieldValue::Cold(Box::new(crate::ir::Value::Str(s.to_string()))),
    }
}

/// Lowers blocks of one core into its program.
pub(super) struct Lowering<'a> {
    pub program: &'a mut Program,
    pub places: &'a [Placement],
    pub settings: &'a Settings,
    pub known: &'a mut Known,
    pub templates: &'a mut Templates,
    pub core: u32,
    /// Registers named so far.
    pub registers: &'a mut u32,
    /// Locations to free when the rows below this number have run.
    pub releases: Vec<(RowId, LocId)>,
    /// Bytes released since the last row that ends its tick.
    idle: u64,
    /// Released inside a loop body: due when the outermost loop has ended.
    deferred: Vec<LocId>,
    depth: u32,
}

impl<'a> Lowering<'a> {
    pub fn new(
        program: &'a mut Program,
        (places, settings): (&'a [Placement], &'a Settings),
        (known, templates, registers): (&'a mut Known, &'a mut Templates, &'a mut u32),
        core: u32,
    ) -> Self {
        let (releases, deferred) = (Vec::new(), Vec::new());
        Lowering { program, places, settings, known, templates, core, registers, releases, idle: 0, deferred, depth: 0 }
    }

    /// Appends the block to the entry function. On an error nothing of it stays.
    pub fn append(&mut self, block: &Block) -> Result<()> {
        let p = &self.program;
        let before = (
            (p.insts.len(), p.operands.len(), p.patterns.len()),
            (p.blocks.len(), p.segments.len(), p.lists.len()),
            *self.registers,
        );
        match self.block(block) {
            Ok(id) => {
                let list = self.program.functions[0].list;
                self.program.lists[list].push(id);
                Ok(())
            }
            Err(e) => {
                let ((insts, operands, patterns), (blocks, segments, lists), registers) = before;
                let p = &mut self.program;
                p.insts.truncate(insts);
                p.syncs.clear();
                p.operands.truncate(operands);
                p.patterns.truncate(patterns);
                p.blocks.truncate(blocks);
                p.segments.truncate(segments);
                p.lists.truncate(lists);
                *self.registers = registers;
                Err(e)
            }
        }
    }

    /// Rows of one block: instructions between loops are one range of the first queue, a loop joins.
    fn block(&mut self, block: &Block) -> Result<BlockId> {
        let id = BlockId::of(self.program.blocks.len());
        self.program.blocks.push(BlockPlan {
            name: Box::default(),
            function: FunctionId::ENTRY,
            first_segment: SegmentId::default(),
            segments: 0,
            by_sync: false,
            arguments: Box::default(),
        });
        let mut segments = Vec::new();
        let mut first = self.next_row();
        for (index, step) in block.steps.iter().enumerate() {
            match step {
                Step::Declare(..) => {}
                Step::Release(location) => self.release(*location)?,
                Step::Instr(i) => {
                    let here = |e| at(e, self.program, i);
                    let end = self.next_row();
                    let Some(body) = &i.body else {
                        let row = self.instr(block, (id, index as u32), i, (Control::None, None));
                        row.map_err(|e| at(e, self.program, i))?;
                        continue;
                    };
                    if self.depth == MAX_DEPTH {
                        return Err(here(Error::new(Code::J014, "loops nest more than 64 deep")));
                    }
                    self.depth += 1;
                    let list = self.block(&body.1);
                    self.depth -= 1;
                    let list = list?;
                    self.program.lists.push(vec![list]);
                    let list = ListId::of(self.program.lists.len() - 1);
                    let control = self.control(&body.0).map_err(|e| at(e, self.program, i))?;
                    let join = self.instr(block, (id, index as u32), i, (control, Some(list)));
                    let join = Some(join.map_err(|e| at(e, self.program, i))?);
                    segments.push(segment(first, end, join));
                    first = self.next_row();
                    if self.depth == 0 {
                        self.releases.extend(self.deferred.drain(..).map(|slot| (first, slot)));
                    }
                }
            }
        }
        let end = self.next_row();
        if segments.is_empty() || first < end {
            segments.push(segment(first, end, None));
        }
        let plan = &mut self.program.blocks[id];
        plan.first_segment = SegmentId::of(self.program.segments.len());
        plan.segments = segments.len() as u32;
        self.program.segments.extend(segments);
        Ok(id)
    }

    /// The row that the next instruction gets.
    fn next_row(&self) -> RowId {
        RowId::of(self.program.insts.len())
    }

    fn release(&mut self, location: LocationId) -> Result<()> {
        self.slot(location)?;
        let Some(slot) = self.known.forget(location.number) else { return Ok(()) };
        match self.depth {
            0 => {
                self.releases.push((self.next_row(), slot));
                self.idle += self.places[slot].0.bytes();
                // Storage is freed between ticks, and a tick may run many rows.
                if self.idle >= MAX_IDLE
                    && let Some(last) = self.program.syncs.last_mut()
                {
                    last.ends_window = true;
                    last.ends_pass = true;
                    self.idle = 0;
                }
            }
            _ => self.deferred.push(slot),
        }
        Ok(())
    }

    fn control(&mut self, flow: &Flow) -> Result<Control> {
        Ok(match flow {
            Flow::Repeat { lb, ub, step } => {
                [lb, ub, step].into_iter().try_for_each(|e| self.expression(e, 0))?;
                let (lb, ub, stride) = (lb.clone(), ub.clone(), step.clone());
                Control::Loop { axis: AxisId(self.depth), lb, ub, stride, degenerate: false }
            }
            Flow::DoWhile(cond) => {
                self.expression(cond, 0)?;
                Control::DoWhile(cond.clone())
            }
        })
    }

    fn instr(
        &mut self,
        block: &Block,
        (id, index): (BlockId, u32),
        i: &Instr,
        (control, body): (Control, Option<ListId>),
    ) -> Result<RowId> {
        if body.is_none() && steers(i.opcode) {
            return Err(Error::new(Code::U002, "a session has loops for control and no queues").received(i.opcode));
        }
        let row = i.opcode.row();
        let mut fields = self.templates.fields(i.opcode);
        for (k, value) in &block.fields[i.fields.0 as usize..][..i.fields.1 as usize] {
            let slot = fields
                .get_mut(*k as usize)
                .ok_or_else(|| Error::new(Code::B001, "the opcode has no field at this place").received(k))?;
            match value {
                FieldValue::Ex(e) => self.expression(e, 0)?,
                FieldValue::Exs(list) => list.iter().try_for_each(|e| self.expression(e, 0))?,
                _ => {}
            }
            slot.clone_from(value);
        }
        let first = self.program.operands.len() as u32;
        let args = &block.args[i.args.0 as usize..][..i.args.1 as usize];
        let mut counts = [0u16; 3];
        for (role, count) in [Role::In, Role::Out, Role::Index].into_iter().zip(&mut counts) {
            for (_, arg) in args.iter().filter(|(r, _)| *r == role) {
                let operand = self.operand(i.opcode, &block.pairs, arg).map_err(|e| operand_name(e, role, *count))?;
                self.program.operands.push(operand);
                *count = count
                    .checked_add(1)
                    .ok_or_else(|| Error::new(Code::J009, "an instruction has at most 65535 operands"))?;
            }
        }
        let [ins, outs, indirect] = counts;
        let template = self.templates.of(i.opcode);
        if template.moves && ins > 1 {
            return Err(Error::new(Code::U002, "a session moves an address with a dynamic view, not with ins[1]")
                .received(i.opcode)
                .operand("ins[1]"));
        }
        let in_place = template.in_place(&fields);
        let engine = match i.engine {
            Engine::Unassigned => row.engines.first().copied().unwrap_or(i.engine),
            e => e,
        };
        let operands = OperandRange { first, ins, outs, indirect };
        let draft = Draft {
            opcode: i.opcode,
            engine,
            auto_accumulate: i.auto_accumulate,
            fields: &fields,
            operands,
            program: self.program,
            profile: &self.settings.profile,
            target: self.settings.target,
            now: None,
            waits: Default::default(),
        };
        let (forms, reads_uninit) = (Forms::of(&draft), draft.reads_uninit());
        let own = Own::of(&draft, forms.open(), crate::exec::prepare);
        let own = own.unwrap_or_else(|| Own::Keys(fields.as_slice().into()));
        self.templates.fields = fields;
        let mut inst = Inst {
            opcode: i.opcode,
            engine,
            name: Box::default(),
            own,
            operands,
            predicates: Box::default(),
            overlaps: Overlaps::default(),
            all_static: false,
            apart: false,
            in_place,
            forms,
            reads_uninit,
            body,
            control,
            block: id,
            index,
            source: Origin::Native(i.source),
            auto_accumulate: i.auto_accumulate,
        };
        (inst.overlaps, inst.apart) = overlaps(self.program, &inst);
        inst.all_static = all_static(self.program, &inst);
        self.program.syncs.push(SyncSet::of(i.opcode));
        Ok(self.program.push(inst))
    }

    fn operand(&mut self, opcode: Opcode, pairs: &[ApPair], arg: &Arg) -> Result<Opnd> {
        Ok(match arg {
            Arg::Tensor { location, dtype, offset, pairs: (first, n), dynamic } => {
                let ap = &pairs[*first as usize..][..*n as usize];
                let loc = self.slot(*location)?;
                match dynamic {
                    None => self.fixed(loc, *dtype, *offset, ap)?,
                    Some(d) => {
                        let offset = match &d.scalar {
                            Some(e) => {
                                self.expression(e, 0)?;
                                Ex::Lin(Box::new([(e.clone(), 1)]), *offset)
                            }
                            None => Ex::C(*offset),
                        };
                        let mut spec = DynamicSpec {
                            // A location and its set have the same number.
                            set: SetId(loc.0),
                            sub: Ex::C(0),
                            offset,
                            absolute: false,
                            dtype: *dtype,
                            ap: ap.into(),
                            vector: d.vector,
                            by_register: false,
                            operand_scale: None,
                            bytes: None,
                            anchor: None,
                        };
                        // Sessions have no register patterns, so nothing is refused here.
                        let guard = self.settings.profile.dram_by_register;
                        spec.fix(self.program, opcode, guard, |loc| self.places[loc].0.clone())?;
                        Opnd::Dynamic(Box::new(spec))
                    }
                }
            }
            Arg::Imm(dtype, value) => Opnd::Imm { imm: imm(*dtype, *value)?, number: number(*dtype, *value) },
            Arg::Array(values) => Opnd::ImmArray(values.clone()),
            Arg::Register(r) => {
                self.register(r.reference())?;
                Opnd::Register(r.reference(), r.dtype)
            }
        })
    }

    fn fixed(&mut self, loc: LocId, dtype: Dtype, offset: i64, ap: &[ApPair]) -> Result<Opnd> {
        let named = |e: Error| e.at(|p| p.tensor = Some(self.program.locations[loc].name.to_string()));
        let place = &self.places[loc].0;
        match resolve(place, dtype, offset, ap).map_err(named) {
            Ok(pattern) => {
                self.program.patterns.push(pattern);
                Ok(Opnd::Static { loc, arena: place.arena, pattern: PatternId::of(self.program.patterns.len() - 1) })
            }
            // As in modules, an access that leaves its tensor is a fault of the instruction and raised when it runs.
            Err(e) if e.class() == Class::Fault => Ok(Opnd::Faulty(Box::new(e))),
            Err(e) => Err(e),
        }
    }

    fn slot(&self, id: LocationId) -> Result<LocId> {
        self.known.slot(id, self.core)
    }

    /// Checks an expression, which a front end may have built from anything: depth and registers.
    fn expression(&mut self, e: &Ex, depth: u32) -> Result<()> {
        if depth > 64 {
            return Err(Error::new(Code::J014, "an expression nests more than 64 deep"));
        }
        match e {
            Ex::C(_) | Ex::Axis(_) | Ex::Shard(_) | Ex::Rank | Ex::Indirect(_) => Ok(()),
            Ex::Reg(r) => self.register(*r),
            Ex::Lin(terms, _) => terms.iter().try_for_each(|(t, _)| self.expression(t, depth + 1)),
            Ex::Div(p) | Ex::Mod(p) => {
                self.expression(&p.0, depth + 1)?;
                self.expression(&p.1, depth + 1)
            }
        }
    }

    fn register(&mut self, r: RegRef) -> Result<()> {
        if r.physical || r.engine != Engine::All || r.slot >= MAX_REGISTERS {
            return Err(Error::new(Code::J011, "a session has registers 0..1048575, which all engines share")
                .received(format!("register {} of {}", r.slot, r.engine)));
        }
        *self.registers = (*self.registers).max(r.slot + 1);
        Ok(())
    }
}

fn segment(first: RowId, end: RowId, join: Option<RowId>) -> Segment {
    let mut segment = Segment { join, ..Segment::default() };
    segment.ranges[0] = Cursor { next: first, end };
    segment
}

/// Opcodes that move control or belong to queues, which program order does not have.
fn steers(op: Opcode) -> bool {
    op.row().steers.is_some() || op.is(Trait::Descriptor)
}

fn operand_name(e: Error, role: Role, k: u16) -> Error {
    let list = match role {
        Role::In => "ins",
        Role::Out => "outs",
        Role::Index => "indirection_ins",
    };
    e.operand(format!("{list}[{k}]"))
}

/// The error with the place of an instruction that has no row yet.
fn at(e: Error, program: &Program, i: &Instr) -> Error {
    e.at(|p| {
        p.opcode = Some(i.opcode.name().to_string());
        p.source = program.sources.text(i.source);
    })
}
