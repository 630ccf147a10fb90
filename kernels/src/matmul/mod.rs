//! Matmult (8) and its relatives: the product of a stationary and a moving matrix (`matmul-mx.md` 2).
//!
//! The kernel computes the finished product in float32; writing it to PSUM, by copy or by accumulation, is the
//! machine's step ([`store_row`]). Where all elements are treated alike both are one step ([`matmult_into`]). Order of
//! every sum: acc = +0.0; for k ascending acc = acc + a * b with two roundings, or one where the profile says so (ruling
//! D55).

use crate::access::{Dst, RowsMut, Src};
use crate::{Code, Dtype, Error, Profile, Result, rehearsal};

mod gemm;
mod pack;
mod psum;
mod rounding;
mod transpose;

pub use crate::isa::Isa;
pub use gemm::Tile;
pub use psum::{Marks, store_row};

use gemm::{Leave, Output, multiply};
use pack::Side;
pub(crate) use pack::{Packed, pad};
pub(crate) use rounding::Rounding;

crate::named_enum! {
    /// Performance mode of the PE array.
    MatmultPerfMode {
        None = 0, "None";
        DoubleRow = 1, "DoubleRow";
        DoubleColumn = 2, "DoubleColumn";
        DoublePixel = 3, "DoublePixel";
        DoubleRowSwInterleave = 4, "DoubleRowSwInterleave";
    }
}

crate::named_enum! {
    /// What to do with the weights of `DoubleRowSwInterleave`, whose column order is not published (ruling D50).
    SwInterleave {
        Refuse = 0, "refuse";
        Plain = 1, "plain";
        Reversed = 2, "reversed";
    }
}

/// Sizes of the PE array, which no product exceeds (`matmul-mx.md` 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeLimits {
    /// Largest contraction: partitions of both operands.
    pub rows: usize,
    /// Largest number of stationary columns.
    pub columns: usize,
    /// Largest number of moving columns.
    pub moving: usize,
}

impl PeLimits {
    /// Limits of an architecture level (10, 20, 30, 40) for an output of `out` dtype.
    pub const fn of(level: u32, out: Dtype) -> Self {
        let columns = if level < 20 { 64 } else { 128 };
        // Eight banks of 2048 bytes from generation 4 on; one bank of 512 columns before.
        let moving = if level < 40 { 512 } else { 8 * 2048 / if out.size() < 4 { 2 } else { 4 } };
        PeLimits { rows: 128, columns, moving }
    }
}

/// Fields of a matrix product.
#[derive(Clone, Debug)]
pub struct Matmult {
    /// Sizes of the array.
    pub limits: PeLimits,
    /// Architecture level: `is_transpose` counts above 20 only.
    pub level: u32,
    /// `ifmap_quant_offset`, subtracted from every moving element.
    pub ifmap_zero: Option<u8>,
    /// `weights_quant_offset`, subtracted from every stationary element.
    pub weights_zero: Option<u8>,
    /// Performance mode.
    pub perf_mode: MatmultPerfMode,
    /// The product is a transposition of the operand whose partner is an identity.
    pub is_transpose: bool,
    /// `replication_resolution`, `replication_shift_amnt`, `replication_num_rows`.
    pub replication: [u32; 3],
    /// Tile rows and columns; -1 is the whole array.
    pub tile_size: [i64; 2],
    /// First row and column of the tile; -1 is the whole array.
    pub tile_position: [i64; 2],
    /// The profile's `matmul_fma`.
    pub fma: bool,
}

impl Default for Matmult {
    fn default() -> Self {
        Matmult {
            limits: PeLimits::of(30, Dtype::Float32),
            level: 30,
            ifmap_zero: None,
            weights_zero: None,
            perf_mode: MatmultPerfMode::None,
            is_transpose: false,
            replication: [0; 3],
            tile_size: [-1; 2],
            tile_position: [-1; 2],
            fma: true,
        }
    }
}

/// A finished product, row-major, and the scratch space it was made in. Reuse one value to avoid allocation.
#[derive(Debug, Default)]
pub struct Product {
    rows: usize,
    cols: usize,
    values: Vec<f32>,
    weights: Vec<f32>,
    ifmap: Vec<f32>,
}

impl Product {
    /// Output partitions: stationary columns.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements per output partition: moving columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All values, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values[..self.rows * self.cols]
    }

    /// The values of one output partition.
    pub fn row(&self, m: usize) -> &[f32] {
        &self.values()[m * self.cols..][..self.cols]
    }

    pub(crate) fn shape(&mut self, rows: usize, cols: usize) {
        self.rows = rows;
        self.cols = cols;
        if self.values.len() < rows * cols {
            self.values.resize(rows * cols, 0.0);
        }
    }

    fn buffers(&mut self) -> (&mut Vec<f32>, &mut Vec<f32>) {
        (&mut self.weights, &mut self.ifmap)
    }

    pub(crate) fn parts(&mut self) -> (&mut [f32], &mut Vec<f32>, &mut Vec<f32>) {
        (&mut self.values[..self.rows * self.cols], &mut self.weights, &mut self.ifmap)
    }
}

/// Matmult (8): out\[m\]\[n\] = sum over k of (weights\[k\]\[m\] - zero) * (ifmap\[k\]\[n\] - zero).
///
/// Both operands have k on their lanes; their elements per lane are flattened in pattern order.
pub fn matmult(p: &Matmult, ifmap: &Src, weights: &Src, out: &mut Product, profile: &Profile) -> Result<()> {
    if p.is_transpose && p.level > 20 {
        check_operands(p, ifmap, weights)?;
        return transpose::transpose(p, ifmap, weights, out);
    }
    let sides = Sides::new(p, ifmap, weights, profile)?;
    product(&sides.stationary, &sides.moving, out, Isa::best(), sides.rounding);
    Ok(())
}

/// [`matmult`] straight into its destination, without a product in between: stored, or added to what is there with one
/// rounding. False, and nothing is written, when the destination is not plain float32 of the product's shape; the bits are
/// those of [`matmult`] and [`store_row`]. `scratch` is space for packed operands.
pub fn matmult_into(
    p: &Matmult,
    ifmap: &Src,
    weights: &Src,
    dst: &mut Dst,
    add: bool,
    scratch: &mut Product,
    profile: &Profile,
) -> Result<bool> {
    if p.is_transpose && p.level > 20 || dst.dtype() != Dtype::Float32 {
        return Ok(false);
    }
    let sides = Sides::new(p, ifmap, weights, profile)?;
    let (m, n) = (sides.stationary.columns(), sides.moving.columns());
    if dst.lanes() != m || dst.lane_len() != n {
        return Ok(false);
    }
    let Some(rows) = dst.lanes_as_mut(0..m, 0, n) else { return Ok(false) };
    if rehearsal::is_on() {
        return Ok(true);
    }
    let out = Output::new(rows, if add { Leave::Add } else { Leave::Store });
    let (wbuf, ibuf) = scratch.buffers();
    multiply(Isa::best(), sides.rounding, &sides.stationary, &sides.moving, &out, wbuf, ibuf);
    Ok(true)
}

/// Both operands of a product, checked.
struct Sides<'a> {
    stationary: Side<'a>,
    moving: Side<'a>,
    rounding: Rounding,
}

impl<'a> Sides<'a> {
    fn new(p: &Matmult, ifmap: &'a Src, weights: &'a Src, profile: &Profile) -> Result<Self> {
        check_operands(p, ifmap, weights)?;
        let (k, n, m) = (ifmap.lanes(), ifmap.lane_len(), weights.lane_len());
        let double = matches!(p.perf_mode, MatmultPerfMode::DoubleRow | MatmultPerfMode::DoubleRowSwInterleave);
        let (m, n) = if double { doubled(ifmap, weights)? } else { (m, n) };
        check_sizes(p, k, m, n)?;
        let rounded = ifmap.dtype() == Dtype::Float32r;
        let mut stationary = Side::new(weights, m, rounded, p.weights_zero);
        let mut moving = Side::new(ifmap, n, rounded, p.ifmap_zero);
        if double {
            stationary = stationary.halves();
            moving = moving.halves();
        }
        if p.perf_mode == MatmultPerfMode::DoubleRowSwInterleave {
            stationary = match profile.matmul_sw_interleave {
                SwInterleave::Refuse => {
                    return Err(Error::new(
                        Code::U002,
                        "the column order of DoubleRowSwInterleave weights is not published",
                    )
                    .advice("use DoubleRow, or choose an order with --set matmul_sw_interleave=plain or =reversed"));
                }
                SwInterleave::Plain => stationary.interleaved(false),
                SwInterleave::Reversed => stationary.interleaved(true),
            };
        }
        let rounding = Rounding::of(p.fma, [weights.dtype(), ifmap.dtype()]);
        Ok(Sides { stationary, moving, rounding })
    }
}

/// The checks before the sizes: dtypes, replication, equal partitions.
fn check_operands(p: &Matmult, ifmap: &Src, weights: &Src) -> Result<()> {
    gate(ifmap, weights)?;
    if p.replication != [0; 3] {
        return Err(Error::new(Code::U002, "how replicated rows are shifted is not published")
            .received(format!("{:?}", p.replication)));
    }
    let k = ifmap.lanes();
    if k != weights.lanes() {
        return Err(Error::new(Code::S002, "invalid matrix product: both operands have the same number of partitions")
            .received(format!("ifmap {k}, weights {}", weights.lanes())));
    }
    Ok(())
}

/// The plain product on an instruction set of the caller's choice: for comparing the paths.
pub fn product_on(isa: Isa, fma: bool, ifmap: &Src, weights: &Src, out: &mut Product) -> Result<()> {
    let p = Matmult::default();
    gate(ifmap, weights)?;
    if ifmap.lanes() != weights.lanes() {
        return Err(Error::new(Code::S002, "both operands have the same number of partitions"));
    }
    check_sizes(&p, ifmap.lanes(), weights.lane_len(), ifmap.lane_len())?;
    let a = Side::new(weights, weights.lane_len(), false, None);
    let b = Side::new(ifmap, ifmap.lane_len(), false, None);
    product(&a, &b, out, isa, Rounding::of(fma, [weights.dtype(), ifmap.dtype()]));
    Ok(())
}

/// MatmultSparse (9): checks the documented contract, then reports that the index arithmetic is not published (D50).
pub fn matmult_sparse(ifmap: &Src, weights: &Src, tags: &Src) -> Result<()> {
    gate(ifmap, weights)?;
    let rows = ifmap.lanes();
    if !rows.is_multiple_of(4) || rows != 128 {
        return Err(Error::new(Code::S008, "MatmultSparse needs 128 active rows, a multiple of four").received(rows));
    }
    Err(Error::new(Code::U002, "how the tags of MatmultSparse select moving elements is not published")
        .received(format!("{} tags of {}", tags.len(), tags.dtype()))
        .advice("use a dense Matmult"))
}

/// Packs both sides and multiplies.
pub(crate) fn product(a: &impl Packed, b: &impl Packed, out: &mut Product, isa: Isa, rounding: Rounding) {
    out.shape(a.columns(), b.columns());
    if rehearsal::is_on() {
        return;
    }
    let (n, (values, wbuf, ibuf)) = (b.columns(), out.parts());
    let rows = Output::new(RowsMut::dense(values, n), Leave::Store);
    multiply(isa, rounding, a, b, &rows, wbuf, ibuf);
}

pub(crate) fn check_sizes(p: &Matmult, k: usize, m: usize, n: usize) -> Result<()> {
    let limit = |what: &str, got: usize, max: usize| {
        if got <= max {
            return Ok(());
        }
        Err(Error::new(Code::S008, format!("a matrix product has at most {max} {what}")).received(got))
    };
    limit("contraction rows (partitions)", k, p.limits.rows)?;
    limit("stationary columns", m, p.limits.columns)?;
    limit("moving columns", n, p.limits.moving)?;
    for (axis, (name, got)) in [("rows", k), ("columns", m)].into_iter().enumerate() {
        let (size, at) = (p.tile_size[axis], p.tile_position[axis]);
        if size == -1 {
            continue;
        }
        if !matches!(size, 32 | 64 | 128) {
            return Err(Error::new(Code::S008, format!("tile {name} are 32, 64 or 128")).received(size));
        }
        if at != -1 && (at < 0 || at % size != 0 || at > 128 - size) {
            return Err(Error::new(Code::S008, format!("a tile starts at a multiple of its {name} inside the array"))
                .received(at));
        }
        if got as i64 > size {
            return Err(
                Error::new(Code::S008, format!("the product needs more {name} than its tile of {size}")).received(got)
            );
        }
    }
    Ok(())
}

/// The dtype gate of both operands, float32r pairing included.
fn gate(ifmap: &Src, weights: &Src) -> Result<()> {
    for (name, d) in [("ifmap", ifmap.dtype()), ("weights", weights.dtype())] {
        if d != Dtype::Uint8 && (!d.is_float() || d.is_packed()) {
            return Err(Error::new(Code::S007, format!("Invalid {name} data type for matmult")).received(d));
        }
    }
    if (ifmap.dtype() == Dtype::Float32r) != (weights.dtype() == Dtype::Float32r) {
        return Err(Error::new(Code::S007, "a float32r operand needs a float32r partner").received(format!(
            "ifmap {}, weights {}",
            ifmap.dtype(),
            weights.dtype()
        )));
    }
    Ok(())
}

/// Sizes of a doubled product: fp8 operands whose lanes hold two rows of the contraction each.
fn doubled(ifmap: &Src, weights: &Src) -> Result<(usize, usize)> {
    for (name, s) in [("ifmap", ifmap), ("weights", weights)] {
        if s.dtype().size() != 1 || !s.dtype().is_float() {
            return Err(Error::new(Code::S007, format!("double-row modes take fp8 operands, {name} is not"))
                .received(s.dtype()));
        }
        if s.lane_len() % 2 != 0 {
            return Err(Error::new(Code::S002, format!("a double-row {name} holds an even number of elements"))
                .received(s.lane_len()));
        }
    }
    Ok((weights.lane_len() / 2, ifmap.lane_len() / 2))
}
