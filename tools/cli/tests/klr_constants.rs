//! Shared constants of KLR kernels: found in the kernel's folder or in `--constants DIR`, and nowhere else.

mod common;

use common::*;
use std::path::PathBuf;

const NAME: &str = "shared_constant_edges";

/// The constant's file name in the sample.
fn constant() -> String {
    let mut names = std::fs::read_dir(sample(NAME).join("shared_constants")).unwrap();
    names.next().unwrap().unwrap().file_name().into_string().unwrap()
}

/// A sandbox with the folder `in`, which holds the kernel with this constant's file name, and the input.
fn sandbox(file: &str) -> Sandbox {
    let s = Sandbox::new();
    s.write("in/k.klr", changed(NAME, |k| k.shared_constants[0].file_name = file.to_owned()));
    s.write("x.npy", sample_file(NAME, "in_x.npy"));
    s.write("y.npy", sample_file(NAME, "out_y.npy"));
    s
}

fn good() -> Vec<u8> {
    sample_file(NAME, &format!("shared_constants/{}", constant()))
}

fn run(s: &Sandbox, more: &[&str]) -> Ran {
    let exact = ["--rtol", "0", "--atol", "0"];
    let args = ["run", "in/k.klr", "--input", "x=x.npy", "--golden", "y=y.npy"];
    s.birsim(&[&args, &exact[..], more].concat())
}

#[test]
fn constants_lie_beside_the_kernel_or_in_the_named_folder() {
    let s = sandbox("sub/c.npy");
    run(&s, &[]).exits(2).says("BIR-F001", "there is no such file in in");
    s.write("other/sub/c.npy", good());
    run(&s, &["--constants", "other"]).exits(0);
    s.write("in/sub/c.npy", good());
    run(&s, &[]).exits(0);
    // The current folder does not count.
    let s = sandbox("c.npy");
    s.write("c.npy", good());
    run(&s, &[]).exits(2).says("BIR-F001", "c.npy");
}

#[test]
fn a_module_written_elsewhere_is_told_where_its_constants_are() {
    let s = sandbox("c.npy");
    s.write("in/c.npy", good());
    let beside = s.birsim(&["convert", "in/k.klr", "-o", "in/m.json"]);
    assert_eq!(beside.exits(0).stderr, "");
    let elsewhere = s.birsim(&["convert", "in/k.klr", "-o", "m.json"]);
    assert!(elsewhere.exits(0).stderr.contains("run the module with --constants in"), "{}", elsewhere.stderr);
    let run = |module: &str, more: &[&str]| {
        let args = ["run", module, "--input", "x=x.npy", "--golden", "y=y.npy", "--rtol", "0", "--atol", "0"];
        s.birsim(&[&args, more].concat())
    };
    run("in/m.json", &[]).exits(0);
    run("m.json", &["--constants", "in"]).exits(0);
    run("m.json", &[]).exits(2).says("BIR-F001", "c.npy");
}

#[test]
fn paths_that_leave_the_folder_are_refused() {
    let s = sandbox("c.npy");
    let absolute = s.write("c.npy", good()).display().to_string();
    for file in [absolute.as_str(), "../c.npy", "sub/../../c.npy", "./../c.npy", "..\\c.npy", ""] {
        s.write("in/k.klr", changed(NAME, |k| k.shared_constants[0].file_name = file.to_owned()));
        s.write("in/sub/c.npy", good());
        for more in [&[][..], &["--constants", "."]] {
            run(&s, more).exits(2).says("BIR-K005", "outside the kernel's folder");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_that_leave_the_folder_are_refused() {
    use std::os::unix::fs::symlink;
    let s = sandbox("sub/c.npy");
    s.write("outside/c.npy", good());
    s.write("in/own.npy", good());
    // The folder of the constant is a link.
    symlink("../outside", s.path("in/sub")).unwrap();
    run(&s, &[]).exits(2).says("BIR-F001", "a link leads out");
    run(&s, &["--constants", "in"]).exits(2).says("BIR-F001", "a link leads out");
    std::fs::remove_file(s.path("in/sub")).unwrap();
    std::fs::create_dir(s.path("in/sub")).unwrap();
    // The file is one, relative or absolute, or one that leads to another.
    let absolute: PathBuf = s.path("outside/c.npy");
    for target in [PathBuf::from("../../outside/c.npy"), absolute, PathBuf::from("again.npy")] {
        let _ = std::fs::remove_file(s.path("in/sub/again.npy"));
        symlink("../../outside/c.npy", s.path("in/sub/again.npy")).unwrap();
        symlink(&target, s.path("in/sub/c.npy")).unwrap();
        run(&s, &[]).exits(2).says("BIR-F001", "a link leads out");
        std::fs::remove_file(s.path("in/sub/c.npy")).unwrap();
    }
    // A link inside the folder may stay, also when the folder itself is reached by one.
    symlink("../own.npy", s.path("in/sub/c.npy")).unwrap();
    run(&s, &[]).exits(0);
    std::fs::rename(s.path("in"), s.path("real")).unwrap();
    symlink("real", s.path("in")).unwrap();
    run(&s, &[]).exits(0);
}

#[test]
fn only_plain_files_are_constants() {
    let s = sandbox("c.npy");
    std::fs::create_dir(s.path("in/c.npy")).unwrap();
    run(&s, &[]).exits(2).says("BIR-F001", "not a plain file");
}

#[test]
fn hostile_constants_are_errors() {
    let s = sandbox("c.npy");
    let data = [0; 32 * 16 * 4];
    let mut long = npy("<f4", false, "(32, 16)", &data);
    long[8..10].copy_from_slice(&[0xff, 0xff]);
    let mut version = good();
    version[6] = 9;
    let cases: [(Vec<u8>, &str); 11] = [
        (Vec::new(), "BIR-F003"),
        (b"\x93NUMPY".to_vec(), "BIR-F003"),
        (b"not a tensor at all, but long enough for a header".to_vec(), "BIR-F003"),
        (good()[..300].to_vec(), "BIR-F003"),
        (long, "BIR-F003"),
        (version, "BIR-F003"),
        (npy("<f4", false, "(1099511627776, 1099511627776)", &data), "BIR-F003"),
        (npy("<f4", false, "(1099511627776, 16)", &data), "BIR-F003"),
        (npy("|O", false, "(32, 16)", b"\x80\x04cos\nsystem\n"), "BIR-F003"),
        (npy("<f8", false, "(32, 16)", &[0; 32 * 16 * 8]), "BIR-F004"),
        (npy("<f4", false, "(16, 32)", &data), "BIR-F004"),
    ];
    for (k, (bytes, code)) in cases.iter().enumerate() {
        s.write("in/c.npy", bytes);
        let ran = run(&s, &[]);
        assert_eq!(ran.code, 2, "case {k}: {}", ran.stderr);
        ran.says(code, "c.npy");
    }
    // Column-major data and big-endian data are only unusual.
    s.write("in/c.npy", good());
    run(&s, &[]).exits(0);
}
