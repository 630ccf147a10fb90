//! Options of `run` inside a batch: those on the batch's command line serve every item, those of an item come on top.

use super::manifest::{Item, Tensors};
use crate::args::{Run, RunOnly};
use birsim_kernels::{Code, Error, Result};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `run` that a batch sets for its items, or has of its own.
const OWN: [&str; 11] =
    ["program", "out", "report", "junit", "quiet", "verbose", "progress", "help", "version", "color", "trace"];

/// Options of `run` on the command line of `batch`, as texts in front of those of each item.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Defaults {
    /// As they were written: what the keys of results are made of.
    pub written: Vec<String>,
    /// With paths that hold in every folder.
    pub resolved: Vec<String>,
}

impl Args for Defaults {
    fn augment_args(command: Command) -> Command {
        let run = Run::augment_args(Command::new("run"));
        let ours = run.get_arguments().filter(|a| !OWN.contains(&a.get_id().as_str()));
        // A required positional of `run` is no option; nothing else is required.
        ours.fold(command, |command, a| command.arg(a.clone().help_heading("Options of run, for every item")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Defaults {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut defaults = Defaults::default();
        defaults.update_from_arg_matches(matches)?;
        Ok(defaults)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let run = Run::augment_args(Command::new("run"));
        for arg in run.get_arguments().filter(|a| !OWN.contains(&a.get_id().as_str())) {
            let id = arg.get_id().as_str();
            if matches.value_source(id) == Some(ValueSource::CommandLine) {
                self.take(arg, matches);
            }
        }
        Ok(())
    }
}

impl Defaults {
    fn take(&mut self, arg: &Arg, matches: &ArgMatches) {
        let id = arg.get_id().as_str();
        let Some(long) = arg.get_long() else { return };
        let mut push = |text: String, resolved: String| {
            self.written.push(text);
            self.resolved.push(resolved);
        };
        if matches!(arg.get_action(), ArgAction::SetTrue) {
            push(format!("--{long}"), format!("--{long}"));
            return;
        }
        let files = arg.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
        let pairs = matches!(id, "input" | "golden");
        for value in matches.get_raw(id).into_iter().flatten() {
            let text = value.to_string_lossy();
            let resolved = match text.split_once('=') {
                Some((name, file)) if pairs => format!("{name}={}", absolute(file)),
                _ if files => absolute(&text),
                _ => text.to_string(),
            };
            push(format!("--{long}={text}"), format!("--{long}={resolved}"));
        }
    }
}

fn absolute(file: &str) -> String {
    let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    path.to_string_lossy().into_owned()
}

/// The limits of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Threads, at least one.
    pub threads: u16,
    /// Most bytes of memory.
    pub memory: Option<u64>,
    /// Time.
    pub timeout: Option<Duration>,
}

impl Limits {
    /// Those of the item go before those of its options.
    fn of(item: &Item, options: &Run) -> Limits {
        Limits {
            threads: item.threads.or(options.threads).unwrap_or(1).max(1),
            memory: item.max_memory.or(options.max_memory),
            timeout: item.timeout.map(Duration::from_secs_f64).or(options.timeout),
        }
    }
}

/// Parses the options of items, equal ones once.
#[derive(Debug)]
pub struct Templates {
    defaults: Defaults,
    known: HashMap<Form, Run>,
}

/// What the options of an item are parsed from: arguments, cores of a rank, ranks.
type Form = (Vec<String>, Option<u32>, Option<u32>);

impl Templates {
    /// Parses on top of these options.
    pub fn new(defaults: Defaults) -> Templates {
        Templates { defaults, known: HashMap::new() }
    }

    /// The options of an item as texts: what its key is made of.
    pub fn written<'a>(&'a self, item: &'a Item) -> [&'a [String]; 2] {
        [&self.defaults.written, &item.args]
    }

    /// The key of an item, from its files.
    pub fn key(&mut self, item: &Item) -> Result<String> {
        let run = self.run(item, Path::new(""))?;
        super::key::of_item(&run, &self.written(item))
    }

    /// The limits of an item.
    pub fn limits(&mut self, item: &Item) -> Result<Limits> {
        Ok(Limits::of(item, self.options(item)?))
    }

    /// The command line of an item. `out` is the folder of its outputs.
    pub fn run(&mut self, item: &Item, out: &Path) -> Result<Run> {
        let mut run = self.options(item)?.clone();
        run.program = item.program.clone();
        run.out = out.to_path_buf();
        let limits = Limits::of(item, &run);
        (run.threads, run.max_memory, run.timeout) = (Some(limits.threads), limits.memory, limits.timeout);
        run.random_inputs = item.random_inputs.or(run.random_inputs);
        match &item.inputs {
            Some(Tensors::Place(p)) => run.inputs = Some(p.clone()),
            Some(Tensors::Files(f)) => run.input.extend(f.iter().map(|(n, p)| (n.clone(), p.clone()))),
            None => {}
        }
        match &item.goldens {
            Some(Tensors::Place(p)) => run.goldens = Some(p.clone()),
            Some(Tensors::Files(f)) => run.golden.extend(f.iter().map(|(n, p)| (n.clone(), p.clone()))),
            None => {}
        }
        Ok(run)
    }

    /// The options that the command line and the item write out.
    fn options(&mut self, item: &Item) -> Result<&Run> {
        let form = (item.args.clone(), item.lnc, item.ranks);
        match self.known.entry(form) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(parse(&self.defaults, item)?)),
        }
    }
}

fn parse(defaults: &Defaults, item: &Item) -> Result<Run> {
    let number = |name: &str, n: Option<u32>| n.map(|n| OsString::from(format!("--{name}={n}")));
    let texts = ["run".into(), "PROGRAM".into()].into_iter();
    let texts = texts.chain(defaults.resolved.iter().map(OsString::from));
    let texts = texts.chain(number("lnc", item.lnc)).chain(number("ranks", item.ranks));
    let texts = texts.chain(item.args.iter().map(OsString::from));
    // A later option replaces an earlier one: items override the command line.
    let command = RunOnly::augment().args_override_self(true);
    let refused =
        |e: clap::Error| crate::usage(&e).err().unwrap_or_else(|| Error::new(Code::F008, "help was asked for"));
    let matches = command.try_get_matches_from(texts).map_err(refused)?;
    let own = |id: &&&str| matches.try_contains_id(id).unwrap_or(false) && given(&matches, id);
    if let Some(id) = OWN.iter().filter(|id| **id != "program").find(own) {
        return Err(Error::new(Code::F008, format!("--{id} is set by the batch")).advice("leave it out of \"args\""));
    }
    if matches.get_many::<PathBuf>("program").is_none_or(|p| p.len() != 1) {
        return Err(Error::new(Code::F008, "options only: programs are named by the key \"program\""));
    }
    RunOnly::from_arg_matches(&matches).map(|r| r.run).map_err(refused)
}

fn given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

impl RunOnly {
    fn augment() -> Command {
        use clap::CommandFactory;
        RunOnly::command()
    }
}

/// Panics when an option of the batch and one of `run` share a name.
#[cfg(test)]
#[derive(Debug, clap::Parser)]
struct OnlyDefaults {
    #[command(flatten)]
    defaults: Defaults,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn defaults(args: &[&str]) -> Defaults {
        let all = std::iter::once("x").chain(args.iter().copied());
        OnlyDefaults::try_parse_from(all).unwrap().defaults
    }

    fn item(args: &[&str]) -> Item {
        let text = serde_json::json!({"program": "p.json", "args": args, "threads": 2}).to_string();
        Item::parse(&text, 1, 0).unwrap().unwrap()
    }

    #[test]
    fn options_come_back_as_they_were_written() {
        let d =
            defaults(&["--strict", "--check", "nan,uninit", "--set", "a=b", "--rtol", "0.5", "--tensor-map", "m.json"]);
        assert_eq!(
            d.written,
            ["--rtol=0.5", "--check=nan", "--check=uninit", "--set=a=b", "--tensor-map=m.json", "--strict"]
        );
        assert!(d.resolved[4].starts_with("--tensor-map=/") && d.resolved[4].ends_with("/m.json"));
    }

    #[test]
    fn an_item_overrides_the_command_line() {
        let mut t = Templates::new(defaults(&["--rtol", "0.5", "--strict"]));
        let run = t.run(&item(&["--rtol", "0.25"]), Path::new("o")).unwrap();
        assert_eq!((run.tolerance.rtol, run.strict, run.threads), (Some(0.25), true, Some(2)));
        assert_eq!(run.program, [PathBuf::from("p.json")]);
    }

    #[test]
    fn what_the_batch_sets_is_refused() {
        let refused = |args: &[&str]| Templates::new(Defaults::default()).run(&item(args), Path::new("o")).unwrap_err();
        assert_eq!(refused(&["--out", "x"]).what(), "--out is set by the batch");
        assert_eq!(refused(&["other.json"]).what(), "options only: programs are named by the key \"program\"");
        assert!(refused(&["--nonsense"]).what().contains("--nonsense"));
        assert!(refused(&["--help"]).what().contains("help"));
    }
}
