//! The typed KLR tree. Each type is declared once; reader, writer and listing derive from that declaration.

mod access;
mod enums;
mod kernel;
mod operand;
mod operator;
mod ops;
mod tensor;

pub use access::{Access, AccessBasic, AccessPattern, ApPair, BirAccessPattern, Index, ScalarOffset, Slice};
pub use enums::*;
pub use kernel::{Block, Contents, Edges, File, Kernel, LncKernel, Payload, Pos, Program, SharedConstantFile, Stmt};
pub use operand::{DataPattern, DmaBounds, Immediate, IndexMissBehavior, Operand, ReplicaGroup, TensorRef};
pub use operator::Operator;
pub use ops::*;
pub use tensor::{Address, Shape, TensorHbm, TensorName, TensorSram};
