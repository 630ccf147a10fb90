//! Command lines of known words in any order.

use super::scratch;
use arbitrary::{Result, Unstructured};
use std::ffi::OsString;
use std::sync::Once;

/// Options of `run` with a value that fits.
const OPTIONS: &[&str] = &[
    "--input a=@in_a.npy",
    "--inputs @inputs.npz",
    "--inputs @",
    "--random-inputs 7",
    "--golden b.2=@in_a.npy",
    "--goldens @",
    "--out @out",
    "--rtol 0",
    "--atol 1e-5",
    "--birsim-output-tolerance 1.0,1e-5",
    "--schedule window",
    "--schedule reference",
    "--schedule-seed 7",
    "--order sync",
    "--order program",
    "--mem-mode symbolic",
    "--mem-mode physical",
    "--target trn1",
    "--profile device",
    "--set activation_double=true",
    "--strict",
    "--check uninit,nan,race",
    "--check write-only,pinned,nan-write",
    "--fill 0x00,0xFF",
    "--dump b.2",
    "--trace @trace.jsonl",
    "--golden-trace @trace.jsonl",
    "--report @report.json",
    "--junit @junit.xml",
    "--threads 2",
    "--seed 3",
    "--max-memory 64M",
    "--max-instructions 2",
    "--timeout 2",
    "-q",
    "-v",
    "--unsupported error",
    "--flatten",
    "--ignore-mismatch",
    "--check-nan",
];

/// Words that fit nowhere, or only by chance.
const WORDS: &[&str] = &[
    "@module.json",
    "@in_a.npy",
    "@missing",
    "a=",
    "=@in_a.npy",
    "--input",
    "--golden",
    "-1",
    "18446744073709551616",
    "1e400",
    "nan",
    ",",
    "trn9",
    "register_alu=wrap",
    "x=",
    "nonsense",
    "0x100",
    "a@x#1",
    "--tensor-map",
    "1Q",
    "--report",
    "--",
    "--=",
];

const MODULE: &[u8] = include_bytes!("../../data/bir_add_one/kernel.bir.json");
const INPUT: &[u8] = include_bytes!("../../data/bir_add_one/in_a.npy");
const ARCHIVE: &[u8] = include_bytes!("../../data/softmax_matmul/inputs.npz");

static FILES: Once = Once::new();

/// Uses one input.
pub fn run(bytes: &[u8]) {
    let folder = scratch();
    FILES.call_once(|| {
        for (name, bytes) in [("module.json", MODULE), ("in_a.npy", INPUT), ("inputs.npz", ARCHIVE)] {
            std::fs::write(folder.join(name), bytes).expect("the temporary folder can be written");
        }
        // A word that becomes a file name names a file there.
        std::env::set_current_dir(folder).expect("the temporary folder can be entered");
    });
    let Ok(words) = words(&mut Unstructured::new(bytes)) else { return };
    let mut line: Vec<OsString> = ["birsim", "run"].map(OsString::from).to_vec();
    line.extend(words.iter().map(|w| OsString::from(w.replace('@', &format!("{}/", folder.display())))));
    if !words.iter().any(|w| w == "--out") {
        line.extend(["--out".into(), folder.join("out").into_os_string()]);
    }
    // A refusal is an answer.
    if let Err(e) = birsim_cli::attempt(line.clone()) {
        assert_ne!(e.class().exit_code(), 70, "{line:?}: {e}");
    }
    // A line may have replaced one of them.
    std::fs::write(folder.join("module.json"), MODULE).expect("the temporary folder can be written");
}

fn words(u: &mut Unstructured) -> Result<Vec<String>> {
    let mut out = vec!["@module.json".to_string()];
    for _ in 0..u.int_in_range(0..=6)? {
        let list = if u.ratio(1, 12)? { WORDS } else { OPTIONS };
        out.extend(u.choose(list)?.split(' ').map(String::from));
    }
    Ok(out)
}
