//! Random numbers (`klr.md` 5.6).

use crate::ast::{Dropout, DropoutThresholdType, Rand2, RandGetState, RandSetState, Rng, SetRngSeed};
use crate::lower::context::Core;
use birsim_ir::{ApPair, CopyMode, Engine, Extra, Instruction, MemsetMode, Opcode, Operand, PhysicalAp, Value};
use birsim_kernels::{Dtype, Result};

/// Zeroes elements at random, without rescaling.
pub fn dropout(cx: &mut Core<'_>, p: &Dropout) -> Result<Instruction> {
    let mut inst = cx.inst("Dropout-", Opcode::Dropout, Engine::Dve);
    inst.ins.push(cx.ap(&p.src)?);
    inst.ins.push(cx.opnd(&p.threshold)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("is_keep_threshold", p.threshold_type == DropoutThresholdType::KeepRate))
}

/// Random bits.
pub fn rng(cx: &mut Core<'_>, p: &Rng) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("Rng-", Opcode::Memset, engine);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst.with("mode", Value::named(MemsetMode::Random)).with("constant", 0i64))
}

/// Uniform values between two bounds.
pub fn rand2(cx: &mut Core<'_>, p: &Rand2) -> Result<Instruction> {
    let mut inst = cx.inst("Rand2-", Opcode::Rand2, Engine::Dve);
    inst.ins.push(cx.opnd(&p.min)?);
    inst.ins.push(cx.opnd(&p.max)?);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Saves the generator state.
pub fn rand_get_state(cx: &mut Core<'_>, p: &RandGetState) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("RandGetState-", Opcode::RandGetState, engine);
    inst.outs.push(cx.ap(&p.dst)?);
    Ok(inst)
}

/// Restores the generator state.
pub fn rand_set_state(cx: &mut Core<'_>, p: &RandSetState) -> Result<Instruction> {
    let engine = cx.engine(p.engine);
    let mut inst = cx.inst("RandSetState-", Opcode::RandSetState, engine);
    inst.ins.push(cx.ap(&p.src)?);
    Ok(inst)
}

/// Words of the older generation's state.
const STATE_WORDS: i64 = 6;

/// Seeds the generator of the first generation, Pool's; ruling D10 needs the generation named. A source of one word per
/// partition is not a whole state, so the word becomes the first of six, and the others are 1.
pub fn set_rng_seed(cx: &mut Core<'_>, p: &SetRngSeed) -> Result<Instruction> {
    let seed = cx.ap(&p.src)?;
    let one_word = matches!(&seed, Operand::Physical(ap) if ap.ap.iter().skip(1).all(|p| p.num == 1));
    let state = match seed {
        Operand::Physical(ap) if one_word && ap.dtype.size() == 4 && !cx.options.strict => state_of(cx, ap),
        other => other,
    };
    let mut inst = cx.inst("SetRandState-", Opcode::SetRandState, Engine::Unassigned);
    inst.ins.push(state);
    Ok(inst.with("rng_engine", Value::named(Engine::Pool)))
}

/// A state tensor filled from one seed word per partition, or one for all.
fn state_of(cx: &mut Core<'_>, mut seed: PhysicalAp) -> Operand {
    let rows = seed.ap.first().map_or(1, |p| p.num);
    let partitions = if rows == 1 { 128 } else { rows };
    let name = cx.generated("COMPILER-GENERATED-rng-state-");
    let (location, set) = cx.internal_tensor(&name, Dtype::Uint32, partitions, STATE_WORDS);
    let part = |words: i64| PhysicalAp {
        dtype: Dtype::Uint32,
        memref: location.as_str().into(),
        memsetref: set.as_str().into(),
        offset: 0,
        ap: vec![ApPair { step: STATE_WORDS, num: partitions }, ApPair { step: 1, num: words }].into(),
        dynamic: None,
        extra: Extra::new(),
    };
    let mut fill = cx
        .inst("COMPILER-GENERATED-rng-fill-", Opcode::Memset, Engine::Dve)
        .with("mode", Value::named(MemsetMode::Const))
        .with("constant", 1i64);
    fill.outs.push(Operand::Physical(part(STATE_WORDS)));
    // The word is copied as bits.
    seed.dtype = Dtype::Uint32;
    if rows == 1 {
        seed.ap = vec![ApPair { step: 0, num: partitions }, ApPair { step: 1, num: 1 }].into();
    }
    let mut copy = cx
        .inst("COMPILER-GENERATED-rng-seed-", Opcode::DMACopy, Engine::Dma)
        .with("mode", Value::named(CopyMode::Copy));
    copy.ins.push(Operand::Physical(seed));
    copy.outs.push(Operand::Physical(part(1)));
    cx.before.extend([fill, copy]);
    cx.note("setRngSeed: one word per partition becomes the first word of a state of ones");
    Operand::Physical(part(STATE_WORDS))
}
