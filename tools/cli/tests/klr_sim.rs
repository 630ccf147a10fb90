//! `nki_klr_sim`: the reference tool's flags, exits and messages.

mod common;

use common::*;

#[test]
fn nki_klr_sim_exits_0_1_and_2() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("lnc2_sendrecv"));
    s.write("x.npy", counting(128, 32, 0));
    s.write("wrong.npy", counting(128, 32, 7));
    klr_sim(&s, &["k.klr", "--input-files=x.npy"]).exits(0);
    std::fs::rename(s.path("y-birsim.npy"), s.path("golden.npy")).unwrap();
    klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=golden.npy"]).exits(0);
    let ran = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=wrong.npy"]);
    ran.exits(1);
    assert!(ran.stderr.contains("1455") && !ran.stderr.contains("1454"), "{}", ran.stderr);

    klr_sim(&s, &["gone.klr"]).exits(2).says("BIR-F001", "cannot read the program");
    klr_sim(&s, &["k.klr", "--input-files=gone.npy"]).exits(2).says("BIR-F001", "gone.npy");
    klr_sim(&s, &["k.klr", "--input-files=x.npy", "--output-files=gone.npy"]).exits(2).says("BIR-F001", "gone.npy");
    s.write("cut.klr", &kernel("lnc2_sendrecv")[..700]);
    klr_sim(&s, &["cut.klr", "--input-files=x.npy"]).exits(2).says("BIR-K001", "cut.klr");
}

#[test]
fn the_first_tolerance_is_percent() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("add_scalar"));
    s.write("x.npy", counting(32, 64, 100));
    klr_sim(&s, &["k.klr", "--input-files=x.npy"]).exits(0);
    let y = std::fs::read(s.path("y-birsim.npy")).unwrap();
    // The golden is `percent` larger than the output in every element.
    let golden = |percent: f32| {
        let at = y.len() - 32 * 64 * 4;
        let scale = |b: &[u8]| (f32::from_le_bytes([b[0], b[1], b[2], b[3]]) * (1.0 + percent / 100.0)).to_le_bytes();
        let data: Vec<u8> = y[at..].chunks_exact(4).flat_map(scale).collect();
        s.write("g.npy", [&y[..at], &data].concat());
    };
    let check =
        |more: &[&str]| klr_sim(&s, &[&["k.klr", "--input-files=x.npy", "--output-files=g.npy"], more].concat());
    golden(0.9);
    check(&[]).exits(0);
    check(&["--birsim-output-tolerance=0.5,1e-5"]).exits(1);
    golden(1.1);
    assert!(check(&[]).exits(1).stderr.contains("assertion 1454"));
    check(&["--birsim-output-tolerance", "2,0"]).exits(0);
    check(&["-birsim-output-tolerance=0,1000"]).exits(0);
    check(&["--birsim-output-tolerance=2"]).exits(2).says("BIR-F008", "PERCENT,ABS");
}

#[test]
fn lists_are_comma_separated_or_repeated_and_shapes_may_differ_when_flat() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("matmul"));
    for (file, name) in [("a.npy", "in_lhsT.npy"), ("b.npy", "in_rhs.npy"), ("y.npy", "out_y.npy")] {
        s.write(file, sample_file("matmul", name));
    }
    let lists: [&[&str]; 3] = [
        &["--input-files=a.npy,b.npy"],
        &["--input-files=a.npy", "--input-files=b.npy"],
        &["-input-files", "a.npy", "-input-files", "b.npy"],
    ];
    for list in lists {
        klr_sim(&s, &[list, &["k.klr", "--output-files=y.npy"]].concat()).exits(0);
        assert_eq!(s.list(".").iter().filter(|n| n.contains("birsim")).collect::<Vec<_>>(), ["y-birsim.npy"]);
    }
    // In the wrong order the shapes do not fit.
    klr_sim(&s, &["k.klr", "--input-files=b.npy,a.npy"]).exits(2).says("BIR-F004", "shape");
    // The golden in one row.
    let y = sample_file("matmul", "out_y.npy");
    let elements = (y.len() - 128) / 4;
    s.write("flat.npy", npy("<f4", false, &format!("({elements},)"), &y[128..]));
    let flat = ["k.klr", "--input-files=a.npy,b.npy", "--output-files=flat.npy"];
    klr_sim(&s, &flat).exits(1);
    klr_sim(&s, &[&flat[..], &["--birsim-output-flatten"]].concat()).exits(0);
    klr_sim(&s, &[&flat[..], &["--birsim-output-flatten=false"]].concat()).exits(1);
}

#[test]
fn abstract_operators_are_accepted_on_request() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("physical_refs"));
    s.write("x.npy", sample_file("physical_refs", "in_x.npy"));
    s.write("y.npy", sample_file("physical_refs", "out_y.npy"));
    let files = ["k.klr", "--input-files=x.npy", "--output-files=y.npy", "--birsim-output-tolerance=0,0"];
    for mode in ["symbolic", "physical", "autoMem"] {
        let mode = format!("--mem-mode={mode}");
        let refused = klr_sim(&s, &[&files[..], &[&mode]].concat());
        refused.exits(4);
        for kind in ["operator 8", "operator 11", "operator 24"] {
            assert!(refused.stderr.contains(&format!("Unsupported {kind}")), "{}", refused.stderr);
        }
        let ran = klr_sim(&s, &[&files[..], &[&mode, "--accept-abstract"]].concat());
        assert!(ran.exits(0).stderr.contains("dmaCopy (kind 11) is an abstract operator"), "{}", ran.stderr);
    }
    s.birsim(&["validate", "k.klr"]).exits(4);
    s.birsim(&["validate", "k.klr", "--accept-abstract"]).exits(0);
    s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(4);
    s.birsim(&["convert", "k.klr", "-o", "m.json", "--accept-abstract"]).exits(0);
    s.birsim(&["run", "m.json", "--input", "x=x.npy", "--golden", "y=y.npy", "--rtol", "0", "--atol", "0"]).exits(0);
}
