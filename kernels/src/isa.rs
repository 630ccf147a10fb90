//! Instruction sets the numeric loops are compiled for.

/// Instruction set of a loop. Every one gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Portable code.
    Scalar,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, DQ, VL and BW.
    Avx512,
}

impl Isa {
    /// Every one this machine can run.
    pub fn available() -> Vec<Isa> {
        [Isa::Scalar, Isa::Avx2, Isa::Avx512].into_iter().filter(|i| i.runs_here()).collect()
    }

    /// The fastest one of this machine.
    pub fn best() -> Isa {
        if Isa::Avx512.runs_here() {
            Isa::Avx512
        } else if Isa::Avx2.runs_here() {
            Isa::Avx2
        } else {
            Isa::Scalar
        }
    }

    /// The CPU has every feature that code compiled for it may use.
    pub fn runs_here(self) -> bool {
        match self {
            Isa::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.runs_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}
