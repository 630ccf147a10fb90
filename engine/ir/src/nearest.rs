//! Spelling help for messages about unknown names.

/// Longer names are not compared.
const MAX_LENGTH: usize = 64;

/// The candidate that is at most a third of its letters away from the name, when there is one.
pub fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if name.is_empty() || name.len() > MAX_LENGTH {
        return None;
    }
    let scored = candidates.filter(|c| c.len() <= MAX_LENGTH).map(|c| (distance(name, c), c));
    let (d, best) = scored.min_by_key(|(d, c)| (*d, *c))?;
    (d <= name.len().max(best.len()) / 3).then_some(best)
}

/// Number of insertions, removals and replacements, whatever the case of the letters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.bytes().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.bytes().enumerate() {
        let ca = ca.to_ascii_lowercase();
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_wins_and_strangers_do_not() {
        let names = ["TensorTensor", "TensorScalar", "Matmult"];
        assert_eq!(nearest("tensor_scalar", names.into_iter()), Some("TensorScalar"));
        assert_eq!(nearest("Matmul", names.into_iter()), Some("Matmult"));
        assert_eq!(nearest("Frobnicate", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
    }
}
