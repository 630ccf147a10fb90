//! Lowered kernels on the machine: what the lowering decides must show in the results.

#[path = "../../tools/klr/tests/lower/build.rs"]
#[allow(dead_code, reason = "the tests of the lowering use the rest")]
mod build;

use birsim_engine::Simulator;
use birsim_klr::LowerOptions;
use birsim_klr::ast::*;
use build::*;

fn bytes<T: std::marker::Copy>(values: &[T], encode: impl Fn(T) -> Vec<u8>) -> Vec<u8> {
    values.iter().flat_map(|v| encode(*v)).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    bytes(values, |v| v.to_le_bytes().to_vec())
}

/// Runs a kernel of one core and reads a float32 output.
fn execute(k: LncKernel, inputs: &[(&str, Vec<u8>)], output: &str) -> Vec<f32> {
    let accept = LowerOptions { accept_abstract: true, ..LowerOptions::default() };
    let modules = run_with(k, &accept).unwrap_or_else(|e| panic!("{e:?}")).modules;
    let mut sim = Simulator::builder().threads(1).build().expect("a machine");
    sim.load(&modules[0]).unwrap_or_else(|e| panic!("{e}"));
    for (name, data) in inputs {
        sim.bind(name, data).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    sim.run().unwrap_or_else(|e| panic!("{e}"));
    let out = sim.output(output).expect("the output");
    out.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn dma(name: &str, dst: TensorRef, src: TensorRef) -> Stmt {
    let p = NcDmaCopy {
        dst,
        src,
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 0,
        unique_indices: false,
        priority: None,
        engine: Engine::Unassigned,
    };
    stmt(name, Operator::NcDmaCopy(Box::new(p)))
}

fn copy(name: &str, dst: TensorRef, src: TensorRef) -> Stmt {
    stmt(name, Operator::NcCopy(Box::new(NcCopy { dst, src, dtype: None, engine: Engine::Dve })))
}

fn with(r: TensorRef, fill: impl FnOnce(&mut BirAccessPattern)) -> TensorRef {
    match r {
        TensorRef::Abstract(Access::BirPattern(mut p)) => {
            fill(&mut p);
            access(p)
        }
        other => other,
    }
}

fn index(r: TensorRef) -> Box<Access> {
    match r {
        TensorRef::Abstract(a) => Box::new(a),
        other => panic!("{other:?}"),
    }
}

const F: Dtype = Dtype::Float32;

fn list(dtype: Dtype, tensors: &[(&str, [u64; 2])]) -> Vec<TensorName> {
    tensors.iter().map(|(n, d)| tensor(n, Memory::Hbm, dtype, d)).collect()
}

#[test]
fn a_scatter_adds_repeated_indices_in_place() {
    let table = with(hbm("t", F, &[5, 8]), |p| {
        p.pattern[0].num = 32;
        p.vector_offset = Some(index(sb("i", Dtype::Int32, &[32, 1])));
    });
    let mut scatter = dma("c", table, f("v"));
    if let Operator::NcDmaCopy(p) = &mut scatter.op {
        p.compute_op = DgeComputeOp::Add;
    }
    let load = dma("a", f("v"), hbm("x", F, &[32, 8]));
    let load_index = dma("b", sb("i", Dtype::Int32, &[32, 1]), hbm("n", Dtype::Int32, &[32, 1]));
    let mut k = kernel(vec![block("main.1", vec![load, load_index, scatter])]);
    k.inputs = list(F, &[("x", [32, 8])]);
    k.inputs.extend(list(Dtype::Int32, &[("n", [32, 1])]));
    k.inputs.extend(list(F, &[("t", [5, 8])]));
    k.outputs = list(F, &[("t", [5, 8])]);
    let x: Vec<f32> = (0..256).map(|n| (n % 7) as f32).collect();
    let n: Vec<i32> = (0..32).map(|p| p * p % 5).collect();
    let mut want = vec![100.0; 40];
    for (p, row) in n.iter().enumerate() {
        for c in 0..8 {
            want[*row as usize * 8 + c] += x[p * 8 + c];
        }
    }
    let inputs = [
        ("x", floats(&x)),
        ("n", bytes(&n, |v| v.to_le_bytes().to_vec())),
        ("t.must_alias_input", floats(&[100.0; 40])),
    ];
    assert_eq!(execute(k, &inputs, "t"), want);
}

#[test]
fn views_of_one_address_see_each_other() {
    // The right half of every row, through a tensor of its own.
    let mut half = tensor("half", Memory::Sbuf, F, &[32, 4]);
    half.address = Address { name: "t".into(), par_offset: Some(0), free_offset: Some(16), ..half.address };
    let mut whole = tensor("t", Memory::Sbuf, F, &[32, 8]);
    whole.address.par_offset = Some(0);
    whole.address.free_offset = Some(0);
    let fill = MemSet { dst: access(pattern(half)), value: Immediate::Float(-1.0), dtype: F, engine: Engine::Dve };
    let t = || access(pattern(whole.clone()));
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            dma("a", t(), hbm("x", F, &[32, 8])),
            stmt("b", Operator::MemSet(Box::new(fill))),
            dma("c", hbm("y", F, &[32, 8]), t()),
        ],
    )]);
    k.inputs = list(F, &[("x", [32, 8])]);
    k.outputs = list(F, &[("y", [32, 8])]);
    let x: Vec<f32> = (0..256).map(|n| n as f32).collect();
    let want: Vec<f32> = x.iter().enumerate().map(|(n, v)| if n % 8 < 4 { *v } else { -1.0 }).collect();
    assert_eq!(execute(k, &[("x", floats(&x))], "y"), want);
}

#[test]
fn accumulation_groups_restart_in_every_trip_of_a_register_loop() {
    // Three trips; in each, two matmuls of a 32 x 16 by a 32 x 8 matrix of ones: 64 everywhere, not 192.
    let matmul = |name: &str| {
        stmt(
            name,
            Operator::NcMatMul(Box::new(NcMatMul {
                dst: ps("p", &[16, 8]),
                stationary: sb("w", F, &[32, 16]),
                moving: f("v"),
                is_stationary_one_zero: false,
                is_moving_zero: false,
                is_transpose: false,
                tile_position: vec![],
                tile_size: vec![],
                perf_mode: MatmulPerfMode::None,
            })),
        )
    };
    let ones = |name: &str, dst: TensorRef| {
        let p = MemSet { dst, value: Immediate::Int(1), dtype: F, engine: Engine::Pool };
        stmt(name, Operator::MemSet(Box::new(p)))
    };
    let set = |name: &str, reg: &str, imm: i32| {
        stmt(name, Operator::RegisterMove(Box::new(RegisterMove { dst: reg.into(), imm })))
    };
    let test = |name: &str| {
        stmt(
            name,
            Operator::CmpBranch(Box::new(CmpBranch {
                reg1: "i".into(),
                reg2: "n".into(),
                imm: 0,
                op: BrCmpOp::LtReg,
                true_label: "loop".into(),
                false_label: "end".into(),
            })),
        )
    };
    let next = RegisterAluOp { dst: "i".into(), src: "i".into(), imm: 1, op: AluOp::Add };
    let mut k = kernel(vec![
        block(
            "main.1",
            vec![ones("a", sb("w", F, &[32, 16])), ones("b", f("v")), set("c", "i", 0), set("d", "n", 3), test("t0")],
        ),
        block("loop", vec![matmul("m1"), matmul("m2"), stmt("s", Operator::RegisterAluOp(Box::new(next))), test("t1")]),
        block(
            "end",
            vec![
                copy("e", sb("r", F, &[16, 8]), ps("p", &[16, 8])),
                dma("g", hbm("y", F, &[16, 8]), sb("r", F, &[16, 8])),
            ],
        ),
    ]);
    k.outputs = list(F, &[("y", [16, 8])]);
    assert_eq!(execute(k, &[], "y"), vec![64.0; 128]);
}

#[test]
fn a_bfloat16_transpose_goes_through_the_identity_matrix() {
    let b = Dtype::Bfloat16;
    let p = || access(pattern(tensor("p", Memory::Psum, b, &[8, 32])));
    let t = Transpose { dst: p(), src: sb("t", b, &[32, 8]), dtype: None, engine: Engine::Dve };
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            dma("a", f("w"), hbm("x", F, &[32, 8])),
            copy("b", sb("t", b, &[32, 8]), f("w")),
            stmt("c", Operator::Transpose(Box::new(t))),
            copy("d", sb("s", F, &[8, 32]), p()),
            dma("e", hbm("y", F, &[8, 32]), sb("s", F, &[8, 32])),
        ],
    )]);
    k.inputs = list(F, &[("x", [32, 8])]);
    k.outputs = list(F, &[("y", [8, 32])]);
    let x: Vec<f32> = (0..256).map(|n| n as f32 - 100.0).collect();
    let want: Vec<f32> = (0..256).map(|n| x[n % 32 * 8 + n / 32]).collect();
    assert_eq!(execute(k, &[("x", floats(&x))], "y"), want);
}

#[test]
fn a_one_word_seed_is_taken() {
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            dma("a", sb("s", Dtype::Uint32, &[1, 1]), hbm("x", Dtype::Uint32, &[1, 1])),
            stmt("b", Operator::SetRngSeed(Box::new(SetRngSeed { src: sb("s", Dtype::Uint32, &[1, 1]) }))),
            stmt("c", Operator::Rng(Box::new(Rng { dst: sb("d", Dtype::Uint32, &[128, 2]), engine: Engine::Pool }))),
            dma("e", hbm("y", Dtype::Uint32, &[128, 2]), sb("d", Dtype::Uint32, &[128, 2])),
        ],
    )]);
    k.inputs = list(Dtype::Uint32, &[("x", [1, 1])]);
    k.outputs = list(Dtype::Uint32, &[("y", [128, 2])]);
    let draw = |seed: u32| {
        let out = execute(k.clone(), &[("x", seed.to_le_bytes().to_vec())], "y");
        out.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn a_gather_takes_the_rows_that_the_indices_name() {
    let table = with(hbm("t", F, &[5, 8]), |p| {
        p.pattern[0].num = 32;
        p.vector_offset = Some(index(sb("i", Dtype::Int32, &[32, 1])));
    });
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            dma("b", sb("i", Dtype::Int32, &[32, 1]), hbm("n", Dtype::Int32, &[32, 1])),
            dma("c", f("v"), table),
            dma("d", hbm("y", F, &[32, 8]), f("v")),
        ],
    )]);
    k.inputs = list(Dtype::Int32, &[("n", [32, 1])]);
    k.inputs.extend(list(F, &[("t", [5, 8])]));
    k.outputs = list(F, &[("y", [32, 8])]);
    let n: Vec<i32> = (0..32).map(|p| p * p % 5).collect();
    let t: Vec<f32> = (0..40).map(|n| n as f32).collect();
    let want: Vec<f32> = (0..256).map(|e| t[n[e / 8] as usize * 8 + e % 8]).collect();
    let inputs = [("n", bytes(&n, |v| v.to_le_bytes().to_vec())), ("t", floats(&t))];
    assert_eq!(execute(k, &inputs, "y"), want);
}

#[test]
fn scalar_offsets_move_copies() {
    let half = |n: &str| with(f(n), |p| p.pattern[1].num = 4);
    let by_register = with(half("t"), |p| {
        p.scalar_offset = Some(ScalarOffset::Reg("r".into()));
        p.indirect_dim = 1;
    });
    let by_tensor = with(half("u"), |p| {
        p.offset = 2;
        p.scalar_offset = Some(ScalarOffset::Acc(index(sb("o", Dtype::Uint32, &[1, 1]))));
        p.indirect_dim = 1;
    });
    let set = |dst: TensorRef, dtype: Dtype, n: i32| {
        Operator::MemSet(Box::new(MemSet { dst, value: Immediate::Int(n), dtype, engine: Engine::Dve }))
    };
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            dma("a", f("t"), hbm("x", F, &[32, 8])),
            stmt("b", Operator::RegisterMove(Box::new(RegisterMove { dst: "r".into(), imm: 3 }))),
            stmt("c", set(sb("o", Dtype::Uint32, &[1, 1]), Dtype::Uint32, 2)),
            stmt("d", set(f("u"), F, 0)),
            copy("e", half("u"), by_register),
            copy("g", by_tensor, half("t")),
            dma("h", hbm("y", F, &[32, 8]), f("u")),
        ],
    )]);
    k.inputs = list(F, &[("x", [32, 8])]);
    k.outputs = list(F, &[("y", [32, 8])]);
    let x: Vec<f32> = (0..256).map(|n| n as f32).collect();
    // Columns 0..4 hold columns 3..7 of the input, columns 4..8 its columns 0..4.
    let column = |c: usize| if c < 4 { c + 3 } else { c - 4 };
    let want: Vec<f32> = (0..256).map(|e| x[e / 8 * 8 + column(e % 8)]).collect();
    assert_eq!(execute(k, &[("x", floats(&x))], "y"), want);
}

/// Column p of the matrix w[k][p] = k + 2 p is a sum of 0..32 plus 64 p when the other operand is all ones.
#[test]
fn a_loaded_matrix_stays_in_the_pe_when_its_source_changes() {
    let fill = |name: &str, dst: TensorRef, n: i32| {
        let p = MemSet { dst, value: Immediate::Int(n), dtype: F, engine: Engine::Pool };
        stmt(name, Operator::MemSet(Box::new(p)))
    };
    let w = || sb("w", F, &[32, 4]);
    let pattern =
        DataPattern { offset: 0, pattern: vec![ApPair { step: 2, num: 4, offset: 0 }], channel_multiplier: 1 };
    let product = |name: &str, dst: &str| {
        stmt(name, Operator::MatMul(Box::new(MatMul { dst: ps(dst, &[4, 8]), moving: f("v") })))
    };
    let mut k = kernel(vec![block(
        "main.1",
        vec![
            stmt("a", Operator::Iota(Box::new(Iota { dst: w(), pattern, dtype: None }))),
            fill("b", f("v"), 1),
            stmt("c", Operator::LoadStationary(Box::new(LoadStationary { src: w(), is_transpose: false }))),
            fill("d", w(), 0),
            product("e", "p"),
            product("g", "p"),
            stmt("h", Operator::Copy(Box::new(Copy { dst: sb("r", F, &[4, 8]), src: ps("p", &[4, 8]), op_dim: None }))),
            dma("i", hbm("y", F, &[4, 8]), sb("r", F, &[4, 8])),
        ],
    )]);
    k.outputs = list(F, &[("y", [4, 8])]);
    // Two products with one destination add up.
    let want: Vec<f32> = (0..32).map(|n| 2.0 * (496 + 64 * (n / 8)) as f32).collect();
    assert_eq!(execute(k, &[], "y"), want);
}

#[test]
fn abstract_operators_compute() {
    let to = |n: &str, op: Operator| {
        let mut k = kernel(vec![block(
            "main.1",
            vec![dma("a", f("a"), hbm("x", F, &[32, 8])), stmt("b", op), dma("c", hbm("y", F, &[32, 8]), f(n))],
        )]);
        k.inputs = list(F, &[("x", [32, 8])]);
        k.outputs = list(F, &[("y", [32, 8])]);
        let x: Vec<f32> = (0..256).map(|n| n as f32 - 100.0).collect();
        execute(k, &[("x", floats(&x))], "y")
    };
    let want = |f: &dyn Fn(usize, usize, f32) -> f32| -> Vec<f32> {
        (0..256).map(|n| f(n / 8, n % 8, n as f32 - 100.0)).collect()
    };
    let relu = Activate {
        dst: f("d"),
        src: f("a"),
        accumulator_cmd: AccumCmd::Idle,
        activation_func: ActivationFunc::Relu,
        scale: Immediate::Float(2.0),
        bias: Immediate::Float(-3.0),
        imm: Immediate::Pointer,
    };
    assert_eq!(to("d", Operator::Activate(Box::new(relu))), want(&|_, _, x| (2.0 * x - 3.0).max(0.0)));
    let select = AffineSelect {
        dst: f("d"),
        src: f("a"),
        fill_mode: AffineSelectCmp::GreaterThanEq,
        fill_reg: 2,
        mask_pattern: DataPattern {
            offset: 0,
            pattern: vec![ApPair { step: -1, num: 8, offset: 0 }],
            channel_multiplier: 1,
        },
    };
    assert_eq!(to("d", Operator::AffineSelect(Box::new(select))), want(&|p, c, x| if p >= c { x } else { 0.0 }));
    let range = RangeSelect {
        dst: f("d"),
        src: f("a"),
        reduce_command: AccumCmd::Idle,
        reduce_op: AluOp::Max,
        base: 10.0,
        fill_value: -1.0,
        comp_op0: AluOp::IsGe,
        comp_op1: AluOp::IsLt,
        bound0: Immediate::Int(12),
        bound1: Immediate::Float(15.5),
    };
    let kept = |_: usize, c: usize, x: f32| if (2..6).contains(&c) { x } else { -1.0 };
    assert_eq!(to("d", Operator::RangeSelect(Box::new(range))), want(&kept));
    let three = ScalarTensorTensor {
        dst: f("d"),
        src0: f("a"),
        src1: f("a"),
        op0: AluOp::Subtract,
        op1: AluOp::Add,
        reverse_operands: TensorScalarReverseOps::First,
        imm0: Immediate::Float(5.0),
        accumulator_cmd: AccumCmd::Idle,
    };
    assert_eq!(to("d", Operator::ScalarTensorTensor(Box::new(three))), vec![5.0; 256]);
    let copy = DmaCopy {
        dst: f("d"),
        src: f("a"),
        compute_op: DgeComputeOp::None,
        dst_bounds_check: DmaBounds::Error,
        src_bounds_check: DmaBounds::Reg(1),
    };
    assert_eq!(to("d", Operator::DmaCopy(Box::new(copy))), want(&|_, _, x| x));
}
