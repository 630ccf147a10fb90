//! Citations of pages, rulings and tests, in sources, in tables and between pages.

use birsim_engine::ir::Opcode;
use birsim_kernels::Profile;
use birsim_kernels::profile::NOTES;
use birsim_kernels::rulings::RULINGS;
use std::collections::{BTreeMap, BTreeSet};

/// Sections of each page: the numbers that its headings start with.
struct Book(BTreeMap<String, BTreeSet<String>>);

impl Book {
    fn open() -> Book {
        let mut pages = BTreeMap::new();
        for (path, text) in super::files("md") {
            let Some(name) = path.strip_prefix("engine/docs/") else { continue };
            let headings = text.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches(['#', ' ']));
            let number = |h: &str| h.split(' ').next().filter(|n| is_number(n)).map(str::to_string);
            pages.insert(name.to_string(), headings.filter_map(number).collect());
        }
        assert!(pages.len() >= 10, "the pages are in engine/docs");
        Book(pages)
    }

    /// What is wrong with a citation of `page` and the sections that `after` begins with.
    fn wrong(&self, page: &str, after: &str) -> Option<String> {
        let Some(sections) = self.0.get(page) else { return Some(format!("there is no page {page}")) };
        let missing: Vec<String> = numbers(after).into_iter().filter(|n| !sections.contains(n)).collect();
        (!missing.is_empty()).then(|| format!("{page} has no section {}", missing.join(", ")))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Section numbers at the start of a text: `2, 3`, `6.3 and 6.4`, `2 to 6`.
fn numbers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        rest = ["and ", "to "].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches('.');
        if !is_number(number) {
            return found;
        }
        found.push(number.to_string());
        // A full stop ends the list.
        rest = if rest[..end].ends_with('.') { "" } else { &rest[end..] };
    }
}

/// The text of comments and prose as one line, so that a citation may run over a line's end; and where each line starts.
fn joined(text: &str) -> (String, Vec<usize>) {
    let (mut all, mut starts) = (String::new(), Vec::new());
    for line in text.lines() {
        starts.push(all.len());
        all.push_str(
            line.trim_start().trim_start_matches("//!").trim_start_matches("///").trim_start_matches("// ").trim(),
        );
        all.push(' ');
    }
    (all, starts)
}

/// Calls `f(line, page, text after the citation)` for every name of a page in backquotes.
fn cited(text: &str, mut f: impl FnMut(usize, &str, &str)) {
    let (all, starts) = joined(text);
    for (at, _) in all.match_indices(".md`") {
        let begin = all[..at].rfind('`').map_or(0, |b| b + 1);
        let page = &all[begin..at + 3];
        let line = starts.partition_point(|s| *s <= begin);
        if !page.contains(['/', ' ', '*']) {
            f(line, page, &all[at + 4..]);
        }
    }
}

/// Numbers of rulings in a text: `ruling D4`, `rulings D17, D18 and D40`, `rulings D46-D48`.
fn rulings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("uling") {
        let mut rest = text[at + word.len()..].trim_start_matches('s').trim_start();
        while let Some(digits) = rest.strip_prefix('D') {
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if end == 0 {
                break;
            }
            found.push(format!("D{}", &digits[..end]));
            rest = digits[end..].trim_start_matches([',', ' ', '-']);
            rest = ["and ", "to "].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
        }
    }
    found
}

fn report(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} citations lead nowhere:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn citations_in_sources_and_pages_resolve() {
    let book = Book::open();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in super::files("rs").into_iter().chain(super::files("md")) {
        cited(&text, |line, page, after| {
            let known = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md"];
            if known.contains(&page) {
                return;
            }
            seen += 1;
            wrong.extend(book.wrong(page, after).map(|w| format!("{path}:{line}: {w}")));
        });
        let known = |id: &String| RULINGS.iter().any(|r| r.id == id);
        let (all, _) = joined(&text);
        wrong.extend(rulings(&all).iter().filter(|id| !known(id)).map(|id| format!("{path}: there is no ruling {id}")));
    }
    assert!(seen > 100, "only {seen} citations were found");
    report(wrong);
}

#[test]
fn rules_of_opcodes_and_sources_of_fields_and_notes_resolve() {
    let book = Book::open();
    let check = |what: &str, text: &str| -> Vec<String> {
        let mut wrong = Vec::new();
        for part in text.split(';').map(str::trim) {
            let (page, after) = part.split_once(' ').unwrap_or((part, ""));
            let ids = if page.starts_with('D') { rulings(&format!("ruling {part}")) } else { rulings(part) };
            if ids.is_empty() {
                wrong.extend(book.wrong(&format!("{page}.md"), after).map(|w| format!("{what}: {w}")));
            }
            let known = |id: &&String| !RULINGS.iter().any(|r| r.id == id.as_str());
            wrong.extend(ids.iter().filter(known).map(|id| format!("{what}: there is no ruling {id}")));
        }
        wrong
    };
    let opcodes = Opcode::all().map(Opcode::row).flat_map(|row| check(row.name, row.spec));
    let fields = Profile::FIELDS.iter().flat_map(|f| f.sources.iter().flat_map(|s| check(f.name, s)));
    let notes = NOTES.iter().flat_map(|n| n.sources.iter().flat_map(|s| check(n.name, s)));
    report(opcodes.chain(fields).chain(notes).collect());
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut wrong = Vec::new();
    let top =
        ["README.md", "CHANGELOG.md"].map(|n| (n.to_string(), std::fs::read_to_string(super::root().join(n)).unwrap()));
    for (path, text) in super::files("md").into_iter().chain(top) {
        let folder = super::root().join(&path).parent().unwrap().to_path_buf();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split([')', '#']).next().unwrap_or("");
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    report(wrong);
}

#[test]
fn every_fault_has_a_row_and_a_test() {
    let page = std::fs::read_to_string(super::pages().join("faults.md")).unwrap();
    let rows: BTreeSet<u32> = page
        .lines()
        .filter_map(|l| l.strip_prefix("| "))
        .filter_map(|l| l.split(' ').next().and_then(|n| n.parse().ok()))
        .collect();
    let mut tests = BTreeSet::new();
    for (_, text) in super::files("rs") {
        for (at, word) in text.match_indices("fn fault_") {
            let digits: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).collect();
            tests.extend(digits.parse::<u32>());
        }
    }
    assert_eq!(tests.difference(&rows).collect::<Vec<_>>(), Vec::<&u32>::new(), "tests without a row in faults.md");
    assert_eq!(rows.difference(&tests).collect::<Vec<_>>(), Vec::<&u32>::new(), "rows of faults.md without a test");
}

#[test]
fn a_list_of_sections_ends_with_its_sentence() {
    assert_eq!(numbers(" 2, 3)."), ["2", "3"]);
    assert_eq!(numbers(" 6.3 and 6.4; rulings"), ["6.3", "6.4"]);
    assert_eq!(numbers(" 2 to 6): every"), ["2", "6"]);
    assert_eq!(numbers(" 5.1. 64 entries"), ["5.1"]);
    assert_eq!(numbers(". Next"), Vec::<String>::new());
    assert_eq!(rulings("rulings D17, D18 and D40; ruling D1."), ["D17", "D18", "D40", "D1"]);
}
