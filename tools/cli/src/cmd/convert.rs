//! `birsim convert`: KLR to BIR-JSON, BIR-JSON to its normalised form.

use crate::args::Convert;
use crate::npy::write_atomic;
use crate::program::{self, Kind, Source};
use crate::term::{Term, print};
use birsim_engine::format;
use birsim_engine::ir::Module;
use birsim_kernels::{Code, Error, Result};
use birsim_klr::LowerOptions;
use std::io::Read;
use std::path::{Component, Path};

/// Writes the program as normalised BIR-JSON. Names of a BIR-JSON module are not resolved: an incomplete module converts too.
pub fn run(args: &Convert, term: &Term) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let module = match modules(args, &source, term) {
        Ok(modules) => one_core(args, modules)?,
        Err(mut errors) => {
            program::gravest_last(&mut errors);
            errors.iter().for_each(|e| term.error(e));
            return Ok(errors.last().map_or(70, |e: &Error| e.class().exit_code()));
        }
    };
    let text = format::write(&module);
    if args.output.as_os_str() == "-" {
        print(&text);
    } else {
        write_atomic(&args.output, &[text.as_bytes()])?;
    }
    Ok(0)
}

/// One module per core.
fn modules(args: &Convert, source: &Source, term: &Term) -> Result<Vec<Module>, Vec<Error>> {
    let options = LowerOptions {
        arch: args.target.map(|t| t.arch()),
        strict: args.strict,
        accept_abstract: args.accept_abstract,
        device_dump: false,
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

/// The module to write: the only one, or that of the chosen core.
fn one_core(args: &Convert, modules: Vec<Module>) -> Result<Module> {
    let count = modules.len();
    if args.core.is_none() && count > 1 {
        return Err(Error::new(Code::U002, "BIR-JSON holds the program of one core")
            .received(format!("{count} cores"))
            .advice("choose one with --core K, or run the KLR file itself"));
    }
    let core = args.core.unwrap_or(0);
    modules.into_iter().nth(core).ok_or_else(|| {
        Error::new(Code::F008, "the program has no such core").received(format!("--core {core} of {count}"))
    })
}

/// Larger kernel files are refused.
const MAX_ARTIFACT: u64 = 1 << 30;

/// The file of an embedded kernel: below the folder of the module. Of a full path, which is that of the machine that
/// compiled the module, the file name counts.
fn artifact(folder: &Path, file: &str) -> Result<Vec<u8>> {
    let lost = |why: String| {
        Error::new(Code::F001, format!("fail to locate KLIR artifact: {why}"))
            .advice("put the kernel's file into the folder of the module")
            .at(|p| p.file = Some(file.to_owned()))
    };
    let written = Path::new(file);
    let relative = if written.is_absolute() { written.file_name().map(Path::new) } else { Some(written) };
    let inside = |p: &&Path| p.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    let path = relative.filter(inside).ok_or_else(|| lost("the path leaves the folder of the module".into()))?;
    let open = std::fs::File::open(folder.join(path)).map_err(|e| lost(e.to_string()))?;
    let mut bytes = Vec::new();
    open.take(MAX_ARTIFACT + 1).read_to_end(&mut bytes).map_err(|e| lost(e.to_string()))?;
    if bytes.len() as u64 > MAX_ARTIFACT {
        return Err(lost("the file is larger than 1 GiB".into()));
    }
    Ok(bytes)
}
