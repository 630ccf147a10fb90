//! Instruction sets that numeric loops are compiled for, and the macro that compiles them.

use std::sync::OnceLock;

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
    /// Every one this machine can run, the fastest last.
    pub fn available() -> Vec<Isa> {
        [Isa::Scalar, Isa::Avx2, Isa::Avx512].into_iter().filter(|i| i.runs_here()).collect()
    }

    /// The fastest one of this machine.
    #[inline]
    pub fn best() -> Isa {
        // Loops ask for every short row, so the answer is kept.
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| match Isa::available().last() {
            Some(best) => *best,
            None => Isa::Scalar,
        })
    }

    /// This one, or portable code where the machine does not have it.
    #[must_use]
    pub fn or_scalar(self) -> Isa {
        if self.runs_here() { self } else { Isa::Scalar }
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

/// Compiles a plain loop for every instruction set. All of them give the same bits.
///
/// - `fn name(args) { body }` runs the body on the fastest set of this machine.
/// - `fn name(isa, args) = scalar, avx2, avx512;` takes the set as its first argument, which must run here, and has a function
///   for each. The functions are `#[inline(always)]`, so that they are compiled for the set of their caller.
macro_rules! per_isa {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),+ $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $ty),+) $(-> $out)? {
            #[inline(always)]
            fn body($($arg: $ty),+) $(-> $out)? $body
            $crate::isa::per_isa! { fn on(isa, $($arg: $ty),+) $(-> $out)? = body, body, body; }
            on($crate::isa::Isa::best(), $($arg),+)
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident(isa, $($arg:ident: $ty:ty),+ $(,)?) $(-> $out:ty)? = $scalar:path, $avx2:path, $avx512:path;) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name(isa: $crate::isa::Isa, $($arg: $ty),+) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn on_avx2($($arg: $ty),+) $(-> $out)? {
                    $avx2($($arg),+)
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
                fn on_avx512($($arg: $ty),+) $(-> $out)? {
                    $avx512($($arg),+)
                }
                match isa {
                    // SAFETY: callers pass a set that this CPU has: `Isa::best`, `Isa::available` or `Isa::or_scalar`.
                    $crate::isa::Isa::Avx512 => return unsafe { on_avx512($($arg),+) },
                    // SAFETY: as above.
                    $crate::isa::Isa::Avx2 => return unsafe { on_avx2($($arg),+) },
                    $crate::isa::Isa::Scalar => {}
                }
            }
            let _ = isa;
            $scalar($($arg),+)
        }
    };
}

pub(crate) use per_isa;
