//! What looks at a run from outside: checkers, trace, dumps, tensor map, external kernels.

use crate::args::Run;
use crate::npy::{encode_name, write_npy};
use crate::tensors::{Decl, resolve};
use birsim_engine::{Builder, Cores, TensorMap, TraceSink};
use birsim_kernels::profile::MetaNames;
use birsim_kernels::{Code, Error, Named, Result};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A trace file being written. The first failure is kept until the end of the run.
pub struct Trace {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl Trace {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Trace> {
        let file = File::create(path).map_err(|e| unwritable(path, &e))?;
        let state = Arc::new(Mutex::new(State { file: BufWriter::new(file), failed: None }));
        Ok(Trace { path: path.to_path_buf(), state })
    }

    fn sink(&self) -> TraceSink {
        let state = Arc::clone(&self.state);
        TraceSink::new(move |row| {
            let mut s = state.lock().unwrap_or_else(PoisonError::into_inner);
            let line = json!({"tick": row.tick, "engine": row.engine.name(), "instruction": row.instruction,
                "opcode": row.opcode, "output_hash": format!("{:016x}", row.output_hash)});
            if let Err(e) = writeln!(s.file, "{line}") {
                s.failed.get_or_insert(e);
            }
        })
    }

    fn close(self) -> Result<()> {
        let mut s = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = s.file.flush();
        match s.failed.take().or(flushed.err()) {
            Some(e) => Err(unwritable(&self.path, &e)),
            None => Ok(()),
        }
    }
}

fn unwritable(path: &Path, e: &std::io::Error) -> Error {
    Error::new(Code::F007, format!("cannot write the trace: {e}")).at(|p| p.file = Some(path.display().to_string()))
}

/// Adds what the options ask for.
pub fn configure(mut builder: Builder, args: &Run, trace: Option<&Trace>) -> Result<Builder> {
    builder = builder.checks(args.check.iter().copied());
    if let Some(t) = trace {
        builder = builder.trace(t.sink());
    }
    for d in &args.dump {
        if let Some(instruction) = &d.instruction {
            builder = builder.dump(&d.tensor, instruction);
        }
    }
    if let Some(path) = &args.tensor_map {
        let at = |e: Error| e.at(|p| p.file = Some(path.display().to_string()));
        let text = std::fs::read_to_string(path)
            .map_err(|e| at(Error::new(Code::F001, format!("cannot read the tensor map: {e}"))))?;
        builder = builder.tensor_map(TensorMap::from_json(&text).map_err(at)?);
    }
    if let Some(program) = &args.allow_external_kernels {
        builder = builder.external_kernels(program);
    }
    Ok(builder)
}

/// A dumped tensor that the program does not have is an error before the run.
pub fn check_dumps(args: &Run, decls: &[Decl]) -> Result<()> {
    args.dump.iter().try_for_each(|d| resolve(decls, &d.tensor).map(|_| ()))
}

/// Closes the trace and writes the dumps; after a fault, those that were reached.
pub fn finish(
    args: &Run,
    sim: &mut Cores,
    decls: &[Decl],
    names: MetaNames,
    trace: Option<Trace>,
    complete: bool,
) -> Result<()> {
    if let Some(t) = trace {
        t.close()?;
    }
    let taken: Vec<_> = sim.cores().iter().flat_map(|c| c.dumps()).collect();
    for d in &args.dump {
        let info = &decls[resolve(decls, &d.tensor)?];
        let bytes = match &d.instruction {
            None => sim.output(&info.name)?,
            Some(i) => match taken.iter().find(|t| t.tensor == d.tensor && t.instruction == *i) {
                Some(t) => t.bytes.clone(),
                None if complete => {
                    return Err(Error::new(
                        Code::F006,
                        format!("the instruction {i} never ran, so nothing was dumped"),
                    )
                    .received(i)
                    .at(|p| p.tensor = Some(d.tensor.clone())));
                }
                None => continue,
            },
        };
        let name = match &d.instruction {
            None => format!("{}-dump.npy", encode_name(&d.tensor)),
            Some(i) => format!("{}@{}-dump.npy", encode_name(&d.tensor), encode_name(i)),
        };
        let path = d.file.clone().unwrap_or_else(|| args.out.join(name));
        write_npy(&path, info.dtype, &info.shape, &bytes, names)?;
    }
    Ok(())
}
