//! Writing `.npy` files.

use super::encode_name;
use crate::interrupt;
use birsim_kernels::profile::MetaNames;
use birsim_kernels::{Code, Dtype, Error, Named, Result};
use birsim_npy::{header_bytes, native_kind};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Bytes written between two looks at whether the run should end.
const PIECE: usize = 8 << 20;

/// Writes a file under a temporary name in its folder, then renames it: readers see the old file or the whole new one.
///
/// A link is followed. Anything other than a regular file (a device, a pipe) is written to and never replaced.
pub fn write_atomic(path: &Path, parts: &[&[u8]]) -> Result<()> {
    // After the end of the run its results are still written, and written whole.
    let over = interrupt::wanted().is_some();
    let mut ended = None;
    let mut attempt = || -> std::io::Result<()> {
        let mut write = |out: &mut dyn Write| {
            parts.iter().flat_map(|part| part.chunks(PIECE)).try_for_each(|piece| {
                if !over && piece.len() == PIECE {
                    ended = interrupt::wanted();
                    ended.as_ref().map_or(Ok(()), |e| Err(std::io::Error::other(e.what())))?;
                }
                out.write_all(piece)
            })
        };
        let known = std::fs::metadata(path).ok();
        if known.as_ref().is_some_and(|m| !m.is_file()) {
            let _waiting = interrupt::unattended("while a file was written");
            return write(&mut std::fs::OpenOptions::new().write(true).open(path)?);
        }
        // Only what is there can be a link that leads somewhere.
        let linked = known.is_some().then(|| std::fs::canonicalize(path).ok()).flatten();
        let path = linked.as_deref().unwrap_or(path);
        let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut temporary = temporary(dir)?;
        write(&mut temporary)?;
        temporary.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    let written = attempt();
    written.map_err(|e| {
        let error = ended.map(|e| e.received("while a file was written"));
        let error = error.unwrap_or_else(|| Error::new(Code::F007, format!("cannot write the file: {e}")));
        error.at(|p| p.file = Some(path.display().to_string()))
    })
}

/// A file under a temporary name that a rename will make a result.
pub fn temporary(dir: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".birsim-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; a result is an ordinary file, as far as the umask allows.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(dir)
}

/// Writes `<dir>/<name>-birsim.npy`.
pub fn write_tensor(
    dir: &Path,
    name: &str,
    dtype: Dtype,
    shape: &[u64],
    bytes: &[u8],
    names: MetaNames,
) -> Result<PathBuf> {
    let path = dir.join(format!("{}-birsim.npy", encode_name(name)));
    write_npy(&path, dtype, shape, bytes, names)?;
    Ok(path)
}

/// Writes a `.npy` file, with a `.meta` side file for types NumPy has no name for (ruling D28).
pub fn write_npy(path: &Path, dtype: Dtype, shape: &[u64], bytes: &[u8], names: MetaNames) -> Result<()> {
    write_atomic(path, &[&header_bytes(dtype, shape), bytes])?;
    let mut meta = path.as_os_str().to_owned();
    meta.push(".meta");
    let meta = PathBuf::from(meta);
    if native_kind(dtype).is_none() {
        let word = match names {
            MetaNames::MlDtypes => dtype.ml_dtypes_name(),
            MetaNames::Bir => dtype.name(),
        };
        let text = format!("{{\"ml_dtype\": \"{word}\"}}\n");
        write_atomic(&meta, &[text.as_bytes()])?;
    } else {
        // A side file of an earlier run under the same name would now be wrong.
        let _ = std::fs::remove_file(&meta);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::{Element, descr_of, open};

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_pipes_stay_pipes() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&target, b"old").unwrap();
        symlink(&target, &link).unwrap();
        write_atomic(&link, &[b"ne", b"w"]).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        write_atomic(&pipe, &[b"data"]).unwrap();
        assert_eq!(reader.join().unwrap(), b"data");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        let e = write_atomic(dir.path(), &[b"x"]).unwrap_err();
        assert_eq!(e.code(), Code::F007);
    }

    #[test]
    fn every_dtype_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        for d in Dtype::ALL.iter().copied() {
            let bytes: Vec<u8> = (0..6 * d.size()).map(|i| i as u8).collect();
            let path = write_tensor(dir.path(), "t", d, &[2, 3], &bytes, MetaNames::MlDtypes).unwrap();
            let file = open(&path).unwrap();
            assert!(file.header().element.holds(d));
            assert_eq!(file.into_tensor(d, &[2, 3]).unwrap(), bytes);
            let meta = std::fs::read_to_string(dir.path().join("t-birsim.npy.meta"));
            assert_eq!(meta.is_ok(), Element::parse(&descr_of(d)).unwrap().kind == b'V');
        }
        assert!(
            std::fs::read_dir(dir.path()).unwrap().all(|e| !e.unwrap().file_name().to_string_lossy().contains("tmp"))
        );
    }

    #[test]
    fn d28_the_side_file_names_the_ml_dtypes_type_and_both_spellings_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_tensor(dir.path(), "t", Dtype::Float8e4, &[1], &[0], MetaNames::MlDtypes).unwrap();
        let meta = dir.path().join("t-birsim.npy.meta");
        assert_eq!(std::fs::read_to_string(&meta).unwrap(), "{\"ml_dtype\": \"float8_e4m3\"}\n");
        assert_eq!(crate::npy::meta_dtype(&path).unwrap(), Some(Dtype::Float8e4));
        write_tensor(dir.path(), "t", Dtype::Float8e4, &[1], &[0], MetaNames::Bir).unwrap();
        assert_eq!(std::fs::read_to_string(&meta).unwrap(), "{\"ml_dtype\": \"float8e4\"}\n");
        assert_eq!(crate::npy::meta_dtype(&path).unwrap(), Some(Dtype::Float8e4));
        std::fs::write(&meta, "{\"ml_dtyp\": \"float8e4\"}").unwrap();
        assert_eq!(crate::npy::meta_dtype(&path).unwrap_err().received_value(), Some("ml_dtyp"));
    }

    #[test]
    fn an_unwritable_folder_is_an_error_with_a_code() {
        let e = write_tensor(Path::new("/nonexistent/birsim"), "t", Dtype::Uint8, &[1], &[0], MetaNames::MlDtypes)
            .unwrap_err();
        assert_eq!(e.code(), Code::F007);
    }
}
