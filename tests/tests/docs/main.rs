//! The rule book in `engine/docs`: generated pages are current, and whatever cites a page, a ruling or a test leads somewhere.
//!
//! `BIRSIM_BLESS=1 cargo test -p birsim-tests --test docs` writes the generated pages anew.

mod citations;
mod generated;
mod places;

use std::path::{Path, PathBuf};

/// The top folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of the pages.
fn pages() -> PathBuf {
    root().join("engine/docs")
}

/// Files below the folders of the repository that end in `.ext`, as (path from the top, text), in order of path.
fn files(ext: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["benches", "engine", "kernels", "tests", "tools"].iter().map(|top| root().join(top)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // Fuzz targets are built apart and keep their own `target`.
            let skipped = path.file_name().is_some_and(|n| n == "target" || n == "corpus" || n == "node_modules");
            if path.is_dir() && !skipped {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ext) {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
