//! The sample files and small helpers.

use std::path::{Path, PathBuf};

/// Folder of the sample files.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Every sample file, sorted: (name without extension, bytes).
pub fn samples() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(data())
        .expect("tests/data exists")
        .map(|entry| entry.expect("readable entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "klr"))
        .map(|path| {
            let name = path.file_stem().expect("has a name").to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("readable"))
        })
        .collect();
    found.sort();
    found
}

/// One sample file.
#[allow(dead_code)]
pub fn sample(name: &str) -> Vec<u8> {
    std::fs::read(data().join(format!("{name}.klr"))).expect("sample exists")
}
