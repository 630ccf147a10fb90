//! The key of a result: a hash of birsim's version, the options, and the bytes of every file that the result depends on.
//! Results whose key still holds need not be computed again.

use crate::args::Run;
use crate::program::{self, Source};
use birsim_engine::ir::{Module, Storage};
use birsim_kernels::Result;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digits = |b: &u8| [b >> 4, b & 15].map(|d| char::from_digit(u32::from(d), 16).unwrap_or('?'));
    bytes.iter().flat_map(digits).collect()
}

/// Hash of a tensor's bytes.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Hash of what programs hold.
pub fn of_programs(sources: &[Source]) -> [u8; 32] {
    let mut parts = Parts::new();
    sources.iter().for_each(|s| parts.add(&s.bytes));
    parts.0.finalize().into()
}

/// The key of a run. `written` are the options as texts.
pub fn of_run(run: &Run, written: &[&[String]], programs: &[u8; 32], named: &[String]) -> String {
    let mut parts = Parts::new();
    parts.add(env!("CARGO_PKG_VERSION").as_bytes());
    parts.add(programs);
    for list in written {
        parts.add(&(list.len() as u64).to_le_bytes());
        list.iter().for_each(|text| parts.add(text.as_bytes()));
    }
    let limits = (run.max_memory, run.timeout, run.random_inputs, run.rank.lnc, run.rank.ranks);
    parts.add(format!("{limits:?}").as_bytes());
    for (name, file) in run.input.iter().chain(&run.golden) {
        parts.add(name.as_bytes());
        parts.file(file);
    }
    let lists = run.input_files.iter().chain(&run.output_files);
    let options =
        [&run.inputs, &run.goldens, &run.golden_trace, &run.tensor_map, &run.pwp_tables, &run.allow_external_kernels];
    for file in lists.chain(options.into_iter().flatten()) {
        parts.place(file);
    }
    // Files that the program names start from the folder of constants or from its own.
    for file in named {
        parts.add(file.as_bytes());
        let folders = run.constants.iter().map(|c| c.as_path()).chain(run.program.iter().filter_map(|p| p.parent()));
        folders.for_each(|folder| parts.file(&folder.join(file)));
    }
    hex(&parts.0.finalize())
}

/// Files that the tensors of modules name.
pub fn named_files(modules: &[Module]) -> Vec<String> {
    let functions = modules.iter().flat_map(|m| m.functions.iter().chain(&m.nki_functions));
    let sets = functions.flat_map(|f| &f.allocations).filter_map(|s| match s {
        Storage::Set(set) => Some(set),
        Storage::Register(_) => None,
    });
    let mut files: Vec<String> = sets.map(|s| s.file.clone()).filter(|f| !f.is_empty()).collect();
    files.sort();
    files.dedup();
    files
}

/// The program may name files: worth reading it.
pub fn may_name_files(sources: &[Source]) -> bool {
    let text = |s: &Source| s.kind().is_ok_and(|k| k == program::Kind::BirJson);
    let names = |s: &Source| memchr::memmem::find(&s.bytes, b"\"file\"").is_some();
    sources.iter().any(|s| !text(s) || names(s))
}

/// Parts go into the hash with their lengths, so that no two lists of parts look alike.
struct Parts(Sha256);

impl Parts {
    fn new() -> Parts {
        Parts(Sha256::new())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The bytes of a file; a missing one counts as such, so that the key changes when it appears.
    fn file(&mut self, path: &Path) {
        let (text, member) = match path.to_string_lossy().split_once('[') {
            Some((archive, member)) if !path.exists() => (Path::new(archive).to_path_buf(), Some(member.to_string())),
            _ => (path.to_path_buf(), None),
        };
        // A pipe or a device has no contents that could be hashed.
        match std::fs::metadata(&text).ok().filter(|m| m.is_file()).and_then(|_| std::fs::read(&text).ok()) {
            Some(bytes) => self.add(&bytes),
            None => self.0.update([0xff; 8]),
        }
        if let Some(member) = member {
            self.add(member.as_bytes());
        }
        // The side file names the element type of raw bytes.
        let mut side = text.into_os_string();
        side.push(".meta");
        if let Ok(bytes) = std::fs::read(side) {
            self.add(&bytes);
        }
    }

    /// A file, or every file of a folder by name.
    fn place(&mut self, path: &Path) {
        if !path.is_dir() {
            return self.file(path);
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|e| e.path()).filter(|p| p.is_file()).collect();
        files.sort();
        for file in files {
            self.add(file.file_name().unwrap_or_default().as_encoded_bytes());
            self.file(&file);
        }
    }
}

/// The key of an item, from its files alone.
pub fn of_item(run: &Run, written: &[&[String]]) -> Result<String> {
    let sources = run.program.iter().map(|p| Source::read(p)).collect::<Result<Vec<_>>>()?;
    let named = match may_name_files(&sources) {
        true => program::load_ranks(&sources, &crate::run::lower_options(run), run.rank.lnc)
            .map(|l| named_files(&l.modules))
            .unwrap_or_default(),
        false => Vec::new(),
    };
    Ok(of_run(run, written, &of_programs(&sources), &named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_key_follows_every_byte() {
        let dir = tempfile::tempdir().unwrap();
        let (program, input) = (dir.path().join("p.json"), dir.path().join("in"));
        std::fs::write(&program, "{}").unwrap();
        std::fs::create_dir(&input).unwrap();
        std::fs::write(input.join("x.npy"), [1, 2]).unwrap();
        let mut run = crate::args::RunOnly::try_parse_from(["run", "-"]).unwrap().run;
        (run.program, run.inputs) = (vec![program.clone()], Some(input.clone()));
        let none: &[String] = &[];
        let key = |run: &Run, args: &[String]| of_item(run, &[none, args]).unwrap();
        let first = key(&run, none);
        assert_eq!(first.len(), 64);
        assert_eq!(key(&run, none), first);
        assert_ne!(key(&run, &["--strict".to_string()]), first);
        std::fs::write(input.join("x.npy"), [1, 3]).unwrap();
        let second = key(&run, none);
        assert_ne!(second, first);
        std::fs::write(input.join("x.npy.meta"), "{}").unwrap();
        assert_ne!(key(&run, none), second);
        std::fs::remove_file(input.join("x.npy.meta")).unwrap();
        std::fs::write(&program, "{ }").unwrap();
        assert_ne!(key(&run, none), second);
        std::fs::write(&program, "{}").unwrap();
        assert_eq!(key(&run, none), second);
        run.timeout = Some(std::time::Duration::from_secs(1));
        assert_ne!(key(&run, none), second);
    }

    #[test]
    fn bytes_are_written_as_hexadecimal() {
        assert_eq!(hex(&[0, 0x1f, 0xa0]), "001fa0");
    }
}
