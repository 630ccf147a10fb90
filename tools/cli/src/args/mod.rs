//! The command line as types.

mod values;

use crate::batch::Batch;
use crate::term::Color;
use birsim_engine::{Check, Target};
use birsim_kernels::Dtype;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
pub use values::DumpPoint;
pub(crate) use values::bytes;
use values::*;

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
    /// Run a program, write its outputs, check them against goldens.
    Run(Box<Run>),
    /// Run many programs, one JSON line each, in worker processes; results are JSON lines, too.
    Batch(Box<Batch>),
    /// Check a program without inputs, and report everything that is wrong with it.
    Validate(Validate),
    /// Show the tensors, blocks, opcode counts, engines and listing of a program.
    Inspect(Inspect),
    /// Write a program as normalised BIR-JSON; a KLR kernel is lowered to BIR first.
    Convert(Convert),
    /// Check one .npy file or .npz archive against another: exit 0 when they match, 1 when they differ.
    Compare(Compare),
    /// List every InstructionType and what birsim does with it.
    Ops(Ops),
    /// Explain an error code.
    Explain(Explain),
}

/// How far outputs may differ from their goldens.
#[derive(Args, Clone, Debug, Default)]
pub struct ToleranceArgs {
    /// Relative tolerance as a fraction (0.01 accepts one percent).
    #[arg(
        long,
        value_name = "R",
        conflicts_with = "birsim_output_tolerance",
        value_parser = tolerance,
        allow_negative_numbers = true
    )]
    pub rtol: Option<f64>,
    /// Absolute tolerance.
    #[arg(
        long,
        value_name = "A",
        conflicts_with = "birsim_output_tolerance",
        value_parser = tolerance,
        allow_negative_numbers = true
    )]
    pub atol: Option<f64>,
    /// Relative tolerance in percent, and absolute tolerance. The default is 1.0,1e-05.
    #[arg(long, value_name = "PERCENT,ABS", num_args = 1, value_parser = tolerance_pair, allow_hyphen_values = true)]
    pub birsim_output_tolerance: Option<(f64, f64)>,
    /// Also compare the signs and payloads of NaN in exact checks.
    #[arg(long)]
    pub nan_bits: bool,
    /// Convert goldens of another numeric element type, such as float64, to that of the output.
    #[arg(long)]
    pub golden_cast: bool,
    /// Compare tensors of different shapes when they have the same number of elements.
    #[arg(long, alias = "birsim-output-flatten")]
    pub flatten: bool,
}

/// When to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// On a terminal, once a run takes longer than a second or so.
    Auto,
    /// From the start.
    Always,
    /// Never.
    Never,
}

/// Memory modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemModeArg {
    /// Physical if every SBUF and PSUM location has an address, else symbolic.
    Auto,
    /// Every location has its own memory.
    Symbolic,
    /// Locations share SBUF, PSUM and DRAM at their addresses, so overlaps are real.
    Physical,
}

/// Orders of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// By engine queues in functions that use semaphores or events, else in program order.
    Auto,
    /// One queue per engine; semaphores and events order the engines.
    Sync,
    /// In list order; waits and updates are ignored.
    Program,
}

/// Schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// An engine issues several instructions at a time. Programs without a data race give the same results as in `reference`.
    Window,
    /// One instruction per tick; engines take turns.
    Reference,
}

/// Named sets of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileArg {
    /// The documented behaviour of the reference simulator.
    Reference,
    /// The documented behaviour of the device where it differs from the reference.
    Device,
}

/// What happens at an instruction that the reference skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnsupportedArg {
    /// Skip it, and take the results as they are.
    Skip,
    /// Stop with exit code 4.
    Error,
}

/// How modules are laid out on ranks and cores.
#[derive(Args, Clone, Debug, Default)]
pub struct RankArgs {
    /// Cores of a rank: module k is core k mod L of rank k / L. Without it and --ranks, all cores are one logical core, and
    /// core ids serve as ranks.
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    pub lnc: Option<u32>,
    /// Run the module, the cores of the kernel or the L modules given on N ranks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    pub ranks: Option<u32>,
    /// Ranks of a replica group that a KLR kernel names, as in `dp=[[0,1],[2,3]]`. May be repeated.
    #[arg(long, value_name = "NAME=[[..],..]", value_parser = replica_group)]
    pub replica_group: Vec<(String, Vec<Vec<i64>>)>,
    /// What happens at an AllReduce whose group has ranks that are not in the run: nothing is modelled, or these ranks are
    /// taken to hold the same data, as in one process of the documented simulator.
    #[arg(long, value_enum, value_name = "DO")]
    pub multi_worker: Option<MultiWorkerArg>,
}

/// Stand-ins for absent ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MultiWorkerArg {
    /// The documented simulator's: N times the own data.
    Reference,
}

impl RankArgs {
    /// The builder with these choices.
    pub fn apply(&self, mut builder: birsim_engine::Builder) -> birsim_engine::Builder {
        if let Some(lnc) = self.lnc {
            builder = builder.lnc(lnc);
        }
        if let Some(ranks) = self.ranks {
            builder = builder.ranks(ranks);
        }
        builder.multi_worker_reference(self.multi_worker.is_some())
    }
}

/// `run` by itself, for options that come from elsewhere than the command line.
#[derive(Debug, Parser)]
#[command(name = "run")]
pub struct RunOnly {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: Run,
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub struct Run {
    /// BIR-JSON module or KLR file, recognised by content; `-` is standard input. Several modules are the cores of one
    /// program, one file each, as `convert` writes them.
    #[arg(value_name = "PROGRAM", required = true)]
    pub program: Vec<PathBuf>,

    #[command(flatten, next_help_heading = "Ranks")]
    #[allow(missing_docs)]
    pub rank: RankArgs,

    /// Bind an input to a .npy file, or to a member of an archive: `X.npz[MEMBER]`. Of several ranks, rankK/NAME is
    /// the input of rank K, and NAME that of every rank without one. May be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file, help_heading = "Inputs")]
    pub input: Vec<(String, PathBuf)>,
    /// Bind files to inputs in the order in which the program declares them.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', help_heading = "Inputs")]
    pub input_files: Vec<PathBuf>,
    /// Bind every input found as NAME.npy in a folder, or as NAME in an .npz archive.
    #[arg(long, value_name = "DIR|X.npz", help_heading = "Inputs")]
    pub inputs: Option<PathBuf>,
    /// Look first in this folder for constants and other files that the program names.
    #[arg(long, value_name = "DIR", help_heading = "Inputs")]
    pub constants: Option<PathBuf>,
    /// Fill inputs that have no file with random values; the same seed gives the same values.
    #[arg(long, value_name = "SEED", help_heading = "Inputs", allow_negative_numbers = true)]
    pub random_inputs: Option<u64>,

    /// Check an output against a .npy file, or against a member of an archive: `X.npz[MEMBER]`. May be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file, help_heading = "Goldens")]
    pub golden: Vec<(String, PathBuf)>,
    /// Check outputs against files in the order in which the program declares its outputs.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', help_heading = "Goldens")]
    pub output_files: Vec<PathBuf>,
    /// Check every output found as NAME.npy in a folder, or as NAME in an .npz archive.
    #[arg(long, value_name = "DIR|X.npz", help_heading = "Goldens")]
    pub goldens: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Goldens")]
    #[allow(missing_docs)]
    pub tolerance: ToleranceArgs,
    /// Report mismatches, but exit with code 0.
    #[arg(long, alias = "ignore-mismatch-error", help_heading = "Goldens")]
    pub ignore_mismatch: bool,
    /// Treat a NaN or an infinity in an output as a fault.
    #[arg(long, alias = "check-inst-output-NaN", help_heading = "Goldens")]
    pub check_nan: bool,

    /// Folder for the outputs, written as NAME-birsim.npy; of several ranks as rankK/NAME-birsim.npy.
    #[arg(long, value_name = "DIR", default_value = "birsim-out", help_heading = "Outputs")]
    pub out: PathBuf,
    /// Write a machine-readable report.
    #[arg(long, value_name = "FILE.json", help_heading = "Outputs")]
    pub report: Option<PathBuf>,
    /// Write the result as JUnit XML.
    #[arg(long, value_name = "FILE.xml", help_heading = "Outputs")]
    pub junit: Option<PathBuf>,
    /// Write any tensor as it is after the run, or after the last (or N-th) execution of an instruction; also after a
    /// fault. The default file is NAME-dump.npy in the output folder.
    #[arg(long, value_name = "TENSOR[@INSTRUCTION[#N]][=FILE]", value_parser = dump_point, help_heading = "Outputs")]
    pub dump: Vec<DumpPoint>,
    /// Write one JSON line per executed instruction: tick, engine, instruction, hash of its outputs.
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Outputs")]
    pub trace: Option<PathBuf>,
    /// Compare with an earlier trace, and name the first instruction that differs.
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Goldens")]
    pub golden_trace: Option<PathBuf>,
    /// Look for uninit, nan, nan-write, write-only, pinned, race; a finding is a fault.
    #[arg(long, value_name = "C,C,..", value_delimiter = ',', value_parser = check, help_heading = "Checks")]
    pub check: Vec<Check>,
    /// Print verdict, mismatches and findings only: no progress, no statistics, no remarks.
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Outputs")]
    pub quiet: bool,
    /// Print more: counts per opcode, sources of the inputs.
    #[arg(short, long, help_heading = "Outputs")]
    pub verbose: bool,
    /// When to show progress, on stderr.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", help_heading = "Outputs")]
    pub progress: Progress,

    /// Machine: inf1, trn1 (sunda, inf2), trn2 (gen3, cayman), trn3 (core_v4). Default: the program's, else trn2.
    #[arg(long, value_name = "T", value_parser = target, help_heading = "Machine")]
    pub target: Option<Target>,
    /// Whether each location has memory of its own, or all share the machine's memories.
    #[arg(long, value_enum, default_value = "auto", value_name = "MODE", help_heading = "Machine")]
    pub mem_mode: MemModeArg,
    /// What orders the instructions.
    #[arg(long, value_enum, default_value = "auto", value_name = "ORDER", help_heading = "Machine")]
    pub order: OrderArg,
    /// In which order engines issue instructions that are ready.
    #[arg(long, value_enum, default_value = "window", value_name = "S", help_heading = "Machine")]
    pub schedule: ScheduleArg,
    /// Issue one instruction per tick, from a random engine among those that are ready. Shows data races.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "schedule",
        help_heading = "Machine",
        allow_negative_numbers = true
    )]
    pub schedule_seed: Option<u64>,
    /// Preset for choices that public documents leave open.
    #[arg(long, value_enum, default_value = "reference", value_name = "P", help_heading = "Machine")]
    pub profile: ProfileArg,
    /// Change one of these choices; `birsim ops --fidelity` lists them.
    #[arg(long, value_name = "FIELD=VALUE", value_parser = named_value, help_heading = "Machine")]
    pub set: Vec<(String, String)>,
    /// Evaluate activation functions with the tables in this folder, where it has one for the function.
    #[arg(long, value_name = "DIR", help_heading = "Machine")]
    pub pwp_tables: Option<PathBuf>,
    /// Where SBUF and PSUM tensors are placed: {"TENSOR": {"partition_offset": P, "free_offset": F}}.
    #[arg(long, value_name = "FILE.json", help_heading = "Machine")]
    pub tensor_map: Option<PathBuf>,
    /// The only program that CustomOp and BIRKernel may start; it gets a JSON description as its argument.
    #[arg(long, value_name = "PATH", help_heading = "Machine")]
    pub allow_external_kernels: Option<PathBuf>,
    /// Value of bytes that were never written, instead of 0xFF. With several values the program runs once with each; an
    /// output that differs depends on uninitialised memory, which is a fault.
    #[arg(
        long,
        value_name = "BYTE,..",
        value_delimiter = ',',
        value_parser = byte,
        help_heading = "Checks",
        allow_hyphen_values = true
    )]
    pub fill: Vec<u8>,
    /// Treat semaphores left non-zero, misaligned tensors and other doubtful points as faults.
    #[arg(long, help_heading = "Machine")]
    pub strict: bool,
    /// Lower abstract KLR operators, which the reference compiler refuses, where they have a definite nearest BIR form.
    #[arg(long, help_heading = "Machine")]
    pub accept_abstract: bool,
    /// Print after every write of a KLR kernel to elements that are not 32 bits wide: type, shape, first and last rows and
    /// columns.
    #[arg(long, help_heading = "Outputs")]
    pub device_dump: bool,
    /// Print whole tensors when a program prints, not just their first and last rows.
    #[arg(long, help_heading = "Outputs")]
    pub device_print_full: bool,
    /// What happens at the instructions that the documented simulator skips.
    /// Without this option they are skipped, and a run in which one of them has outputs ends with exit code 4 unless every
    /// output matches its golden.
    #[arg(long, value_enum, value_name = "DO", help_heading = "Machine")]
    pub unsupported: Option<UnsupportedArg>,
    /// Seed of the host's random generator; 42 by default.
    #[arg(long, value_name = "N", help_heading = "Machine", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Number of threads; results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Machine", allow_negative_numbers = true)]
    pub threads: Option<u16>,

    /// Stop before the run needs more memory than this, tensor files included (suffixes K, M, G).
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Limits", allow_hyphen_values = true)]
    pub max_memory: Option<u64>,
    /// Stop after this many instructions.
    #[arg(long, value_name = "N", help_heading = "Limits", allow_negative_numbers = true)]
    pub max_instructions: Option<u64>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Limits", allow_negative_numbers = true)]
    pub timeout: Option<std::time::Duration>,
}

/// Arguments of `validate`.
#[derive(Args, Debug)]
pub struct Validate {
    /// BIR-JSON module or KLR file, recognised by content; `-` is standard input. Several modules are the cores of one
    /// program, one file each, as `convert` writes them.
    #[arg(value_name = "PROGRAM", required = true)]
    pub program: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub rank: RankArgs,
    /// Machine to validate for. Default: the program's, else trn2.
    #[arg(long, value_name = "T", value_parser = target)]
    pub target: Option<Target>,
    /// Lower abstract KLR operators, which the reference compiler refuses, where they have a definite nearest BIR form.
    #[arg(long)]
    pub accept_abstract: bool,
    /// Report what a device would not accept as faults: start partitions, partition steps, memories out of reach of an engine, too
    /// many waits or updates, instructions that the target lacks.
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `inspect`.
#[derive(Args, Debug)]
pub struct Inspect {
    /// BIR-JSON module or KLR file, recognised by content; `-` is standard input.
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// One JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub struct Convert {
    /// BIR-JSON module or KLR file, recognised by content; `-` is standard input.
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// File to write; `-` is standard output. A kernel of several cores becomes X.core0.json, X.core1.json, ...
    #[arg(short, long, value_name = "X.json")]
    pub output: PathBuf,
    /// Machine to lower a KLR kernel for.
    #[arg(long, value_name = "T", value_parser = target)]
    pub target: Option<Target>,
    /// Refuse every KLR access and operator that the reference compiler refuses.
    #[arg(long)]
    pub strict: bool,
    /// Lower abstract KLR operators, which the reference compiler refuses, where they have a definite nearest BIR form.
    #[arg(long)]
    pub accept_abstract: bool,
    /// Write only the module of core K, to the file that -o names.
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub core: Option<usize>,
    /// Replace each NKIKLIRKernel by a call of its kernel, read from the file it names in the folder of the program.
    #[arg(long)]
    pub expand_klir: bool,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// Tensor file to check: .npy, `X.npz[MEMBER]`, or a whole .npz archive.
    #[arg(value_name = "A")]
    pub got: PathBuf,
    /// Golden tensor file.
    #[arg(value_name = "B")]
    pub want: PathBuf,
    /// Element type of files that hold raw bits; by default the side file FILE.npy.meta says it.
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Option<Dtype>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tolerance: ToleranceArgs,
}

/// Arguments of `ops`.
#[derive(Args, Debug)]
pub struct Ops {
    /// Instruction types to describe in full: operands, keys with types and defaults, engines, rules. Without one, all are
    /// listed.
    #[arg(value_name = "OPCODE")]
    pub opcodes: Vec<String>,
    /// JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Also show for every opcode how faithful it is and what public documents leave open, and list the choices.
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
