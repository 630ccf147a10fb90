//! The batch-normalisation family: 34 to 38.

mod views;

use birsim_kernels::batchnorm::*;
use birsim_kernels::{Code, Dtype, Profile};
use views::Tensor;

const P: Profile = Profile::reference();

fn stats(x: &Tensor) -> Vec<f32> {
    let mut y = Tensor::filled(Dtype::Float32, &[x.shape[0], 6], 0);
    bn_stats(&BnStats::default(), &x.src(), &mut y.dst(), &P).unwrap();
    y.values()
}

fn aggregate(stats: &[f32], lanes: u32) -> birsim_kernels::Result<Vec<f32>> {
    let s = Tensor::f32(&[lanes, stats.len() as u32 / lanes], stats);
    let mut y = Tensor::filled(Dtype::Float32, &[lanes, 2], 0);
    bn_stats_aggregate(&s.src(), &mut y.dst(), &P)?;
    Ok(y.values())
}

fn close(got: &[f32], want: &[f32]) {
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).abs() <= 2e-5 + 2e-5 * b.abs(), "{got:?} is not {want:?}");
    }
}

#[test]
fn stats_of_two_interleaved_halves() {
    let x = Tensor::f32(&[1, 7], &[-2.3961804, 0.77300155, -2.328359, 1.6487572, 1.5838193, -0.99645174, 4.5512366]);
    close(&stats(&x), &[4.0, 0.35262913, 33.887787, 3.0, 0.47510225, 3.6316812]);
    // One and no element: the other half stays empty.
    assert_eq!(stats(&Tensor::f32(&[1, 1], &[5.0])), [1.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(stats(&Tensor::f32(&[1, 0], &[])), [0.0; 6]);
}

#[test]
fn d29_the_shared_count_grows_at_even_elements() {
    // Third pair: weights 1/3 for both halves; a count that grew at odd elements would divide lane A by zero first.
    let got = stats(&Tensor::f32(&[1, 6], &[3.0, 30.0, 6.0, 60.0, 9.0, 90.0]));
    assert_eq!([got[0], got[3]], [3.0, 3.0]);
    close(&got, &[3.0, 6.0, 18.0, 3.0, 60.0, 1800.0]);
}

#[test]
fn stats_follow_the_recurrence_bit_for_bit_across_pieces() {
    let values: Vec<f32> = (0..2501).map(|i| ((i * 7919) % 1009) as f32 * 0.37 - 100.0).collect();
    let (mut n, mut out) = (0.0f32, [0.0f32; 6]);
    (out[0], out[3]) = (1251.0, 1250.0);
    for (i, x) in values.iter().enumerate() {
        let l = 3 * (i & 1);
        if l == 0 {
            n += 1.0;
        }
        let r = 1.0 / n;
        let old = out[l + 1];
        let new = (1.0 - r) * old + r * x;
        out[l + 1] = new;
        out[l + 2] += (x - new) * (x - old);
    }
    assert_eq!(stats(&Tensor::f32(&[1, 2501], &values)), out);
}

#[test]
fn variance_of_large_neighbours_is_two_thirds() {
    let s = stats(&Tensor::f32(&[1, 3], &[10000.0, 10001.0, 10002.0]));
    let got = aggregate(&s, 1).unwrap();
    assert_eq!(got[0], 10001.0);
    assert!((got[1] - 2.0 / 3.0).abs() < 1e-6, "{got:?}");
}

#[test]
fn aggregate_merges_tiles_into_population_variance() {
    let tiles: Vec<Vec<f32>> = (0..3).map(|t| (0..8).map(|i| ((i * 5 + t * 3) % 7) as f32 - 2.5).collect()).collect();
    let merged: Vec<f32> = tiles.iter().flat_map(|t| stats(&Tensor::f32(&[1, 8], t))).collect();
    let all: Vec<f64> = tiles.concat().iter().map(|v| f64::from(*v)).collect();
    let mean = all.iter().sum::<f64>() / 24.0;
    let var = all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 24.0;
    close(&aggregate(&merged, 1).unwrap(), &[mean as f32, var as f32]);
    assert_eq!(aggregate(&merged[..9], 1).unwrap_err().code(), Code::S002);
}

#[test]
fn transpose_takes_statistics_over_partitions() {
    let x: Vec<f32> = (0..32 * 64).map(|i| ((i * 31) % 97) as f32).collect();
    let swapped: Vec<f32> = (0..32 * 64)
        .map(|i| {
            let (p, e) = (i / 64, i % 64);
            x[(e % 32) * 64 + (e / 32 * 32 + p)]
        })
        .collect();
    let (x, swapped) = (Tensor::f32(&[32, 64], &x), Tensor::f32(&[32, 64], &swapped));
    let mut y = Tensor::filled(Dtype::Float32, &[32, 6], 0);
    let t = BnStats { apply_transpose: true };
    bn_stats(&t, &x.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), stats(&swapped));
    let edge = Tensor::f32(&[32, 33], &[0.0; 32 * 33]);
    assert_eq!(bn_stats(&t, &edge.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S008);
    // One element per partition: nothing to swap.
    let column = Tensor::f32(&[3, 1], &[1.0, 2.0, 3.0]);
    let mut y = Tensor::filled(Dtype::Float32, &[3, 6], 0);
    bn_stats(&t, &column.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), stats(&column));
}

#[test]
fn gradients_are_three_sums() {
    let x = Tensor::f32(&[1, 8], &[4.0, -4.0, 4.0, -4.0, -1.0, 2.0, 1.0, -4.0]);
    let dy = Tensor::f32(&[1, 8], &[1.0, 2.0, -2.0, 2.0, -1.0, 1.0, -2.0, 3.0]);
    let (mean, vf) = (Tensor::f32(&[1, 1], &[4.0]), Tensor::f32(&[1, 1], &[1.0]));
    let mut y = Tensor::filled(Dtype::Float32, &[1, 3], 0);
    bn_gradients(&x.src(), &dy.src(), &mean.src(), &vf.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [4.0, -47.0, -47.0]);
    let x = Tensor::f32(&[1, 8], &[3.0, -3.0, 4.0, -1.0, 4.0, 4.0, -2.0, 4.0]);
    let dy = Tensor::f32(&[1, 8], &[4.0, 0.0, 0.0, 0.0, 4.0, -2.0, -2.0, 3.0]);
    let (mean, vf) = (Tensor::f32(&[1, 1], &[-3.0]), Tensor::f32(&[1, 1], &[-2.0]));
    bn_gradients(&x.src(), &dy.src(), &mean.src(), &vf.src(), &mut y.dst(), &P).unwrap();
    assert_eq!(y.values::<f32>(), [7.0, 228.0, -114.0]);
    let e = bn_gradients(&x.src(), &dy.src(), &x.src(), &vf.src(), &mut y.dst(), &P).unwrap_err();
    assert_eq!(e.code(), Code::S002);
}

#[test]
fn d11_both_backprop_layouts_give_the_same_dx() {
    let dy = [2.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0, -2.0, -1.0, -1.0, 0.0, -3.0, -3.0, 0.0, -4.0, 0.0];
    let x = [0.0, 0.0, 2.0, -3.0, -3.0, -2.0, 0.0, 1.0, 4.0, -3.0, 3.0, -4.0, 1.0, 0.0, -3.0, 3.0];
    let want = [38.0, 38.0, 18.0, 28.0, 28.0, 10.0, 6.0, -28.0, 16.0, -40.0, -8.0, -16.0, 24.0, -32.0, 8.0, -8.0];
    let (x, dy) = (Tensor::f32(&[2, 8], &x), Tensor::f32(&[2, 8], &dy));
    let mean = Tensor::f32(&[2, 1], &[0.0, 4.0]);
    let joint = Tensor::f32(&[2, 3], &[2.0, -3.0, 1.0, -2.0, 0.0, 4.0]);
    let (scale, ab) = (Tensor::f32(&[2, 1], &[2.0, -2.0]), Tensor::f32(&[2, 2], &[-3.0, 1.0, 0.0, 4.0]));
    let p = BnBackprop { total_elements: 8.0 };
    let (joint, scale, ab) = (joint.src(), scale.src(), ab.src());
    for g in [Gradients::Joint(&joint), Gradients::Split(&scale, &ab)] {
        let mut y = Tensor::filled(Dtype::Float32, &[2, 8], 0);
        bn_backprop(&p, &x.src(), &dy.src(), g, &mean.src(), &mut y.dst(), &P).unwrap();
        assert_eq!(y.values::<f32>(), want);
    }
    let mut y = Tensor::filled(Dtype::Float32, &[2, 8], 0);
    let wrong = Gradients::Joint(&ab);
    assert_eq!(
        bn_backprop(&p, &x.src(), &dy.src(), wrong, &mean.src(), &mut y.dst(), &P).unwrap_err().code(),
        Code::S002
    );
}

#[test]
fn shapes_and_dtypes_are_checked() {
    let x = Tensor::f32(&[2, 4], &[0.0; 8]);
    let mut y = Tensor::filled(Dtype::Float32, &[2, 5], 0);
    assert_eq!(bn_stats(&BnStats::default(), &x.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S002);
    let mut y = Tensor::filled(Dtype::Float32, &[1, 6], 0);
    assert_eq!(bn_stats(&BnStats::default(), &x.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S002);
    let mut y = Tensor::filled(Dtype::Uint64, &[2, 6], 0);
    assert_eq!(bn_stats(&BnStats::default(), &x.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S007);
    let packed = Tensor::filled(Dtype::Float8E4m3fnX4, &[2, 4], 0);
    let mut y = Tensor::filled(Dtype::Float32, &[2, 6], 0);
    assert_eq!(bn_stats(&BnStats::default(), &packed.src(), &mut y.dst(), &P).unwrap_err().code(), Code::S007);
    let mut narrow = Tensor::filled(Dtype::Bfloat16, &[2, 6], 0);
    bn_stats(&BnStats::default(), &x.src(), &mut narrow.dst(), &P).unwrap();
    assert_eq!(narrow.values::<u16>()[0], 0x4000);
}
