//! `birsim validate`: everything that can be said without inputs.

use crate::args::Validate;
use crate::program::{self, Kind, Source};
use crate::term::{Term, print};
use crate::usage;
use birsim_engine::ir::spelling::misspelt;
use birsim_engine::ir::validate::check_for;
use birsim_engine::{Cores, Diagnostic, Simulator, Target};
use birsim_kernels::{Error, Result};
use birsim_klr::LowerOptions;

/// Reads, resolves and compiles the program; 0 when nothing is wrong.
pub fn run(args: &Validate, term: &Term) -> Result<i32> {
    let sources = args.program.iter().map(|p| Source::read(p)).collect::<Result<Vec<Source>>>()?;
    let name = sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
    let options = LowerOptions {
        arch: args.target.map(|t| t.arch()),
        accept_abstract: args.accept_abstract,
        replica_groups: args.rank.replica_group.clone(),
        strict: args.strict,
        ..LowerOptions::default()
    };
    let loaded = match program::load_ranks(&sources, &options, args.rank.lnc) {
        Ok(loaded) => loaded,
        Err(errors) => return Ok(report(errors, &name, term)),
    };
    // The text is not needed any more. What was read as a module was validated at that; what was lowered was not.
    drop(sources);
    for module in loaded.modules.iter().filter(|_| loaded.kind == Kind::Klr) {
        if let Err(errors) = birsim_engine::ir::validate::validate(module) {
            return Ok(report(errors, &name, term));
        }
    }
    let mut notes = loaded.notes.clone();
    if args.strict {
        let broken = program::device_faults(&loaded.modules, args.target)?;
        if !broken.is_empty() {
            return Ok(report(broken, &name, term));
        }
    }
    for module in &loaded.modules {
        let target = args.target.map_or_else(|| Target::of(module.arch), Ok)?;
        let doubts = check_for(module, target.arch())?;
        let remarks = doubts.by_rule().map(|(rule, first, places)| Diagnostic::on_target(rule, first, places));
        notes.extend(remarks.map(|d| d.to_string()));
    }
    let mut builder = args.rank.apply(Simulator::builder().threads(1).strict(args.strict));
    if let Some(target) = args.target {
        builder = builder.target(target);
    }
    // What the modules say of each other, then what their instructions refuse.
    let mut errors = Cores::check(&builder, &loaded.modules);
    let tensors = match Cores::load(&builder, &loaded.modules) {
        Ok(mut sim) => {
            for refusal in sim.refusals()? {
                match refusal.certain {
                    true => errors.push(refusal.error),
                    false => term.warn(&format!("if control comes to it, a run ends here: {}", refusal.error)),
                }
            }
            sim.tensors().len()
        }
        Err(e) if errors.is_empty() => return Err(e),
        Err(_) => 0,
    };
    if !errors.is_empty() {
        return Ok(report(errors, &name, term));
    }
    let mut text = String::new();
    notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
    loaded.modules.iter().flat_map(misspelt).for_each(|remark| term.warn(&remark));
    let instructions = loaded.modules.iter().flat_map(usage::instructions).count();
    text.push_str(&format!("{name}: valid, {instructions} instructions, {tensors} tensors\n"));
    print(&text)?;
    Ok(0)
}

/// Prints every error; the gravest decides the exit code.
fn report(mut errors: Vec<Error>, file: &str, term: &Term) -> i32 {
    program::gravest_last(&mut errors);
    let code = errors.last().map_or(0, |e| e.class().exit_code());
    for e in errors {
        term.error(&e.at(|p| _ = p.file.get_or_insert_with(|| file.to_string())));
    }
    code
}
