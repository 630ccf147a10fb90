//! KLR enumerations to BIR ones (`klr.md` 6.5 to 6.7).

use crate::ast;
use birsim_ir::{ActivationFunction, AxisList, BranchCompare, DgeType, Engine, EngineAccumulation};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Code, Dtype, Error, Named, Result};

/// Element type. `float8_e4m3` and `float8e4` are one BIR type; no KLR type becomes E8M0.
pub fn dtype(from: ast::Dtype) -> Dtype {
    match from {
        ast::Dtype::Bfloat16 => Dtype::Bfloat16,
        ast::Dtype::Float8e3 => Dtype::Float8e3,
        ast::Dtype::Float8e4 | ast::Dtype::Float8E4m3 => Dtype::Float8e4,
        ast::Dtype::Float8e5 => Dtype::Float8e5,
        ast::Dtype::Float16 => Dtype::Float16,
        ast::Dtype::Float32 => Dtype::Float32,
        ast::Dtype::Float32r => Dtype::Float32r,
        ast::Dtype::Int8 => Dtype::Int8,
        ast::Dtype::Int16 => Dtype::Int16,
        ast::Dtype::Int64 => Dtype::Int64,
        ast::Dtype::Int32 => Dtype::Int32,
        ast::Dtype::Uint8 => Dtype::Uint8,
        ast::Dtype::Uint16 => Dtype::Uint16,
        ast::Dtype::Uint32 => Dtype::Uint32,
        ast::Dtype::Uint64 => Dtype::Uint64,
        ast::Dtype::Float8E4m3fn => Dtype::Float8E4m3fn,
        ast::Dtype::Float8E5m2X4 => Dtype::Float8E5m2X4,
        ast::Dtype::Float8E4m3fnX4 => Dtype::Float8E4m3fnX4,
        ast::Dtype::Float4E2m1fnX4 => Dtype::Float4E2m1fnX4,
    }
}

/// ALU operation; the names are the same on both sides.
pub fn alu(from: ast::AluOp) -> Result<AluOp> {
    AluOp::from_name(from.name()).ok_or_else(|| Error::new(Code::K004, "unsupported ALU operation").received(from))
}

/// Activation function.
pub fn activation(from: ast::ActivationFunc) -> ActivationFunction {
    use ActivationFunction as To;
    use ast::ActivationFunc as From;
    match from {
        From::Abs => To::Abs,
        From::Arctan => To::Arctan,
        From::Copy => To::Copy,
        From::Erf => To::Erf,
        From::ErfDx => To::DerivativeErf,
        From::Exp => To::Exp,
        From::Gelu => To::Gelu,
        From::GeluApprxTanh => To::GeluApprxTanh,
        From::GeluDx => To::DerivativeGelu,
        From::Log => To::Ln,
        From::Mish => To::Mish,
        From::Reciprocal => To::Reciprocal,
        From::Relu => To::Relu,
        From::Rsqrt => To::Rsqrt,
        From::Sigmoid => To::Sigmoid,
        From::Sign => To::Sign,
        From::Silu => To::Silu,
        From::SiluDx => To::DerivativeSilu,
        From::Sin => To::Sin,
        From::Softplus => To::Softplus,
        From::Sqrt => To::Sqrt,
        From::Square => To::Square,
        From::Tanh => To::Tanh,
        From::GeluApprxSigmoid => To::GeluApprxSigmoid,
        From::GeluApprxSigmoidDx => To::DerivativeGeluApprxSigmoid,
    }
}

/// Accumulate command: `Accumulate` becomes AddAccumulate, and loading is refused.
pub fn accumulate(from: ast::AccumCmd) -> Result<EngineAccumulation> {
    Ok(match from {
        ast::AccumCmd::Idle => EngineAccumulation::Idle,
        ast::AccumCmd::Zero => EngineAccumulation::Zero,
        ast::AccumCmd::Accumulate => EngineAccumulation::AddAccumulate,
        ast::AccumCmd::ZeroAccumulate => EngineAccumulation::ZeroAccumulate,
        ast::AccumCmd::LoadAccumulate => return Err(Error::new(Code::K004, "LoadAccumulate is not supported")),
    })
}

/// Engine chosen by the author.
pub fn engine(from: ast::Engine) -> Engine {
    match from {
        ast::Engine::Unassigned => Engine::Unassigned,
        ast::Engine::Act => Engine::Activation,
        ast::Engine::Dma => Engine::Dma,
        ast::Engine::Dve => Engine::Dve,
        ast::Engine::Pe => Engine::Pe,
        ast::Engine::Pool => Engine::Pool,
        ast::Engine::Sp => Engine::Sp,
    }
}

/// Reduced axes.
pub fn axes(from: ast::TensorSubDim) -> AxisList {
    match from {
        ast::TensorSubDim::X => AxisList::X,
        ast::TensorSubDim::XY => AxisList::XY,
        ast::TensorSubDim::XYZ => AxisList::XYZ,
        ast::TensorSubDim::XYZW => AxisList::XYZW,
    }
}

/// The two reverse flags.
pub fn reverse(from: ast::TensorScalarReverseOps) -> (bool, bool) {
    match from {
        ast::TensorScalarReverseOps::None => (false, false),
        ast::TensorScalarReverseOps::First => (true, false),
        ast::TensorScalarReverseOps::Second => (false, true),
        ast::TensorScalarReverseOps::Both => (true, true),
    }
}

/// Descriptor generation of a DMA.
pub fn dge(mode: u64) -> Result<DgeType> {
    Ok(match mode {
        0 => DgeType::Unassigned,
        1 => DgeType::Swdge,
        2 => DgeType::Hwdge,
        3 => DgeType::None,
        _ => return Err(Error::new(Code::K004, "unknown descriptor generation mode").received(mode)),
    })
}

/// Comparison of a conditional branch; `None` for the unconditional one.
pub fn compare(from: ast::BrCmpOp) -> Option<BranchCompare> {
    from.ordinal().checked_sub(1).and_then(BranchCompare::from_ordinal)
}
