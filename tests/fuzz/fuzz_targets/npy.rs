//! `cargo fuzz run npy`; on a stable toolchain `cargo fuzz run -s none npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (birsim_tests::fuzz::target("npy").expect("the target exists").run)(bytes));
