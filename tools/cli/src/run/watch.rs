//! What looks at a run from outside: checkers, trace, dumps, tensor map, external kernels.

use super::report::Record;
use crate::args::Run;
use crate::interrupt;
use crate::npy::write_npy;
use crate::tensors::{Decl, resolve, split_rank};
use birsim_engine::{Builder, Cores, TensorMap, TraceRow, TraceSink};
use birsim_kernels::profile::MetaNames;
use birsim_kernels::{Code, Error, Named, Result};
use serde_json::json;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A trace being written, or compared with an earlier one. The first failure is kept until the end of the run.
pub struct Trace {
    path: Option<PathBuf>,
    state: Arc<Mutex<State>>,
}

struct State {
    file: Option<BufWriter<Announced>>,
    golden: Option<Golden>,
    failed: Option<std::io::Error>,
}

/// A file whose writes may wait for a reader.
struct Announced(File);

impl Write for Announced {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _waiting = interrupt::unattended("while the trace was written");
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// An earlier trace: (instruction, hash of its outputs) per row, and how far it was compared.
struct Golden {
    name: String,
    rows: Vec<(String, String)>,
    next: usize,
    difference: Option<String>,
}

impl Golden {
    fn read(path: &Path) -> Result<Golden> {
        let name = path.display().to_string();
        let at = |e: Error| e.at(|p| p.file = Some(name.clone()));
        let text = std::fs::read_to_string(path)
            .map_err(|e| at(Error::new(Code::F001, format!("cannot read the trace: {e}"))))?;
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).ok()?;
            Some((row["instruction"].as_str()?.to_string(), row["output_hash"].as_str()?.to_string()))
        };
        let mut rows = Vec::new();
        for (n, line) in text.lines().enumerate() {
            rows.push(row(line).ok_or_else(|| {
                let start: String = line.chars().take(60).collect();
                at(Error::new(Code::J001, format!("line {} of the trace file is not a row of a trace", n + 1))
                    .received(start)
                    .advice("a row is an object with the keys instruction and output_hash, as --trace writes it"))
            })?);
        }
        Ok(Golden { name, rows, next: 0, difference: None })
    }

    fn compare(&mut self, row: &TraceRow, hash: &str) {
        if self.difference.is_some() {
            return;
        }
        let (at, who) = (self.next + 1, format!("{} on {}", row.instruction, row.engine));
        self.difference = match self.rows.get(self.next) {
            None => Some(format!("{who} runs where {} ends", self.name)),
            Some((name, _)) if name != row.instruction => {
                Some(format!("{who} runs where line {at} of {} has {name}", self.name))
            }
            Some((_, golden)) if golden != hash => {
                Some(format!("{who} is the first instruction whose outputs differ from line {at} of {}", self.name))
            }
            Some(_) => None,
        };
        self.next += 1;
    }

    /// The first difference of a run that has ended.
    fn verdict(self, complete: bool) -> Option<String> {
        let rest = self.rows.get(self.next).filter(|_| complete);
        self.difference
            .or_else(|| rest.map(|(name, _)| format!("the run ends where {} goes on with {name}", self.name)))
    }
}

impl Trace {
    /// Reads the earlier trace, as asked for; the file is made by [`Trace::open`].
    pub fn prepare(args: &Run) -> Result<Option<Trace>> {
        if args.trace.is_none() && args.golden_trace.is_none() {
            return Ok(None);
        }
        let golden = args.golden_trace.as_deref().map(Golden::read).transpose()?;
        let state = Arc::new(Mutex::new(State { file: None, golden, failed: None }));
        Ok(Some(Trace { path: args.trace.clone(), state }))
    }

    /// Makes the file, right before the run: until then something may be found that keeps files as they are.
    pub fn open(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = File::create(path).map_err(|e| unwritable(path, &e))?;
        self.state.lock().unwrap_or_else(PoisonError::into_inner).file = Some(BufWriter::new(Announced(file)));
        Ok(())
    }

    fn sink(&self) -> TraceSink {
        let state = Arc::clone(&self.state);
        TraceSink::new(move |row| {
            let mut s = state.lock().unwrap_or_else(PoisonError::into_inner);
            let hash = format!("{:016x}", row.output_hash);
            if let Some(golden) = &mut s.golden {
                golden.compare(row, &hash);
            }
            let line = json!({"tick": row.tick, "engine": row.engine.name(), "instruction": row.instruction,
                "opcode": row.opcode, "output_hash": hash, "rank": row.rank, "core": row.core});
            if let Some(file) = &mut s.file
                && let Err(e) = writeln!(file, "{line}")
            {
                s.failed.get_or_insert(e);
            }
        })
    }

    /// Ends the file. Returns the first difference from the earlier trace.
    fn close(self, complete: bool) -> Result<Option<String>> {
        let mut s = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = s.file.as_mut().map_or(Ok(()), Write::flush);
        match s.failed.take().or(flushed.err()) {
            Some(e) => Err(unwritable(self.path.as_deref().unwrap_or(Path::new("")), &e)),
            None => Ok(s.golden.take().and_then(|g| g.verdict(complete))),
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
            builder = builder.dump(location(&d.tensor), instruction);
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

/// The tensor's name without its rank.
fn location(text: &str) -> &str {
    split_rank(text).map_or(text, |(_, name)| name)
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
    record: &mut Record,
    complete: bool,
) -> Result<()> {
    if let Some(t) = trace {
        let difference = t.close(complete)?;
        record.golden_trace(args, difference);
    }
    for d in &args.dump {
        let info = &decls[resolve(decls, &d.tensor)?];
        let (rank, lnc) = (info.rank.unwrap_or(0), sim.lnc());
        let taken: Vec<_> = sim.cores()[rank * lnc..(rank + 1) * lnc].iter().flat_map(|c| c.dumps()).collect();
        let bytes = match &d.instruction {
            None => sim.output_rank(rank, &info.name)?,
            Some(i) => match taken.iter().find(|t| t.tensor == location(&d.tensor) && t.instruction == *i) {
                Some(t) => Cow::Borrowed(&*t.bytes),
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
        write_npy(&d.path(&args.out), info.dtype, &info.shape, &bytes, names)?;
    }
    Ok(())
}
