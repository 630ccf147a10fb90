//! Instructions as the front end records them: small, without names, ready to be handed to an engine in blocks.

use birsim_engine::ir::{Engine, Opcode, Value};
use birsim_kernels::Dtype;
use smallvec::SmallVec;

/// (step, count) of every dimension, outermost first; steps count elements.
pub type Dims = SmallVec<[(i64, i64); 5]>;

/// An access pattern of a location.
#[derive(Clone, Debug)]
pub struct Access {
    /// Location of the session.
    pub loc: u32,
    /// Element type.
    pub dtype: Dtype,
    /// First element.
    pub offset: i64,
    /// Dimensions.
    pub dims: Dims,
    /// Run-time part of the address.
    pub dynamic: Option<Box<Dynamic>>,
}

/// The run-time part of an address.
#[derive(Clone, Debug)]
pub enum Dynamic {
    /// The start moves by the values of registers times coefficients, in elements.
    Scalar(SmallVec<[(u32, i64); 2]>),
    /// Row w of the outermost dimension starts at index[w] times the coefficient.
    Vector {
        /// Index vector.
        index: Access,
        /// Elements per row of the table.
        coef: i64,
        /// Rows of the table.
        rows: i64,
    },
}

/// An operand.
#[derive(Clone, Debug)]
pub enum Opnd {
    /// Memory.
    Access(Access),
    /// float32 number.
    Float(f32),
    /// Integer number.
    Int(i64, Dtype),
    /// Register.
    Reg(u32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Op {
    /// Opcode.
    pub opcode: Opcode,
    /// Engine.
    pub engine: Engine,
    /// Inputs.
    pub ins: SmallVec<[Opnd; 4]>,
    /// Outputs.
    pub outs: SmallVec<[Opnd; 2]>,
    /// Own fields by index in the opcode's row.
    pub fields: SmallVec<[(usize, Value); 6]>,
    /// Source place, an index into the places of the session.
    pub source: u32,
    /// Label that the author gave.
    pub name: Option<Box<str>>,
    /// A matmul whose first write of an element copies and whose later ones add.
    pub auto: bool,
    /// Body of a loop.
    pub body: Vec<Op>,
}

impl Op {
    /// An instruction without operands.
    pub fn new(opcode: Opcode, engine: Engine) -> Op {
        Op {
            opcode,
            engine,
            ins: SmallVec::new(),
            outs: SmallVec::new(),
            fields: SmallVec::new(),
            source: 0,
            name: None,
            auto: false,
            body: Vec::new(),
        }
    }

    /// Sets a field by its index.
    #[must_use]
    pub fn with(mut self, field: usize, value: impl Into<Value>) -> Op {
        self.fields.push((field, value.into()));
        self
    }

    /// Appends an input.
    #[must_use]
    pub fn input(mut self, o: Opnd) -> Op {
        self.ins.push(o);
        self
    }

    /// Appends an output.
    #[must_use]
    pub fn output(mut self, o: Opnd) -> Op {
        self.outs.push(o);
        self
    }
}

/// Memory a tensor lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// State buffer.
    Sbuf,
    /// Accumulation buffer.
    Psum,
    /// Device memory of one core.
    PrivateHbm,
    /// Device memory that all cores of a logical core see.
    SharedHbm,
    /// Device memory, as older kernels name it.
    Hbm,
}

impl Region {
    /// NKI name.
    pub fn name(self) -> &'static str {
        match self {
            Region::Sbuf => "sbuf",
            Region::Psum => "psum",
            Region::PrivateHbm => "private_hbm",
            Region::SharedHbm => "shared_hbm",
            Region::Hbm => "hbm",
        }
    }

    /// The region of an NKI name.
    pub fn named(name: &str) -> Option<Region> {
        [Region::Sbuf, Region::Psum, Region::PrivateHbm, Region::SharedHbm, Region::Hbm]
            .into_iter()
            .find(|r| r.name() == name)
    }

    /// SBUF or PSUM.
    pub fn on_chip(self) -> bool {
        matches!(self, Region::Sbuf | Region::Psum)
    }
}

/// A location to make.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Number in the session.
    pub loc: u32,
    /// Unique name.
    pub name: String,
    /// Memory.
    pub region: Region,
    /// Element type.
    pub dtype: Dtype,
    /// Shape.
    pub shape: SmallVec<[i64; 5]>,
    /// Role in an exported module.
    pub role: Role,
    /// (partition, byte) that its author asked for.
    pub address: Option<(i64, i64)>,
}

/// Role of a tensor in an exported module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Neither input nor output.
    Internal,
    /// Argument of the kernel.
    Input,
    /// Result of the kernel.
    Output,
}

/// One entry of a core's stream.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every entry is an instruction")]
pub enum Step {
    /// A new location.
    Declare(Box<Decl>),
    /// A new register.
    Register(u32),
    /// An instruction.
    Op(Op),
    /// The last view of a location is gone.
    Release(u32),
}
