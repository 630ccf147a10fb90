//! The results file: one line per finished item, added with one write after the item's outputs have their names. A killed
//! batch loses at most the line it was writing.

use super::line::{Line, SCHEMA};
use birsim_kernels::{Code, Error, Result};
use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What happens to a results file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is refused.
    Refuse,
    /// It is replaced.
    Overwrite,
    /// Its lines are offered for reuse.
    Resume,
}

/// An open results file that no other process writes.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    file: File,
}

impl Results {
    /// Opens and locks the file. Returns the lines of an earlier batch as well, without a torn last one.
    pub fn open(path: &Path, existing: Existing) -> Result<(Results, Vec<Line>)> {
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| unusable(path, &e))?;
        }
        let mut file = open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| unusable(path, &e))?;
        if !text.is_empty() && existing == Existing::Refuse {
            return Err(Error::new(Code::F008, "there are results of an earlier batch")
                .advice("--resume goes on with them, --overwrite replaces them, --results FILE chooses another file")
                .at(|p| p.file = Some(path.display().to_string())));
        }
        let lines = if existing == Existing::Resume { read_text(&text, path)? } else { Vec::new() };
        Ok((Results { path: path.to_path_buf(), file }, lines))
    }

    /// Starts the file with these lines; what it held otherwise goes. The old file stays whole until the new one is.
    pub fn restart(&mut self, lines: &[Line]) -> Result<()> {
        let failed = |e: std::io::Error| unusable(&self.path, &e);
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut new = crate::npy::temporary(folder).map_err(failed)?;
        let text: String = lines.iter().map(Line::text).collect();
        new.write_all(text.as_bytes()).map_err(failed)?;
        // The new file is locked before anybody can find it under its name.
        lock(new.as_file(), &self.path)?;
        self.file = new.persist(&self.path).map_err(|e| failed(e.error))?;
        self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(())
    }

    /// Adds the line of a finished item.
    pub fn add(&mut self, line: &Line) -> Result<()> {
        self.file.write_all(line.text().as_bytes()).map_err(|e| unusable(&self.path, &e))
    }
}

/// Opens and locks the file; another process may have replaced it in between.
fn open(path: &Path) -> Result<File> {
    for _ in 0..8 {
        let options = OpenOptions::new().read(true).append(true).create(true).clone();
        let file = options.open(path).map_err(|e| unusable(path, &e))?;
        lock(&file, path)?;
        if same(&file, path) {
            return Ok(file);
        }
    }
    Err(held(path))
}

#[cfg(unix)]
fn same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: std::io::Result<std::fs::Metadata>| m.map(|m| (m.dev(), m.ino())).ok();
    id(file.metadata()).is_some_and(|i| Some(i) == id(std::fs::metadata(path)))
}

#[cfg(not(unix))]
fn same(_: &File, _: &Path) -> bool {
    true
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(held(path)),
        Err(TryLockError::Error(e)) => Err(unusable(path, &e)),
    }
}

fn held(path: &Path) -> Error {
    Error::new(Code::F008, "another process writes these results")
        .advice("wait for it, or choose another file with --results FILE")
        .at(|p| p.file = Some(path.display().to_string()))
}

fn unusable(path: &Path, e: &std::io::Error) -> Error {
    Error::new(Code::F007, format!("cannot use the results file: {e}"))
        .at(|p| p.file = Some(path.display().to_string()))
}

/// The lines of a results file.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::new(Code::F001, format!("cannot read the results: {e}"))
            .at(|p| p.file = Some(path.display().to_string()))
    })?;
    read_text(&text, path)
}

/// Lines of results. One that the end of the file cuts off is dropped; any other that cannot be read is an error.
fn read_text(text: &str, path: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut ids = HashSet::new();
    for (k, part) in text.split_inclusive('\n').enumerate() {
        let Some(whole) = part.strip_suffix('\n') else { break };
        let at = |e: Error| e.at(|p| p.file = Some(format!("{}:{}", path.display(), k + 1)));
        let bad =
            |what: String| at(Error::new(Code::F010, what).advice("these are no results of this version of birsim"));
        let line: Line = serde_json::from_str(whole).map_err(|e| bad(format!("the line is no result: {e}")))?;
        if line.schema != SCHEMA {
            return Err(bad("the result has another schema".into()).received(line.schema));
        }
        if !ids.insert(line.id.clone()) {
            return Err(at(Error::new(Code::F010, "two results have one id")).received(format!("{:?}", line.id)));
        }
        lines.push(line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::super::line::Status;
    use super::*;

    fn line(id: &str) -> Line {
        Line { id: id.into(), ..Line::lost(Status::Crash, 137, "x".into()) }
    }

    #[test]
    fn lines_survive_and_a_torn_one_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/results.jsonl");
        let (mut results, old) = Results::open(&path, Existing::Refuse).unwrap();
        assert!(old.is_empty());
        results.add(&line("a")).unwrap();
        results.add(&line("b")).unwrap();
        drop(results);
        let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(&line("c").text().as_bytes()[..40]).unwrap();
        let refused = Results::open(&path, Existing::Refuse).unwrap_err();
        assert_eq!((refused.code(), refused.what()), (Code::F008, "there are results of an earlier batch"));
        let (mut results, old) = Results::open(&path, Existing::Resume).unwrap();
        assert_eq!(old.iter().map(|l| l.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        results.restart(&old[1..]).unwrap();
        results.add(&line("d")).unwrap();
        drop(results);
        assert_eq!(read(&path).unwrap().iter().map(|l| l.id.clone()).collect::<Vec<_>>(), ["b", "d"]);
        assert!(Results::open(&path, Existing::Overwrite).unwrap().1.is_empty());
    }

    #[test]
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let (mut first, _) = Results::open(&path, Existing::Refuse).unwrap();
        let held = |path: &Path| Results::open(path, Existing::Resume).unwrap_err().what().to_string();
        assert_eq!(held(&path), "another process writes these results");
        first.restart(&[line("a")]).unwrap();
        assert_eq!(held(&path), "another process writes these results");
        drop(first);
        assert!(Results::open(&path, Existing::Resume).is_ok());
    }

    #[test]
    fn damaged_lines_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        std::fs::write(&path, format!("{}oops\n", line("a").text())).unwrap();
        let e = read(&path).unwrap_err();
        assert_eq!((e.code(), e.place().file.clone()), (Code::F010, Some(format!("{}:2", path.display()))));
        std::fs::write(&path, line("a").text().repeat(2)).unwrap();
        assert_eq!(read(&path).unwrap_err().what(), "two results have one id");
        let other = Line { schema: 7, ..line("a") };
        std::fs::write(&path, other.text()).unwrap();
        assert_eq!(read(&path).unwrap_err().what(), "the result has another schema");
    }
}
