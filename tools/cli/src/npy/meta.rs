//! What the bits of a file mean when no program declares it: an explicit type, NumPy's own, or a side file's.

use super::Element;
use birsim_kernels::{Code, Dtype, Error, Named, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The dtype named by the side file `<path>.meta`, in BIR's or ml_dtypes' spelling (ruling D28). `None` when there is none.
pub fn meta_dtype(path: &Path) -> Option<Dtype> {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta");
    let mut text = String::new();
    File::open(name).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let word = json.get("ml_dtype")?.as_str()?;
    Dtype::from_name(word).or_else(|| Dtype::ALL.iter().copied().find(|d| d.ml_dtypes_name() == word))
}

/// The dtype of a file without a declaration: an explicit one, else NumPy's, else the side file's.
pub fn dtype_of(path: &Path, element: Element, explicit: Option<Dtype>) -> Result<Dtype> {
    let found = explicit.or(element.native().filter(|_| element.kind != b'u')).or_else(|| meta_dtype(path));
    let found = found.or(element.native());
    match found {
        Some(d) if element.holds(d) => Ok(d),
        Some(d) => Err(Error::new(Code::F004, format!("the file's element type cannot hold {}", d.name()))
            .received(format!("NumPy {element}"))
            .at(|p| p.file = Some(path.display().to_string()))),
        None => Err(Error::new(Code::F004, "the file does not say which element type its raw bits are")
            .received(format!("NumPy {element}"))
            .advice("pass --dtype, or put a side file FILE.npy.meta with {\"ml_dtype\": \"<name>\"} next to it")
            .at(|p| p.file = Some(path.display().to_string()))),
    }
}
