//! `birsim convert`: KLR to BIR-JSON, BIR-JSON to its normalised form.

use crate::args::Convert;
use crate::npy::write_atomic;
use crate::program::{self, Kind, Source};
use crate::term::{Term, print};
use birsim_engine::format;
use birsim_kernels::{Code, Error, Result};

/// Writes the program as normalised BIR-JSON. Names of a BIR-JSON module are not resolved: an incomplete module converts too.
pub fn run(args: &Convert, term: &Term) -> Result<i32> {
    let source = Source::read(&args.program)?;
    let text = match source.kind()? {
        Kind::BirJson => {
            let module = format::parse(&source.bytes);
            format::write(&module.map_err(|e| e.at(|p| p.file = Some(source.name.clone())))?)
        }
        Kind::Klr => match program::load(&source, args.target.map(|t| t.arch()), args.strict) {
            Ok(loaded) => {
                loaded.notes.iter().for_each(|n| term.warn(n));
                let [module] = loaded.modules.as_slice() else {
                    return Err(Error::new(Code::U002, "BIR-JSON holds the program of one core")
                        .received(format!("{} cores", loaded.modules.len()))
                        .advice("run the KLR file itself"));
                };
                format::write(module)
            }
            Err(mut errors) => {
                program::gravest_last(&mut errors);
                errors.iter().for_each(|e| term.error(e));
                return Ok(errors.last().map_or(70, |e: &Error| e.class().exit_code()));
            }
        },
    };
    if args.output.as_os_str() == "-" {
        print(&text);
    } else {
        write_atomic(&args.output, &[text.as_bytes()])?;
    }
    Ok(0)
}
