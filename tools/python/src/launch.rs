//! A launch: its session, the cores it traces, its inputs and its results.

use crate::backend::Settings;
use crate::dtype::Dt;
use crate::errors::fault;
use crate::module;
use crate::op::{Region, Role};
use crate::tensor::NkiTensor;
use crate::trace::{self, Session};
use birsim_engine::format;
use birsim_engine::{Diagnostic, Severity, Target};
use birsim_kernels::{Named, Profile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A session as Python holds it.
#[pyclass(frozen)]
pub struct Launch {
    session: Arc<Session>,
}

/// Text, file and line of a warning.
type Warning = (String, Option<String>, Option<u32>);

/// A region by name.
fn region(name: &str) -> PyResult<Region> {
    Region::named(name).ok_or_else(|| PyValueError::new_err(format!("no memory {name:?}")))
}

#[pymethods]
impl Launch {
    #[new]
    #[pyo3(signature = (target, cores=1, eager=false, whole=false, grid=false, threads=None, seed=None, settings=Vec::new(), precise=true))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        target: &str,
        cores: u32,
        eager: bool,
        whole: bool,
        grid: bool,
        threads: Option<usize>,
        seed: Option<u64>,
        settings: Vec<(String, String)>,
        precise: bool,
    ) -> PyResult<Launch> {
        let target: Target = Target::DEF
            .ordinal(target)
            .and_then(Target::from_ordinal)
            .ok_or_else(|| PyValueError::new_err(format!("no target {target:?}; targets are trn1, trn2 and trn3")))?;
        let mut profile = Profile::default();
        for (field, value) in &settings {
            profile.set(field, value).map_err(|e| fault(py, &e, None))?;
        }
        let settings =
            Settings { target, cores, threads, precise, profile, seed, cancel: Arc::new(AtomicBool::new(false)) };
        Ok(Launch { session: Arc::new(Session::new(settings, eager, whole, grid)) })
    }

    /// Makes calls of this thread append to a core.
    fn enter(&self, core: u32) -> Previous {
        Previous(trace::enter(Some((self.session.clone(), core))))
    }

    /// Restores what the thread traced before.
    fn leave(&self, previous: &Previous) {
        trace::enter(previous.0.clone());
    }

    /// An input tensor of all cores.
    fn input(
        &self,
        py: Python<'_>,
        name: &str,
        shape: Vec<i64>,
        dtype: &Bound<'_, PyAny>,
        buffer: &str,
        data: &[u8],
    ) -> PyResult<NkiTensor> {
        let dt = Dt::of(dtype)?;
        let storage =
            self.session.declare(0, name, shape.into_iter().collect(), dt.bir(), region(buffer)?, Role::Input);
        if !self.session.whole {
            self.session.flush_all(py)?;
            let (loc, data) = (storage.loc, data.to_vec());
            self.session.with_engine(py, move |engine| engine.bind(0, loc, &data))?;
        }
        Ok(NkiTensor::whole(storage, dt))
    }

    /// Runs everything to its end.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.session.finish(py)
    }

    /// Throws away what is pending.
    fn kill(&self) {
        self.session.kill();
        self.session.forget();
    }

    /// Lets go of the tensors that were kept for pairing.
    fn forget(&self) {
        self.session.forget();
    }

    /// Shared tensors that the cores did not make alike.
    fn unpaired(&self) -> Vec<String> {
        self.session.unpaired()
    }

    /// The bytes of a tensor's storage.
    fn read<'py>(&self, py: Python<'py>, t: &NkiTensor) -> PyResult<Bound<'py, PyBytes>> {
        let (core, loc) = (t.storage.core, t.storage.loc);
        let data = self.session.with_engine(py, move |engine| engine.read(core, loc))?;
        Ok(PyBytes::new(py, &data))
    }

    /// Lets the cores of this launch go on in turns: `baton(core)` is called when a core waits for another one.
    fn set_baton(&self, baton: Option<Py<PyAny>>) {
        self.session.set_baton(baton);
    }

    /// Registers and tensors made so far.
    fn traced(&self) -> u64 {
        self.session.made()
    }

    /// Executed instructions.
    fn instructions(&self, py: Python<'_>) -> PyResult<u64> {
        self.session.with_engine(py, |engine| Ok(engine.instructions()))
    }

    /// (text, file, line) of the warnings of the run.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Warning>> {
        let all = self.session.with_engine(py, |engine| Ok(engine.remarks()))?;
        let grave = all.iter().filter(|d| d.severity == Severity::Warning);
        let place = |d: &Diagnostic| self.session.find(d.place.as_ref()?.source.as_deref()?);
        Ok(grave
            .map(|d| {
                let source = place(d);
                let text = format!("{}: {}", d.code, d.message);
                (text, source.as_ref().map(|s| s.file.clone()), source.map(|s| s.line))
            })
            .collect())
    }

    /// The programs of the cores as BIR-JSON.
    fn modules(&self) -> Vec<String> {
        let streams = self.session.take();
        let place = |id| self.session.place(id);
        module::modules(&self.session.settings, streams, &place).iter().map(format::write).collect()
    }
}

/// What a thread traced before.
#[pyclass(frozen)]
pub struct Previous(Option<(Arc<Session>, u32)>);

/// A new tensor of the core that is being traced; `address` is the (partition, byte) that its author asked for.
#[pyfunction]
#[pyo3(signature = (name, shape, dtype, buffer, address=None))]
pub fn ndarray(
    name: &str,
    shape: Vec<i64>,
    dtype: &Bound<'_, PyAny>,
    buffer: &str,
    address: Option<(i64, i64)>,
) -> PyResult<NkiTensor> {
    let (session, core) = trace::here("ndarray")?;
    let dt = Dt::of(dtype)?;
    let (shape, region) = (shape.into_iter().collect(), region(buffer)?);
    let storage = session.declare_at(core, name, shape, dt.bir(), region, Role::Internal, address);
    Ok(NkiTensor::whole(storage, dt))
}

/// A tensor of device memory with values.
#[pyfunction]
pub fn constant(
    py: Python<'_>,
    name: &str,
    shape: Vec<i64>,
    dtype: &Bound<'_, PyAny>,
    data: &[u8],
) -> PyResult<NkiTensor> {
    let (session, core) = trace::here("a constant")?;
    let dt = Dt::of(dtype)?;
    let storage =
        session.declare(core, name, shape.into_iter().collect(), dt.bir(), Region::PrivateHbm, Role::Internal);
    if !session.whole {
        session.flush_all(py)?;
        let (loc, data) = (storage.loc, data.to_vec());
        session.with_engine(py, move |engine| engine.bind(core, loc, &data))?;
    }
    Ok(NkiTensor::whole(storage, dt))
}

/// (target, cores, core, launched with a number of programs) of what this thread traces; None outside of kernels.
#[pyfunction]
pub fn tracing() -> Option<(String, u32, u32, bool)> {
    trace::current().map(|(s, core)| (s.settings.target.to_string(), s.settings.cores, core, s.grid))
}

/// A whole program is traced: values are not known.
#[pyfunction]
pub fn whole() -> bool {
    trace::current().is_some_and(|(s, _)| s.whole)
}
