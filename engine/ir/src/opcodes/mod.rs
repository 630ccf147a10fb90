//! The rows of the opcode table, one file per family.

pub mod activation;
pub mod batchnorm;
pub mod collective;
pub mod control;
pub mod copy;
pub mod dma;
pub mod elementwise;
pub mod indirect;
pub mod kernels;
pub mod pe;
pub mod random;
pub mod registers;
pub mod search;
pub mod select;
pub mod sync;

use super::Row;

/// Every family's rows.
pub const FAMILIES: &[&[Row]] = &[
    activation::ROWS,
    batchnorm::ROWS,
    collective::ROWS,
    control::ROWS,
    copy::ROWS,
    dma::ROWS,
    elementwise::ROWS,
    indirect::ROWS,
    kernels::ROWS,
    pe::ROWS,
    random::ROWS,
    registers::ROWS,
    search::ROWS,
    select::ROWS,
    sync::ROWS,
];

/// Indices of the fields of every opcode: `field::TensorTensor::op`.
pub mod field {
    pub use super::activation::field::*;
    pub use super::batchnorm::field::*;
    pub use super::collective::field::*;
    pub use super::control::field::*;
    pub use super::copy::field::*;
    pub use super::dma::field::*;
    pub use super::elementwise::field::*;
    pub use super::indirect::field::*;
    pub use super::kernels::field::*;
    pub use super::pe::field::*;
    pub use super::random::field::*;
    pub use super::registers::field::*;
    pub use super::search::field::*;
    pub use super::select::field::*;
    pub use super::sync::field::*;
}

/// Records of the own keys of every opcode: `params::TensorTensor`.
pub mod params {
    pub use super::activation::params::*;
    pub use super::batchnorm::params::*;
    pub use super::collective::params::*;
    pub use super::control::params::*;
    pub use super::copy::params::*;
    pub use super::dma::params::*;
    pub use super::elementwise::params::*;
    pub use super::indirect::params::*;
    pub use super::kernels::params::*;
    pub use super::pe::params::*;
    pub use super::random::params::*;
    pub use super::registers::params::*;
    pub use super::search::params::*;
    pub use super::select::params::*;
    pub use super::sync::params::*;
}
