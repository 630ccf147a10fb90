//! Edited `.npy` and `.npz` files: opened, and read as a tensor of some type and shape.

use super::json::edited;
use super::scratch;
use arbitrary::{Result, Unstructured};
use birsim_cli::npy::{Archive, open};
use birsim_kernels::Dtype;

const NPY: &[u8] = include_bytes!("../../data/bir_tiles/in_a.npy");
const NPZ: &[u8] = include_bytes!("../../data/softmax_matmul/inputs.npz");

/// Descriptors and shapes that headers hold, or should not.
const DESCRS: [&str; 14] =
    ["<f4", ">f4", "|u1", "<V2", "|V1", "<f1", "<i8", "<c16", "|O", "<U7", "|S3", "<M8[ns]", "<V99999999999", ""];
const SHAPES: [&str; 12] = [
    "()",
    "(4,)",
    "(2, 2)",
    "(0, 7)",
    "(4",
    "4",
    "(-1,)",
    "(18446744073709551615, 2)",
    "(4294967296, 4294967296)",
    "(1,) * 9",
    "[4]",
    "(4L,)",
];

/// Shapes that programs declare.
const TENSORS: [&[u64]; 6] = [&[4], &[2, 2], &[], &[0, 7], &[128, 64], &[u64::MAX, 2]];

/// Uses one input.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let _ = one(&mut u);
}

fn one(u: &mut Unstructured) -> Result<()> {
    let dtype = *u.choose(&[Dtype::Float32, Dtype::Uint8, Dtype::Bfloat16, Dtype::Int32, Dtype::Float16])?;
    let shape = *u.choose(&TENSORS)?;
    if u.ratio(1, 8)? {
        let path = scratch().join("in.npz");
        std::fs::write(&path, edited(u, NPZ)?).expect("the temporary folder can be written");
        if let Ok(mut archive) = Archive::open(&path) {
            for name in archive.names() {
                if let Ok(npy) = archive.member(&name) {
                    let _ = npy.into_tensor(dtype, shape);
                }
            }
        }
        return Ok(());
    }
    let file = if u.ratio(1, 3)? { edited(u, NPY)? } else { headed(u)? };
    let path = scratch().join("in.npy");
    std::fs::write(&path, file).expect("the temporary folder can be written");
    if let Ok(npy) = open(&path)
        && let Ok(tensor) = npy.into_tensor(dtype, shape)
    {
        let n = shape.iter().product::<u64>() as usize * dtype.size();
        assert_eq!(tensor.len(), n, "a tensor of another size than its shape says");
    }
    Ok(())
}

/// A file with a header of known words, mostly in order.
fn headed(u: &mut Unstructured) -> Result<Vec<u8>> {
    let (descr, shape) = (*u.choose(&DESCRS)?, *u.choose(&SHAPES)?);
    let order = *u.choose(&["False", "True", "0", "None"])?;
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    if u.ratio(1, 6)? {
        // Nesting that a recursive reader would follow to the end of its stack.
        let depth = u.int_in_range(1..=60_000)?;
        dict = format!("{{'descr': {}", *u.choose(&["[", "(", "{'a':"])?).repeat(depth);
    }
    let text = edited(u, format!("{dict}\n").as_bytes())?;
    let version = *u.choose(&[1u8, 1, 1, 2, 3, 9])?;
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    let length = if u.ratio(1, 8)? { u.arbitrary()? } else { text.len() as u32 };
    match version {
        1 => out.extend((length as u16).to_le_bytes()),
        _ => out.extend(length.to_le_bytes()),
    }
    out.extend(text);
    let data = u.int_in_range(0..=64)?;
    out.resize(out.len() + data, 0x3C);
    Ok(out)
}
