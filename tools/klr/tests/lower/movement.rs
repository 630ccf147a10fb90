//! Copies, DMA, fills, selects, gathers, random numbers, printing.

use crate::build::*;
use birsim_klr::ast::*;

fn data(offset: i64, step: i64, num: u64, channel_multiplier: i64) -> DataPattern {
    DataPattern { offset, pattern: vec![ApPair { step, num, offset: 0 }], channel_multiplier }
}

/// A reference whose access is completed by `fill`.
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

#[test]
fn kind_05_nc_affine_select() {
    let op = NcAffineSelect {
        dst: f("d"),
        pred: data(2, -1, 8, 3),
        on_true_tile: f("a"),
        on_false_value: Immediate::Int(-4),
        dtype: None,
        cmp_op: AluOp::IsGe,
    };
    assert_eq!(
        one(Operator::NcAffineSelect(Box::new(op))),
        "TensorScalarAffineSelect Pool (a[8:32,1:8]) -> (d[8:32,1:8]) base=2 pattern=[(-1, 8)] channel_multiplier=3 \
         compare_op=is_ge fill_value=-4.0"
    );
}

#[test]
fn kind_09_nc_copy() {
    let p = NcCopy { dst: f("d"), src: f("a"), dtype: None, engine: Engine::Act };
    assert_eq!(one(Operator::NcCopy(Box::new(p.clone()))), "TensorCopy Activation (a[8:32,1:8]) -> (d[8:32,1:8])");

    let offset = ScalarOffset::Acc(index(sb("o", Dtype::Uint32, &[1, 1])));
    let moving = |n: &str| {
        with(f(n), |p| {
            p.scalar_offset = Some(offset.clone());
            p.indirect_dim = 1;
        })
    };
    let src = NcCopy { src: moving("a"), ..p.clone() };
    assert_eq!(
        one(Operator::NcCopy(Box::new(src))),
        "TensorCopyDynamicSrc Activation (a[8:32,1:8] o[1:1,1:1]) -> (d[8:32,1:8]) scale=1"
    );
    let dst = NcCopy { dst: with(moving("d"), |p| p.indirect_dim = 0), ..p.clone() };
    assert_eq!(
        one(Operator::NcCopy(Box::new(dst))),
        "TensorCopyDynamicDst Activation (a[8:32,1:8] o[1:1,1:1]) -> (d[8:32,1:8]) scale=8"
    );
    let both = NcCopy { src: moving("a"), dst: moving("d"), ..p.clone() };
    assert_eq!(
        refused(Operator::NcCopy(Box::new(both))),
        "K004 Only one of src and dst can have dynamic access in tensor_copy."
    );
    let vector = with(f("a"), |p| p.vector_offset = Some(index(sb("o", Dtype::Uint32, &[32, 1]))));
    assert!(refused(Operator::NcCopy(Box::new(NcCopy { src: vector, ..p.clone() }))).contains("not vector_offset"));
    let missing = with(f("a"), |p| p.scalar_offset = Some(ScalarOffset::Reg("r9".into())));
    assert_eq!(
        refused(Operator::NcCopy(Box::new(NcCopy { src: missing, ..p }))),
        "K005 Cannot find register: r9 for scalar offset"
    );
}

#[test]
fn kind_10_copy_predicated() {
    let op = CopyPredicated { dst: f("d"), src: f("a"), predicate: f("p"), dtype: None, reverse_pred: true };
    assert_eq!(
        one(Operator::CopyPredicated(Box::new(op))),
        "CopyPredicated DVE (p[8:32,1:8] a[8:32,1:8]) -> (d[8:32,1:8]) reverse_pred=true"
    );
}

fn dma() -> NcDmaCopy {
    NcDmaCopy {
        dst: f("d"),
        src: hbm("a", Dtype::Float32, &[32, 8]),
        compute_op: DgeComputeOp::None,
        oob_mode: DmaBounds::Error,
        dge_mode: 0,
        unique_indices: false,
        priority: Some(3),
        engine: Engine::Unassigned,
    }
}

#[test]
fn kind_12_nc_dma_copy() {
    assert_eq!(
        one(Operator::NcDmaCopy(Box::new(dma()))),
        "DMACopy DMA (a[8:32,1:8]) -> (d[8:32,1:8]) dge_type=Unassigned mode=Copy oob_is_err=true"
    );
    let hw = NcDmaCopy { dge_mode: 2, engine: Engine::Sp, oob_mode: DmaBounds::Skip, ..dma() };
    assert_eq!(
        one(Operator::NcDmaCopy(Box::new(hw))),
        "DMACopy SP (a[8:32,1:8]) -> (d[8:32,1:8]) dge_type=HWDGE mode=Copy"
    );
    let add = NcDmaCopy { compute_op: DgeComputeOp::Add, unique_indices: true, ..dma() };
    assert!(one(Operator::NcDmaCopy(Box::new(add))).ends_with("mode=Copy oob_is_err=true cce_op=add"));
    let unknown = NcDmaCopy { dge_mode: 4, ..dma() };
    assert_eq!(refused(Operator::NcDmaCopy(Box::new(unknown))), "K004 unknown descriptor generation mode");
}

#[test]
fn kind_12_gathers_and_scatters() {
    let idx = || index(sb("i", Dtype::Int32, &[32, 1]));
    let table = with(hbm("t", Dtype::Float32, &[200, 8]), |p| {
        p.pattern[0].num = 32;
        p.vector_offset = Some(idx());
    });
    assert_eq!(
        one(Operator::NcDmaCopy(Box::new(NcDmaCopy { src: table.clone(), ..dma() }))),
        "DMACopy DMA (t[8:32,1:8] dynamic Some(IndirectArg { arg_id: 1 })) -> (d[8:32,1:8]) by (i[1:32,1:1]) \
         dge_type=Unassigned mode=Copy oob_is_err=true"
    );
    let both = NcDmaCopy { src: table.clone(), dst: table.clone(), ..dma() };
    assert_eq!(
        refused(Operator::NcDmaCopy(Box::new(both))),
        "K004 Only one of the src and dst can contain dynamic access."
    );
    let none = NcDmaCopy { src: table.clone(), dge_mode: 3, ..dma() };
    assert!(refused(Operator::NcDmaCopy(Box::new(none))).starts_with("K004 DGE must be enabled when dynamic src"));
    let second = NcDmaCopy { src: with(table.clone(), |p| p.indirect_dim = 1), ..dma() };
    assert!(refused(Operator::NcDmaCopy(Box::new(second))).contains("only supported indirectDim is 0"));

    let scatter = NcDmaCopy { src: f("a"), dst: table.clone(), compute_op: DgeComputeOp::Add, ..dma() };
    assert_eq!(
        one(Operator::NcDmaCopy(Box::new(scatter.clone()))),
        "GenericIndirectSave DMA (a[8:32,1:8] i[1:32,1:1]) -> (t[8:32,1:8]) indirect_dims=[W] op=add"
    );
    // A table with fewer rows than indices.
    let small = with(hbm("t", Dtype::Float32, &[10, 8]), |p| {
        p.pattern[0].num = 32;
        p.vector_offset = Some(idx());
    });
    let line = one(Operator::NcDmaCopy(Box::new(NcDmaCopy { dst: small, ..scatter.clone() })));
    assert!(line.contains("-> (t[8:10,1:8])"), "{line}");
    let source = NcDmaCopy { src: table, ..scatter };
    assert!(refused(Operator::NcDmaCopy(Box::new(source))).contains("dynamic access in src is not supported"));
}

#[test]
fn kind_12_scalar_offsets() {
    let loaded = with(hbm("t", Dtype::Float32, &[200, 8]), |p| {
        p.pattern[0].num = 32;
        p.scalar_offset = Some(ScalarOffset::Acc(index(sb("i", Dtype::Int32, &[1, 1]))));
    });
    let list = all(Operator::NcDmaCopy(Box::new(NcDmaCopy { src: loaded, ..dma() })));
    let lines: Vec<String> = list.iter().map(text).collect();
    assert_eq!(lines[0], "TensorLoad ALL (i[1:1,1:1]) -> (%COMPILER-GENERATED-offset-2)");
    assert!(lines[1].contains(r#"terms: [(Register("COMPILER-GENERATED-offset-2"), 8)], c: 0"#), "{}", lines[1]);
}

#[test]
fn kind_13_dma_transpose() {
    let p = DmaTranspose {
        dst: sb("d", Dtype::Float32, &[16, 1, 1, 32]),
        src: hbm("a", Dtype::Float32, &[32, 1, 1, 16]),
        axes: TransposeOps::XZYW,
        dtype: None,
        dge_mode: 0,
        oob_mode: DmaBounds::Error,
        priority: None,
    };
    assert_eq!(
        one(Operator::DmaTranspose(Box::new(p.clone()))),
        "DMACopy Pool (a[16:32,16:1,16:1,1:16]) -> (d[32:16,32:1,32:1,1:32]) dge_type=Unassigned mode=Transpose \
         oob_is_err=true transpose_op=XZYW"
    );
    let flat = DmaTranspose { src: hbm("a", Dtype::Float32, &[32, 16]), ..p.clone() };
    assert!(refused(Operator::DmaTranspose(Box::new(flat))).contains("exactly four pairs"));
    let other = DmaTranspose { axes: TransposeOps::WXZY, ..p };
    assert!(refused(Operator::DmaTranspose(Box::new(other))).starts_with("K004 dma_transpose"));
}

#[test]
fn kind_14_dropout() {
    let op = Dropout {
        dst: f("d"),
        src: f("a"),
        threshold_type: DropoutThresholdType::KeepRate,
        threshold: float(0.75),
        dtype: None,
    };
    assert_eq!(
        one(Operator::Dropout(Box::new(op))),
        "Dropout DVE (a[8:32,1:8] float32 Float(0.75)) -> (d[8:32,1:8]) is_keep_threshold=true"
    );
}

#[test]
fn kind_16_iota() {
    let op = Iota { dst: sb("d", Dtype::Int32, &[32, 8]), pattern: data(5, 2, 8, 64), dtype: None };
    assert_eq!(
        one(Operator::Iota(Box::new(op))),
        "Iota Pool () -> (d[8:32,1:8]) base=5 pattern=[(2, 8)] channel_multiplier=64"
    );
}

#[test]
fn kind_20_nc_local_gather() {
    let p = NcLocalGather {
        dst: f("d"),
        src: f("a"),
        index: sb("i", Dtype::Uint16, &[32, 4]),
        num_elem_per_idx: Immediate::Int(2),
        num_valid_indicies: None,
    };
    assert_eq!(
        one(Operator::NcLocalGather(Box::new(p.clone()))),
        "IndirectCopy Pool (a[8:32,1:8] i[4:32,1:4]) -> (d[8:32,1:8]) num_valid_indices=4"
    );
    let float = NcLocalGather { num_valid_indicies: Some(Immediate::Float(1.0)), ..p };
    assert_eq!(
        refused(Operator::NcLocalGather(Box::new(float))),
        "K004 num_valid_indices for local gather must be an integer"
    );
}

#[test]
fn kind_26_mem_set() {
    let set = |dtype: Dtype, value: Immediate| {
        let dst = sb("d", dtype, &[32, 8]);
        let line = one(Operator::MemSet(Box::new(MemSet { dst, value, dtype, engine: Engine::Pool })));
        let bits = line.strip_prefix("Memset Pool () -> (d[8:32,1:8]) mode=Const constant=").expect(&line);
        bits.parse::<i64>().expect("a number")
    };
    assert_eq!(set(Dtype::Float32, Immediate::Float(1.5)), 0x3fc0_0000);
    assert_eq!(set(Dtype::Bfloat16, Immediate::Int(1)), 0x3f80);
    assert_eq!(set(Dtype::Uint8, Immediate::Int(-1)), 0xff);
    assert_eq!(set(Dtype::Int64, Immediate::Int(-1)), -1);
    assert_eq!(set(Dtype::Int32, Immediate::Float(2.5)), 2);
    assert_eq!(set(Dtype::Uint8, Immediate::Float(300.0)), 255);
}

#[test]
fn kind_28_nc_range_select() {
    let op = NcRangeSelect {
        dst: f("d"),
        reduce_command: AccumCmd::Zero,
        reduce_res: Some(col("r")),
        reduce_op: None,
        comp_op0: AluOp::IsGe,
        comp_op1: AluOp::IsLt,
        bound0: col("lo"),
        bound1: col("hi"),
        range_start: Immediate::Float(4.0),
        on_true_tile: f("a"),
        on_false_value: Immediate::Float(f32::MIN),
        dtype: None,
    };
    assert_eq!(
        one(Operator::NcRangeSelect(Box::new(op))),
        "RangeSelect DVE (a[8:32,1:8] lo[1:32,1:1] hi[1:32,1:1]) -> (d[8:32,1:8] r[1:32,1:1]) base=4 \
         compare_op0=is_ge compare_op1=is_lt reduce_op=max reduce_cmd=Zero fill_value=-3.4028234663852886e38"
    );
}

#[test]
fn kind_32_shuffle() {
    let mask: Vec<Immediate> = (0..32).rev().map(Immediate::Int).collect();
    let line = one(Operator::Shuffle(Box::new(Shuffle { dst: f("d"), src: f("a"), shuffle_mask: mask, dtype: None })));
    assert!(line.starts_with("StreamShuffle DVE (a[8:32,1:8]) -> (d[8:32,1:8]) mask=[31, 30,"), "{line}");
    let bad = Shuffle { dst: f("d"), src: f("a"), shuffle_mask: vec![Immediate::Float(0.0)], dtype: None };
    assert!(refused(Operator::Shuffle(Box::new(bad))).contains("must be an integer"));
}

#[test]
fn kind_40_select_reduce() {
    let op = SelectReduce {
        dst: f("d"),
        predicate: f("p"),
        on_true: f("a"),
        on_false: float(-1.0),
        reduce_res: Some(col("r")),
        reduce_cmd: AccumCmd::ZeroAccumulate,
        reduce_op: AluOp::Max,
        reverse_pred: false,
        dtype: None,
    };
    assert_eq!(
        one(Operator::SelectReduce(Box::new(op))),
        "CopyPredicated DVE (p[8:32,1:8] a[8:32,1:8] float32 Float(-1.0)) -> (d[8:32,1:8] r[1:32,1:1]) \
         reduce_op=max accumulator_cmd=ZeroAccumulate"
    );
}

#[test]
fn kind_41_sequence_bounds() {
    let op = SequenceBounds { dst: f("d"), segment_ids: f("a"), dtype: None };
    assert_eq!(one(Operator::SequenceBounds(Box::new(op))), "GetSequenceBounds Pool (a[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_51_dma_compute() {
    let p = DmaCompute {
        dst: f("d"),
        srcs: vec![f("a"), f("b")],
        scales: vec![Immediate::Float(2.0), Immediate::Float(0.5)],
        reduce_op: AluOp::Add,
    };
    assert_eq!(
        one(Operator::DmaCompute(Box::new(p.clone()))),
        "DMACopy DMA (a[8:32,1:8] b[8:32,1:8]) -> (d[8:32,1:8]) mode=CCE constants=[2.0, 0.5] cce_op=add"
    );
    let max = DmaCompute { reduce_op: AluOp::Max, ..p.clone() };
    assert!(refused(Operator::DmaCompute(Box::new(max))).contains("only supports nl.add"));
    let few = DmaCompute { scales: vec![Immediate::Float(2.0)], ..p };
    assert!(refused(Operator::DmaCompute(Box::new(few))).starts_with("K005"));
}

#[test]
fn kind_65_rng() {
    let op = Rng { dst: sb("d", Dtype::Uint32, &[32, 8]), engine: Engine::Pool };
    assert_eq!(one(Operator::Rng(Box::new(op))), "Memset Pool () -> (d[8:32,1:8]) mode=Random constant=0");
}

#[test]
fn kind_66_rand2() {
    let op = Rand2 { dst: f("d"), min: float(-1.0), max: tile(col("m")) };
    assert_eq!(one(Operator::Rand2(Box::new(op))), "Rand2 DVE (float32 Float(-1.0) m[1:32,1:1]) -> (d[8:32,1:8])");
}

#[test]
fn kind_67_rand_get_state() {
    let op = RandGetState { dst: sb("d", Dtype::Uint32, &[32, 6]), engine: Engine::Pool };
    assert_eq!(one(Operator::RandGetState(Box::new(op))), "RandGetState Pool () -> (d[6:32,1:6])");
}

#[test]
fn kind_68_set_rng_seed() {
    let op = SetRngSeed { src: sb("a", Dtype::Uint32, &[128, 6]) };
    assert_eq!(one(Operator::SetRngSeed(Box::new(op))), "SetRandState Unassigned (a[6:128,1:6]) -> () rng_engine=Pool");
    // One word makes a state of ones around it.
    let op = SetRngSeed { src: sb("a", Dtype::Int32, &[1, 1]) };
    let lines: Vec<String> = all(Operator::SetRngSeed(Box::new(op))).iter().map(text).collect();
    let state = "COMPILER-GENERATED-rng-state-1";
    assert_eq!(
        lines,
        [
            format!("Memset DVE () -> ({state}[6:128,1:6]) mode=Const constant=1"),
            format!("DMACopy DMA (a[0:128,1:1]) -> ({state}[6:128,1:1]) mode=Copy"),
            format!("SetRandState Unassigned ({state}[6:128,1:6]) -> () rng_engine=Pool"),
        ]
    );
}

#[test]
fn kind_69_rand_set_state() {
    let op = RandSetState { src: sb("a", Dtype::Uint32, &[32, 24]), engine: Engine::Dve };
    assert_eq!(one(Operator::RandSetState(Box::new(op))), "RandSetState DVE (a[24:32,1:24]) -> ()");
}

#[test]
fn kind_72_nc_n_gather() {
    let op = NcNGather { dst: f("d"), data: f("a"), indices: sb("i", Dtype::Int32, &[32, 8]), dtype: None };
    assert_eq!(one(Operator::NcNGather(Box::new(op))), "Gather Pool (a[8:32,1:8] i[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_73_nonzero_with_count() {
    let p = NonzeroWithCount {
        dst: sb("d", Dtype::Int32, &[32, 9]),
        src: f("a"),
        index_offset: Immediate::Int(2),
        padding_val: Immediate::Int(-1),
    };
    assert_eq!(
        one(Operator::NonzeroWithCount(Box::new(p.clone()))),
        "NonzeroWithCount Pool (a[8:32,1:8] int32 Int(2) int32 Int(-1)) -> (d[9:32,1:9])"
    );
    let float = NonzeroWithCount { padding_val: Immediate::Float(0.0), ..p };
    assert_eq!(refused(Operator::NonzeroWithCount(Box::new(float))), "K004 paddingVal must be int32");
}

#[test]
fn kind_74_device_print() {
    let op = DevicePrint { src: f("a"), print_prefix: "here".into(), buffer: PrintOutputBuffer::Stderr };
    assert_eq!(
        one(Operator::DevicePrint(Box::new(op))),
        "DevicePrint Pool (a[8:32,1:8]) -> () prefix=here output_buffer=stderr"
    );
}

#[test]
fn device_dump_prints_what_is_not_32_bits_wide() {
    let wide = Operator::NcCopy(Box::new(NcCopy { dst: f("d"), src: f("a"), dtype: None, engine: Engine::Dve }));
    let half = sb("h", Dtype::Bfloat16, &[32, 8]);
    let narrow = Operator::NcCopy(Box::new(NcCopy { dst: half, src: f("a"), dtype: None, engine: Engine::Dve }));
    let program = Program::Lnc(kernel(vec![block("main.1", vec![stmt("w", wide), stmt("n", narrow)])]));
    let options = birsim_klr::LowerOptions { device_dump: true, ..Default::default() };
    let modules = birsim_klr::lower(&program, &options).expect("lowers").modules;
    let names: Vec<&str> = modules[0].functions[0].blocks[0].instructions.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["w", "n", "COMPILER-GENERATED-COREID-0-DevicePrint-3"]);
}

#[test]
fn device_dump_asks_for_the_width_of_the_tensor_not_of_the_access() {
    let taken_for = |r: TensorRef, dtype| match r {
        TensorRef::Abstract(Access::BirPattern(mut p)) => {
            p.dtype_override = Some(dtype);
            for pair in &mut p.pattern {
                pair.num = 2;
            }
            access(p)
        }
        other => other,
    };
    let copy = |dst| Operator::NcCopy(Box::new(NcCopy { dst, src: f("a"), dtype: None, engine: Engine::Dve }));
    let wide = copy(taken_for(f("w"), Dtype::Bfloat16));
    let narrow = copy(taken_for(sb("n", Dtype::Int16, &[32, 8]), Dtype::Float32));
    let packed = copy(sb("p", Dtype::Float8E5m2X4, &[32, 8]));
    let mut k = kernel(vec![block("main.1", vec![stmt("w", wide), stmt("n", narrow), stmt("p", packed)])]);
    k.bodies.push(k.bodies[0].clone());
    let options = birsim_klr::LowerOptions { device_dump: true, ..Default::default() };
    let modules = run_with(k, &options).expect("lowers").modules;
    for (core, module) in modules.iter().enumerate() {
        let list = &module.functions[0].blocks[0].instructions;
        let names: Vec<&str> = list.iter().map(|i| i.name.as_str()).collect();
        let print = format!("COMPILER-GENERATED-COREID-{core}-DevicePrint-3");
        assert_eq!(names, ["w", "n", &print, "p"]);
        // What is printed is what was written.
        assert_eq!(text(&list[2]), "DevicePrint Pool (n[8:2,1:2]) -> () prefix=n");
        assert_eq!(list[2].ins[0].dtype(), birsim_kernels::Dtype::Float32);
    }
}
