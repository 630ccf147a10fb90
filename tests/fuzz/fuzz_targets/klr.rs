//! `cargo fuzz run klr`; on a stable toolchain `cargo fuzz run -s none klr`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (birsim_tests::fuzz::target("klr").expect("the target exists").run)(bytes));
