//! Tensor names on the command line (ruling D27).

use super::Decl;
use birsim_engine::ir::nearest::nearest;
use birsim_kernels::{Code, Error, Result};

/// Index of the tensor that `text` names: a memory-location name, else the set's name or the set's name without `_set`
/// when that is unique.
pub fn resolve(decls: &[Decl], text: &str) -> Result<usize> {
    if let Some(i) = decls.iter().position(|d| d.name == text) {
        return Ok(i);
    }
    let by_set = |d: &Decl| d.by_set && (d.set == text || d.set.strip_suffix("_set") == Some(text));
    let found: Vec<usize> = decls.iter().enumerate().filter(|(_, d)| by_set(d)).map(|(i, _)| i).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::new(Code::F006, "the program has no tensor of this name")
            .received(format!("'{text}'"))
            .advice(suggestion(decls, text))),
        several => {
            let names: Vec<&str> = several.iter().map(|i| decls[*i].name.as_str()).collect();
            Err(Error::new(Code::F006, "the name belongs to several memory locations")
                .received(format!("'{text}'"))
                .advice(format!("use one of {}", names.join(", "))))
        }
    }
}

/// What the user may have meant.
fn suggestion(decls: &[Decl], text: &str) -> String {
    let own = |d: &'_ Decl| [d.name.clone(), d.set.clone(), d.set.strip_suffix("_set").unwrap_or(&d.set).to_owned()];
    let spellings: Vec<(String, &str)> =
        decls.iter().flat_map(|d| own(d).map(|spelling| (spelling, d.name.as_str()))).collect();
    if let Some(near) = nearest(text, spellings.iter().map(|(s, _)| s.as_str())) {
        let best = spellings.iter().find(|(s, _)| s == near).map_or(near, |(_, name)| name);
        return format!("did you mean '{best}'?");
    }
    let outer: Vec<&str> =
        decls.iter().filter(|d| d.kind.is_input() || d.kind.is_output()).map(|d| d.name.as_str()).take(12).collect();
    match outer.as_slice() {
        [] => "the program has neither inputs nor outputs".to_string(),
        names => format!("inputs and outputs are {}; all tensors: `birsim inspect PROGRAM`", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_engine::ir::TensorKind;
    use birsim_kernels::Dtype;

    fn decl(name: &str, set: &str) -> Decl {
        let (kind, dtype) = (TensorKind::ExternalInput, Dtype::Float32);
        Decl { name: name.into(), set: set.into(), by_set: true, kind, dtype, shape: vec![1], file: String::new() }
    }

    #[test]
    fn d27_location_set_and_stem_are_accepted_when_unique() {
        let decls = [decl("x", "x_set"), decl("t_0", "t_set"), decl("t_1", "t_set"), decl("w_loc", "w_set")];
        assert_eq!(resolve(&decls, "x").unwrap(), 0);
        assert_eq!(resolve(&decls, "w_set").unwrap(), 3);
        assert_eq!(resolve(&decls, "w").unwrap(), 3);
        let e = resolve(&decls, "t").unwrap_err();
        assert_eq!(e.code(), Code::F006);
        assert!(e.advice_text().contains("t_0, t_1"), "{e}");
        // With tensor_names=location, set names do not count.
        let only = decls.map(|d| Decl { by_set: false, ..d });
        assert_eq!(resolve(&only, "x").unwrap(), 0);
        assert_eq!(resolve(&only, "w_loc").unwrap(), 3);
        for name in ["w_set", "w", "t", "x_set"] {
            assert_eq!(resolve(&only, name).unwrap_err().code(), Code::F006, "{name}");
        }
    }

    #[test]
    fn near_misses_are_named() {
        let decls = [decl("weights", "weights_set"), decl("q", "q_set")];
        assert!(resolve(&decls, "wieghts").unwrap_err().advice_text().contains("did you mean 'weights'?"));
        assert!(resolve(&decls, "zzzzzz").unwrap_err().advice_text().contains("weights, q"));
        assert!(resolve(&[], "a").unwrap_err().advice_text().contains("neither"));
    }
}
