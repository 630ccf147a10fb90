//! Inputs made from a seed.

use super::Decl;
use birsim_kernels::{Dtype, Profile, cast};

/// Bytes for a tensor: floats evenly in [-1, 1), integers in 0..10, scale bytes near 1. The values depend on seed, name and rank only.
/// `None` when the host has too little memory.
pub fn random_bytes(decl: &Decl, bytes: usize, seed: u64) -> Option<Vec<u8>> {
    // FNV-1a keeps tensors of one program apart.
    let hash =
        decl.label().bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mut state = seed ^ hash;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let mut out = Vec::new();
    out.try_reserve_exact(bytes).ok()?;
    out.resize(bytes, 0u8);
    let dtype = decl.dtype;
    match dtype {
        Dtype::Float8E8m0fnu => out.iter_mut().for_each(|b| *b = 124 + (next() % 7) as u8),
        d if d.is_integer() => {
            out.chunks_exact_mut(d.size()).for_each(|c| c[0] = (next() % 10) as u8);
        }
        d => {
            let mut values = [0f32; 256];
            for piece in out.chunks_mut(values.len() / d.lanes() * d.size()) {
                let n = piece.len() / d.size() * d.lanes();
                values[..n].iter_mut().for_each(|v| *v = ((next() >> 40) as f32) / (1 << 23) as f32 - 1.0);
                cast::encode_f32(d, Profile::reference().fp8(), &values[..n], piece);
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::element_text;
    use birsim_engine::ir::TensorKind;

    #[test]
    fn every_dtype_gets_tame_values() {
        for dtype in Dtype::ALL.iter().copied() {
            let kind = TensorKind::ExternalInput;
            let decl = Decl {
                rank: None,
                name: "x".into(),
                set: "x_set".into(),
                by_set: true,
                kind,
                dtype,
                shape: vec![7, 100],
                file: String::new(),
            };
            let bytes = random_bytes(&decl, 700 * dtype.size(), 1).unwrap();
            assert_eq!(bytes, random_bytes(&decl, 700 * dtype.size(), 1).unwrap());
            assert_ne!(bytes, random_bytes(&decl, 700 * dtype.size(), 2).unwrap());
            let mut distinct = std::collections::HashSet::new();
            for i in 0..700 {
                let text = element_text(dtype, &bytes, i);
                assert!(!text.contains("NaN") && !text.contains("inf"), "{dtype}: {text}");
                distinct.insert(text);
            }
            assert!(distinct.len() > 5, "{dtype}");
        }
    }
}
