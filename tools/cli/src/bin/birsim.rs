//! The `birsim` command.

fn main() -> std::process::ExitCode {
    birsim_cli::main()
}
