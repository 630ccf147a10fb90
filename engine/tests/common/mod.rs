//! Small programs as JSON.
#![allow(dead_code, reason = "every test file uses a part")]

use birsim_engine::format::read;
use birsim_engine::{Builder, Error, RunSummary, Simulator};
use birsim_kernels::{Dtype, Named};
use serde_json::{Value as Json, json};

/// A tensor: name, kind, memory, dtype, partitions, elements per partition.
pub struct T(pub &'static str, pub &'static str, pub &'static str, pub &'static str, pub u64, pub u64);

impl T {
    /// The storage record; unallocated.
    pub fn record(&self) -> Json {
        let T(name, kind, ty, dtype, rows, cols) = *self;
        let size = Dtype::from_name(dtype).unwrap().size() as u64;
        json!({"Skind": "memory_location_set", "name": format!("{name}_set"), "kind": kind, "addr_space": "Local",
            "dtype": dtype, "partition_dim": 0, "tensor_shape": [rows, cols],
            "memorylocations": [{"Skind": "memory_location", "name": name, "type": ty, "dims": [rows, cols * size],
                "addr": 0, "base": 0, "bank": 0, "allocated": false, "tensor_id": 0}]})
    }
}

/// A pattern over a whole tensor.
pub fn all(t: &T) -> Json {
    part(t, 0, &[[t.5 as i64, t.4 as i64], [1, t.5 as i64]])
}

/// A pattern of a tensor.
pub fn part(t: &T, offset: i64, pairs: &[[i64; 2]]) -> Json {
    json!({"kind": "physical_ap", "memref": t.0, "memsetref": format!("{}_set", t.0), "dtype": t.3, "offset": offset,
        "ap": pairs})
}

/// A register operand.
pub fn reg(name: &str) -> Json {
    json!({"kind": "register_access", "dtype": "int32", "regref": name})
}

/// A declared register.
pub fn register(name: &str) -> Json {
    json!({"Skind": "register", "name": name, "numPhysicalRegs": 1, "engine": "ALL", "dtype": "int32", "reg_id": -1})
}

/// An instruction with further fields.
pub fn inst(name: &str, opcode: &str, engine: &str, ins: Json, outs: Json, fields: Json) -> Json {
    let mut i = json!({"name": name, "opcode": opcode, "engine": engine, "ins": ins, "outs": outs});
    for (k, v) in fields.as_object().unwrap() {
        i[k] = v.clone();
    }
    i
}

/// A module of one function with one block.
pub fn module(storage: Vec<Json>, instructions: Vec<Json>) -> Json {
    json!({"version": 2, "arch": "gen3", "attributes": {}, "queues": [],
        "functions": [{"name": "main", "attributes": {}, "allocations": storage,
            "blocks": [{"name": "Block1", "instructions": instructions}]}]})
}

/// A simulator with the program loaded.
pub fn loaded(builder: Builder, module: &Json) -> Result<Simulator, Error> {
    let mut sim = builder.threads(1).build()?;
    sim.load(&read(module.to_string().as_bytes())?)?;
    Ok(sim)
}

/// Binds f32 values.
pub fn bind(sim: &mut Simulator, name: &str, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    sim.bind(name, &bytes).unwrap();
}

/// An output as f32 values.
pub fn floats(sim: &mut Simulator, name: &str) -> Vec<f32> {
    sim.output(name).unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// An output as i32 values.
pub fn ints(sim: &mut Simulator, name: &str) -> Vec<i32> {
    sim.output(name).unwrap().chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Loads and runs a program without inputs.
pub fn run(module: &Json) -> Result<(Simulator, RunSummary), Error> {
    let mut sim = loaded(Simulator::builder(), module)?;
    let summary = sim.run()?;
    Ok((sim, summary))
}
