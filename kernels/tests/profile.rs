//! The profile as a whole: every ruling and every open section has its field, every field takes and shows its values.

use birsim_kernels::profile::NOTES;
use birsim_kernels::rulings::RULINGS;
use birsim_kernels::{Code, Profile};
use std::collections::HashSet;

/// Sections of the pages in `engine/docs` that leave behaviour open or state a choice.
const OPEN_SECTIONS: &[&str] = &[
    "numerics 1.1",
    "numerics 2.2",
    "numerics 3.1",
    "numerics 4.4",
    "numerics 4.7",
    "numerics 5.4",
    "numerics 6",
    "numerics 9",
    "alu 2",
    "alu 2.1",
    "alu 3",
    "alu 4.1",
    "alu 4.2",
    "alu 4.3",
    "alu 4.4",
    "alu 4.6",
    "alu 4.7",
    "alu 4.9",
    "alu 6.4",
    "alu 6.5",
    "alu 6.8",
    "alu 6.10",
    "alu 6.13",
    "alu 8",
    "matmul-mx 2.4",
    "matmul-mx 2.5",
    "matmul-mx 2.6",
    "matmul-mx 2.7",
    "matmul-mx 3.2",
    "matmul-mx 3.3",
    "matmul-mx 5.5",
    "matmul-mx 6",
    "matmul-mx 9",
    "activation 1.5",
    "activation 3",
    "activation 3.1",
    "activation 6",
    "activation 7.1",
    "activation 7.3",
    "activation 10",
    "bir-json 1",
    "bir-json 3",
    "bir-json 4.2",
    "bir-json 5.1",
    "bir-json 6.2",
    "bir-json 6.4",
    "bir-json 7.1",
    "bir-json 7.3",
    "bir-json 8",
    "bir-json 9",
    "bir-json 10",
    "bir-json 12",
    "machine 1",
    "machine 3",
    "opcodes 5",
    "opcodes 11",
    "opcodes 13",
    "opcodes 14",
];

fn is_answered(source: &str) -> bool {
    Profile::FIELDS.iter().map(|f| f.sources).chain(NOTES.iter().map(|n| n.sources)).any(|s| s.contains(&source))
}

#[test]
fn every_ruling_is_listed_once() {
    for (k, r) in RULINGS.iter().enumerate() {
        assert_eq!(r.id, format!("D{}", k + 1));
    }
    // The first ones were questions of numerics, each with a field or a note. Later ones say what is an error.
    for r in &RULINGS[..58] {
        assert!(is_answered(r.id) && r.fields().chain(r.notes()).count() > 0, "{}", r.id);
    }
    let sources = Profile::FIELDS.iter().map(|f| (f.name, f.sources)).chain(NOTES.iter().map(|n| (n.name, n.sources)));
    for (name, sources) in sources {
        for s in sources.iter().filter(|s| s.starts_with('D')) {
            assert!(RULINGS.iter().any(|r| r.id == *s), "{name}: {s}");
        }
    }
}

#[test]
fn every_open_section_has_a_field_or_a_note() {
    for s in OPEN_SECTIONS {
        assert!(is_answered(s), "{s}");
    }
}

#[test]
fn every_field_and_note_is_described_once() {
    let mut names = HashSet::new();
    for n in NOTES {
        assert!(names.insert(n.name), "{} is declared twice", n.name);
        assert!(n.what.trim().ends_with('.') && n.what.len() < 140, "{}: {}", n.name, n.what);
        assert!(!n.sources.is_empty() && !n.topic.is_empty() && !n.answer.is_empty(), "{}", n.name);
        let e = Profile::reference().set(n.name, n.answer).unwrap_err();
        assert_eq!(e.code(), Code::F008);
        assert!(e.what().contains("is not a choice"), "{}", e.what());
    }
    for f in Profile::FIELDS {
        assert!(names.insert(f.name), "{} is declared twice", f.name);
        assert!(f.what.trim().ends_with('.') && f.what.len() < 140, "{}: {}", f.name, f.what);
        assert!(!f.sources.is_empty() && !f.topic.is_empty(), "{}", f.name);
    }
    // A topic is one block of rows.
    let mut topics: Vec<&str> = Profile::FIELDS.iter().map(|f| f.topic).collect();
    topics.dedup();
    assert_eq!(topics.len(), topics.iter().collect::<HashSet<_>>().len());
}

#[test]
fn every_field_takes_and_shows_each_of_its_values() {
    for (field, accepted) in Profile::accepted() {
        assert!(accepted.len() > 1, "{} is a choice", field.name);
        for value in &accepted {
            let mut p = Profile::reference();
            p.set(field.name, value).unwrap();
            let shown = p.values().into_iter().find(|(f, _)| f.name == field.name).unwrap().1;
            assert_eq!(shown, *value, "{}", field.name);
            let changed: Vec<&str> = p.differences().iter().map(|(f, _)| f.name).collect();
            let documented = Profile::reference().values().into_iter().find(|(f, _)| f.name == field.name).unwrap().1;
            assert_eq!(changed, if documented == *value { vec![] } else { vec![field.name] });
        }
        let e = Profile::reference().set(field.name, "no such value").unwrap_err();
        assert_eq!(e.code(), Code::F008);
        for value in &accepted {
            assert!(e.advice_text().contains(value), "{}: {}", field.name, e.advice_text());
        }
    }
    let e = Profile::reference().set("fp8_saturated", "true").unwrap_err();
    assert_eq!(e.code(), Code::F008);
    assert!(e.advice_text().contains("birsim ops --fidelity"));
}

#[test]
fn presets_are_values_that_set_accepts() {
    for preset in [Profile::reference(), Profile::device()] {
        let mut copy = Profile::reference();
        for (field, value) in preset.values() {
            copy.set(field.name, &value).unwrap();
        }
        assert_eq!(copy, preset);
    }
    assert_eq!(Profile::default(), Profile::reference());
    assert!(Profile::reference().differences().is_empty());
    assert!(!Profile::device().differences().is_empty());
}

#[test]
fn a_profile_is_small_and_copied() {
    fn is_copy<T: Copy>() {}
    is_copy::<Profile>();
    assert!(size_of::<Profile>() <= 128, "{} bytes", size_of::<Profile>());
}
