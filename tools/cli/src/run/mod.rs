//! `birsim run`: from the command line to the verdict.

mod budget;
mod fills;
mod folder;
mod junit;
mod kept;
mod outputs;
mod paths;
mod progress;
pub mod report;
mod skipped;
pub mod summary;
mod watch;

use crate::args::{MemModeArg, OrderArg, ProfileArg, Progress, Run, ScheduleArg, UnsupportedArg};
use crate::batch::shard;
use crate::limit::AddressSpace;
use crate::program::{self, Kind, Loaded, Source};
use crate::tensors::{Decl, Files, Given, Plan};
use crate::term::{Term, plain, print};
use crate::{guard, interrupt, tensors, usage};
use birsim_engine::ir::Module;
use birsim_engine::{Builder, Check, Cores, IssueOrder, Limits, MemMode, Order, Remark, RunSummary, Simulator};
use birsim_kernels::profile::TensorNames;
use birsim_kernels::{Code, Error, Profile, Result};
use birsim_klr::LowerOptions;
use folder::OutputFolder;
pub use kept::Kept;
use kept::Ready;
use paths::Paths;
use progress::Meter;
pub use report::Record;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Runs the command: prints, writes outputs and report, returns the exit code.
pub fn run(args: &Run, term: &Term) -> i32 {
    let mut record = Record::new(args);
    if let Some(who) = shard::copies(|name| std::env::var(name).ok()) {
        term.warn(&format!(
            "{who}, and all of them write the same files; `birsim batch --shard auto` divides the work"
        ));
    }
    if args.threads == Some(1) {
        crate::limit::to_one_thread();
    }
    let deadline = deadline(args);
    let _watch = interrupt::Watch::start(deadline, last_words(args, term));
    let outcome = guard(|| execute(args, term, &mut record, deadline, &mut Kept::default(), true));
    if let Err(e) = &outcome {
        record.fail(e);
        term.error(e);
        // The report itself may be the file that is needed for two purposes.
        if e.code() == Code::F009 {
            return record.exit_code();
        }
    }
    let mut code = record.exit_code();
    // The run's own failure says more than that of its report.
    let mut failed = |e: Error| {
        term.error(&e);
        code = if code == 0 { e.class().exit_code() } else { code };
    };
    if record.finished {
        print(&summary::text(&record, args, term)).unwrap_or_else(&mut failed);
    }
    for (path, text) in reports(args, &record) {
        guard(|| crate::npy::write_atomic(path, &[text?.as_bytes()])).unwrap_or_else(&mut failed);
    }
    code
}

/// The reports that were asked for.
fn reports<'a>(args: &'a Run, record: &Record) -> impl Iterator<Item = (&'a Path, Result<String>)> {
    let report = args.report.as_deref().map(|path| (path, Ok(record.json(record.exit_code()))));
    let junit = args.junit.as_deref().map(|path| (path, junit::xml(record)));
    report.into_iter().chain(junit)
}

/// What is printed and written when the process has to end in the middle of its work.
fn last_words(args: &Run, term: &Term) -> impl FnOnce(&Error) + Send + 'static {
    let (args, term) = (args.clone(), *term);
    move |e| {
        let mut record = Record::new(&args);
        record.fail(e);
        term.error(e);
        for (path, text) in reports(&args, &record) {
            // There is nobody left to tell.
            let _ = text.and_then(|text| crate::npy::write_atomic(path, &[text.as_bytes()]));
        }
    }
}

/// The end of the time, which starts with the command.
fn deadline(args: &Run) -> Option<Instant> {
    args.timeout.and_then(|t| Instant::now().checked_add(t))
}

/// Runs the command without a verdict, and returns the error that ends it.
pub fn attempt(args: &Run, term: &Term) -> Result<()> {
    execute(args, term, &mut Record::new(args), deadline(args), &mut Kept::default(), true)
}

/// Runs an item of a batch: nothing is printed, and without `write` no output is written.
pub fn item(args: &Run, record: &mut Record, kept: &mut Kept, write: bool) -> Result<()> {
    execute(args, &Term::silent(), record, deadline(args), kept, write)
}

/// Loads, runs, writes outputs and checks goldens. Programs come from `kept` and go back to it.
fn execute(
    args: &Run,
    term: &Term,
    record: &mut Record,
    deadline: Option<Instant>,
    kept: &mut Kept,
    write: bool,
) -> Result<()> {
    let loading = interrupt::unattended("while the program was loaded");
    let paths = Paths::of(args);
    paths.check()?;
    let profile = profile(args)?;
    record.profile(args.profile, &profile);
    let sources = args.program.iter().map(|p| Source::read(p)).collect::<Result<Vec<Source>>>()?;
    let mut ready = kept.ready(&sources, || load(args, term, &sources, record))?;
    drop(loading);
    // The text of a large program is not needed any more.
    let folders = sources.into_iter().map(|s| s.folder).collect();
    let job =
        Job { args, term, deadline, profile, folders, write, stays: kept.machine_stays(args), worker: kept.keeps() };
    let spare = if ready.sim.is_none() { kept.spare() } else { None };
    let outcome = job.simulate(&mut ready, spare, paths, record);
    kept.put(ready);
    outcome
}

/// What a run of a loaded program needs.
struct Job<'a> {
    args: &'a Run,
    term: &'a Term,
    deadline: Option<Instant>,
    profile: Profile,
    /// Folders of the program's files.
    folders: Vec<PathBuf>,
    /// Outputs are written.
    write: bool,
    /// The machine serves later runs.
    stays: bool,
    /// The run is an item of a batch.
    worker: bool,
}

impl Job<'_> {
    /// The machine with the program on it: the one of its last run, reset, or a new one, made of a spare one if there is any.
    fn machine(&self, ready: &mut Ready, spare: Option<Cores>, builder: &Builder) -> Result<Cores> {
        let used = ready.sim.take().and_then(|mut sim| sim.reset(builder).then_some(sim));
        match (used, spare) {
            (Some(sim), _) => Ok(sim),
            (None, Some(spare)) => spare.reload(builder, &ready.loaded.modules),
            (None, None) => Cores::load(builder, &ready.loaded.modules),
        }
    }

    fn simulate(&self, ready: &mut Ready, spare: Option<Cores>, mut paths: Paths, record: &mut Record) -> Result<()> {
        let &Job { args, term, profile, .. } = self;
        let loading = interrupt::unattended("while the program was loaded");
        ready.remarks.iter().for_each(|(code, text)| record.warning(*code, text.clone()));
        record.engines = usage::engines(&ready.loaded.modules);

        let counter = Arc::new(AtomicU64::new(0));
        let limits = limits(args, self.deadline, &counter);
        let mut builder = builder(args, profile, &limits);
        if let Some(dir) = &args.pwp_tables {
            builder = builder.pwp_tables(birsim_kernels::activation::pwp::Tables::load(dir)?);
        }
        if let Some(fill) = args.fill.first() {
            builder = builder.fill(*fill);
        }
        let unwatched = builder.clone();
        let trace = watch::Trace::prepare(args)?;
        builder = watch::configure(builder, args, trace.as_ref())?;
        let mut sim = self.machine(ready, spare, &builder)?;
        let (modules, confined) = (&ready.loaded.modules, ready.loaded.kind == Kind::Klr);
        let decls = declarations(&sim, modules, &profile);
        let inputs = inputs(args, &decls, &self.folders, confined)?;
        let goldens =
            Given { named: &args.golden, positional: &args.output_files, collection: args.goldens.as_deref() };
        let goldens = Plan::goldens(&decls, &goldens)?;
        watch::check_dumps(args, &decls)?;
        paths.tensors(args, &decls, &inputs, &goldens);
        paths.check()?;
        paths::one_core_per_output(&sim, modules, &decls)?;
        let _files = budget::check(args, &limits, &decls, &inputs, &goldens)?;
        {
            let _reading = interrupt::unattended("while inputs were read");
            bind(&mut sim, &limits, modules, &decls, &inputs, record)?;
        }
        let folder = self.write.then(|| OutputFolder::prepare(&args.out)).transpose()?;

        trace.as_ref().map_or(Ok(()), watch::Trace::open)?;
        drop(loading);
        let progress = if args.quiet { Progress::Never } else { args.progress };
        let meter = Meter::start(progress, &record.program, Arc::clone(&counter));
        // In a batch, other items depend on the memory that a worker leaves; a single run may take all that there is.
        let bound = args
            .max_memory
            .filter(|_| self.worker)
            .and_then(|most| AddressSpace::bound(most.saturating_add(sim.declared())));
        // A panic inside the machine must not cost the statistics.
        let ran = guard(|| sim.run());
        drop(bound);
        drop(meter);
        let names = profile.meta_names;
        let watched = guard(|| watch::finish(args, &mut sim, &decls, names, trace, record, ran.is_ok()));
        if !args.dump.is_empty() {
            folder.iter().for_each(OutputFolder::keep);
        }
        // After a fault a dump is what one looks at; the fault stays the outcome.
        match (watched, &ran) {
            (Err(e), Ok(_)) => return Err(e),
            (Err(e), Err(_)) => term.warn(e.what()),
            _ => {}
        }
        let finding = match ran {
            Ok(summaries) => {
                device_prints(&summaries, &sim)?;
                record.summary(&summaries, &sim);
                None
            }
            Err(e) => {
                let e = e.at(|p| p.file = Some(record.program.clone()));
                if let Ok(summaries) = guard(|| Ok(sim.summaries())) {
                    device_prints(&summaries, &sim)?;
                    record.summary(&summaries, &sim);
                }
                // Checkers speak when everything has run, so there are outputs.
                if e.code() != Code::S017 {
                    return Err(e);
                }
                // The error tells the first finding.
                record.findings().skip(1).for_each(|f| term.warn(&f));
                Some(e)
            }
        };
        says_nothing(args, record);
        if args.fill.len() > 1 {
            let others = watch::configure(unwatched, args, None)?;
            fills::same(args, (&others, &limits), modules, &decls, &inputs, &sim)?;
        }
        record.warnings(args.quiet).for_each(|w| term.warn(w));
        outputs::outputs(args, &profile, (&sim, &limits), &decls, &goldens, folder.as_ref(), record)?;
        record.finished = true;
        finding.map_or(Ok(()), Err)?;
        let verdict = skipped::verdict(args, modules, record);
        ready.sim = Some(sim).filter(|_| self.stays);
        verdict
    }
}

/// Says which checks and seeds had nothing to look at, so that nobody takes their silence for a result.
fn says_nothing(args: &Run, record: &mut Record) {
    if record.order != Some("program") {
        return;
    }
    let race = args.check.contains(&Check::Race).then(|| "--check race".to_string());
    let seed = args.schedule_seed.map(|n| format!("--schedule-seed {n}"));
    for option in [race, seed].into_iter().flatten() {
        let text = format!("{option} says nothing here: the program runs in list order, in which nothing can race");
        record.warning(Remark::SaysNothing, text);
    }
}

/// How KLR kernels are lowered.
pub fn lower_options(args: &Run) -> LowerOptions {
    LowerOptions {
        arch: args.target.map(|t| t.arch()),
        strict: args.strict,
        accept_abstract: args.accept_abstract,
        device_dump: args.device_dump,
        replica_groups: args.rank.replica_group.clone(),
    }
}

/// Most errors of one kernel that are printed.
const MAX_ERRORS: usize = 20;

/// Loads the program. The gravest error ends the run; all others are printed here.
fn load(args: &Run, term: &Term, sources: &[Source], record: &mut Record) -> Result<Loaded> {
    let mut errors = match program::load_ranks(sources, &lower_options(args), args.rank.lnc) {
        Ok(loaded) => {
            let mut broken =
                if args.strict { program::device_faults(&loaded.modules, args.target)? } else { Vec::new() };
            broken.extend(Cores::obstacles(&args.rank.apply(Simulator::builder()), &loaded.modules));
            if broken.is_empty() {
                return Ok(loaded);
            }
            broken
        }
        Err(errors) => errors,
    };
    program::gravest_last(&mut errors);
    let gravest = errors.pop().unwrap_or_else(|| Error::new(Code::B001, "loading failed without an error"));
    if errors.len() > MAX_ERRORS {
        term.warn(&format!("{} further errors are in the report only", errors.len() - MAX_ERRORS));
    }
    for (k, e) in errors.iter().enumerate() {
        record.error(e);
        if k < MAX_ERRORS {
            term.error(e);
        }
    }
    Err(gravest)
}

/// The profile of the run: a preset with single changes on top.
fn profile(args: &Run) -> Result<Profile> {
    let mut profile = match args.profile {
        ProfileArg::Reference => Profile::reference(),
        ProfileArg::Device => Profile::device(),
    };
    for (field, value) in &args.set {
        profile.set(field, value)?;
    }
    Ok(profile)
}

/// The limits of the run. The machine and this command count memory in one account.
fn limits(args: &Run, deadline: Option<Instant>, counter: &Arc<AtomicU64>) -> Limits {
    Limits {
        max_memory: args.max_memory,
        max_instructions: args.max_instructions,
        deadline,
        progress: Some(Arc::clone(counter)),
        cancel: Some(interrupt::flag()),
        ..Limits::default()
    }
}

fn builder(args: &Run, profile: Profile, limits: &Limits) -> Builder {
    let mut builder = Simulator::builder()
        .order(match args.order {
            OrderArg::Auto => Order::Auto,
            OrderArg::Sync => Order::Sync,
            OrderArg::Program => Order::Program,
        })
        .schedule(match (args.schedule_seed, args.schedule) {
            (Some(seed), _) => IssueOrder::Seeded(seed),
            (None, ScheduleArg::Window) => IssueOrder::Window,
            (None, ScheduleArg::Reference) => IssueOrder::Reference,
        })
        .mem_mode(match args.mem_mode {
            MemModeArg::Auto => MemMode::Auto,
            MemModeArg::Symbolic => MemMode::Symbolic,
            MemModeArg::Physical => MemMode::Physical,
        })
        .profile(profile)
        .limits(limits.clone())
        .strict(args.strict)
        .print_all(args.device_print_full)
        .unsupported_is_error(args.unsupported == Some(UnsupportedArg::Error));
    builder = args.rank.apply(builder);
    if let Some(target) = args.target {
        builder = builder.target(target);
    }
    if let Some(threads) = args.threads {
        builder = builder.threads(usize::from(threads));
    }
    if let Some(seed) = args.seed {
        builder = builder.seed(seed);
    }
    builder
}

/// The tensors of the entry function: formals of other functions are never bound from outside.
fn declarations(sim: &Cores, modules: &[Module], profile: &Profile) -> Vec<Decl> {
    let by_set = profile.tensor_names == TensorNames::LocationOrSet;
    let own = usage::entry_sets(modules);
    let ranks = sim.ranks();
    let all = (0..ranks).flat_map(|rank| sim.tensors_of(rank).into_iter().map(move |t| (rank, t)));
    let mine = all.filter(|(_, t)| own.contains(t.set.as_str()));
    mine.map(|(rank, t)| Decl {
        rank: (ranks > 1).then_some(rank),
        name: t.name.clone(),
        set: t.set.clone(),
        by_set,
        kind: t.kind,
        dtype: t.dtype,
        shape: t.shape.clone(),
        file: t.file.clone(),
    })
    .collect()
}

/// Where the inputs come from.
fn inputs(args: &Run, decls: &[Decl], own: &[PathBuf], confined: bool) -> Result<Plan> {
    let given = Given { named: &args.input, positional: &args.input_files, collection: args.inputs.as_deref() };
    let mut folders: Vec<&Path> =
        args.constants.as_deref().into_iter().chain(own.iter().map(PathBuf::as_path)).collect();
    folders.dedup();
    let files = Files { folders: &folders, confined };
    Plan::inputs(decls, &given, args.random_inputs, &files)
}

fn bind(
    sim: &mut Cores,
    limits: &Limits,
    modules: &[Module],
    decls: &[Decl],
    plan: &Plan,
    record: &mut Record,
) -> Result<()> {
    let used = usage::Usage::of(modules);
    for (decl, origin) in decls.iter().zip(&plan.origins) {
        match origin {
            Some(origin) => {
                // The machine counts the bytes once it has them.
                let reading = limits.hold(decl.bytes())?;
                let bytes = origin.load(decl)?;
                drop(reading);
                sim.give_rank(decl.rank.unwrap_or(0), &decl.name, bytes)?;
                record.inputs.push((decl.label(), tensors::origin_text(origin)));
            }
            None if used.needs(decl) => {
                return Err(Error::new(Code::F005, format!("the program reads {}, which nothing binds", decl.name))
                    .received(format!("{} {} {}", decl.kind, decl.dtype, crate::npy::shape_text(&decl.shape)))
                    .at(|p| p.tensor = Some(decl.name.clone())));
            }
            None => {}
        }
    }
    Ok(())
}

/// What the program itself prints goes where it says.
fn device_prints(summaries: &[RunSummary], sim: &Cores) -> Result<()> {
    for (core, summary) in sim.cores().iter().zip(summaries) {
        let who = if summaries.len() > 1 { format!("{}: ", core.label()) } else { String::new() };
        for p in &summary.prints {
            let text = plain(&p.text);
            if p.stderr {
                // A closed stderr is not a reason to stop.
                let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{who}{text}\n"));
            } else {
                print(&format!("{who}{text}\n"))?;
            }
        }
    }
    Ok(())
}
