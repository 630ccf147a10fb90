//! What a key accepts, in words, for messages about keys that are missing and for the listing of an opcode.

use super::{AddressSpace, Engine, FieldType, MemoryType};
use birsim_kernels::{Dtype, EnumDef, Named};

/// What a required key of a record accepts, for keys that do not belong to an opcode.
pub(crate) fn of_key(key: &str) -> String {
    let fixed = match key {
        "version" => "1 or 2",
        "functions" => "a list of functions",
        "memorylocations" => "a list of memory locations",
        "opcode" => "the name of an InstructionType, as `birsim ops` lists them",
        "kind" => {
            "one of physical_ap, symbolic_ap, symbolic_pwap, register_ap, imm_value, symbolic_imm_value, imm_array, \
             register_access"
        }
        "Skind" => "one of memory_location_set, memory_location, register",
        "ap" => "a list of [step, num] pairs of integers, partitions first",
        "addrs" => "a list of expressions, one for each dimension of the tensor",
        "value" => "a number, or one of \"nan\", \"inf\", \"-inf\"",
        "value_list" | "value_array" => "a list of numbers",
        "id" => "an integer from 0 to 255",
        "tensor_shape" => "a list of positive integers",
        "dims" => "[partitions, bytes per partition], both positive",
        "expr" | "var" | "numer" | "denom" => "an expression, or an integer",
        "ub" | "scale" | "iteration_id" | "channel_id" | "arg_id" | "op_param" => "an integer",
        "engine" => return names(Engine::DEF),
        "dtype" => return names(Dtype::DEF),
        "type" => return names(MemoryType::DEF),
        "addr_space" => return names(AddressSpace::DEF),
        "regref" => "the name of a register",
        "axis" => "the name of a loop axis",
        _ => "a text",
    };
    fixed.to_owned()
}

/// What an own key of an opcode accepts.
pub fn of_type(ty: FieldType) -> String {
    let fixed = match ty {
        FieldType::Bool => "true or false",
        FieldType::Int(i64::MIN, i64::MAX) => "an integer",
        FieldType::Int(lo, hi) => return format!("an integer from {lo} to {hi}"),
        FieldType::Bits => "an integer of 64 bits",
        FieldType::Float => "a number, or one of \"nan\", \"inf\", \"-inf\"",
        FieldType::Str => "a text",
        FieldType::Enum(def) => return names(def),
        FieldType::Enums(def) => return format!("a list, each element {}", names(def)),
        FieldType::Ints => "a list of integers",
        FieldType::Exprs => "a list of expressions or integers",
        FieldType::Floats => "a list of numbers",
        FieldType::Strs => "a list of texts",
        FieldType::Axes => "a list of names of loop axes",
        FieldType::Pairs => "a list of [step, num] pairs of integers",
        FieldType::Groups => "a list of lists of integers",
        FieldType::Map => "an object from names to names",
        FieldType::Expr => "an expression, or an integer",
        FieldType::Axis => "an axis, {\"name\", \"lb\", \"ub\", \"stride\"}",
        FieldType::Json => "any value",
    };
    fixed.to_owned()
}

fn names(def: &EnumDef) -> String {
    let names: Vec<&str> = def.values.iter().map(|(_, name)| *name).collect();
    format!("one of {}", names.join(", "))
}

/// The advice at a key that is missing.
pub(crate) fn add(key: &str, accepted: &str) -> String {
    format!("add `{key}`: {accepted}; there is no default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Opcode;

    #[test]
    fn item_14_every_type_of_a_required_key_is_described() {
        let fields = Opcode::all().flat_map(|o| o.row().fields);
        for field in fields {
            assert!(!of_type(field.ty).is_empty(), "{}", field.key);
        }
        assert_eq!(of_type(FieldType::U8), "an integer from 0 to 255");
        assert!(of_key("engine").contains("Pool"), "{}", of_key("engine"));
        assert_eq!(add("version", &of_key("version")), "add `version`: 1 or 2; there is no default");
    }
}
