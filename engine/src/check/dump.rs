//! Values of a tensor at a point of the run.

use crate::exec::Cx;

/// The bytes of a tensor after the last execution of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Tensor.
    pub tensor: String,
    /// Instruction.
    pub instruction: String,
    /// Bytes of the logical tensor.
    pub bytes: Vec<u8>,
    /// How often the instruction has run.
    pub executions: u64,
}

/// A point to look at.
pub struct Point {
    location: u32,
    bytes: usize,
    tensor: String,
    instruction: String,
    pub(super) taken: Option<Dump>,
}

impl Point {
    /// A point behind an instruction; `bytes` of the tensor are kept.
    pub fn new(location: u32, bytes: usize, tensor: &str, instruction: &str) -> Self {
        Point { location, bytes, tensor: tensor.to_string(), instruction: instruction.to_string(), taken: None }
    }

    pub(super) fn look(&mut self, cx: &Cx) {
        if *cx.inst.name != *self.instruction {
            return;
        }
        let place = &cx.m.places[self.location as usize].0;
        let dump = self.taken.get_or_insert_with(|| Dump {
            tensor: self.tensor.clone(),
            instruction: self.instruction.clone(),
            bytes: vec![0; self.bytes],
            executions: 0,
        });
        dump.executions += 1;
        let arena = &cx.m.arenas[place.arena as usize];
        place.for_rows(self.bytes, |at, range| arena.read(at, &mut dump.bytes[range]));
    }
}
