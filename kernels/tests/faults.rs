//! Whole kinds of faults that programs like this one have had, across kernels; single kernels have theirs next to them.

mod views;
use birsim_kernels::access::{Imm, Input, Source};
use birsim_kernels::accumulate::{Accumulator, EngineAccumulationType as Cmd, Epilogue};
use birsim_kernels::alu::{AluOp, Operation, float_op};
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::collective::{CollectiveDimension, all_gather};
use birsim_kernels::copy::copy;
use birsim_kernels::dma::{TransposeOps, accumulate_copy, replicate, transpose};
use birsim_kernels::elementwise::*;
use birsim_kernels::gather::gather;
use birsim_kernels::indirect::*;
use birsim_kernels::iota::{Affine, AffineSelect, affine_select};
use birsim_kernels::matmul::{Matmult, Product, matmult};
use birsim_kernels::range::{RangeSelect, range_select};
use birsim_kernels::reduce::{AxisListType, TensorReduce, tensor_reduce};
use birsim_kernels::scan::{TSCMode, TensorScalarCache, tensor_scalar_cache};
use birsim_kernels::select::{CopyPredicated, copy_predicated, select};
use birsim_kernels::shuffle::{stream_shuffle, stream_transpose};
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();

#[test]
fn fault_39_transposes_of_two_three_and_four_dimensions_are_legal() {
    for dtype in [Dtype::Uint8, Dtype::Bfloat16, Dtype::Int32, Dtype::Int64] {
        let size = dtype.size();
        for rows in [1usize, 2, 4, 8, 16, 128] {
            for cols in [1usize, 3, 64, 127, 128] {
                let n = rows * cols;
                let bytes: Vec<u8> = (0..n * size).map(|k| (k * 31 + k / 251) as u8).collect();
                let middle: Vec<Vec<u32>> = vec![vec![], vec![1], vec![1, 1]];
                for unit in middle {
                    let shape = [vec![rows as u32], unit, vec![cols as u32]].concat();
                    let x = Tensor { dtype, shape, bytes: bytes.clone() };
                    let mut y = Tensor::filled(dtype, &[cols as u32, rows as u32], 0xEE);
                    transpose(TransposeOps::Xzyw, &x.src(), &mut y.dst(), &P).unwrap();
                    for k in 0..n {
                        let (r, c) = (k / cols, k % cols);
                        let to = (c * rows + r) * size;
                        assert_eq!(y.bytes[to..to + size], x.bytes[k * size..][..size], "{dtype} {rows} x {cols}");
                    }
                }
            }
        }
    }
}

#[test]
fn fault_49_float_to_int_is_the_same_on_every_path() {
    let values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 510.0, -200.0, 0.5, 1.5, 2.5, -0.5, -1.5];
    let x = Tensor::f32(&[1, 11], &values);
    let one = Tensor::f32(&[1, 1], &[1.0]);
    let index = Tensor::i32(&[1, 11], &std::array::from_fn::<i32, 11, _>(|k| k as i32));
    for to in [Dtype::Int8, Dtype::Uint8, Dtype::Int16, Dtype::Uint16, Dtype::Int32, Dtype::Uint32, Dtype::Int64] {
        let run = |f: &dyn Fn(&mut birsim_kernels::access::Dst) -> birsim_kernels::Result<()>| {
            let mut y = Tensor::filled(to, &[1, 11], 0xEE);
            f(&mut y.dst()).unwrap();
            y.bytes
        };
        let want = run(&|d| copy(&x.src(), d, &P));
        let scalar = |op0, const0| TensorScalar {
            op0,
            const0,
            reverse0: false,
            op1: AluOp::Bypass,
            const1: 0.0,
            reverse1: false,
        };
        let ptr =
            TensorScalarPtr { op0: AluOp::Mult, reverse0: false, op1: AluOp::Bypass, reverse1: false, address: false };
        let (ones, yes) = (Input::View(one.src()), Tensor::of(Dtype::Uint8, &[1, 11], &[1u8; 11]));
        let keep = AffineSelect {
            value: Affine { base: 0, pattern: &[(1, 11)], channel_multiplier: 0 },
            compare_op: AluOp::IsGe,
            fill_value: 0.0,
        };
        let paths = [
            run(&|d| transpose(TransposeOps::None, &x.src(), d, &P)),
            run(&|d| replicate(&x.src(), d, &P)),
            run(&|d| gather(&x.src(), &index.src(), d, &P)),
            run(&|d| tensor_scalar(&scalar(AluOp::Bypass, 0.0), &Source::Apart(x.src()), d, &P)),
            run(&|d| tensor_scalar_ptr(&ptr, &Source::Apart(x.src()), Some(&ones), None, d, None, &P)),
            run(&|d| select(&yes.src(), Some(&Input::View(x.src())), Some(&Input::Imm(Imm::f32(9.0))), d, &P)),
            run(&|d| affine_select(&keep, &x.src(), d, &P)),
        ];
        for (k, got) in paths.iter().enumerate() {
            assert!(*got == want, "path {k} to {to}");
        }
    }
}

#[test]
fn fault_51_float_remainders_are_floored_under_the_device_profile() {
    let device = Profile::device();
    let call = |op, a: f32, b: f32| float_op(op, &device).unwrap().call(a, b);
    assert_eq!([call(AluOp::Mod, -5.0, 3.0), call(AluOp::ModInt, -5.0, 3.0)], [1.0, -2.0]);
    for (a, b, floored, truncated) in
        [(-7.0, 2.0, 1.0, -1.0), (-7.0, -2.0, -1.0, -1.0), (7.0, 2.0, 1.0, 1.0), (7.0, -2.0, -1.0, 1.0)]
    {
        assert_eq!([call(AluOp::Mod, a, b), call(AluOp::ModInt, a, b)], [floored, truncated], "{a} {b}");
    }
    for op in [AluOp::Mod, AluOp::ModInt] {
        assert_eq!(float_op(op, &P).unwrap_err().code(), Code::S006, "the reference has no {op} (ruling D46)");
    }
}

#[test]
fn fault_53_no_operation_changes_its_operands() {
    let bytes: Vec<u8> = (0..96u32).map(|k| (k * 37 + 11) as u8).collect();
    for dtype in [Dtype::Uint8, Dtype::Int16, Dtype::Bfloat16, Dtype::Int32, Dtype::Float32] {
        let n = 96 / dtype.size() as u32 / 2;
        let a = Tensor { dtype, shape: vec![2, n], bytes: bytes.clone() };
        let (b, before) = (a.clone(), a.clone());
        for op in AluOp::ALL {
            let mut y = Tensor::filled(dtype, &[2, n], 0);
            let form = TensorTensor { op: *op, on_pool: false };
            let _ = tensor_tensor(
                &form,
                &Source::Apart(a.src()),
                &Source::Apart(b.src()),
                &mut y.dst(),
                None,
                &Profile::device(),
            );
            let form = TensorScalar { op0: *op, const0: 3.0, reverse0: true, op1: *op, const1: 2.0, reverse1: false };
            let _ = tensor_scalar(&form, &Source::Apart(a.src()), &mut y.dst(), &Profile::device());
            let mut r = Tensor::filled(dtype, &[2, 1], 0);
            let form = TensorReduce {
                op: *op,
                axis: AxisListType::X,
                negate: true,
                apply_transpose: false,
                accumulate: None,
                on_pool: false,
            };
            let _ = tensor_reduce(&form, &a.src(), &mut r.dst(), &Profile::device());
            assert!(a == before && b == before, "{op} {dtype}");
        }
    }
    // A truth value is any byte but zero, in predicates too.
    let pred = Tensor::of(Dtype::Uint8, &[1, 4], &[0u8, 1, 2, 255]);
    let mut y = Tensor::i32(&[1, 4], &[0; 4]);
    let form = CopyPredicated { reverse_pred: false, on_false: None, epilogue: None };
    copy_predicated(&form, &pred.src(), &Input::Imm(Imm::i32(1)), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0, 1, 1, 1]);
}

#[test]
fn fault_55_masked_lanes_never_reach_a_reduction() {
    let nan = f32::NAN;
    let x = Tensor::f32(&[1, 4], &[1.0, nan, 3.0, nan]);
    for op in [AluOp::Add, AluOp::Max, AluOp::Min, AluOp::Mult] {
        let state = Accumulator::default();
        let epilogue = || Some(Epilogue { kind: Cmd::ZeroAccumulate, op, init: None, state: &state, profile: &P });
        let want = match op {
            AluOp::Add => 4.0 + 2.0 * 2.0,
            AluOp::Max => 3.0,
            AluOp::Min => 1.0,
            _ => 12.0,
        };
        // Select-reduce: the poison is not selected.
        let pred = Tensor::of(Dtype::Uint8, &[1, 4], &[1u8, 0, 1, 0]);
        let mut y = Tensor::f32(&[1, 4], &[0.0; 4]);
        let on_false = Some(Input::Imm(Imm::f32(2.0)));
        let form = CopyPredicated { reverse_pred: false, on_false, epilogue: epilogue() };
        copy_predicated(&form, &pred.src(), &Input::View(x.src()), &mut y.dst(), &P).unwrap();
        assert_eq!((state.get(0), y.values::<f32>()), (want, vec![1.0, 2.0, 3.0, 2.0]), "{op}");
        // The other way round: the poison is the replaced value.
        let numbers = Tensor::f32(&[1, 4], &[1.0, 2.0, 3.0, 2.0]);
        let all = Tensor::of(Dtype::Uint8, &[1, 4], &[1u8; 4]);
        let form = CopyPredicated { reverse_pred: false, on_false: Some(Input::View(x.src())), epilogue: epilogue() };
        copy_predicated(&form, &all.src(), &Input::View(numbers.src()), &mut y.dst(), &P).unwrap();
        assert_eq!(state.get(0), want, "{op}");
        // RangeSelect: positions 0 and 2 are inside one after the other.
        for position in [0.0, 2.0] {
            let form = RangeSelect {
                base: 0,
                compare_op0: AluOp::IsGe,
                compare_op1: AluOp::IsLe,
                fill_value: 2.0,
                num_active_channels: 0,
                epilogue: epilogue(),
            };
            let at = Input::Imm(Imm::f32(position));
            range_select(&form, &x.src(), &at, &at, &mut y.dst(), &P).unwrap();
            assert!(state.get(0).is_finite() && y.values::<f32>().iter().all(|v| v.is_finite()), "{op} {position}");
        }
    }
}

#[test]
fn fault_59_reads_out_of_bounds_fail_or_skip_and_a_result_may_be_visited_again() {
    // There is no NaN mode: an index out of bounds is an error, or its row keeps what it holds.
    let x = Tensor::f32(&[4, 2], &[0.0, 1.0, 10.0, 11.0, 20.0, 21.0, 30.0, 31.0]);
    let i = Tensor::i32(&[3], &[2, 4, 0]);
    let mut y = Tensor::f32(&[3, 2], &[7.0; 6]);
    let src = x.src_at(0, &[(2, 3), (1, 2)]);
    let whole = x.src();
    let table = Table { whole, pattern: src.pattern(), address: 0, log: None };
    let offset = |oob_is_err| VectorOffset { coefficient: 2, max_index: Some(4), oob_is_err };
    let e = vector_gather(&offset(true), &i.src(), &table, MemoryReductionOp::Copy, &mut y.dst(), &P).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S014, Some("index 4, bound 4")));
    let mut y = Tensor::f32(&[3, 2], &[7.0; 6]);
    let skipped = vector_gather(&offset(false), &i.src(), &table, MemoryReductionOp::Copy, &mut y.dst(), &P).unwrap();
    assert_eq!((skipped, y.values::<f32>()), (1, vec![20.0, 21.0, 7.0, 7.0, 0.0, 1.0]));
    // The second visit finds what the first one left.
    vector_gather(&offset(false), &i.src(), &table, MemoryReductionOp::Add, &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [40.0, 42.0, 7.0, 7.0, 0.0, 2.0]);
}

#[test]
fn fault_65_every_sum_runs_from_left_to_right() {
    // 0 from left to right, 1 in pairs, 2 from right to left.
    let row = [16_777_216.0f32, 1.0, 1.0, -16_777_216.0];
    let x = Tensor::f32(&[1, 4], &row);
    let mut y = Tensor::f32(&[1, 1], &[9.0]);
    let form = TensorReduce {
        op: AluOp::Add,
        axis: AxisListType::X,
        negate: false,
        apply_transpose: false,
        accumulate: None,
        on_pool: false,
    };
    tensor_reduce(&form, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [0.0]);
    let cache = TensorScalarCache {
        op0: AluOp::Bypass,
        reverse0: false,
        op1: AluOp::Add,
        reverse1: false,
        mode: TSCMode::Reduce,
        acc: Cmd::ZeroAccumulate,
    };
    let zero = Input::Imm(Imm::f32(0.0));
    tensor_scalar_cache(&cache, &x.src(), Some(&zero), None, &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [0.0]);
    let state = Accumulator::default();
    let epilogue = Epilogue { kind: Cmd::ZeroAccumulate, op: AluOp::Add, init: None, state: &state, profile: &P };
    let (zeros, mut z) = (Tensor::f32(&[1, 4], &[0.0; 4]), Tensor::f32(&[1, 4], &[0.0; 4]));
    let add = TensorTensor { op: AluOp::Add, on_pool: false };
    tensor_tensor(&add, &Source::Apart(x.src()), &Source::Apart(zeros.src()), &mut z.dst(), Some(&epilogue), &P)
        .unwrap();
    assert_eq!(state.get(0), 0.0);
    // A product sums over k in ascending order.
    let column = Tensor::f32(&[4, 1], &row);
    let ones = Tensor::f32(&[4, 1], &[1.0; 4]);
    let mut product = Product::default();
    matmult(&Matmult::default(), &column.src(), &ones.src(), &mut product, &P).unwrap();
    assert_eq!(product.values(), [0.0]);
}

#[test]
fn fault_75_a_product_has_the_precision_of_its_operands() {
    let product = |dtype: Dtype, a: f32, b: f32| {
        let one = |v: f32| {
            let mut bytes = vec![0; dtype.size()];
            birsim_kernels::cast::encode_f32(dtype, P.fp8(), &[v], &mut bytes);
            Tensor { dtype, shape: vec![1, 1], bytes }
        };
        let mut out = Product::default();
        matmult(&Matmult::default(), &one(a).src(), &one(b).src(), &mut out, &P).unwrap();
        out.values()[0]
    };
    // float32 operands keep their 24 bits: no pass in a narrower type.
    let x = 1.0 + 2f32.powi(-20);
    assert_eq!(product(Dtype::Float32, x, x), x * x);
    assert_eq!(product(Dtype::Float32, x, 1.0), x);
    // float32r rounds each operand to 12 bits first, bfloat16 and float16 hold what they hold and multiply exactly.
    let y = f32::from_bits(0x3F80_0800);
    assert_eq!(product(Dtype::Float32r, y, y), 1.0);
    let z = 1.0 + 2f32.powi(-7);
    assert_eq!(product(Dtype::Bfloat16, z, z), z * z);
    let h = 1.0 + 2f32.powi(-10);
    assert_eq!(product(Dtype::Float16, h, h), h * h);
    assert_eq!(f64::from(product(Dtype::Float16, h, h)), f64::from(h) * f64::from(h));
}

#[test]
fn int32_0x01000001_survives_every_copy() {
    // One more than float32 can hold at this size.
    let v = 0x0100_0001;
    let x = Tensor::i32(&[32, 32], &[v; 1024]);
    let check = |name: &str, f: &dyn Fn(&mut birsim_kernels::access::Dst) -> birsim_kernels::Result<()>| {
        let mut y = Tensor::i32(&[32, 32], &[0; 1024]);
        f(&mut y.dst()).unwrap();
        assert_eq!(y.values::<i32>(), [v; 1024], "{name}");
    };
    let yes = Tensor::of(Dtype::Uint8, &[32, 32], &[1u8; 1024]);
    let rows = Tensor::i32(&[32], &std::array::from_fn::<i32, 32, _>(|k| k as i32 * 32));
    let columns = Tensor::i32(&[32, 32], &std::array::from_fn::<i32, 1024, _>(|k| k as i32 % 32));
    let affine = AffineSelect {
        value: Affine { base: 0, pattern: &[(1, 32)], channel_multiplier: 0 },
        compare_op: AluOp::IsGe,
        fill_value: 0.0,
    };
    let range = RangeSelect {
        base: 0,
        compare_op0: AluOp::IsGe,
        compare_op1: AluOp::IsLt,
        fill_value: 0.0,
        num_active_channels: 0,
        epilogue: None,
    };
    let number = |v: f32| Input::Imm(Imm::f32(v));
    let predicated = CopyPredicated { reverse_pred: false, on_false: None, epilogue: None };
    check("copy", &|d| copy(&x.src(), d, &P));
    for op in TransposeOps::ALL {
        check("transpose", &|d| transpose(*op, &x.src(), d, &P));
    }
    check("replicate", &|d| replicate(&x.src(), d, &P));
    check("accumulate copy", &|d| accumulate_copy(MemoryReductionOp::Copy, &x.src(), d, &P));
    check("accumulate add", &|d| accumulate_copy(MemoryReductionOp::Add, &x.src(), d, &P));
    check("shuffle", &|d| stream_shuffle(&std::array::from_fn::<u8, 32, _>(|k| k as u8), &x.src(), d));
    check("stream transpose", &|d| stream_transpose(&x.src(), d));
    check("select", &|d| select(&yes.src(), Some(&Input::View(x.src())), Some(&number(0.0)), d, &P));
    check("predicated", &|d| copy_predicated(&predicated, &yes.src(), &Input::View(x.src()), d, &P));
    check("affine select", &|d| affine_select(&affine, &x.src(), d, &P));
    check("range select", &|d| range_select(&range, &x.src(), &number(0.0), &number(99.0), d, &P));
    check("gather", &|d| gather(&x.src(), &columns.src(), d, &P));
    check("indirect load", &|d| load(&(&x.src()).into(), &rows.src(), d, &P));
    check("indirect save", &|d| save(&x.src(), &rows.src(), &mut d.reborrow().into(), &P));
    check("gathered ranks", &|d| all_gather(CollectiveDimension::Partition, &[x.src()], d, &P));
}
