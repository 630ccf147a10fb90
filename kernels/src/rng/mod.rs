//! Random numbers: the host generator, the two generations of device generators, their state, and the instructions
//! that draw (Memset Random, Rand 60, Rand2 97, Dropout 65). Ruling D37.

mod draw;
mod dropout;
mod lfsr;
mod mt19937;
mod pcg32;
mod philox;
mod state;
mod xorwow;

pub use draw::{RandomAlgorithmKind, memset_random_host, memset_random_pool, rand, rand2};
pub use dropout::{Dropout, dropout, seed_states};
pub use lfsr::lfsr_next;
pub use mt19937::Mt19937_64;
pub use pcg32::pcg32_next;
pub use philox::{philox_4x32_10, philox_block};
pub use state::{
    DeviceRng, get_state_gen1, get_state_gen2, scalar_seed, set_state_gen1, set_state_gen1_words, set_state_gen2,
};
pub use xorwow::{uniform, uniform_between, xorwow_next};

/// State of one first-generation generator, or of one lane of the second generation: six words.
pub type State = [u32; 6];

/// Every generator starts like this.
pub const DEFAULT_STATE: State = [1; 6];

/// Partitions that own generator state.
pub const PARTITIONS: usize = 128;
