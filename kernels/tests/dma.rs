//! The DMA modes: transpose, replicate, CCE, accumulating copy.

mod views;
use birsim_kernels::access::{Pattern, Src};
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp;
use birsim_kernels::dma::{Cce, TransposeOps, accumulate_copy, cce, replicate, transpose};
use birsim_kernels::{Code, Dtype, Named, Profile};
use views::{Tensor, keep};

const P: Profile = Profile::reference();

fn counted(shape: &[u32]) -> Tensor {
    Tensor::i32(shape, &(0..shape.iter().product::<u32>() as i32).collect::<Vec<_>>())
}

#[test]
fn all_fourteen_permutations_follow_their_names() {
    let dims = [2u32, 3, 4, 5];
    let x = counted(&dims);
    for op in TransposeOps::ALL {
        let name = if *op == TransposeOps::None { "WZYX" } else { op.name() };
        let axes: Vec<usize> = name.chars().map(|c| "WZYX".find(c).unwrap()).collect();
        assert_eq!(op.axes().as_slice(), axes, "{name}");
        let shape: Vec<u32> = axes.iter().map(|a| dims[*a]).collect();
        let mut y = Tensor::filled(Dtype::Int32, &shape, 0xEE);
        transpose(*op, &x.src(), &mut y.dst(), &P).unwrap();
        let mut want = Vec::new();
        let mut at = [0usize; 4];
        for a in 0..shape[0] as usize {
            for b in 0..shape[1] as usize {
                for c in 0..shape[2] as usize {
                    for d in 0..shape[3] as usize {
                        for (axis, v) in axes.iter().zip([a, b, c, d]) {
                            at[*axis] = v;
                        }
                        want.push((((at[0] * 3 + at[1]) * 4 + at[2]) * 5 + at[3]) as i32);
                    }
                }
            }
        }
        assert_eq!(y.values::<i32>(), want, "{name}");
    }
}

#[test]
fn fault_39_two_and_three_dimensions_transpose_too() {
    let x = counted(&[16, 128]);
    let mut y = Tensor::filled(Dtype::Int32, &[128, 16], 0);
    transpose(TransposeOps::Xzyw, &x.src(), &mut y.dst(), &P).unwrap();
    let got = y.values::<i32>();
    assert!((0..16).all(|r| (0..128).all(|c| got[c * 16 + r] == (r * 128 + c) as i32)));
    let x = counted(&[2, 3, 4]);
    let mut y = Tensor::filled(Dtype::Int32, &[4, 3, 2], 0);
    transpose(TransposeOps::Xzyw, &x.src(), &mut y.dst(), &P).unwrap();
    let got = y.values::<i32>();
    assert!((0..2).all(|a| (0..3).all(|b| (0..4).all(|c| got[(c * 3 + b) * 2 + a] == (a * 12 + b * 4 + c) as i32))));
}

#[test]
fn a_listed_source_transposes_like_its_strided_twin() {
    let x = counted(&[3, 4]);
    let offsets: Vec<usize> = (0..12).map(|i| i * 4).collect();
    let listed = Src::new(&x.bytes, keep(Pattern::listed(Dtype::Int32, &[3, 4], offsets.into()).unwrap())).unwrap();
    for op in TransposeOps::ALL {
        let (mut a, mut b) = (Tensor::filled(Dtype::Int32, &[12], 1), Tensor::filled(Dtype::Int32, &[12], 2));
        transpose(*op, &x.src(), &mut a.dst(), &P).unwrap();
        transpose(*op, &listed, &mut b.dst(), &P).unwrap();
        assert_eq!(a, b, "{op}");
    }
}

#[test]
fn fault_33_shapes_may_differ_but_counts_may_not() {
    let x = counted(&[8, 2, 5]);
    let mut y = Tensor::filled(Dtype::Int32, &[8, 10], 0);
    transpose(TransposeOps::None, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(x.bytes, y.bytes);
    let mut y = Tensor::filled(Dtype::Int32, &[80], 0);
    transpose(TransposeOps::None, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(x.bytes, y.bytes);
    let mut y = Tensor::filled(Dtype::Int32, &[8, 9], 0);
    let e = transpose(TransposeOps::None, &x.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S002, Some("[8, 2, 5] (80 elements) to [8, 9] (72 elements)")));
}

#[test]
fn fault_69_byte_offsets_are_not_rounded() {
    let x = Tensor::of(Dtype::Uint8, &[1, 64], &(0..64).collect::<Vec<u8>>());
    for offset in [1, 2, 3, 5, 15] {
        let mut y = Tensor::filled(Dtype::Uint8, &[1, 32], 0xFF);
        transpose(
            TransposeOps::None,
            &x.src_at(offset, &[(1, 1), (1, 7)]),
            &mut y.dst_at(offset, &[(1, 1), (1, 7)]),
            &P,
        )
        .unwrap();
        for (i, v) in y.bytes.iter().enumerate() {
            let inside = (offset as usize..offset as usize + 7).contains(&i);
            assert_eq!(*v, if inside { i as u8 } else { 0xFF });
        }
    }
}

#[test]
fn d16_rows_repeat_cyclically() {
    let x = counted(&[3, 2]);
    let mut y = Tensor::filled(Dtype::Int32, &[7, 2], 0);
    replicate(&x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1]);
    let mut y = Tensor::filled(Dtype::Float32, &[4, 2], 0);
    replicate(&x.src_at(2, &[(2, 1), (1, 2)]), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [2., 3., 2., 3., 2., 3., 2., 3.]);
    assert_eq!(replicate(&x.src_at(0, &[(2, 0), (1, 2)]), &mut y.dst(), &P).unwrap_err().code(), Code::S002);
    assert_eq!(replicate(&x.src_at(0, &[(2, 1), (1, 1)]), &mut y.dst(), &P).unwrap_err().code(), Code::S002);
}

fn reduced(op: AluOp, constants: &[f32], inputs: &[f32]) -> f32 {
    let inputs: Vec<Tensor> = inputs.iter().map(|v| Tensor::f32(&[1, 1], &[*v])).collect();
    let sources: Vec<Src> = inputs.iter().map(Tensor::src).collect();
    let mut y = Tensor::f32(&[1, 1], &[1234.]);
    cce(&Cce { op, constants }, &sources, &mut y.dst(), &P).unwrap();
    y.values::<f32>()[0]
}

#[test]
fn d15_reductions_follow_the_sse_rule() {
    let nan = f32::NAN;
    assert_eq!(reduced(AluOp::Max, &[], &[1., 3., 2.]), 3.);
    assert_eq!(reduced(AluOp::Min, &[], &[1., -3., 2.]), -3.);
    // A NaN input is ignored, a NaN that seeds the accumulator stays, a tie of zeros keeps the first.
    assert_eq!(reduced(AluOp::Max, &[], &[1., nan, 0.]), 1.);
    assert!(reduced(AluOp::Max, &[], &[nan, 5.]).is_nan());
    assert_eq!(reduced(AluOp::Max, &[], &[-0., 0.]).to_bits(), (-0f32).to_bits());
    assert_eq!(reduced(AluOp::Max, &[], &[-5.]), -5.);
    // Sums start from zero.
    assert_eq!(reduced(AluOp::Add, &[], &[-0.]).to_bits(), 0);
    assert_eq!(reduced(AluOp::Add, &[], &[16777216., 1., 1.]), 16777216.);
}

#[test]
fn fault_19_constants_scale_the_sources_only() {
    assert_eq!(reduced(AluOp::Add, &[2.], &[3.]), 6.);
    assert_eq!(reduced(AluOp::Add, &[2., -0.5], &[3., 8.]), 2.);
    // Product and sum are rounded separately: fused they would keep the small term.
    let (a, b) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
    assert_eq!(reduced(AluOp::Add, &[1., a], &[-1., b]), a * b - 1.);
}

#[test]
fn cce_checks_its_operands() {
    let x = Tensor::f32(&[1, 2], &[1., 2.]);
    let mut y = x.clone();
    let run = |op, constants: &[f32], sources: &[Src], y: &mut Tensor| {
        cce(&Cce { op, constants }, sources, &mut y.dst(), &P).unwrap_err().code()
    };
    assert_eq!(run(AluOp::Mult, &[], &[x.src()], &mut y), Code::S006);
    assert_eq!(run(AluOp::Bypass, &[], &[x.src()], &mut y), Code::S006);
    assert_eq!(run(AluOp::Add, &[], &[], &mut y), Code::J009);
    assert_eq!(run(AluOp::Add, &[1.], &[x.src(), x.src()], &mut y), Code::S008);
    assert_eq!(run(AluOp::Add, &[], &[x.src(), x.src_at(0, &[(1, 1), (1, 1)])], &mut y), Code::S002);
    let packed = Tensor::filled(Dtype::Float8E4m3fnX4, &[1, 2], 0);
    assert_eq!(run(AluOp::Add, &[], &[packed.src()], &mut y), Code::S007);
}

#[test]
fn an_accumulating_copy_follows_the_memory_rules() {
    let x = Tensor::i32(&[1, 2], &[1, -1]);
    let mut y = Tensor::i32(&[1, 2], &[i32::MAX, 5]);
    accumulate_copy(MemoryReductionOp::Add, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<i32>(), [i32::MIN, 4]);
    let x = Tensor::f32(&[1, 1], &[16.]);
    let mut y = Tensor::of(Dtype::Float8e4, &[1, 1], &[0x77u8]);
    accumulate_copy(MemoryReductionOp::Add, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.bytes, [0x78]);
    let mut y = Tensor::of(Dtype::Uint32, &[1, 1], &[7u32]);
    assert_eq!(accumulate_copy(MemoryReductionOp::Add, &x.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S007);
    accumulate_copy(MemoryReductionOp::Copy, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<u32>(), [16]);
}
