//! The typed records that the rows generate.

use birsim_ir::opcodes::{field, params};
use birsim_ir::{EngineAccumulation, Keys, Params, Value};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Code, Error, Result};

/// Keys as a list of integers, floats and other values.
struct List(Vec<Value>);

impl Keys for List {
    fn int(&self, k: usize) -> Result<Option<i64>> {
        Ok(match &self.0[k] {
            Value::Int(v) => Some(*v),
            Value::Json(_) => None,
            _ => return Err(self.error(k, "is not an integer")),
        })
    }

    fn float(&self, k: usize) -> Result<Option<f64>> {
        match &self.0[k] {
            Value::Float(x) => Ok(Some(*x)),
            _ => Ok(self.int(k)?.map(|v| v as f64)),
        }
    }

    fn ints(&self, _: usize) -> Result<Option<Box<[i64]>>> {
        Ok(None)
    }

    fn value(&self, k: usize) -> Option<&Value> {
        Some(&self.0[k]).filter(|v| !matches!(v, Value::Json(_)))
    }

    fn error(&self, k: usize, what: &str) -> Error {
        Error::new(Code::J003, format!("key {k} {what}"))
    }
}

fn absent() -> Value {
    Value::Json(serde_json::Value::Null)
}

#[test]
fn a_record_has_the_types_of_its_row() {
    let add = AluOp::Add as i64;
    let keys = List([add, 2, 1, 0, 3, 0].map(Value::Int).to_vec());
    let p = params::TensorScalar::decode(&keys).unwrap();
    assert_eq!(
        (p.op0, p.const0, p.reverse0, p.op1, p.const1, p.reverse1),
        (AluOp::Add, 2.0, true, AluOp::Bypass, 3.0, false)
    );
    // A key whose default is that it is absent is optional.
    let mut keys = vec![absent(); field::DMADescriptorCCE::COUNT];
    keys[field::DMADescriptorCCE::num_tiling_dimensions] = Value::Int(0);
    keys[field::DMADescriptorCCE::op] = Value::Int(add);
    assert_eq!(params::DMADescriptorCCE::decode(&List(keys.clone())).unwrap().constants, None);
    keys[field::DMADescriptorCCE::constants] = Value::Floats(vec![0.5]);
    assert_eq!(params::DMADescriptorCCE::decode(&List(keys)).unwrap().constants, Some(Box::from([0.5])));
}

#[test]
fn a_value_that_does_not_fit_is_an_error_of_its_key() {
    let keys = |op: Value, acc: Value| List(vec![op, acc]);
    let told = |keys: List| params::TensorTensor::decode(&keys).unwrap_err().what().to_string();
    assert_eq!(told(keys(absent(), Value::Int(0))), "key 0 is missing");
    assert_eq!(told(keys(Value::Int(99), Value::Int(0))), "key 0 has no such value");
    assert_eq!(told(keys(Value::Str("add".into()), Value::Int(0))), "key 0 is not an integer");
    // Members are as wide as their range.
    let told = params::CollectiveRecv::decode(&List(vec![absent(), Value::Int(-1)])).unwrap_err();
    assert_eq!(told.what(), "key 1 is 0 to 4294967295");
    let p = params::TensorTensor::decode(&keys(Value::Int(4), Value::Int(2))).unwrap();
    assert_eq!(p.acc, EngineAccumulation::Accumulate);
}
