//! The engine's table of code against the opcode table.

use birsim_engine::exec::kernel;
use birsim_engine::ir::{Opcode, RouteClass};

/// An opcode of class kernel has code, and no other one. Two exceptions: a DMABlock is data, its trigger runs the
/// descriptors; NonzeroWithCount, which the reference skips, is modelled.
#[test]
fn class_is_kernel_exactly_where_code_is_bound() {
    let odd: Vec<_> = Opcode::all().filter(|o| (o.row().class == RouteClass::Kernel) != kernel(*o).is_some()).collect();
    assert_eq!(odd, [Opcode::NonzeroWithCount, Opcode::DMABlock]);
}
