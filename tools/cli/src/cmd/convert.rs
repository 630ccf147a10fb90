//! `birsim convert`: KLR to BIR-JSON, BIR-JSON to its normalised form.

use crate::args::Convert;
use crate::npy::write_atomic;
use crate::program::{self, Kind, Source};
use crate::term::{Term, print};
use birsim_engine::format;
use birsim_engine::ir::{Module, Storage, TensorKind};
use birsim_kernels::{Code, Error, Result};
use birsim_klr::LowerOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Writes the program as normalised BIR-JSON. Names of a BIR-JSON module are not resolved: an incomplete module converts too.
pub fn run(args: &Convert, term: &Term) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let modules = match modules(args, &source, term) {
        Ok(modules) => chosen(args, modules)?,
        Err(mut errors) => {
            program::gravest_last(&mut errors);
            errors.iter().for_each(|e| term.error(e));
            return Ok(errors.last().map_or(70, |e: &Error| e.class().exit_code()));
        }
    };
    let to_stdout = args.output.as_os_str() == "-";
    if let Some(folder) = left_behind(&modules, &source.folder, &args.output) {
        term.warn(&format!("the kernel's constants stay in {folder}: run the module with --constants {folder}"));
    }
    match modules.as_slice() {
        [module] if to_stdout => print(&format::write(module))?,
        [module] => write_atomic(&args.output, &[format::write(module).as_bytes()])?,
        several if to_stdout => {
            return Err(Error::new(Code::F008, "standard output takes the module of one core")
                .received(format!("{} cores", several.len()))
                .advice("choose one with --core K, or write to a file"));
        }
        several => {
            let files: Vec<PathBuf> = (0..several.len()).map(|core| file_of_core(&args.output, core)).collect();
            for (module, file) in several.iter().zip(&files) {
                write_atomic(file, &[format::write(module).as_bytes()])?;
            }
            let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
            let names = names.join(" ");
            print(&format!("{} cores, one module each; together: birsim run {names}\n", several.len()))?;
        }
    }
    Ok(0)
}

/// The folder of the program, when it has files that the module names and the module goes elsewhere.
fn left_behind(modules: &[Module], folder: &Path, output: &Path) -> Option<String> {
    let sets = modules.iter().flat_map(|m| &m.functions).flat_map(|f| &f.allocations);
    let named = |s: &Storage| matches!(s, Storage::Set(set) if set.kind == TensorKind::Const && !set.file.is_empty());
    let target = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let same = matches!((folder.canonicalize(), target.canonicalize()), (Ok(a), Ok(b)) if a == b);
    (!same && sets.into_iter().any(named)).then(|| folder.display().to_string())
}

/// `x.json` becomes `x.core1.json`.
fn file_of_core(output: &Path, core: usize) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".core{core}"));
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    output.with_file_name(name)
}

/// One module per core.
fn modules(args: &Convert, source: &Source, term: &Term) -> Result<Vec<Module>, Vec<Error>> {
    let options = LowerOptions {
        arch: args.target.map(|t| t.arch()),
        strict: args.strict,
        accept_abstract: args.accept_abstract,
        device_dump: false,
        ..LowerOptions::default()
    };
    let at = |e: Error| e.at(|p| _ = p.file.get_or_insert_with(|| source.name.clone()));
    match source.kind().map_err(|e| vec![e])? {
        Kind::BirJson => {
            let mut module = format::parse(&source.bytes).map_err(|e| vec![at(e)])?;
            if args.expand_klir {
                let options = LowerOptions { arch: options.arch.or(LowerOptions::default().arch), ..options };
                let notes = birsim_klr::expand(&mut module, &options, &mut |file| artifact(&source.folder, file));
                let notes = notes.map_err(|errors| errors.into_iter().map(at).collect::<Vec<_>>())?;
                notes.iter().for_each(|n| term.warn(n));
            }
            Ok(vec![module])
        }
        Kind::Klr => {
            let loaded = program::load(source, &options)?;
            loaded.notes.iter().for_each(|n| term.warn(n));
            Ok(loaded.modules)
        }
    }
}

/// The modules to write: all, or that of the chosen core.
fn chosen(args: &Convert, modules: Vec<Module>) -> Result<Vec<Module>> {
    let Some(core) = args.core else { return Ok(modules) };
    let count = modules.len();
    match modules.into_iter().nth(core) {
        Some(module) => Ok(vec![module]),
        None => {
            Err(Error::new(Code::F008, "the program has no such core").received(format!("--core {core} of {count}")))
        }
    }
}

/// Larger kernel files are refused.
const MAX_ARTIFACT: u64 = 1 << 30;

/// The file of an embedded kernel: below the folder of the module. A full path is one of the machine that compiled
/// the module, so only its file name counts.
fn artifact(folder: &Path, file: &str) -> Result<Vec<u8>> {
    let lost = |why: String| {
        Error::new(Code::F001, format!("fail to locate KLIR artifact: {why}"))
            .advice("put the kernel's file into the folder of the module")
            .at(|p| p.file = Some(file.to_owned()))
    };
    let written = Path::new(file);
    let name = match written.file_name().and_then(|n| n.to_str()) {
        Some(name) if written.is_absolute() => name,
        _ => file,
    };
    let path = program::inside(&[folder], name).map_err(lost)?;
    let open = std::fs::File::open(path).map_err(|e| lost(e.to_string()))?;
    let mut bytes = Vec::new();
    open.take(MAX_ARTIFACT + 1).read_to_end(&mut bytes).map_err(|e| lost(e.to_string()))?;
    if bytes.len() as u64 > MAX_ARTIFACT {
        return Err(lost("the file is larger than 1 GiB".into()));
    }
    Ok(bytes)
}
