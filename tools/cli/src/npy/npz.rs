//! `.npz` archives: zip files of `.npy` members, stored or deflated.

use super::Npy;
use birsim_kernels::{Code, Error, Result};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// An opened archive.
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl Archive {
    /// Opens an archive and reads its table of contents.
    pub fn open(path: &Path) -> Result<Archive> {
        let at = |e: Error| e.at(|p| p.file = Some(path.display().to_string()));
        let file = File::open(path).map_err(|e| at(Error::new(Code::F001, format!("cannot read the archive: {e}"))))?;
        let zip = ZipArchive::new(BufReader::new(file))
            .map_err(|e| at(Error::new(Code::F003, format!("the archive is not a readable .npz file: {e}"))))?;
        Ok(Archive { path: path.to_path_buf(), zip })
    }

    /// Names of the arrays, sorted.
    pub fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(|n| n.ok()?.strip_suffix(".npy").map(str::to_string));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Opens one array.
    pub fn member(&mut self, name: &str) -> Result<Npy<'_>> {
        let origin = format!("{}[{name}]", self.path.display());
        let at = |e: Error| e.at(|p| p.file = Some(origin.clone()));
        let entry = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|e| at(Error::new(Code::F003, format!("the archive member cannot be read: {e}"))))?;
        // The size in the table of contents is the archive's own claim, so nothing is reserved by it.
        Npy::member(Box::new(entry), origin)
    }
}
