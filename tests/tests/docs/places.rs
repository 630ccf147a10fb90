//! The places that the rulings name.

use birsim_kernels::rulings::RULINGS;

#[test]
fn every_place_of_a_ruling_exists() {
    let sources = super::files("rs");
    let mut wrong = Vec::new();
    for ruling in RULINGS {
        let mut words = ruling.place.split([' ', ',']).filter(|w| !w.is_empty());
        let place = words.next().unwrap_or_default();
        let texts: Vec<&str> = sources
            .iter()
            .filter(|(path, _)| {
                let inside = path.split_once("/src/").map_or("", |(_, inside)| inside);
                if place.ends_with('/') { inside.starts_with(place) } else { inside == place }
            })
            .map(|(_, text)| text.as_str())
            .collect();
        if texts.is_empty() {
            wrong.push(format!("{}: there is no {place}", ruling.id));
            continue;
        }
        for name in words {
            let declares = |text: &str| {
                ["fn", "struct", "enum", "trait"].iter().any(|kind| {
                    let text_of = format!("{kind} {name}");
                    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                    text.match_indices(&text_of).any(|(at, found)| ends(&text[at + found.len()..]))
                })
            };
            if !texts.iter().any(|t| declares(t)) {
                wrong.push(format!("{}: {place} declares no {name}", ruling.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
