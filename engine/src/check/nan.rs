//! `nan` and `nan-write`: values that are not numbers (rulings D14, D51).

use super::{Checker, Finding, Scene, span};
use crate::exec::effects::Effect;
use crate::ir::{Opcode, Trait};
use crate::world::Remark;
use birsim_kernels::{Dtype, cast};

/// Elements decoded at a time.
const PIECE: usize = 512;

/// Values of this type can be NaN or infinite one by one.
fn is_float(dtype: Dtype) -> bool {
    !dtype.is_integer() && dtype != Dtype::Float8E8m0fnu && dtype.lanes() == 1
}

/// First element of an effect for which `bad` holds: its arena byte and value.
fn find(s: &Scene, e: &Effect, bad: impl Fn(f32) -> bool) -> Option<(usize, f32)> {
    let dtype = e.pattern.dtype();
    if !is_float(dtype) {
        return None;
    }
    let size = dtype.size();
    let (mut bytes, mut values) = ([0u8; PIECE * 8], [0f32; PIECE]);
    let mut hit = None;
    e.runs(|lo, hi| {
        let mut at = lo;
        while at < hi && hit.is_none() {
            let n = ((hi - at) / size).clamp(1, PIECE);
            let (bytes, values) = (&mut bytes[..n * size], &mut values[..n]);
            s.m.arenas[e.arena].read(at, bytes);
            cast::decode_f32(dtype, bytes, values);
            hit = values.iter().position(|v| bad(*v)).map(|k| (at + k * size, values[k]));
            at += n * size;
        }
    });
    hit
}

fn finding(s: &Scene, e: &Effect, at: usize, value: f32, verb: &str) -> Finding {
    let (meta, size) = (s.meta(e), e.pattern.dtype().size());
    let place = span(&s.m.places[e.location], at, at + size);
    Finding {
        message: format!("{} {verb} {value} in {}: {place}", s.name(), meta.name),
        row: Some(s.row),
        tensor: Some(meta.name.to_string()),
    }
}

/// How far an element is from being a number. The order matters: a worse input excuses a worse output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Number,
    Infinity,
    Nan,
}

/// The elements of an operand, lane by lane.
struct Elements {
    each: usize,
    kinds: Vec<Kind>,
    /// The worst of each lane.
    lanes: Vec<Kind>,
}

impl Elements {
    fn of(s: &Scene, e: &Effect) -> Elements {
        let (lanes, each, dtype) = (e.pattern.lanes(), e.pattern.lane_len(), e.pattern.dtype());
        let mut kinds = vec![Kind::Number; lanes * each];
        if is_float(dtype) {
            for (k, kind) in kinds.iter_mut().enumerate() {
                let mut bytes = [0; 8];
                let bytes = &mut bytes[..dtype.size()];
                s.m.arenas[e.arena].read(e.pattern.byte_of(k / each, k % each) as usize, bytes);
                let mut value = [0.0];
                cast::decode_f32(dtype, bytes, &mut value);
                *kind = match value[0] {
                    v if v.is_nan() => Kind::Nan,
                    v if v.is_infinite() => Kind::Infinity,
                    _ => Kind::Number,
                };
            }
        }
        let worst = |lane: usize| kinds[lane * each..(lane + 1) * each].iter().copied().max();
        let lanes = (0..lanes).map(|lane| worst(lane).unwrap_or(Kind::Number)).collect();
        Elements { each, kinds, lanes }
    }

    /// The worst element that an output element may come from.
    fn worst(&self, opcode: Opcode, out: &Elements, k: usize) -> Kind {
        let lane = k / out.each;
        let elementwise = opcode.is(Trait::Elementwise);
        if self.lanes.len() == out.lanes.len() && elementwise && self.each == out.each {
            self.kinds[k]
        } else if self.lanes.len() == out.lanes.len() && (elementwise || opcode.is(Trait::ByPartition)) {
            self.lanes[lane]
        } else {
            self.lanes.iter().copied().max().unwrap_or(Kind::Number)
        }
    }
}

/// The first instruction that makes a NaN or an infinity: a NaN where nothing that it came from is NaN, though
/// it may be infinite, or an infinity where all that it came from is finite.
#[derive(Default)]
pub(super) struct Nan {
    done: bool,
    /// The inputs of the running instruction, when not all of them are finite.
    inputs: Vec<Elements>,
}

impl Checker for Nan {
    fn code(&self) -> Remark {
        Remark::Nan
    }

    fn before(&mut self, s: &Scene, _: &mut Vec<Finding>) {
        self.inputs.clear();
        if self.done {
            return;
        }
        let read = || s.effects.iter().filter(|e| e.reads());
        // Most instructions read numbers only; looking at every element by itself is for the others.
        if read().any(|e| find(s, e, |v| !v.is_finite()).is_some()) {
            self.inputs.extend(read().map(|e| Elements::of(s, e)));
        }
    }

    fn after(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        if self.done {
            return;
        }
        let opcode = s.m.program.insts[s.row].opcode;
        for e in s.effects.iter().filter(|e| e.writes() && e.exact) {
            let Some((at, value)) = find(s, e, |v| !v.is_finite()) else { continue };
            if self.inputs.is_empty() {
                found.push(finding(s, e, at, value, "makes"));
                self.done = true;
                return;
            }
            let out = Elements::of(s, e);
            let made = (0..out.kinds.len()).find(|k| {
                let kind = out.kinds[*k];
                kind > Kind::Number && self.inputs.iter().all(|i| i.worst(opcode, &out, *k) < kind)
            });
            if let Some(k) = made {
                let value = if out.kinds[k] == Kind::Nan { f32::NAN } else { f32::INFINITY };
                let at = e.pattern.byte_of(k / out.each, k % out.each) as usize;
                found.push(finding(s, e, at, value, "makes"));
                self.done = true;
                return;
            }
        }
    }
}

/// Every write of a NaN, once per instruction and tensor.
pub(super) struct NanWrite;

impl Checker for NanWrite {
    fn code(&self) -> Remark {
        Remark::NanWrite
    }

    fn after(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        if s.may_read_uninit {
            return;
        }
        for e in s.effects.iter().filter(|e| e.writes() && e.exact) {
            if let Some((at, value)) = find(s, e, f32::is_nan) {
                found.push(finding(s, e, at, value, "writes"));
            }
        }
    }
}
