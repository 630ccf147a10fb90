//! Keys that nothing reads and that look like a misspelt known key. Unknown keys are kept and ignored (`bir-json.md` 1), so
//! a misspelling would otherwise change what a program means without any message.

use super::nearest::nearest;
use super::{Block, Extra, Instruction, Module};

/// Remarks that one module gives at most.
const MOST: usize = 32;
/// Shorter keys resemble each other by chance.
const SHORTEST: usize = 4;

const INSTRUCTION: [&str; 14] = [
    "name",
    "opcode",
    "engine",
    "engine_id",
    "ins",
    "outs",
    "indirection_ins",
    "sync_info",
    "on_wait",
    "on_update",
    "predicates",
    "loopnest",
    "dependencies",
    "blocks",
];
const OPERAND: [&str; 20] = [
    "kind",
    "dtype",
    "ap",
    "offset",
    "memref",
    "memsetref",
    "dynamic_ap_info",
    "addrs",
    "tensor_indirect_arg_id",
    "num_tensor_indirect_indices",
    "regref",
    "is_regloc_offset",
    "reg_ap_offset",
    "const_ap_offset",
    "reg_sub_tensor_id",
    "const_sub_tensor_id",
    "value",
    "value_list",
    "value_array",
    "expr",
];
const SYNC: [&str; 2] = ["on_wait", "on_update"];
const WAIT: [&str; 5] = ["type", "wait_mode", "wait_value", "regref", "from"];
const UPDATE: [&str; 4] = ["type", "update_mode", "update_value", "target_core"];

/// One line for every suspicious key of the instructions, in program order.
pub fn misspelt(module: &Module) -> Vec<String> {
    let mut remarks = Vec::new();
    let functions = module.functions.iter().chain(&module.nki_functions);
    functions.for_each(|f| blocks(&f.blocks, &mut remarks));
    remarks
}

fn blocks(list: &[Block], remarks: &mut Vec<String>) {
    for i in list.iter().flat_map(|b| &b.instructions) {
        if remarks.len() >= MOST {
            return;
        }
        instruction(i, remarks);
        blocks(&i.blocks, remarks);
    }
}

fn instruction(i: &Instruction, remarks: &mut Vec<String>) {
    let mut look = |place: &str, extra: &Extra, known: &mut dyn Iterator<Item = &'static str>| {
        if extra.is_empty() {
            return;
        }
        let known: Vec<&str> = known.collect();
        for key in extra.keys().filter(|k| k.len() >= SHORTEST) {
            if let Some(meant) = nearest(key, known.iter().copied()).filter(|m| m.len() >= SHORTEST && *m != key) {
                remarks.push(format!(
                    "{} ({}){place}: the key '{key}' is unknown and ignored; did you mean '{meant}'?",
                    i.name, i.opcode
                ));
            }
        }
    };
    let own = i.opcode.row().fields.iter().zip(&i.fields).filter(|(_, v)| v.is_none()).map(|(f, _)| f.key);
    look("", &i.extra, &mut INSTRUCTION.into_iter().chain(own));
    let lists = i.lists();
    for (role, operands) in lists {
        // Places are written out for the rare operand that has unknown keys.
        for (k, operand) in operands.iter().enumerate().filter(|(_, o)| !o.extra().is_empty()) {
            look(&format!(", {role}[{k}]"), operand.extra(), &mut OPERAND.into_iter());
        }
    }
    look(", sync_info", &i.sync.extra, &mut SYNC.into_iter());
    i.sync.on_wait.iter().for_each(|w| look(", on_wait", &w.extra, &mut WAIT.into_iter()));
    i.sync.on_update.iter().for_each(|u| look(", on_update", &u.extra, &mut UPDATE.into_iter()));
}
