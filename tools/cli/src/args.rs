//! The command line as types.

use crate::term::Color;
use birsim_kernels::{Dtype, Named};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// A functional simulator for AWS Neuron programs.
#[derive(Debug, Parser)]
#[command(name = "birsim", version, about, max_term_width = 110, propagate_version = true)]
pub struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check one .npy file against another: exit 0 when they match, 1 when they differ.
    Compare(Compare),
    /// List every InstructionType and what birsim does with it.
    Ops(Ops),
    /// Explain an error code.
    Explain(Explain),
}

/// How close outputs must be to their goldens.
#[derive(Args, Clone, Debug, Default)]
pub struct ToleranceArgs {
    /// Relative tolerance as a fraction (0.01 accepts one percent).
    #[arg(long, value_name = "R", conflicts_with = "birsim_output_tolerance", value_parser = tolerance)]
    pub rtol: Option<f64>,
    /// Absolute tolerance.
    #[arg(long, value_name = "A", conflicts_with = "birsim_output_tolerance", value_parser = tolerance)]
    pub atol: Option<f64>,
    /// Relative tolerance in percent, and absolute tolerance. The default is 1.0,1e-05.
    #[arg(long, value_name = "PERCENT,ABS", num_args = 1, value_parser = tolerance_pair)]
    pub birsim_output_tolerance: Option<(f64, f64)>,
    /// Compare NaN payloads and signs too, in exact checks.
    #[arg(long)]
    pub nan_bits: bool,
    /// Compare tensors of different shape when they have equally many elements.
    #[arg(long, alias = "birsim-output-flatten")]
    pub flatten: bool,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// Tensor file to check.
    #[arg(value_name = "A.npy")]
    pub got: PathBuf,
    /// Golden tensor file.
    #[arg(value_name = "B.npy")]
    pub want: PathBuf,
    /// Element type of raw-bit files; without it the side file FILE.npy.meta is asked.
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Option<Dtype>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tolerance: ToleranceArgs,
}

/// Arguments of `ops`.
#[derive(Args, Debug)]
pub struct Ops {
    /// One JSON array instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Also list every choice the documents leave open, with its value in each profile.
    #[arg(long)]
    pub fidelity: bool,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// Error code such as BIR-S001 or S001; without one, all codes are listed.
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// The value of `--color` before the arguments are parsed, so that parse errors obey it.
pub fn early_color(args: &[OsString]) -> Color {
    let mut texts = args.iter().filter_map(|a| a.to_str());
    while let Some(text) = texts.next() {
        let value = match text.strip_prefix("--color=") {
            Some(v) => Some(v),
            None if text == "--color" => texts.next(),
            None => continue,
        };
        return match value {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            _ => Color::Auto,
        };
    }
    Color::Auto
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 => Ok(x),
        _ => Err("a tolerance is a number of at least 0".to_string()),
    }
}

fn tolerance_pair(text: &str) -> Result<(f64, f64), String> {
    let (a, b) = text.split_once(',').ok_or("write two numbers: PERCENT,ABS")?;
    Ok((tolerance(a.trim())?, tolerance(b.trim())?))
}

fn dtype(text: &str) -> Result<Dtype, String> {
    let found = Dtype::from_name(text).or_else(|| Dtype::ALL.iter().copied().find(|d| d.ml_dtypes_name() == text));
    found.ok_or_else(|| {
        let names: Vec<&str> = Dtype::ALL.iter().map(|d| d.name()).collect();
        format!("not a BIR dtype; one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn colour_is_known_before_parsing() {
        let args = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(early_color(&args(&["birsim", "--color", "always", "ops"])), Color::Always);
        assert_eq!(early_color(&args(&["birsim", "--color=never"])), Color::Never);
        assert_eq!(early_color(&args(&["birsim", "ops"])), Color::Auto);
    }
}
