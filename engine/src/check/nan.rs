//! `nan` and `nan-write`: values that are not numbers (rulings D14, D51).

use super::{Checker, Finding, Scene, span};
use crate::exec::effects::Effect;
use birsim_kernels::{Dtype, cast};

/// Elements decoded at a time.
const PIECE: usize = 512;

/// First element of an effect for which `bad` holds: its arena byte and value.
fn find(s: &Scene, e: &Effect, bad: impl Fn(f32) -> bool) -> Option<(usize, f32)> {
    let dtype = e.pattern.dtype();
    if dtype.is_integer() || dtype == Dtype::Float8E8m0fnu || dtype.lanes() > 1 {
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
            s.m.arenas[e.arena as usize].read(at, bytes);
            cast::decode_f32(dtype, bytes, values);
            hit = values.iter().position(|v| bad(*v)).map(|k| (at + k * size, values[k]));
            at += n * size;
        }
    });
    hit
}

fn finding(s: &Scene, e: &Effect, at: usize, value: f32, verb: &str) -> Finding {
    let (meta, size) = (s.meta(e), e.pattern.dtype().size());
    let place = span(&s.m.places[e.location as usize], at, at + size);
    Finding {
        message: format!("{} {verb} {value} in {}: {place}", s.name(), meta.name),
        payload: Some(s.payload),
        tensor: meta.name.to_string(),
    }
}

/// The first instruction whose inputs are finite and whose outputs are not.
#[derive(Default)]
pub(super) struct Nan {
    done: bool,
    clean: bool,
}

impl Checker for Nan {
    fn name(&self) -> &'static str {
        "nan"
    }

    fn before(&mut self, s: &Scene, _: &mut Vec<Finding>) {
        if !self.done {
            self.clean = s.effects.iter().filter(|e| e.reads()).all(|e| find(s, e, |v| !v.is_finite()).is_none());
        }
    }

    fn after(&mut self, s: &Scene, found: &mut Vec<Finding>) {
        if self.done || !self.clean {
            return;
        }
        for e in s.effects.iter().filter(|e| e.writes() && e.exact) {
            if let Some((at, value)) = find(s, e, |v| !v.is_finite()) {
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
    fn name(&self) -> &'static str {
        "nan-write"
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
