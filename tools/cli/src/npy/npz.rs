//! `.npz` archives: zip files of `.npy` members, stored or deflated.

use super::Npy;
use birsim_kernels::{Code, Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
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
        let unreadable =
            |e: String| at(Error::new(Code::F003, format!("the archive is not a readable .npz file: {e}")));
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| unreadable(e.to_string()))?;
        if zip.has_duplicate_names() {
            let start = zip.central_directory_start();
            let mut file = zip.into_inner();
            file.seek(SeekFrom::Start(start)).map_err(|e| unreadable(e.to_string()))?;
            let twice = twice(&mut file).unwrap_or_else(|| "a name that the table of contents has twice".to_owned());
            return Err(at(Error::new(Code::F003, "a member of the archive is there twice").received(twice)));
        }
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
        // The size in the table of contents may be false, so no memory is reserved for it.
        Npy::member(Box::new(entry), origin)
    }
}

/// The first name that comes twice in a table of contents, with size and checksum of both members. The
/// library keeps one entry for each name, so its bytes are read here.
fn twice(from: &mut impl Read) -> Option<String> {
    let mut seen: HashMap<Vec<u8>, String> = HashMap::new();
    let mut head = [0u8; 46];
    loop {
        from.read_exact(&mut head).ok()?;
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let long = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if &head[..4] != b"PK\x01\x02" {
            return None;
        }
        let mut name = vec![0u8; short(28).into()];
        from.read_exact(&mut name).ok()?;
        let rest = u64::from(short(30)) + u64::from(short(32));
        std::io::copy(&mut from.take(rest), &mut std::io::sink()).ok()?;
        let value = format!("{} bytes with checksum {:08x}", long(24), long(16));
        if let Some(first) = seen.insert(name.clone(), value.clone()) {
            return Some(format!("'{}': {first}, and {value}", String::from_utf8_lossy(&name)));
        }
    }
}
