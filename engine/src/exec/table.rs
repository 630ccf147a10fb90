//! Which code runs an opcode: every family declares its bindings beside its functions, and one table joins them.

use super::*;
use crate::ir::Opcode;
use crate::ir::table::OPCODES;

/// Declares the code of the opcodes of one family: `bind! { TensorScalar(own) => tensor_scalar, Max => max, .. }`.
///
/// The function in parentheses prepares the parameters from own keys and operands, at load; the function after the arrow
/// runs with them. [`own`](super::fields::own) prepares the record of the row as it is.
macro_rules! bind {
    ($($opcode:ident $(($prepare:path))? => $run:path),+ $(,)?) => {
        /// Opcodes of this family and their code.
        pub(super) const BOUND: &[(crate::ir::Opcode, crate::exec::Bound)] =
            &[$((crate::ir::Opcode::$opcode, bind!(@code $run $(, $prepare)?))),+];
    };
    (@code $run:path) => {
        crate::exec::Bound { prepare: |_| Ok(Box::new(())), run: $run, rehearses: false }
    };
    (@code $run:path, $prepare:path) => {
        crate::exec::Bound {
            prepare: |draft| crate::exec::fields::prepared(draft, $prepare, $run),
            run: |cx| crate::exec::fields::run(cx, $prepare, $run),
            rehearses: false,
        }
    };
}

/// The bindings of every family, and whether its code can be rehearsed ([`Bound::rehearses`]).
const FAMILIES: &[(&[(Opcode, Bound)], bool)] = &[
    (activation::BOUND, true),
    (batchnorm::BOUND, true),
    (collective::BOUND, false),
    (control::BOUND, false),
    (copy::BOUND, true),
    (elementwise::BOUND, true),
    (external::BOUND, false),
    (fill::BOUND, true),
    (indirect::BOUND, true),
    (pe::BOUND, true),
    (print::BOUND, false),
    (random::BOUND, true),
    (registers::BOUND, false),
    (search::BOUND, true),
    (select::BOUND, true),
];

static CODE: [Option<Bound>; OPCODES] = joined();

/// The families as one table, indexed by opcode. An opcode that is bound twice does not compile.
const fn joined() -> [Option<Bound>; OPCODES] {
    let mut table: [Option<Bound>; OPCODES] = [None; OPCODES];
    let mut family = 0;
    while family < FAMILIES.len() {
        let (bound, rehearses) = FAMILIES[family];
        let mut k = 0;
        while k < bound.len() {
            let (opcode, code) = bound[k];
            assert!(table[opcode.ordinal() as usize].is_none(), "an opcode is bound twice");
            table[opcode.ordinal() as usize] = Some(Bound { rehearses, ..code });
            k += 1;
        }
        family += 1;
    }
    table
}

/// The code of an opcode, as [`kernel`].
pub(super) fn code(opcode: Opcode) -> Option<Bound> {
    CODE[opcode.ordinal() as usize]
}

/// What runs an opcode; `None` where only sync or control acts, or where nothing is modelled.
pub fn kernel(opcode: Opcode) -> Option<Execute> {
    CODE[opcode.ordinal() as usize].map(|code| code.run)
}

/// Prepares an instruction. For an opcode that no code runs, nothing is prepared.
pub fn prepare(draft: &Draft) -> Result<Ready> {
    match CODE[draft.opcode.ordinal() as usize] {
        Some(code) => (code.prepare)(draft),
        None => Ok(Box::new(())),
    }
}
