//! Gather and scatter through index tensors.

mod views;
use birsim_kernels::access::Pattern;
use birsim_kernels::alu::AluOp;
use birsim_kernels::cast::MemoryReductionOp as Op;
use birsim_kernels::indirect::*;
use birsim_kernels::{Code, Dtype, Profile};
use views::{Tensor, strided};

const P: Profile = Profile::reference();

fn table(rows: u32, cols: u32) -> Tensor {
    let values: Vec<f32> = (0..rows * cols).map(|i| (i / cols * 100 + i % cols) as f32).collect();
    Tensor::f32(&[rows, cols], &values)
}

#[test]
fn d12_an_index_counts_steps_of_the_final_dimension() {
    let x = Tensor::f32(&[50, 1], &(0..50).map(|i| i as f32).collect::<Vec<_>>());
    let i = Tensor::i32(&[2, 3], &[49, 0, 7, 7, 1, 2]);
    let mut y = Tensor::filled(Dtype::Float32, &[2, 3], 0);
    load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [49., 0., 7., 7., 1., 2.]);
    // Every second element of the table counts; entries of two neighbours.
    let src = x.src_at(10, &[(1, 1), (2, 20)]);
    let i = Tensor::i32(&[2, 1], &[3, 18]);
    let mut y = Tensor::filled(Dtype::Float32, &[2, 2], 0);
    load(&(&src).into(), &i.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [16., 17., 46., 47.]);
}

#[test]
fn every_narrow_index_dtype_reads_alike() {
    let x = table(1, 300);
    let want: Vec<f32> = vec![299., 0., 130.];
    for i in [
        Tensor::i32(&[3], &[299, 0, 130]),
        Tensor::of(Dtype::Uint32, &[3], &[299u32, 0, 130]),
        Tensor::of(Dtype::Uint16, &[3], &[299u16, 0, 130]),
    ] {
        let mut y = Tensor::filled(Dtype::Float32, &[3], 0);
        load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap();
        assert_eq!(y.values::<f32>(), want, "{}", i.dtype);
    }
    for dtype in [Dtype::Uint8, Dtype::Int16, Dtype::Float32, Dtype::Bfloat16] {
        let i = Tensor::filled(dtype, &[3], 0);
        let mut y = Tensor::filled(Dtype::Float32, &[3], 0);
        let e = load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap_err();
        assert_eq!(e.code(), Code::S007, "{dtype}");
    }
}

#[test]
fn fault_35_wide_indices_are_biased_byte_addresses() {
    let x = table(1, 10);
    let bias = ADDRESS_BIAS + 4096;
    let i = Tensor::of(Dtype::Int64, &[4], &[bias + 20, bias, -1, bias + 36]);
    let mut y = Tensor::f32(&[4], &[7.; 4]);
    let src = x.src();
    let t = Table { address: 4096, ..(&src).into() };
    load(&t, &i.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [5., 0., 7., 9.]);
    // Small numbers are addresses below the table, not indices.
    let i = Tensor::of(Dtype::Uint64, &[4], &[5u64, 0, 5, 0]);
    assert_eq!(load(&t, &i.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S014);
}

#[test]
fn d13_a_narrow_minus_one_is_out_of_range() {
    let x = table(1, 10);
    let i = Tensor::i32(&[2], &[3, -1]);
    let mut y = Tensor::f32(&[2], &[7.; 2]);
    let e = load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S014, Some("index 4294967295, bound 10")));
}

#[test]
fn fault_31_errors_print_index_and_bound() {
    let x = table(1, 128);
    let mut y = Tensor::f32(&[4], &[0.; 4]);
    let i = Tensor::of(Dtype::Uint32, &[4], &[0, 127, 128, u32::MAX]);
    let e = load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S014, Some("index 128, bound 128")));
    assert!(e.what().contains("slot 2"));
    let data = y.clone();
    let mut z = x.clone();
    let e = save(&data.src(), &i.src(), &mut z.dst().into(), &P).unwrap_err();
    assert_eq!(e.received_value(), Some("index 128, bound 128"));
}

#[test]
fn a_load_writes_dense_rows_only() {
    let x = table(1, 10);
    let i = Tensor::i32(&[2], &[3, 1]);
    let mut y = Tensor::f32(&[4], &[0.; 4]);
    let e = load(&(&x.src()).into(), &i.src(), &mut y.dst_at(0, &[(1, 1), (2, 2)]), &P).unwrap_err();
    assert_eq!(e.code(), Code::S008);
    let three = Tensor::i32(&[3], &[0; 3]);
    let e = load(&(&x.src()).into(), &three.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S002);
}

#[test]
fn fault_52_duplicates_accumulate_and_the_last_writer_wins() {
    let idx = Tensor::i32(&[6], &[0, 0, 1, 0, 2, 2]);
    let ones = Tensor::f32(&[6], &[1.; 6]);
    let mut t = Tensor::f32(&[3], &[0.; 3]);
    generic_save(
        &[IndirectDim::X],
        AluOp::Add,
        &ones.src(),
        &[idx.src()],
        &mut t.dst_at(0, &[(3, 1), (1, 3)]).into(),
        &P,
    )
    .unwrap();
    assert_eq!(t.values::<f32>(), [3., 1., 2.]);
    let data = Tensor::f32(&[6], &[1., 2., 3., 4., 5., 6.]);
    save(&data.src(), &idx.src(), &mut t.dst().into(), &P).unwrap();
    assert_eq!(t.values::<f32>(), [4., 3., 6.]);
    // bfloat16 sums stall where one more unit rounds away.
    let idx = Tensor::i32(&[300], &[0; 300]);
    let ones = Tensor::of(Dtype::Bfloat16, &[300], &[0x3F80u16; 300]);
    let mut t = Tensor::filled(Dtype::Bfloat16, &[1], 0);
    let p = SaveAccumulate { num_indices: 300, entry_step_elements: 1, op: AluOp::Add, base: None };
    save_accumulate(&p, &ones.src(), &idx.src(), &mut t.dst().into(), &P).unwrap();
    assert_eq!(t.values::<u16>(), [0x4380]);
}

#[test]
fn sums_are_rounded_one_after_the_other() {
    let idx = Tensor::i32(&[4], &[0; 4]);
    let data = Tensor::f32(&[4], &[16777216., 1., 1., -16777216.]);
    let mut t = Tensor::f32(&[1], &[0.]);
    generic_save(&[IndirectDim::X], AluOp::Add, &data.src(), &[idx.src()], &mut t.dst().into(), &P).unwrap();
    assert_eq!(t.values::<f32>(), [0.]);
}

#[test]
fn save_accumulate_moves_entries_and_skips_padding() {
    let values = Tensor::i32(&[4, 2], &[1, 2, 3, 4, 5, 6, 7, 8]);
    let idx = Tensor::i32(&[4], &[2, 0, 2, 99]);
    let mut t = Tensor::i32(&[3, 4], &[0; 12]);
    let p = SaveAccumulate { num_indices: 3, entry_step_elements: 4, op: AluOp::Add, base: None };
    save_accumulate(&p, &values.src(), &idx.src(), &mut t.dst().into(), &P).unwrap();
    assert_eq!(t.values::<i32>(), [3, 4, 0, 0, 0, 0, 0, 0, 6, 8, 0, 0]);
    let more = SaveAccumulate { num_indices: 5, ..p.clone() };
    let e = save_accumulate(&more, &values.src(), &idx.src(), &mut t.dst().into(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S008);
    let all = SaveAccumulate { num_indices: 4, ..p.clone() };
    let e = save_accumulate(&all, &values.src(), &idx.src(), &mut t.dst().into(), &P).unwrap_err();
    assert_eq!(e.received_value(), Some("index 99, bound 3"));
    for op in [AluOp::Max, AluOp::Min, AluOp::Mult] {
        let bad = SaveAccumulate { op, ..p.clone() };
        let e = save_accumulate(&bad, &values.src(), &idx.src(), &mut t.dst().into(), &P).unwrap_err();
        assert_eq!(e.code(), Code::S006);
    }
}

#[test]
fn only_eight_dtypes_accumulate() {
    let idx = Tensor::i32(&[1], &[0]);
    for dtype in Dtype::ALL {
        let data = Tensor::filled(*dtype, &[1], 0);
        let mut t = Tensor::filled(*dtype, &[1], 0);
        let got = generic_save(&[IndirectDim::X], AluOp::Add, &data.src(), &[idx.src()], &mut t.dst().into(), &P)
            .map_err(|e| e.code());
        assert_eq!(got, if dtype.is_reducible() { Ok(()) } else { Err(Code::S007) }, "{dtype}");
        generic_save(&[IndirectDim::X], AluOp::Bypass, &data.src(), &[idx.src()], &mut t.dst().into(), &P).unwrap();
    }
}

#[test]
fn generic_axes_add_up_their_offsets() {
    let x = table(6, 5);
    let src = x.src();
    let (w, c) = (Tensor::i32(&[3], &[5, 0, 2]), Tensor::i32(&[3], &[4, 1, 0]));
    let mut y = Tensor::f32(&[3], &[0.; 3]);
    let dims = [IndirectDim::W, IndirectDim::X];
    generic_load(&dims, &(&src).into(), &[w.src(), c.src()], &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [504., 1., 200.]);
    // One axis only: whole rows move.
    let mut rows = Tensor::f32(&[3, 5], &[0.; 15]);
    generic_load(&dims[..1], &(&src).into(), &[w.src()], &mut rows.dst(), &P).unwrap();
    assert_eq!(rows.values::<f32>()[..7], [500., 501., 502., 503., 504., 0., 1.]);
    let e = generic_load(&dims, &(&src).into(), &[w.src()], &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S008);
    let bad = Tensor::i32(&[3], &[5, 6, 0]);
    let e = generic_load(&dims[..1], &(&src).into(), &[bad.src()], &mut rows.dst(), &P).unwrap_err();
    assert_eq!(e.received_value(), Some("index 6, bound 6"));
}

#[test]
fn long_entries_and_casts_go_piece_by_piece() {
    let values: Vec<f32> = (0..6000).map(|i| i as f32).collect();
    let x = Tensor::f32(&[2, 3000], &values);
    let w = Tensor::i32(&[3], &[1, 0, 1]);
    let mut y = Tensor::filled(Dtype::Int32, &[3, 3000], 0);
    generic_load(&[IndirectDim::W], &(&x.src()).into(), &[w.src()], &mut y.dst(), &P).unwrap();
    let got = y.values::<i32>();
    for (i, v) in got.iter().enumerate() {
        assert_eq!(*v, ([1, 0, 1][i / 3000] * 3000 + i % 3000) as i32, "element {i}");
    }
    let mut back = Tensor::filled(Dtype::Float32, &[2, 3000], 0);
    generic_save(&[IndirectDim::W], AluOp::Add, &y.src(), &[w.src()], &mut back.dst().into(), &P).unwrap();
    for (i, v) in back.values::<f32>().iter().enumerate() {
        assert_eq!(*v, if i < 3000 { i as f32 } else { 2. * i as f32 });
    }
}

fn rows_of(whole: &Tensor, num: u32) -> Pattern {
    strided(whole.dtype, 0, &[(0, num), (1, whole.shape[1])])
}

#[test]
fn fault_13_rows_out_of_bounds_leave_the_destination() {
    let x = table(4, 3);
    let whole = x.src();
    let i = Tensor::i32(&[4], &[3, 4, 0, -1]);
    let pattern = rows_of(&x, 4);
    let t = Table { whole, pattern: &pattern, address: 0, log: None };
    let p = VectorOffset { coefficient: 3, max_index: Some(4), oob_is_err: false };
    let mut y = Tensor::f32(&[4, 3], &[7.; 12]);
    let skipped = vector_gather(&p, &i.src(), &t, Op::Copy, &mut y.dst(), &P).unwrap();
    assert_eq!(skipped, 2);
    assert_eq!(y.values::<f32>(), [300., 301., 302., 7., 7., 7., 0., 1., 2., 7., 7., 7.]);
    let strict = VectorOffset { oob_is_err: true, ..p };
    let e = vector_gather(&strict, &i.src(), &t, Op::Copy, &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.received_value(), Some("index 4, bound 4"));
    vector_gather(
        &VectorOffset { max_index: None, oob_is_err: false, coefficient: 3 },
        &i.src(),
        &t,
        Op::Add,
        &mut y.dst(),
        &P,
    )
    .unwrap();
    assert_eq!(y.values::<f32>(), [600., 602., 604., 7., 7., 7., 0., 2., 4., 7., 7., 7.]);
}

#[test]
fn vector_scatter_serves_duplicates_in_order() {
    let mut t = Tensor::filled(Dtype::Float32, &[4, 3], 0);
    let data = Tensor::f32(&[3, 2], &[1., 2., 3., 4., 5., 6.]);
    let i = Tensor::of(Dtype::Uint16, &[3], &[2u16, 2, 9]);
    let p = VectorOffset { coefficient: 3, max_index: Some(4), oob_is_err: false };
    for (op, want) in [(Op::Copy, [3., 0., 4.]), (Op::Add, [7., 0., 10.])] {
        let whole = t.dst();
        // Rows with a gap: the inner step of the pattern counts.
        let pattern = strided(Dtype::Float32, 0, &[(3, 3), (2, 2)]);
        let mut table = Table { whole, pattern: &pattern, address: 0, log: None };
        assert_eq!(vector_scatter(&p, &data.src(), &i.src(), &mut table, op, &P).unwrap(), 1);
        assert_eq!(t.values::<f32>()[6..9], want);
    }
    let whole = t.dst();
    let pattern = strided(Dtype::Float32, 0, &[(3, 2), (1, 3)]);
    let mut table = Table { whole, pattern: &pattern, address: 0, log: None };
    assert_eq!(vector_scatter(&p, &data.src(), &i.src(), &mut table, Op::Copy, &P).unwrap_err().code(), Code::S002);
}

#[test]
fn d22_tolerant_copies_skip_elements_outside() {
    let x = table(1, 6);
    let mut y = Tensor::f32(&[6], &[7.; 6]);
    let (a, whole) = (x.src(), y.dst());
    let (from, to) = (strided(Dtype::Float32, 4, &[(1, 1), (1, 4)]), strided(Dtype::Float32, -1, &[(1, 1), (1, 4)]));
    let (s, mut d) = (
        Table { whole: a, pattern: &from, address: 0, log: None },
        Table { whole, pattern: &to, address: 0, log: None },
    );
    assert_eq!(copy_in_bounds(&s, &mut d, &P).unwrap(), 3);
    assert_eq!(y.values::<f32>(), [5., 7., 7., 7., 7., 7.]);
}

#[test]
fn indirect_copy_shares_indices_in_groups_of_sixteen() {
    let x = Tensor::of(Dtype::Uint16, &[32, 8], &(0..256).map(|i| i as u16).collect::<Vec<_>>());
    // Slots run over the partitions of the group first: slot k is index[k mod 16][k div 16].
    let mut index = vec![0u16; 64];
    for p in 0..32 {
        for c in 0..2 {
            index[p * 2 + c] = ((p % 16 + 5 * c + p / 16) % 7) as u16;
        }
    }
    let i = Tensor::of(Dtype::Uint16, &[32, 2], &index);
    let mut y = Tensor::filled(Dtype::Uint16, &[32, 40], 0);
    indirect_copy(20, &x.src(), &i.src(), &mut y.dst()).unwrap();
    let got = y.values::<u16>();
    for p in 0..32 {
        for k in 0..20 {
            let at = index[(p / 16 * 16 + k % 16) * 2 + k / 16];
            for e in 0..2 {
                assert_eq!(got[p * 40 + 2 * k + e], (p * 8 + usize::from(at) + e) as u16, "{p} {k} {e}");
            }
        }
    }
}

#[test]
fn indirect_copy_checks_its_operands() {
    let x = Tensor::filled(Dtype::Uint16, &[16, 8], 0);
    let mut i = Tensor::filled(Dtype::Uint16, &[16, 1], 0);
    i.bytes[6] = 8;
    let mut y = Tensor::filled(Dtype::Uint16, &[16, 16], 0);
    let e = indirect_copy(16, &x.src(), &i.src(), &mut y.dst()).unwrap_err();
    assert_eq!((e.code(), e.received_value()), (Code::S014, Some("index 8, bound 8")));
    assert_eq!(indirect_copy(17, &x.src(), &i.src(), &mut y.dst()).unwrap_err().code(), Code::S008);
    assert_eq!(indirect_copy(u64::MAX, &x.src(), &i.src(), &mut y.dst()).unwrap_err().code(), Code::S008);
    assert_eq!(indirect_copy(0, &x.src(), &i.src(), &mut y.dst()).unwrap_err().code(), Code::S002);
    assert_eq!(indirect_copy(3, &x.src(), &i.src(), &mut y.dst()).unwrap_err().code(), Code::S002);
    let wrong = Tensor::filled(Dtype::Int32, &[16, 1], 0);
    assert_eq!(indirect_copy(16, &x.src(), &wrong.src(), &mut y.dst()).unwrap_err().code(), Code::S007);
}

#[test]
fn item_2_the_base_address_of_the_table_counts() {
    let bias = birsim_kernels::indirect::ADDRESS_BIAS;
    let values = Tensor::of(Dtype::Float32, &[2, 2], &[1f32, 2., 3., 4.]);
    let idx = Tensor::of(Dtype::Int32, &[2], &[0, 1]);
    let mut t = Tensor::filled(Dtype::Float32, &[8], 0);
    let run = |t: &mut Tensor, base: i64| {
        let p = SaveAccumulate { num_indices: 2, entry_step_elements: 2, op: AluOp::Add, base: Some(base) };
        let mut table = Table { address: 4096, ..t.dst().into() };
        save_accumulate(&p, &values.src(), &idx.src(), &mut table, &P)
    };
    run(&mut t, bias + 4096 + 12).unwrap();
    assert_eq!(t.values::<f32>(), [0., 0., 0., 1., 2., 3., 4., 0.]);
    for (base, code) in
        [(bias + 4096 + 24, Code::S014), (bias + 4096 - 4, Code::S014), (12, Code::S014), (bias + 4098, Code::S014)]
    {
        assert_eq!(run(&mut t, base).unwrap_err().code(), code, "{base}");
    }
    assert_eq!(run(&mut t, i64::MIN).unwrap_err().code(), Code::S014);
}

#[test]
fn item_2_addresses_between_elements_are_faults() {
    let bias = birsim_kernels::indirect::ADDRESS_BIAS;
    let x = Tensor::of(Dtype::Float32, &[4], &[1f32, 2., 3., 4.]);
    let i = Tensor::of(Dtype::Int64, &[1], &[bias + 6]);
    let mut y = Tensor::filled(Dtype::Float32, &[1], 0);
    let e = load(&(&x.src()).into(), &i.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S014);
    assert!(e.received_value().unwrap().starts_with("2 bytes past the start"), "{e:?}");
}
