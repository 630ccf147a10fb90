//! The folder of the outputs.

use birsim_kernels::{Code, Error, Result};
use std::path::Path;

/// Proven writable before the run, removed again when it was made for nothing.
pub struct OutputFolder<'a> {
    path: &'a Path,
    fresh: std::cell::Cell<bool>,
}

impl OutputFolder<'_> {
    /// Makes the folder if need be and proves that it can be written to.
    pub fn prepare(path: &Path) -> Result<OutputFolder<'_>> {
        let refuse = |e: std::io::Error| {
            Error::new(Code::F007, format!("the output folder cannot be used: {e}"))
                .at(|p| p.file = Some(path.display().to_string()))
        };
        // One call where only the folder itself is missing.
        let fresh = match std::fs::create_dir(path) {
            Ok(()) => true,
            Err(_) => {
                let fresh = !path.exists();
                std::fs::create_dir_all(path).map_err(refuse)?;
                fresh
            }
        };
        let folder = OutputFolder { path, fresh: std::cell::Cell::new(fresh) };
        // A folder that was made just now is one's own.
        if !fresh {
            tempfile::Builder::new().prefix(".birsim-").tempfile_in(path).map_err(refuse)?;
        }
        Ok(folder)
    }

    /// Makes the folder of a rank in the folder of the outputs.
    pub fn within(path: &Path) -> Result<()> {
        std::fs::create_dir_all(path).map_err(|e| {
            Error::new(Code::F007, format!("the output folder cannot be used: {e}"))
                .at(|p| p.file = Some(path.display().to_string()))
        })
    }

    /// Notes that the folder now contains files, so it is not removed.
    pub fn keep(&self) {
        self.fresh.set(false);
    }
}

impl Drop for OutputFolder<'_> {
    fn drop(&mut self) {
        if self.fresh.get() {
            // Only ever removes an empty folder.
            let _ = std::fs::remove_dir(self.path);
        }
    }
}
