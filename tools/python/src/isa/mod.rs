//! `nki.isa` as a table: one row per function, from which come the parser, the checks, the lowering and the stubs.

mod activation;
mod call;
mod elementwise;
mod exchange;
mod matmul;
mod movement;
mod random;
mod reduce;
mod register;
mod search;
mod select;
mod token;
mod topk;

pub use token::{Token, token};

use crate::trace;
use call::Call;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

/// Memories an operand may live in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct In(u8);

/// SBUF.
pub const SB: In = In(1);
/// PSUM.
pub const PS: In = In(2);
/// Both memories on chip.
pub const CHIP: In = In(3);
/// Device memory and SBUF: what DMA reaches.
pub const DMA: In = In(5);
/// Everything.
pub const ANY: In = In(7);

impl In {
    fn has(self, r: crate::op::Region) -> bool {
        use crate::op::Region::*;
        let bit = match r {
            Sbuf => 1,
            Psum => 2,
            _ => 4,
        };
        self.0 & bit != 0
    }

    fn names(self) -> &'static str {
        match self.0 {
            1 => "sbuf",
            2 => "psum",
            3 => "sbuf or psum",
            5 => "hbm or sbuf",
            _ => "hbm, sbuf or psum",
        }
    }
}

/// What a parameter is.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A tensor that is written.
    Out(In),
    /// A tensor that is read.
    Src(In),
    /// A number, or a tensor with one element in each partition.
    Scalar(In),
    /// A number or a whole tensor.
    Value(In),
    /// An operation of arithmetic.
    Alu,
    /// An activation function.
    Func,
    /// A register that is written.
    Register,
    /// True or false.
    Flag,
    /// An integer.
    Int,
    /// A number.
    Number,
    /// A member of an enumeration of `nki.isa`.
    Enum(&'static str),
    /// A list of integers.
    Ints,
    /// A list of (step, count) pairs.
    Pairs,
    /// A list of tensors.
    Tensors,
    /// A label of the instruction.
    Name,
    /// Something that has no effect on values.
    Ignored,
}

/// The default of a parameter, as it is written in Python.
pub type Default = Option<&'static str>;

/// A parameter.
pub struct Param {
    /// Name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Default; required when absent.
    pub default: Default,
}

/// A required parameter.
pub const fn p(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, default: None }
}

/// A parameter with a default.
pub const fn d(name: &'static str, kind: Kind, default: &'static str) -> Param {
    Param { name, kind, default: Some(default) }
}

/// The label every function takes.
pub const NAME: Param = d("name", Kind::Name, "None");

/// A function of `nki.isa`.
pub struct Row {
    /// Name.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// First target that has it: 2, 3 or 4 for gen2, gen3 and gen4.
    pub since: u8,
    /// Parameters in order.
    pub params: &'static [Param],
    /// Checks and appends.
    pub lower: fn(&mut Call<'_, '_>) -> PyResult<()>,
}

/// Keywords of other versions that change no values.
const IGNORED: &[&str] = &["dtype", "mask", "precise_schedule", "psumAccumulateFlag"];

/// Spellings of other versions.
const SPELLINGS: &[(&str, &str)] = &[
    ("is_moving_zero", "is_moving_onezero"),
    ("is_stationary_one_zero", "is_stationary_onezero"),
    ("use_gpsimd_dma", "dma_engine"),
    ("mask", "shuffle_mask"),
    ("imm", "src"),
];

fn families() -> [&'static [Row]; 12] {
    [
        movement::ROWS,
        elementwise::ROWS,
        activation::ROWS,
        select::ROWS,
        reduce::ROWS,
        search::ROWS,
        matmul::ROWS,
        random::ROWS,
        topk::ROWS,
        register::ROWS,
        exchange::ROWS,
        exchange::COLLECTIVES,
    ]
}

// A function of `nki.isa`, as Python sees it. A documentation comment would hide that of the function.
#[pyclass(frozen, module = "nki.isa")]
pub struct Instruction {
    row: &'static Row,
    /// Names of the parameters as interned strings.
    names: Vec<Py<PyString>>,
}

/// What a call returns: a handle for ordering, which the order of the program already gives.
#[pyclass(frozen, module = "nki.isa")]
pub struct NkiInstruction;

#[pymethods]
impl NkiInstruction {
    #[pyo3(signature = (*producers))]
    fn depends_on<'py>(slf: Bound<'py, Self>, producers: &Bound<'py, PyTuple>) -> Bound<'py, Self> {
        let _ = producers;
        slf
    }
}

static HANDLE: PyOnceLock<Py<NkiInstruction>> = PyOnceLock::new();

#[pymethods]
impl Instruction {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Instruction> {
        let row = families().into_iter().flatten().find(|r| r.name == name);
        let row = row.ok_or_else(|| PyValueError::new_err(format!("nki.isa has no function {name}")))?;
        let names = row.params.iter().map(|p| PyString::intern(py, p.name).unbind()).collect();
        Ok(Instruction { row, names })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<NkiInstruction>> {
        let (session, core) = trace::here(self.row.name)?;
        let mut given = self.bind(py, args, kwargs)?;
        for (slot, p) in given.iter().zip(self.row.params) {
            if slot.is_none() && p.default.is_none() {
                let name = self.row.name;
                return Err(PyTypeError::new_err(format!("{name}() misses the argument {}", p.name)));
            }
        }
        given.iter_mut().for_each(|g| {
            if g.as_ref().is_some_and(|v| v.is_none()) {
                *g = None;
            }
        });
        let source = session.source(py);
        let mut call = Call { py, row: self.row, args: given, session, core, source };
        call.available()?;
        (self.row.lower)(&mut call)?;
        let handle = HANDLE.get_or_try_init(py, || Py::new(py, NkiInstruction))?;
        Ok(handle.clone_ref(py))
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.row.name
    }

    #[getter]
    fn __qualname__(&self) -> &'static str {
        self.row.name
    }

    #[getter]
    fn __doc__(&self) -> &'static str {
        self.row.doc
    }

    /// (name, kind, default) of every parameter, for signatures and stubs.
    #[getter]
    fn _parameters(&self) -> Vec<(&'static str, String, Option<&'static str>)> {
        self.row.params.iter().map(|p| (p.name, kind_text(p.kind), p.default)).collect()
    }

    #[getter]
    fn __signature__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("birsim._signatures")?.getattr("of")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        format!("<function nki.isa.{}>", self.row.name)
    }
}

fn kind_text(k: Kind) -> String {
    match k {
        Kind::Out(_) | Kind::Src(_) => "NkiTensor".into(),
        Kind::Scalar(_) | Kind::Value(_) => "NkiTensor | VirtualRegister | float".into(),
        Kind::Alu | Kind::Func => "Callable[..., Any] | str".into(),
        Kind::Register => "VirtualRegister".into(),
        Kind::Flag => "bool".into(),
        Kind::Int => "VirtualRegister | int".into(),
        Kind::Number => "float".into(),
        Kind::Enum(name) => format!("{name} | int | str"),
        Kind::Ints => "Sequence[int]".into(),
        Kind::Pairs => "Sequence[Sequence[int]]".into(),
        Kind::Tensors => "Sequence[NkiTensor] | NkiTensor".into(),
        Kind::Name => "str".into(),
        Kind::Ignored => "Any".into(),
    }
}

type Given<'py> = SmallVec<[Option<Bound<'py, PyAny>>; 16]>;

impl Instruction {
    fn bind<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Given<'py>> {
        let params = self.row.params;
        let mut given: Given<'py> = SmallVec::new();
        given.resize(params.len(), None);
        if args.len() > params.len() {
            return Err(PyTypeError::new_err(format!(
                "{}() takes at most {} arguments, {} were given",
                self.row.name,
                params.len(),
                args.len()
            )));
        }
        for (slot, value) in given.iter_mut().zip(args.iter()) {
            *slot = Some(value);
        }
        let Some(kwargs) = kwargs else { return Ok(given) };
        for (key, value) in kwargs.iter() {
            let found = self.names.iter().position(|n| n.as_ptr() == key.as_ptr());
            let at = match found {
                Some(at) => at,
                None => match self.other(py, &key)? {
                    Some(at) => at,
                    None => continue,
                },
            };
            if given[at].is_some() {
                return Err(PyTypeError::new_err(format!(
                    "{}() got the argument {} twice",
                    self.row.name, params[at].name
                )));
            }
            given[at] = Some(value);
        }
        Ok(given)
    }

    /// A keyword that is not the interned name of a parameter: an equal string, or a spelling of another version.
    #[cold]
    fn other(&self, _py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let key = key.cast::<PyString>()?.to_cow()?.into_owned();
        let place = |name: &str| self.row.params.iter().position(|p| p.name == name);
        if let Some(at) = place(&key) {
            return Ok(Some(at));
        }
        if let Some(at) = SPELLINGS.iter().filter(|(k, _)| *k == key).find_map(|(_, n)| place(n)) {
            return Ok(Some(at));
        }
        if IGNORED.contains(&key.as_str()) {
            return Ok(None);
        }
        let nearest = self.row.params.iter().map(|p| (distance(&key, p.name), p.name)).min();
        let hint = nearest.filter(|(n, _)| *n <= 3.max(key.len() / 2)).map(|(_, n)| format!("; did you mean {n}?"));
        Err(PyTypeError::new_err(format!(
            "{}() got an unexpected keyword argument '{key}'{}",
            self.row.name,
            hint.unwrap_or_default()
        )))
    }
}

/// Insertions, removals and replacements from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut last = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (last + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            last = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

/// Names of all functions, those of `nki.collectives` apart.
#[pyfunction]
pub fn instructions() -> (Vec<&'static str>, Vec<&'static str>) {
    let all = families();
    let (own, collectives) = all.split_at(all.len() - 1);
    let names = |list: &[&'static [Row]]| list.iter().flat_map(|f| f.iter()).map(|r| r.name).collect();
    (names(own), names(collectives))
}
