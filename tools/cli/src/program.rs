//! Recognising and loading programs.

use birsim_engine::ir::Module;
use birsim_engine::ir::validate::check_for;
use birsim_engine::{Target, format};
use birsim_kernels::{Class, Code, Error, Result};
use birsim_klr::LowerOptions;
use birsim_klr::ast::{self, Contents};
use memmap2::Mmap;
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

/// The bytes of a program and where they came from.
#[derive(Debug)]
pub struct Source {
    /// Name for messages.
    pub name: String,
    /// Folder that relative file names of the program start from.
    pub folder: PathBuf,
    /// Contents.
    pub bytes: Bytes,
}

/// The contents of a file: read, or mapped where they are large.
#[derive(Debug)]
pub enum Bytes {
    /// Read.
    Read(Vec<u8>),
    /// Mapped: what was read of it can leave memory again.
    Mapped(Mmap),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Read(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}

/// Files of at least this size are mapped, and read by several threads.
const LONG: u64 = 1 << 20;
/// Bytes that are read of a file before it is refused because of how it starts.
const START: u64 = 1 << 16;

/// What a program is, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A BIR module as JSON.
    BirJson,
    /// A serialized KLR file.
    Klr,
}

impl Source {
    /// Reads a file, or standard input for `-`.
    pub fn read(path: &Path) -> Result<Source> {
        if path.as_os_str() == "-" {
            let name = "standard input".to_string();
            let bytes = stream(&mut std::io::stdin().lock(), 0, &name)?;
            return Ok(Source { name, folder: PathBuf::from("."), bytes: Bytes::Read(bytes) });
        }
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(|e| unreadable(&name, &e))?;
        let known = file.metadata().map_err(|e| unreadable(&name, &e))?;
        let bytes = if known.is_file() && known.len() >= LONG {
            // SAFETY: nothing of birsim writes to the file, since no file is both read and written (`paths`). Another
            // program that changes it meanwhile makes the text as wrong as it would one that is read at the same time.
            Bytes::Mapped(unsafe { Mmap::map(&file) }.map_err(|e| unreadable(&name, &e))?)
        } else {
            Bytes::Read(stream(&mut file, known.len().min(START), &name)?)
        };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Source { folder: folder.to_path_buf(), name, bytes })
    }

    /// Recognises the program by its first bytes.
    pub fn kind(&self) -> Result<Kind> {
        kind(&self.bytes, &self.name)
    }
}

/// Reads to the end what starts like a program, and is probably so long. A device or a pipe may have no end.
fn stream(from: &mut dyn Read, length: u64, name: &str) -> Result<Vec<u8>> {
    // Into room for one byte more the end is found without another, growing buffer.
    let mut bytes = Vec::with_capacity(length as usize + 1);
    from.take(START).read_to_end(&mut bytes).map_err(|e| unreadable(name, &e))?;
    if bytes.len() as u64 == START {
        let whole = match std::str::from_utf8(&bytes) {
            // The end of this piece cuts a character.
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            _ => bytes.len(),
        };
        kind(&bytes[..whole], name)?;
        from.read_to_end(&mut bytes).map_err(|e| unreadable(name, &e))?;
    }
    Ok(bytes)
}

fn kind(bytes: &[u8], name: &str) -> Result<Kind> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = text.iter().copied().find(|b| !b.is_ascii_whitespace());
    if bytes.starts_with(&[0xd9, 0xd9, 0xf7]) {
        return Ok(Kind::Klr);
    }
    // A bare JSON value is a damaged module rather than an unknown format.
    if first.is_some_and(|b| b"{[\"-0123456789tfn".contains(&b)) && std::str::from_utf8(text).is_ok() {
        return Ok(Kind::BirJson);
    }
    let error = match first {
        None => Error::new(Code::F002, "the program is empty").received(format!("{} bytes", bytes.len())),
        Some(_) => {
            let start: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
            let hint = match bytes {
                [0x1f, 0x8b, ..] => " (gzip)",
                [b'P', b'K', ..] => " (zip)",
                [0xd9, ..] => " (a damaged KLR header)",
                _ => "",
            };
            Error::new(Code::F002, "the program is neither BIR-JSON nor KLR")
                .received(format!("first bytes {}{hint}", start.join(" ")))
        }
    };
    Err(error.at(|p| p.file = Some(name.to_string())))
}

/// A program ready to be simulated.
#[derive(Debug)]
pub struct Loaded {
    /// One module per core.
    pub modules: Vec<Module>,
    /// Remarks of the lowering.
    pub notes: Vec<String>,
    /// What the program was read from. A module is validated when it is read, a kernel is not.
    pub kind: Kind,
}

/// Reads a module, or lowers a KLR kernel. A kernel's errors come all at once.
pub fn load(source: &Source, options: &LowerOptions) -> Result<Loaded, Vec<Error>> {
    let at = |e: Error| e.at(|p| p.file = Some(source.name.clone()));
    let one = |e: Error| vec![at(e)];
    let all = |errors: Vec<Error>| errors.into_iter().map(at).collect::<Vec<_>>();
    match source.kind().map_err(|e| vec![e])? {
        Kind::BirJson => {
            let module = format::read_all(&source.bytes, readers(source)).map_err(all)?;
            Ok(Loaded { modules: vec![module], notes: Vec::new(), kind: Kind::BirJson })
        }
        Kind::Klr => {
            let file = birsim_klr::read(&source.bytes).map_err(one)?;
            lower(file, options).map_err(all)
        }
    }
}

/// Loads a program to run: one file, or the modules of several cores. A module without instructions is refused: a run
/// that computes nothing is a mistake in its keys.
pub fn load_all(sources: &[Source], options: &LowerOptions) -> Result<Loaded, Vec<Error>> {
    load_ranks(sources, options, None)
}

/// The same with `lnc` modules per rank.
pub fn load_ranks(sources: &[Source], options: &LowerOptions, lnc: Option<u32>) -> Result<Loaded, Vec<Error>> {
    match sources {
        [one] => {
            let loaded = load(one, options)?;
            match loaded.modules.iter().find_map(empty) {
                Some(e) => Err(vec![e.at(|p| p.file = Some(one.name.clone()))]),
                None => Ok(loaded),
            }
        }
        several => {
            let mut modules = Vec::with_capacity(several.len());
            let mut errors = Vec::new();
            for source in several {
                match module(source) {
                    Ok(module) => modules.push(module),
                    Err(found) => {
                        let named = |e: Error| e.at(|p| _ = p.file.get_or_insert_with(|| source.name.clone()));
                        errors.extend(found.into_iter().map(named));
                    }
                }
            }
            if errors.is_empty() {
                in_core_order(&mut modules, lnc).map_err(|e| vec![e])?;
                return Ok(Loaded { modules, notes: Vec::new(), kind: Kind::BirJson });
            }
            Err(errors)
        }
    }
}

/// What the devices would not accept of modules: faults with strict rules.
pub fn device_faults(modules: &[Module], target: Option<Target>) -> Result<Vec<Error>> {
    let mut all = Vec::new();
    for module in modules {
        let target = target.map_or_else(|| Target::of(module.arch), Ok)?;
        all.extend(check_for(module, target.arch())?.errors);
    }
    Ok(all)
}

/// How many threads read a module. It pays to start some for a long one.
fn readers(source: &Source) -> usize {
    if (source.bytes.len() as u64) < LONG { 1 } else { rayon::current_num_threads() }
}

/// One of several files: always a module.
fn module(source: &Source) -> Result<Module, Vec<Error>> {
    match source.kind().map_err(|e| vec![e])? {
        Kind::BirJson => {
            let module = format::read_all(&source.bytes, readers(source))?;
            empty(&module).map_or(Ok(module), |e| Err(vec![e]))
        }
        Kind::Klr => Err(vec![
            Error::new(Code::F008, "several programs are given, and one is a KLR kernel")
                .advice("a KLR file holds all its cores; give it alone"),
        ]),
    }
}

fn empty(module: &Module) -> Option<Error> {
    let entry = module.entry()?;
    entry.blocks.iter().all(|b| b.instructions.is_empty()).then(|| {
        Error::new(Code::J003, "the program has no instructions")
            .received(format!("{} blocks", entry.blocks.len()))
            .advice("a function lists its `blocks`, and a block its `instructions`")
            .at(|p| p.function = Some(entry.name.clone()))
    })
}

/// Sorts the modules of each rank by the core they are for. Modules that do not say it keep their order.
fn in_core_order(modules: &mut [Module], lnc: Option<u32>) -> Result<()> {
    let core = |m: &Module| m.attributes.get("neuron_core_id").and_then(|v| v.as_u64());
    let per_rank = lnc.map_or(modules.len(), |n| n as usize).max(1);
    for own in modules.chunks_mut(per_rank) {
        // With ranks, modules that do not all name their core keep the order in which they are given.
        if own.iter().all(|m| core(m).is_none()) || lnc.is_some() && own.iter().any(|m| core(m).is_none()) {
            continue;
        }
        own.sort_by_key(core);
        let ids: Vec<Option<u64>> = own.iter().map(core).collect();
        if lnc.is_some() || ids.iter().enumerate().all(|(k, id)| *id == Some(k as u64)) {
            continue;
        }
        let list: Vec<String> = ids.iter().map(|id| id.map_or("none".into(), |id| id.to_string())).collect();
        return Err(Error::new(
            Code::F008,
            "the modules of one program must be those of its cores 0, 1, 2, .., each once",
        )
        .received(format!("neuron_core_id {}", list.join(", "))));
    }
    Ok(())
}

/// A file that a program names, below one of the folders: links that lead out of it do not count, nor does anything
/// but a plain file. The error says why there is none.
pub fn inside(folders: &[&Path], file: &str) -> Result<PathBuf, String> {
    let relative = Path::new(file);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if file.is_empty() || !plain {
        return Err("the path leaves the folder of the program".into());
    }
    for folder in folders {
        let Ok(real) = folder.join(relative).canonicalize() else { continue };
        let root = folder.canonicalize().map_err(|e| e.to_string())?;
        if !real.starts_with(&root) {
            return Err("a link leads out of the folder of the program".into());
        }
        if !real.is_file() {
            return Err("it is not a plain file".into());
        }
        return Ok(real);
    }
    let list: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(format!("there is no such file in {}", list.join(" or ")))
}

/// The KLR version the reader and the lowering are written for.
const VERSION: [u64; 3] = [0, 0, 12];

fn lower(file: ast::File, options: &LowerOptions) -> Result<Loaded, Vec<Error>> {
    if file.version != VERSION {
        let [a, b, c] = file.version;
        return Err(vec![Error::new(Code::K002, "Wrong KLR version").received(format!("{a}.{b}.{c}"))]);
    }
    let kind = file.contents.kind();
    let Contents::Program(program) = file.contents else {
        return Err(vec![
            Error::new(Code::K003, format!("the file holds {kind} contents, which are not an executable kernel"))
                .received(format!("contents {kind}")),
        ]);
    };
    let options = LowerOptions { arch: options.arch.or(LowerOptions::default().arch), ..options.clone() };
    let lowered = birsim_klr::lower(&program, &options)?;
    Ok(Loaded { modules: lowered.modules, notes: lowered.notes, kind: Kind::Klr })
}

/// Sorts the gravest error to the end: what is wrong with the input outweighs what birsim lacks.
pub fn gravest_last(errors: &mut [Error]) {
    let gravity = |e: &Error| match e.class() {
        Class::Unsupported => 0,
        Class::Fault => 1,
        Class::Invalid => 2,
        Class::Bug => 3,
    };
    errors.sort_by_key(gravity);
}

fn unreadable(name: &str, e: &std::io::Error) -> Error {
    Error::new(Code::F001, format!("cannot read the program: {e}")).at(|p| p.file = Some(name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let kind = |bytes: &[u8]| super::kind(bytes, "p");
        assert_eq!(kind(b" \n{\"version\": 2}").unwrap(), Kind::BirJson);
        assert_eq!(kind(b"\xef\xbb\xbf{}").unwrap(), Kind::BirJson);
        assert_eq!(kind(b"null").unwrap(), Kind::BirJson);
        assert_eq!(kind(b"\xd9\xd9\xf7\x83").unwrap(), Kind::Klr);
        for bad in [&b""[..], b"  \n", b"\x1f\x8b\x08", b"\x00\xff", b"PK\x03\x04", b"{\xff"] {
            assert_eq!(kind(bad).unwrap_err().code(), Code::F002, "{bad:?}");
        }
    }
}
