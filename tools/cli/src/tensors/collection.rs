//! Folders and archives of tensor files: every member must name a tensor of the program.
//!
//! A member that names none is refused, since the tensor that was meant would silently be taken from elsewhere. One that
//! names a tensor of the other side is left alone: one collection may hold inputs and goldens.

use super::names::{by_rank, resolve_one as resolve, split_rank};
use super::{Decl, Origin};
use crate::npy::{Archive, decode_name};
use birsim_kernels::{Code, Error, Result};
use std::path::Path;

/// What an input is called whose output has its name and its storage (`klr.md` 9.2).
const ALIASED: &str = ".must_alias_input";

/// The tensor of this name; where an output has the name of its input, the one that belongs to the side in question.
pub fn resolve_side(decls: &[Decl], name: &str, belongs: impl Fn(&Decl) -> bool) -> Result<usize> {
    let i = resolve(decls, name)?;
    if !belongs(&decls[i]) {
        let input = format!("{}{ALIASED}", decls[i].name);
        if let Some(k) = decls.iter().position(|d| d.name == input && belongs(d)) {
            return Ok(k);
        }
    }
    Ok(i)
}

/// Sources of the tensors `own` in a folder or an archive. A member `rankK/NAME` is for rank K, and goes before NAME, which
/// is for every rank.
pub fn find(decls: &[Decl], own: &[usize], path: &Path) -> Result<Vec<(usize, Origin)>> {
    let (all, stretches) = (decls, by_rank(decls));
    let members = if path.is_dir() { folder(path, stretches.len() > 1)? } else { archive(path)? };
    if let Some((name, _)) = members.iter().find(|(n, _)| rank_of(all, n).is_some_and(|(r, _)| r >= stretches.len())) {
        return Err(Error::new(Code::F006, "a member is for a rank that the run has not")
            .received(format!("'{name}' of {} ranks", stretches.len()))
            .at(|p| p.file = Some(path.display().to_string())));
    }
    let mut found = Vec::new();
    for (rank, stretch) in stretches.iter().enumerate() {
        let (decls, first) = (&decls[stretch.clone()], stretch.start);
        let own: Vec<usize> = own.iter().filter(|i| stretch.contains(i)).map(|i| i - first).collect();
        let special = members.iter().filter_map(|(name, o)| {
            let (r, name) = rank_of(all, name)?;
            (r == rank).then(|| (name.to_owned(), o.clone()))
        });
        let common = members.iter().filter(|(name, _)| rank_of(all, name).is_none()).cloned();
        // A name that only another rank has does not count for this one.
        let elsewhere = |name: &str| {
            stretches.iter().any(|s| *s != *stretch && resolve_side(&all[s.clone()], name, |_| true).is_ok())
        };
        let mut mine = of_one_rank(decls, &own, path, special, &|_| false)?;
        for (i, origin) in of_one_rank(decls, &own, path, common, &elsewhere)? {
            if mine.iter().all(|(k, _)| *k != i) {
                mine.push((i, origin));
            }
        }
        found.extend(mine.into_iter().map(|(i, origin)| (first + i, origin)));
    }
    Ok(found)
}

/// Rank and name of a member for one rank, unless a tensor has all of it as its name.
fn rank_of<'a>(decls: &[Decl], name: &'a str) -> Option<(usize, &'a str)> {
    split_rank(name).filter(|_| decls.iter().all(|d| d.name != name))
}

/// The same among the tensors of a rank. Members that `skip` knows may name none of them.
fn of_one_rank(
    decls: &[Decl],
    own: &[usize],
    path: &Path,
    members: impl Iterator<Item = (String, Origin)>,
    skip: &dyn Fn(&str) -> bool,
) -> Result<Vec<(usize, Origin)>> {
    let mut found: Vec<(usize, String, Origin)> = Vec::new();
    for (name, origin) in members {
        let at = |e: Error| e.at(|p| p.file = Some(super::origin_text(&origin)));
        let i = match member(decls, own, &name, path.is_dir()) {
            Ok(Some(i)) => i,
            Ok(None) => continue,
            Err(_) if skip(&name) => continue,
            Err(e) => return Err(at(e)),
        };
        if !own.contains(&i) {
            let d = &decls[i];
            if d.kind.is_input() || d.kind.is_output() || !d.file.is_empty() {
                continue;
            }
            return Err(at(Error::new(Code::F006, "a member names a tensor that is bound by no file")
                .received(format!("'{name}', {} is {}", d.name, d.kind))
                .advice("take the member out; inputs and outputs are listed by `birsim inspect PROGRAM`")));
        }
        match found.iter_mut().find(|f| f.0 == i) {
            None => found.push((i, name, origin)),
            // The file of an aliased output stands in for its input only where the input has none of its own.
            Some(f) if aliases(&decls[i], &f.1) => *f = (i, name, origin),
            Some(_) if aliases(&decls[i], &name) => {}
            Some(f) => {
                return Err(Error::new(Code::F008, format!("two members are for the tensor {}", decls[i].name))
                    .received(format!("'{}' and '{name}'", f.1))
                    .at(|p| p.file = Some(path.display().to_string())));
            }
        }
    }
    Ok(found.into_iter().map(|(i, _, origin)| (i, origin)).collect())
}

fn aliases(decl: &Decl, name: &str) -> bool {
    decl.name.strip_suffix(ALIASED).is_some_and(|output| output == name || output == decode_name(name))
}

/// The tensor that a member names; `None` for what a run has written into a folder itself.
fn member(decls: &[Decl], own: &[usize], name: &str, in_folder: bool) -> Result<Option<usize>> {
    let belongs = |d: &Decl| own.iter().any(|i| decls[*i].name == d.name);
    let find = |n: &str| {
        resolve_side(decls, n, belongs).or_else(|e| resolve_side(decls, &decode_name(n), belongs).map_err(|_| e))
    };
    let refused = match find(name) {
        Ok(i) => return Ok(Some(i)),
        Err(e) => e,
    };
    if !in_folder {
        return Err(refused);
    }
    if let Some(i) = name.strip_prefix("value_").and_then(|n| find(n).ok()) {
        return Ok(Some(i));
    }
    let result = name.strip_suffix("-birsim").or_else(|| name.strip_suffix("-dump"));
    let tensor = result.map(|n| n.split_once('@').map_or(n, |(t, _)| t));
    if tensor.is_some_and(|n| find(n).is_ok()) { Ok(None) } else { Err(refused) }
}

/// The `.npy` files of a folder by their names without the suffix, sorted; on request also those of its folders `rankK`.
fn folder(path: &Path, ranks: bool) -> Result<Vec<(String, Origin)>> {
    let failed = |e: std::io::Error| {
        Error::new(Code::F001, format!("cannot read the folder: {e}")).at(|p| p.file = Some(path.display().to_string()))
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".npy").filter(|_| file.is_file()) {
            names.push((name.to_owned(), Origin::File(file)));
        } else if ranks && file.is_dir() && split_rank(&format!("{name}/")).is_some() {
            let inner = folder(&file, false)?;
            names.extend(inner.into_iter().map(|(member, origin)| (format!("{name}/{member}"), origin)));
        }
    }
    names.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

/// The arrays of an archive.
fn archive(path: &Path) -> Result<Vec<(String, Origin)>> {
    let names = Archive::open(path)?.names().into_iter();
    Ok(names.map(|name| (name.clone(), Origin::Member(path.to_path_buf(), name))).collect())
}
