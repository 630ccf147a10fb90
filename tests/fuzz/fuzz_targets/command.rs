//! `cargo fuzz run command`; on a stable toolchain `cargo fuzz run -s none command`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (birsim_tests::fuzz::target("command").expect("the target exists").run)(bytes));
