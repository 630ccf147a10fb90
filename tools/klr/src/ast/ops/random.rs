//! Random numbers.

use crate::ast::{Engine, Operand, TensorRef};

record! {
    /// Parameters of `rng`.
    Rng = 205 {
        dst: TensorRef,
        engine: Engine,
    }
}

record! {
    /// Parameters of `rand2`.
    Rand2 = 206 {
        dst: TensorRef,
        min: Operand,
        max: Operand,
    }
}

record! {
    /// Parameters of `randGetState`.
    RandGetState = 207 {
        dst: TensorRef,
        engine: Engine,
    }
}

record! {
    /// Parameters of `setRngSeed`.
    SetRngSeed = 208 {
        src: TensorRef,
    }
}

record! {
    /// Parameters of `randSetState`.
    RandSetState = 209 {
        src: TensorRef,
        engine: Engine,
    }
}
