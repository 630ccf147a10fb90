//! Helpers of the command-line tests: a sandbox folder, tensor files, small programs.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a finished command.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Asserts the exit code, with everything printed on failure.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts one error of this code on stderr, whose text holds `text`, and no trace of a panic.
    #[track_caller]
    pub fn says(&self, code: &str, text: &str) -> &Self {
        assert_eq!(self.stderr.matches("error: BIR-").count(), 1, "{}", self.stderr);
        assert!(
            self.stderr.contains(code) && self.stderr.contains(text),
            "want {code} and '{text}' in\n{}",
            self.stderr
        );
        for part in ["\n  rule:  ", "\n  help:  "] {
            assert!(self.stderr.contains(part), "{part} is missing in\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// A folder of its own for one test.
pub struct Sandbox(pub tempfile::TempDir);

impl Sandbox {
    pub fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Runs the command inside the sandbox.
    pub fn birsim(&self, args: &[&str]) -> Ran {
        self.birsim_with(args, b"")
    }

    /// Same, with standard input.
    pub fn birsim_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_birsim"))
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input closes the pipe early.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let out = child.wait_with_output().unwrap();
        Ran {
            code: out.status.code().unwrap_or(-1),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
        }
    }

    /// Names of everything in a folder, sorted; empty when it does not exist.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn report(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }
}

/// A `.npy` file with any header text.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(data);
    out
}

/// Little-endian float32 bytes.
pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A 2 x 2 float32 `.npy` file.
pub fn square(values: [f32; 4]) -> Vec<u8> {
    npy("<f4", false, "(2, 2)", &f32s(&values))
}

/// One DRAM tensor as JSON text.
pub fn dram(name: &str, kind: &str, dtype: &str, shape: [usize; 2], size: usize, file: &str) -> String {
    format!(
        r#"{{"Skind": "memory_location_set", "name": "{name}_set", "kind": "{kind}", "addr_space": "Local",
            "dtype": "{dtype}", "partition_dim": 0, "tensor_shape": [{r}, {c}], "file": "{file}", "memorylocations": [
            {{"Skind": "memory_location", "name": "{name}", "type": "DRAM", "dims": [{r}, {bytes}], "addr": 0, "base": 0,
              "bank": 0, "allocated": false, "tensor_id": 0}}]}}"#,
        r = shape[0],
        c = shape[1],
        bytes = shape[1] * size,
    )
}

/// An access pattern over a whole 2 x 2 tensor, starting at `offset`.
pub fn ap(name: &str, dtype: &str, offset: i64) -> String {
    format!(
        r#"{{"kind": "physical_ap", "memref": "{name}", "memsetref": "{name}_set", "dtype": "{dtype}",
            "offset": {offset}, "ap": [[2, 2], [1, 2]]}}"#
    )
}

/// A module with one block.
pub fn module(allocations: &[String], instructions: &[String]) -> String {
    format!(
        r#"{{"version": 2, "arch": "gen3", "attributes": {{"neuron_core_id": 0}}, "functions": [{{"name": "main",
            "attributes": {{}}, "allocations": [{}], "blocks": [{{"name": "Block1", "instructions": [{}]}}]}}],
            "queues": []}}"#,
        allocations.join(",\n"),
        instructions.join(",\n"),
    )
}

/// A DMACopy between two 2 x 2 tensors.
pub fn copy(name: &str, from: &str, to: &str, dtype: &str) -> String {
    let (from, to) = (ap(from, dtype, 0), ap(to, dtype, 0));
    format!(
        r#"{{"name": "{name}", "opcode": "DMACopy", "engine": "DMA", "ins": [{from}], "outs": [{to}], "mode": "Copy"}}"#
    )
}

/// The program of most tests: `o = x`, both 2 x 2 of `dtype`.
pub fn identity(dtype: &str, size: usize, output: &str) -> String {
    let allocations =
        [dram("x", "ExternalInput", dtype, [2, 2], size, ""), dram(output, "ExternalOutput", dtype, [2, 2], size, "")];
    module(&allocations, &[copy("I-0", "x", output, dtype)])
}

/// A sandbox with `p.json` (the float32 identity) and its input `x.npy`.
pub fn ready() -> Sandbox {
    let s = Sandbox::new();
    s.write("p.json", identity("float32", 4, "o"));
    s.write("x.npy", square([1.0, 2.0, 3.0, 4.0]));
    s
}

/// o = t = x, where t is an internal tensor that two copies fill.
pub fn staged() -> Sandbox {
    let s = ready();
    s.write("p.json", by_way_of_t(("x", "o"), &[("x", "t"), ("t", "o")]));
    s
}

/// A module with an input, an internal tensor t and an output, all float32 [2, 2], and copies between them.
pub fn by_way_of_t((input, output): (&str, &str), copies: &[(&str, &str)]) -> String {
    let f = "float32";
    let allocations = [
        dram(input, "ExternalInput", f, [2, 2], 4, ""),
        dram("t", "Internal", f, [2, 2], 4, ""),
        dram(output, "ExternalOutput", f, [2, 2], 4, ""),
    ];
    let copies = copies.iter().enumerate().map(|(k, (from, to))| copy(&format!("I-{k}"), from, to, f));
    module(&allocations, &copies.collect::<Vec<_>>())
}

/// Root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of the KLR samples.
pub fn sample(name: &str) -> PathBuf {
    root().join("tests/data/klr-corpus/lnc").join(name)
}

/// A file of a folder of the KLR samples.
pub fn sample_file(name: &str, file: &str) -> Vec<u8> {
    std::fs::read(sample(name).join(file)).unwrap()
}

/// The kernel of a folder of the KLR samples.
pub fn kernel(name: &str) -> Vec<u8> {
    sample_file(name, "kernel.klr")
}

/// Runs `nki_klr_sim` inside the sandbox.
pub fn klr_sim(s: &Sandbox, args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_nki_klr_sim")).args(args).current_dir(s.0.path()).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    Ran { code: out.status.code().unwrap_or(-1), stdout: text(out.stdout), stderr: text(out.stderr) }
}

/// A float32 `.npy` file of rows x columns, counting up from `first`.
pub fn counting(rows: usize, columns: usize, first: usize) -> Vec<u8> {
    let values: Vec<f32> = (0..rows * columns).map(|n| (first + n) as f32).collect();
    npy("<f4", false, &format!("({rows}, {columns})"), &f32s(&values))
}

/// The kernel of a KLR sample, changed.
pub fn changed(name: &str, change: impl FnOnce(&mut birsim_klr::ast::LncKernel)) -> Vec<u8> {
    use birsim_klr::ast::{Contents, Program};
    match birsim_klr::read(&kernel(name)).unwrap().contents {
        Contents::Program(Program::Lnc(mut kernel)) => {
            change(&mut kernel);
            birsim_klr::write(&Program::Lnc(kernel))
        }
        other => panic!("{name} holds {}", other.kind()),
    }
}
