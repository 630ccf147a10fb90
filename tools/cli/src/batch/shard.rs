//! One of several machines that share a manifest: which one this is, from the command line or from its scheduler.

use birsim_kernels::{Code, Error, Result};

/// Part K of N, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// This part.
    pub part: u32,
    /// Number of parts.
    pub of: u32,
}

/// A value of `--shard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// `K/N`.
    Shard(Shard),
    /// `auto`.
    Auto,
}

impl Shard {
    /// The item with this position belongs to the part.
    pub fn has(self, index: usize) -> bool {
        index as u64 % u64::from(self.of) == u64::from(self.part - 1)
    }
}

/// `K/N` or `auto`.
pub fn parse(text: &str) -> Result<Given, String> {
    if text == "auto" {
        return Ok(Given::Auto);
    }
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((part, of)) if 0 < part && part <= of => Ok(Given::Shard(Shard { part, of })),
        _ => Err("write K/N with K from 1 to N, or auto".to_string()),
    }
}

/// Variables of a scheduler.
struct Scheduler {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
    /// A variable with the number of the first rank, where it is not 0.
    first: Option<&'static str>,
}

/// Task arrays come before the tasks of one job: both are set in a step of an array task.
const SCHEDULERS: [Scheduler; 6] = [
    Scheduler {
        name: "Slurm array",
        rank: "SLURM_ARRAY_TASK_ID",
        size: "SLURM_ARRAY_TASK_COUNT",
        first: Some("SLURM_ARRAY_TASK_MIN"),
    },
    Scheduler { name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", first: None },
    Scheduler { name: "Slurm step", rank: "SLURM_PROCID", size: "SLURM_NTASKS", first: None },
    Scheduler { name: "PMI", rank: "PMI_RANK", size: "PMI_SIZE", first: None },
    Scheduler {
        name: "AWS Batch array",
        rank: "AWS_BATCH_JOB_ARRAY_INDEX",
        size: "AWS_BATCH_JOB_ARRAY_SIZE",
        first: None,
    },
    Scheduler { name: "Kubernetes indexed job", rank: "JOB_COMPLETION_INDEX", size: "JOB_COMPLETIONS", first: None },
];

/// The shard of this process, from the variables of its scheduler.
///
/// Sources: sbatch and srun manuals (Slurm), `mpirun` manual (Open MPI), PMI 1.1, AWS Batch user guide on array jobs,
/// Kubernetes documentation on indexed jobs, whose number of completions is in no variable unless the job sets one.
pub fn detect(get: impl Fn(&str) -> Option<String>) -> Result<Shard> {
    for s in SCHEDULERS {
        let Some(rank) = get(s.rank) else { continue };
        let number = |name: &str, text: &str| {
            text.trim()
                .parse::<i64>()
                .map_err(|_| wrong(&s, format!("{name} is no number")).received(format!("{text:?}")))
        };
        let Some(size) = get(s.size) else {
            return Err(wrong(&s, format!("{} is set but {} is not", s.rank, s.size))
                .advice(format!("set {} to the number of tasks, or give --shard K/N", s.size)));
        };
        let first = s.first.and_then(|f| get(f).map(|text| number(f, &text))).transpose()?.unwrap_or(0);
        let (rank, size) = (number(s.rank, &rank)?.saturating_sub(first), number(s.size, &size)?);
        let fits = |n: i64| u32::try_from(n).ok();
        return match (fits(rank), fits(size)) {
            (Some(rank), Some(size)) if rank < size => Ok(Shard { part: rank + 1, of: size }),
            _ => Err(wrong(&s, "the rank is not below the size".into())
                .received(format!("rank {rank} of {size}"))
                .advice("number the tasks without gaps, or give --shard K/N")),
        };
    }
    Err(Error::new(Code::F008, "--shard auto finds no scheduler").advice(format!(
        "it reads the variables of {}; give --shard K/N elsewhere",
        SCHEDULERS.map(|s| s.name).join(", ")
    )))
}

fn wrong(s: &Scheduler, what: String) -> Error {
    Error::new(Code::F008, format!("--shard auto ({}): {what}", s.name))
}

/// The scheduler that has started several copies of this process, when one has: `birsim run` in each of them would write the
/// same files.
pub fn copies(get: impl Fn(&str) -> Option<String>) -> Option<String> {
    // Only of these every copy is sure to run the same command line.
    let many = SCHEDULERS.iter().filter(|s| matches!(s.name, "Open MPI" | "PMI"));
    many.filter_map(|s| Some((s, get(s.size)?.trim().parse::<u32>().ok()?)))
        .find(|(_, size)| *size > 1)
        .map(|(s, size)| format!("{} has started {size} copies of this command", s.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Result<Shard> {
        detect(|name| vars.iter().find(|v| v.0 == name).map(|v| v.1.to_string()))
    }

    #[test]
    fn parts_take_every_nth_item() {
        let Ok(Given::Shard(s)) = parse("2/3") else { panic!("a shard") };
        assert_eq!((0..9).filter(|i| s.has(*i)).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(parse("auto"), Ok(Given::Auto));
        for bad in ["0/3", "4/3", "x", "1/", "1/0", "-1/2"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn schedulers_are_recognised() {
        let is = |part, of| Ok(Shard { part, of });
        assert_eq!(with(&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")]), is(4, 8));
        let array = [("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_ARRAY_TASK_COUNT", "4"), ("SLURM_ARRAY_TASK_MIN", "5")];
        assert_eq!(with(&array), is(1, 4));
        assert_eq!(with(&[&array[..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]].concat()), is(1, 4));
        assert_eq!(with(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]), is(1, 2));
        assert_eq!(with(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), is(2, 2));
        assert_eq!(with(&[("AWS_BATCH_JOB_ARRAY_INDEX", "9"), ("AWS_BATCH_JOB_ARRAY_SIZE", "10")]), is(10, 10));
        assert_eq!(with(&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "1")]), is(1, 1));
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let text = |vars: &[(&str, &str)]| with(vars).unwrap_err().what().to_string();
        assert_eq!(text(&[]), "--shard auto finds no scheduler");
        assert_eq!(
            text(&[("JOB_COMPLETION_INDEX", "0")]),
            "--shard auto (Kubernetes indexed job): JOB_COMPLETION_INDEX is set but JOB_COMPLETIONS is not"
        );
        assert!(text(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]).contains("not below"));
        assert!(text(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]).contains("PMI_RANK is no number"));
    }

    #[test]
    fn copies_of_one_command_are_noticed() {
        let with = |vars: &'static [(&str, &str)]| copies(|n| vars.iter().find(|v| v.0 == n).map(|v| v.1.to_string()));
        assert_eq!(with(&[("PMI_SIZE", "4")]).as_deref(), Some("PMI has started 4 copies of this command"));
        assert_eq!(with(&[("PMI_SIZE", "1"), ("SLURM_NTASKS", "4")]), None);
    }
}
