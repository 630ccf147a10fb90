//! Tensor names on the command line (ruling D27).

use super::Decl;
use birsim_engine::ir::nearest::nearest;
use birsim_kernels::{Code, Error, Result};
use std::ops::Range;

/// The stretches of the declarations, one per rank.
pub fn by_rank(decls: &[Decl]) -> Vec<Range<usize>> {
    let ranks = decls.last().and_then(|d| d.rank).map_or(1, |last| last + 1);
    let mut start = 0;
    (0..ranks)
        .map(|rank| {
            let n = decls[start..].iter().take_while(|d| d.rank.is_none_or(|r| r == rank)).count();
            start += n;
            start - n..start
        })
        .collect()
}

/// Rank and name of `rank3/NAME`.
pub fn split_rank(text: &str) -> Option<(usize, &str)> {
    let (rank, name) = text.strip_prefix("rank")?.split_once('/')?;
    let plain = !rank.is_empty() && rank.bytes().all(|b| b.is_ascii_digit());
    Some((rank.parse().ok().filter(|_| plain)?, name))
}

/// Every tensor that `text` names, and whether it names a rank: `rank3/NAME` is one tensor of one rank, NAME the tensor
/// of every rank that has it. `find` looks among the tensors of a rank.
pub fn resolve_each(
    decls: &[Decl],
    text: &str,
    find: impl Fn(&[Decl], &str) -> Result<usize>,
) -> Result<(bool, Vec<usize>)> {
    let stretches = by_rank(decls);
    if let Some((rank, name)) = split_rank(text)
        && decls.iter().all(|d| d.name != text)
    {
        let own = stretches.get(rank).cloned().ok_or_else(|| {
            Error::new(Code::F006, "the run has no rank of this number")
                .received(format!("'{text}'"))
                .advice(format!("ranks are 0..{}; see --lnc and --ranks", stretches.len()))
        })?;
        return Ok((true, vec![own.start + find(&decls[own], name)?]));
    }
    let (mut found, mut refused) = (Vec::new(), None);
    for own in stretches {
        match find(&decls[own.clone()], text) {
            Ok(i) => found.push(own.start + i),
            Err(e) => _ = refused.get_or_insert(e),
        }
    }
    match refused.filter(|_| found.is_empty()) {
        Some(e) => Err(e),
        None => Ok((false, found)),
    }
}

/// Index of the tensor that `text` names; that of the first rank when it names none.
pub fn resolve(decls: &[Decl], text: &str) -> Result<usize> {
    let (_, found) = resolve_each(decls, text, resolve_one)?;
    found.first().copied().ok_or_else(|| Error::new(Code::B001, "a name was found nowhere").received(text))
}

/// Index of the tensor of one rank that `text` names: a memory-location name, else the set's name or the set's name
/// without `_set` when that is unique.
pub fn resolve_one(decls: &[Decl], text: &str) -> Result<usize> {
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
        let (rank, file) = (None, String::new());
        Decl { rank, name: name.into(), set: set.into(), by_set: true, kind, dtype, shape: vec![1], file }
    }

    #[test]
    fn d73_a_name_with_a_rank_is_a_tensor_of_that_rank() {
        let of = |rank: usize, name: &str| Decl { rank: Some(rank), ..decl(name, name) };
        let decls = [of(0, "x"), of(0, "y"), of(1, "x"), of(2, "x"), of(2, "z")];
        assert_eq!(by_rank(&decls), [0..2, 2..3, 3..5]);
        let each = |text: &str| resolve_each(&decls, text, resolve_one);
        assert_eq!(each("x").unwrap(), (false, vec![0, 2, 3]));
        assert_eq!(each("z").unwrap(), (false, vec![4]));
        assert_eq!(each("rank2/x").unwrap(), (true, vec![3]));
        for missing in ["rank1/y", "rank3/x", "w"] {
            assert_eq!(each(missing).unwrap_err().code(), Code::F006, "{missing}");
        }
        // Without ranks everything is of rank 0.
        assert_eq!(resolve(&[decl("x", "x_set")], "rank0/x").unwrap(), 0);
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
