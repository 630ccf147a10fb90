//! Random numbers: Rand, Rand2, Dropout, and the state instructions (rulings D8 to D10, D31, D37, D38).

use super::Cx;
use super::Want::{In, Maybe, Out};
use crate::ir::opcodes::random::field as f;
use crate::ir::{Engine, RandomAlgorithm};
use crate::world::spawn::engine_index;
use crate::{Code, Error, Result};
use birsim_kernels::access::Input;
use birsim_kernels::profile::RandGeneration;
use birsim_kernels::rng::{self, Mt19937_64};

bind! {
    GetRandState => get_state,
    SetRandState => set_state,
    Rand => rand,
    Dropout => dropout,
    Rand2 => rand2,
    RandSetState => set_state2,
    RandGetState => get_state2,
}

/// Rand (60).
pub fn rand(cx: &mut Cx) -> Result<()> {
    let algorithm = cx.named::<RandomAlgorithm>(f::Rand::random_algorithm)?;
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    rng::rand(algorithm, io.rngs[engine].0.gen1(first, dst.lanes())?, &mut dst, io.profile)
}

/// Rand2 (97).
pub fn rand2(cx: &mut Cx) -> Result<()> {
    let (min, max) = (number(cx, 0)?, number(cx, 1)?);
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[Out(0)])?;
    let mut dst = io.outs.dst(0)?;
    rng::rand2(min, max, io.rngs[engine].0.gen2(first, dst.lanes())?, &mut dst, io.profile)
}

fn number(cx: &mut Cx, k: usize) -> Result<f32> {
    match cx.open(&[In(k)])?.ins.input(k)? {
        Input::Imm(i) => Ok(i.as_f32()),
        Input::View(v) if v.len() == 1 => {
            let mut one = [0.0];
            v.read_f32(0, 0, &mut one);
            Ok(one[0])
        }
        Input::View(v) => Err(Error::new(Code::S008, "a bound of Rand2 is one number")
            .received(format!("{} elements", v.len()))
            .operand(format!("ins[{k}]"))),
    }
}

/// Dropout (65): the state comes from the seed operand when there is one.
pub fn dropout(cx: &mut Cx) -> Result<()> {
    let is_keep_threshold = cx.flag(f::Dropout::is_keep_threshold)?;
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[In(1), In(0), Maybe(2), Out(0)])?;
    let p = rng::Dropout { is_keep_threshold, threshold: io.ins.input(1)? };
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

/// GetRandState (58): the generation of the executing engine.
pub fn get_state(cx: &mut Cx) -> Result<()> {
    let second = cx.inst.engine == Engine::Dve;
    read_states(cx, second)
}

/// Writes the states of generation 1 or 2 to the output.
fn read_states(cx: &mut Cx, second: bool) -> Result<()> {
    let (first, engine) = (cx.first_partition(0)?, cx.engine());
    let mut io = cx.open(&[Out(0)])?;
    let (mut dst, states) = (io.outs.dst(0)?, &mut io.rngs[engine].0);
    match second {
        true => rng::get_state_gen2(states.gen2(first, dst.lanes())?, &mut dst),
        false => rng::get_state_gen1(states.gen1(first, dst.lanes())?, &mut dst),
    }
}

/// SetRandState (59): Pool is generation 1, DVE generation 2 (ruling D10).
pub fn set_state(cx: &mut Cx) -> Result<()> {
    let named = match cx.profile().rand_generation {
        RandGeneration::RngEngine => cx.named_opt::<Engine>(f::SetRandState::rng_engine)?,
        RandGeneration::Engine => None,
    };
    let engine = named.unwrap_or(cx.inst.engine);
    let index = engine_index(engine);
    if let Some(words) = cx.array(0) {
        let words: Vec<u32> = words.iter().map(|w| w.bits as u32).collect();
        return rng::set_state_gen1_words(&words, 0, cx.m.rngs[index].0.gen1(0, rng::PARTITIONS)?);
    }
    let first = cx.partition_of(0)?;
    let io = cx.open(&[In(0)])?;
    let (src, states) = (io.ins.src(0)?, &mut io.rngs[index].0);
    if engine == Engine::Dve {
        if let Some(seed) = rng::scalar_seed(&src) {
            drop(io);
            cx.put_host_rng(Mt19937_64::new(seed));
            return Ok(());
        }
        return rng::set_state_gen2(&src, states.gen2(first, src.lanes())?);
    }
    rng::set_state_gen1(&src, states.gen1(first, src.lanes())?)
}

/// RandSetState (98): the generation of the executing engine (ruling D10).
pub fn set_state2(cx: &mut Cx) -> Result<()> {
    let (first, engine, pool) = (cx.partition_of(0)?, cx.engine(), cx.inst.engine == Engine::Pool);
    let io = cx.open(&[In(0)])?;
    let (src, states) = (io.ins.src(0)?, &mut io.rngs[engine].0);
    match pool {
        true => rng::set_state_gen1(&src, states.gen1(first, src.lanes())?),
        false => rng::set_state_gen2(&src, states.gen2(first, src.lanes())?),
    }
}

/// RandGetState (99): the generation of the executing engine (ruling D10).
pub fn get_state2(cx: &mut Cx) -> Result<()> {
    let second = cx.inst.engine != Engine::Pool;
    read_states(cx, second)
}
