//! Reading, writing and listing the sample files.

mod common;

use birsim_kernels::error::Code;
use birsim_klr::ast::{Contents, Operator, Program};
use birsim_klr::{inspect, read, write};
use common::{sample, samples};

/// The one-`memSet` file that the format description gives byte for byte.
const EXAMPLE_B: &str = "d9d9f78300000cd9eb0081634e4b49d9ec0381d96c0087616b80808181d9680083666d61696e2e31f481d9670083\
    d9da1981d99e0084d9800081d97d0381d97c0087d97200886174d96f0580d9700082018101d97100876174d96e01800104d9ff0080d9ff\
    0080f401f50082d9770083010100d9770083010100d9ff0080d9ff008000d9ff0080d9830381fa3f000000d96f0580d9820080d9ff0181\
    66696e73742e31d96400850204d9ff0080d9ff0080d9ff0080808080";

fn example_b() -> Vec<u8> {
    let digits: Vec<u8> = EXAMPLE_B.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn program(bytes: &[u8]) -> Program {
    match read(bytes).expect("reads").contents {
        Contents::Program(program) => program,
        other => panic!("{} has no program", other.kind()),
    }
}

#[test]
fn every_sample_reads() {
    for (name, bytes) in samples() {
        let file = read(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(file.version, [0, 0, 12], "{name}");
        assert_eq!(file.trailing_bytes, 0, "{name}");
    }
}

#[test]
fn documented_example_reads_to_its_values() {
    let bytes = example_b();
    assert_eq!(bytes.len(), 184);
    let kernel = program(&bytes).as_lnc().into_owned();
    assert_eq!(kernel.name, "k");
    let stmt = &kernel.bodies[0][0].body[0];
    assert_eq!(stmt.name.as_deref(), Some("inst.1"));
    assert_eq!(stmt.op.kind(), 26);
    let Operator::MemSet(p) = &stmt.op else { panic!("memSet") };
    assert_eq!(p.value, birsim_klr::ast::Immediate::Float(0.5));
    assert_eq!(write(&program(&bytes)), bytes);
}

#[test]
fn head_layout_survives_byte_for_byte() {
    for (name, bytes) in samples() {
        let Contents::Program(program) = read(&bytes).expect("reads").contents else { continue };
        if !name.starts_with("layout_2026") {
            assert!(write(&program) == bytes, "{name} changes when written back");
        }
    }
}

#[test]
fn older_layouts_become_the_head_layout() {
    let head = sample("layout_head");
    for older in ["layout_2026_01", "layout_2026_02"] {
        let bytes = sample(older);
        assert_ne!(bytes, head);
        let mut kernel = program(&bytes).as_lnc().into_owned();
        let want = program(&head).as_lnc().into_owned();
        kernel.name.clone_from(&want.name);
        assert_eq!(kernel, want, "{older}");
    }
}

#[test]
fn written_proof_fields_of_a_tensor_name_are_accepted() {
    let mut bytes = example_b();
    // addressRotation follows freeElements; the defective writer puts two empty arrays between them.
    assert_eq!(bytes[104..106], [0x01, 0xf5]);
    bytes.splice(105..105, [0x80, 0x80]);
    assert_eq!(program(&bytes), program(&example_b()));
}

#[test]
fn listings() {
    for name in [
        "access_kinds",
        "collectives",
        "dynamic_loop",
        "layout_2026_01",
        "lnc2_sendrecv",
        "physical_refs",
        "shared_constant_edges",
        "variant_hlo",
        "variant_kernel",
        "vector_offset_gather",
        "wheel_nki",
        "wheel_python",
    ] {
        insta::assert_snapshot!(name, inspect(&read(&sample(name)).expect("reads")));
    }
}

#[test]
fn control_characters_in_names_are_escaped_in_listings() {
    let mut bytes = example_b();
    let at = bytes.windows(7).position(|w| w == b"finst.1").expect("the statement name") + 1;
    bytes[at] = 0x1b;
    let text = inspect(&read(&bytes).expect("reads"));
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}nst.1"), "{text}");
}

#[test]
fn errors_name_byte_and_expectation() {
    let mut bytes = example_b();
    bytes[42 + 1] = 0x66;
    let e = read(&bytes).expect_err("a wrong type tag");
    assert_eq!(e.code(), Code::K001);
    assert_eq!(e.place().source.as_deref(), Some("byte 42"));
    assert!(e.what().contains("Stmt (tag 103)") && e.what().contains("tag 102"), "{e}");

    let e = read(&example_b()[..100]).expect_err("a cut file");
    assert_eq!(e.place().source.as_deref(), Some("byte 100"), "{e}");
    assert_eq!(e.place().tensor.as_deref(), Some("t"), "{e}");
}

#[test]
fn claims_larger_than_the_file_are_refused() {
    let mut bytes = example_b();
    // The statement list claims 2^62 elements.
    bytes.splice(41..42, [0x9b, 0x40, 0, 0, 0, 0, 0, 0, 0]);
    let e = read(&bytes).expect_err("too long a list");
    assert_eq!((e.code(), e.place().source.as_deref()), (Code::K001, Some("byte 41")), "{e}");
}

#[test]
fn endless_nesting_is_refused() {
    let bytes = example_b();
    // Everything up to the scalar offset, then accesses inside accesses.
    let open = &bytes[58..122];
    let mut deep = bytes[..122].to_vec();
    for _ in 0..20_000 {
        deep.extend([0xd9, 0xff, 1, 0x81, 0xd9, 0x7b, 1, 0x81]);
        deep.extend(open);
    }
    let e = read(&deep).expect_err("too deep");
    assert_eq!(e.code(), Code::K001);
    assert!(e.what().contains("nested"), "{e}");
}

#[test]
fn trailing_bytes_are_reported_not_refused() {
    let mut bytes = example_b();
    bytes.extend([1, 2, 3]);
    let file = read(&bytes).expect("reads");
    assert_eq!(file.trailing_bytes, 3);
    assert!(inspect(&file).contains("3 bytes after the contents"));
}
