//! The Python process that runs the NumPy side.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running `numpy_side.py`.
pub struct Numpy {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Versions, as the script states them.
    pub versions: String,
}

impl Numpy {
    /// Starts the script of a bench with as many OpenBLAS threads as birsim gets. Element-wise NumPy has one thread anyway.
    pub fn of(bench: &str, threads: usize) -> Result<Numpy> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let mut child = Command::new(python)
            .arg(format!("{}/{bench}/numpy_side.py", env!("CARGO_MANIFEST_DIR")))
            // These would switch OpenBLAS to slower kernels than the machine has.
            .env_remove("OPENBLAS_CORETYPE")
            .env_remove("OPENBLAS_L2_SIZE")
            .env("OPENBLAS_NUM_THREADS", threads.to_string())
            .env("OMP_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::other("no pipes"));
        };
        let mut numpy = Numpy { child, input, output: BufReader::new(output), versions: String::new() };
        numpy.versions = numpy.line()?;
        Ok(numpy)
    }

    /// Prepares a case; false when NumPy has no counterpart.
    pub fn has(&mut self, case: &str) -> bool {
        self.ask(case).is_ok_and(|answer| answer == "ready")
    }

    /// Best time of `times` runs of the prepared case, in seconds.
    pub fn time(&mut self, times: usize) -> Result<f64> {
        let nanos = self.ask(&format!("go {times}"))?;
        nanos.parse::<f64>().map(|n| n / 1e9).map_err(Error::other)
    }

    fn ask(&mut self, question: &str) -> Result<String> {
        writeln!(self.input, "{question}")?;
        self.input.flush()?;
        self.line()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(Error::other("the script ended"));
        }
        Ok(line.trim().to_string())
    }
}

impl Drop for Numpy {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
