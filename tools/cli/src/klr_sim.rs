//! `nki_klr_sim`: the reference tool's flags (`klr.md` 9.1), translated to those of `birsim run`.

use crate::args::{Cli, Command};
use crate::program::{Kind, Source};
use crate::term::{Term, print};
use birsim_kernels::{Code, Error, Result};
use birsim_klr::ast::Contents;
use clap::Parser;
use std::ffi::OsString;
use std::path::Path;

/// What the reference raises when outputs differ: for a single core, and for a logical core of several.
const MISMATCH: [u32; 2] = [1454, 1455];

const HELP: &str = "\
Runs a KLR kernel and compares its outputs with golden files, with the flags of the reference tool.

Usage: nki_klr_sim FILE.klr [--name=value | --name value | -name ...]

  --target=T                     inferentia, sunda, gen3, core_v4, or a product name
  --input-files=A,B,..           input tensors, in the kernel's order
  --output-files=A,B,..          golden outputs, in the kernel's order
  --mem-mode=M                   symbolic (default), physical, autoMem
  --sync-mode=ON|OFF             whether waits and updates are honoured (default ON)
  --enable-check-outputs=B       compare with the goldens (default true)
  --birsim-output-tolerance=P,A  percent and absolute (default 1.0,1e-05)
  --birsim-output-flatten        compare tensors of different shape
  --ignore-mismatch-error        report mismatches, but exit 0
  --check-inst-output-NaN        an output with a NaN or an infinity is a fault
  --enable-birsim-eigen-openmp=B several threads (default true)
  --device-dump                  print after every write to elements that are not 32 bits wide
  --device-print-full            print whole tensors, not only the first and last rows
  --accept-abstract              lower abstract operators that have a definite nearest BIR form
  --tensor-map=FILE.json         places of tensors
  --report=FILE.json             write birsim's report

Outputs are written to the current folder as NAME-birsim.npy. Exit codes are those of birsim.
";

/// What an option takes.
#[derive(Clone, Copy)]
enum Takes {
    /// A value.
    Value,
    /// `--name` or `--name=true|false`.
    Flag,
}

const OPTIONS: &[(&str, Takes)] = &[
    ("target", Takes::Value),
    ("input-files", Takes::Value),
    ("output-files", Takes::Value),
    ("mem-mode", Takes::Value),
    ("sync-mode", Takes::Value),
    ("enable-check-outputs", Takes::Flag),
    ("birsim-output-tolerance", Takes::Value),
    ("birsim-output-flatten", Takes::Flag),
    ("ignore-mismatch-error", Takes::Flag),
    ("check-inst-output-NaN", Takes::Flag),
    ("enable-birsim-eigen-openmp", Takes::Flag),
    ("tensor-map", Takes::Value),
    ("report", Takes::Value),
    ("accept-abstract", Takes::Flag),
    ("device-dump", Takes::Flag),
    ("device-print-full", Takes::Flag),
];

/// Runs the command with its arguments, the program name left out.
pub fn run(args: &[OsString], term: &Term) -> Result<i32> {
    let mut texts = Vec::new();
    for a in args {
        let text = a.to_str().ok_or_else(|| usage("an argument is not UTF-8 text", a.to_string_lossy()))?;
        texts.push(text);
    }
    if texts.iter().any(|t| matches!(t.trim_start_matches('-'), "help" | "h") && t.starts_with('-')) {
        print(HELP)?;
        return Ok(0);
    }
    let translated = translate(&texts)?;
    let cli = Cli::try_parse_from(&translated.args).map_err(|e| {
        let text = e.render().to_string();
        let line = text.lines().next().unwrap_or("").trim_start_matches("error: ").to_string();
        Error::new(Code::F008, line).advice("see `nki_klr_sim --help`")
    })?;
    let Command::Run(run) = cli.command else {
        return Err(Error::new(Code::B001, "the flags did not translate to a run"));
    };
    let source = Source::read(Path::new(&translated.program))?;
    if source.kind()? != Kind::Klr {
        return Err(Error::new(Code::F002, "nki_klr_sim takes KLR files only")
            .advice("BIR-JSON modules are run by `birsim run`")
            .at(|p| p.file = Some(source.name.clone())));
    }
    let code = crate::run::run(&run, term);
    if code == 1 {
        let several = match birsim_klr::read(&source.bytes)?.contents {
            Contents::Program(program) => program.as_lnc().bodies.len() > 1,
            _ => false,
        };
        let number = MISMATCH[usize::from(several)];
        term.warn(&format!("assertion {number}: outputs differ from their golden files"));
    }
    Ok(code)
}

#[derive(Debug)]
struct Translated {
    program: String,
    args: Vec<String>,
}

fn usage(what: &str, got: impl std::fmt::Display) -> Error {
    Error::new(Code::F008, what).received(format!("'{got}'")).advice("see `nki_klr_sim --help`")
}

fn translate(texts: &[&str]) -> Result<Translated> {
    let mut program: Option<&str> = None;
    let (mut inputs, mut goldens) = (Vec::new(), Vec::new());
    let mut check = true;
    let mut memory = "symbolic";
    let mut out: Vec<String> = Vec::new();
    let mut rest = texts.iter().copied();
    while let Some(text) = rest.next() {
        let Some(body) = text.strip_prefix("--").or(text.strip_prefix('-')).filter(|b| !b.is_empty()) else {
            if program.replace(text).is_some() {
                return Err(usage("more than one KLR file is given", text));
            }
            continue;
        };
        let (name, given) = body.split_once('=').map_or((body, None), |(n, v)| (n, Some(v)));
        let Some((name, kind)) = OPTIONS.iter().find(|(n, _)| *n == name) else {
            return Err(usage("unknown option", text));
        };
        let value = match (kind, given) {
            (_, Some(v)) => v,
            (Takes::Flag, None) => "true",
            (Takes::Value, None) => rest.next().ok_or_else(|| usage("the option needs a value", text))?,
        };
        let on = || boolean(value).ok_or_else(|| usage("the option is true or false", text));
        match *name {
            "target" => out.extend(["--target".into(), value.into()]),
            "input-files" => inputs.extend(value.split(',').filter(|v| !v.is_empty())),
            "output-files" => goldens.extend(value.split(',').filter(|v| !v.is_empty())),
            "mem-mode" => {
                memory = match value {
                    "symbolic" | "0" => "symbolic",
                    "physical" | "1" => "physical",
                    "autoMem" | "2" => "auto",
                    _ => return Err(usage("memory modes are symbolic, physical and autoMem", value)),
                }
            }
            "sync-mode" => {
                let on = boolean(value).ok_or_else(|| usage("sync modes are ON and OFF", value))?;
                out.extend(["--order".into(), if on { "auto" } else { "program" }.into()]);
            }
            "enable-check-outputs" => check = on()?,
            "birsim-output-tolerance" => out.extend(["--birsim-output-tolerance".into(), value.into()]),
            "birsim-output-flatten" if on()? => out.push("--flatten".into()),
            "ignore-mismatch-error" if on()? => out.push("--ignore-mismatch".into()),
            "check-inst-output-NaN" if on()? => out.push("--check-nan".into()),
            "enable-birsim-eigen-openmp" if !on()? => out.extend(["--threads".into(), "1".into()]),
            "accept-abstract" if on()? => out.push("--accept-abstract".into()),
            "device-dump" if on()? => out.push("--device-dump".into()),
            "device-print-full" if on()? => out.push("--device-print-full".into()),
            "report" => out.extend(["--report".into(), value.into()]),
            "tensor-map" => out.extend(["--tensor-map".into(), value.into()]),
            // A flag that is switched off, or on where that is the default.
            _ => {}
        }
    }
    let program = program.ok_or_else(|| usage("no KLR file is given", texts.join(" ")))?;
    let mut args: Vec<String> =
        ["birsim", "run", "--out", ".", "--unsupported", "skip", "--mem-mode", memory].map(String::from).to_vec();
    args.extend(out);
    for file in inputs {
        args.push(format!("--input-files={file}"));
    }
    for file in goldens.into_iter().filter(|_| check) {
        args.push(format!("--output-files={file}"));
    }
    args.extend(["--".into(), program.into()]);
    Ok(Translated { program: program.into(), args })
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Some(true),
        "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(texts: &[&str]) -> String {
        translate(texts).unwrap().args.join(" ")
    }

    #[test]
    fn flags_translate() {
        assert_eq!(translated(&["k.klr"]), "birsim run --out . --unsupported skip --mem-mode symbolic -- k.klr");
        let text = translated(&[
            "--input-files=a.npy,b.npy",
            "-input-files",
            "c.npy",
            "k.klr",
            "--output-files",
            "o.npy",
            "--mem-mode=autoMem",
            "--target=gen3",
            "-ignore-mismatch-error",
            "--birsim-output-flatten=false",
            "--sync-mode=OFF",
        ]);
        assert_eq!(
            text,
            "birsim run --out . --unsupported skip --mem-mode auto --target gen3 --ignore-mismatch --order program --input-files=a.npy \
             --input-files=b.npy --input-files=c.npy --output-files=o.npy -- k.klr"
        );
        let off = translated(&["k.klr", "--output-files=o.npy", "--enable-check-outputs=false"]);
        assert!(!off.contains("o.npy"));
    }

    #[test]
    fn wrong_flags_are_refused() {
        for bad in [
            &[][..],
            &["a.klr", "b.klr"],
            &["a.klr", "--no-such=1"],
            &["a.klr", "--target"],
            &["a.klr", "--mem-mode=flat"],
            &["a.klr", "--enable-check-outputs=perhaps"],
        ] {
            assert_eq!(translate(bad).unwrap_err().code(), Code::F008, "{bad:?}");
        }
        assert!(translated(&["a.klr", "--tensor-map=m.json"]).contains("--tensor-map m.json"));
    }
}
