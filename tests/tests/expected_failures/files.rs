//! Command lines and files.

use super::*;
use birsim_cli::npy::write_npy;
use birsim_kernels::{Dtype, Profile};
use std::path::Path;

/// Runs a command line in a folder of its own. `@` is replaced by the folder, whose name is removed from the error.
fn command(id: &str, args: &'static [&'static str]) -> Row {
    action(id, move || {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let here = folder.path().display().to_string();
        let args = std::iter::once("birsim").chain(args.iter().copied()).map(|a| a.replace('@', &here).into());
        birsim_cli::attempt(args.collect()).map_err(|e| bare(&e, folder.path()))
    })
}

/// The error without the name of a folder.
pub(super) fn bare(e: &Error, folder: &Path) -> Error {
    let here = folder.display().to_string();
    let bare = |t: &str| t.replace(&format!("{here}/"), "").replace(&here, "");
    let mut out = Error::new(e.code(), bare(e.what())).advice(e.advice_text());
    if let Some(r) = e.received_value() {
        out = out.received(bare(r));
    }
    let mut place = e.place().clone();
    place.file = place.file.map(|f| bare(&f));
    out.at(|p| *p = place)
}

/// The program `o = x`, its input, and files that are damaged or of another kind.
fn fill(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let copy = inst("c", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({}));
    write("p.json", module(vec![X.record(), O.record()], vec![copy]).to_string().as_bytes());
    let npy = |name: &str, dtype, shape: &[u64]| {
        let bytes = vec![0; shape.iter().product::<u64>() as usize * 4];
        write_npy(&folder.join(name), dtype, shape, &bytes, Profile::reference().meta_names).unwrap();
    };
    npy("x.npy", Dtype::Float32, &[4, 8]);
    npy("other-shape.npy", Dtype::Float32, &[4, 7]);
    npy("other-type.npy", Dtype::Int32, &[4, 8]);
    let whole = std::fs::read(folder.join("x.npy")).unwrap();
    write("cut.npy", &whole[..whole.len() - 4]);
    write("text.npy", b"1 2 3");
    write("header.npy", b"\x93NUMPY\x01\x00\x04\x00{}  ");
    write("empty", b"");
    write("packed.gz", b"\x1f\x8b\x08\x00");
    write("map.json", b"[1]");
    write("m.jsonl", b"{\"programs\": \"p.json\"}\n");
}

pub(super) fn rows(rows: &mut Vec<Row>) {
    for (id, args) in [
        ("a program that is not there", &["run", "@/none.json"] as &[&str]),
        ("an input file that is not there", &["run", "@/p.json", "--input", "x=@/none.npy"]),
        ("a tensor map that is not there", &["run", "@/p.json", "--input", "x=@/x.npy", "--tensor-map", "@/none.json"]),
        ("an empty program", &["run", "@/empty"]),
        ("a packed program", &["run", "@/packed.gz"]),
        ("a text for a tensor", &["run", "@/p.json", "--input", "x=@/text.npy"]),
        ("a tensor that is cut off", &["run", "@/p.json", "--input", "x=@/cut.npy"]),
        ("a tensor file without a type", &["run", "@/p.json", "--input", "x=@/header.npy"]),
        ("an input of another shape", &["run", "@/p.json", "--input", "x=@/other-shape.npy"]),
        ("an input of another type", &["run", "@/p.json", "--input", "x=@/other-type.npy"]),
        ("an input that nothing binds", &["run", "@/p.json"]),
        ("an input of another program", &["run", "@/p.json", "--input", "x=@/x.npy", "--input", "z=@/x.npy"]),
        ("a file for an output folder", &["run", "@/p.json", "--input", "x=@/x.npy", "--out", "@/empty"]),
        ("a trace into nowhere", &["run", "@/p.json", "--input", "x=@/x.npy", "--trace", "@/none/t.jsonl"]),
        ("a trace over the input", &["run", "@/p.json", "--input", "x=@/x.npy", "--trace", "@/x.npy"]),
        ("a manifest with an unknown key", &["batch", "@/m.jsonl"]),
        ("no command", &[]),
        ("an unknown option", &["run", "@/p.json", "--speed", "9"]),
        ("an unknown checker", &["run", "@/p.json", "--check", "everything"]),
        ("an unknown target", &["run", "@/p.json", "--target", "trn9"]),
        ("two schedules", &["run", "@/p.json", "--schedule", "window", "--schedule-seed", "1"]),
        ("an unknown choice of numerics", &["run", "@/p.json", "--set", "nothing=1"]),
        ("a tensor map that is a list", &["run", "@/p.json", "--input", "x=@/x.npy", "--tensor-map", "@/map.json"]),
        ("a comparison with nothing", &["compare", "@/x.npy", "@/none.npy"]),
        ("an explanation of nothing", &["explain", "X999"]),
    ] {
        rows.push(command(id, args));
    }
    // Nothing that a program does leads here, so the machine is damaged by hand.
    rows.push(action("a machine without a shadow", || {
        use birsim_engine::world::AccumShadow;
        let mm = json!([all(&S), all(&W)]);
        let mm = inst("m", "Matmult", "PE", mm, json!([all(&P)]), json!({"accumulation_flag": 1}));
        let mut sim = loaded(Simulator::builder(), &program(vec![mm]))?;
        let world = sim.world_mut().unwrap();
        world.query::<&mut AccumShadow>().iter_mut(world).for_each(|mut s| s.0 = None);
        sim.run().map(|_| ())
    }));
}
