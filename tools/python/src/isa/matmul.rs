//! The tensor engine, and packed types.

use super::call::{Call, named};
use super::{CHIP, Kind::*, NAME, PS, Row, SB, d, p};
use crate::dtype::Dt;
use crate::op::{Access, Op, Opnd, Region, Role};
use crate::tensor::NkiTensor;
use birsim_engine::ir::opcodes::field as f;
use birsim_engine::ir::{Engine, Expr, MatmultPerfMode, MemsetMode, Opcode, Value};
use birsim_kernels::Dtype;
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::{Fp8Config, encode_f32};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

pub const ROWS: &[Row] = &[
    Row {
        name: "nc_matmul",
        doc: "dst (+)= stationary.T @ moving, contracted over the partitions.",
        since: 2,
        params: &[
            p("dst", Out(PS)),
            p("stationary", Src(SB)),
            p("moving", Src(SB)),
            d("is_stationary_onezero", Flag, "False"),
            d("is_moving_onezero", Flag, "False"),
            d("is_transpose", Flag, "False"),
            d("accumulate", Flag, "None"),
            d("tile_position", Ints, "()"),
            d("tile_size", Ints, "()"),
            d("perf_mode", Enum("matmul_perf_mode"), "matmul_perf_mode.none"),
            NAME,
        ],
        lower: matmul,
    },
    Row {
        name: "nc_transpose",
        doc: "dst[f, p] = data[p, f], on the tensor engine or on the vector engine.",
        since: 2,
        params: &[p("dst", Out(CHIP)), p("data", Src(CHIP)), d("engine", Enum("engine"), "engine.unknown"), NAME],
        lower: transpose,
    },
    Row {
        name: "nc_matmul_mx",
        doc: "dst (+)= stationary.T @ moving of packed operands with a scale for every 32 values.",
        since: 4,
        params: &[
            p("dst", Out(PS)),
            p("stationary", Src(SB)),
            p("moving", Src(SB)),
            p("stationary_scale", Src(SB)),
            p("moving_scale", Src(SB)),
            d("tile_position", Ints, "None"),
            d("tile_size", Ints, "None"),
            d("accumulate", Flag, "None"),
            NAME,
        ],
        lower: matmul_mx,
    },
    Row {
        name: "quantize_mx",
        doc: "Packs src into dst, with a scale for every group of 8 partitions and 4 elements.",
        since: 4,
        params: &[p("dst", Out(SB)), p("src", Src(SB)), p("dst_scale", Out(SB)), NAME],
        lower: |c| {
            let src = c.t(1)?;
            let (rows, free) = (src.get().partitions(), src.get().free());
            if rows % 32 != 0 || free % 4 != 0 {
                return Err(c.refuse(format!(
                    "src has the shape {}; partitions come in 32, elements in fours",
                    src.get().shape_text()
                )));
            }
            // Partitions of a scale tile that no group owns are zero, unless somebody else has written the tile.
            let scale = c.t(2)?;
            if !scale.get().storage.written.load(Ordering::Relaxed) {
                let whole = NkiTensor::whole(scale.get().storage.clone(), scale.get().dt);
                let fill = Op::new(Opcode::Memset, Engine::Dve)
                    .with(f::Memset::mode, named(MemsetMode::Const))
                    .with(f::Memset::constant, 0i64);
                c.emit(fill.output(c.write(&whole)?))?;
            }
            let op = Op::new(Opcode::QuantizeMx, Engine::Dve).input(c.input(1)?);
            c.emit(op.output(c.output(0)?).output(c.output(2)?))
        },
    },
];

/// Sides of the array.
const SIDE: i64 = 128;

/// Whether a product overwrites or adds; per element, by what was written before, when the author leaves it open.
fn accumulation(c: &Call<'_, '_>, k: usize, mut op: Op, field: usize) -> PyResult<Op> {
    let flag = if !c.has(k) {
        op.auto = true;
        4
    } else if c.flag(k)? {
        4
    } else {
        1
    };
    Ok(op.with(field, flag))
}

fn tiles(c: &Call<'_, '_>, mut op: Op, at: [usize; 2], fields: [usize; 2]) -> PyResult<Op> {
    let (position, size) = (c.ints(at[0])?, c.ints(at[1])?);
    if position.is_empty() != size.is_empty() {
        return Err(c.refuse("takes tile_position and tile_size together, or neither"));
    }
    for (list, field) in [(position, fields[0]), (size, fields[1])] {
        if !list.is_empty() {
            op = op.with(field, Value::Ints(list.into_iter().map(Expr::Const).collect()));
        }
    }
    Ok(op)
}

fn matmul(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, stationary, moving) = (c.t(0)?, c.t(1)?, c.t(2)?);
    let (dst, stationary, moving) = (dst.get(), stationary.get(), moving.get());
    if stationary.partitions() != moving.partitions() {
        return Err(c.refuse(format!(
            "stationary has {} partitions and moving {}: they are contracted",
            stationary.partitions(),
            moving.partitions()
        )));
    }
    const MODES: &[(&str, i64)] = &[
        ("none", 0),
        ("double_row", 1),
        ("double_row_gen3", 1),
        ("double_row_sw_interleave", 1),
        ("double_col", 0),
        ("double_pixel", 0),
    ];
    let double = c.member(9, MODES, 0)? == 1;
    let per = if double { 2 } else { 1 };
    let (m, n) = (stationary.free() / per, moving.free() / per);
    let most = match (c.generation(), dst.dt.bir()) {
        (4, Dtype::Bfloat16) => 8192,
        (4, _) => 4096,
        _ => 512,
    };
    let limits = [("stationary free size", m, SIDE), ("moving free size", n, most)];
    for (what, found, limit) in limits {
        if found > limit {
            return Err(c.refuse(format!("{what} {found} exceeds the maximum {limit} ({})", c.target())));
        }
    }
    let transposes = c.flag(5)?;
    let (rows, columns) = (m, n);
    if dst.partitions() != rows || dst.free() != columns {
        return Err(c.refuse(format!(
            "dst has the shape {}; the product has {rows} partitions of {columns} elements",
            dst.shape_text()
        )));
    }
    let op = Op::new(Opcode::Matmult, Engine::Pe)
        .with(f::Matmult::is_weight_onezero, c.flag(3)?)
        .with(f::Matmult::is_fmap_onezero, c.flag(4)?)
        .with(f::Matmult::perf_mode, named(if double { MatmultPerfMode::DoubleRow } else { MatmultPerfMode::None }));
    let op = tiles(c, op, [7, 8], [f::Matmult::tile_position, f::Matmult::tile_size])?;
    let op = accumulation(c, 6, op, f::Matmult::accumulation_flag)?;
    // The flag transposes operand 0: the stationary one is the data, the moving one the identity.
    let op = match transposes {
        true => op.with(f::Matmult::is_transpose, true).input(c.input(1)?).input(c.input(2)?),
        false => op.input(c.input(2)?).input(c.input(1)?),
    };
    c.emit(op.output(c.output(0)?))
}

fn transpose(c: &mut Call<'_, '_>) -> PyResult<()> {
    let (dst, data) = (c.t(0)?, c.t(1)?);
    let (dst, data) = (dst.get(), data.get());
    let chosen = c.engine(2, &[Engine::Pe, Engine::Dve])?;
    let engine = chosen.unwrap_or(if dst.storage.region == Region::Psum { Engine::Pe } else { Engine::Dve });
    let (rows, columns) = (data.partitions(), data.free());
    if dst.partitions() != columns || dst.free() != rows {
        return Err(c.refuse(format!(
            "dst has the shape {}; {} turned has {columns} partitions of {rows} elements",
            dst.shape_text(),
            data.shape_text()
        )));
    }
    let limit = if engine == Engine::Pe { SIDE } else { 32 };
    if rows > limit || columns > limit {
        let word = if engine == Engine::Pe { "tensor" } else { "vector" };
        return Err(c.refuse(format!(
            "data has the shape {}; the {word} engine transposes at most ({limit}, {limit}) ({})",
            data.shape_text(),
            c.target()
        )));
    }
    if engine == Engine::Dve {
        let op = Op::new(Opcode::StreamTranspose, Engine::Dve).input(c.input(1)?);
        return c.emit(op.output(c.output(0)?));
    }
    if data.storage.region == Region::Psum {
        return Err(c.refuse(format!("data lies in psum, the tensor engine reads sbuf ({})", c.target())));
    }
    let identity = identity(c, data.dt, rows)?;
    let op = Op::new(Opcode::Matmult, Engine::Pe)
        .with(f::Matmult::is_transpose, true)
        .with(f::Matmult::accumulation_flag, 1i64);
    c.emit(op.input(c.input(1)?).input(identity).output(c.output(0)?))
}

/// The leading square of an identity matrix, made once for each type.
fn identity(c: &Call<'_, '_>, dt: Dt, rows: i64) -> PyResult<Opnd> {
    let loc = match c.session.identity(c.core, dt.bir()) {
        Some(storage) => storage.loc,
        None => {
            let shape = SmallVec::from_slice(&[SIDE, SIDE]);
            let made = c.session.declare(c.core, "identity", shape, dt.bir(), Region::Sbuf, Role::Internal);
            let whole = NkiTensor::whole(made.clone(), dt);
            let mut bytes = [0u8; 8];
            if !dt.is_integer() && !dt.bir().is_packed() {
                let kept = c.session.stored(dt.bir());
                encode_f32(kept, Fp8Config::DEFAULT, &[0.0], &mut bytes[..kept.size()]);
            }
            let fill = Op::new(Opcode::Memset, Engine::Dve)
                .with(f::Memset::mode, named(MemsetMode::Const))
                .with(f::Memset::constant, i64::from_le_bytes(bytes));
            c.emit(fill.output(c.read(&whole)?))?;
            // Keeps the zeros where partition and element differ, puts a one where they are equal.
            let ones = Op::new(Opcode::TensorScalarAffineSelect, Engine::Pool)
                .with(f::TensorScalarAffineSelect::base, 0i64)
                .with(f::TensorScalarAffineSelect::pattern, Value::Pairs(vec![(-1, SIDE)]))
                .with(f::TensorScalarAffineSelect::channel_multiplier, 1i64)
                .with(f::TensorScalarAffineSelect::compare_op, named(AluOp::NotEqual))
                .with(f::TensorScalarAffineSelect::fill_value, 1.0);
            c.emit(ones.input(c.read(&whole)?).output(c.read(&whole)?))?;
            let loc = made.loc;
            c.session.keep_identity(c.core, dt.bir(), made);
            loc
        }
    };
    let dims = [(SIDE, rows), (1, rows)].into_iter().collect();
    Ok(Opnd::Access(Access { loc, dtype: c.session.stored(dt.bir()), offset: 0, dims, dynamic: None }))
}

fn matmul_mx(c: &mut Call<'_, '_>) -> PyResult<()> {
    for k in [1, 2] {
        let t = c.t(k)?;
        if !t.get().dt.bir().is_packed() {
            let name = c.row.params[k].name;
            return Err(
                c.refuse(format!("{name} has the type {}; packed types (_x4) are multiplied", t.get().dt.name()))
            );
        }
    }
    let op = Op::new(Opcode::MatmultMx, Engine::Pe);
    let op = tiles(c, op, [5, 6], [f::MatmultMx::tile_position, f::MatmultMx::tile_size])?;
    let op = accumulation(c, 7, op, f::MatmultMx::accumulation_flag)?;
    let op = op.input(c.input(2)?).input(c.input(1)?).input(c.input(4)?).input(c.input(3)?);
    c.emit(op.output(c.output(0)?))
}
