//! `cargo fuzz run programs`; on a stable toolchain `cargo fuzz run -s none programs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (birsim_tests::fuzz::target("programs").expect("the target exists").run)(bytes));
