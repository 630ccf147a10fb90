//! Random numbers: Rand, Rand2, Dropout, and the state instructions (rulings D8 to D10, D31, D37, D38).

use super::Cx;
use super::Want::{In, Maybe, Out};
use super::fields::own;
use crate::ir::opcodes::params;
use crate::ir::{Engine, MemoryType};
use crate::world::spawn::engine_index;
use crate::{Code, Error, Result};
use birsim_kernels::access::Input;
use birsim_kernels::profile::RandGeneration;
use birsim_kernels::rng::{self, Mt19937_64};

bind! {
    GetRandState => get_state,
    SetRandState(own) => set_state,
    Rand(own) => rand,
    Dropout(own) => dropout,
    Rand2 => rand2,
    RandSetState => set_state2,
    RandGetState => get_state2,
}

/// Rand (60).
pub fn rand(cx: &mut Cx, own: &params::Rand) -> Result<()> {
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    rng::rand(own.random_algorithm, io.rngs[engine].0.gen1(first, dst.lanes())?, &mut dst, io.profile)
}

/// Rand2 (97).
pub fn rand2(cx: &mut Cx) -> Result<()> {
    let (min, max) = (number(cx, 0)?.unwrap_or(0.0), number(cx, 1)?.unwrap_or(1.0));
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    rng::rand2(min, max, io.rngs[engine].0.gen2(first, dst.lanes())?, &mut dst, io.profile)
}

/// A bound of Rand2, when it is there.
fn number(cx: &mut Cx, k: usize) -> Result<Option<f32>> {
    match cx.open(&[Maybe(k)])?.ins.input_opt(k)? {
        None => Ok(None),
        Some(Input::Imm(i)) => Ok(Some(i.as_f32())),
        Some(Input::View(v)) if v.len() == 1 => {
            let mut one = [0.0];
            v.read_f32(0, 0, &mut one);
            Ok(Some(one[0]))
        }
        Some(Input::View(v)) => Err(Error::new(Code::S008, "a bound of Rand2 is one number")
            .received(format!("{} elements", v.len()))
            .operand(format!("ins[{k}]"))),
    }
}

/// Dropout (65): the state comes from the seed operand when there is one.
pub fn dropout(cx: &mut Cx, own: &params::Dropout) -> Result<()> {
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[In(1), In(0), Maybe(2), Out(0)])?;
    let p = rng::Dropout { is_keep_threshold: own.is_keep_threshold, threshold: io.ins.input(1)? };
    let seed = match io.ins.input_opt(2)? {
        Some(_) => Some(io.ins.src(2)?),
        None => None,
    };
    let (src, mut dst) = (io.ins.src(0)?, io.outs.dst(0)?);
    match seed {
        Some(s) => rng::dropout(&p, &mut rng::seed_states(&s)?, &src, &mut dst, io.profile),
        None => rng::dropout(&p, io.rngs[engine].0.gen1(first, dst.lanes())?, &src, &mut dst, io.profile),
    }
}

/// Which generators an instruction means.
#[derive(Clone, Copy)]
struct Generators {
    /// Position of the engine that owns them.
    index: usize,
    /// Four generators a partition, else one.
    second: bool,
}

/// The states become what input 0 holds; then a location of memory type RNGSTATE that the instruction names as its output
/// shows them.
fn load(cx: &mut Cx, of: Generators) -> Result<()> {
    let first = cx.partition_of(0)?;
    let io = cx.open(&[In(0)])?;
    let (src, states) = (io.ins.src(0)?, &mut io.rngs[of.index].0);
    match of.second {
        true => rng::set_state_gen2(&src, states.gen2(first, src.lanes())?)?,
        false => rng::set_state_gen1(&src, states.gen1(first, src.lanes())?)?,
    }
    drop(io);
    show(cx, of)
}

/// Copies the states into output 0.
fn store(cx: &mut Cx, of: Generators) -> Result<()> {
    let first = cx.first_partition(0)?;
    let mut io = cx.open(&[Out(0)])?;
    let (mut dst, states) = (io.outs.dst(0)?, &mut io.rngs[of.index].0);
    match of.second {
        true => rng::get_state_gen2(states.gen2(first, dst.lanes())?, &mut dst),
        false => rng::get_state_gen1(states.gen1(first, dst.lanes())?, &mut dst),
    }
}

/// As [`store`], for an instruction that may read its generator from where a location of memory type RNGSTATE names it.
fn get(cx: &mut Cx, of: Generators) -> Result<()> {
    if cx.n_ins() > 0 {
        names_a_generator(cx, 0, "ins[0]")?;
    }
    store(cx, of)
}

/// Shows new states in the location that the instruction names as its output.
fn show(cx: &mut Cx, of: Generators) -> Result<()> {
    if cx.n_outs() == 0 {
        return Ok(());
    }
    names_a_generator(cx, cx.n_ins(), "outs[0]")?;
    store(cx, of)
}

/// The operand that names the generator itself lies in RNGSTATE memory. The engine says which generator it is.
fn names_a_generator(cx: &Cx, k: usize, place: &str) -> Result<()> {
    let ty = cx.location(k)?.map(|l| cx.m.places[l].0.ty);
    if ty == Some(MemoryType::RngState) {
        return Ok(());
    }
    Err(Error::new(Code::S008, "the operand that names a generator is in RNGSTATE memory")
        .received(ty.map_or("no tensor".into(), |t| t.to_string()))
        .operand(place))
}

/// GetRandState (58): the generation of the executing engine.
pub fn get_state(cx: &mut Cx) -> Result<()> {
    let engine = cx.inst.engine;
    get(cx, Generators { index: engine_index(engine), second: engine == Engine::Dve })
}

/// SetRandState (59): Pool is generation 1, DVE generation 2 (ruling D10). A single number seeds the host generator of the
/// vector engine; eight immediate words are a seed of the first generation; a tensor is the state itself.
pub fn set_state(cx: &mut Cx, own: &params::SetRandState) -> Result<()> {
    let named = match cx.profile().rand_generation {
        RandGeneration::RngEngine => own.rng_engine,
        RandGeneration::Engine => None,
    };
    let engine = named.unwrap_or(cx.inst.engine);
    let of = Generators { index: engine_index(engine), second: engine == Engine::Dve };
    let seed = match cx.array(0) {
        Some([one]) => Some(Input::Imm(*one)),
        Some(words) => {
            if of.second {
                return Err(Error::new(
                    Code::S008,
                    "the vector engine takes one number as its seed, or a state tensor",
                )
                .received(format!("{} immediate words", words.len()))
                .operand("ins[0]"));
            }
            let words: Vec<u32> = words.iter().map(|w| w.bits as u32).collect();
            rng::set_state_gen1_words(&words, 0, cx.m.rngs[of.index].0.gen1(0, rng::PARTITIONS)?)?;
            return show(cx, of);
        }
        None => None,
    };
    let seed = {
        let io = cx.open(if seed.is_some() { &[] } else { &[In(0)] })?;
        let input = match seed {
            Some(seed) => seed,
            None => io.ins.input(0)?,
        };
        match input {
            Input::Imm(imm) if imm.dtype.is_float() => {
                return Err(Error::new(Code::S007, "a seed is an integer").received(imm.dtype).operand("ins[0]"));
            }
            Input::Imm(imm) if imm.dtype.size() == 8 => Some(imm.bits),
            Input::Imm(imm) => Some(u64::from(imm.bits as u32)),
            Input::View(src) if of.second => rng::scalar_seed(&src)?,
            Input::View(_) => None,
        }
    };
    match seed {
        None => load(cx, of),
        Some(seed) if of.second => {
            if !cx.rehearses() {
                cx.put_host_rng(Mt19937_64::new(seed));
            }
            Ok(())
        }
        Some(_) => Err(Error::new(Code::S008, "a single number seeds the generator of the vector engine only")
            .received(engine)
            .operand("ins[0]")
            .advice("seed the other engines with eight immediate words or a state tensor, or set rng_engine to DVE")),
    }
}

/// RandSetState (98): the generation of the executing engine (ruling D10).
pub fn set_state2(cx: &mut Cx) -> Result<()> {
    load(cx, Generators { index: engine_index(cx.inst.engine), second: cx.inst.engine != Engine::Pool })
}

/// RandGetState (99): the generation of the executing engine (ruling D10).
pub fn get_state2(cx: &mut Cx) -> Result<()> {
    get(cx, Generators { index: engine_index(cx.inst.engine), second: cx.inst.engine != Engine::Pool })
}
