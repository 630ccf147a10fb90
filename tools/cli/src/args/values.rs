//! Values of options.

use crate::npy::encode_name;
use birsim_engine::{Check, Target, ir::Arch};
use birsim_kernels::{Dtype, Named};
use std::path::{Path, PathBuf};

/// `NAME=FILE`.
pub(super) fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_string(), PathBuf::from(file))),
        _ => Err("write NAME=FILE".to_string()),
    }
}

/// `NAME=[[0,1],[2,3]]`.
pub(super) fn replica_group(text: &str) -> Result<(String, Vec<Vec<i64>>), String> {
    let (name, groups) = text.split_once('=').ok_or("write NAME=[[0,1],[2,3]]")?;
    let groups: Vec<Vec<u32>> =
        serde_json::from_str(groups).map_err(|e| format!("the groups are lists of ranks: {e}"))?;
    let groups = groups.into_iter().map(|g| g.into_iter().map(i64::from).collect()).collect();
    Ok((name.to_string(), groups))
}

/// A value of `--dump`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpPoint {
    /// Tensor.
    pub tensor: String,
    /// Dumped after this instruction; without one, at the end of the run.
    pub instruction: Option<String>,
    /// File; without one, a name in the output folder.
    pub file: Option<PathBuf>,
}

impl DumpPoint {
    /// The file the values go to.
    pub fn path(&self, out: &Path) -> PathBuf {
        let tensor = encode_name(&self.tensor);
        let name = match &self.instruction {
            None => format!("{tensor}-dump.npy"),
            Some(i) => format!("{tensor}@{}-dump.npy", encode_name(i)),
        };
        self.file.clone().unwrap_or_else(|| out.join(name))
    }
}

/// `TENSOR[@INSTRUCTION[#N]][=FILE]`.
pub(super) fn dump_point(text: &str) -> Result<DumpPoint, String> {
    let (point, file) = match text.split_once('=') {
        Some((p, f)) if !f.is_empty() => (p, Some(PathBuf::from(f))),
        Some(_) => return Err("write TENSOR[@INSTRUCTION[#N]][=FILE]".to_string()),
        None => (text, None),
    };
    let (tensor, instruction) = match point.split_once('@') {
        Some((t, i)) if !i.is_empty() => (t, Some(i.to_string())),
        Some(_) => return Err("an instruction is missing after @".to_string()),
        None => (point, None),
    };
    if tensor.is_empty() {
        return Err("write TENSOR[@INSTRUCTION[#N]][=FILE]".to_string());
    }
    Ok(DumpPoint { tensor: tensor.to_string(), instruction, file })
}

/// A checker.
pub(super) fn check(text: &str) -> Result<Check, String> {
    Check::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = Check::ALL.iter().map(|c| c.name()).collect();
        format!("checkers are {}", names.join(", "))
    })
}

/// `FIELD=VALUE`.
pub(super) fn named_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=VALUE")?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// A machine.
pub(super) fn target(text: &str) -> Result<Target, String> {
    let known = Target::from_name(text).or_else(|| Target::of(Some(Arch::from_name(text)?)).ok());
    known.ok_or_else(|| "targets are inf1, trn1 (sunda, inf2), trn2 (gen3, cayman) and trn3 (core_v4)".to_string())
}

/// A number of bytes with a suffix.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let lower = lower.strip_suffix('i').unwrap_or(lower);
    let (digits, shift) = match lower.as_bytes().last() {
        Some(b'k') => (&lower[..lower.len() - 1], 10),
        Some(b'm') => (&lower[..lower.len() - 1], 20),
        Some(b'g') => (&lower[..lower.len() - 1], 30),
        _ => (lower, 0),
    };
    let number = digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    number.ok_or_else(|| "write a number of bytes, such as 500M or 2G".to_string())
}

/// A byte, decimal or hexadecimal.
pub(super) fn byte(text: &str) -> Result<u8, String> {
    let value = match text.trim().strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.trim().parse(),
    };
    value.map_err(|_| "write a byte, such as 0xA5 or 165".to_string())
}

/// A time.
pub(super) fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let value: f64 = text.trim_end_matches('s').parse().map_err(|_| "write a number of seconds")?;
    std::time::Duration::try_from_secs_f64(value).map_err(|_| "write a number of seconds".to_string())
}

/// A tolerance.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 => Ok(x),
        _ => Err("a tolerance is a number of at least 0".to_string()),
    }
}

/// `PERCENT,ABS`.
pub(super) fn tolerance_pair(text: &str) -> Result<(f64, f64), String> {
    let (a, b) = text.split_once(',').ok_or("write two numbers: PERCENT,ABS")?;
    Ok((tolerance(a.trim())?, tolerance(b.trim())?))
}

/// An element type.
pub(super) fn dtype(text: &str) -> Result<Dtype, String> {
    let found = Dtype::from_name(text).or_else(|| Dtype::ALL.iter().copied().find(|d| d.ml_dtypes_name() == text));
    found.ok_or_else(|| {
        let names: Vec<&str> = Dtype::ALL.iter().map(|d| d.name()).collect();
        format!("not a BIR dtype; one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(bytes("500M"), Ok(500 << 20));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("17"), Ok(17));
        assert!(bytes("99999999999G").is_err() && bytes("x").is_err() && bytes("").is_err());
        assert_eq!(seconds("1.5s").unwrap().as_millis(), 1500);
        assert!(seconds("-1").is_err() && seconds("nan").is_err() && seconds("1e300").is_err());
        assert_eq!(named_file("x=a=b").unwrap(), ("x".to_string(), PathBuf::from("a=b")));
        assert!(named_file("x").is_err() && named_file("=x").is_err());
        assert_eq!(replica_group("dp=[[0,1],[2]]"), Ok(("dp".to_string(), vec![vec![0, 1], vec![2]])));
        assert!(replica_group("dp=[[-1]]").is_err() && replica_group("dp").is_err());
    }
}
