//! Seeded programs whose data crosses engines and is ordered by waits and updates only.
//!
//! Instructions are drawn in a sequential order; what one engine's instruction needs from another engine's is found from
//! the bytes and registers they touch, and every such need becomes a wait of a random kind.

mod flow;
mod ops;
mod sync;

pub use sync::without;

use crate::build::*;
use crate::interpret::{Key, Plain};
use birsim_engine::ir::{
    Arch, Block, BlockArgument, BranchCompare, Engine, Expr, Extra, Function, Instruction, Module, Opcode, Operand,
    Predicate, PredicateOp, Queue, QueueType, Storage, SyncKind, UpdateMode, UpdateRef, Value, WaitMode, WaitRef,
};
use birsim_kernels::alu::AluOp;
use std::collections::{BTreeMap, BTreeSet};

/// A generated program.
pub struct Generated {
    /// The program.
    pub module: Module,
    /// Locations have addresses, and some overlap.
    pub physical: bool,
    /// (instruction, position in its waits) of every semaphore wait.
    pub waits: Vec<(String, usize)>,
}

/// What a program contains besides the usual.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing wrong.
    None,
    /// An operand outside its tensor.
    Bounds,
    /// An event that is set while it is set.
    Event,
    /// An increment by something else than 1.
    Increment,
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: i64) -> i64 {
        (self.next() % n as u64) as i64
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as i64) as usize]
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}

/// One instruction and what it touches.
struct Op {
    inst: Instruction,
    reads: BTreeSet<Key>,
    writes: BTreeSet<Key>,
}

struct Generator {
    rng: Rng,
    /// Storage and queues; the blocks are added at the end.
    module: Module,
    physical: bool,
    /// Position of the function that is being written: 0 main, 1 sub.
    function: usize,
    /// Axes of the loops around the current place.
    axes: Vec<String>,
    count: usize,
    waits: Vec<(String, usize)>,
    fault: Fault,
    /// Arguments of a block that is still to come, with its name.
    arguments: Option<(String, Vec<BlockArgument>)>,
}

const COMPUTE: [Engine; 2] = [Engine::Pool, Engine::Dve];
const SCALAR: [Engine; 5] = [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dve, Engine::Sp];
/// Registers that programs change freely.
const FREE: [&str; 4] = ["r0", "r1", "u0", "x0"];

/// Generates the program of a seed.
pub fn generate(seed: u64, physical: bool, fault: Fault) -> Generated {
    let mut g = Generator {
        rng: Rng(seed),
        module: storage(),
        physical,
        function: 0,
        axes: Vec::new(),
        count: 0,
        waits: Vec::new(),
        fault: Fault::None,
        arguments: None,
    };
    let queue = g.queue();
    g.module.queues.push(queue);
    g.function = 1;
    let sub = g.sub();
    let kernel = g.sub();
    let kernel = as_kernel(&g.module.functions[1], kernel);
    g.module.nki_functions.push(kernel);
    g.function = 0;
    let mut first = vec![g.set("k3", 3)];
    for (r, v) in [("r0", 5), ("r1", -2), ("i0", 3)] {
        first.push(g.set(r, v));
    }
    g.fault = fault;
    let n = 3 + g.rng.below(3);
    let mut blocks = g.items(n, 0, first);
    if g.rng.chance(40) {
        // Every engine has an Exit of its own; instructions after it never run.
        let last = blocks.last_mut().expect("there is a block");
        for e in Engine::QUEUES {
            last.instructions.push(Instruction::new(g.name("exit"), Opcode::Exit, e));
        }
        last.instructions.push(memset(g.name("never"), Engine::Dve, whole("a", 2, 16), 7.0));
    }
    // Every trigger that the queue names is in some block.
    let mut tail = vec![g.trigger("T0", &["b0", "b1"]), g.trigger("T1", &["b2"])];
    g.fence(&mut tail, BTreeSet::from([200, 201]));
    blocks.push(block("tail", tail));
    g.module.functions[0].blocks = blocks;
    g.module.functions[1].blocks = sub;
    Generated { module: g.module, physical, waits: g.waits }
}

/// A body written for `sub` as a function of its own, `kern`: every name that belongs to `sub` gets another one.
fn as_kernel(sub: &Function, blocks: Vec<Block>) -> Function {
    let mut m = Module::new(Some(Arch::Gen3));
    m.functions.push(Function { blocks, ..sub.clone() });
    let mut text = birsim_engine::format::write(&m);
    let sets = ["fi", "fo", "l"].map(|n| (n.to_string(), format!("k{n}")));
    let of_sets = sets.clone().map(|(a, b)| (format!("{a}_set"), format!("{b}_set")));
    let others = [("sub", "kern"), ("sk3", "kk3"), ("s0", "ks0"), ("sub-1", "kern-1"), ("sub-2", "kern-2")];
    let others = others.map(|(a, b)| (a.to_string(), b.to_string()));
    for (from, to) in sets.into_iter().chain(of_sets).chain(others) {
        text = text.replace(&format!("\"{from}\""), &format!("\"{to}\""));
    }
    let mut m = birsim_engine::format::read(text.as_bytes()).expect("a renamed function reads");
    let mut f = m.functions.remove(0);
    for s in &mut f.allocations {
        if let Storage::Set(set) = s
            && set.name == "kl_set"
        {
            set.locations[0].addr = 1536;
        }
    }
    f
}

/// Storage of both functions.
fn storage() -> Module {
    let mut m = Module::new(Some(Arch::Gen3));
    let function = |name: &str, arguments: &[&str], allocations| Function {
        name: name.into(),
        attributes: Extra::new(),
        allocations,
        blocks: Vec::new(),
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        extra: Extra::new(),
    };
    m.functions.push(function(
        "main",
        &[],
        vec![
            // `o` overlaps the second half of `a`'s second partition, `q` the second half of `p`.
            sbuf("a", 2, 16, 0, 0),
            sbuf("o", 2, 16, 1, 32),
            sbuf("mi", 2, 4, 0, 256),
            sbuf("mw", 2, 2, 0, 512),
            integers(sbuf("n", 1, 8, 0, 768)),
            dram("d", 2, 16),
            dram("x", 2, 16),
            psum("p", 2, 8, 1, 0),
            psum("q", 2, 8, 1, 16),
            register("k3", Engine::All, -1),
            register("r0", Engine::All, -1),
            register("r1", Engine::All, 5),
            register("i0", Engine::All, -1),
            register("w0", Engine::All, -1),
            register("w1", Engine::All, 9),
            register("w2", Engine::Sp, -1),
            unsigned(register("u0", Engine::Sp, 3)),
            wide(register("x0", Engine::All, 20)),
        ],
    ));
    m.functions.push(function(
        "sub",
        &["fi_set", "fo_set"],
        vec![
            formal("fi", 2, 16),
            formal("fo", 2, 16),
            sbuf("l", 2, 16, 0, 1024),
            register("sk3", Engine::All, -1),
            register("s0", Engine::All, -1),
        ],
    ));
    m
}

impl Generator {
    fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}-{}", self.count)
    }

    fn set(&mut self, register: &str, value: i128) -> Instruction {
        let mut i = Instruction::new(self.name("set"), Opcode::RegisterMove, Engine::All);
        i.ins = vec![imm(value)];
        i.outs = vec![reg(register)];
        i
    }

    fn alu(&mut self, op: AluOp, to: &str, a: Operand, b: Operand, engine: Engine) -> Instruction {
        let mut i = Instruction::new(self.name("alu"), Opcode::RegisterAlu, engine).with("op", Value::named(op));
        if to == "x0" {
            i.set("is_64bit", Value::Bool(true));
        }
        i.ins = vec![a, b];
        i.outs = vec![reg(to)];
        i
    }
}
