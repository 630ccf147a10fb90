//! Progress of a batch, on stderr: counts by status, rate, time left. A bar on a terminal, a line every five seconds
//! elsewhere.

use super::tally::Tally;
use crate::args::Progress;
use crate::run::summary::{duration, short};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(5);

/// Shows progress until it is dropped.
pub struct Meter {
    bar: Option<ProgressBar>,
    lines: bool,
    start: Instant,
    last: Instant,
}

impl Meter {
    /// Starts at nothing of `total` items; of a number that is not known yet when there is none.
    pub fn new(when: Progress, total: Option<usize>) -> Meter {
        let terminal = std::io::stderr().is_terminal();
        let on = when != Progress::Never;
        let bar = (on && terminal).then(|| {
            let bar = match total {
                Some(n) => ProgressBar::new(n as u64),
                None => ProgressBar::no_length(),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}");
            style.map_or(bar.clone(), |s| bar.clone().with_style(s))
        });
        let now = Instant::now();
        Meter { bar, lines: on && !terminal, start: now, last: now }
    }

    /// Shows the counts so far; `left` items wait or run.
    pub fn show(&mut self, tally: &Tally, left: usize) {
        let elapsed = self.start.elapsed().as_secs_f64();
        if let Some(bar) = &self.bar {
            bar.set_position(tally.total as u64);
            bar.set_message(message(tally, left, elapsed));
        } else if self.lines && self.last.elapsed() >= PAUSE {
            self.last = Instant::now();
            let text = format!("{} of {}: {}", tally.total, tally.total + left, message(tally, left, elapsed));
            // A closed stderr is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn message(tally: &Tally, left: usize, elapsed: f64) -> String {
    let rate = tally.total as f64 / elapsed.max(1e-9);
    let rest = if rate > 0.0 { format!(", {} left", duration(left as f64 / rate)) } else { String::new() };
    format!("{}, {}/s{rest}", tally.counts(), short(rate))
}

#[cfg(test)]
mod tests {
    use super::super::line::{Line, Status};
    use super::*;

    #[test]
    fn a_message_tells_counts_rate_and_time_left() {
        let mut tally = Tally::default();
        tally.add(&Line::lost(Status::Timeout, 3, "x".into()));
        tally.add(&Line::lost(Status::Crash, 137, "x".into()));
        assert_eq!(message(&tally, 8, 2.0), "timeout 1, crash 1, 1/s, 8.00 s left");
    }
}
