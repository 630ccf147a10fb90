//! Embedded KLR kernels on the command line.

mod common;

use common::*;

/// A module that calls an embedded kernel from x to o.
fn embedding(file: &str, format: &str, shape: [usize; 2], arguments: &str) -> String {
    let allocations =
        [dram("x", "ExternalInput", "float32", shape, 4, ""), dram("o", "ExternalOutput", "float32", shape, 4, "")];
    let call = format!(
        r#"{{"name": "I-7", "opcode": "NKIKLIRKernel", "engine": "Pool", "ins": [], "outs": [], "klir_binary": "{file}",
            "kernel_format": "{format}", {arguments}}}"#
    );
    module(&allocations, &[call])
}

const NAMED: &str = r#""func_args": {"x": "x_set"}, "func_outs": {"y": "o_set"}"#;

fn output(s: &Sandbox, program: &str, x: &str, name: &str) -> Vec<u8> {
    let input = format!("x={x}");
    s.birsim(&["run", program, "--input", &input, "--out", "out", "-q"]).exits(0);
    std::fs::read(s.path("out").join(format!("{name}-birsim.npy"))).unwrap()
}

#[test]
fn an_embedded_kernel_is_expanded_into_a_call() {
    let add = root().join("tests/data/klr_add_scalar");
    let s = Sandbox::new();
    s.write("k.klr", std::fs::read(add.join("kernel.klr")).unwrap());
    s.write("x.npy", std::fs::read(add.join("in_x.npy")).unwrap());
    let golden = std::fs::read(add.join("out_y.npy")).unwrap();
    let lists = r#""func_args": ["x_set"], "func_outs": ["o_set"]"#;
    for (file, arguments) in [("k.klr", NAMED), ("/build/artifacts/k.klr", NAMED), ("k.klr", lists)] {
        s.write("m.json", embedding(file, "klir", [32, 64], arguments));
        // Without expansion the kernel is skipped.
        let ran = s.birsim(&["run", "m.json", "--input", "x=x.npy"]);
        ran.exits(0);
        assert!(ran.stderr.contains("never written"), "{}", ran.stderr);
        s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
        assert_eq!(output(&s, "e.json", "x.npy", "o"), golden, "{file} {arguments}");
        let call = &s.report("e.json")["functions"][0]["blocks"][0]["instructions"][0];
        assert_eq!((call["name"].as_str(), call["opcode"].as_str()), (Some("I-7"), Some("NKIKernel")));
        assert_eq!(call["kernel_source_val"].as_str(), Some("Beta2"));
    }

    // The same kernel as BIR-JSON.
    s.birsim(&["convert", "k.klr", "-o", "k.json"]).exits(0);
    s.write("m.json", embedding("k.json", "bir", [32, 64], NAMED));
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), golden);
}

#[test]
fn shared_constants_of_an_embedded_kernel_are_bound() {
    let folder = sample("shared_constant_edges");
    let s = Sandbox::new();
    s.write("k.klr", kernel("shared_constant_edges"));
    s.write("x.npy", std::fs::read(folder.join("in_x.npy")).unwrap());
    for file in std::fs::read_dir(folder.join("shared_constants")).unwrap() {
        let file = file.unwrap().path();
        let name = format!("shared_constants/{}", file.file_name().unwrap().to_str().unwrap());
        s.write(&name, std::fs::read(&file).unwrap());
    }
    s.write("m.json", embedding("k.klr", "klir", [32, 16], NAMED));
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), output(&s, "k.klr", "x.npy", "y"));
}

#[test]
fn embedded_kernels_that_do_not_fit_are_refused() {
    let s = Sandbox::new();
    s.write("k.klr", std::fs::read(root().join("tests/data/klr_add_scalar/kernel.klr")).unwrap());
    s.write("two.klr", kernel("lnc2_sendrecv"));
    s.write("hlo.klr", kernel("variant_hlo"));
    let mut old = kernel("transpose_dve");
    old[6] = 11;
    s.write("old.klr", old);
    let expand = |text: String| {
        s.write("m.json", text);
        s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"])
    };
    let case = |file: &str, arguments: &str| expand(embedding(file, "klir", [32, 64], arguments));
    case("gone.klr", NAMED).exits(2).says("BIR-F001", "fail to locate KLIR artifact");
    case("../k.klr", NAMED).exits(2).says("BIR-F001", "leaves the folder");
    case("", NAMED).exits(2).says("BIR-F001", "fail to locate KLIR artifact");
    case("old.klr", NAMED).exits(2).says("BIR-K002", "Wrong KLR version");
    case("hlo.klr", NAMED).exits(4).says("BIR-K003", "Wrong KLIR content type");
    case("k.klr", r#""func_args": {"z": "x_set"}"#).exits(2).says("BIR-K005", "z input cannot be found");
    case("k.klr", r#""func_args": {"x": "x_set"}"#).exits(2).says("BIR-K005", "y output cannot be found");
    let unset = embedding("two.klr", "klir", [128, 32], NAMED).replace(r#""neuron_core_id": 0"#, "");
    expand(unset).exits(2).says("BIR-K005", "NeuronCoreId must be set");
    assert!(!s.path("e.json").exists());
    // A core without a body keeps the placeholder.
    let third =
        embedding("two.klr", "klir", [128, 32], NAMED).replace(r#""neuron_core_id": 0"#, r#""neuron_core_id": 2"#);
    let ran = expand(third);
    ran.exits(0);
    assert!(ran.stderr.contains("no body for this core"), "{}", ran.stderr);
    let kept = &s.report("e.json")["functions"][0]["blocks"][0]["instructions"][0];
    assert_eq!(kept["opcode"].as_str(), Some("NKIKLIRKernel"));
}

/// A module that calls kernels one after the other: x to t0, t0 to t1, .., to o; `(file, more keys)` per call.
fn chain(calls: &[(&str, &str)], shape: [usize; 2], more: &[String]) -> String {
    let mut allocations =
        vec![dram("x", "ExternalInput", "float32", shape, 4, ""), dram("o", "ExternalOutput", "float32", shape, 4, "")];
    allocations.extend((1..calls.len()).map(|k| dram(&format!("t{k}"), "Internal", "float32", shape, 4, "")));
    allocations.extend_from_slice(more);
    let name = |k: usize| match k {
        0 => "x_set".to_owned(),
        k if k == calls.len() => "o_set".to_owned(),
        k => format!("t{k}_set"),
    };
    let call = |(k, (file, keys)): (usize, &(&str, &str))| {
        format!(
            r#"{{"name": "I-{k}", "opcode": "NKIKLIRKernel", "engine": "Pool", "ins": [], "outs": [],
                "klir_binary": "{file}", "kernel_format": "klir", {keys} "func_args": {{"x": "{}"}},
                "func_outs": {{"y": "{}"}}}}"#,
            name(k),
            name(k + 1)
        )
    };
    module(&allocations, &calls.iter().enumerate().map(call).collect::<Vec<_>>())
}

/// Names of the functions that the kernels became.
fn functions(s: &Sandbox) -> Vec<String> {
    let module = s.report("e.json");
    let list = module["nki_functions"].as_array().unwrap();
    list.iter().map(|f| f["name"].as_str().unwrap().to_owned()).collect()
}

fn expand(s: &Sandbox, text: String) -> Ran {
    s.write("m.json", text);
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"])
}

/// The kernel once more on its own output.
fn again(s: &Sandbox, times: usize) -> Vec<u8> {
    let mut x = "x.npy".to_owned();
    for k in 0..times {
        let y = output(s, "k.klr", &x, "y");
        x = format!("y{k}.npy");
        s.write(&x, y);
    }
    std::fs::read(s.path(&x)).unwrap()
}

#[test]
fn a_kernel_that_is_called_twice_is_one_function() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("add_scalar"));
    s.write("x.npy", sample_file("add_scalar", "in_x.npy"));
    expand(&s, chain(&[("k.klr", ""), ("k.klr", ""), ("k.klr", "")], [32, 64], &[])).exits(0);
    assert_eq!(functions(&s), ["kernels.add_scalar"]);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), again(&s, 3));
}

#[test]
fn functions_of_one_name_are_told_apart() {
    let s = Sandbox::new();
    let named = |name: &str| changed("add_scalar", |k| k.name = name.to_owned());
    // Named like the module's own function, twice, and like nothing.
    s.write("k.klr", named("main"));
    s.write("l.klr", named("main"));
    s.write("n.klr", named(""));
    s.write("x.npy", sample_file("add_scalar", "in_x.npy"));
    expand(&s, chain(&[("k.klr", ""), ("l.klr", ""), ("n.klr", "")], [32, 64], &[])).exits(0);
    assert_eq!(functions(&s), ["main.1", "main.2", "kernel"]);
    assert_eq!(output(&s, "e.json", "x.npy", "o"), again(&s, 3));
}

#[test]
fn a_constant_named_like_a_tensor_of_the_module_is_refused() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("shared_constant_edges"));
    let clash = dram("kernels.shared_constant_edges.tmp.1", "Internal", "float32", [32, 16], 4, "");
    let ran = expand(&s, chain(&[("k.klr", "")], [32, 16], &[clash]));
    ran.exits(2).says("BIR-K005", "named like a tensor of the module");
}

#[test]
fn an_embedded_kernel_may_be_dumped() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("cast_bf16"));
    s.write("x.npy", counting(64, 64, 0));
    let (quiet, dumped) = (("k.klr", ""), ("k.klr", r#""enable_device_dump": true,"#));
    expand(&s, chain(&[quiet, dumped, dumped], [64, 64], &[])).exits(0);
    // The dumped one is a function of its own.
    assert_eq!(functions(&s), ["kernels.cast_bf16", "kernels.cast_bf16.1"]);
    let ran = s.birsim(&["run", "e.json", "--input", "x=x.npy"]);
    let heads: Vec<&str> = ran.exits(0).stdout.lines().filter(|l| l.starts_with("tensor1")).collect();
    assert_eq!(heads, ["tensor1 bfloat16 [64 x 64]"; 2]);
}

#[test]
fn strict_expansion_takes_allocated_kernels_only() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("add_scalar"));
    s.write("m.json", chain(&[("k.klr", "")], [32, 64], &[]));
    let ran = s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir", "--strict"]);
    ran.exits(4).says("BIR-K004", "an embedded kernel must be allocated");
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir"]).exits(0);
    let placed = changed("add_scalar", |k| {
        for stmt in k.bodies.iter_mut().flatten().flat_map(|b| &mut b.body) {
            place(&mut stmt.op);
        }
    });
    s.write("k.klr", placed);
    s.write("x.npy", sample_file("add_scalar", "in_x.npy"));
    s.birsim(&["convert", "m.json", "-o", "e.json", "--expand-klir", "--strict"]).exits(0);
    let ran = s.birsim(&["run", "e.json", "--input", "x=x.npy"]);
    assert!(ran.exits(0).stdout.contains("physical memory"), "{}", ran.stdout);
}

/// Gives the two SBUF tensors of the kernel their places.
fn place(op: &mut birsim_klr::ast::Operator) {
    use birsim_klr::ast::{Access, Memory, Operator, TensorRef};
    let operands: Vec<&mut TensorRef> = match op {
        Operator::NcDmaCopy(p) => vec![&mut p.dst, &mut p.src],
        Operator::TensorScalar(p) => vec![&mut p.dst, &mut p.src],
        other => panic!("{}", other.constructor()),
    };
    for operand in operands {
        let TensorRef::Abstract(Access::BirPattern(p)) = operand else { panic!("{operand:?}") };
        let address = &mut p.tensor.address;
        if address.memory == Memory::Sbuf {
            address.par_offset = Some(0);
            address.free_offset = Some(if address.name.ends_with('0') { 0 } else { 1024 });
        }
    }
}

#[test]
fn embedded_modules_with_more_than_functions_are_refused() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("add_scalar"));
    s.write("x.npy", sample_file("add_scalar", "in_x.npy"));
    s.birsim(&["convert", "k.klr", "-o", "k.json"]).exits(0);
    let plain = s.report("k.json");
    let embed = |change: &dyn Fn(&mut serde_json::Value), core: &str| {
        let mut inner = plain.clone();
        change(&mut inner);
        s.write("inner.json", serde_json::to_vec(&inner).unwrap());
        let outer = embedding("inner.json", "bir", [32, 64], NAMED);
        expand(&s, outer.replace(r#""neuron_core_id": 0"#, core))
    };
    let first = r#""neuron_core_id": 0"#;
    let queue = |m: &mut serde_json::Value| m["queues"] = serde_json::json!([{"name": "q", "engine": "Pool"}]);
    embed(&queue, first).exits(4).says("BIR-U002", "with queues or kernels");
    let nested = |m: &mut serde_json::Value| {
        let mut inner = m["functions"][0].clone();
        inner["name"] = "inner".into();
        m["nki_functions"] = serde_json::json!([inner]);
    };
    embed(&nested, first).exits(4).says("BIR-U002", "with queues or kernels");
    // One function per core; the module's own core decides.
    let two = |m: &mut serde_json::Value| {
        let mut other = m["functions"][0].clone();
        other["name"] = "other".into();
        m["functions"].as_array_mut().unwrap().push(other);
    };
    embed(&two, "").exits(2).says("BIR-K005", "NeuronCoreId must be set");
    for (core, name) in [(0, "kernels.add_scalar"), (1, "other")] {
        embed(&two, &format!(r#""neuron_core_id": {core}"#)).exits(0);
        assert_eq!(functions(&s), [name]);
    }
    embed(&|m| m["functions"] = serde_json::json!([]), first).exits(2).says("BIR-J003", "no function");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_kernel_outside_is_refused() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("add_scalar"));
    s.write("in/m.json", chain(&[("k.klr", "")], [32, 64], &[]));
    std::os::unix::fs::symlink("../k.klr", s.path("in/k.klr")).unwrap();
    let ran = s.birsim(&["convert", "in/m.json", "-o", "e.json", "--expand-klir"]);
    ran.exits(2).says("BIR-F001", "a link leads out");
}
