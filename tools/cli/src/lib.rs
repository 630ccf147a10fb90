//! The command line of birsim, as a library: tensor files, commands, reports. The binaries only call [`main`].

pub mod args;
mod batch;
mod cmd;
mod golden;
mod interrupt;
mod klr_sim;
mod limit;
pub mod npy;
pub mod program;
mod run;
pub mod tensors;
mod term;
pub mod usage;

use args::{Cli, Command};
use birsim_kernels::{Code, Error, Result};
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use term::Term;

/// The `birsim` command: parses the arguments of the process, runs, returns the exit code.
pub fn main() -> ExitCode {
    quiet_panics();
    let args: Vec<OsString> = std::env::args_os().collect();
    let code = match args.get(1) {
        Some(first) if first == batch::WORKER => worker(),
        _ => run_command(args),
    };
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}

/// A worker of `birsim batch`.
fn worker() -> i32 {
    guard(batch::serve).unwrap_or_else(|e| {
        Term::new(term::Color::Never).error(&e);
        e.class().exit_code()
    })
}

/// The `nki_klr_sim` command: the reference tool's flags, birsim's exit codes.
pub fn klr_sim_main() -> ExitCode {
    quiet_panics();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let term = Term::new(term::Color::Auto);
    let code = guard(|| klr_sim::run(&args, &term)).unwrap_or_else(|e| {
        term.error(&e);
        e.class().exit_code()
    });
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}

/// Runs one command line like [`main`], but returns the error that ends it instead of printing it.
pub fn attempt(args: Vec<OsString>) -> Result<()> {
    let term = Term::new(args::early_color(&args));
    dispatch(args, &term, |a| run::attempt(a, &term).map(|()| 0)).map(|_| ())
}

/// Runs one command line and returns the exit code. Output goes to stdout, messages to stderr.
fn run_command(args: Vec<OsString>) -> i32 {
    // Colours are wanted already for errors in the arguments themselves.
    let term = Term::new(args::early_color(&args));
    match dispatch(args, &term, |a| Ok(run::run(a, &term))) {
        Ok(code) => code,
        Err(e) => {
            term.error(&e);
            e.class().exit_code()
        }
    }
}

/// Parses the arguments and runs the command; `run` is handed to the caller's way of running it.
fn dispatch(args: Vec<OsString>, term: &Term, run: impl FnOnce(&args::Run) -> Result<i32>) -> Result<i32> {
    guard(|| {
        let matches = match Cli::command().try_get_matches_from(args) {
            Ok(m) => m,
            Err(e) => return usage(&e),
        };
        let cli = Cli::from_arg_matches(&matches).map_err(|e| Error::new(Code::F008, e.to_string()))?;
        match cli.command {
            Command::Run(a) => run(&a),
            Command::Batch(a) => batch::run(&a, term),
            Command::Validate(a) => cmd::validate::run(&a, term),
            Command::Inspect(a) => cmd::inspect::run(&a),
            Command::Convert(a) => cmd::convert::run(&a, term),
            Command::Compare(a) => cmd::compare::run(&a),
            Command::Ops(a) => cmd::ops::run(&a),
            Command::Explain(a) => cmd::explain::run(&a),
        }
    })
}

/// `--help` and `--version` print and succeed; everything else clap refuses is a usage error.
pub(crate) fn usage(e: &clap::Error) -> Result<i32> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match e.kind() {
        DisplayHelp | DisplayVersion => {
            // Clap writes to stdout itself and knows about colours; a closed pipe is not an error.
            let _ = e.print();
            Ok(0)
        }
        DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Error::new(Code::F008, "no command given").advice("try `birsim run PROGRAM` or `birsim --help`"))
        }
        _ => {
            let text = e.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let text = text.split("For more information").next().unwrap_or(text);
            let (what, rest) = text.split_once("\n\n").unwrap_or((text, ""));
            let lines = |t: &str| t.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
            let error = Error::new(Code::F008, lines(what));
            Err(if rest.trim().is_empty() { error } else { error.advice(lines(rest)) })
        }
    }
}

/// Runs `f`; a panic inside it is a defect of birsim and becomes an error of class bug.
pub(crate) fn guard<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let place = LAST_PANIC.lock().map(|p| p.clone()).unwrap_or_default();
        let error = Error::new(Code::B001, "birsim stopped at an internal error").received(text);
        Err(error.at(|p| p.source = place))
    })
}

static LAST_PANIC: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);

/// Panics print nothing by themselves; [`guard`] reports them like every other error.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let (Ok(mut last), Some(l)) = (LAST_PANIC.lock(), info.location()) {
            *last = Some(format!("{}:{}", l.file(), l.line()));
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_bug() {
        let e = guard::<()>(|| panic!("boom {}", 1)).unwrap_err();
        assert_eq!((e.code(), e.class().exit_code()), (Code::B001, 70));
        assert_eq!(e.received_value(), Some("boom 1"));
    }
}
