//! The README's statements, checked.

mod common;

use common::{Sandbox, root};
use std::process::Command;

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// Bodies of the fenced blocks of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

/// Numbers differ between machines and versions, words do not.
fn without_digits(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c != '#' || !out.ends_with('#') {
            out.push(c);
        }
    }
    out
}

#[test]
fn the_first_command_prints_what_the_readme_shows() {
    let text = readme();
    let block = &blocks(&text, "console")[0];
    let (command, shown) = block.strip_prefix("$ ").unwrap().split_once('\n').unwrap();
    let args = command.strip_prefix("cargo run --release -p birsim-cli -- ").unwrap();
    let s = Sandbox::new();
    let ran = Command::new(env!("CARGO_BIN_EXE_birsim"))
        .args(args.split(' '))
        .args(["--report".as_ref(), s.path("r.json").as_os_str()])
        .current_dir(root())
        .output()
        .unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{stdout}{}", String::from_utf8_lossy(&ran.stderr));
    // How long it took is the one thing that may be said differently.
    let comparable = |text: &str| {
        let lines = text.lines().enumerate().map(|(i, l)| if i == 0 { l.split(" in ").next().unwrap() } else { l });
        lines.map(without_digits).collect::<Vec<_>>()
    };
    assert_eq!(comparable(&stdout), comparable(shown));
    let engines = stdout.lines().find(|l| l.trim_start().starts_with("engines")).unwrap();
    assert_eq!(engines.split(',').count(), 5, "\"five engines\": {engines}");
    assert_eq!(s.report("r.json")["status"], "ok");
}

#[test]
fn the_kernel_example_prints_what_the_readme_shows() {
    let text = readme();
    let block = blocks(&text, "console").into_iter().find(|b| b.contains("kernel.klr")).unwrap();
    let (command, shown) = block.strip_prefix("$ birsim ").unwrap().split_once('\n').unwrap();
    let s = Sandbox::new();
    let files: Vec<&str> = command.split([' ', '=']).filter(|w| w.starts_with("tests/data/")).collect();
    assert_eq!(files.len(), 3);
    for file in files {
        s.write(file, std::fs::read(root().join(file)).unwrap());
    }
    let ran = s.birsim(&command.split(' ').collect::<Vec<_>>());
    let comparable = |text: &str| {
        let lines = text.lines().enumerate().map(|(i, l)| if i == 0 { l.split(" in ").next().unwrap() } else { l });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(comparable(&ran.exits(0).stdout), comparable(shown));
}

#[test]
fn the_table_of_abstract_operators_is_complete() {
    let text = readme();
    let from = text.find("| Operator | Becomes |").unwrap();
    let rows: Vec<&str> = text[from..].lines().skip(2).take_while(|l| l.starts_with("| ")).collect();
    let mut names: Vec<&str> = rows.iter().flat_map(|r| r.split('|').nth(1).unwrap().trim().split(", ")).collect();
    names.sort_unstable();
    // The kinds that the reference refuses (`klr.md` 3.1).
    let mut refused = [
        "activate",
        "affineSelect",
        "copy",
        "dmaCopy",
        "loadMaskRegister",
        "loadStationary",
        "localGather",
        "matMul",
        "matchValueLoad",
        "rangeSelect",
        "scalarTensorTensor",
        "sendRecvCompute",
        "broadcast",
        "send",
        "recv",
        "extendedInst",
    ];
    refused.sort_unstable();
    assert_eq!(names, refused);
}

#[test]
fn continuous_integration_runs_the_readmes_test_command() {
    let text = readme();
    let command = blocks(&text, "sh").into_iter().find(|b| b.contains("cargo test")).unwrap();
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(ci.lines().any(|l| l == command.trim()), "{command} in\n{ci}");
}

#[test]
fn options_and_commands_of_the_readme_exist() {
    let s = Sandbox::new();
    let mut help = s.birsim(&["--help"]).stdout;
    for command in ["run", "batch", "validate", "inspect", "convert", "compare", "ops", "explain"] {
        help.push_str(&s.birsim(&[command, "--help"]).stdout);
    }
    let text = readme();
    let words = text.split(|c: char| c.is_whitespace() || "`;,.()=".contains(c));
    let mut seen = 0;
    for option in words.filter(|w| w.starts_with("--") && w.len() > 2) {
        // Options of cargo, maturin and pytest.
        if !["--release", "--workspace", "--path", "--manifest-path", "--birsim"].contains(&option) {
            assert!(help.contains(option), "{option} is in the README only");
            seen += 1;
        }
    }
    assert!(seen > 10);
    for line in blocks(&text, "sh").iter().flat_map(|b| b.lines()).filter(|l| l.starts_with("birsim ")) {
        let command = line.split(' ').nth(1).unwrap();
        s.birsim(&[command, "--help"]).exits(0);
    }
}

#[test]
fn exit_codes_of_the_readme_are_the_classes() {
    use birsim_kernels::Class;
    let text = readme();
    let listed: Vec<i32> = text.lines().filter_map(|l| l.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect();
    let mut codes = vec![0, 1];
    codes.extend([Class::Invalid, Class::Fault, Class::Unsupported, Class::Bug].map(Class::exit_code));
    assert_eq!(listed, codes);
}

#[test]
fn the_examples_data_is_small() {
    let folder = root().join("tests/data/softmax_matmul");
    let sizes = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 300_000);
}
