//! The `nki_klr_sim` command.

fn main() -> std::process::ExitCode {
    birsim_cli::klr_sim_main()
}
