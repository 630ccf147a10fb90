//! CustomOp (53) and BIRKernel (54): one program outside computes them (`opcodes.md` 12; ruling D49).
//!
//! A fresh folder receives the inputs as `.npy` files and a JSON description; the program is started in it with the
//! description as its only argument, without a shell and with bounded time; its results are read back and the folder is
//! removed.

mod npy;
mod process;

use super::{Cx, Want};
use crate::ir::{Keys, Opcode, Value};
use crate::world::{Draft, FieldValue};
use crate::{Code, Error, Result};
use birsim_kernels::Named;
use birsim_kernels::access::Pattern;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

bind! {
    CustomOp(prepare) => run,
    BIRKernel(prepare) => run,
}

/// What an instruction says about its kernel.
pub struct Kernel {
    name: String,
    /// Declared shapes of the inputs and of the outputs.
    shapes: [Shapes; 2],
    /// Own keys as JSON.
    keys: Map<String, Json>,
}

type Shapes = Vec<Vec<i64>>;

fn prepare(draft: &Draft) -> Result<Kernel> {
    let (name, srcs, dsts) = match draft.opcode {
        Opcode::CustomOp => ("opFunctionName", "srcsShape", "dstsShape"),
        _ => ("kernel_name", "srcs_shape", "dsts_shape"),
    };
    let key = |key: &str| draft.opcode.row().field_index(key).and_then(|k| draft.value(k));
    let shapes = |k| match key(k) {
        Some(Value::Groups(all)) => all.clone(),
        _ => Vec::new(),
    };
    let name = match key(name) {
        Some(Value::Str(s)) => s.clone(),
        _ => String::new(),
    };
    let fields = draft.opcode.row().fields.iter().zip(draft.fields);
    let keys = fields.filter_map(|(field, value)| Some((field.key.to_string(), plain(value)?))).collect();
    Ok(Kernel { name, shapes: [shapes(srcs), shapes(dsts)], keys })
}

/// CustomOp (53), BIRKernel (54).
pub fn run(cx: &mut Cx, own: &Kernel) -> Result<()> {
    let name = &own.name;
    let Some(program) = cx.m.settings.external.clone() else {
        return Err(
            Error::new(Code::U004, format!("{} is computed by an external program", cx.inst.opcode)).received(name)
        );
    };
    let host = |what: &str, e: std::io::Error| Error::new(Code::S019, format!("{what}: {e}"));
    let folder = tempfile::Builder::new()
        .prefix("birsim-kernel-")
        .tempdir()
        .map_err(|e| host("no folder for the operands can be made", e))?;
    let description = describe(cx, own, folder.path())?;
    let config = folder.path().join("kernel.json");
    std::fs::write(&config, format!("{description:#}\n")).map_err(|e| host("the description cannot be written", e))?;
    process::run(&program, &config, folder.path(), &cx.m.settings.limits)?;
    for k in 0..cx.n_outs() {
        let file = folder.path().join(file_name(name, k, "simout"));
        let mut io = cx.open(&[Want::Out(k)])?;
        let mut dst = io.outs.dst(k)?;
        let bytes = npy::read(&file, dst.dtype(), dst.len()).map_err(|e| e.operand(format!("outs[{k}]")))?;
        dst.fill_from_dense(&bytes);
    }
    Ok(())
}

/// `<kernel>-<k>-<kind>.npy`, whatever characters the kernel's name has.
fn file_name(kernel: &str, k: usize, kind: &str) -> String {
    let plain: String =
        kernel.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    format!("{plain}-{k}-{kind}.npy")
}

/// Writes the inputs; returns the description: names, shapes, dtypes and files of the operands, and the kernel's own fields.
fn describe(cx: &mut Cx, own: &Kernel, folder: &Path) -> Result<Json> {
    let (name, shapes) = (&own.name, &own.shapes);
    let (mut srcs, mut dsts) = (Vec::new(), Vec::new());
    for k in 0..cx.n_ins() {
        let (dtype, bytes) = {
            let io = cx.open(&[Want::In(k)])?;
            let src = io.ins.src(k)?;
            (src.dtype(), src.to_dense())
        };
        let Some((_, pattern)) = cx.location_and_pattern(k)? else { continue };
        let shape = shape(shapes[0].get(k), pattern);
        let file = file_name(name, k, "birsim");
        npy::write(&folder.join(&file), dtype, &shape, &bytes)?;
        srcs.push((shape, dtype, file));
    }
    for k in 0..cx.n_outs() {
        let Some((_, pattern)) = cx.location_and_pattern(cx.n_ins() + k)? else { continue };
        dsts.push((shape(shapes[1].get(k), pattern), pattern.dtype(), file_name(name, k, "simout")));
    }
    let list = |operands: &[(Vec<u64>, birsim_kernels::Dtype, String)]| -> Vec<Json> {
        operands.iter().map(|(s, d, f)| json!({"shape": s, "dtype": d.name(), "npy": f})).collect()
    };
    let mut out = Map::new();
    out.insert("kernel_name".into(), json!(name));
    out.insert("srcs".into(), list(&srcs).into());
    out.insert("dsts".into(), list(&dsts).into());
    for (key, value) in &own.keys {
        out.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    Ok(Json::Object(out))
}

/// The shape the instruction declares, when it has as many elements as the operand; else the operand's own.
fn shape(declared: Option<&Vec<i64>>, pattern: &Pattern) -> Vec<u64> {
    let fits = |s: &Vec<i64>| {
        s.iter().try_fold(1u64, |t, d| t.checked_mul(u64::try_from(*d).ok()?)) == Some(pattern.len() as u64)
    };
    match declared.filter(|s| fits(s)) {
        Some(s) => s.iter().map(|d| *d as u64).collect(),
        None => pattern.pairs().iter().map(|p| u64::from(p.num)).collect(),
    }
}

/// A field as JSON, when it has a value.
fn plain(value: &FieldValue) -> Option<Json> {
    Some(match value {
        FieldValue::Int(v) => json!(v),
        FieldValue::Float(v) => json!(v),
        FieldValue::Cold(v) => match v.as_ref() {
            Value::Str(s) => json!(s),
            Value::Strs(s) => json!(s),
            Value::Groups(g) => json!(g),
            Value::Map(m) => m.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<Map<_, _>>().into(),
            Value::Json(j) => j.clone(),
            _ => return None,
        },
        _ => return None,
    })
}
