//! Sizes of the modelled targets (`machine.md` 3).

use crate::ir::Arch;
use crate::{Code, Error, Result};
use birsim_kernels::named_enum;

named_enum! {
    /// A machine a program can be run for.
    Target { Inf1 = 0, "inf1"; Trn1 = 1, "trn1"; Trn2 = 2, "trn2"; Trn3 = 3, "trn3"; }
    aliases { "inferentia" => 0, "tonga" => 0, "sunda" => 1, "inf2" => 1, "trainium" => 1, "gen3" => 2, "cayman" => 2,
              "core_v4" => 3 }
}

/// Memory sizes of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// SBUF partitions.
    pub sbuf_partitions: u64,
    /// Bytes per SBUF partition.
    pub sbuf_partition_bytes: u64,
    /// PSUM partitions.
    pub psum_partitions: u64,
    /// PSUM banks per partition.
    pub psum_banks: u64,
    /// Device memory per core.
    pub dram_bytes: u64,
}

/// Bytes of one PSUM bank in one partition.
pub const PSUM_BANK_BYTES: u64 = 2048;

const KIB: u64 = 1024;
const GIB: u64 = 1 << 30;

impl Target {
    /// The target of an architecture; core_v5 has no public board data.
    pub fn of(arch: Option<Arch>) -> Result<Target> {
        match arch {
            None => Ok(Target::Trn2),
            Some(Arch::Inferentia) => Ok(Target::Inf1),
            Some(Arch::Sunda) => Ok(Target::Trn1),
            Some(Arch::Gen3) => Ok(Target::Trn2),
            Some(Arch::CoreV4) => Ok(Target::Trn3),
            Some(Arch::CoreV5) => Err(Error::new(Code::U003, "core_v5 has no published sizes").received("core_v5")),
        }
    }

    /// Memory sizes.
    pub const fn sizes(self) -> Sizes {
        let (sbuf, psum_partitions, banks, dram) = match self {
            Target::Inf1 => (96, 64, 4, 16),
            Target::Trn1 => (192, 128, 8, 16),
            Target::Trn2 => (224, 128, 8, 24),
            Target::Trn3 => (256, 128, 8, 36),
        };
        Sizes {
            sbuf_partitions: 128,
            sbuf_partition_bytes: sbuf * KIB,
            psum_partitions,
            psum_banks: banks,
            dram_bytes: dram * GIB,
        }
    }

    /// The architecture of the target.
    pub const fn arch(self) -> Arch {
        match self {
            Target::Inf1 => Arch::Inferentia,
            Target::Trn1 => Arch::Sunda,
            Target::Trn2 => Arch::Gen3,
            Target::Trn3 => Arch::CoreV4,
        }
    }
}
