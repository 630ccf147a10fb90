//! `cargo fuzz run json`; on a stable toolchain `cargo fuzz run -s none json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (birsim_tests::fuzz::target("json").expect("the target exists").run)(bytes));
