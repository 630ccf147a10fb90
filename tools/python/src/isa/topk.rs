//! `topk`, which has no instruction in the published model: searches for eight values at a time make it up.
//!
//! The tile is a snake: element i of 16 partitions lies in partition i % 16 and column i / 16. The results lie likewise.

use super::call::Call;
use super::{Kind::*, NAME, Row, SB, p};
use crate::dtype::Dt;
use crate::op::{Dims, Op, Region};
use crate::tensor::{NkiTensor, reshaped};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{Engine, Opcode};
use birsim_kernels::Dtype;
use pyo3::prelude::*;

/// Partitions of a snake.
const GROUP: i64 = 16;
/// Values one search finds.
const FOUND: i64 = 8;

pub const ROWS: &[Row] = &[Row {
    name: "topk",
    doc: "The largest of the first n elements of every 16 partitions, ascending, with their positions.",
    since: 2,
    params: &[p("val_dst", Out(SB)), p("idx_dst", Out(SB)), p("src", Src(SB)), p("n", Int), NAME],
    lower: topk,
}];

fn checked(c: &Call<'_, '_>) -> PyResult<(i64, i64)> {
    let (n, k) = (c.int(3, 0)?, c.t(0)?.get().free());
    for (at, dtype) in [(0, Dtype::Bfloat16), (1, Dtype::Uint32), (2, Dtype::Bfloat16)] {
        let t = c.t(at)?;
        let (t, name) = (t.get(), c.row.params[at].name);
        if t.dt.bir() != dtype {
            return Err(c.refuse(format!(
                "{name} has the type {}; it must be {}",
                t.dt.name(),
                Dt::of_bir(dtype).name()
            )));
        }
        if t.partitions() % GROUP != 0 || t.partitions() != c.t(2)?.get().partitions() {
            return Err(c.refuse(format!(
                "{name} has the shape {}; all operands have the same partitions, a multiple of {GROUP}",
                t.shape_text()
            )));
        }
    }
    if !(FOUND..65536).contains(&n) || n > c.t(2)?.get().free() * GROUP {
        let most = (c.t(2)?.get().free() * GROUP).min(65535);
        return Err(c.refuse(format!("n is {n}; {FOUND} to {most} elements of src can be searched")));
    }
    if k > n || c.t(1)?.get().free() != k {
        return Err(c.refuse(format!(
            "val_dst has the shape {} and idx_dst {}: both hold as many elements per partition, at most n = {n}",
            c.t(0)?.get().shape_text(),
            c.t(1)?.get().shape_text()
        )));
    }
    Ok((n, k))
}

/// Some columns of a tile, from its partition `first` on.
fn part(c: &Call<'_, '_>, t: &NkiTensor, first: (i64, i64), count: (i64, i64)) -> PyResult<NkiTensor> {
    let flat = reshaped(&t.dims[1..], &[t.free()]);
    let step = flat.ok_or_else(|| c.refuse("takes tiles whose elements follow each other with one step"))?[0].0;
    let (rows, _) = t.dims[0];
    Ok(t.with(t.offset + first.0 * rows + first.1 * step, [(rows, count.0), (step, count.1)].into_iter().collect()))
}

fn view(t: &NkiTensor, offset: i64, dims: &[(i64, i64)]) -> NkiTensor {
    t.with(offset, dims.iter().copied().collect::<Dims>())
}

fn copy(c: &Call<'_, '_>, from: &NkiTensor, to: &NkiTensor) -> PyResult<()> {
    c.emit(Op::new(Opcode::DMACopy, Engine::Dma).input(c.read(from)?).output(c.write(to)?))
}

fn topk(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (n, k) = checked(c)?;
    let (values, positions, source) = (c.t(0)?, c.t(1)?, c.t(2)?);
    let (values, positions, source) = (values.get(), positions.get(), source.get());
    let groups = source.partitions() / GROUP;

    // Every snake as one row, by way of device memory.
    let columns = (n + GROUP - 1) / GROUP;
    let flat = c.scratch(&[groups, columns, GROUP], source.dt, Region::PrivateHbm);
    let across = view(&flat, 0, &[(columns * GROUP, groups), (1, GROUP), (GROUP, columns)]);
    copy(c, &part(c, source, (0, 0), (source.partitions(), columns))?, &across)?;
    let rows = c.scratch(&[groups, n], source.dt, Region::Sbuf);
    copy(c, &view(&flat, 0, &[(columns * GROUP, groups), (1, n)]), &rows)?;

    let rounds = (k + FOUND - 1) / FOUND;
    let found = rounds * FOUND;
    let largest = c.scratch(&[groups, found], source.dt, Region::Sbuf);
    let places = c.scratch(&[groups, found], positions.dt, Region::Sbuf);
    for round in 0..rounds {
        let eight = |t: &NkiTensor| view(t, round * FOUND, &[(found, groups), (1, FOUND)]);
        let (v, at) = (eight(&largest), eight(&places));
        c.emit(Op::new(Opcode::Max, Engine::Dve).input(c.read(&rows)?).output(c.write(&v)?))?;
        let taken = Op::new(Opcode::MaxIndexAndMatchReplace, Engine::Dve)
            .with(f::MaxIndexAndMatchReplace::imm_value, f64::NEG_INFINITY);
        c.emit(taken.input(c.read(&v)?).input(c.read(&rows)?).output(c.write(&rows)?).output(c.write(&at)?))?;
    }

    for (list, dst) in [(&largest, values), (&places, positions)] {
        let line = c.scratch(&[groups, k], dst.dt, Region::PrivateHbm);
        copy(c, &view(list, 0, &[(found, groups), (1, k)]), &line)?;
        snake(c, &line, dst, groups, k)?;
    }
    Ok(())
}

/// Rows of `line`, last element first, as snakes.
fn snake(c: &Call<'_, '_>, line: &NkiTensor, dst: &NkiTensor, groups: i64, k: i64) -> PyResult<()> {
    let (whole, rest) = (k / GROUP, k % GROUP);
    if whole > 0 {
        let from = view(line, k - 1, &[(k, groups), (-1, GROUP), (-GROUP, whole)]);
        copy(c, &from, &part(c, dst, (0, 0), (dst.partitions(), whole))?)?;
    }
    if rest > 0 {
        for g in 0..groups {
            let from = view(line, g * k + rest - 1, &[(-1, rest), (1, 1)]);
            copy(c, &from, &part(c, dst, (g * GROUP, whole), (rest, 1))?)?;
        }
    }
    Ok(())
}
