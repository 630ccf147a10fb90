//! What can be seen of a machine after a generated program, by the engine and by the plain interpreter.

use crate::interpret::{Plain, Stop};
use birsim_engine::ir::{Module, Storage};
use birsim_engine::world::read_register;
use birsim_engine::world::{Program, RegisterFile, SemValue};
use birsim_engine::{IssueOrder, MemMode, Simulator};
use std::collections::BTreeMap;

/// Memory, registers and semaphores after a run.
#[derive(PartialEq)]
pub struct Seen {
    tensors: BTreeMap<String, Vec<u8>>,
    registers: BTreeMap<String, u64>,
    semaphores: Vec<u32>,
}

/// What a run ended with.
pub type Outcome = Result<Seen, Stop>;

/// (function, set, location, bytes) of every tensor that is not a formal argument.
pub fn sets(m: &Module) -> Vec<(String, String, String, u64)> {
    let mut out = Vec::new();
    for f in m.functions.iter().chain(&m.nki_functions) {
        for s in &f.allocations {
            let Storage::Set(set) = s else { continue };
            if f.arguments.contains(&set.name) {
                continue;
            }
            let l = &set.locations[0];
            out.push((f.name.clone(), set.name.clone(), l.name.clone(), l.dims[0] * l.dims[1]));
        }
    }
    out
}

/// Start values: small numbers, none of them zero, int32 where the tensor holds integers.
pub fn start(name: &str, bytes: u64) -> Vec<u8> {
    let word = |k: u64| match name {
        "n" => (k as i32 - 4).to_le_bytes(),
        _ => ((k * 7 % 5 + 1) as f32).to_le_bytes(),
    };
    (0..bytes / 4).flat_map(word).collect()
}

/// Runs a program on the engine.
pub fn engine(m: &Module, physical: bool, schedule: IssueOrder) -> Outcome {
    engine_on(m, physical, schedule, 1)
}

/// Runs a program on the engine with this many threads.
pub fn engine_on(m: &Module, physical: bool, schedule: IssueOrder, threads: usize) -> Outcome {
    let mode = if physical { MemMode::Physical } else { MemMode::Symbolic };
    let stop = |e: birsim_engine::Error| (e.code().to_string(), e.place().instruction.clone().unwrap_or_default());
    let mut sim = Simulator::builder().threads(threads).mem_mode(mode).schedule(schedule).build().map_err(stop)?;
    sim.load(m).map_err(stop)?;
    for (_, _, name, bytes) in sets(m).iter().filter(|(f, ..)| f == "main") {
        sim.bind(name, &start(name, *bytes)).map_err(stop)?;
    }
    sim.run().map_err(stop)?;
    let mut tensors = BTreeMap::new();
    for (_, set, name, _) in sets(m) {
        tensors.insert(set, sim.output(&name).map_err(stop)?);
    }
    let world = sim.world_mut().expect("a program is loaded");
    let files: Vec<RegisterFile> = world.query::<&RegisterFile>().iter(world).cloned().collect();
    let semaphores = world.query::<&SemValue>().iter(world).map(|s| s.0).collect();
    let named = world.resource::<Program>().registers.iter();
    let registers = named.map(|(n, r)| (n.to_string(), read_register(&files, *r) as u64)).collect();
    Ok(Seen { tensors, registers, semaphores })
}

/// Runs a program on the interpreter; counts what it executed.
pub fn plain(m: &Module, physical: bool, coverage: &mut BTreeMap<String, u64>) -> Outcome {
    let mut p = started(m, physical);
    let ran = p.run();
    for (k, n) in std::mem::take(&mut p.coverage) {
        *coverage.entry(k).or_default() += n;
    }
    ran?;
    finished(m, &p)
}

/// The interpreter with the start values.
pub fn started(m: &Module, physical: bool) -> Plain<'_> {
    let mut p = Plain::new(m, physical);
    for (_, set, name, bytes) in sets(m).iter().filter(|(f, ..)| f == "main") {
        p.bind(set, &start(name, *bytes));
    }
    p
}

/// What can be seen of the interpreter.
pub fn finished(m: &Module, p: &Plain) -> Outcome {
    let tensors = sets(m).into_iter().map(|(f, set, ..)| (set.clone(), p.tensor(&f, &set))).collect();
    let mut registers = BTreeMap::new();
    for f in m.functions.iter().chain(&m.nki_functions) {
        for s in &f.allocations {
            if let Storage::Register(r) = s {
                registers.insert(r.name.clone(), p.register(f, &r.name) as u64);
            }
        }
    }
    Ok(Seen { tensors, registers, semaphores: p.semaphores.clone() })
}

/// The first thing two outcomes differ in.
pub fn difference(want: &Outcome, got: &Outcome) -> Option<String> {
    let (want, got) = match (want, got) {
        (Err(a), Err(b)) if a == b => return None,
        (Err(a), Err(b)) => return Some(format!("stops with {b:?}, not {a:?}")),
        (Err(a), Ok(_)) => return Some(format!("does not stop with {a:?}")),
        (Ok(_), Err(b)) => return Some(format!("stops with {b:?}")),
        (Ok(a), Ok(b)) => (a, b),
    };
    for (name, bytes) in &want.tensors {
        if let Some(at) = bytes.iter().zip(&got.tensors[name]).position(|(a, b)| a != b) {
            let word = |b: &[u8]| f32::from_le_bytes(b[at / 4 * 4..][..4].try_into().expect("four bytes"));
            let (a, b) = (word(bytes), word(&got.tensors[name]));
            return Some(format!("element {} of {name} is {b}, not {a}", at / 4));
        }
    }
    let registers = want.registers.iter().find(|(n, v)| got.registers[*n] != **v);
    if let Some((n, v)) = registers {
        return Some(format!("register {n} is {}, not {v}", got.registers[n]));
    }
    let id = want.semaphores.iter().zip(&got.semaphores).position(|(a, b)| a != b)?;
    Some(format!("semaphore {id} is {}, not {}", got.semaphores[id], want.semaphores[id]))
}
