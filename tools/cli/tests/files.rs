//! Which file serves which purpose: files needed twice, members that name nothing, archives, goldens of other types.

mod common;

use common::*;
use std::io::Write;

const RUN: &[&str] = &["run", "p.json", "--input", "x=x.npy"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

/// An archive of stored members.
fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in members {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[cfg(unix)]
#[test]
fn item_8_a_golden_that_the_run_writes_is_refused() {
    let s = ready();
    let wrong = square([9.0; 4]);
    let golden = s.write("birsim-out/o-birsim.npy", &wrong);
    s.write("gold/keep", "");
    std::os::unix::fs::symlink(&golden, s.path("gold/o.npy")).unwrap();
    std::fs::hard_link(&golden, s.path("hard.npy")).unwrap();
    for option in [
        &["--golden", "o=birsim-out/o-birsim.npy"][..],
        &["--golden", "o=./birsim-out/../birsim-out/o-birsim.npy"],
        &["--output-files", "hard.npy"],
        &["--goldens", "gold"],
        &["--golden", "o=gold/o.npy", "--report", "r.json"],
    ] {
        s.birsim(&with(option)).exits(2).says("BIR-F009", "the output o would overwrite ");
        assert_eq!(std::fs::read(&golden).unwrap(), wrong, "{option:?}");
    }
    assert!(!s.path("r.json").exists(), "nothing is written");
}

#[test]
fn item_8_two_results_in_one_file_are_refused() {
    let s = ready();
    let x = std::fs::read(s.path("x.npy")).unwrap();
    let program = std::fs::read(s.path("p.json")).unwrap();
    for (options, text) in [
        (&["--report", "p.json"][..], "the file of --report would overwrite the program"),
        (&["--trace", "x.npy"], "the file of --trace would overwrite the input x"),
        (&["--junit", "./x.npy"], "the file of --junit would overwrite the input x"),
        (&["--dump", "o=x.npy"], "the dump of o would overwrite the input x"),
        (&["--report", "r", "--junit", "r"], "the file of --report and the file of --junit are one file"),
        (&["--trace", "t", "--dump", "o=t"], "are one file"),
        (&["--dump", "o=d.npy", "--dump", "x=d.npy"], "the dump of o and the dump of x are one file"),
        (&["--dump", "x=birsim-out/o-birsim.npy"], "the dump of x and the output o are one file"),
        (&["--report", "birsim-out/o-birsim.npy"], "the file of --report and the output o are one file"),
        (&["--report", "o.npy.meta", "--dump", "o=o.npy"], "the side file of dump of o"),
    ] {
        let ran = s.birsim(&with(options));
        ran.exits(2).says("BIR-F009", text);
        assert_eq!(s.list("."), ["p.json", "x.npy"], "{options:?}");
    }
    assert_eq!((std::fs::read(s.path("x.npy")).unwrap(), std::fs::read(s.path("p.json")).unwrap()), (x, program));
    // A device takes everything.
    #[cfg(unix)]
    s.birsim(&with(&["--report", "/dev/null", "--junit", "/dev/null"])).exits(0);
}

#[test]
fn item_8_one_output_of_two_cores_is_refused() {
    let s = ready();
    let core =
        |k: usize| identity("float32", 4, "o").replace("\"neuron_core_id\": 0", &format!("\"neuron_core_id\": {k}"));
    s.write("a.json", core(0));
    s.write("b.json", core(1));
    let ran = s.birsim(&["run", "a.json", "b.json", "--input", "x=x.npy"]);
    ran.exits(2).says("BIR-F009", "the output o is one file for several cores");
    let shared = |k: usize| core(k).replace("\"addr_space\": \"Local\"", "\"addr_space\": \"Shared\"");
    s.write("a.json", shared(0));
    s.write("b.json", shared(1));
    s.birsim(&["run", "a.json", "b.json", "--input", "x=x.npy", "--golden", "o=x.npy"]).exits(0);
}

#[test]
fn item_7_a_member_that_names_nothing_is_refused_with_the_nearest_name() {
    let s = Sandbox::new();
    s.write("p.json", by_way_of_t(("weights", "out"), &[("weights", "t"), ("t", "out")]));
    let x = square([1.0, 2.0, 3.0, 4.0]);
    s.write("in/wieghts.npy", &x);
    s.write("in.npz", npz(&[("wieghts", x.clone())]));
    for inputs in ["in", "in.npz"] {
        let ran = s.birsim(&["run", "p.json", "--random-inputs", "1", "--inputs", inputs]);
        ran.exits(2).says("BIR-F006", "did you mean 'weights'?");
    }
    s.write("internal.npz", npz(&[("t", x.clone())]));
    s.birsim(&["run", "p.json", "--random-inputs", "1", "--inputs", "internal.npz"]).exits(2).says("BIR-F006", "t is");
    s.write("twice.npz", npz(&[("weights", x.clone()), ("weights_set", x.clone())]));
    s.birsim(&["run", "p.json", "--inputs", "twice.npz"])
        .exits(2)
        .says("BIR-F008", "two members are for the tensor weights");
    // One collection may hold both sides, and what a run has written there.
    s.write("all/weights.npy", &x);
    s.write("all/out.npy", &x);
    s.birsim(&["run", "p.json", "--inputs", "all", "--goldens", "all", "--out", "all", "--dump", "t@I-0"]).exits(0);
    s.birsim(&["run", "p.json", "--inputs", "all", "--goldens", "all", "--out", "all", "--dump", "t@I-0"]).exits(0);
    s.write("all.npz", npz(&[("weights", x.clone()), ("out", x)]));
    s.birsim(&["run", "p.json", "--inputs", "all.npz", "--goldens", "all.npz"]).exits(0);
}

#[test]
fn d61_a_member_that_is_there_twice_is_refused_with_both_values() {
    let s = ready();
    // The writer refuses this, so one of two names of equal length is changed afterwards.
    let mut bytes = npz(&[("x", square([1.0; 4])), ("y", square([2.0; 4]))]);
    let places: Vec<usize> = (0..bytes.len() - 5).filter(|i| &bytes[*i..i + 5] == b"y.npy").collect();
    places.iter().for_each(|i| bytes[*i] = b'x');
    assert_eq!(places.len(), 2);
    s.write("in.npz", bytes);
    let ran = s.birsim(&["run", "p.json", "--inputs", "in.npz"]);
    ran.exits(2).says("BIR-F003", "there twice");
    assert_eq!(ran.stderr.matches("bytes with checksum").count(), 2, "{}", ran.stderr);
}

#[test]
fn members_of_archives_stand_for_files() {
    let s = ready();
    let x = square([1.0, 2.0, 3.0, 4.0]);
    s.write("f.npz", npz(&[("o", x.clone()), ("other", x)]));
    for golden in ["o=f.npz[o]", "o=f.npz[other]", "o=f.npz"] {
        s.birsim(&with(&["--golden", golden])).exits(0);
    }
    s.birsim(&["run", "p.json", "--input", "x=f.npz[other]"]).exits(0);
    s.birsim(&with(&["--golden", "o=f.npz[none]"])).exits(2).says("BIR-F003", "member cannot be read");
    s.birsim(&["run", "p.json", "--input", "x=f.npz"]).exits(2).says("BIR-F003", "f.npz[x]");
    // A file may have brackets in its name.
    s.write("g.npz[o]", square([1.0, 2.0, 3.0, 4.0]));
    s.birsim(&with(&["--golden", "o=g.npz[o]"])).exits(0);
}

#[test]
fn two_archives_are_compared_member_by_member() {
    let s = Sandbox::new();
    let (a, b) = (square([1.0; 4]), square([2.0; 4]));
    s.write("a.npz", npz(&[("x", a.clone()), ("y", a.clone())]));
    s.write("b.npz", npz(&[("x", a.clone()), ("y", b)]));
    s.write("c.npz", npz(&[("x", a.clone()), ("z", a.clone())]));
    s.write("x.npy", a);
    let same = s.birsim(&["compare", "a.npz", "a.npz"]);
    assert_eq!(same.exits(0).stdout.matches("equals its golden").count(), 2);
    let differ = s.birsim(&["compare", "a.npz", "b.npz"]);
    assert!(differ.exits(1).stdout.contains("a.npz[y]: float32 2 x 2, differs"), "{}", differ.stdout);
    let names = s.birsim(&["compare", "a.npz", "c.npz"]);
    assert!(names.exits(1).stdout.contains("y: only in a.npz\nz: only in c.npz"), "{}", names.stdout);
    s.birsim(&["compare", "a.npz[x]", "x.npy"]).exits(0);
    s.birsim(&["compare", "a.npz", "x.npy"]).exits(2).says("BIR-F008", "a.npz[NAME]");
}

#[test]
fn goldens_of_another_type_are_converted_when_asked() {
    let s = ready();
    let wide: Vec<u8> = [1.0f64, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    s.write("wide.npy", npy("<f8", false, "(2, 2)", &wide));
    let refused = s.birsim(&with(&["--golden", "o=wide.npy"]));
    assert!(refused.exits(1).stdout.contains("--golden-cast converts it"), "{}", refused.stdout);
    s.birsim(&with(&["--golden", "o=wide.npy", "--golden-cast"])).exits(0);
    s.birsim(&["compare", "x.npy", "wide.npy", "--golden-cast", "--rtol", "0", "--atol", "0"]).exits(0);
    s.write("far.npy", npy("<f8", false, "(2, 2)", &[wide[..24].to_vec(), 5.5f64.to_le_bytes().to_vec()].concat()));
    let far = s.birsim(&with(&["--golden", "o=far.npy", "--golden-cast"]));
    assert!(far.exits(1).stdout.contains("got 4.0, golden 5.5"), "{}", far.stdout);
    // An input is what the program computes with: it is never converted.
    s.birsim(&["run", "p.json", "--input", "x=wide.npy", "--golden-cast"]).exits(2).says("BIR-F004", "NumPy <f8");
}

#[test]
fn item_12_tensor_files_count_against_the_memory_limit_before_they_are_read() {
    let s = ready();
    let options = &["--golden", "o=x.npy", "--dump", "o", "--max-memory", "63"];
    let ran = s.birsim(&with(options));
    ran.exits(3).says("BIR-S009", "64 bytes (inputs 16, outputs 16, goldens 16, dumps 16), the limit is 63");
    assert_eq!(s.list("."), ["p.json", "x.npy"]);
    // A header may promise what no file holds.
    s.write("huge.npy", npy("<f4", false, "(1000000000, 1000000000)", &[]));
    s.birsim(&with(&["--golden", "o=huge.npy", "--max-memory", "1G"])).exits(2).says("BIR-F003", "shorter than");
}

#[test]
fn item_12_goldens_and_dumps_leave_the_machine_less_memory() {
    let s = staged();
    // The machine takes 16 bytes for each of x, t and o.
    s.birsim(&with(&["--max-memory", "48"])).exits(0);
    s.birsim(&with(&["--max-memory", "47"])).exits(3).says("BIR-S009", "touches more memory than --max-memory allows");
    let checked = ["--golden", "o=x.npy", "--dump", "o", "--max-memory"];
    let limited = |limit| with(&[&checked[..], &[limit]].concat());
    s.birsim(&limited("80")).exits(0);
    s.birsim(&limited("79")).exits(3).says("BIR-S009", "80 of 79 bytes");
    // The machines for all fills but the first live one after the other.
    s.birsim(&with(&["--fill", "0,1,2", "--max-memory", "96"])).exits(0);
    s.birsim(&with(&["--fill", "0,1,2", "--max-memory", "95"])).exits(3).says("BIR-S009", "96 of 95 bytes");
}
