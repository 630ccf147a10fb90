//! The command line as a program of this crate, so that cargo builds it before the tests that start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    birsim_cli::main()
}
