//! A worker: reads items from standard input, runs them one after the other, answers on standard output.
//!
//! It outlives its items, so that programs, thread pool and arenas serve many of them. A panic becomes the status `bug` and
//! the worker goes on. It ends when its input ends: a supervisor that dies takes its workers along.

use super::key;
use super::line::{Line, Status};
use super::manifest::Item;
use super::options::Templates;
use super::wire::{Job, Reply, Setup};
use crate::npy::encode_name;
use crate::run::{self, Kept, Record};
use birsim_kernels::{Code, Error, Result};
use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Instant;

/// Runs until the input ends.
pub fn serve() -> Result<i32> {
    let mut answers = private_output()?;
    follow_the_supervisor();
    // One thread is the ordinary case.
    crate::limit::to_one_thread();
    let mut lines = std::io::stdin().lock().lines();
    let Some(Ok(first)) = lines.next() else { return Ok(0) };
    let setup: Setup = serde_json::from_str(&first).map_err(|e| broken(&e))?;
    std::env::set_current_dir(&setup.folder)
        .map_err(|e| Error::new(Code::F001, format!("cannot enter the folder of the manifest: {e}")))?;
    let mut worker = Worker { templates: Templates::new(setup.defaults.clone()), setup, kept: Kept::default() };
    let resident = Resident::open();
    while let Some(Ok(text)) = lines.next() {
        let job: Job = serde_json::from_str(&text).map_err(|e| broken(&e))?;
        let line = worker.item(&job.item);
        let mut reply = serde_json::to_vec(&Reply { line, resident: resident.bytes() }).map_err(|e| broken(&e))?;
        // One write, which wakes the supervisor once. One that no longer listens has ended.
        reply.push(b'\n');
        if answers.write_all(&reply).is_err() {
            break;
        }
    }
    Ok(0)
}

struct Worker {
    setup: Setup,
    templates: Templates,
    kept: Kept,
}

impl Worker {
    fn item(&mut self, item: &Item) -> Line {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let out = self.setup.out.join(encode_name(&item.id));
        let mut line = match self.templates.run(item, &out) {
            Ok(args) => self.run(&args, item),
            Err(e) => Line {
                error: Some(super::line::Failure::of(&e)),
                ..Line::lost(Status::of(&e), e.class().exit_code(), String::new())
            },
        };
        line.index = item.index;
        line.id.clone_from(&item.id);
        let code = line.error.as_ref().and_then(|e| e.code.as_deref());
        line.as_expected = item.expects(line.status, code);
        line.stats.wall_s = start.elapsed().as_secs_f64();
        line.stats.cpu_s = cpu_seconds() - cpu;
        line
    }

    fn run(&mut self, args: &crate::args::Run, item: &Item) -> Line {
        let mut record = Record::new(args);
        record.hashes = true;
        self.kept.begin(format!("{:?} {:?} {:?} {:?}", item.args, item.lnc, item.ranks, args.threads));
        let outcome = crate::guard(|| {
            injected(&item.id);
            run::item(args, &mut record, &mut self.kept, self.setup.outputs)
        });
        if let Err(e) = &outcome {
            record.fail(e);
            if e.code() == Code::B001 {
                // What a panic left behind is not to be trusted.
                self.kept = Kept::default();
            }
        }
        let mut line = Line::of_record(&record, &self.setup.out);
        line.stats.peak_bytes = record.touched;
        let written = self.templates.written(item);
        if let Some(program) = self.kept.last() {
            line.key = key::of_run(args, &written, &program.hash, &program.files);
        } else {
            line.key = key::of_item(args, &written).unwrap_or_default();
        }
        line
    }
}

/// Faults for tests: the worker panics at the item that a variable names.
#[cfg(debug_assertions)]
fn injected(id: &str) {
    if std::env::var("BIRSIM_TEST_PANIC").is_ok_and(|ids| ids.split(',').any(|i| i == id)) {
        panic!("asked for by BIRSIM_TEST_PANIC");
    }
}

#[cfg(not(debug_assertions))]
fn injected(_: &str) {}

/// Standard output under a number of its own; what programs print goes nowhere, so that nothing disturbs the answers.
fn private_output() -> Result<File> {
    let failed = |e: std::io::Error| Error::new(Code::F007, format!("cannot set up the worker's output: {e}"));
    let own = rustix::io::dup(std::io::stdout()).map_err(|e| failed(e.into()))?;
    let null = File::options().write(true).open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(|e| failed(e.into()))?;
    Ok(File::from(own))
}

/// A worker must not outlive its supervisor, even one that is stopped or busy.
#[cfg(target_os = "linux")]
fn follow_the_supervisor() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Elsewhere the worker looks now and then whether it has been given to another parent.
#[cfg(not(target_os = "linux"))]
fn follow_the_supervisor() {
    let parent = rustix::process::getppid();
    std::thread::spawn(move || {
        while rustix::process::getppid() == parent {
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        std::process::exit(0);
    });
}

fn broken(e: &serde_json::Error) -> Error {
    Error::new(Code::B001, format!("supervisor and worker do not understand each other: {e}"))
}

/// CPU seconds of this process.
fn cpu_seconds() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// The system's account of this process's memory, open as long as the worker runs.
struct Resident(Option<File>);

impl Resident {
    fn open() -> Resident {
        Resident(File::open("/proc/self/statm").ok())
    }

    /// Resident bytes; 0 where the system does not say.
    #[cfg(unix)]
    fn bytes(&self) -> u64 {
        use std::os::unix::fs::FileExt;
        let mut text = [0; 128];
        let read = self.0.as_ref().and_then(|f| f.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or_default();
        let pages: Option<u64> = text.split_whitespace().nth(1).and_then(|n| n.parse().ok());
        pages.unwrap_or(0) * rustix::param::page_size() as u64
    }

    #[cfg(not(unix))]
    fn bytes(&self) -> u64 {
        0
    }
}
