//! The kernels: each with its inputs, and the name of its NumPy counterpart.

use crate::build::{Kernel, Tensor};
use birsim_engine::ir::Module;
use serde_json::{Value as Json, json};

/// Columns of a moving tile, and partitions.
const WIDE: u64 = 512;
const P: u64 = 128;

/// A program to be timed.
pub struct Program {
    /// Name; the NumPy side has a function of this name.
    pub name: String,
    /// Argument of the NumPy side: a size.
    pub size: u64,
    /// The module.
    pub module: Module,
    /// Inputs: name, element type, number of elements.
    pub inputs: Vec<(&'static str, &'static str, u64)>,
    /// Repetitions inside the program; times are given for one.
    pub trips: u64,
}

/// All programs; `small` ones only show that they run.
pub fn all(small: bool) -> Result<Vec<Program>, String> {
    let mut list = Vec::new();
    for cols in [1, 8, 64, 512, 4096] {
        list.push(tiles(cols, if small { 2 } else { 400_000 / (cols + 60) })?);
    }
    let s = |full: u64, reduced: u64| if small { reduced } else { full };
    list.push(many(s(20_000, 20))?);
    list.push(layer_norm(s(4096, 128))?);
    list.push(matmul(s(1024, 512), "float32")?);
    list.push(matmul(s(1024, 512), "bfloat16")?);
    list.push(attention(s(2048, 512))?);
    list.push(mlp(s(1024, 512))?);
    Ok(list)
}

fn program(
    name: &str,
    size: u64,
    kernel: Kernel,
    inputs: Vec<(&'static str, &'static str, u64)>,
) -> Result<Program, String> {
    Ok(Program { name: name.into(), size, module: kernel.module()?, inputs, trips: 1 })
}

/// Four element-wise instructions on one tile, in a loop.
fn tiles(cols: u64, trips: u64) -> Result<Program, String> {
    let mut k = Kernel::default();
    let x = k.dram("x", "ExternalInput", "float32", P, cols);
    let [a, b, c] = ["a", "b", "c"].map(|n| k.sbuf(n, "float32", P, cols));
    k.load(x.rows(P), a.rows(P));
    k.load(x.rows(P), b.rows(P));
    let start = k.len();
    k.binary("add", a.rows(P), b.rows(P), c.rows(P));
    k.scalar(c.rows(P), ("mult", 0.5), ("add", 0.25), a.rows(P));
    k.binary("max", a.rows(P), b.rows(P), c.rows(P));
    k.copy(c.rows(P), a.rows(P));
    k.repeat(start, trips);
    let mut made = program("tiles", cols, k, vec![("x", "float32", P * cols)])?;
    made.trips = 4 * trips;
    Ok(made)
}

/// `n` instructions one after the other on 32 tiles of 128 x 64.
fn many(n: u64) -> Result<Program, String> {
    let mut k = Kernel::default();
    let x = k.dram("x", "ExternalInput", "float32", P, 64);
    let tiles: Vec<Tensor> = (0..32).map(|t| k.sbuf(&format!("t{t}"), "float32", P, 64)).collect();
    tiles.iter().for_each(|t| k.load(x.rows(P), t.rows(P)));
    for i in 0..n as usize {
        let [a, b, c] = [i, i + 5, i + 9].map(|t| tiles[t % 32].rows(P));
        match i % 4 {
            0 => k.binary("add", a, b, c),
            1 => k.scalar(a, ("mult", 0.5), ("add", 0.25), b),
            2 => k.binary("max", a, b, c),
            _ => k.copy(a, b),
        }
    }
    program("many", n, k, vec![("x", "float32", P * 64)])
}

/// Layer norm over rows of 2048 elements: ten instructions for each tile of 128 rows.
fn layer_norm(rows: u64) -> Result<Program, String> {
    let cols = 2048;
    let mut k = Kernel::default();
    let x = k.dram("x", "ExternalInput", "float32", rows, cols);
    let y = k.dram("y", "ExternalOutput", "float32", rows, cols);
    let [a, b] = ["a", "b"].map(|n| k.sbuf(n, "float32", P, cols));
    let [sum, mean, square, scale] = ["sum", "mean", "square", "scale"].map(|n| k.sbuf(n, "float32", P, 1));
    let one = 1.0 / cols as f64;
    for r in (0..rows).step_by(P as usize) {
        k.load(x.part((r, 0), P, cols), a.rows(P));
        k.reduce("add", false, a.rows(P), sum.rows(P));
        k.scalar(sum.rows(P), ("mult", one), ("add", 0.0), mean.rows(P));
        k.by_row("subtract", a.rows(P), mean.rows(P), a.rows(P));
        k.binary("mult", a.rows(P), a.rows(P), b.rows(P));
        k.reduce("add", false, b.rows(P), square.rows(P));
        k.scalar(square.rows(P), ("mult", one), ("add", 1e-5), square.rows(P));
        k.activate("Rsqrt", square.rows(P), zero(), scale.rows(P), None);
        k.by_row("mult", a.rows(P), scale.rows(P), b.rows(P));
        k.save(b.rows(P), y.part((r, 0), P, cols));
    }
    program("layer_norm", rows, k, vec![("x", "float32", rows * cols)])
}

/// C = A^T B of n x n matrices, by products of 128 x 128 x 512.
fn matmul(n: u64, dtype: &'static str) -> Result<Program, String> {
    let mut k = Kernel::default();
    let [a, b] = ["a", "b"].map(|name| k.dram(name, "ExternalInput", dtype, n, n));
    let c = k.dram("c", "ExternalOutput", "float32", n, n);
    let whole = |k: &mut Kernel, name: &str, from: &Tensor| -> Vec<Tensor> {
        let tiles: Vec<Tensor> = (0..n / P).map(|t| k.sbuf(&format!("{name}{t}"), dtype, P, n)).collect();
        tiles.iter().zip(0..).for_each(|(t, r)| k.load(from.part((r * P, 0), P, n), t.rows(P)));
        tiles
    };
    let (ta, tb) = (whole(&mut k, "ta", &a), whole(&mut k, "tb", &b));
    let acc = k.psum("acc", P, WIDE);
    let out = k.sbuf("out", "float32", P, WIDE);
    for m in (0..n).step_by(P as usize) {
        for col in (0..n).step_by(WIDE as usize) {
            for (step, (wa, wb)) in ta.iter().zip(&tb).enumerate() {
                k.matmul(wb.part((0, col), P, WIDE), wa.part((0, m), P, P), acc.rows(P), step as u64, n / P);
            }
            k.copy(acc.rows(P), out.rows(P));
            k.save(out.rows(P), c.part((m, col), P, WIDE));
        }
    }
    let name = if dtype == "float32" { "matmul_f32" } else { "matmul_bf16" };
    program(name, n, k, vec![("a", dtype, n * n), ("b", dtype, n * n)])
}

/// Attention forward of n / 512 heads of n x 128 in bf16: q and k are given transposed.
fn attention(n: u64) -> Result<Program, String> {
    let heads = n / WIDE;
    let mut k = Kernel::default();
    let bf = "bfloat16";
    let [q, kt] = ["q", "k"].map(|name| k.dram(name, "ExternalInput", bf, heads * P, n));
    let v = k.dram("v", "ExternalInput", bf, heads * n, P);
    let ident = k.dram("ident", "ExternalInput", bf, P, P);
    let o = k.dram("o", "ExternalOutput", bf, heads * n, P);
    let [tq, tk] = ["tq", "tk"].map(|name| k.sbuf(name, bf, P, n));
    let tv: Vec<Tensor> = (0..n / P).map(|t| k.sbuf(&format!("tv{t}"), bf, P, P)).collect();
    let one = k.sbuf("one", bf, P, P);
    let (e, et) = (k.sbuf("e", bf, P, n), k.sbuf("et", bf, P, P));
    let [low, sum, inverse] = ["low", "sum", "inverse"].map(|name| k.sbuf(name, "float32", P, 1));
    let out = k.sbuf("out", bf, P, P);
    let (products, scores) = (k.psum("products", P, n), k.sbuf("scores", "float32", P, n));
    let (turned, acc) = (k.psum("turned", P, P), k.psum("acc", P, P));
    k.load(ident.rows(P), one.rows(P));
    for h in 0..heads {
        k.load(q.part((h * P, 0), P, n), tq.rows(P));
        k.load(kt.part((h * P, 0), P, n), tk.rows(P));
        tv.iter().zip(0..).for_each(|(t, r)| k.load(v.part((h * n + r * P, 0), P, P), t.rows(P)));
        for row in (0..n).step_by(P as usize) {
            for col in (0..n).step_by(WIDE as usize) {
                // An instruction stays in one bank of PSUM.
                let product = products.part((0, col), P, WIDE);
                k.matmul(tk.part((0, col), P, WIDE), tq.part((0, row), P, P), product.clone(), 0, 1);
                k.copy(product, scores.part((0, col), P, WIDE));
            }
            k.reduce("max", true, scores.rows(P), low.rows(P));
            k.activate("Exp", scores.rows(P), low.rows(P), e.rows(P), Some(sum.rows(P)));
            for (t, tile) in tv.iter().enumerate() {
                k.matmul(one.rows(P), e.part((0, t as u64 * P), P, P), turned.rows(P), 0, 1);
                k.copy(turned.rows(P), et.rows(P));
                k.matmul(tile.rows(P), et.rows(P), acc.rows(P), t as u64, n / P);
            }
            k.push("Reciprocal", "DVE", vec![sum.rows(P)], vec![inverse.rows(P)], json!({}));
            k.by_row("mult", acc.rows(P), inverse.rows(P), out.rows(P));
            k.save(out.rows(P), o.part((h * n + row, 0), P, P));
        }
    }
    let square = heads * P * n;
    program("attention", n, k, vec![("q", bf, square), ("k", bf, square), ("v", bf, square), ("ident", bf, P * P)])
}

/// Two bf16 layers of n x n with Gelu between, on 512 columns.
fn mlp(n: u64) -> Result<Program, String> {
    let mut k = Kernel::default();
    let bf = "bfloat16";
    let [w0, w1] = ["w0", "w1"].map(|name| k.dram(name, "ExternalInput", bf, n, n));
    let x = k.dram("x", "ExternalInput", bf, n, WIDE);
    let y = k.dram("y", "ExternalOutput", bf, n, WIDE);
    let tiles = |k: &mut Kernel, name: &str, cols: u64| -> Vec<Tensor> {
        (0..n / P).map(|t| k.sbuf(&format!("{name}{t}"), bf, P, cols)).collect()
    };
    let (t0, t1) = (tiles(&mut k, "t0_", n), tiles(&mut k, "t1_", n));
    let (tx, th) = (tiles(&mut k, "tx", WIDE), tiles(&mut k, "th", WIDE));
    let out = k.sbuf("out", bf, P, WIDE);
    let acc = k.psum("acc", P, WIDE);
    for (from, to, cols) in [(&w0, &t0, n), (&w1, &t1, n), (&x, &tx, WIDE)] {
        to.iter().zip(0..).for_each(|(t, r)| k.load(from.part((r * P, 0), P, cols), t.rows(P)));
    }
    for (weights, from, hidden) in [(&t0, &tx, true), (&t1, &th, false)] {
        for m in 0..n / P {
            for (step, (w, f)) in weights.iter().zip(from).enumerate() {
                k.matmul(f.rows(P), w.part((0, m * P), P, P), acc.rows(P), step as u64, n / P);
            }
            if hidden {
                k.activate("Gelu", acc.rows(P), zero(), th[m as usize].rows(P), None);
            } else {
                k.copy(acc.rows(P), out.rows(P));
                k.save(out.rows(P), y.part((m * P, 0), P, WIDE));
            }
        }
    }
    program("mlp", n, k, vec![("w0", bf, n * n), ("w1", bf, n * n), ("x", bf, n * WIDE)])
}

/// A bias of zero.
fn zero() -> Json {
    json!({"kind": "imm_value", "dtype": "float32", "value": 0.0})
}
