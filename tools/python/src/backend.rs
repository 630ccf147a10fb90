//! The engine behind a session. Nothing else of this crate knows how instructions reach a machine.

use crate::module::{Names, block, storage};
use crate::op::{Op, Step};
use crate::source::Source;
use birsim_engine::ir::{AddressSpace, Arch, Block, Extra, Function, Module, Storage};
use birsim_engine::{Builder, Cores, Diagnostic, Limits, Simulator, Target};
use birsim_kernels::profile::Guard;
use birsim_kernels::{Code, Error, Profile, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a session runs for.
#[derive(Clone)]
pub struct Settings {
    /// Machine.
    pub target: Target,
    /// Cores of the logical core.
    pub cores: u32,
    /// Threads of the engine; the machine's when absent.
    pub threads: Option<usize>,
    /// Choices of numerics.
    pub profile: Profile,
    /// Seed of the host generator.
    pub seed: Option<u64>,
    /// Set from outside to stop a run.
    pub cancel: Arc<AtomicBool>,
}

impl Settings {
    fn builder(&self) -> Builder {
        let mut profile = self.profile.clone();
        // A kernel reads and writes whole PSUM tiles; banks only bind single matmuls, which the front end checks.
        profile.psum_multibank = Guard::Allow;
        let limits = Limits { cancel: Some(self.cancel.clone()), ..Limits::default() };
        let mut b = Simulator::builder()
            .target(self.target)
            .profile(profile)
            .limits(limits)
            .order(birsim_engine::Order::Program);
        if let Some(n) = self.threads {
            b = b.threads(n);
        }
        if let Some(s) = self.seed {
            b = b.seed(s);
        }
        b
    }

    fn arch(&self) -> Arch {
        self.target.arch()
    }
}

/// An engine that grows by blocks.
pub struct Backend {
    settings: Settings,
    machine: Machine,
    /// Names of the locations.
    names: Names,
    blocks: usize,
    remarks: Vec<Diagnostic>,
}

enum Machine {
    /// One core, running.
    One(Box<Simulator>),
    /// Several cores: collected, run at the end.
    Several { pieces: Vec<Pieces>, bound: HashMap<u32, Vec<u8>>, done: Option<Box<Cores>> },
}

/// The collected program of one core.
#[derive(Default)]
struct Pieces {
    storages: Vec<Storage>,
    blocks: Vec<Block>,
}

fn module(arch: Arch, storages: Vec<Storage>, blocks: Vec<Block>) -> Module {
    let mut m = Module::new(Some(arch));
    m.functions.push(Function {
        name: "main".into(),
        attributes: Extra::new(),
        allocations: storages,
        blocks,
        arguments: Vec::new(),
        extra: Extra::new(),
    });
    m
}

impl Backend {
    /// A machine without a program.
    pub fn new(settings: &Settings) -> Result<Backend> {
        let machine = match settings.cores {
            1 => {
                let mut sim = settings.builder().build()?;
                sim.load(&module(settings.arch(), Vec::new(), Vec::new()))?;
                Machine::One(Box::new(sim))
            }
            n => Machine::Several {
                pieces: (0..n).map(|_| Pieces::default()).collect(),
                bound: HashMap::new(),
                done: None,
            },
        };
        Ok(Backend { settings: settings.clone(), machine, names: Names::default(), blocks: 0, remarks: Vec::new() })
    }

    /// Appends to a core and runs it as far as it goes.
    pub fn run(&mut self, core: u32, steps: Vec<Step>, sources: &dyn Fn(u32) -> Option<Source>) -> Result<()> {
        let mut storages = Vec::new();
        let mut ops: Vec<Op> = Vec::new();
        let mut released = Vec::new();
        for step in steps {
            match step {
                Step::Declare(d) => storages.push(storage(&d, &mut self.names, self.settings.cores > 1)),
                Step::Register(id) => storages.push(self.names.register(id)),
                Step::Op(op) => ops.push(op),
                Step::Release(loc) => released.push(loc),
            }
        }
        self.blocks += 1;
        let made = block(&format!("Block{}", self.blocks), &ops, &self.names, sources);
        match &mut self.machine {
            Machine::One(sim) => {
                sim.append_block(&storages, &made)?;
                sim.run()?;
                for loc in released {
                    sim.release(self.names.of(loc))?;
                }
            }
            Machine::Several { pieces, .. } => {
                let p = &mut pieces[core as usize];
                p.storages.extend(storages);
                p.blocks.push(made);
            }
        }
        Ok(())
    }

    /// Runs what waits for all cores.
    pub fn finish(&mut self) -> Result<()> {
        match &mut self.machine {
            Machine::One(sim) => {
                if let Some(s) = sim.summary() {
                    self.remarks = s.diagnostics;
                }
            }
            Machine::Several { pieces, bound, done } => {
                if done.is_some() {
                    return Ok(());
                }
                let arch = self.settings.target.arch();
                let modules: Vec<Module> = pieces
                    .iter_mut()
                    .map(|p| {
                        let p = std::mem::take(p);
                        module(arch, p.storages, p.blocks)
                    })
                    .collect();
                let mut cores = Cores::load(&self.settings.builder(), &modules)?;
                for (loc, bytes) in bound.drain() {
                    cores.bind(self.names.of(loc), &bytes)?;
                }
                let summaries = cores.run()?;
                self.remarks = summaries.into_iter().flat_map(|s| s.diagnostics).collect();
                *done = Some(Box::new(cores));
            }
        }
        Ok(())
    }

    /// Writes a whole location, after it was declared.
    pub fn bind(&mut self, loc: u32, bytes: &[u8]) -> Result<()> {
        match &mut self.machine {
            Machine::One(sim) => sim.bind(self.names.of(loc), bytes),
            Machine::Several { bound, .. } => {
                bound.insert(loc, bytes.to_vec());
                Ok(())
            }
        }
    }

    /// The bytes of a location.
    pub fn read(&mut self, _core: u32, loc: u32) -> Result<Vec<u8>> {
        match &mut self.machine {
            Machine::One(sim) => sim.output(self.names.of(loc)),
            Machine::Several { done: Some(cores), .. } => cores.output(self.names.of(loc)),
            Machine::Several { .. } => {
                Err(Error::new(Code::U002, "a value cannot be observed before the kernel ends when several cores run")
                    .advice("run the kernel with one core, or return the tensor"))
            }
        }
    }

    /// Remarks about the run.
    pub fn remarks(&self) -> &[Diagnostic] {
        &self.remarks
    }

    /// Whether nothing wrote a location.
    pub fn unwritten(&mut self, loc: u32) -> Result<bool> {
        let name = self.names.of(loc);
        match &mut self.machine {
            Machine::One(sim) => Ok(sim.written_by(name)?.is_none()),
            Machine::Several { done: Some(cores), .. } => Ok(cores.written_by(name)?.is_none()),
            Machine::Several { .. } => Ok(true),
        }
    }
}

/// The modules of streams that were traced as a whole, one per core.
pub fn modules(settings: &Settings, streams: Vec<Vec<Step>>, sources: &dyn Fn(u32) -> Option<Source>) -> Vec<Module> {
    let mut names = Names::default();
    let several = streams.len() > 1;
    let mut out = Vec::new();
    for steps in streams {
        let mut storages = Vec::new();
        let mut ops = Vec::new();
        for step in steps {
            match step {
                Step::Declare(d) => storages.push(storage(&d, &mut names, several)),
                Step::Register(id) => storages.push(names.register(id)),
                Step::Op(op) => ops.push(op),
                Step::Release(_) => {}
            }
        }
        let made = block("Block1", &ops, &names, sources);
        out.push(module(settings.target.arch(), storages, vec![made]));
    }
    out
}

/// Address space of a location.
pub fn space(shared: bool) -> AddressSpace {
    if shared { AddressSpace::Shared } else { AddressSpace::Local }
}
