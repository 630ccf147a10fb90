//! Random numbers: Rand, Rand2, Dropout, and the state instructions (rulings D8 to D10, D31, D37, D38).

use super::Cx;
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
    let dst = cx.dst(0)?;
    let first = cx.first_partition(0)?;
    let profile = cx.profile();
    rng::rand(algorithm, cx.rng().gen1(first, dst.lanes())?, &dst, profile)
}

/// Rand2 (97).
pub fn rand2(cx: &mut Cx) -> Result<()> {
    let (min, max) = (number(cx, 0)?, number(cx, 1)?);
    let dst = cx.dst(0)?;
    let first = cx.first_partition(0)?;
    let profile = cx.profile();
    rng::rand2(min, max, cx.rng().gen2(first, dst.lanes())?, &dst, profile)
}

fn number(cx: &mut Cx, k: usize) -> Result<f32> {
    match cx.input(k)? {
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
    let threshold = cx.input(1)?;
    let p = rng::Dropout { is_keep_threshold: cx.flag(f::Dropout::is_keep_threshold)?, threshold };
    let src = cx.src(0)?;
    let seed = if cx.n_ins() > 2 { Some(cx.src(2)?) } else { None };
    let dst = cx.dst(0)?;
    let profile = cx.profile();
    match seed {
        Some(s) => rng::dropout(&p, &mut rng::seed_states(&s)?, &src, &dst, profile),
        None => {
            let first = cx.first_partition(0)?;
            rng::dropout(&p, cx.rng().gen1(first, dst.lanes())?, &src, &dst, profile)
        }
    }
}

/// GetRandState (58): the generation of the executing engine.
pub fn get_state(cx: &mut Cx) -> Result<()> {
    let dst = cx.dst(0)?;
    let first = cx.first_partition(0)?;
    if cx.inst.engine == Engine::Dve {
        rng::get_state_gen2(cx.rng().gen2(first, dst.lanes())?, &dst)
    } else {
        rng::get_state_gen1(cx.rng().gen1(first, dst.lanes())?, &dst)
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
    let src = cx.src(0)?;
    if engine == Engine::Dve {
        if let Some(seed) = rng::scalar_seed(&src) {
            cx.m.run.host_rng = Some(Mt19937_64::new(seed));
            return Ok(());
        }
        let first = cx.partition_of(0)?;
        return rng::set_state_gen2(&src, cx.m.rngs[index].0.gen2(first, src.lanes())?);
    }
    let first = cx.partition_of(0)?;
    rng::set_state_gen1(&src, cx.m.rngs[index].0.gen1(first, src.lanes())?)
}

/// RandSetState (98): the generation of the executing engine (ruling D10).
pub fn set_state2(cx: &mut Cx) -> Result<()> {
    let src = cx.src(0)?;
    let first = cx.partition_of(0)?;
    if cx.inst.engine == Engine::Pool {
        return rng::set_state_gen1(&src, cx.rng().gen1(first, src.lanes())?);
    }
    rng::set_state_gen2(&src, cx.rng().gen2(first, src.lanes())?)
}

/// RandGetState (99): the generation of the executing engine (ruling D10).
pub fn get_state2(cx: &mut Cx) -> Result<()> {
    let dst = cx.dst(0)?;
    let first = cx.first_partition(0)?;
    if cx.inst.engine == Engine::Pool {
        return rng::get_state_gen1(cx.rng().gen1(first, dst.lanes())?, &dst);
    }
    rng::get_state_gen2(cx.rng().gen2(first, dst.lanes())?, &dst)
}
