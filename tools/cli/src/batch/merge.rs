//! `--merge`: the results of several shards as those of the whole manifest.

use super::line::Line;
use super::manifest::Item;
use super::results;
use birsim_kernels::{Code, Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Most items that an error names.
const NAMED: usize = 10;

/// The lines of all files in manifest order. Missing, doubled, contradicting and unknown items are errors, all at once.
pub fn merge(files: &[PathBuf], items: &[Item]) -> Result<Vec<Line>, Vec<Error>> {
    let mut found: HashMap<String, (Line, &Path)> = HashMap::new();
    let mut errors = Vec::new();
    let known: HashMap<&str, &Item> = items.iter().map(|i| (i.id.as_str(), i)).collect();
    for file in files {
        let lines = match results::read(file) {
            Ok(lines) => lines,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        for line in lines {
            let at = |e: Error| e.at(|p| p.file = Some(file.display().to_string()));
            if !known.contains_key(line.id.as_str()) {
                errors.push(at(bad("a result is of no item of the manifest").received(format!("{:?}", line.id))));
                continue;
            }
            if let Some((first, of)) = found.get(&line.id) {
                let what = if line.same_result(first) {
                    "an item has two results"
                } else {
                    "two results of one item contradict each other"
                };
                errors.push(at(bad(what).received(format!("{:?}, also in {}", line.id, of.display()))));
                continue;
            }
            found.insert(line.id.clone(), (line, file));
        }
    }
    let mut lines = Vec::with_capacity(items.len());
    let mut missing = Vec::new();
    for item in items {
        match found.remove(&item.id) {
            Some((line, _)) => lines.push(adopted(line, item)),
            None => missing.push(item.id.as_str()),
        }
    }
    if !missing.is_empty() {
        let more = if missing.len() > NAMED { format!(" and {} more", missing.len() - NAMED) } else { String::new() };
        let names = missing.iter().take(NAMED).map(|id| format!("{id:?}")).collect::<Vec<_>>().join(", ");
        errors.push(
            bad("items have no result").received(format!("{names}{more}")).advice("give the results of every shard"),
        );
    }
    if errors.is_empty() { Ok(lines) } else { Err(errors) }
}

/// A result under what the manifest says today: position and expectation.
pub fn adopted(mut line: Line, item: &Item) -> Line {
    line.index = item.index;
    line.as_expected = item.expects(line.status, line.error.as_ref().and_then(|e| e.code.as_deref()));
    line
}

fn bad(what: &str) -> Error {
    Error::new(Code::F010, what)
}

#[cfg(test)]
mod tests {
    use super::super::line::Status;
    use super::*;

    fn files(parts: &[&[(&str, i32)]]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            let line = |(id, code): &(&str, i32)| {
                Line { id: id.to_string(), ..Line::lost(Status::Crash, *code, "x".into()) }.text()
            };
            paths.push(dir.path().join(format!("{k}.jsonl")));
            std::fs::write(&paths[k], part.iter().map(line).collect::<String>()).unwrap();
        }
        (dir, paths)
    }

    fn items(ids: &[&str]) -> Vec<Item> {
        let text: String =
            ids.iter().map(|id| format!("{{\"id\":\"{id}\",\"program\":\"p\",\"expect\":\"crash\"}}\n")).collect();
        super::super::manifest::read_all(&text, "m").unwrap()
    }

    #[test]
    fn shards_become_one_in_manifest_order() {
        let (_dir, paths) = files(&[&[("c", 1), ("a", 1)], &[("b", 1)]]);
        let lines = merge(&paths, &items(&["a", "b", "c"])).unwrap();
        assert_eq!(
            lines.iter().map(|l| (l.id.as_str(), l.index, l.as_expected)).collect::<Vec<_>>(),
            [("a", 0, true), ("b", 1, true), ("c", 2, true)]
        );
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let (_dir, paths) = files(&[&[("a", 1), ("x", 1), ("b", 1)], &[("b", 2), ("a", 1)]]);
        let texts: Vec<String> =
            merge(&paths, &items(&["a", "b", "c"])).unwrap_err().iter().map(|e| e.what().into()).collect();
        assert_eq!(
            texts,
            [
                "a result is of no item of the manifest",
                "two results of one item contradict each other",
                "an item has two results",
                "items have no result"
            ]
        );
    }
}
