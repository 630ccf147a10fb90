//! `--dump`: tensors as they are after the run.

use crate::npy::{encode_name, write_npy};
use crate::tensors::{Decl, resolve};
use birsim_engine::Cores;
use birsim_kernels::{Code, Error, Result};
use std::path::{Path, PathBuf};

/// One tensor to write, and where to.
#[derive(Debug)]
pub struct Dump {
    decl: Decl,
    file: Option<PathBuf>,
}

impl Dump {
    /// Reads the options; a name that the program does not have is an error before the run.
    pub fn all(options: &[String], decls: &[Decl]) -> Result<Vec<Dump>> {
        let one = |text: &String| {
            let (name, file) = text.split_once('=').map_or((text.as_str(), None), |(n, f)| (n, Some(PathBuf::from(f))));
            let index = resolve(decls, name).map_err(|e| match name.split_once('@') {
                Some((tensor, instruction)) if resolve(decls, tensor).is_ok() => {
                    Error::new(Code::U002, "a tensor can be dumped at the end of a run only")
                        .received(format!("after {instruction}"))
                        .advice(format!("use --dump {tensor}"))
                }
                _ => e,
            })?;
            Ok(Dump { decl: decls[index].clone(), file })
        };
        options.iter().map(one).collect()
    }

    /// Writes the tensor.
    pub fn write(&self, machine: &mut Cores, folder: &Path) -> Result<()> {
        let d = &self.decl;
        let bytes = machine.output(&d.name)?;
        let default = || folder.join(format!("{}-dump.npy", encode_name(&d.name)));
        write_npy(&self.file.clone().unwrap_or_else(default), d.dtype, &d.shape, &bytes)
    }
}
