//! The cases: one call of a public kernel each, on tensors that the case owns. Names are those of `numpy_side.py`.

use crate::tensor::{SHAPE, Tensor};
use birsim_kernels::access::{Dst, Imm, Input, Pair, Pattern, Source, Src};
use birsim_kernels::accumulate::EngineAccumulationType;
use birsim_kernels::activation::{Activation, ActivationFunctionType as F, Front, activation};
use birsim_kernels::alu::AluOp;
use birsim_kernels::batchnorm::{BnStats, bn_stats};
use birsim_kernels::dma::{self, Cce, TransposeOps, cce};
use birsim_kernels::elementwise::*;
use birsim_kernels::indirect::{self, SaveAccumulate, Table};
use birsim_kernels::iota::{Affine, AffineSelect, affine_select, iota};
use birsim_kernels::matmul::{Matmult, Product, matmult};
use birsim_kernels::mx::{QuantizeMx, quantize_mx};
use birsim_kernels::pool::{PoolFunctionType, pool};
use birsim_kernels::range::{RangeSelect, range_select};
use birsim_kernels::reduce::{AxisListType, TensorReduce, tensor_reduce};
use birsim_kernels::rng::{self, DEFAULT_STATE, Dropout, Mt19937_64, RandomAlgorithmKind, dropout};
use birsim_kernels::scan::{TSCMode, TensorScalarCache, tensor_scalar_cache};
use birsim_kernels::search::{match_replace, max8};
use birsim_kernels::select::{CopyPredicated, copy_predicated, select};
use birsim_kernels::shuffle::{stream_shuffle, stream_transpose};
use birsim_kernels::{Dtype, Profile, Result, copy::copy, fill::memset_const, gather::gather};

/// NumPy must not be faster, up to noise.
const PAR: f64 = 0.95;
/// NumPy converts narrow floats one by one.
const NARROW: f64 = 5.0;

/// One row of the table.
pub struct Case {
    /// Instruction family.
    pub family: &'static str,
    /// Name on both sides.
    pub name: String,
    /// Smallest ratio that is good enough.
    pub bar: f64,
    /// The work.
    pub run: Box<dyn FnMut() -> Result<()> + Send>,
}

const FLOATS: [(&str, Dtype); 3] = [("f32", Dtype::Float32), ("bf16", Dtype::Bfloat16), ("fp8", Dtype::Float8e4)];

fn case(
    family: &'static str,
    name: impl Into<String>,
    bar: f64,
    run: impl FnMut() -> Result<()> + Send + 'static,
) -> Case {
    Case { family, name: name.into(), bar, run: Box::new(run) }
}

/// A case with one input and one output of the full shape.
fn unary(
    family: &'static str,
    name: impl Into<String>,
    (input, output): (Tensor, Tensor),
    f: impl Fn(&Src, &mut Dst, &Profile) -> Result<()> + Send + 'static,
) -> Case {
    let profile = Profile::default();
    let narrow = |t: &Tensor| matches!(t.dtype, Dtype::Bfloat16 | Dtype::Float8e4);
    let bar = if narrow(&input) || narrow(&output) { NARROW } else { PAR };
    let mut output = output;
    case(family, name, bar, move || f(&input.src()?, &mut output.dst()?, &profile))
}

fn full(dtype: Dtype) -> (Tensor, Tensor) {
    (Tensor::random(dtype), Tensor::zeros(dtype, &SHAPE))
}

fn column(dtype: Dtype) -> Tensor {
    Tensor::from(dtype, -4.0, &[128, 1])
}

/// Every case, built one by one so that only one is in memory.
pub fn all() -> impl Iterator<Item = Case> {
    let mut makers: Vec<Box<dyn FnOnce() -> Case>> = Vec::new();
    movement(&mut makers);
    arithmetic(&mut makers);
    functions(&mut makers);
    others(&mut makers);
    makers.into_iter().map(|make| make())
}

type Makers = Vec<Box<dyn FnOnce() -> Case>>;

macro_rules! add {
    ($makers:expr, $case:expr) => {
        $makers.push(Box::new(move || $case))
    };
}

fn movement(m: &mut Makers) {
    for (n, d) in FLOATS {
        // Moving bytes is the same work for every type.
        add!(m, Case { bar: PAR, ..unary("copy", format!("copy {n}"), full(d), copy) });
    }
    let types = [("f16", Dtype::Float16), ("int8", Dtype::Int8), ("int32", Dtype::Int32)];
    for (k, (n, d)) in FLOATS.into_iter().enumerate() {
        for (o, e) in FLOATS.into_iter().skip(k + 1).chain(types) {
            for (n, d, o, e) in [(n, d, o, e), (o, e, n, d)] {
                // Both sides convert bf16 as fast as memory goes; fp8 takes ml_dtypes long.
                let bar = if [n, o].contains(&"fp8") { NARROW } else { PAR };
                let io = move || (Tensor::random(d), Tensor::zeros(e, &SHAPE));
                add!(m, Case { bar, ..unary("cast", format!("cast {n} to {o}"), io(), copy) });
            }
        }
        add!(m, {
            let out = Tensor::zeros(d, &[8192, 128]);
            let run = |s: &Src, d: &mut Dst, p: &Profile| dma::transpose(TransposeOps::Xwzy, s, d, p);
            Case { bar: PAR, ..unary("transpose", format!("dma transpose {n}"), (Tensor::random(d), out), run) }
        });
    }
    add!(m, unary("transpose", "stream_transpose", full(Dtype::Float32), |s, d, _| stream_transpose(s, d)));
    add!(m, {
        let mask: [u8; 32] = std::array::from_fn(|k| 31 - k as u8);
        unary("shuffle", "shuffle", full(Dtype::Float32), move |s, d, _| stream_shuffle(&mask, s, d))
    });
    add!(m, unary("memset", "memset f32", full(Dtype::Float32), |_, d, _| memset_const(0x3FC0_0000, d)));
    add!(m, {
        let (a, p) = (Tensor::random(Dtype::Float32), predicate());
        unary("select", "select f32", full(Dtype::Float32), move |b, d, profile| {
            select(&p.src()?, Some(&Input::View(a.src()?)), Some(&Input::View(*b)), d, profile)
        })
    });
    add!(m, {
        let p = predicate();
        unary("select", "copy_predicated", full(Dtype::Float32), move |s, d, profile| {
            let fields = CopyPredicated { reverse_pred: false, on_false: None, epilogue: None };
            copy_predicated(&fields, &p.src()?, &Input::View(*s), d, profile)
        })
    });
    add!(m, {
        unary("iota", "iota int32", full(Dtype::Int32), |_, d, profile| {
            iota(&Affine { base: 0, pattern: &[(1, SHAPE[1])], channel_multiplier: 1 }, d, profile)
        })
    });
    add!(m, {
        unary("select", "affine_select", full(Dtype::Float32), |s, d, profile| {
            let value = Affine { base: 0, pattern: &[(-1, SHAPE[1])], channel_multiplier: 64 };
            affine_select(&AffineSelect { value, compare_op: AluOp::IsGe, fill_value: -1e30 }, s, d, profile)
        })
    });
    add!(m, {
        let (lo, hi) = (column(Dtype::Float32), Tensor::from(Dtype::Float32, 4000.0, &[128, 1]));
        unary("select", "range_select", full(Dtype::Float32), move |s, d, profile| {
            let fields = RangeSelect {
                base: 0,
                compare_op0: AluOp::IsGe,
                compare_op1: AluOp::IsLt,
                fill_value: -1e30,
                num_active_channels: 0,
                epilogue: None,
            };
            range_select(&fields, s, &Input::View(lo.src()?), &Input::View(hi.src()?), d, profile)
        })
    });
}

fn predicate() -> Tensor {
    let mut out = Tensor::zeros(Dtype::Uint8, &SHAPE);
    let ints = Tensor::ints(2, &SHAPE);
    if let (Ok(s), Ok(d)) = (ints.src(), &mut out.dst()) {
        // A conversion of dense tensors of one shape cannot fail.
        let _ = copy(&s, d, &Profile::default());
    }
    out
}

/// Small tiles in rows that are not a power of two apart.
fn tiles(m: &mut Makers) {
    for n in [1, 8, 64, 512] {
        let tile = move |low| Tensor::from(Dtype::Float32, low, &[128, SHAPE[1] + 16]).tile(n);
        add!(m, {
            let y = tile(-3.0);
            unary("tile", format!("tile add 128x{n}"), (tile(-4.0), tile(0.0)), move |s, d, profile| {
                let p = TensorTensor { op: AluOp::Add, on_pool: false };
                tensor_tensor(&p, &Source::Apart(*s), &y.src()?.into(), d, None, profile)
            })
        });
        add!(m, {
            unary("tile", format!("tile scale 128x{n}"), (tile(-4.0), tile(0.0)), |s, d, profile| {
                let (op0, op1) = (AluOp::Mult, AluOp::Add);
                let p = TensorScalar { op0, const0: 2.0, reverse0: false, op1, const1: 0.5, reverse1: false };
                tensor_scalar(&p, &Source::Apart(*s), d, profile)
            })
        });
        add!(m, {
            let a = column(Dtype::Float32);
            unary("tile", format!("tile column 128x{n}"), (tile(-4.0), tile(0.0)), move |s, d, profile| {
                let (op0, op1) = (AluOp::Mult, AluOp::Bypass);
                let p = TensorScalarPtr { op0, reverse0: false, op1, reverse1: false, address: false };
                tensor_scalar_ptr(&p, &Source::Apart(*s), Some(&Input::View(a.src()?)), None, d, None, profile)
            })
        });
        add!(m, {
            unary("tile", format!("tile exp 128x{n}"), (tile(-4.0), tile(0.0)), |s, d, profile| {
                let number = |v| Input::Imm(Imm::f32(v));
                let front = Front::Affine { scale: number(1.0), bias: number(0.0) };
                let p = Activation { func: F::Exp, front, alpha: number(0.0), epilogue: None, tables: None };
                activation(&p, &Source::Apart(*s), d, profile)
            })
        });
    }
}

fn arithmetic(m: &mut Makers) {
    use AluOp::{Add, Max, Mult};
    for (n, d) in FLOATS {
        add!(m, {
            unary("tensor_scalar", format!("tensor_scalar {n}"), full(d), |s, d, profile| {
                let p =
                    TensorScalar { op0: Mult, const0: 2.0, reverse0: false, op1: Add, const1: 0.5, reverse1: false };
                tensor_scalar(&p, &Source::Apart(*s), d, profile)
            })
        });
        const PTR: TensorScalarPtr =
            TensorScalarPtr { op0: Mult, reverse0: false, op1: Add, reverse1: false, address: false };
        add!(m, {
            let (a, b) = (column(d), column(d));
            unary("tensor_scalar", format!("tensor_scalar_ptr {n}"), full(d), move |s, d, profile| {
                let (a, b) = (Input::View(a.src()?), Input::View(b.src()?));
                tensor_scalar_ptr(&PTR, &Source::Apart(*s), Some(&a), Some(&b), d, None, profile)
            })
        });
        add!(m, {
            let (a, y) = (column(d), Tensor::random(d));
            unary("tensor_scalar", format!("scalar_tensor_tensor {n}"), full(d), move |s, d, profile| {
                scalar_tensor_tensor(
                    &PTR,
                    &Source::Apart(*s),
                    &Input::View(a.src()?),
                    &y.src()?.into(),
                    d,
                    None,
                    profile,
                )
            })
        });
        for (o, op) in [("add", Add), ("mult", Mult), ("max", Max)] {
            add!(m, tensor_tensor_case(format!("tensor_tensor {o} {n}"), op, d, Tensor::random(d)));
        }
        for (o, op, axis) in
            [("add X", Add, AxisListType::X), ("max X", Max, AxisListType::X), ("add C", Add, AxisListType::C)]
        {
            add!(m, {
                let out = Tensor::zeros(d, if axis == AxisListType::C { &[1, SHAPE[1]] } else { &[128, 1] });
                unary("reduce", format!("reduce {o} {n}"), (Tensor::random(d), out), move |s, d, profile| {
                    let p = TensorReduce {
                        op,
                        axis,
                        negate: false,
                        apply_transpose: false,
                        accumulate: None,
                        on_pool: false,
                    };
                    tensor_reduce(&p, s, d, profile)
                })
            });
        }
        for (o, op1) in [("add", Add), ("max", Max)] {
            add!(m, {
                unary("scan", format!("scan {o} {n}"), full(d), move |s, d, profile| {
                    let p = TensorScalarCache {
                        op0: Mult,
                        reverse0: false,
                        op1,
                        reverse1: false,
                        mode: TSCMode::Cumulative,
                        acc: EngineAccumulationType::ZeroAccumulate,
                    };
                    tensor_scalar_cache(&p, s, Some(&Input::Imm(Imm::f32(1.0))), None, d, profile)
                })
            });
        }
    }
    tiles(m);
    for (o, op) in [("add", Add), ("and", AluOp::BitwiseAnd)] {
        add!(m, {
            let ints = || Tensor::ints(1 << 30, &SHAPE);
            let y = ints();
            Case {
                bar: PAR,
                ..unary(
                    "tensor_tensor",
                    format!("tensor_tensor {o} int32"),
                    (ints(), Tensor::zeros(Dtype::Int32, &SHAPE)),
                    move |s, d, profile| {
                        tensor_tensor(
                            &TensorTensor { op, on_pool: false },
                            &Source::Apart(*s),
                            &y.src()?.into(),
                            d,
                            None,
                            profile,
                        )
                    },
                )
            }
        });
    }
    for (o, func) in [("max", PoolFunctionType::Max), ("avg", PoolFunctionType::Avg)] {
        add!(m, {
            let shape = [128, SHAPE[1] / 4, 2, 2];
            let io = (Tensor::random(Dtype::Float32).shaped(&shape), Tensor::zeros(Dtype::Float32, &shape[..2]));
            unary("pool", format!("pool {o} 2x2"), io, move |s, d, profile| pool(func, s, d, profile))
        });
    }
}

fn tensor_tensor_case(name: String, op: AluOp, dtype: Dtype, y: Tensor) -> Case {
    unary("tensor_tensor", name, full(dtype), move |s, d, profile| {
        tensor_tensor(&TensorTensor { op, on_pool: false }, &Source::Apart(*s), &y.src()?.into(), d, None, profile)
    })
}

fn functions(m: &mut Makers) {
    for (n, d) in FLOATS {
        for (func, name, low) in [
            (F::Abs, "abs", -4.0),
            (F::Arctan, "arctan", -4.0),
            (F::Erf, "erf", -4.0),
            (F::Exp, "exp", -4.0),
            (F::Gelu, "gelu", -4.0),
            (F::GeluApprxTanh, "gelu_apprx_tanh", -4.0),
            (F::Ln, "ln", 0.01),
            (F::Reciprocal, "reciprocal", 0.01),
            (F::Relu, "relu", -4.0),
            (F::Rsqrt, "rsqrt", 0.01),
            (F::Sigmoid, "sigmoid", -4.0),
            (F::Silu, "silu", -4.0),
            (F::Sin, "sin", -4.0),
            (F::Softplus, "softplus", -4.0),
            (F::Sqrt, "sqrt", 0.01),
            (F::Square, "square", -4.0),
            (F::Tanh, "tanh", -4.0),
        ] {
            add!(m, {
                let io = (Tensor::from(d, low, &SHAPE), Tensor::zeros(d, &SHAPE));
                unary("activation", format!("{name} {n}"), io, move |s, d, profile| {
                    let number = |v| Input::Imm(Imm::f32(v));
                    let front = Front::Affine { scale: number(1.0), bias: number(0.0) };
                    let p = Activation { func, front, alpha: number(0.0), epilogue: None, tables: None };
                    activation(&p, &Source::Apart(*s), d, profile)
                })
            });
        }
    }
}

fn others(m: &mut Makers) {
    for (n, d) in FLOATS {
        add!(m, {
            let (w, x) = (Tensor::from(d, -4.0, &[128, 128]), Tensor::from(d, -4.0, &[128, 512]));
            let (p, profile, mut out) = (Matmult::default(), Profile::default(), Product::default());
            case("matmul", format!("matmul {n}"), 1.0, move || matmult(&p, &x.src()?, &w.src()?, &mut out, &profile))
        });
    }
    add!(m, {
        let mut scales = Tensor::zeros(Dtype::Uint8, &[128, SHAPE[1] / 4]);
        let mut data = Tensor::zeros(Dtype::Float8E4m3fnX4, &[128, SHAPE[1] / 4]);
        let (x, profile) = (Tensor::random(Dtype::Bfloat16), Profile::default());
        case("mx", "quantize_mx", NARROW, move || {
            quantize_mx(&QuantizeMx, &x.src()?, &mut data.dst()?, &mut scales.dst()?, &profile)
        })
    });
    add!(m, {
        let io = (Tensor::random(Dtype::Float32), Tensor::zeros(Dtype::Float32, &[128, 6]));
        unary("batchnorm", "bn_stats", io, |s, d, profile| bn_stats(&BnStats::default(), s, d, profile))
    });
    add!(m, {
        let io = (Tensor::random(Dtype::Float32), Tensor::zeros(Dtype::Float32, &[128, 8]));
        unary("search", "max8", io, max8)
    });
    add!(m, {
        let top = Tensor::from(Dtype::Float32, -4.0, &[128, 8]);
        unary("search", "match_replace", full(Dtype::Float32), move |s, d, profile| {
            match_replace(0.0, &top.src()?, s, d, None, profile)
        })
    });
    add!(m, {
        let (table, index) = (big_table(), Tensor::ints(1024, &[128, 1]));
        unary("indirect", "gather rows", full(Dtype::Float32), move |_, d, profile| {
            let table = Table { whole: table.src()?, pattern: &rows()?, address: 0, log: None };
            indirect::load(&table, &index.src()?, d, profile)
        })
    });
    add!(m, {
        let (mut table, index) = (big_table(), Tensor::ints(1024, &[128, 1]));
        let (x, profile) = (Tensor::random(Dtype::Float32), Profile::default());
        case("indirect", "scatter-add rows", PAR, move || {
            let p = SaveAccumulate {
                num_indices: 128,
                entry_step_elements: i64::from(SHAPE[1]),
                op: AluOp::Add,
                base: None,
            };
            indirect::save_accumulate(&p, &x.src()?, &index.src()?, &mut table.dst()?.into(), &profile)
        })
    });
    add!(m, {
        let index = Tensor::ints(SHAPE[1], &SHAPE);
        unary("indirect", "gather elements", full(Dtype::Float32), move |s, d, p| gather(s, &index.src()?, d, p))
    });
    for (name, kind) in [("pcg32", RandomAlgorithmKind::Pcg32), ("philox", RandomAlgorithmKind::Philox1)] {
        add!(m, {
            let (mut out, mut states) = (Tensor::zeros(Dtype::Uint32, &SHAPE), [DEFAULT_STATE; 128]);
            case("rng", format!("random {name}"), PAR, move || {
                rng::rand(kind, &mut states, &mut out.dst()?, &Profile::reference())
            })
        });
    }
    add!(m, {
        let (mut out, mut states) = (Tensor::zeros(Dtype::Uint32, &SHAPE), [DEFAULT_STATE; 128]);
        case("rng", "random xorwow", PAR, move || rng::memset_random_pool(&mut states, &mut out.dst()?))
    });
    add!(m, {
        let (mut out, mut host) = (Tensor::zeros(Dtype::Uint32, &SHAPE), Mt19937_64::new(1));
        case("rng", "random mt19937", PAR, move || {
            rng::memset_random_host(&mut host, &mut out.dst()?, &Profile::reference())
        })
    });
    add!(m, {
        let (mut out, mut states) = (Tensor::zeros(Dtype::Float32, &SHAPE), [[DEFAULT_STATE; 4]; 128]);
        let profile = Profile::default();
        case("rng", "random uniform", PAR, move || rng::rand2(-1.0, 1.0, &mut states, &mut out.dst()?, &profile))
    });
    add!(m, {
        let ((x, mut out), mut states) = (full(Dtype::Float32), [DEFAULT_STATE; 128]);
        let profile = Profile::default();
        case("rng", "dropout", PAR, move || {
            let p = Dropout { is_keep_threshold: false, threshold: Input::Imm(Imm::f32(0.5)) };
            dropout(&p, &mut states, &x.src()?, &mut out.dst()?, &profile)
        })
    });
    add!(m, {
        let (y, z) = (Tensor::random(Dtype::Float32), Tensor::random(Dtype::Float32));
        unary("dma", "cce add of 3", full(Dtype::Float32), move |s, d, profile| {
            cce(&Cce { op: AluOp::Add, constants: &[] }, &[*s, y.src()?, z.src()?], d, profile)
        })
    });
}

fn big_table() -> Tensor {
    Tensor::from(Dtype::Float32, -4.0, &[1024, SHAPE[1]])
}

/// The rows of a table as its final dimension, in which indices count.
fn rows() -> Result<Pattern> {
    Pattern::new(Dtype::Float32, 0, &[Pair { stride: i64::from(SHAPE[1]) * 4, num: 1024 }])
}
