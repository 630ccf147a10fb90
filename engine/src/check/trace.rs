//! The trace: one row per executed instruction.

use crate::exec::Cx;
use crate::exec::effects::Effect;
use crate::ir::Engine;
use std::fmt;
use std::sync::Arc;

/// One executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRow<'a> {
    /// Rank, in a run that counts ranks.
    pub rank: Option<u32>,
    /// Core of the rank, in a run of several cores.
    pub core: Option<u32>,
    /// Tick it was issued in.
    pub tick: u64,
    /// Engine.
    pub engine: Engine,
    /// Name.
    pub instruction: &'a str,
    /// Opcode.
    pub opcode: &'static str,
    /// 64-bit FNV-1a over the bytes of its outputs after it ran; the offset basis when it has none.
    pub output_hash: u64,
}

/// Where trace rows go.
#[derive(Clone)]
pub struct TraceSink(Arc<dyn Fn(&TraceRow) + Send + Sync>);

impl TraceSink {
    /// A sink that calls `f` for every row.
    pub fn new(f: impl Fn(&TraceRow) + Send + Sync + 'static) -> Self {
        TraceSink(Arc::new(f))
    }
}

impl fmt::Debug for TraceSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceSink")
    }
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

pub(super) fn tell(sink: &TraceSink, cx: &Cx, effects: &[Effect]) {
    let mut hash = BASIS;
    let mut bytes = Vec::new();
    for e in effects.iter().filter(|e| e.writes()) {
        e.runs(|lo, hi| {
            bytes.resize(hi - lo, 0);
            cx.m.arenas[e.arena].read(lo, &mut bytes);
            hash = bytes.iter().fold(hash, |h, b| (h ^ u64::from(*b)).wrapping_mul(PRIME));
        });
    }
    (sink.0)(&TraceRow {
        rank: cx.m.settings.seat.rank_field(),
        core: cx.m.settings.seat.core_field(),
        tick: cx.m.stats.ticks,
        engine: cx.inst.engine,
        instruction: &cx.inst.name,
        opcode: cx.inst.opcode.name(),
        output_hash: hash,
    });
}
