//! The public API for whole modules on one core: load, bind tensors, run, read results.

mod arrays;

pub use arrays::Scalar;

use crate::check::Dump;
use crate::cores::Cores;
use crate::exec::effects::Effect;
use crate::ir::{Block, Module, Storage};
use crate::sim::{Builder, Core, Refusal, RunSummary, TensorInfo};
use crate::world::Diagnostic;
use crate::{Code, Error, Place, Result};
use bevy_ecs::prelude::World;
use std::borrow::Cow;

/// A simulator of one core: [`Cores`] of one, with access to its world.
pub struct Simulator {
    options: Builder,
    cores: Option<Cores>,
}

impl Builder {
    /// Builds the simulator.
    pub fn build(self) -> Result<Simulator> {
        Ok(Simulator { options: self, cores: None })
    }
}

impl Simulator {
    /// Starts with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Loads a program: compiles it and spawns its entities. Replaces what was loaded before.
    pub fn load(&mut self, module: &Module) -> Result<()> {
        self.cores = Some(Cores::alone(&self.options, module)?);
        Ok(())
    }

    fn cores(&mut self) -> Result<&mut Cores> {
        self.cores.as_mut().ok_or_else(not_loaded)
    }

    fn core(&mut self) -> Result<&mut Core> {
        self.cores.as_mut().and_then(|c| c.cores.first_mut()).ok_or_else(not_loaded)
    }

    fn loaded(&self) -> Option<&Core> {
        self.cores.as_ref().and_then(|c| c.cores.first())
    }

    /// Appends a block to the entry function, with the storage it declares. It runs with the next [`Simulator::run`].
    pub fn append_block(&mut self, storages: &[Storage], block: &Block) -> Result<()> {
        self.core()?.append(storages, block)
    }

    /// Frees the storage of a tensor; it reads as never written afterwards.
    pub fn release(&mut self, name: &str) -> Result<()> {
        self.core()?.release(name)
    }

    /// Values taken at the points asked for with [`Builder::dump`], as far as they were reached.
    pub fn dumps(&self) -> Vec<Dump> {
        self.loaded().map_or_else(Vec::new, Core::dumps)
    }

    /// What an instruction would read and write now: locations and patterns of arena bytes, inputs first. Dynamic
    /// operands are resolved with the present registers.
    pub fn effects(&mut self, instruction: &str) -> Result<Vec<Effect>> {
        self.core()?.effects(instruction)
    }

    /// Everything that instructions refuse whatever the inputs are.
    pub fn refusals(&mut self) -> Result<Vec<Refusal>> {
        self.cores()?.refusals()
    }

    /// Every memory location of the program.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.loaded().map_or(&[], Core::tensors)
    }

    /// The world, for inspection and for tests that change the machine between ticks.
    pub fn world_mut(&mut self) -> Option<&mut World> {
        self.core().ok().map(|c| &mut c.world)
    }

    /// Writes the bytes of a tensor: row-major, little-endian, of the declared dtype.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.core()?.bind(name, bytes)
    }

    /// The bytes of a tensor; never-written ones hold the fill byte.
    pub fn output(&mut self, name: &str) -> Result<Vec<u8>> {
        self.core()?.output(name).map(Cow::into_owned)
    }

    /// Whether anything was written to a tensor, and by which instruction first.
    pub fn written_by(&mut self, name: &str) -> Result<Option<String>> {
        self.core()?.written_by(name)
    }

    /// Runs until the entry function's blocks run out, or to a fault.
    pub fn run(&mut self) -> Result<RunSummary> {
        let mut summaries = self.cores()?.run()?;
        summaries.pop().ok_or_else(not_loaded)
    }

    /// Runs one tick. Returns false when there is nothing left to do.
    pub fn step(&mut self) -> Result<bool> {
        self.cores()?.step()
    }

    /// Function, block, instruction and source of a remark.
    pub fn place_of(&self, d: &Diagnostic) -> Place {
        self.loaded().map_or_else(Place::default, |c| c.place_of(d))
    }

    /// Counters and remarks so far: also after a fault.
    pub fn summary(&mut self) -> Option<RunSummary> {
        self.cores.as_mut().and_then(|c| c.summaries().pop())
    }
}

fn not_loaded() -> Error {
    Error::new(Code::F008, "no program is loaded").advice("call Simulator::load first")
}
