//! Piecewise tables: a table made for the test, evaluated by hand.

use birsim_kernels::Code;
use birsim_kernels::activation::ActivationFunctionType as F;
use birsim_kernels::activation::pwp::{Table, Tables};

fn bits(v: f32) -> String {
    format!("{{\"decimal\": {v}, \"int\": {}, \"hex\": \"{:08x}\"}}", v.to_bits(), v.to_bits())
}

fn section(x: f32, d: [f32; 4]) -> String {
    let parts: Vec<String> = d.iter().enumerate().map(|(i, v)| format!("\"d{i}\": {}", bits(*v))).collect();
    format!("{{\"x\": {}, {}}}", bits(x), parts.join(", "))
}

fn saturation(e: i64, m: i64, value: f32) -> String {
    format!("{{\"sat_point\": {e}, \"mantissa_point\": {m}, \"section\": {}}}", section(0.0, [value, 0.0, 0.0, 0.0]))
}

/// One binade [1, 2) in two sections on the positive side, one section on the negative side.
fn table(symmetry: bool, invert: bool, negative: bool) -> String {
    let pos = format!(
        "[{{\"exponent\": 0, \"extract_size\": 1, \"note\": \"ignored\", \"sections\": [{}, {}]}}]",
        section(1.25, [1.0, 2.0, 3.0, 4.0]),
        section(1.75, [10.0, 0.0, 0.0, 0.0])
    );
    let neg =
        format!("[{{\"exponent\": 0, \"extract_size\": 0, \"sections\": [{}]}}]", section(-1.5, [-5.0, 1.0, 0.0, 0.0]));
    format!(
        "{{\"symmetry_en\": {symmetry}, \"symmetry_invert_sign_opt\": {invert}, \"symmetry_opt_use_neg_region\": {negative},
          \"symmetry_point\": {}, \"zero_result\": {}, \"nan_result\": {}, \"pinf_result\": {}, \"ninf_result\": {},
          \"pos_exponents\": {pos}, \"neg_exponents\": {neg},
          \"saturation_points\": {{\"sat_point_pos_high\": {}, \"sat_point_pos_low\": {},
                                   \"sat_point_neg_high\": {}, \"sat_point_neg_low\": {}}}}}",
        bits(100.0),
        bits(0.25),
        bits(f32::NAN).replace("NaN", "null"),
        bits(7.0),
        bits(-7.0),
        saturation(128, 0x40_0000, 77.0),
        saturation(126, 0x7F_FFFF, 11.0),
        saturation(130, 0, -77.0),
        saturation(120, 0, -11.0),
    )
}

fn eval(symmetry: bool, invert: bool, negative: bool, v: f32) -> f32 {
    Table::from_json(&table(symmetry, invert, negative)).unwrap().eval(v).unwrap()
}

#[test]
fn sections_are_cubics_around_their_point() {
    let t = 1.125f32 - 1.25;
    let want = (f64::from(t).powi(3) * 4.0 + (f64::from(1.0 + t * 2.0) + f64::from(t * t) * 3.0)) as f32;
    assert_eq!(eval(false, false, false, 1.125), want);
    assert_eq!(eval(false, false, false, 1.5), 10.0);
    assert_eq!(eval(false, false, false, -1.75), -5.25);
}

#[test]
fn thresholds_compare_exponent_then_mantissa() {
    assert_eq!(eval(false, false, false, 3.0), 77.0);
    assert_eq!(eval(false, false, false, 1e15), 77.0);
    assert_eq!(eval(false, false, false, 0.99999994), 11.0);
    assert_eq!(eval(false, false, false, 1e-40), 11.0);
    assert_eq!(eval(false, false, false, -8.0), -77.0);
    assert_eq!(eval(false, false, false, -0.001), -11.0);
    // Between the thresholds a binade without sections is the documented assertion.
    let t = Table::from_json(&table(false, false, false)).unwrap();
    assert_eq!(t.eval(2.5).unwrap_err().code(), Code::S008);
    assert_eq!(t.eval(-4.0).unwrap_err().code(), Code::S008);
}

#[test]
fn specials_come_from_the_header() {
    assert_eq!(eval(false, false, false, 0.0), 0.25);
    assert_eq!(eval(false, false, false, -0.0), 0.25);
    assert_eq!(eval(false, false, false, f32::INFINITY), 7.0);
    assert_eq!(eval(false, false, false, f32::NEG_INFINITY), -7.0);
    // A NaN is not caught: it takes the high section by its bits and stays a NaN.
    assert!(eval(false, false, false, f32::NAN).is_nan());
    assert!(Table::from_json(&table(false, false, false)).unwrap().nan_result().is_nan());
}

#[test]
fn symmetry_reflects_and_shifts() {
    assert_eq!(eval(true, false, false, 1.5), 10.0);
    assert_eq!(eval(true, false, false, -1.5), 110.0);
    assert_eq!(eval(true, true, false, -1.5), 90.0);
    assert_eq!(eval(true, false, true, 1.75), -5.25);
    assert_eq!(eval(true, true, true, -1.75), 105.25);
}

#[test]
fn damaged_tables_are_reported() {
    let good = table(false, false, false);
    for (from, to, code) in [
        ("\"symmetry_en\": false", "\"symmetry_en\": 3", Code::J002),
        ("zero_result", "zero_results", Code::J003),
        ("\"extract_size\": 1", "\"extract_size\": 2", Code::J011),
        ("\"extract_size\": 1", "\"extract_size\": -5", Code::J011),
        ("\"extract_size\": 1", "\"extract_size\": 64", Code::J011),
        ("\"exponent\": 0", "\"exponent\": 9223372036854775807", Code::J011),
        ("\"int\": ", "\"inch\": ", Code::J002),
        ("\"sections\": [", "\"sections\": 3, \"x\": [", Code::J002),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        assert_eq!(Table::from_json(&bad).unwrap_err().code(), code, "{to}");
    }
    assert_eq!(Table::from_json("{").unwrap_err().code(), Code::J001);
    assert_eq!(Table::from_json("[]").unwrap_err().code(), Code::J003);
}

#[test]
fn a_directory_is_loaded_by_file_name() {
    let dir = std::env::temp_dir().join(format!("birsim-pwp-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for name in ["exp_400p.json", "reciprocal_sqrt_40000p.json", "leaky_relu_1p.json", "prelu_1p.json"] {
        std::fs::write(dir.join(name), table(false, false, false)).unwrap();
    }
    std::fs::write(dir.join("notes.txt"), "not a table").unwrap();
    std::fs::write(dir.join("exp.json"), "not a table").unwrap();
    let tables = Tables::load(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
    let tables = tables.unwrap();
    for f in [F::Exp, F::Rsqrt, F::Lrelu] {
        assert_eq!(tables.get(f).unwrap().eval(1.5).unwrap(), 10.0);
    }
    assert!(tables.get(F::Tanh).is_none() && tables.get(F::Prelu).is_none());
    assert_eq!(Tables::load(&dir).unwrap_err().code(), Code::F001);
}
