//! Tensors as `ndarray` arrays.

mod common;

use birsim_engine::{Code, Cores, Simulator};
use common::*;
use ndarray::{Array2, ArrayD, Axis, arr1, arr2};
use serde_json::{Value as Json, json};

fn program(dtype: &'static str) -> Json {
    let (x, o) = (T("x", "ExternalInput", "DRAM", dtype, 2, 3), T("o", "ExternalOutput", "DRAM", dtype, 2, 3));
    let i = inst("copy", "DMACopy", "DMA", json!([all(&x)]), json!([all(&o)]), json!({"mode": "Copy"}));
    module(vec![x.record(), o.record()], vec![i])
}

#[test]
fn a_typed_view_goes_in_and_a_typed_array_comes_out() {
    let mut sim = loaded(Simulator::builder(), &program("float32")).unwrap();
    let x = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    sim.bind_array("x", x.view()).unwrap();
    sim.run().unwrap();
    assert_eq!(sim.output_array::<f32>("o").unwrap(), x.into_dyn());
}

#[test]
fn a_view_of_any_layout_arrives_in_row_major_order() {
    let mut sim = loaded(Simulator::builder(), &program("int16")).unwrap();
    let wide = Array2::from_shape_fn((6, 2), |(r, c)| (10 * r + c) as i16);
    let turned = wide.t();
    let view = turned.slice_axis(Axis(1), ndarray::Slice::new(1, None, -2));
    sim.bind_array("x", view).unwrap();
    sim.run().unwrap();
    assert_eq!(sim.output_array::<i16>("o").unwrap(), arr2(&[[50, 30, 10], [51, 31, 11]]).into_dyn());
}

#[test]
fn several_cores_share_the_arrays_of_their_tensors() {
    let text = program("bfloat16").to_string();
    let module = birsim_engine::format::read(text.as_bytes()).unwrap();
    let mut cores = Cores::load(&Simulator::builder(), &[module]).unwrap();
    let x = ArrayD::from_elem(vec![2, 3], half::bf16::from_f32(1.5));
    cores.bind_array("x", x.view()).unwrap();
    cores.run().unwrap();
    assert_eq!(cores.output_array::<half::bf16>("o").unwrap(), x);
}

#[test]
fn another_name_type_or_shape_is_refused() {
    let mut sim = loaded(Simulator::builder(), &program("float32")).unwrap();
    let x = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let code = |r: Result<(), birsim_engine::Error>| r.unwrap_err().code();
    assert_eq!(code(sim.bind_array("y", x.view())), Code::F006);
    assert_eq!(code(sim.bind_array("x", x.mapv(|v| v as i32).view())), Code::F004);
    assert_eq!(code(sim.bind_array("x", x.t())), Code::F004);
    assert_eq!(code(sim.bind_array("x", arr1(&[1.0f32; 6]).view())), Code::F004);
    assert_eq!(code(sim.output_array::<u32>("o").map(drop)), Code::F004);
    assert_eq!(code(sim.output_array::<f32>("nothing").map(drop)), Code::F006);
}
