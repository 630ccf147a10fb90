//! Progress of long runs, on stderr.

use crate::args::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs shorter than this show nothing unless asked.
const QUIET: Duration = Duration::from_millis(800);

/// Shows progress until it is dropped.
pub struct Meter {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    /// Starts showing `count` as the number of instructions executed.
    pub fn start(when: Progress, program: &str, count: Arc<AtomicU64>) -> Meter {
        let terminal = std::io::stderr().is_terminal();
        let wanted = match when {
            Progress::Never => false,
            Progress::Auto => terminal,
            Progress::Always => true,
        };
        if !wanted {
            return Meter { stop: None, thread: None };
        }
        let (stop, stopped) = channel();
        let program = program.to_string();
        let first = if when == Progress::Always { Duration::ZERO } else { QUIET };
        // Without a thread there is no progress display; the run itself does not need one.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            let start = Instant::now();
            let mut wait = first;
            let mut bar = None;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = Duration::from_millis(if terminal { 100 } else { 1000 });
                let n = count.load(Ordering::Relaxed);
                let line = line(&program, n, start.elapsed());
                if terminal {
                    bar.get_or_insert_with(spinner).set_message(line);
                } else {
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        Meter { stop: Some(stop), thread: thread.ok() }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::default_spinner());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn line(program: &str, instructions: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    // A rate over no time at all says nothing.
    let rate = match instructions as f64 / seconds {
        rate if seconds >= 0.5 => format!(", {}/s", crate::run::summary::short(rate)),
        _ => String::new(),
    };
    format!("running {program}: {instructions} instructions, {seconds:.0} s{rate}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_count_time_and_rate() {
        assert_eq!(line("p", 10, Duration::ZERO), "running p: 10 instructions, 0 s");
        assert_eq!(line("p", 5_000_000, Duration::from_secs(2)), "running p: 5000000 instructions, 2 s, 2.50 M/s");
    }
}
