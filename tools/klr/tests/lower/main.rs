//! Lowering: one test per operator kind, then the structure around the operators.

mod abstracts;
mod build;
mod compute;
mod control;
mod movement;
mod refused;
mod sync;
mod tensors;
