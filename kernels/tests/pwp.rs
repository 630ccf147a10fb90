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
        ("\"extract_size\": 1", "\"extract_size\": 0", Code::J011),
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

/// A number as the shipped tables hold it, in six spellings of which the integer counts.
fn tuple(v: f32) -> String {
    let b = v.to_bits();
    let decimal = if v.is_nan() {
        "NaN".into()
    } else if v.is_infinite() {
        format!("{}Infinity", if v < 0.0 { "-" } else { "" })
    } else {
        format!("{v:?}")
    };
    format!(
        "{{\"float\": {decimal}, \"int\": {b}, \"hexstring\": \"0x{b:08x}\", \"sign\": {}, \"exponent\": {}, \"mantissa\": {}}}",
        b >> 31,
        b >> 23 & 255,
        b & 0x7F_FFFF
    )
}

fn shipped_section(x: f32, d: [f32; 4]) -> String {
    let d: Vec<String> = d.iter().enumerate().map(|(k, v)| format!("\"d{k}\": {}", tuple(*v))).collect();
    format!("\"x\": {}, {}", tuple(x), d.join(", "))
}

fn octave(exponent: i32, size: u32, sections: &[(f32, [f32; 4])]) -> String {
    let list: Vec<String> = sections.iter().map(|(x, d)| format!("{{{}}}", shipped_section(*x, *d))).collect();
    format!(
        "{{\"exponent\": {exponent}, \"num_sections\": {}, \"extract_size\": {size}, \"exponent_sections\": [{}]}}",
        1 << size,
        list.join(", ")
    )
}

/// The schema of the shipped tables: an exponential of one octave that ends early and one that is empty. `scale` tells
/// tables apart.
fn shipped(scale: f32) -> String {
    let point = |e: i32, m: u32, d0: f32| {
        format!("{{\"sat_point\": {e}, \"mantissa_point\": {m}, {}}}", shipped_section(0.0, [d0, 0.0, 0.0, 0.0]))
    };
    let pos = [octave(0, 2, &[(1.125, [3.0, 1.0, 0.0, 0.0]), (1.375, [scale, 0.0, 0.0, 0.0])]), octave(1, 0, &[])];
    let neg = [octave(-1, 0, &[(-0.75, [0.5, 0.5, 0.25, 0.125])])];
    format!(
        "{{\"name\": \"exp NaN \\\"Infinity\", \"lut_size\": 3, \"symmetry_en\": 0, \"symmetry_invert_sign_opt\": 0,
          \"symmetry_opt_use_neg_region\": 0, \"symmetry_point\": {}, \"zero_result\": {}, \"nan_result\": {},
          \"pinf_result\": {}, \"ninf_result\": {}, \"pos_exponents\": [{}], \"neg_exponents\": [{}],
          \"saturation_points\": {{\"sat_point_pos_high\": {}, \"sat_point_pos_low\": {}, \"sat_point_neg_high\": {},
                                  \"sat_point_neg_low\": {}}}}}",
        tuple(0.0),
        tuple(1.0),
        tuple(f32::NAN),
        tuple(f32::INFINITY),
        tuple(f32::NEG_INFINITY),
        pos.join(", "),
        neg.join(", "),
        point(127, 0x40_0000, f32::INFINITY),
        point(126, 0, 1.0),
        point(127, 0, 0.0),
        point(125, 0, 1.0),
    )
}

#[test]
fn item_4_the_shipped_schema_is_read() {
    let t = Table::from_json(&shipped(9.0)).unwrap();
    let eval = |v: f32| t.eval(v).unwrap();
    assert_eq!((eval(1.125), eval(1.25), eval(1.4)), (3.0, 9.0, 9.0));
    // The top of the octave and everything above it saturate before a section is looked for.
    assert_eq!((eval(1.5), eval(3.0), eval(1e18)), (f32::INFINITY, f32::INFINITY, f32::INFINITY));
    assert_eq!((eval(0.0), eval(0.3), eval(-0.75), eval(-2.0)), (1.0, 1.0, 0.5, 0.0));
    assert_eq!((eval(f32::INFINITY), eval(f32::NEG_INFINITY)), (f32::INFINITY, f32::NEG_INFINITY));
    assert!(t.nan_result().is_nan());
    // An octave that ends before its saturation point begins.
    let open = shipped(9.0).replace("\"mantissa_point\": 4194304", "\"mantissa_point\": 8388607");
    let e = Table::from_json(&open).unwrap().eval(1.75).unwrap_err();
    assert_eq!(e.code(), Code::S008);
    let long = octave(3, 0, &[(8.0, [0.0; 4]), (9.0, [0.0; 4])]);
    let e = Table::from_json(&shipped(9.0).replace("\"pos_exponents\": [", &format!("\"pos_exponents\": [{long}, ")))
        .unwrap_err();
    assert_eq!(e.code(), Code::J011);
}

#[test]
fn item_4_the_function_map_chooses_the_file() {
    let dir = std::env::temp_dir().join(format!("birsim-pwp-map-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for (name, scale) in
        [("exp_777p.json", 7.0), ("exp_400p.json", 4.0), ("exp_1000p.json", 1.0), ("tanh_5p.json", 5.0)]
    {
        std::fs::write(dir.join(name), shipped(scale)).unwrap();
    }
    let tables = Tables::load(&dir).unwrap();
    assert_eq!(tables.get(F::Exp).unwrap().eval(1.3).unwrap(), 4.0);
    assert_eq!(tables.get(F::Tanh).unwrap().eval(1.3).unwrap(), 5.0);
    std::fs::write(dir.join("tanh_6p.json"), shipped(6.0)).unwrap();
    let e = Tables::load(&dir).unwrap_err();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!((e.code(), e.received_value()), (Code::F001, Some("tanh_5p.json, tanh_6p.json")));
}
