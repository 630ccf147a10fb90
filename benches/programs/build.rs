//! A small language to write kernels in: tensors get addresses as they are declared, instructions run in list order.

use birsim_engine::format;
use birsim_engine::ir::Module;
use serde_json::{Value as Json, json};

/// Bytes of a PSUM bank in one partition.
const BANK: u64 = 2048;

/// A tensor of the kernel.
#[derive(Clone)]
pub struct Tensor {
    name: String,
    dtype: &'static str,
    cols: u64,
}

impl Tensor {
    /// `rows` x `cols` elements from (`row`, `col`) on.
    pub fn part(&self, (row, col): (u64, u64), rows: u64, cols: u64) -> Json {
        json!({
            "kind": "physical_ap", "dtype": self.dtype, "memref": self.name, "memsetref": format!("{}_set", self.name),
            "offset": row * self.cols + col, "ap": [[self.cols, rows], [1, cols]],
        })
    }

    /// The first `rows` rows.
    pub fn rows(&self, rows: u64) -> Json {
        self.part((0, 0), rows, self.cols)
    }
}

/// A kernel being written.
#[derive(Default)]
pub struct Kernel {
    tensors: Vec<Json>,
    instructions: Vec<Json>,
    sbuf: u64,
    banks: u64,
}

impl Kernel {
    /// A tensor in DRAM, `ExternalInput` or `ExternalOutput`.
    pub fn dram(&mut self, name: &str, kind: &str, dtype: &'static str, rows: u64, cols: u64) -> Tensor {
        self.declare(name, kind, dtype, (rows, cols), json!({"type": "DRAM"}))
    }

    /// A tile in SBUF.
    pub fn sbuf(&mut self, name: &str, dtype: &'static str, rows: u64, cols: u64) -> Tensor {
        let place = json!({"type": "SB", "addr": self.sbuf, "allocated": true});
        self.sbuf += (cols * size(dtype)).next_multiple_of(64);
        self.declare(name, "Internal", dtype, (rows, cols), place)
    }

    /// A float32 tile in PSUM, in banks of its own.
    pub fn psum(&mut self, name: &str, rows: u64, cols: u64) -> Tensor {
        let place = json!({"type": "PSUM", "addr": self.banks * BANK, "bank": self.banks, "allocated": true});
        self.banks += (cols * 4).div_ceil(BANK);
        self.declare(name, "Internal", "float32", (rows, cols), place)
    }

    fn declare(&mut self, name: &str, kind: &str, dtype: &'static str, shape: (u64, u64), place: Json) -> Tensor {
        let (rows, cols) = shape;
        let mut location = json!({"Skind": "memory_location", "name": name, "dims": [rows, cols * size(dtype)]});
        for (key, value) in place.as_object().into_iter().flatten() {
            location[key] = value.clone();
        }
        self.tensors.push(json!({
            "Skind": "memory_location_set", "name": format!("{name}_set"), "kind": kind, "dtype": dtype,
            "tensor_shape": [rows, cols], "memorylocations": [location],
        }));
        Tensor { name: name.into(), dtype, cols }
    }

    /// An instruction; `keys` are its own.
    pub fn push(&mut self, opcode: &str, engine: &str, ins: Vec<Json>, outs: Vec<Json>, keys: Json) {
        let name = format!("I-{}", self.instructions.len());
        let mut i = json!({"name": name, "opcode": opcode, "engine": engine, "ins": ins, "outs": outs});
        for (key, value) in keys.as_object().into_iter().flatten() {
            i[key] = value.clone();
        }
        self.instructions.push(i);
    }

    /// Number of instructions so far.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Puts the instructions from number `from` on into a loop.
    pub fn repeat(&mut self, from: usize, trips: u64) {
        let body = self.instructions.split_off(from);
        self.instructions.push(json!({
            "name": "loop", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
            "LoopAxis": {"name": "i", "lb": 0, "ub": trips, "stride": 1},
            "blocks": [{"name": "loop-body", "instructions": body}],
        }));
    }

    pub fn load(&mut self, from: Json, to: Json) {
        self.push("Load", "DMA", vec![from], vec![to], json!({}));
    }

    pub fn save(&mut self, from: Json, to: Json) {
        self.push("Save", "DMA", vec![from], vec![to], json!({}));
    }

    pub fn copy(&mut self, from: Json, to: Json) {
        self.push("TensorCopy", "Pool", vec![from], vec![to], json!({}));
    }

    /// to = a `op` b
    pub fn binary(&mut self, op: &str, a: Json, b: Json, to: Json) {
        self.push("TensorTensor", "DVE", vec![a, b], vec![to], json!({"op": op}));
    }

    /// to = (from `op0` a) `op1` b
    pub fn scalar(&mut self, from: Json, (op0, a): (&str, f64), (op1, b): (&str, f64), to: Json) {
        let keys = json!({"op0": op0, "const0": a, "reverse0": false, "op1": op1, "const1": b, "reverse1": false});
        self.push("TensorScalar", "DVE", vec![from], vec![to], keys);
    }

    /// to = from `op` the scalar of each partition
    pub fn by_row(&mut self, op: &str, from: Json, scalar: Json, to: Json) {
        let keys = json!({"op0": op, "reverse0": false, "op1": "bypass", "reverse1": false});
        self.push("TensorScalarPtr", "DVE", vec![from, scalar], vec![to], keys);
    }

    pub fn reduce(&mut self, op: &str, negate: bool, from: Json, to: Json) {
        let keys = json!({"op": op, "axis": "X", "negate": negate});
        self.push("TensorReduce", "DVE", vec![from], vec![to], keys);
    }

    /// to = func(from * scale + bias); a `sum` is read from the accumulator afterwards.
    pub fn activate(&mut self, func: &str, from: Json, bias: Json, to: Json, sum: Option<Json>) {
        let number = |x: f64| json!({"kind": "imm_value", "dtype": "float32", "value": x});
        let acc = if sum.is_some() { "ZeroAccumulate" } else { "Idle" };
        let keys = json!({"func": func, "scale": 1.0, "alpha": 0.0, "acc": acc, "reduce_op": "add"});
        self.push("Activation", "Activation", vec![from, bias, number(1.0), number(0.0)], vec![to], keys);
        if let Some(sum) = sum {
            self.push("ReadActivationAccumulator", "Activation", vec![], vec![sum], json!({}));
        }
    }

    /// to (+)= weights^T moving; `k` of `of` products that are added up.
    pub fn matmul(&mut self, moving: Json, weights: Json, to: Json, k: u64, of: u64) {
        let flag = u8::from(k == 0) | u8::from(k + 1 == of) << 1 | u8::from(k > 0) << 2;
        self.push("Matmult", "PE", vec![moving, weights], vec![to], json!({"accumulation_flag": flag}));
    }

    /// The module.
    pub fn module(self) -> Result<Module, String> {
        let module = json!({"version": 2, "arch": "gen3", "functions": [{
            "name": "main", "allocations": self.tensors, "blocks": [{"name": "Block1", "instructions": self.instructions}],
        }]});
        format::read(module.to_string().as_bytes()).map_err(|e| e.to_string())
    }
}

/// Bytes of an element.
pub fn size(dtype: &str) -> u64 {
    if dtype == "bfloat16" { 2 } else { 4 }
}
