//! The engine's table of code against the opcode table, and what it prepares when a program is loaded.

mod common;

use birsim_engine::Simulator;
use birsim_engine::exec::kernel;
use birsim_engine::ir::{Opcode, RouteClass};
use birsim_engine::world::{Own, Program};
use birsim_kernels::alu::AluOp;
use birsim_kernels::elementwise::TensorScalar;
use common::*;
use serde_json::json;

/// An opcode of class kernel has code, and no other one. Two exceptions: a DMABlock is data, its trigger runs the
/// descriptors; NonzeroWithCount, which the reference skips, is modelled.
#[test]
fn class_is_kernel_exactly_where_code_is_bound() {
    let odd: Vec<_> = Opcode::all().filter(|o| (o.row().class == RouteClass::Kernel) != kernel(*o).is_some()).collect();
    assert_eq!(odd, [Opcode::NonzeroWithCount, Opcode::DMABlock]);
}

#[test]
fn an_instruction_is_prepared_when_it_is_loaded_unless_a_key_depends_on_the_run() {
    const X: T = T("x", "ExternalInput", "DRAM", "float32", 1, 1);
    const O: T = T("o", "ExternalOutput", "DRAM", "float32", 1, 1);
    let scaled = |name: &str, by: serde_json::Value| {
        let keys =
            json!({"op0": "mult", "const0": by, "reverse0": false, "op1": "bypass", "const1": 0, "reverse1": false});
        inst(name, "TensorScalar", "DVE", json!([all(&X)]), json!([all(&O)]), keys)
    };
    let by_register = json!({"kind": "IntRuntimeValueKind", "regref": "k"});
    let set = inst(
        "m",
        "RegisterMove",
        "DVE",
        json!([{"kind": "imm_value", "dtype": "int32", "value": 7}]),
        json!([reg("k")]),
        json!({}),
    );
    let list = vec![set, scaled("fixed", json!(3.0)), scaled("open", by_register)];
    let storage = vec![X.record(), O.record(), register("k")];
    let mut sim = loaded(Simulator::builder(), &module(storage, list)).unwrap();
    {
        let program = sim.world_mut().unwrap().resource::<Program>();
        let own = |name: &str| &program.insts.iter().find(|i| *i.name == *name).unwrap().own;
        let p: &TensorScalar = own("fixed").get().unwrap();
        assert_eq!((p.op0, p.const0, p.op1), (AluOp::Mult, 3.0, AluOp::Bypass));
        assert!(own("fixed").get::<u8>().is_none(), "the parameters have one type");
        assert!(matches!(own("open"), Own::Keys(keys) if keys.len() == 6));
    }
    bind(&mut sim, "x", &[2.0]);
    sim.run().unwrap();
    assert_eq!(floats(&mut sim, "o"), [14.0]);
}
