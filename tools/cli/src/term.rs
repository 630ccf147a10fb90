//! Terminal output: colours, errors on stderr, and a stdout that may close early.

use crate::interrupt;
use birsim_kernels::{Code, Error, Result};
use clap::ValueEnum;
use std::io::{IsTerminal, Write};

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    fn on(self, terminal: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        }
    }
}

/// ANSI style of a piece of text.
#[derive(Clone, Copy, Debug)]
pub struct Style(&'static str);

impl Style {
    /// Errors, mismatches.
    pub const RED: Style = Style("1;31");
    /// Success.
    pub const GREEN: Style = Style("1;32");
    /// Warnings.
    pub const YELLOW: Style = Style("1;33");
    /// Names.
    pub const BOLD: Style = Style("1");
    /// Things that matter less.
    pub const DIM: Style = Style("2");
}

/// How the two output streams are written.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    out_color: bool,
    err_color: bool,
    silent: bool,
}

impl Term {
    /// Settles colours once per run.
    pub fn new(color: Color) -> Self {
        Term {
            out_color: color.on(std::io::stdout().is_terminal()),
            err_color: color.on(std::io::stderr().is_terminal()),
            silent: false,
        }
    }

    /// Prints nothing: for runs whose result somebody else reports.
    pub fn silent() -> Self {
        Term { out_color: false, err_color: false, silent: true }
    }

    /// `text` in a style, for stdout.
    pub fn paint(&self, style: Style, text: &str) -> String {
        painted(self.out_color, style, text)
    }

    /// An error in its full form: code, what, where, rule, value, advice.
    pub fn error(&self, e: &Error) {
        self.message(Style::RED, "error", &e.to_string());
    }

    /// A warning: one line.
    pub fn warn(&self, text: &str) {
        self.message(Style::YELLOW, "warning", text);
    }

    fn message(&self, style: Style, word: &str, text: &str) {
        if self.silent {
            return;
        }
        let _ = writeln!(std::io::stderr().lock(), "{}: {}", painted(self.err_color, style, word), plain(text));
    }
}

/// Text of a program without the characters that a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

fn painted(on: bool, style: Style, text: &str) -> String {
    if on { format!("\x1b[{}m{text}\x1b[0m", style.0) } else { text.to_string() }
}

/// Writes to stdout. A reader that has gone away (`| head`) is not an error: the command's outcome stays what it is.
pub fn print(text: &str) -> Result<()> {
    let _waiting = interrupt::unattended("while standard output was written");
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(Code::F007, format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}
