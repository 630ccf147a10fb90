//! The verdict as JUnit XML: one test for the run itself, one for every output with a golden, one for a
//! golden trace.

use super::report::Record;
use std::fmt::Write;

/// The document.
pub fn xml(record: &Record) -> String {
    let mut cases = String::new();
    let program = escape(&record.program);
    let time = record.wall.as_secs_f64();
    let (mut tests, mut failures) = (1, 0);
    let _ = write!(cases, "  <testcase classname=\"{program}\" name=\"run\" time=\"{time}\"");
    match record.failure() {
        None => cases.push_str("/>\n"),
        Some(e) => {
            let (code, what, text) = (e.code(), escape(e.what()), escape(&e.to_string()));
            let _ = write!(cases, ">\n    <error type=\"{code}\" message=\"{what}\">{text}</error>\n  </testcase>\n");
        }
    }
    for o in &record.outputs {
        let Some(golden) = &o.golden else { continue };
        tests += 1;
        let _ = write!(cases, "  <testcase classname=\"{program}\" name=\"{}\" time=\"0\"", escape(&o.label()));
        if golden.equal() {
            cases.push_str("/>\n");
            continue;
        }
        failures += 1;
        let text = escape(&golden.text());
        let _ = write!(cases, ">\n    <failure type=\"mismatch\" message=\"{text}\"/>\n  </testcase>\n");
    }
    if let Some(difference) = &record.trace {
        tests += 1;
        let _ = write!(cases, "  <testcase classname=\"{program}\" name=\"golden trace\" time=\"0\"");
        match difference {
            None => cases.push_str("/>\n"),
            Some(text) => {
                failures += 1;
                let text = escape(text);
                let _ = write!(cases, ">\n    <failure type=\"mismatch\" message=\"{text}\"/>\n  </testcase>\n");
            }
        }
    }
    let errors = u32::from(record.failure().is_some());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"birsim\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{time}\">\n{cases}</testsuite>\n"
    )
}

/// Text for attributes and elements. Characters that XML cannot hold at all become replacement characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b>&\"c\"\n\x01"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;\u{fffd}");
    }
}
