//! Flow of control: one program counter over blocks, a stack of frames as data, never recursion.

pub mod act;
pub mod advance;
pub mod branch;
mod frames;
mod leftovers;
pub(crate) mod state;
