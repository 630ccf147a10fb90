//! `birsim batch`: many programs in one command.
//!
//! A supervisor hands items to worker processes of the same binary over pipes, one item at a time each. Processes, not
//! threads, because an item may crash, hang or eat memory, and must not take others along. See README.md in this folder.

mod args;
mod crew;
mod junit;
pub mod key;
mod line;
mod mailbox;
mod manifest;
mod merge;
mod options;
mod progress;
mod queue;
mod results;
pub mod shard;
mod supervisor;
mod tally;
mod wire;
mod worker;

pub use args::Batch;
pub use worker::serve;

use crate::interrupt;
use crate::term::{Term, print};
use birsim_kernels::{Code, Error, Result};
use globset::{GlobBuilder, GlobMatcher};
use line::Line;
use manifest::Item;
use options::Templates;
use progress::Meter;
use rayon::prelude::*;
use results::{Existing, Results};
use shard::{Given, Shard};
use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Instant;
use supervisor::{Ending, Event, Plan, Supervisor};
use tally::Tally;
use wire::Setup;

/// The command that starts a worker; users do not call it.
pub const WORKER: &str = "batch-worker";

/// Runs the command; returns the exit code.
pub fn run(args: &Batch, term: &Term) -> Result<i32> {
    if !args.merge.is_empty() {
        return merged(args, term);
    }
    // From now on an interrupt lets running items end.
    interrupt::flag();
    let manifest = args.manifest.clone().unwrap_or_default();
    let streaming = manifest.as_os_str() == "-";
    let selection = Selection::of(args)?;
    let files = Files::of(args, &manifest, selection.shard)?;
    let plan = Plan {
        jobs: args.jobs.map_or_else(cpus, usize::from),
        retries: args.retries,
        max_fail: args.max_fail.map(|n| n as usize),
        setup: Setup {
            folder: files.folder.clone(),
            out: files.out.clone(),
            outputs: !args.no_outputs,
            defaults: args.defaults.clone(),
        },
    };
    if streaming {
        enter(&files.folder)?;
        return stream(args, term, &plan, &files, selection);
    }
    let items = match checked(&manifest, &args.defaults, &files.folder) {
        Ok(items) => items.into_iter().filter(|i| selection.has(i)).collect::<Vec<Item>>(),
        Err(errors) => return refuse(errors, term),
    };
    if args.list {
        print(&items.iter().map(|i| format!("{}\n", i.id)).collect::<String>())?;
        return Ok(0);
    }
    whole(args, term, &plan, &files, items)
}

/// Runs the items of a manifest.
fn whole(args: &Batch, term: &Term, plan: &Plan, files: &Files, items: Vec<Item>) -> Result<i32> {
    let start = Instant::now();
    let (mut results, earlier) = Results::open(&files.results, existing(args))?;
    let (mut lines, fresh) = reuse(args, plan, items, earlier);
    results.restart(&lines)?;
    let mut tally = Tally::default();
    lines.iter().for_each(|l| tally.add(l));
    let mut supervisor = Supervisor::new(plan);
    let mut left = fresh.len();
    let mut meter =
        Meter::new(if args.quiet { crate::args::Progress::Never } else { args.progress }, Some(tally.total + left));
    for item in fresh {
        supervisor.add(item)?;
    }
    let ending = supervisor.run(|line| {
        results.add(&line)?;
        tally.add(&line);
        left = left.saturating_sub(1);
        meter.show(&tally, left);
        lines.push(line);
        Ok(())
    })?;
    drop(meter);
    lines.sort_by_key(|l| l.index);
    results.restart(&lines)?;
    conclude(args, term, files, &lines, &tally, ending, start)
}

/// Runs items from standard input as they come.
fn stream(args: &Batch, term: &Term, plan: &Plan, files: &Files, selection: Selection) -> Result<i32> {
    let start = Instant::now();
    let mut results = match &args.results {
        None => None,
        Some(_) => {
            let (mut results, _) = Results::open(&files.results, existing(args))?;
            results.restart(&[])?;
            Some(results)
        }
    };
    let mut supervisor = Supervisor::new(plan);
    let source = supervisor.source();
    std::thread::spawn(move || {
        read_items(&selection, |event| source.send(event));
        source.send(Event::NoMore);
    });
    let (mut tally, mut lines) = (Tally::default(), Vec::new());
    let ending = supervisor.run(|line| {
        tally.add(&line);
        match &mut results {
            Some(results) => results.add(&line)?,
            None => print(&line.text())?,
        }
        if args.junit.is_some() || results.is_some() {
            lines.push(line);
        }
        Ok(())
    })?;
    lines.sort_by_key(|l: &Line| l.index);
    if let Some(results) = &mut results {
        results.restart(&lines)?;
    }
    conclude(args, term, files, &lines, &tally, ending, start)
}

/// Reads standard input line by line. A wrong line is a result of its own: those before and after it do not suffer.
fn read_items(selection: &Selection, mut send: impl FnMut(Event)) {
    let (mut index, mut ids) = (0, HashSet::new());
    for (k, text) in std::io::stdin().lock().lines().enumerate() {
        let Ok(text) = text else { return };
        let item = match Item::parse(&text, k + 1, index) {
            Ok(None) => continue,
            Ok(Some(item)) if !ids.insert(item.id.clone()) => Err(line_error(
                Error::new(Code::F010, "two items have one id").received(format!("{:?}", item.id)),
                k + 1,
                index,
            )),
            Ok(Some(item)) if !selection.has(&item) => {
                index += 1;
                continue;
            }
            Ok(Some(item)) => Ok(item),
            Err(e) => Err(line_error(e, k + 1, index)),
        };
        index += 1;
        send(Event::Item(Box::new(item)));
    }
}

/// The result of a line that is no item, under the number of the line.
fn line_error(e: Error, number: usize, index: usize) -> Line {
    let e = e.at(|p| p.file = Some(format!("standard input:{number}")));
    let mut line = Line::lost(line::Status::Invalid, 2, String::new());
    (line.id, line.index, line.error) = (number.to_string(), index, Some(line::Failure::of(&e)));
    line
}

/// Summary, JUnit, report; returns the exit code.
fn conclude(
    args: &Batch,
    term: &Term,
    files: &Files,
    lines: &[Line],
    tally: &Tally,
    ending: Ending,
    start: Instant,
) -> Result<i32> {
    let code = match tally {
        _ if ending.interrupted => interrupt::INTERRUPTED,
        t if t.bugs > 0 => 70,
        t => i32::from(t.unexpected > 0),
    };
    let wall = start.elapsed();
    if let Some(path) = &files.junit {
        crate::npy::write_atomic(path, &[junit::xml(lines, wall)?.as_bytes()])?;
    }
    if let Some(path) = &files.report {
        crate::npy::write_atomic(path, &[format!("{:#}\n", tally.json(wall, ending, code)).as_bytes()])?;
    }
    let text = tally.text(wall, ending, args.quiet, term);
    // Standard output may hold the results themselves.
    if files.results_on_stdout {
        use std::io::Write;
        let _ = std::io::stderr().write_all(text.as_bytes());
    } else {
        print(&text)?;
    }
    Ok(code)
}

/// Lines of an earlier batch that still hold, and the items that remain.
fn reuse(args: &Batch, plan: &Plan, items: Vec<Item>, earlier: Vec<Line>) -> (Vec<Line>, Vec<Item>) {
    let earlier: HashMap<String, Line> = earlier.into_iter().map(|l| (l.id.clone(), l)).collect();
    if earlier.is_empty() {
        return (Vec::new(), items);
    }
    let defaults = &plan.setup.defaults;
    let judged: Vec<(Item, Option<Line>)> = items
        .into_par_iter()
        .map_init(
            || Templates::new(defaults.clone()),
            |templates, item| {
                let line = earlier.get(&item.id).filter(|l| holds(l, &item, templates, &plan.setup));
                let line = line.map(|l| merge::adopted(l.clone(), &item));
                let line = line.filter(|l| l.as_expected || args.rerun.is_none());
                (item, line)
            },
        )
        .collect();
    let (mut lines, mut fresh) = (Vec::new(), Vec::new());
    for (item, line) in judged {
        match line {
            Some(mut line) => {
                line.stats.reused = true;
                lines.push(line);
            }
            None => fresh.push(item),
        }
    }
    (lines, fresh)
}

/// The result was made from the same bytes, and its outputs are there if outputs are wanted.
fn holds(line: &Line, item: &Item, templates: &mut Templates, setup: &Setup) -> bool {
    let there = |f: &String| setup.out.join(f).is_file();
    let outputs = !setup.outputs || line.outputs.iter().all(|o| o.file.as_ref().is_some_and(there));
    outputs && !line.key.is_empty() && templates.key(item).is_ok_and(|k| k == line.key)
}

/// `--merge`.
fn merged(args: &Batch, term: &Term) -> Result<i32> {
    let start = Instant::now();
    let manifest = args.of.clone().unwrap_or_default();
    let files = Files::of(args, &manifest, None)?;
    let text = read_manifest(&manifest)?;
    let items = match manifest::read_all(&text, &manifest.display().to_string()) {
        Ok(items) => items,
        Err(errors) => return refuse(errors, term),
    };
    let lines = match merge::merge(&args.merge, &items) {
        Ok(lines) => lines,
        Err(errors) => return refuse(errors, term),
    };
    let (mut results, _) = Results::open(&files.results, existing(args))?;
    results.restart(&lines)?;
    let mut tally = Tally::default();
    lines.iter().for_each(|l| tally.add(l));
    conclude(args, term, &files, &lines, &tally, Ending::default(), start)
}

/// The items of a manifest; or everything that is wrong with any of them.
fn checked(manifest: &Path, defaults: &options::Defaults, folder: &Path) -> Result<Vec<Item>, Vec<Error>> {
    let text = read_manifest(manifest).map_err(|e| vec![e])?;
    let name = manifest.display().to_string();
    let mut items = manifest::read_all(&text, &name)?;
    // Paths of the command line are settled; those of the manifest start from its folder.
    enter(folder).map_err(|e| vec![e])?;
    let mut templates = Templates::new(defaults.clone());
    let mut errors = Vec::new();
    let mut known: HashMap<PathBuf, bool> = HashMap::new();
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.trim().starts_with('#'));
    for item in &mut items {
        let number = lines.next().map_or(0, |(k, _)| k + 1);
        let at =
            |e: Error, key: &str| e.at(|p| (p.file, p.operand) = (Some(format!("{name}:{number}")), Some(key.into())));
        if let Err(e) = templates.limits(item) {
            errors.push(at(e, "args"));
        }
        for file in &item.program {
            if !*known.entry(file.clone()).or_insert_with(|| file.exists()) {
                errors.push(at(Error::new(Code::F001, "there is no such program").received(file.display()), "program"));
            }
        }
    }
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

fn read_manifest(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| {
        Error::new(Code::F001, format!("cannot read the manifest: {e}"))
            .at(|p| p.file = Some(path.display().to_string()))
    })
}

fn enter(folder: &Path) -> Result<()> {
    std::env::set_current_dir(folder)
        .map_err(|e| Error::new(Code::F001, format!("cannot enter the folder of the manifest: {e}")))
}

/// Prints all errors but the last, which ends the command.
fn refuse(mut errors: Vec<Error>, term: &Term) -> Result<i32> {
    const MOST: usize = 20;
    let Some(last) = errors.pop() else { return Ok(0) };
    let surplus = errors.len().saturating_sub(MOST);
    errors.truncate(MOST);
    errors.iter().for_each(|e| term.error(e));
    if surplus > 0 {
        term.warn(&format!("{surplus} further errors are not shown"));
    }
    Err(last)
}

fn existing(args: &Batch) -> Existing {
    match (args.resume, args.overwrite) {
        (true, _) => Existing::Resume,
        (_, true) => Existing::Overwrite,
        _ => Existing::Refuse,
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Files of the batch itself, absolute.
struct Files {
    folder: PathBuf,
    out: PathBuf,
    results: PathBuf,
    results_on_stdout: bool,
    junit: Option<PathBuf>,
    report: Option<PathBuf>,
}

impl Files {
    fn of(args: &Batch, manifest: &Path, shard: Option<Shard>) -> Result<Files> {
        let absolute = |p: &Path| {
            std::path::absolute(p).map_err(|e| {
                Error::new(Code::F007, format!("the path cannot be used: {e}"))
                    .at(|pl| pl.file = Some(p.display().to_string()))
            })
        };
        let streaming = manifest.as_os_str() == "-";
        let parent = manifest.parent().filter(|p| !streaming && !p.as_os_str().is_empty());
        let name = match shard {
            Some(s) => format!("results.{}-of-{}.jsonl", s.part, s.of),
            None => "results.jsonl".to_string(),
        };
        Ok(Files {
            folder: absolute(parent.unwrap_or(Path::new(".")))?,
            out: absolute(&args.out)?,
            results: absolute(&args.results.clone().unwrap_or_else(|| args.out.join(name)))?,
            results_on_stdout: streaming && args.results.is_none(),
            junit: args.junit.as_deref().map(absolute).transpose()?,
            report: args.report.as_deref().map(absolute).transpose()?,
        })
    }
}

/// Which items run.
struct Selection {
    globs: Vec<GlobMatcher>,
    tags: Vec<String>,
    shard: Option<Shard>,
}

impl Selection {
    fn of(args: &Batch) -> Result<Selection> {
        let glob = |text: &String| {
            let built = GlobBuilder::new(text).literal_separator(false).build();
            built
                .map(|g| g.compile_matcher())
                .map_err(|e| Error::new(Code::F008, format!("--filter takes a glob: {e}")))
        };
        let shard = match args.shard {
            None => None,
            Some(Given::Shard(s)) => Some(s),
            Some(Given::Auto) => Some(shard::detect(|name| std::env::var(name).ok())?),
        };
        Ok(Selection { globs: args.filter.iter().map(glob).collect::<Result<_>>()?, tags: args.tag.clone(), shard })
    }

    fn has(&self, item: &Item) -> bool {
        let id = self.globs.is_empty() || self.globs.iter().any(|g| g.is_match(&item.id));
        let tag = self.tags.is_empty() || self.tags.iter().any(|t| item.tags.contains(t));
        id && tag && self.shard.is_none_or(|s| s.has(item.index))
    }
}
