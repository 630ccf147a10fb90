//! Files, kernels, blocks and statements (`klr.md` 1.1, 2.1).

use crate::ast::{Operator, TensorName};
use crate::codec::{Part, Show};
use std::borrow::Cow;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Version triple; every known writer says 0.0.12.
    pub version: [u64; 3],
    /// Metadata text, informational.
    pub metadata: String,
    /// What the file carries.
    pub contents: Contents,
    /// Bytes after the contents, which no reader looks at.
    pub trailing_bytes: usize,
}

/// Contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// Python syntax tree of a kernel.
    Python(Payload),
    /// NKI syntax tree of a kernel.
    Nki(Payload),
    /// Call-site name of an HLO custom call.
    Hlo(String),
    /// An executable kernel.
    Program(Program),
}

impl Contents {
    /// Name of the variant.
    pub fn kind(&self) -> &'static str {
        match self {
            Contents::Python(_) => "python",
            Contents::Nki(_) => "nki",
            Contents::Hlo(_) => "hlo",
            Contents::Program(Program::Kernel(_)) => "kernel",
            Contents::Program(Program::Lnc(_)) => "lnc",
        }
    }
}

/// Head of a syntax tree that is not decoded further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Type tag.
    pub tag: u8,
    /// Constructor tag.
    pub constructor: u8,
    /// Number of fields.
    pub fields: u8,
    /// Size, head included.
    pub bytes: usize,
}

/// An executable kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// Contents `kernel`: one body.
    Kernel(Kernel),
    /// Contents `lnc`: one body per logical core.
    Lnc(LncKernel),
}

impl Program {
    /// The common form: a plain kernel is an `lnc` kernel with one core and nothing shared.
    pub fn as_lnc(&self) -> Cow<'_, LncKernel> {
        match self {
            Program::Lnc(kernel) => Cow::Borrowed(kernel),
            Program::Kernel(kernel) => Cow::Owned(LncKernel {
                name: kernel.name.clone(),
                inputs: kernel.inputs.clone(),
                outputs: kernel.outputs.clone(),
                bodies: vec![kernel.body.clone()],
                shared_constants: Vec::new(),
                shared_buffers: Vec::new(),
                edges: Vec::new(),
            }),
        }
    }
}

record_type! {
    /// A kernel for one core.
    Kernel = 105 {
        name: String,
        inputs: Vec<TensorName>,
        outputs: Vec<TensorName>,
        body: Vec<Block>,
    }
}

record_type! {
    /// A kernel for one or more logical cores.
    LncKernel = 108 {
        name: String,
        inputs: Vec<TensorName>,
        outputs: Vec<TensorName>,
        bodies: Vec<Vec<Block>>,
        shared_constants "sharedConstants": Vec<SharedConstantFile>,
        shared_buffers "sharedBuffers": Vec<TensorName>,
        edges: Vec<Edges>,
    }
}

record! {
    /// A constant kept in a `.npy` file beside the KLR file.
    SharedConstantFile = 106 {
        name: String,
        file_name "fileName": String,
    }
}

record! {
    /// Scheduling constraint: `from_edge` runs before every member of `to_edges`.
    Edges = 107 {
        from_edge "fromEdge": String,
        to_edges "toEdges": Vec<String>,
    }
}

record_type! {
    /// A labelled block.
    Block = 104 {
        label: String,
        no_reorder "noReorder": bool = false,
        body: Vec<Stmt>,
    }
}

record_type! {
    /// One operator with its name and source position (the only statement form, `oper`).
    Stmt = 103 {
        op: Operator,
        name: Option<String>,
        pos: Pos,
    }
}

record_type! {
    /// Source position.
    Pos = 100 {
        line: u64,
        column: u64,
        line_end "lineEnd": Option<u64>,
        column_end "columnEnd": Option<u64>,
        filename: Option<String>,
    }
}

impl std::fmt::Display for Pos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.filename {
            write!(f, "{file}:")?;
        }
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Show for Pos {
    fn show(&self, out: &mut String) {
        out.push_str(&self.to_string());
    }
}

impl Show for Stmt {
    fn show(&self, out: &mut String) {
        self.op.show(out);
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.op.parts(visit);
    }
}

impl Show for Block {
    fn show(&self, out: &mut String) {
        self.label.show(out);
    }
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.body.parts(visit);
    }
}
