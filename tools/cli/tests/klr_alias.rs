//! Kernels whose output takes the place of an input.

mod common;

use birsim_klr::ast::{Access, Operator, TensorRef};
use common::*;

/// The kernel of `add_scalar` with its output in the storage of its input, under another name or the same.
fn in_place(output: &str) -> Vec<u8> {
    changed("add_scalar", |k| {
        let input = k.inputs[0].clone();
        k.outputs[0] = input.clone();
        k.outputs[0].name = output.to_owned();
        k.shared_buffers.clear();
        let last = k.bodies[0][0].body.last_mut().unwrap();
        let Operator::NcDmaCopy(store) = &mut last.op else { panic!("a store comes last") };
        let TensorRef::Abstract(Access::BirPattern(dst)) = &mut store.dst else { panic!("{:?}", store.dst) };
        dst.tensor = k.outputs[0].clone();
    })
}

#[test]
fn inputs_keep_their_names_and_their_values() {
    let s = Sandbox::new();
    s.write("x.npy", sample_file("add_scalar", "in_x.npy"));
    s.write("y.npy", sample_file("add_scalar", "out_y.npy"));
    for output in ["y", "x"] {
        s.write("k.klr", in_place(output));
        let golden = format!("{output}=y.npy");
        let exact = ["--rtol", "0", "--atol", "0"];
        let ran = s.birsim(&[&["run", "k.klr", "--input", "x=x.npy", "--golden", &golden], &exact[..]].concat());
        assert!(!ran.exits(0).stderr.contains("modified"), "{}", ran.stderr);
        for (file, folder) in [("x.npy", "in"), ("y.npy", "out")] {
            let name = if folder == "in" { "x" } else { output };
            s.write(&format!("{folder}-{output}/{name}.npy"), std::fs::read(s.path(file)).unwrap());
        }
        s.birsim(
            &[
                &["run", "k.klr", "--inputs", &format!("in-{output}"), "--goldens", &format!("out-{output}")],
                &exact[..],
            ]
            .concat(),
        )
        .exits(0);
        s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(0);
        s.birsim(&[&["run", "m.json", "--input", "x=x.npy", "--golden", &golden], &exact[..]].concat()).exits(0);
        klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=y.npy"]).exits(0);
    }
}
