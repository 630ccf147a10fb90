//! An operand that the form of an opcode does not use is invalid, and so are index operands of an opcode that
//! has no address to drive with them.

use birsim_ir::table::Absence;
use birsim_ir::validate::validate;
use birsim_ir::{
    Block, DynamicAp, Engine, Extra, Function, ImmValue, Instruction, Module, Opcode, Operand, Role, RouteClass, Rule,
    Value, When,
};
use birsim_kernels::{Code, Dtype};

/// An operand of a kind that the role accepts. Names dangle: this test looks at counts only.
fn operand(role: &Role) -> Operand {
    match role.kinds.chars().next() {
        Some('i') => Operand::Imm { dtype: Dtype::Float32, value: ImmValue::Float(0.0), extra: Extra::new() },
        Some('r') => Operand::Register { dtype: Dtype::Uint32, regref: "r".into(), extra: Extra::new() },
        _ => pattern(),
    }
}

fn pattern() -> Operand {
    let json = br#"{"version": 2, "functions": [{"name": "main", "blocks": [{"name": "b", "instructions": [
        {"opcode": "Memset", "name": "i", "engine": "DVE", "mode": "Const", "constant": 0, "ins": [], "outs": [
            {"kind": "physical_ap", "dtype": "float32", "memref": "x", "memsetref": "x_set", "offset": 0, "ap": [[1, 1]]}
        ]}]}]}]}"#;
    let module = birsim_ir::format::parse(json).unwrap_or_else(|e| panic!("{e}"));
    module.functions[0].blocks[0].instructions[0].outs[0].clone()
}

/// The least operands that the row asks for.
fn least(opcode: Opcode) -> Instruction {
    let row = opcode.row();
    let mut i = Instruction::new("i", opcode, Engine::Dve);
    let needed = |roles: &[&'static str]| {
        let roles: Vec<Role> = roles.iter().map(|r| Role::parse(r)).collect();
        roles.iter().filter(|r| !r.optional && !r.repeated).map(operand).collect::<Vec<_>>()
    };
    i.ins = needed(row.ins);
    i.outs = needed(row.outs);
    i
}

/// Messages about operands that are too many.
fn surplus(i: Instruction) -> Vec<String> {
    let block = Block { name: "b".into(), arguments: Vec::new(), instructions: vec![i], extra: Extra::new() };
    let function = Function {
        name: "main".into(),
        attributes: Extra::new(),
        allocations: Vec::new(),
        blocks: vec![block],
        arguments: Vec::new(),
        extra: Extra::new(),
    };
    let mut module = Module::new(None);
    module.functions.push(function);
    let errors = validate(&module).err().unwrap_or_default();
    let about = |m: &str| m.contains("does not use") || m.contains(" takes ") || m.contains("no address ");
    errors.iter().filter(|e| e.code() == Code::J009).map(|e| e.what().to_string()).filter(|m| about(m)).collect()
}

fn set(i: &mut Instruction, key: &str, value: i64) {
    let row = i.opcode.row();
    let k = row.field_index(key).unwrap();
    i.fields[k] = Some(match (row.fields[k].ty, row.fields[k].default) {
        (birsim_ir::FieldType::Bool, _) => Value::Bool(value != 0),
        (birsim_ir::FieldType::Enum(_), _) => Value::Enum(value as u8),
        (_, Absence::Float(_)) => Value::Float(value as f64),
        _ => Value::Int(value),
    });
}

fn runnable() -> impl Iterator<Item = Opcode> {
    Opcode::all().filter(|o| o.row().class != RouteClass::Abstract)
}

#[test]
fn d59_the_operands_a_row_names_are_all_it_takes() {
    for opcode in runnable() {
        let row = opcode.row();
        assert_eq!(surplus(least(opcode)), Vec::<String>::new(), "{opcode}");
        for list in 0..2 {
            let roles = if list == 0 { row.ins } else { row.outs };
            if roles.iter().any(|r| Role::parse(r).repeated) {
                continue;
            }
            let mut i = least(opcode);
            let operands = if list == 0 { &mut i.ins } else { &mut i.outs };
            let filler = Role { kinds: "a", ..Role::default() };
            operands.resize_with(roles.len() + 1, || operand(&filler));
            assert!(surplus(i).iter().any(|m| m.contains(" takes ")), "{opcode} takes one more operand in list {list}");
        }
    }
}

#[test]
fn d59_index_operands_need_an_address_they_can_drive() {
    let mut open = Vec::new();
    for opcode in runnable() {
        let mut i = least(opcode);
        i.indirection_ins.push(pattern());
        if let Some(Operand::Physical(a)) = i.ins.first_mut() {
            a.dynamic = Some(Box::new(DynamicAp { indirect_arg_id: Some(0), ..DynamicAp::default() }));
        }
        if surplus(i).is_empty() {
            open.push(opcode);
        }
    }
    assert_eq!(open, [Opcode::DMACopy]);
    let mut transposes = least(Opcode::DMACopy);
    transposes.indirection_ins.push(pattern());
    set(&mut transposes, "mode", 1);
    assert_eq!(surplus(transposes), ["DMACopy has no address that an index operand drives"]);
}

#[test]
fn d59_an_index_operand_that_no_address_names_is_refused() {
    let mut copies = least(Opcode::DMACopy);
    copies.indirection_ins.push(pattern());
    assert_eq!(surplus(copies), ["no address names this index operand"]);
}

#[test]
fn d59_a_reduction_with_a_scalar_has_no_second_one_but_as_its_start_value() {
    let reduction = |acc: i64| {
        let mut i = least(Opcode::TensorScalarPtr);
        let filler = Role { kinds: "a", ..Role::default() };
        i.ins.resize_with(3, || operand(&filler));
        i.outs.resize_with(2, || operand(&filler));
        set(&mut i, "acc", acc);
        i
    };
    let told = "this form of TensorScalarPtr does not use the operand `scalar1`";
    assert_eq!(surplus(reduction(2)), [told]);
    assert_eq!(surplus(reduction(5)), Vec::<String>::new());
    let mut one_output = reduction(2);
    one_output.outs.pop();
    assert_eq!(surplus(one_output), Vec::<String>::new());
    let mut three_tensors = reduction(2);
    set(&mut three_tensors, "is_scalar_tensor_tensor", 1);
    assert_eq!(surplus(three_tensors), Vec::<String>::new());
}

#[test]
fn d59_an_operand_of_another_form_is_refused_and_of_its_own_form_taken() {
    let mut seen = 0;
    for opcode in runnable() {
        let row = opcode.row();
        for rule in row.rules {
            let Rule::Used(name, conditions) = rule else { continue };
            let (mut i, is_named) = (least(opcode), |r: &&&'static str| Role::parse(r).name == *name);
            let filler = Role { kinds: "a", ..Role::default() };
            match (row.ins.iter().position(|r| is_named(&r)), row.outs.iter().position(|r| is_named(&r))) {
                (Some(k), _) => i.ins.resize_with(k + 1, || operand(&filler)),
                (_, Some(k)) => i.outs.resize_with(k + 1, || operand(&filler)),
                _ => panic!("{opcode} has no role {name}"),
            }
            let (mut used, mut unused) = (i.clone(), i);
            for c in *conditions {
                let (yes, no) = match c {
                    When::Zero(_) => (0, 1),
                    When::Set(_) => (2, 0),
                    When::Is(_, wanted) => (*wanted, 0),
                    When::Not(_, other) => (0, *other),
                    When::Outs(_) => continue,
                };
                set(&mut used, c.key(), yes);
                set(&mut unused, c.key(), no);
            }
            let told = format!("this form of {opcode} does not use the operand `{name}`");
            assert!(!surplus(used).contains(&told), "{told}, though it does");
            assert!(surplus(unused).contains(&told), "{opcode}: {name} is not refused");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen} rules");
}
