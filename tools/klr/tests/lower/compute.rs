//! Arithmetic, activations, reductions, matmuls, searches.

use crate::build::*;
use birsim_klr::ast::*;

fn activate(scale: Operand, bias: Option<TensorRef>) -> NcActivate {
    NcActivate {
        dst: f("d"),
        src: f("a"),
        accumulator_cmd: AccumCmd::Idle,
        activation_func: ActivationFunc::Log,
        scale,
        bias,
        reduce_op: None,
        reduce_res: None,
        dtype: None,
    }
}

#[test]
fn kind_02_nc_activate() {
    assert_eq!(
        one(Operator::NcActivate(Box::new(activate(float(0.5), Some(col("b")))))),
        "Activation Activation (a[8:32,1:8] b[1:32,1:1] float32 Float(0.5) float32 Float(0.0)) -> (d[8:32,1:8]) \
         func=Ln scale=0.5 alpha=0.0 acc=Idle op0=bypass op1=bypass reduce_op=bypass"
    );
    assert_eq!(
        one(Operator::NcActivate(Box::new(activate(tile(col("s")), None)))),
        "Activation Activation (a[8:32,1:8] float32 Float(0.0) s[1:32,1:1] float32 Float(0.0)) -> (d[8:32,1:8]) \
         func=Ln scale=1.0 alpha=0.0 acc=Idle op0=bypass op1=bypass reduce_op=bypass"
    );
    let int = activate(Operand::Imm(Immediate::Int(1)), None);
    assert_eq!(refused(Operator::NcActivate(Box::new(int))), "K004 scale for activation must be a float32");
}

#[test]
fn kind_03_activation_reduce() {
    let p = NcActivate {
        accumulator_cmd: AccumCmd::ZeroAccumulate,
        reduce_op: Some(AluOp::Add),
        reduce_res: Some(col("r")),
        ..activate(float(1.0), None)
    };
    assert_eq!(
        one(Operator::ActivationReduce(Box::new(p.clone()))),
        "Activation Activation (a[8:32,1:8] float32 Float(0.0) float32 Float(1.0) float32 Float(0.0)) -> \
         (d[8:32,1:8] r[1:32,1:1]) func=Ln scale=1.0 alpha=0.0 acc=ZeroAccumulate op0=bypass op1=bypass reduce_op=add"
    );
    let max = NcActivate { reduce_op: Some(AluOp::Max), ..p.clone() };
    assert_eq!(
        refused(Operator::ActivationReduce(Box::new(max))),
        "K004 Accumulation is the only supported op on activation_reduce"
    );
    let load = NcActivate { accumulator_cmd: AccumCmd::LoadAccumulate, ..p };
    assert_eq!(refused(Operator::ActivationReduce(Box::new(load))), "K004 LoadAccumulate is not supported");
}

#[test]
fn kind_06_batch_norm_aggregate() {
    let op = BatchNormAggregate { dst: f("d"), src: f("a"), dtype: None };
    assert_eq!(one(Operator::BatchNormAggregate(Box::new(op))), "BNStatsAggregate DVE (a[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_07_batch_norm_stats() {
    let op = BatchNormStats { dst: f("d"), src: f("a"), dtype: None };
    assert_eq!(one(Operator::BatchNormStats(Box::new(op))), "BNStats DVE (a[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_15_find_index8() {
    let op = FindIndex8 { dst: sb("d", Dtype::Uint32, &[32, 8]), src: f("a"), vals: f("v"), dtype: None };
    assert_eq!(one(Operator::FindIndex8(Box::new(op))), "MaxIndex DVE (v[8:32,1:8] a[8:32,1:8]) -> (d[8:32,1:8])");
}

fn mat_mul(transpose: bool) -> NcMatMul {
    NcMatMul {
        dst: ps("d", &[16, 8]),
        stationary: sb("w", Dtype::Float32, &[32, 16]),
        moving: f("x"),
        is_stationary_one_zero: true,
        is_moving_zero: transpose,
        is_transpose: transpose,
        tile_position: vec![0, 32],
        tile_size: vec![32, 64],
        perf_mode: MatmulPerfMode::DoubleRow,
    }
}

#[test]
fn kind_22_nc_mat_mul() {
    assert_eq!(
        one(Operator::NcMatMul(Box::new(mat_mul(false)))),
        "Matmult PE (x[8:32,1:8] w[16:32,1:16]) -> (d[8:16,1:8]) accumulation_flag=3 is_weight_onezero=true \
         tile_size=[32, 64] tile_position=[0, 32] perf_mode=DoubleRow"
    );
    let odd = NcMatMul { tile_size: vec![32], ..mat_mul(false) };
    assert!(refused(Operator::NcMatMul(Box::new(odd))).starts_with("K005 tile position and size"));
    let interleaved = NcMatMul { perf_mode: MatmulPerfMode::DoubleRowSwInterleave, ..mat_mul(false) };
    assert!(one(Operator::NcMatMul(Box::new(interleaved))).ends_with("perf_mode=None"));
}

#[test]
fn kind_22_transposes_put_the_data_first() {
    // Data stationary, identity moving, as kernels write it.
    let data = sb("data", Dtype::Float32, &[96, 64]);
    let identity = sb("id", Dtype::Float32, &[96, 96]);
    let p = NcMatMul {
        dst: ps("d", &[64, 96]),
        stationary: data.clone(),
        moving: identity.clone(),
        is_stationary_one_zero: false,
        is_moving_zero: false,
        is_transpose: true,
        tile_position: vec![],
        tile_size: vec![],
        perf_mode: MatmulPerfMode::None,
    };
    assert!(one(Operator::NcMatMul(Box::new(p.clone()))).starts_with("Matmult PE (data[64:96,1:64] id[96:96,1:96])"));
    // The tracer's own form: identity stationary, data moving.
    let q = NcMatMul { stationary: sb("id", Dtype::Float32, &[64, 64]), moving: data, ..p };
    let line = one(Operator::NcMatMul(Box::new(q)));
    assert!(line.starts_with("Matmult PE (data[64:96,1:64] id[64:64,1:64])"), "{line}");
    assert!(line.contains("is_transpose=true"), "{line}");
}

#[test]
fn kind_23_match_replace8() {
    let p = MatchReplace8 {
        dst: f("d"),
        src: f("a"),
        vals: f("v"),
        replace_value: Immediate::Float(-1.0),
        dst_idx: None,
        dtype: None,
    };
    assert_eq!(
        one(Operator::MatchReplace8(Box::new(p.clone()))),
        "MatchReplace DVE (v[8:32,1:8] a[8:32,1:8]) -> (d[8:32,1:8]) imm_value=-1.0"
    );
    let indexed = MatchReplace8 { dst_idx: Some(f("i")), ..p.clone() };
    assert_eq!(
        one(Operator::MatchReplace8(Box::new(indexed))),
        "MaxIndexAndMatchReplace DVE (v[8:32,1:8] a[8:32,1:8]) -> (d[8:32,1:8] i[8:32,1:8]) imm_value=-1.0"
    );
    let int = MatchReplace8 { replace_value: Immediate::Int(1), ..p };
    assert_eq!(
        refused(Operator::MatchReplace8(Box::new(int))),
        "K004 The replace value for MatchReplace8 must be a float"
    );
}

#[test]
fn kind_25_max8() {
    let op = Max8 { dst: f("d"), src: f("a"), dtype: None };
    assert_eq!(one(Operator::Max8(Box::new(op))), "Max DVE (a[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_29_reciprocal() {
    let op = Reciprocal { dst: f("d"), src: f("a"), dtype: None };
    assert_eq!(one(Operator::Reciprocal(Box::new(op))), "Reciprocal DVE (a[8:32,1:8]) -> (d[8:32,1:8])");
}

#[test]
fn kind_31_nc_scalar_tensor_tensor() {
    let op = NcScalarTensorTensor {
        dst: f("d"),
        data: f("a"),
        src0: float(2.0),
        src1: tile(f("b")),
        op0: AluOp::Mult,
        op1: AluOp::Subtract,
        reverse_operands: TensorScalarReverseOps::Second,
        dtype: None,
    };
    assert_eq!(
        one(Operator::NcScalarTensorTensor(Box::new(op))),
        "TensorScalarPtr DVE (a[8:32,1:8] float32 Float(2.0) b[8:32,1:8]) -> (d[8:32,1:8]) op0=mult op1=subtract \
         reverse1=true is_scalar_tensor_tensor=true"
    );
}

#[test]
fn kind_33_tensor_reduce() {
    let op = TensorReduce {
        dst: col("d"),
        src: f("a"),
        op: AluOp::Max,
        op_dim: TensorSubDim::XY,
        negated: true,
        dtype: None,
        keepdims: true,
    };
    assert_eq!(
        one(Operator::TensorReduce(Box::new(op))),
        "TensorReduce DVE (a[8:32,1:8]) -> (d[1:32,1:1]) op=max axis=XY negate=true"
    );
}

#[test]
fn kind_34_tensor_scalar() {
    let p = TensorScalar {
        dst: f("d"),
        src: f("a"),
        imm0: Operand::Imm(Immediate::Int(-3)),
        op0: AluOp::Add,
        imm1: Some(tile(col("s"))),
        op1: Some(AluOp::Divide),
        reverse: TensorScalarReverseOps::Both,
        engine: Engine::Pool,
        dtype: None,
    };
    assert_eq!(
        one(Operator::TensorScalar(Box::new(p.clone()))),
        "TensorScalarPtr Pool (a[8:32,1:8] int32 Int(-3) s[1:32,1:1]) -> (d[8:32,1:8]) op0=add reverse0=true \
         op1=divide reverse1=true"
    );
    let single = TensorScalar {
        imm1: None,
        op1: None,
        reverse: TensorScalarReverseOps::None,
        engine: Engine::Unassigned,
        dst: sb("d", Dtype::Uint64, &[32, 8]),
        src: sb("a", Dtype::Uint64, &[32, 8]),
        ..p.clone()
    };
    assert_eq!(
        one(Operator::TensorScalar(Box::new(single))),
        "TensorScalarPtr Unassigned (a[8:32,1:8] int32 Int(-3)) -> (d[8:32,1:8]) op0=add op1=bypass \
         is_tensor_scalar_addr=true"
    );
    let pointer = TensorScalar { imm0: Operand::Imm(Immediate::Pointer), ..p };
    assert_eq!(refused(Operator::TensorScalar(Box::new(pointer))), "K004 unsupported immediate type");
}

#[test]
fn kind_35_tensor_tensor() {
    let op = Operator::TensorTensor(Box::new(TensorTensor {
        dst: f("d"),
        src0: f("a"),
        src1: f("b"),
        op: AluOp::Pow,
        dtype: None,
        engine: Engine::Dve,
    }));
    assert_eq!(one(op), "TensorTensor DVE (a[8:32,1:8] b[8:32,1:8]) -> (d[8:32,1:8]) op=pow");
}

#[test]
fn kind_36_tensor_tensor_scan() {
    let op = TensorTensorScan {
        dst: f("d"),
        src0: f("a"),
        src1: f("b"),
        op0: AluOp::Mult,
        op1: AluOp::Add,
        reverse_operands: TensorScalarReverseOps::First,
        imm0: tile(col("i")),
        accumulator_cmd: AccumCmd::Idle,
        dtype: None,
    };
    assert_eq!(
        one(Operator::TensorTensorScan(Box::new(op))),
        "TensorScalarPtr DVE (a[8:32,1:8] i[1:32,1:1] b[8:32,1:8]) -> (d[8:32,1:8]) op0=mult reverse0=true op1=add \
         is_scalar_tensor_tensor=true is_tensor_tensor_scan=true acc=Idle"
    );
}

#[test]
fn kind_37_tensor_partition_reduce() {
    let op = TensorPartitionReduce { dst: sb("d", Dtype::Float32, &[1, 8]), op: AluOp::Add, data: f("a"), dtype: None };
    assert_eq!(
        one(Operator::TensorPartitionReduce(Box::new(op))),
        "TensorReduce Pool (a[8:32,1:8]) -> (d[8:1,1:8]) op=add axis=C"
    );
}

#[test]
fn kind_38_tensor_scalar_reduce() {
    let p = TensorScalarReduce {
        dst: f("d"),
        src: f("a"),
        operand0: float(2.0),
        op0: AluOp::Mult,
        reverse0: true,
        dtype: None,
        reduce_op: Some(AluOp::Add),
        reduce_res: col("r"),
        reduce_cmd: AccumCmd::ZeroAccumulate,
        reduce_init: None,
    };
    assert_eq!(
        one(Operator::TensorScalarReduce(Box::new(p.clone()))),
        "TensorScalarPtr DVE (a[8:32,1:8] float32 Float(2.0)) -> (d[8:32,1:8] r[1:32,1:1]) op0=mult reverse0=true \
         op1=add acc=ZeroAccumulate"
    );
    let init = TensorScalarReduce { reduce_init: Some(Immediate::Float(1.0)), ..p };
    assert_eq!(refused(Operator::TensorScalarReduce(Box::new(init))), "K004 LoadAccumulate is not supported");
}

#[test]
fn kind_39_transpose() {
    let p = Transpose { dst: sb("d", Dtype::Float32, &[8, 32]), src: f("a"), dtype: None, engine: Engine::Dve };
    assert_eq!(one(Operator::Transpose(Box::new(p.clone()))), "StreamTranspose DVE (a[8:32,1:8]) -> (d[32:8,1:32])");
    let pe = Transpose { engine: Engine::Pe, ..p.clone() };
    assert!(refused(Operator::Transpose(Box::new(pe))).starts_with("K004 TransposeOp should only happen on DVE."));
    let big = Transpose { src: sb("a", Dtype::Float32, &[32, 64]), ..p.clone() };
    assert_eq!(refused(Operator::Transpose(Box::new(big))), "K004 Operand must be no larger than (32, 32)");

    let half = Transpose { dst: ps("d", &[8, 32]), src: f("a"), ..p };
    let half = Transpose { dst: override_dtype(half.dst, Dtype::Bfloat16), ..half };
    let list = all(Operator::Transpose(Box::new(half)));
    let lines: Vec<String> = list.iter().map(|i| format!("{}: {}", i.name, text(i))).collect();
    assert_eq!(
        lines,
        [
            "COMPILER-GENERATED-id.bfloat16_memset: Memset DVE () -> (COMPILER-GENERATED-id.bfloat16[128:128,1:128]) \
         mode=Const constant=0",
            "COMPILER-GENERATED-id.bfloat16=IDAffineSelect(mask,fill=1): TensorScalarAffineSelect Pool \
         (COMPILER-GENERATED-id.bfloat16[128:128,1:128]) -> (COMPILER-GENERATED-id.bfloat16[128:128,1:128]) base=0 \
         pattern=[(-1, 128)] channel_multiplier=1 compare_op=not_equal fill_value=1.0",
            "s: Matmult PE (a[8:32,1:8] COMPILER-GENERATED-id.bfloat16[128:32,1:32]) -> (d[32:8,1:32]) \
         accumulation_flag=3 is_transpose=true",
        ]
    );
}

fn override_dtype(r: TensorRef, dtype: Dtype) -> TensorRef {
    match r {
        TensorRef::Abstract(Access::BirPattern(p)) => access(BirAccessPattern { dtype_override: Some(dtype), ..p }),
        other => other,
    }
}

#[test]
fn kind_49_quantize_mx() {
    let op = QuantizeMX {
        dst: sb("d", Dtype::Float8E4m3fnX4, &[32, 2]),
        src: sb("a", Dtype::Bfloat16, &[32, 8]),
        dst_scale: sb("s", Dtype::Uint8, &[32, 2]),
    };
    assert_eq!(one(Operator::QuantizeMX(Box::new(op))), "QuantizeMx DVE (a[8:32,1:8]) -> (d[2:32,1:2] s[2:32,1:2])");
}

#[test]
fn kind_50_nc_mat_mul_mx() {
    let x4 = |n: &str| sb(n, Dtype::Float8E4m3fnX4, &[32, 8]);
    let scale = |n: &str| sb(n, Dtype::Uint8, &[32, 8]);
    let op = MatMulMX {
        dst: ps("d", &[8, 8]),
        stationary: x4("w"),
        moving: x4("x"),
        stationary_scale: scale("ws"),
        moving_scale: scale("xs"),
        tile_position: None,
        tile_size: Some(vec![32, 64]),
    };
    assert_eq!(
        one(Operator::NcMatMulMX(Box::new(op))),
        "MatmultMx PE (x[8:32,1:8] w[8:32,1:8] xs[8:32,1:8] ws[8:32,1:8]) -> (d[8:8,1:8]) accumulation_flag=3 \
         tile_size=[32, 64]"
    );
}

#[test]
fn kind_71_tensor_scalar_cumulative() {
    let p = TensorScalarCumulative {
        dst: f("d"),
        src: f("a"),
        op0: AluOp::Mult,
        op1: AluOp::Add,
        imm0: float(3.0),
        imm1: None,
        reduce_cmd: AccumCmd::ZeroAccumulate,
        reverse: TensorScalarReverseOps::None,
        dtype: None,
    };
    assert_eq!(
        one(Operator::TensorScalarCumulative(Box::new(p.clone()))),
        "TensorScalarCache DVE (a[8:32,1:8] float32 Float(3.0)) -> (d[8:32,1:8]) op0=mult op1=add mode=Cumulative \
         acc=ZeroAccumulate"
    );
    let second = TensorScalarCumulative { imm1: Some(float(0.0)), ..p };
    assert!(refused(Operator::TensorScalarCumulative(Box::new(second))).starts_with("K004 a second immediate"));
}

#[test]
fn kind_75_exponential() {
    let p = Exponential {
        dst: f("d"),
        src: f("a"),
        max_value: tile(col("m")),
        reduce_res: Some(col("r")),
        reducecmd: AccumCmd::Accumulate,
        reduce_init: float(0.0),
    };
    let list = all(Operator::Exponential(Box::new(p)));
    let lines: Vec<String> = list.iter().map(text).collect();
    assert_eq!(
        lines,
        [
            "Exponential DVE (a[8:32,1:8] m[1:32,1:1] float32 Float(0.0)) -> (d[8:32,1:8]) reduce_cmd=AddAccumulate",
            "DveReadAccumulator DVE () -> (r[1:32,1:1])",
        ]
    );
    assert_eq!(list[0].name, "s");
    assert!(list[1].name.starts_with("DveReadAccumulator-"));
}

#[test]
fn kind_76_activate2() {
    let op = Activate2 {
        dst: f("d"),
        src: f("a"),
        op0: AluOp::Mult,
        op1: AluOp::Add,
        imm0: float(2.0),
        imm1: tile(col("b")),
        activation_func: ActivationFunc::GeluApprxSigmoid,
        relu_param: float(0.25),
        reduce_op: AluOp::Max,
        reduce_res: Some(col("r")),
        reduce_cmd: AccumCmd::ZeroAccumulate,
        reverse0: true,
        reverse1: false,
        dtype: None,
    };
    assert_eq!(
        one(Operator::Activate2(Box::new(op))),
        "Activation Activation (a[8:32,1:8] float32 Float(2.0) b[1:32,1:1] float32 Float(0.25)) -> \
         (d[8:32,1:8] r[1:32,1:1]) func=Gelu_apprx_sigmoid scale=1.0 alpha=0.0 acc=ZeroAccumulate op0=mult op1=add \
         reduce_op=max reverse0=true is_activate2=true"
    );
}
