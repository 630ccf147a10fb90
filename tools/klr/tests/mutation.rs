//! Damaged files: a clean error or a valid read, never a panic.

mod common;

use birsim_kernels::error::Code;
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, inspect, lower, read, write};
use common::samples;

/// Reads damaged bytes and uses whatever comes out.
fn exercise(bytes: &[u8], strict: bool) {
    match read(bytes) {
        Ok(file) => {
            assert!(!inspect(&file).is_empty());
            if let Contents::Program(program) = &file.contents {
                // Whatever reads can be written, and lowers or is refused.
                assert!(read(&write(program)).is_ok());
                let options = LowerOptions { strict, ..LowerOptions::default() };
                if let Err(errors) = lower(program, &options) {
                    assert!(errors.iter().all(|e| matches!(e.code(), Code::K004 | Code::K005)), "{errors:?}");
                    assert!(!errors.is_empty());
                }
            }
        }
        Err(e) => assert_eq!(e.code(), Code::K001, "{e}"),
    }
}

/// xorshift64: reproducible from the printed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

#[test]
fn every_bit_flipped() {
    for (name, bytes) in samples() {
        println!("file {name}");
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                exercise(&damaged, bit % 2 == 1);
                damaged[at] = bytes[at];
            }
        }
    }
}

#[test]
fn every_cut() {
    for (name, bytes) in samples() {
        // Syntax trees are taken by their head only, so most cuts of them go unseen.
        let opaque = name.starts_with("wheel_") && !name.ends_with("hlo");
        for end in 0..bytes.len() {
            exercise(&bytes[..end], false);
            assert!(opaque || read(&bytes[..end]).is_err(), "{name} cut at {end} reads");
        }
    }
}

#[test]
fn random_edits() {
    let samples = samples();
    for seed in 1..=4000u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (name, bytes) = &samples[random.below(samples.len())];
        println!("seed {seed}, file {name}");
        let mut damaged = bytes.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(damaged.len());
            let value = random.next() as u8;
            let end = (at + random.below(24)).min(damaged.len());
            match random.below(5) {
                0 if !damaged.is_empty() => damaged[at] = value,
                1 => damaged.insert(at, value),
                2 => drop(damaged.drain(at..end)),
                3 => {
                    let piece = damaged[at..end].to_vec();
                    let to = random.below(damaged.len());
                    damaged.splice(to..to, piece);
                }
                _ => {
                    // Wide heads: the largest counts and numbers.
                    damaged.splice(at..at, [0x1b | value & 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
                }
            }
        }
        exercise(&damaged, seed % 2 == 1);
    }
}

#[test]
fn garbage_and_empty_input() {
    exercise(&[], false);
    exercise(b"null", false);
    exercise(b"{}", false);
    let mut random = Random(77);
    for length in 0..600 {
        let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        exercise(&noise, false);
        let mut framed = vec![0xd9, 0xd9, 0xf7, 0x83, 0, 0, 12, 0xd9, 0xeb, 0, 0x81, 0x60, 0xd9, 0xec, 3, 0x81];
        framed.extend(noise);
        exercise(&framed, false);
    }
}
