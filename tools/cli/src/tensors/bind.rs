//! From options to one source per tensor.

use super::collection::{self, resolve_side};
use super::names::{by_rank, resolve_each};
use super::{Decl, random_bytes};
use crate::npy::{self, Archive, Npy, encode_name};
use crate::program;
use birsim_kernels::{Code, Error, Result};
use std::path::{Path, PathBuf};

/// Where the contents of a tensor come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A `.npy` file.
    File(PathBuf),
    /// An array of an `.npz` archive.
    Member(PathBuf, String),
    /// Made from a seed.
    Random(u64),
}

/// The options that bind one side, inputs or goldens.
#[derive(Clone, Debug, Default)]
pub struct Given<'a> {
    /// `NAME=FILE` pairs.
    pub named: &'a [(String, PathBuf)],
    /// Files in the order of the program's tensors.
    pub positional: &'a [PathBuf],
    /// Folder or archive.
    pub collection: Option<&'a Path>,
}

/// Where files that the program names are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// Folders, in order.
    pub folders: &'a [&'a Path],
    /// Nothing outside these folders is read.
    pub confined: bool,
}

impl Files<'_> {
    fn find(&self, file: &str) -> Result<PathBuf> {
        if self.confined {
            return program::inside(self.folders, file).map_err(|why| {
                Error::new(Code::F001, format!("cannot read a constant of the kernel: {why}"))
                    .advice("constants are read from the folder of the KLR file or from --constants DIR")
                    .at(|p| p.file = Some(file.to_owned()))
            });
        }
        let paths: Vec<PathBuf> = self.folders.iter().map(|f| f.join(file)).collect();
        let found = paths.iter().find(|p| p.exists()).or(paths.last()).cloned();
        Ok(found.unwrap_or_else(|| PathBuf::from(file)))
    }
}

/// One source per tensor, by index into the declarations.
#[derive(Debug)]
pub struct Plan {
    /// Aligned with the declarations.
    pub origins: Vec<Option<Origin>>,
}

impl Plan {
    /// Sources of inputs and constants: the command line first, then the file the program names, then the seed.
    pub fn inputs(decls: &[Decl], given: &Given<'_>, random: Option<u64>, files: &Files<'_>) -> Result<Plan> {
        let mut plan = Plan::given(decls, given, |d| d.kind.is_input(), "input")?;
        for (i, decl) in decls.iter().enumerate() {
            if plan.origins[i].is_none() && !decl.file.is_empty() {
                let path = files.find(&decl.file).map_err(|e| e.at(|p| p.tensor = Some(decl.name.clone())))?;
                let optional = random.is_some() && decl.kind.is_input();
                if path.exists() || !optional {
                    plan.origins[i] = Some(Origin::File(path));
                }
            }
            if plan.origins[i].is_none() && decl.kind.is_input() {
                plan.origins[i] = random.map(Origin::Random);
            }
        }
        Ok(plan)
    }

    /// Goldens of outputs. Every named golden is opened, so that an unreadable one is found before anything runs.
    pub fn goldens(decls: &[Decl], given: &Given<'_>) -> Result<Plan> {
        let plan = Plan::given(decls, given, |d| d.kind.is_output(), "output")?;
        for (decl, origin) in decls.iter().zip(&plan.origins) {
            let Some(origin) = origin else { continue };
            if !decl.kind.is_output() {
                return Err(Error::new(Code::F006, "a golden is given for a tensor that is not an output")
                    .received(format!("'{}' is {}", decl.name, decl.kind))
                    .advice("goldens belong to ExternalOutput tensors; list them with `birsim inspect PROGRAM`"));
            }
            with_npy(origin, |_| Ok(())).map_err(|e| e.at(|p| p.tensor = Some(decl.name.clone())))?;
        }
        Ok(plan)
    }

    fn given(decls: &[Decl], given: &Given<'_>, belongs: fn(&Decl) -> bool, word: &str) -> Result<Plan> {
        let mut origins: Vec<Option<Origin>> = vec![None; decls.len()];
        // What is given for a rank goes before what is given for all.
        let mut of_rank = vec![false; decls.len()];
        for (name, file) in given.named {
            let (one_rank, found) = resolve_each(decls, name, |d, n| resolve_side(d, n, belongs))?;
            for i in found {
                if origins[i].is_some() && of_rank[i] == one_rank {
                    return Err(Error::new(
                        Code::F008,
                        format!("two files are given for the tensor {}", decls[i].label()),
                    )
                    .received(format!("{name}={}", file.display())));
                }
                if !of_rank[i] {
                    (origins[i], of_rank[i]) = (Some(Origin::of(file, name)), one_rank);
                }
            }
        }
        let own: Vec<usize> = (0..decls.len()).filter(|i| belongs(&decls[*i])).collect();
        for stretch in by_rank(decls) {
            let own: Vec<usize> = own.iter().copied().filter(|i| stretch.contains(i)).collect();
            if given.positional.len() > own.len() {
                let names: Vec<&str> = own.iter().map(|i| decls[*i].name.as_str()).collect();
                return Err(Error::new(Code::F008, format!("more {word} files than the program has {word}s"))
                    .received(format!(
                        "{} files, {} {word}s ({})",
                        given.positional.len(),
                        own.len(),
                        names.join(", ")
                    )));
            }
            for (i, file) in own.iter().zip(given.positional) {
                origins[*i].get_or_insert_with(|| Origin::of(file, &decls[*i].name));
            }
        }
        if let Some(path) = given.collection {
            let found = collection::find(decls, &own, path)?;
            if found.is_empty() && !own.is_empty() {
                let names: Vec<String> = own.iter().map(|i| format!("{}.npy", encode_name(&decls[*i].name))).collect();
                return Err(Error::new(Code::F001, format!("no {word} of the program is found here"))
                    .received(path.display())
                    .advice(format!("files are named after the tensors: {}", names.join(", "))));
            }
            for (i, origin) in found {
                origins[i].get_or_insert(origin);
            }
        }
        Ok(Plan { origins })
    }
}

/// Opens the file or archive member that an origin names.
pub fn with_npy<T>(origin: &Origin, f: impl FnOnce(Npy<'_>) -> Result<T>) -> Result<T> {
    match origin {
        Origin::File(path) => f(npy::open(path)?),
        Origin::Member(path, name) => f(Archive::open(path)?.member(name)?),
        Origin::Random(_) => Err(Error::new(Code::F008, "random contents are for inputs only")),
    }
}

/// The file is an archive by its name.
pub fn is_archive(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "npz")
}

/// An origin in words.
pub fn origin_text(origin: &Origin) -> String {
    match origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Member(path, name) => format!("{}[{name}]", path.display()),
        Origin::Random(seed) => format!("random values, seed {seed}"),
    }
}

impl Origin {
    /// What a file name on the command line means: a `.npy` file, `X.npz[MEMBER]`, or the member `name` of `X.npz`.
    pub fn of(file: &Path, name: &str) -> Origin {
        let text = file.to_string_lossy();
        if file.is_file() && !is_archive(file) {
            return Origin::File(file.to_path_buf());
        }
        match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
            Some((archive, member)) if archive.ends_with(".npz") => Origin::Member(archive.into(), member.into()),
            _ if is_archive(file) => Origin::Member(file.to_path_buf(), name.to_owned()),
            _ => Origin::File(file.to_path_buf()),
        }
    }

    /// The bytes of an input: checked against the declaration.
    pub fn load(&self, decl: &Decl) -> Result<Vec<u8>> {
        let loaded = match self {
            Origin::Random(seed) => {
                let count = decl.shape.iter().try_fold(decl.dtype.size() as u64, |n, d| n.checked_mul(*d));
                // Tensors larger than this do not fit into the machine and were refused before.
                let bytes = count.and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= 1 << 34);
                bytes.and_then(|n| random_bytes(decl, n, *seed)).ok_or_else(|| {
                    Error::new(Code::F004, "the tensor is too large for random contents")
                        .received(format!("{:?}", decl.shape))
                })
            }
            other => with_npy(other, |npy| npy.into_tensor(decl.dtype, &decl.shape)),
        };
        loaded.map_err(|e| e.at(|p| p.tensor = Some(decl.name.clone())))
    }
}
