//! Starting the external program and waiting for it, for a bounded time.

use crate::world::Limits;
use crate::{Code, Error, Result};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// No kernel may take longer, whatever the limits of the run.
const LONGEST: Duration = Duration::from_secs(600);
/// Between two looks at a running program.
const PAUSE: Duration = Duration::from_millis(2);
/// Bytes of its error output that are quoted.
const QUOTED: usize = 600;

/// Ends the child when it is dropped early.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a program that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `program config` in `folder`; anything but status 0 is an error.
pub(super) fn run(program: &Path, config: &Path, folder: &Path, limits: &Limits) -> Result<()> {
    let shown = program.display();
    let host = |e: std::io::Error| {
        Error::new(Code::S019, format!("kernel_sim cannot be started: {e}"))
            .received(&shown)
            .advice("check the path given to --allow-external-kernels and its permissions")
    };
    // The program runs in another folder, so a relative path must be settled first.
    let program = program.canonicalize().map_err(host)?;
    let errors = folder.join("stderr.txt");
    let stderr = std::fs::File::create(&errors).map_err(host)?;
    let child = Command::new(&program)
        .arg(config)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(stderr))
        .spawn()
        .map_err(host)?;
    let status = wait(Running(child), limits)?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read(&errors).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    Err(Error::new(Code::S019, "kernel_sim failed").received(format!("{status}: {}", text.trim())))
}

fn wait(mut child: Running, limits: &Limits) -> Result<ExitStatus> {
    let end = Instant::now() + LONGEST;
    loop {
        let polled = child.0.try_wait().map_err(|e| Error::new(Code::S019, format!("kernel_sim is lost: {e}")))?;
        if let Some(status) = polled {
            return Ok(status);
        }
        let now = Instant::now();
        if limits.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Err(Error::new(Code::S009, "the run was interrupted"));
        }
        if limits.deadline.is_some_and(|d| now >= d) {
            return Err(Error::new(Code::S009, "the run takes longer than --timeout allows").received("kernel_sim"));
        }
        if now >= end {
            return Err(Error::new(Code::S019, "kernel_sim does not end").received("600 s"));
        }
        std::thread::sleep(PAUSE);
    }
}
