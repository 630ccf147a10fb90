//! The search family, and gathers inside of partitions.

use super::call::Call;
use super::{CHIP, Kind::*, NAME, Row, SB, d, p};
use crate::op::{Op, Opnd};
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{Engine, Opcode};
use birsim_kernels::Dtype;
use pyo3::prelude::*;

pub const ROWS: &[Row] = &[
    Row {
        name: "max8",
        doc: "The eight largest elements of every partition, in descending order.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("src", Src(CHIP)), NAME],
        lower: |c| {
            searched(c, 1)?;
            c.emit(Op::new(Opcode::Max, Engine::Dve).input(c.input(1)?).output(c.output(0)?))
        },
    },
    Row {
        name: "nc_find_index8",
        doc: "The positions of eight values in every partition; all ones where a value is missing.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("data", Src(CHIP)), p("vals", Src(CHIP)), NAME],
        lower: |c| {
            searched(c, 1)?;
            let op = Op::new(Opcode::MaxIndex, Engine::Dve).input(c.input(2)?).input(c.input(1)?);
            c.emit(op.output(c.output(0)?))
        },
    },
    Row {
        name: "nc_match_replace8",
        doc: "Replaces the first occurrence of each of eight values by a number; dst_idx takes the positions.",
        since: 2,
        params: &[
            p("dst", Out(CHIP)),
            p("data", Src(CHIP)),
            p("vals", Src(CHIP)),
            p("imm", Number),
            d("dst_idx", Out(CHIP), "None"),
            NAME,
        ],
        lower: match_replace,
    },
    Row {
        name: "nonzero_with_count",
        doc: "The positions of what is not zero in partitions 0, 16, .., and behind them their number.",
        since: 3,
        params: &[p("dst", Out(SB)), p("src", Src(SB)), d("index_offset", Int, "0"), d("padding_val", Int, "-1"), NAME],
        lower: |c| {
            let n = |k: usize, default: i64| c.int(k, default).map(|n| Opnd::Int(n, Dtype::Int32));
            let op =
                Op::new(Opcode::NonzeroWithCount, Engine::Pool).input(c.input(1)?).input(n(2, 0)?).input(n(3, -1)?);
            c.emit(op.output(c.output(0)?))
        },
    },
    Row {
        name: "nc_n_gather",
        doc: "dst[p, i] = data[p, indices[p, i]].",
        since: 2,
        params: &[p("dst", Out(SB)), p("data", Src(SB)), p("indices", Src(SB)), NAME],
        lower: |c| {
            c.same_type(0, 1)?;
            let op = Op::new(Opcode::Gather, Engine::Pool).input(c.input(1)?).input(c.input(2)?);
            c.emit(op.output(c.output(0)?))
        },
    },
    Row {
        name: "local_gather",
        doc: "Elements at positions that the 16 partitions of a group share.",
        since: 2,
        params: &[
            p("dst", Out(SB)),
            p("src_buffer", Src(SB)),
            p("index", Src(SB)),
            d("num_elem_per_idx", Int, "1"),
            d("num_valid_indices", Int, "None"),
            NAME,
        ],
        lower: local_gather,
    },
];

fn searched(c: &Call<'_, '_>, k: usize) -> PyResult<()> {
    let n = c.t(k)?.get().free();
    if (8..=16384).contains(&n) {
        return Ok(());
    }
    let name = c.row.params[k].name;
    Err(c.refuse(format!("{name} has {n} elements per partition; from 8 to 16384 are searched")))
}

fn match_replace(c: &mut Call<'_, '_>) -> PyResult<()> {
    c.same(0, 1)?;
    let imm = c.number(3, 0.0)?;
    let Some(at) = c.opt(4)? else {
        let op = Op::new(Opcode::MatchReplace, Engine::Dve).with(f::MatchReplace::imm_value, imm);
        return c.emit(op.input(c.input(2)?).input(c.input(1)?).output(c.output(0)?));
    };
    let op = Op::new(Opcode::MaxIndexAndMatchReplace, Engine::Dve).with(f::MaxIndexAndMatchReplace::imm_value, imm);
    c.emit(op.input(c.input(2)?).input(c.input(1)?).output(c.output(0)?).output(c.write(at.get())?))
}

fn local_gather(c: &mut Call<'_, '_>) -> PyResult<()> {
    let index = c.t(2)?;
    let groups = index.get().partitions() / 16;
    if index.get().partitions() % 16 != 0 || groups == 0 {
        return Err(c.refuse(format!("index has {} partitions; they come in groups of 16", index.get().partitions())));
    }
    let valid = c.int(4, index.get().len() / groups)?;
    let per = c.int(3, 1)?;
    let need = valid * per;
    let mut out = c.access(c.t(0)?.get())?;
    let free: i64 = out.dims.iter().skip(1).map(|d| d.1).product();
    // What lies behind the gathered elements stays as it is.
    if free > need
        && let [_, (1, n)] = out.dims.as_mut_slice()
    {
        *n = need;
    }
    c.output(0)?;
    let op = Op::new(Opcode::IndirectCopy, Engine::Pool).with(f::IndirectCopy::num_valid_indices, valid);
    c.emit(op.input(c.input(1)?).input(c.input(2)?).output(Opnd::Access(out)))
}
