//! The worker processes: starting them, asking them, and ending those that do not answer.
//!
//! Each worker has a thread in the supervisor that waits for its answers. A worker that hangs therefore blocks this thread only;
//! killing the worker ends the wait.

use super::line::{Line, Status};
use super::mailbox::Mailbox;
use super::wire::{Job, Reply, Setup};
use birsim_kernels::{Code, Error, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempDir;

/// What a worker's thread reports.
#[derive(Debug)]
pub enum Answer {
    /// The worker's result.
    Done(Box<Reply>),
    /// The worker is gone.
    Gone(String, Option<i32>),
}

/// A running worker.
pub struct Worker {
    /// Number of the worker, counted over the batch.
    pub number: usize,
    child: Arc<Mutex<Child>>,
    input: Arc<Mutex<ChildStdin>>,
    thread: JoinHandle<()>,
    /// Where it keeps temporary files. A worker that is killed cannot remove them itself.
    _temporary: TempDir,
}

impl Worker {
    /// Starts a worker. Its answers go to `answers`, as `wrap` makes them of its number and what it says.
    pub fn start<T: Send + 'static>(
        number: usize,
        setup: &Setup,
        answers: Mailbox<T>,
        wrap: impl Fn(usize, Answer) -> T + Send + 'static,
    ) -> Result<Worker> {
        let failed = |e: std::io::Error| Error::new(Code::F007, format!("cannot start a worker: {e}"));
        let temporary = tempfile::Builder::new().prefix("birsim-worker-").tempdir().map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.env("TMPDIR", temporary.path());
        command.arg(super::WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Ctrl-C is for the supervisor: it lets running items end.
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(failed)?;
        let (Some(mut input), Some(output), Some(mut errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::new(Code::B001, "a worker has no pipes"));
        };
        // A worker that is gone already says so by closing its output.
        let _ = input.write_all(&line(setup)?);
        let child = Arc::new(Mutex::new(child));
        let tail = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&tail);
        std::thread::spawn(move || keep_tail(&mut errors, &keep));
        let process = Arc::clone(&child);
        let thread = std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(reply) = heard(&mut output) {
                answers.send(wrap(number, Answer::Done(Box::new(reply))));
            }
            answers.send(wrap(number, gone(&process, &tail)));
        });
        Ok(Worker { number, child, input: Arc::new(Mutex::new(input)), thread, _temporary: temporary })
    }

    /// Hands it an item; it must not have one already.
    pub fn give(&self, job: &Job) -> Result<()> {
        let text = line(job)?;
        // A worker that is gone says so by closing its output.
        if text.len() < PIPE {
            let _ = lock(&self.input).write_all(&text);
            return Ok(());
        }
        // One that is stopped would keep the supervisor waiting with the rest of a long item.
        let input = Arc::clone(&self.input);
        std::thread::spawn(move || lock(&input).write_all(&text));
        Ok(())
    }

    /// Ends a worker that has no item, and waits for it: the end of its input ends it.
    pub fn dismiss(self) {
        drop(self.input);
        // A thread that panicked has nothing to wait for.
        let _ = self.thread.join();
    }

    /// Ends the worker at once. Its thread reports that it is gone.
    pub fn kill(&self) {
        let _ = lock(&self.child).kill();
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What fits into an empty pipe whatever the system.
const PIPE: usize = 4096;

/// A message as one line, to be written at once: in two parts it would wake its reader twice.
fn line(message: &impl serde::Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec(message).map_err(|e| Error::new(Code::B001, e.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

/// The next answer; `None` when no more come.
fn heard(output: &mut impl BufRead) -> Option<Reply> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// How a worker ended.
fn gone(process: &Mutex<Child>, tail: &Mutex<Vec<u8>>) -> Answer {
    let mut child = lock(process);
    // One that closed its output without ending would be waited for in vain.
    let _ = child.kill();
    let status = child.wait().ok();
    let said = String::from_utf8_lossy(&lock(tail)).trim().to_string();
    Answer::Gone(said, status.and_then(signal))
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Keeps the last part of what a worker writes to its standard error, for the report of one that dies.
fn keep_tail(errors: &mut impl Read, tail: &Mutex<Vec<u8>>) {
    const MOST: usize = 4096;
    let mut piece = [0u8; 1024];
    while let Ok(n @ 1..) = errors.read(&mut piece) {
        let mut kept = lock(tail);
        kept.extend_from_slice(&piece[..n]);
        let surplus = kept.len().saturating_sub(MOST);
        kept.drain(..surplus);
    }
}

/// The result of an item whose worker is gone, when nobody ended it on purpose.
pub fn crashed(said: &str, signal: Option<i32>, memory_limited: bool) -> Line {
    // What Rust's allocator says before it aborts.
    if memory_limited && said.contains("memory allocation of") {
        return Line::lost(Status::Memory, 3, "the worker ran into its --max-memory".into());
    }
    let how = match signal {
        Some(n) => format!("the worker died of signal {n}"),
        None => "the worker ended without an answer".to_string(),
    };
    let message = match said.lines().last() {
        Some(last) => format!("{how}; its last words: {last}"),
        None => how,
    };
    Line::lost(Status::Crash, signal.map_or(70, |n| 128 + n), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_ran_out_of_memory_is_told_from_one_that_crashed() {
        let said = "memory allocation of 4096 bytes failed\n";
        assert_eq!(crashed(said, Some(6), true).status, Status::Memory);
        let line = crashed(said, Some(6), false);
        assert_eq!((line.status, line.exit_code), (Status::Crash, 134));
        let message = line.error.map(|e| e.message).unwrap_or_default();
        assert_eq!(message, "the worker died of signal 6; its last words: memory allocation of 4096 bytes failed");
    }
}
