//! The Python package: the wheel builds, installs into a fresh virtual environment, and its Python tests and type checks pass.
//!
//! These tests need `python3` with `venv` and a package registry. `BIRSIM_PYTHON` names another interpreter;
//! `BIRSIM_SKIP_PYTHON=1` leaves the tests out.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder `tools/python`.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/python").canonicalize().unwrap()
}

/// Runs a command; a failure shows what it printed and what the reader can do.
fn run(command: &mut Command, advice: &str) -> String {
    // Variables that cargo sets for this test must not change what a cargo below it builds.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST") || name == "CARGO_CRATE_NAME" {
            command.env_remove(name);
        }
    }
    match command.output() {
        Ok(done) => {
            let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            assert!(done.status.success(), "{command:?} failed.\n{text}\n{advice}");
            text
        }
        Err(error) => panic!("{command:?} cannot be started: {error}.\n{advice}"),
    }
}

const SKIP: &str = "To leave the Python tests out, set BIRSIM_SKIP_PYTHON=1.";

/// The interpreter of a fresh environment with the wheel and its tests' requirements; None when the tests are left out.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    PYTHON
        .get_or_init(|| {
            if std::env::var("BIRSIM_SKIP_PYTHON").is_ok_and(|v| v == "1") {
                eprintln!("Python tests left out: BIRSIM_SKIP_PYTHON=1");
                return None;
            }
            Some(environment())
        })
        .as_deref()
}

/// Makes the environment.
fn environment() -> PathBuf {
    let base = std::env::var_os("BIRSIM_PYTHON").unwrap_or_else(|| "python3".into());
    let advice = format!("The Python tests need Python 3.9 or newer as `python3`, or named by BIRSIM_PYTHON. {SKIP}");
    run(Command::new(&base).args(["-c", "import sys; assert sys.version_info >= (3, 9), sys.version"]), &advice);

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let venv = folder.join("venv");
    let advice = format!("The Python tests need the module `venv` (Debian: package python3-venv). {SKIP}");
    run(Command::new(&base).args([OsStr::new("-m"), "venv".as_ref(), venv.as_ref()]), &advice);
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });

    let pip = |arguments: &[&OsStr]| {
        let advice =
            format!("The Python tests install packages from a registry, which pip could not reach or use. {SKIP}");
        run(
            Command::new(&python).args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]).args(arguments),
            &advice,
        );
    };
    let requirements = package().join("tests/requirements.txt");
    pip(&["-r".as_ref(), requirements.as_ref()]);

    // The development profile in the folder of this build, so that nothing is compiled twice that need not be.
    let wheels = folder.join("wheels");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--profile", "dev", "--strip", "--out"]).arg(&wheels);
    build.arg("--manifest-path").arg(package().join("Cargo.toml")).env("CARGO_TARGET_DIR", target);
    build.env("VIRTUAL_ENV", &venv);
    run(&mut build, "The wheel does not build.");
    let wheel = std::fs::read_dir(&wheels).unwrap().next().expect("maturin writes a wheel").unwrap().path();
    let name = wheel.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.contains("-cp39-abi3-"), "{name} is not a wheel for CPython 3.9 and everything newer");
    pip(&[wheel.as_ref()]);

    // The build writes beside its sources, which must stay clean.
    let names = folder.join("nki-wheel");
    copy(&package().join("nki-wheel"), &names);
    let built = folder.join("names");
    let mut build = Command::new(&python);
    build.args(["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"]).args([&built, &names]);
    run(&mut build, "The wheel birsim-nki does not build.");
    python
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn the_python_tests_pass_on_the_installed_wheel() {
    let Some(python) = python() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--birsim"]).arg(package().join("tests"));
    pytest.current_dir(&folder).env("BIRSIM_NAMES_WHEEL", folder.join("names")).env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut pytest, "Run one of them: python -m pytest --birsim tools/python/tests -k NAME");
}

#[test]
fn a_type_checker_accepts_the_stubs() {
    let Some(python) = python() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let mut mypy = Command::new(python);
    mypy.args(["-m", "mypy", "--config-file"]).arg(package().join("mypy.ini")).arg(package().join("tests/typed.py"));
    run(mypy.current_dir(&folder), "The stubs and `typed.py` disagree.");
}
