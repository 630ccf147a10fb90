//! Loops that are compiled for several instruction sets. They are plain loops; every set gives the same bits.

/// Defines `$name` as `$body` compiled for AVX-512, AVX2 and the baseline, chosen at run time, and `$on` with the choice
/// as an argument.
macro_rules! per_isa {
    ($(#[$meta:meta])* $vis:vis fn $name:ident, $on:ident($($arg:ident: $ty:ty),+) = $body:path;) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $ty),+) {
            $on($crate::isa::Isa::best(), $($arg),+);
        }

        #[inline]
        pub(super) fn $on(isa: $crate::isa::Isa, $($arg: $ty),+) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),+) {
                    $body($($arg),+)
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
                fn avx512($($arg: $ty),+) {
                    $body($($arg),+)
                }
                match isa {
                    // SAFETY: this CPU has the features; `Isa::best` and `Isa::available` checked.
                    $crate::isa::Isa::Avx512 => return unsafe { avx512($($arg),+) },
                    // SAFETY: as above.
                    $crate::isa::Isa::Avx2 => return unsafe { avx2($($arg),+) },
                    $crate::isa::Isa::Scalar => {}
                }
            }
            let _ = isa;
            $body($($arg),+)
        }
    };
}

pub(crate) use per_isa;

#[cfg(test)]
mod tests {
    use super::super::decode::decode_f32_on;
    use super::super::encode::encode_f32_on;
    use crate::Dtype;
    use crate::cast::Fp8Config;
    use crate::isa::Isa;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let mut state = 1u32;
        let words: Vec<u32> = (0..40_003)
            .map(|k| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Random bits, and values around the ranges of the integers.
                if k % 2 == 0 { state } else { ((state as i32 >> (k % 32)) as f32 * 0.5).to_bits() }
            })
            .collect();
        let values: &[f32] = bytemuck::cast_slice(&words);
        for d in Dtype::ALL {
            let len = values.len() / d.lanes() * d.size();
            let mut expected = vec![0; len];
            encode_f32_on(Isa::Scalar, *d, Fp8Config::DEFAULT, values, &mut expected);
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let n = bytes.len() / d.size() * d.lanes();
            let mut hub = vec![0.0; n];
            decode_f32_on(Isa::Scalar, *d, &bytes, &mut hub);
            for isa in Isa::available() {
                let mut out = vec![0; len];
                encode_f32_on(isa, *d, Fp8Config::DEFAULT, values, &mut out);
                assert!(out == expected, "{d} {isa:?}");
                let mut back = vec![0.0; n];
                decode_f32_on(isa, *d, &bytes, &mut back);
                assert!(
                    bytemuck::cast_slice::<f32, u32>(&back) == bytemuck::cast_slice::<f32, u32>(&hub),
                    "{d} {isa:?}"
                );
            }
        }
    }
}
