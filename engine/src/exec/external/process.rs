//! Starting the external program and waiting for it, for a bounded time.

use crate::world::Limits;
use crate::{Code, Error, Result};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// No kernel may take longer, whatever the limits of the run.
const LONGEST: Duration = Duration::from_secs(600);
/// Time between two looks at a running program.
const PAUSE: Duration = Duration::from_millis(2);
/// Bytes of its error output that are quoted.
const QUOTED: usize = 600;

/// Ends the program and what it has started, when it is dropped or has ended.
struct Running {
    child: Child,
    /// The status of the program was collected, so the operating system may give its number to another process.
    reaped: bool,
}

impl Running {
    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
    }

    /// The program has ended. Its number stays its own.
    #[cfg(unix)]
    fn has_ended(&mut self) -> std::io::Result<bool> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(pid) = self.pid() else { return Ok(true) };
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid), how)?.is_some())
    }

    #[cfg(not(unix))]
    fn has_ended(&mut self) -> std::io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Ends what is left of the process group, the program included, and collects its status.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        // All fail only for processes that have ended.
        #[cfg(unix)]
        if let Some(group) = self.pid() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end();
        }
    }
}

/// A command whose process group is its own, so that what it starts can be ended with it.
fn grouped(program: &Path) -> Command {
    let mut command = Command::new(program);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Runs `program config` in `folder`; anything but status 0 is an error.
pub(super) fn run(program: &Path, config: &Path, folder: &Path, limits: &Limits) -> Result<()> {
    let shown = program.display();
    let host = |e: std::io::Error| {
        Error::new(Code::S019, format!("kernel_sim cannot be started: {e}"))
            .received(&shown)
            .advice("check the path given to --allow-external-kernels and its permissions")
    };
    // The program runs in another folder, so a relative path is made absolute first.
    let program = program.canonicalize().map_err(host)?;
    let errors = folder.join("stderr.txt");
    let stderr = std::fs::File::create(&errors).map_err(host)?;
    let child = grouped(&program)
        .arg(config)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(stderr))
        .spawn()
        .map_err(host)?;
    let status = wait(Running { child, reaped: false }, limits)?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read(&errors).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    Err(Error::new(Code::S019, "kernel_sim failed").received(format!("{status}: {}", text.trim())))
}

fn wait(mut child: Running, limits: &Limits) -> Result<ExitStatus> {
    let end = Instant::now() + LONGEST;
    let lost = |e: std::io::Error| Error::new(Code::S019, format!("kernel_sim is lost: {e}"));
    loop {
        // What the program has started ends with it, whatever its status.
        if child.has_ended().map_err(lost)? {
            return child.end().map_err(lost);
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
