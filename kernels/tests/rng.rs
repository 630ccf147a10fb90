//! Generators, their state and the instructions that draw.

mod views;
use birsim_kernels::access::{Imm, Input};
use birsim_kernels::rng::*;
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();

#[test]
fn fault_73_mt19937_64_matches_the_published_draws() {
    let mut g = Mt19937_64::new(5489);
    let draws: Vec<u64> = (0..10_000).map(|_| g.next_u64()).collect();
    assert_eq!(draws[0], 14514284786278117030);
    assert_eq!(draws[1], 4620546740167642908);
    assert_eq!(draws[9_999], 9981545732273789042);
}

#[test]
fn fault_73_philox_matches_the_published_blocks() {
    assert_eq!(philox_4x32_10([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    assert_eq!(philox_4x32_10([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    let pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
    assert_eq!(philox_4x32_10(pi, [0xa4093822, 0x299f31d0]), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
}

#[test]
fn fault_73_pcg32_matches_the_published_draws() {
    // The reference library's one-sequence generator seeded with 42.
    let mut s = 0u64;
    pcg32_next(&mut s);
    s = s.wrapping_add(42);
    pcg32_next(&mut s);
    let draws: Vec<u32> = (0..6).map(|_| pcg32_next(&mut s)).collect();
    assert_eq!(draws, [0xc2f57bd6, 0x6b07c4a9, 0x72b7b29b, 0x44215383, 0xf5af5ead, 0x68beb632]);
}

#[test]
fn fault_73_xorwow_matches_the_published_draws() {
    let mut s = [123456789, 362436069, 521288629, 88675123, 5783321, 6615241];
    let draws: Vec<u32> = (0..5).map(|_| xorwow_next(&mut s)).collect();
    assert_eq!(draws, [246875399, 3690007200, 1264581005, 3906711041, 1866187943]);
}

#[test]
fn lfsr_shifts_in_the_taps() {
    let mut s = 1;
    let draws: Vec<u32> = (0..40).map(|_| lfsr_next(&mut s)).collect();
    assert_eq!(draws[..6], [0x3, 0x6, 0xd, 0x1b, 0x36, 0x6d]);
    assert_eq!(draws[31..34], [0xb6db68a3, 0x6db6d147, 0xdb6da28f]);
    let mut dead = 0;
    assert_eq!(lfsr_next(&mut dead), 3);
}

#[test]
fn uniform_values_use_the_low_23_bits() {
    assert_eq!(uniform(0xFFFF_FFFF).to_bits(), 0x3F7F_FFFE);
    assert_eq!(uniform(0x0040_0000), 0.5);
    assert_eq!(uniform(0xFF80_0000), 0.0);
    assert_eq!(uniform_between(0x0040_0000, -2.0, 6.0), 2.0);
}

#[test]
fn d07_random_fills_take_the_low_bytes_of_each_draw() {
    let mut words = Tensor::filled(Dtype::Uint32, &[1, 4], 0);
    memset_random_host(&mut Mt19937_64::default(), &mut words.dst(), &Profile::reference()).unwrap();
    assert_eq!(words.values::<u32>(), [0x6ee5e2d6, 0xb92502a8, 0x0e5e7b0a, 0x8a1ad34e]);
    let mut bytes = Tensor::filled(Dtype::Uint8, &[2, 2], 0);
    memset_random_host(&mut Mt19937_64::default(), &mut bytes.dst(), &Profile::reference()).unwrap();
    assert_eq!(bytes.bytes, [0xd6, 0xa8, 0x0a, 0x4e]);
    let mut halves = Tensor::filled(Dtype::Float16, &[4, 1], 0);
    memset_random_host(&mut Mt19937_64::default(), &mut halves.dst(), &Profile::reference()).unwrap();
    assert_eq!(halves.values::<u16>(), [0xe2d6, 0x02a8, 0x7b0a, 0xd34e]);
    let mut longs = Tensor::filled(Dtype::Int64, &[1, 2], 0);
    memset_random_host(&mut Mt19937_64::default(), &mut longs.dst(), &Profile::reference()).unwrap();
    assert_eq!(longs.values::<u64>(), [0xc151df7d6ee5e2d6, 0xa3978fb9b92502a8]);
}

const SEED: [u32; 6] = [0x8805561c, 0x84880857, 0x911e8497, 0x1e998870, 0x9ddd4d8f, 0xf7663039];

#[test]
fn pool_fills_advance_the_state_of_each_partition() {
    let mut rng = DeviceRng::default();
    let seed = Tensor::of(Dtype::Uint32, &[1, 6], &SEED);
    set_state_gen1(&seed.src(), rng.gen1(3, 1).unwrap()).unwrap();
    let mut t = Tensor::filled(Dtype::Uint32, &[1, 5], 0);
    memset_random_pool(rng.gen1(3, 1).unwrap(), &mut t.dst()).unwrap();
    assert_eq!(t.values::<u32>(), [0xb57149d0, 0xa813d1f7, 0x5cd7a72a, 0x0fa96a83, 0x4c846274]);
    let mut state = Tensor::filled(Dtype::Uint32, &[1, 6], 0);
    get_state_gen1(rng.gen1(3, 1).unwrap(), &mut state.dst()).unwrap();
    assert_eq!(state.values::<u32>(), [0xbe0591d2, 0xb0a29234, 0x6560dfa2, 0x182d1b36, 0x55028b62, 0xf781d712]);
    assert_eq!(rng.gen1(2, 1).unwrap(), [DEFAULT_STATE]);
    let mut twice = Tensor::filled(Dtype::Int64, &[1, 1], 0);
    memset_random_pool(&mut [SEED], &mut twice.dst()).unwrap();
    assert_eq!(twice.values::<u64>(), [0xa813d1f7_b57149d0]);
}

#[test]
fn d08_rand_maps_the_state_words_per_algorithm() {
    let mut t = Tensor::filled(Dtype::Uint32, &[2, 3], 0);
    let mut states = [[0, 9, 9, 9, 9, 9], [1, 9, 9, 9, 9, 9]];
    rand(RandomAlgorithmKind::Lfsr, &mut states, &mut t.dst(), &Profile::reference()).unwrap();
    assert_eq!(t.values::<u32>(), [3, 6, 13, 3, 6, 13]);
    assert_eq!(states, [[13, 9, 9, 9, 9, 9]; 2]);

    let mut t = Tensor::filled(Dtype::Uint32, &[1, 2], 0);
    let mut states = [[0x15414a94, 0x977afd80, 7, 7, 7, 7]];
    rand(RandomAlgorithmKind::Pcg32, &mut states, &mut t.dst(), &Profile::reference()).unwrap();
    assert_eq!(t.values::<u32>(), [0xc2f57bd6, 0x6b07c4a9]);
    assert_eq!(states[0][2..], [7; 4]);
    rand(RandomAlgorithmKind::Pcg32, &mut states, &mut t.dst(), &Profile::reference()).unwrap();
    assert_eq!(t.values::<u32>(), [0x72b7b29b, 0x44215383]);

    let mut t = Tensor::filled(Dtype::Uint32, &[1, 5], 0);
    let mut states = [[u32::MAX, u32::MAX, 0, 0, 5, 6]];
    rand(RandomAlgorithmKind::Philox1, &mut states, &mut t.dst(), &Profile::reference()).unwrap();
    let first = philox_4x32_10([u32::MAX, u32::MAX, 0, 0], [5, 6]);
    let second = philox_4x32_10([0, 0, 1, 0], [5, 6]);
    assert_eq!(t.values::<u32>(), [first[0], first[1], first[2], first[3], second[0]]);
    assert_eq!(states, [[1, 0, 1, 0, 5, 6]]);
}

#[test]
fn d09_columns_take_turns_on_four_generators() {
    let mut states = [[SEED, [2; 6], [3; 6], [4; 6]]];
    let mut copies = states[0];
    let mut t = Tensor::filled(Dtype::Float32, &[1, 2500], 0);
    rand2(-1.0, 3.0, &mut states, &mut t.dst(), &P).unwrap();
    for (c, v) in t.values::<f32>().into_iter().enumerate() {
        assert_eq!(v, uniform_between(xorwow_next(&mut copies[c % 4]), -1.0, 3.0), "column {c}");
    }
    assert_eq!(states, [copies]);
    let mut first = Tensor::filled(Dtype::Float32, &[1, 1], 0);
    rand2(-2.0, 6.0, &mut [[DEFAULT_STATE; 4]], &mut first.dst(), &P).unwrap();
    assert_eq!(first.values::<u32>(), [0xbfd3c140]);
}

#[test]
fn d09_states_round_trip_in_both_generations() {
    let words: Vec<u32> = (0..48).map(|i| i * 7 + 1).collect();
    let saved = Tensor::of(Dtype::Uint32, &[2, 24], &words);
    let mut rng = DeviceRng::default();
    set_state_gen2(&saved.src(), rng.gen2(0, 2).unwrap()).unwrap();
    assert_eq!(rng.gen2(1, 1).unwrap()[0][2][..], words[36..42]);
    let mut back = Tensor::filled(Dtype::Uint32, &[2, 24], 0);
    get_state_gen2(rng.gen2(0, 2).unwrap(), &mut back.dst()).unwrap();
    assert_eq!(saved, back);
}

#[test]
fn d37_dead_states_are_revived() {
    let zero = Tensor::filled(Dtype::Uint32, &[1, 24], 0);
    let mut states = [[[9; 6]; 4]];
    set_state_gen2(&zero.src(), &mut states).unwrap();
    assert_eq!(states, [[[0, 0, 0, 0, 1, 0]; 4]]);
    let mut states = [[9; 6]];
    set_state_gen1(&zero.src_at(0, &[(24, 1), (1, 6)]), &mut states).unwrap();
    assert_eq!(states, [[0, 0, 0, 0, 1, 0]]);
}

#[test]
fn eight_seed_words_carry_the_partition() {
    let mut states = [[0; 6]; 3];
    set_state_gen1_words(&[0xFF00_0007, 1, 2, 3, 4, 5, 6, 7], 4, &mut states).unwrap();
    assert_eq!(states[2], [0x0600_0007, 1, 2, 3, 4, 5]);
    assert_eq!(set_state_gen1_words(&[1; 6], 0, &mut states).unwrap_err().code(), Code::S008);
}

#[test]
fn a_scalar_seed_is_one_word() {
    let one = Tensor::of(Dtype::Uint32, &[1, 1], &[0xFFFF_FFFFu32]);
    assert_eq!(scalar_seed(&one.src()).unwrap(), Some(0xFFFF_FFFF));
    assert_eq!(scalar_seed(&Tensor::filled(Dtype::Uint32, &[1, 24], 0).src()).unwrap(), None);
    for dtype in [Dtype::Int64, Dtype::Float32] {
        assert_eq!(scalar_seed(&Tensor::filled(dtype, &[1, 1], 0).src()).unwrap_err().code(), Code::S007);
    }
}

#[test]
fn states_of_the_wrong_size_are_refused() {
    let five = Tensor::filled(Dtype::Uint32, &[1, 5], 1);
    let bytes = Tensor::filled(Dtype::Uint8, &[1, 6], 1);
    assert_eq!(set_state_gen1(&five.src(), &mut [[0; 6]]).unwrap_err().code(), Code::S008);
    assert_eq!(set_state_gen1(&bytes.src(), &mut [[0; 6]]).unwrap_err().code(), Code::S007);
    // Item 3: words of the right size that are floats.
    let floats = Tensor::filled(Dtype::Float32, &[1, 6], 1);
    assert_eq!(set_state_gen1(&floats.src(), &mut [[0; 6]]).unwrap_err().code(), Code::S007);
    let floats = Tensor::filled(Dtype::Float32, &[1, 24], 1);
    assert_eq!(set_state_gen2(&floats.src(), &mut [[[0; 6]; 4]]).unwrap_err().code(), Code::S007);
    let mut rng = DeviceRng::default();
    assert_eq!(rng.gen1(120, 9).unwrap_err().code(), Code::S008);
    assert_eq!(rng.gen2(usize::MAX, 2).unwrap_err().code(), Code::S008);
    let mut t = Tensor::filled(Dtype::Uint32, &[2, 2], 0);
    assert_eq!(
        rand(RandomAlgorithmKind::Lfsr, &mut [[1; 6]], &mut t.dst(), &Profile::reference()).unwrap_err().code(),
        Code::S002
    );
}

#[test]
fn d38_dropout_zeroes_by_rate_and_does_not_rescale() {
    let x: Vec<f32> = (1..=64).map(|i| -(i as f32)).collect();
    let src = Tensor::f32(&[2, 32], &x);
    let seed = Tensor::of(Dtype::Uint32, &[2, 6], &[SEED, SEED].concat());
    let rate = Tensor::f32(&[2, 1], &[0.25, 0.75]);
    for is_keep_threshold in [false, true] {
        let mut y = Tensor::filled(Dtype::Float32, &[2, 32], 0xFF);
        let mut states = seed_states(&seed.src()).unwrap();
        let p = Dropout { is_keep_threshold, threshold: Input::View(rate.src()) };
        dropout(&p, &mut states, &src.src(), &mut y.dst(), &P).unwrap();
        let got = y.values::<f32>();
        for lane in 0..2 {
            let mut s = SEED;
            for e in 0..32 {
                let below = uniform(xorwow_next(&mut s)) < [0.25, 0.75][lane];
                let want = if below == is_keep_threshold { x[lane * 32 + e] } else { 0.0 };
                assert_eq!(got[lane * 32 + e].to_bits(), want.to_bits(), "{is_keep_threshold} {lane} {e}");
            }
            assert_eq!(states[lane], s);
        }
    }
    let p = Dropout { is_keep_threshold: false, threshold: Input::Imm(Imm::f32(0.0)) };
    let ints = Tensor::i32(&[1, 2], &[0x0100_0001, -7]);
    let mut y = Tensor::filled(Dtype::Int32, &[1, 2], 0);
    dropout(&p, &mut [DEFAULT_STATE], &ints.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y, ints);
}

#[test]
fn dropout_seeds_have_one_or_six_words() {
    let one = Tensor::of(Dtype::Int32, &[2, 1], &[5, 6]);
    assert_eq!(seed_states(&one.src()).unwrap(), [[5, 1, 1, 1, 1, 1], [6, 1, 1, 1, 1, 1]]);
    let bad = Tensor::of(Dtype::Int32, &[1, 2], &[5, 6]);
    assert_eq!(seed_states(&bad.src()).unwrap_err().code(), Code::S008);
    let bad = Tensor::filled(Dtype::Uint8, &[1, 6], 0);
    assert_eq!(seed_states(&bad.src()).unwrap_err().code(), Code::S007);
}

/// Draws one after the other, as many as a lane of `n` elements takes, and the state they leave.
fn serial(kind: RandomAlgorithmKind, mut state: State, n: usize) -> (Vec<u32>, State) {
    let mut draws = Vec::new();
    if kind == RandomAlgorithmKind::Philox1 {
        while draws.len() < n {
            draws.extend(philox_block(&mut state));
        }
        draws.truncate(n);
        return (draws, state);
    }
    let mut word = u64::from(state[0]) | u64::from(state[1]) << 32;
    draws.extend((0..n).map(|_| pcg32_next(&mut word)));
    (state[0], state[1]) = (word as u32, (word >> 32) as u32);
    (draws, state)
}

#[test]
fn many_draws_at_a_time_are_the_draws_one_by_one() {
    // The counter carries into its second word on the way.
    let first: State = [u32::MAX - 9, 5, u32::MAX, 7, 11, 13];
    for kind in [RandomAlgorithmKind::Pcg32, RandomAlgorithmKind::Philox1] {
        for len in [1u32, 4, 15, 16, 17, 63, 64, 65, 1023, 1025, 3000] {
            for dtype in [Dtype::Uint8, Dtype::Uint16, Dtype::Uint32, Dtype::Uint64] {
                let mut states = [first, [3; 6]];
                let mut y = Tensor::filled(dtype, &[2, len], 0);
                rand(kind, &mut states, &mut y.dst(), &Profile::reference()).unwrap();
                let per = if dtype.size() == 8 { 2 } else { 1 };
                for (lane, start) in [first, [3; 6]].into_iter().enumerate() {
                    let (draws, end) = serial(kind, start, len as usize * per);
                    assert_eq!(states[lane], end, "{kind} {dtype} {len}");
                    let keep = dtype.size().min(4);
                    let want: Vec<u8> = draws.iter().flat_map(|d| d.to_le_bytes()[..keep].to_vec()).collect();
                    let row = len as usize * dtype.size();
                    assert!(y.bytes[lane * row..][..row] == want, "{kind} {dtype} {len}");
                }
            }
        }
    }
    let (mut a, mut b) = (Mt19937_64::new(9), Mt19937_64::new(9));
    for n in [1, 311, 312, 313, 1000, 5] {
        let mut draws = vec![0; n];
        a.fill(&mut draws);
        assert!(draws.iter().all(|d| *d == b.next_u64()));
    }
    assert_eq!(a, b);
}
