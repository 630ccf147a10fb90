//! What the bits of a file mean when no program declares it: an explicit type, NumPy's own, or a side file's.

use super::Element;
use birsim_kernels::{Code, Dtype, Error, Named, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The dtype named by the side file `<path>.meta`, in BIR's or ml_dtypes' spelling (ruling D28). `None` when there is no
/// such file; one that names no dtype is an error.
pub fn meta_dtype(path: &Path) -> Result<Option<Dtype>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta");
    let path = Path::new(&name);
    let wrong = |what: String| {
        Error::new(Code::F003, what)
            .advice("write {\"ml_dtype\": \"<name>\"}, or pass --dtype")
            .at(|p| p.file = Some(path.display().to_string()))
    };
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).map_err(|e| wrong(format!("the side file cannot be read: {e}")))?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| wrong(format!("the side file is no JSON object: {e}")))?;
    let Some(word) = json.get(KEY).and_then(|w| w.as_str()) else {
        let keys = json.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>().join(", "));
        return Err(
            wrong(format!("the side file has no text under the key '{KEY}'")).received(keys.unwrap_or_default())
        );
    };
    let found = Dtype::from_name(word).or_else(|| Dtype::ALL.iter().copied().find(|d| d.ml_dtypes_name() == word));
    found.map(Some).ok_or_else(|| wrong("the side file names no element type that birsim knows".into()).received(word))
}

/// The key of a side file.
const KEY: &str = "ml_dtype";

/// The dtype of a file without a declaration: an explicit one, else NumPy's, else the side file's.
pub fn dtype_of(path: &Path, element: Element, explicit: Option<Dtype>) -> Result<Dtype> {
    let certain = explicit.or(element.native().filter(|_| element.kind != b'u'));
    let found = match certain {
        Some(d) => Some(d),
        None => meta_dtype(path)?.or(element.native()),
    };
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
