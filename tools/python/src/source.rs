//! Places of calls in Python source, interned.

use pyo3::ffi;
use pyo3::prelude::*;
use std::collections::HashMap;

unsafe extern "C" {
    /// Part of the stable interface since 3.9; the bindings leave it out.
    fn PyFrame_GetCode(frame: *mut ffi::PyFrameObject) -> *mut ffi::PyCodeObject;
}

/// A line of Python source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Function.
    pub function: String,
}

/// The places of a session; number 0 is unknown.
#[derive(Default)]
pub struct Sources {
    /// (code object, line) to number.
    known: HashMap<(usize, i32), u32>,
    /// Code objects, kept alive so that their addresses stay theirs; true for those of this package.
    codes: HashMap<usize, (Py<PyAny>, bool)>,
    places: Vec<Source>,
}

impl Sources {
    /// Number of the innermost place outside of this package.
    pub fn here(&mut self, py: Python<'_>) -> u32 {
        // SAFETY: the GIL is held; the result is a borrowed reference or null.
        let frame = unsafe { ffi::PyEval_GetFrame() };
        if frame.is_null() {
            return 0;
        }
        // SAFETY: the frame is valid as long as it runs, and it runs now.
        let mut frame: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, frame.cast()) };
        for _ in 0..64 {
            // SAFETY: `frame` is a frame object; the code object comes back as a new reference.
            let (code, line): (Bound<'_, PyAny>, i32) = unsafe {
                let f = frame.as_ptr().cast();
                let code = PyFrame_GetCode(f);
                (Bound::from_owned_ptr(py, code.cast()), ffi::PyFrame_GetLineNumber(f))
            };
            let key = code.as_ptr() as usize;
            if let Some(id) = self.known.get(&(key, line)) {
                return *id;
            }
            let ours = match self.codes.get(&key) {
                Some((_, ours)) => *ours,
                None => {
                    let ours = is_ours(&code);
                    self.codes.insert(key, (code.clone().unbind(), ours));
                    ours
                }
            };
            if !ours {
                let text = |name: &str| code.getattr(name).and_then(|v| v.extract::<String>()).unwrap_or_default();
                self.places.push(Source {
                    file: text("co_filename"),
                    line: line.max(0) as u32,
                    function: text("co_name"),
                });
                let id = self.places.len() as u32;
                self.known.insert((key, line), id);
                return id;
            }
            match frame.getattr("f_back") {
                Ok(back) if !back.is_none() => frame = back,
                _ => return 0,
            }
        }
        0
    }

    /// The place of a number.
    pub fn get(&self, id: u32) -> Option<Source> {
        (id as usize).checked_sub(1).and_then(|i| self.places.get(i)).cloned()
    }

    /// The place written as `file:line`.
    pub fn find(&self, text: &str) -> Option<Source> {
        let (file, line) = text.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        self.places.iter().find(|s| s.line == line && s.file == file).cloned()
    }
}

/// The code belongs to this package.
fn is_ours(code: &Bound<'_, PyAny>) -> bool {
    let file = code.getattr("co_filename").and_then(|v| v.extract::<String>()).unwrap_or_default();
    let parts: Vec<&str> = file.rsplit(['/', '\\']).collect();
    parts.iter().skip(1).any(|p| *p == "birsim")
        && !parts.iter().any(|p| matches!(*p, "tests" | "examples" | "benches"))
}
