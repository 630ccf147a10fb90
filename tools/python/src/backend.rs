//! The engine behind a session: recorded steps become blocks of the engine's own instructions.

use crate::op::{Access, Decl, Dynamic, Op, Opnd, Region, Role, Step};
use crate::source::Source;
use birsim_engine::ir::{ApPair, Expr, ImmValue, IndirectDim, MemoryType, TensorKind, Value};
use birsim_engine::session::{self, Block, LocationId, LocationSpec, Progress, Register, SourceId, View};
use birsim_engine::world::expr::Ex;
use birsim_engine::world::{FieldValue, VectorSpec};
use birsim_engine::{Builder, Diagnostic, Limits, Session, Simulator, Target};
use birsim_kernels::profile::Guard;
use birsim_kernels::{Dtype, Error, Profile, Result};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Partitions of the memories on chip.
const PARTITIONS: i64 = 128;

/// What a session runs for.
#[derive(Clone)]
pub struct Settings {
    /// Machine.
    pub target: Target,
    /// Cores of the logical core.
    pub cores: u32,
    /// Threads of the engine; the machine's when absent.
    pub threads: Option<usize>,
    /// Low-precision floats are kept as such; otherwise they are kept in float32.
    pub precise: bool,
    /// Choices of numerics.
    pub profile: Profile,
    /// Seed of the host generator.
    pub seed: Option<u64>,
    /// Set from outside to stop a run.
    pub cancel: Arc<AtomicBool>,
}

impl Settings {
    fn builder(&self) -> Builder {
        let mut profile = self.profile;
        // A kernel reads and writes whole PSUM tiles; banks only bind single matmuls, which the front end checks.
        profile.psum_multibank = Guard::Allow;
        // The language has remainders, which it computes in simulations only.
        profile.float_mod = true;
        let limits = Limits { cancel: Some(self.cancel.clone()), ..Limits::default() };
        let mut b = Simulator::builder()
            .target(self.target)
            .profile(profile)
            .limits(limits)
            .fill(birsim_engine::Fill::NanOrFour);
        if let Some(n) = self.threads {
            b = b.threads(n);
        }
        if let Some(s) = self.seed {
            b = b.seed(s);
        }
        b
    }
}

/// An engine that grows by blocks.
pub struct Backend {
    several: bool,
    session: Session,
    block: Block,
    /// Source lines of the engine by number of the front end.
    lines: Vec<SourceId>,
    pairs: Vec<ApPair>,
}

/// Looks a source line up.
pub type Lines<'a> = &'a dyn Fn(u32) -> Option<Source>;

impl Backend {
    /// A machine without a program.
    pub fn new(settings: &Settings) -> Result<Backend> {
        let session = Session::with(settings.builder(), settings.target, settings.cores)?;
        let several = settings.cores > 1;
        Ok(Backend { several, session, block: Block::new(), lines: Vec::new(), pairs: Vec::new() })
    }

    /// Appends to a core and runs it as far as it goes.
    pub fn run(&mut self, core: u32, steps: &[Step], lines: Lines) -> Result<Progress> {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        for step in steps {
            match step {
                Step::Declare(d) if d.region.on_chip() && d.shape[0] > PARTITIONS => {}
                Step::Declare(d) => block.declare(at(core, d.loc), self.spec(d)),
                Step::Op(op) => self.instruction(&mut block, core, op, lines),
                Step::Release(loc) => block.release(at(core, *loc)),
                Step::Register(_) => {}
            }
        }
        let outcome = self.session.append(core, &block);
        self.block = block;
        outcome?;
        self.session.run(core)
    }

    fn spec(&self, d: &Decl) -> LocationSpec {
        let memory = match d.region {
            Region::Sbuf => MemoryType::Sb,
            Region::Psum => MemoryType::Psum,
            _ => MemoryType::Dram,
        };
        let shape: SmallVec<[u64; 5]> = d.shape.iter().map(|n| n.unsigned_abs()).collect();
        // What a kernel does to its arguments is its business: none of them is an input that must not change.
        let spec = LocationSpec::new(&d.name, memory, d.dtype, &shape).kind(TensorKind::Internal);
        match self.several && (d.region == Region::SharedHbm || d.role == Role::Input) {
            true => spec.share(&d.name),
            false => spec,
        }
    }

    fn line(&mut self, id: u32, lines: Lines) -> SourceId {
        let at = id as usize;
        while self.lines.len() <= at {
            let next = self.lines.len() as u32;
            let known = lines(next);
            let id = match known {
                Some(s) => self.session.sources().add(s.file, s.line),
                None => SourceId(u32::MAX),
            };
            self.lines.push(id);
        }
        self.lines[at]
    }

    fn instruction(&mut self, block: &mut Block, core: u32, op: &Op, lines: Lines) {
        let line = self.line(op.source, lines);
        let mut adding = block.instr(op.opcode, op.engine, line);
        if op.auto {
            adding = adding.auto_accumulate();
        }
        let mut vectors: SmallVec<[&Access; 1]> = SmallVec::new();
        for (role, list) in [(session::Role::In, op.ins.as_slice()), (session::Role::Out, op.outs.as_slice())] {
            for o in list {
                adding = match o {
                    Opnd::Access(a) => {
                        let dynamic = a.dynamic.as_deref().map(|d| match d {
                            Dynamic::Scalar(terms) => session::Dynamic { scalar: Some(sum(terms)), vector: None },
                            Dynamic::Vector { index, coef, rows } => {
                                vectors.push(index);
                                let vector = VectorSpec {
                                    arg: vectors.len() as u32 - 1,
                                    dim: IndirectDim::W,
                                    max_index: Some(rows.unsigned_abs()),
                                    coefficient: Some(*coef),
                                };
                                session::Dynamic { scalar: None, vector: Some(vector) }
                            }
                        });
                        let first = match a.dynamic.as_deref() {
                            Some(Dynamic::Vector { coef, .. }) => Some(*coef),
                            _ => None,
                        };
                        let view = view(&mut self.pairs, core, a, first);
                        adding.view(role, View { dynamic, ..view })
                    }
                    Opnd::Float(x) => adding.imm(Dtype::Float32, ImmValue::Float(f64::from(*x))),
                    Opnd::Int(n, dtype) => adding.imm(*dtype, ImmValue::Int(i128::from(*n))),
                    Opnd::Reg(id) => adding.register(role, register(*id)),
                };
            }
        }
        for index in vectors {
            let view = view(&mut self.pairs, core, index, None);
            adding = adding.view(session::Role::Index, view);
        }
        for (k, value) in &op.fields {
            adding = adding.field(*k, field(value));
        }
    }

    /// Runs all cores to their ends.
    pub fn finish(&mut self) -> Result<()> {
        self.session.run_all()
    }

    /// Writes a whole location, after it was declared.
    pub fn bind(&mut self, core: u32, loc: u32, bytes: &[u8]) -> Result<()> {
        self.session.bind(at(core, loc), bytes)
    }

    /// The bytes of a location.
    pub fn read(&mut self, core: u32, loc: u32) -> Result<Vec<u8>> {
        self.session.read(at(core, loc))
    }

    /// The value of a register.
    pub fn register(&mut self, core: u32, id: u32) -> Result<i64> {
        self.session.register(core, register(id))
    }

    /// Remarks about the run.
    pub fn remarks(&mut self) -> Vec<Diagnostic> {
        self.session.report().cores.into_iter().flat_map(|c| c.diagnostics).collect()
    }

    /// Executed instructions.
    pub fn instructions(&mut self) -> u64 {
        self.session.report().cores.iter().map(|c| c.stats.instructions).sum()
    }
}

fn at(core: u32, number: u32) -> LocationId {
    LocationId { core, number }
}

fn register(number: u32) -> Register {
    Register { number, dtype: Dtype::Int32 }
}

fn sum(terms: &[(u32, i64)]) -> Ex {
    match terms {
        [(reg, 1)] => register(*reg).value(),
        many => Ex::Lin(many.iter().map(|(reg, coef)| (register(*reg).value(), *coef)).collect(), 0),
    }
}

/// The view of an access; `first` replaces the step of the outermost pair.
fn view<'a>(pairs: &'a mut Vec<ApPair>, core: u32, a: &Access, first: Option<i64>) -> View<'a> {
    pairs.clear();
    pairs.extend(a.dims.iter().map(|(step, num)| ApPair { step: *step, num: *num }));
    if let (Some(step), Some(pair)) = (first, pairs.first_mut()) {
        pair.step = step;
    }
    View::new(at(core, a.loc), a.dtype, a.offset, pairs)
}

fn field(v: &Value) -> FieldValue {
    match v {
        Value::Bool(b) => FieldValue::Int(i64::from(*b)),
        Value::Int(n) => FieldValue::Int(*n),
        Value::Enum(o) => FieldValue::Int(i64::from(*o)),
        Value::Float(x) => FieldValue::Float(*x),
        Value::Expr(e) => FieldValue::Ex(expr(e)),
        Value::Ints(list) => FieldValue::Exs(list.iter().map(expr).collect()),
        other => FieldValue::Cold(Box::new(other.clone())),
    }
}

/// Expressions of the front end are constants and registers.
fn expr(e: &Expr) -> Ex {
    match e {
        Expr::Register(name) => match crate::module::register_number(name) {
            Some(id) => register(id).value(),
            None => Ex::C(0),
        },
        other => Ex::C(other.as_const().unwrap_or(0)),
    }
}

/// What an error says when a value is asked for while cores wait for each other.
pub fn stuck(core: u32, text: &str) -> Error {
    Error::new(birsim_kernels::Code::S003, format!("no core can go on: core {core} {text}"))
}
