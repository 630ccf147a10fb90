//! The folders of the engine, bottom up: a folder may use those below it, never those above.

use std::path::{Path, PathBuf};

/// Folders from the lowest to the highest; those of one line do not use each other.
const ORDER: &[&[&str]] = &[
    &["memory"],
    &["world"],
    &["exec", "sync"],
    &["control", "check"],
    &["systems"],
    &["sim"],
    &["cores"],
    &["session", "simulator"],
];

fn level(folder: &str) -> Option<usize> {
    ORDER.iter().position(|line| line.contains(&folder))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Folders that a line of code names: `crate::folder`, or the members of `use crate::{..}`.
fn folders_named(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '$' || c == '_') {
            continue;
        }
        let line = text[..at].matches('\n').count() + 1;
        let rest = &text[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            // The first word of every member at the outer level of the braces.
            Some(list) => {
                let mut depth = 0;
                let end = list.find(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    depth < 0
                });
                let mut depth = 0;
                let split = |c: char| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                };
                list[..end.unwrap_or(list.len())].split(split).collect()
            }
            None => vec![rest],
        };
        for name in names {
            let word: String = name.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            out.push((line, word));
        }
    }
    out
}

#[test]
fn no_folder_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let (mut arrows, mut upward) = (0, Vec::new());
    for path in files {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let folder = name.split(['/', '.']).next().unwrap();
        let Some(from) = level(folder) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let code: String = text
            .lines()
            .map(|l| if l.trim_start().starts_with("//") { "" } else { l })
            .flat_map(|l| [l, "\n"])
            .collect();
        for (line, to) in folders_named(&code) {
            let Some(at) = level(&to).filter(|_| to != folder) else { continue };
            arrows += 1;
            if at >= from {
                upward.push(format!("{name}:{line} uses {to}"));
            }
        }
    }
    assert!(arrows > 40, "only {arrows} arrows were found: the test does not see the code");
    assert!(upward.is_empty(), "arrows that do not point down:\n{}", upward.join("\n"));
}

#[test]
fn the_test_sees_every_way_to_name_a_folder() {
    let folders = |text| folders_named(text).into_iter().map(|(_, r)| r).collect::<Vec<_>>();
    assert_eq!(folders("use crate::exec::Cx;"), ["exec"]);
    assert_eq!(folders("use crate::{Code, check::{self, run}, sim::Core};"), ["Code", "check", "sim"]);
    assert_eq!(folders("pub(crate) fn f(x: crate::sync::Banks)"), ["sync"]);
    assert_eq!(folders("$crate::sync::Banks"), Vec::<String>::new());
}
