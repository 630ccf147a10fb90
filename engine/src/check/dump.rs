//! Values of a tensor at a point of the run.

use crate::exec::Cx;
use crate::world::LocId;

/// The bytes of a tensor after the last execution of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Tensor.
    pub tensor: String,
    /// Instruction.
    pub instruction: String,
    /// Bytes of the logical tensor.
    pub bytes: Vec<u8>,
    /// How often the instruction had run.
    pub executions: u64,
}

/// A point of the run at which a tensor is dumped.
pub struct Point {
    location: LocId,
    bytes: usize,
    tensor: String,
    asked: String,
    instruction: String,
    execution: Option<u64>,
    count: u64,
    pub(super) taken: Option<Dump>,
}

impl Point {
    /// The point after the n-th execution of an instruction, or after its last one. The dump holds `bytes` of the tensor
    /// and is named `asked`, as on the command line.
    pub fn new(
        location: LocId,
        bytes: usize,
        tensor: &str,
        asked: &str,
        (instruction, n): (&str, Option<u64>),
    ) -> Self {
        Point {
            location,
            bytes,
            tensor: tensor.to_string(),
            asked: asked.to_string(),
            instruction: instruction.to_string(),
            execution: n,
            count: 0,
            taken: None,
        }
    }

    pub(super) fn look(&mut self, cx: &Cx) {
        if *cx.inst.name != *self.instruction {
            return;
        }
        self.count += 1;
        if self.execution.is_some_and(|n| n != self.count) {
            return;
        }
        let place = &cx.m.places[self.location].0;
        let dump = self.taken.get_or_insert_with(|| Dump {
            tensor: self.tensor.clone(),
            instruction: self.asked.clone(),
            bytes: vec![0; self.bytes],
            executions: 0,
        });
        dump.executions = self.count;
        let arena = &cx.m.arenas[place.arena];
        place.for_rows(self.bytes, |at, range| arena.read(at, &mut dump.bytes[range]));
    }
}
