//! Max, MaxIndex, MatchReplace, MaxIndexAndMatchReplace, NonzeroWithCount and Gather.

mod views;
use birsim_kernels::gather::gather;
use birsim_kernels::search::{match_replace, max_index, max8, nonzero_with_count};
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();
const NAN: f32 = f32::NAN;

fn top(data: &[f32]) -> Vec<f32> {
    let x = Tensor::f32(&[1, data.len() as u32], data);
    let mut y = Tensor::filled(Dtype::Float32, &[1, 8], 0);
    max8(&x.src(), &mut y.dst(), &P).unwrap();
    y.values()
}

/// The documented loop, word for word.
fn reference(data: &[f32]) -> Vec<f32> {
    let (mut slot, mut valid) = ([0f32; 8], [false; 8]);
    for d in data {
        let mut carry = *d;
        for k in 0..8 {
            if !valid[k] {
                (slot[k], valid[k]) = (carry, true);
                break;
            }
            if carry > slot[k] {
                std::mem::swap(&mut slot[k], &mut carry);
            }
        }
    }
    slot.to_vec()
}

fn bits(v: &[f32]) -> Vec<u32> {
    v.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn max_sorts_descending_and_keeps_duplicates() {
    let data = [3., 1., 4., 1., 5., 9., 2., 6., 5., 3., 5.];
    assert_eq!(top(&data), [9., 6., 5., 5., 5., 4., 3., 3.]);
    assert_eq!(top(&[-1., -2., -3., -4., -5., -6., -7., -8.]), [-1., -2., -3., -4., -5., -6., -7., -8.]);
}

#[test]
fn d30_ties_and_nan_follow_the_documented_loop() {
    // A NaN keeps its slot, and protects the slots after it from equal values only.
    let got = top(&[1., NAN, 2., 3., 4., 5., 6., 7., 8., 9.]);
    assert_eq!(bits(&got), bits(&reference(&[1., NAN, 2., 3., 4., 5., 6., 7., 8., 9.])));
    assert!(got[1].is_nan());
    // Zeros of either sign tie: the first one stays in front.
    assert_eq!(bits(&top(&[-0., 0., -0., 0., 0., 0., 0., 0.])), bits(&[-0., 0., -0., 0., 0., 0., 0., 0.]));
    let mut seed = 7u64;
    for _ in 0..300 {
        let data: Vec<f32> = (0..40)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                match seed >> 60 {
                    0 => NAN,
                    1 => -0.0,
                    2 => f32::NEG_INFINITY,
                    v => (v as f32) - 8.0,
                }
            })
            .collect();
        assert_eq!(bits(&top(&data)), bits(&reference(&data)), "{data:?}");
    }
}

fn find(values: &[f32; 8], data: &[f32], dtype: Dtype) -> Tensor {
    let (v, x) = (Tensor::f32(&[1, 8], values), Tensor::f32(&[1, data.len() as u32], data));
    let mut y = Tensor::filled(dtype, &[1, 8], 0);
    max_index(&v.src(), &x.src(), &mut y.dst(), &P).unwrap();
    y
}

#[test]
fn fault_03_unmatched_values_give_all_ones_and_duplicates_advance() {
    let data = [8., 5., 7., 5., 6., 4., 3., 2.];
    let values = [8., 7., 6., 5., 4., 3., 99., 2.];
    assert_eq!(find(&values, &data, Dtype::Uint32).values::<u32>(), [0, 2, 4, 1, 5, 6, 0xFFFF_FFFF, 7]);
    assert_eq!(find(&values, &data, Dtype::Uint16).values::<u16>(), [0, 2, 4, 1, 5, 6, 0xFFFF, 7]);
    let dups = [5., 5., 5., NAN, 8., 8., 2., 2.];
    let none = u32::MAX;
    assert_eq!(find(&dups, &data, Dtype::Uint32).values::<u32>(), [1, 3, none, none, 0, none, 7, none]);
}

#[test]
fn match_replace_strikes_out_one_element_per_value() {
    let data = [1., 9., 9., 2., 9., 3., NAN, -0.];
    let values = [9., 9., 3., NAN, 0., 77., 2., 2.];
    let (v, x) = (Tensor::f32(&[1, 8], &values), Tensor::f32(&[1, 8], &data));
    let mut y = Tensor::filled(Dtype::Float32, &[1, 8], 0);
    let mut i = Tensor::filled(Dtype::Uint32, &[1, 8], 0);
    match_replace(f32::NEG_INFINITY, &v.src(), &x.src(), &mut y.dst(), Some(&mut i.dst()), &P).unwrap();
    let inf = f32::NEG_INFINITY;
    assert_eq!(bits(&y.values::<f32>()), bits(&[1., inf, inf, inf, 9., inf, NAN, inf]));
    let none = u32::MAX;
    assert_eq!(i.values::<u32>(), [1, 2, 5, none, 7, none, 3, none]);
    // On the device equal values meet the data from the last slot on.
    match_replace(0., &v.src(), &x.src(), &mut y.dst(), Some(&mut i.dst()), &Profile::device()).unwrap();
    assert_eq!(i.values::<u32>(), [2, 1, 5, none, 7, none, none, 3]);
    let mut z = Tensor::filled(Dtype::Float32, &[1, 8], 0);
    match_replace(0., &v.src(), &x.src(), &mut z.dst(), None, &P).unwrap();
    assert_eq!(bits(&y.values::<f32>()), bits(&z.values::<f32>()));
}

#[test]
fn two_rounds_find_the_top_sixteen() {
    let data: Vec<f32> = (0..3000).map(|i| ((i * 7919) % 3001) as f32).collect();
    let x = Tensor::f32(&[1, 3000], &data);
    let (mut v, mut d) = (Tensor::filled(Dtype::Float32, &[1, 8], 0), Tensor::filled(Dtype::Float32, &[1, 3000], 0));
    let mut i = Tensor::filled(Dtype::Uint32, &[1, 8], 0);
    max8(&x.src(), &mut v.dst(), &P).unwrap();
    match_replace(f32::NEG_INFINITY, &v.src(), &x.src(), &mut d.dst(), Some(&mut i.dst()), &P).unwrap();
    for (value, index) in v.values::<f32>().iter().zip(i.values::<u32>()) {
        assert_eq!(data[index as usize], *value);
    }
    let mut w = Tensor::filled(Dtype::Float32, &[1, 8], 0);
    max8(&d.src(), &mut w.dst(), &P).unwrap();
    let mut sorted = data.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    assert_eq!([v.values::<f32>(), w.values::<f32>()].concat(), sorted[..16]);
}

#[test]
fn searches_check_their_sizes() {
    let mut out = Tensor::filled(Dtype::Float32, &[1, 8], 0);
    let short = Tensor::filled(Dtype::Float32, &[1, 7], 0);
    assert_eq!(max8(&short.src(), &mut out.dst(), &P).unwrap_err().code(), Code::S008);
    let long = Tensor::filled(Dtype::Float32, &[1, 16385], 0);
    assert_eq!(max8(&long.src(), &mut out.dst(), &P).unwrap_err().code(), Code::S008);
    let ok = Tensor::filled(Dtype::Float32, &[1, 9], 0);
    let mut seven = Tensor::filled(Dtype::Float32, &[1, 7], 0);
    assert_eq!(max8(&ok.src(), &mut seven.dst(), &P).unwrap_err().code(), Code::S002);
    assert_eq!(max_index(&short.src(), &ok.src(), &mut out.dst(), &P).unwrap_err().code(), Code::S002);
    assert_eq!(match_replace(0., &ok.src(), &ok.src(), &mut out.dst(), None, &P).unwrap_err().code(), Code::S002);
}

#[test]
fn nonzero_lists_positions_on_every_sixteenth_partition() {
    let mut values = vec![1i32; 18 * 4];
    values[..4].copy_from_slice(&[0, 5, 0, i32::MIN]);
    values[64..68].copy_from_slice(&[0; 4]);
    let x = Tensor::i32(&[18, 4], &values);
    let mut y = Tensor::i32(&[18, 5], &[77; 90]);
    nonzero_with_count(100, -1, &x.src(), &mut y.dst()).unwrap();
    let got = y.values::<i32>();
    assert_eq!(got[..5], [101, 103, -1, -1, 2]);
    assert_eq!(got[80..85], [-1, -1, -1, -1, 0]);
    assert!(got[5..80].iter().chain(&got[85..]).all(|v| *v == 77));
    let x = Tensor::f32(&[1, 3], &[-0.0, f32::NAN, 1e-40]);
    let mut y = Tensor::filled(Dtype::Int32, &[1, 4], 0);
    nonzero_with_count(0, 9, &x.src(), &mut y.dst()).unwrap();
    assert_eq!(y.values::<i32>(), [1, 2, 9, 2]);
    let mut bad = Tensor::filled(Dtype::Float32, &[1, 4], 0);
    assert_eq!(nonzero_with_count(0, 0, &x.src(), &mut bad.dst()).unwrap_err().code(), Code::S007);
    let mut bad = Tensor::filled(Dtype::Int32, &[1, 3], 0);
    assert_eq!(nonzero_with_count(0, 0, &x.src(), &mut bad.dst()).unwrap_err().code(), Code::S002);
}

#[test]
fn gather_picks_elements_of_its_partition() {
    let x = Tensor::of(Dtype::Uint16, &[2, 3], &[10u16, 11, 12, 20, 21, 22]);
    let i = Tensor::i32(&[2, 4], &[2, 2, 0, 1, 0, 0, 2, 1]);
    let mut y = Tensor::filled(Dtype::Uint16, &[2, 4], 0);
    gather(&x.src(), &i.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<u16>(), [12, 12, 10, 11, 20, 20, 22, 21]);
}

#[test]
fn fault_31_gather_errors_name_index_and_bound() {
    let x = Tensor::f32(&[1, 128], &[0.; 128]);
    let mut y = Tensor::filled(Dtype::Float32, &[1, 4], 0);
    for (indices, shown) in [([0, 127, 128, -1], "index 128, bound 128"), ([0, 1, -1, 2], "index -1, bound 128")] {
        let i = Tensor::i32(&[1, 4], &indices);
        let e = gather(&x.src(), &i.src(), &mut y.dst(), &P).unwrap_err();
        assert_eq!((e.code(), e.received_value()), (Code::S014, Some(shown)));
        assert!(e.what().contains("element 2"));
    }
    let i = Tensor::of(Dtype::Uint64, &[1, 4], &[0u64, 1, 2, u64::MAX]);
    let e = gather(&x.src(), &i.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.received_value(), Some("index 18446744073709551615, bound 128"));
    let f = Tensor::f32(&[1, 4], &[0.; 4]);
    assert_eq!(gather(&x.src(), &f.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S007);
}

#[test]
fn fault_35_wide_indices_are_never_read_as_halves() {
    let x = Tensor::f32(&[1, 6], &[0., 1., 2., 3., 4., 5.]);
    let i = Tensor::of(Dtype::Int64, &[1, 3], &[5i64, 4, 3]);
    let mut y = Tensor::filled(Dtype::Float32, &[1, 3], 0);
    gather(&x.src(), &i.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [5., 4., 3.]);
}

#[test]
fn fault_37_large_vocabularies_are_indexed_exactly() {
    for size in [1024u32, 4096, 18992, 32768, 37984, 62080] {
        let data: Vec<i32> = (0..size as i32).collect();
        let x = Tensor::i32(&[1, size], &data);
        let picks = [0, 1, size / 2, size - 1].map(|v| v as i32);
        let i = Tensor::i32(&[1, 4], &picks);
        let mut y = Tensor::filled(Dtype::Int32, &[1, 4], 0);
        gather(&x.src(), &i.src(), &mut y.dst(), &P).unwrap();
        assert_eq!(y.values::<i32>(), picks);
    }
}
