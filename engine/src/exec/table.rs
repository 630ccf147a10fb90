//! Which code runs an opcode: every family declares its bindings beside its functions, and one table joins them.

use super::*;
use crate::ir::Opcode;
use crate::ir::table::OPCODES;

/// Declares the functions that run the opcodes of one family: `bind! { TensorScalar => tensor_scalar, .. }`.
macro_rules! bind {
    ($($opcode:ident => $run:ident),+ $(,)?) => {
        /// Opcodes of this family and the functions that run them.
        pub(super) const BOUND: &[(crate::ir::Opcode, crate::exec::Execute)] =
            &[$((crate::ir::Opcode::$opcode, $run)),+];
    };
}

/// The bindings of every family.
const FAMILIES: &[&[(Opcode, Execute)]] = &[
    activation::BOUND,
    batchnorm::BOUND,
    collective::BOUND,
    control::BOUND,
    copy::BOUND,
    elementwise::BOUND,
    external::BOUND,
    fill::BOUND,
    indirect::BOUND,
    pe::BOUND,
    print::BOUND,
    random::BOUND,
    registers::BOUND,
    search::BOUND,
    select::BOUND,
];

static KERNELS: [Option<Execute>; OPCODES] = joined();

/// The families as one table, indexed by opcode. An opcode that is bound twice does not compile.
const fn joined() -> [Option<Execute>; OPCODES] {
    let mut table: [Option<Execute>; OPCODES] = [None; OPCODES];
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut k = 0;
        while k < FAMILIES[family].len() {
            let (opcode, execute) = FAMILIES[family][k];
            assert!(table[opcode.ordinal() as usize].is_none(), "an opcode is bound twice");
            table[opcode.ordinal() as usize] = Some(execute);
            k += 1;
        }
        family += 1;
    }
    table
}

/// The code of an opcode; `None` where only sync or control acts, or where nothing is modelled.
pub fn kernel(opcode: Opcode) -> Option<Execute> {
    KERNELS[opcode.ordinal() as usize]
}
