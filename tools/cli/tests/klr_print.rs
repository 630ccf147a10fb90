//! What kernels print.

mod common;

use birsim_klr::ast::{DevicePrint, Operator, PrintOutputBuffer, Stmt};
use common::*;

#[test]
fn a_device_dump_prints_narrow_tensors_in_short_or_in_full() {
    let s = Sandbox::new();
    s.write("k.klr", kernel("cast_bf16"));
    s.write("x.npy", counting(64, 64, 0));
    let plain = klr_sim(&s, &["k.klr", "--input-files=x.npy"]);
    assert!(!plain.exits(0).stdout.contains("tensor1"), "{}", plain.stdout);
    let dump = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--device-dump"]);
    let lines: Vec<&str> = dump.exits(0).stdout.lines().collect();
    // 4093 is not a bfloat16: the tensor holds what was rounded.
    assert_eq!(lines[..2], ["tensor1 bfloat16 [64 x 64]", "  0 1 2 ... 61 62 63"]);
    assert_eq!(lines[7], "  4032 4032 4032 ... 4096 4096 4096", "{}", dump.stdout);
    let full = klr_sim(&s, &["k.klr", "--input-files=x.npy", "--device-dump", "--device-print-full"]);
    let lines: Vec<&str> = full.exits(0).stdout.lines().collect();
    assert_eq!(lines[0], "tensor1 bfloat16 [64 x 64]");
    assert!(lines[1..65].iter().all(|l| l.split_whitespace().count() == 64), "{}", full.stdout);
}

/// The exchange of two cores, each printing what it loaded: one stream per prefix.
fn printing() -> Vec<u8> {
    changed("lnc2_sendrecv", |k| {
        for body in &mut k.bodies {
            let block = &mut body[0].body;
            let Operator::NcDmaCopy(load) = block[0].op.clone() else { panic!("a load comes first") };
            let print = |name: &str, buffer| Stmt {
                name: Some(name.to_owned()),
                op: Operator::DevicePrint(Box::new(DevicePrint {
                    src: load.dst.clone(),
                    print_prefix: name.to_owned(),
                    buffer,
                })),
                ..block[0].clone()
            };
            let prints = [print("loaded", PrintOutputBuffer::Stdout), print("noise", PrintOutputBuffer::Stderr)];
            block.splice(1..1, prints);
        }
    })
}

#[test]
fn prefixes_do_not_reach_the_terminal_raw() {
    let s = Sandbox::new();
    let k = changed("add_scalar", |k| {
        let block = &mut k.bodies[0][0].body;
        let Operator::NcDmaCopy(load) = block[0].op.clone() else { panic!("a load comes first") };
        let (src, buffer) = (load.dst, PrintOutputBuffer::Stdout);
        let print = DevicePrint { src, print_prefix: "\u{1b}[2Jgone".into(), buffer };
        let print = Stmt { op: Operator::DevicePrint(Box::new(print)), name: None, ..block[0].clone() };
        block.insert(1, print);
    });
    s.write("k.klr", k);
    let ran = s.birsim(&["run", "k.klr", "--random-inputs", "1"]);
    assert!(ran.exits(0).stdout.contains("\u{fffd}[2Jgone float32 [32 x 64]"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn prints_of_several_cores_name_their_core() {
    let s = Sandbox::new();
    s.write("k.klr", printing());
    s.write("x.npy", counting(128, 32, 0));
    s.birsim(&["convert", "k.klr", "-o", "m.json"]).exits(0);
    for programs in [&["k.klr"][..], &["m.core1.json", "m.core0.json"]] {
        for threads in ["1", "2"] {
            let args = [&["run"], programs, &["--input", "x=x.npy", "--threads", threads]].concat();
            let ran = s.birsim(&args);
            let lines: Vec<&str> = ran.exits(0).stdout.lines().collect();
            assert_eq!(lines[..2], ["core 0: loaded float32 [64 x 32]", "  0 1 2 ... 29 30 31"]);
            assert_eq!(lines[4..6], ["  ...", "  1952 1953 1954 ... 1981 1982 1983"]);
            assert_eq!(lines[8..10], ["core 1: loaded float32 [64 x 32]", "  2048 2049 2050 ... 2077 2078 2079"]);
            assert!(!ran.stdout.contains("noise"), "{}", ran.stdout);
            let errors: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("noise")).collect();
            assert_eq!(errors, ["core 0: noise float32 [64 x 32]", "core 1: noise float32 [64 x 32]"]);
        }
    }
    let ran = s.birsim(&["run", "k.klr", "--input", "x=x.npy", "--device-print-full"]);
    let lines: Vec<&str> = ran.exits(0).stdout.lines().collect();
    assert_eq!(lines[65], "core 1: loaded float32 [64 x 32]");
    assert!(lines[66..130].iter().all(|l| l.split_whitespace().count() == 32));
}
