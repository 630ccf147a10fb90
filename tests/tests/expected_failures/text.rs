//! Texts that are not a valid module.

use super::*;
use birsim_engine::format::read;

/// Reads and loads a text.
fn text(id: &str, text: impl Into<String>) -> Row {
    let text = text.into();
    action(id, move || Simulator::builder().threads(1).build()?.load(&read(text.as_bytes())?))
}

/// A valid program with one value replaced.
fn damaged(id: &str, pointer: &str, value: Json) -> Row {
    let copy = inst("c", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({}));
    let mut module = program(vec![copy]);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    module.pointer_mut(parent).unwrap_or_else(|| panic!("no place {pointer}"))[key] = value;
    text(id, module.to_string())
}

pub(super) fn rows(rows: &mut Vec<Row>) {
    let (f, i) = ("/functions/0", "/functions/0/blocks/0/instructions/0");
    let at = |base: &str, rest: &str| format!("{base}{rest}");
    rows.push(text("an empty text", ""));
    rows.push(text("a comma too many", "{\"version\": 2,}"));
    rows.push(text("a list for a module", "[]"));
    rows.push(damaged("a text for a number", "/version", json!("2")));
    rows.push(text("a module without functions", "{\"version\": 2}"));
    rows.push(damaged("an unknown opcode", &at(i, "/opcode"), json!("DmaCopy")));
    rows.push(damaged("an unknown engine", &at(i, "/engine"), json!("GPU")));
    rows.push(damaged("an unknown dtype", &at(f, "/allocations/0/dtype"), json!("float7")));
    rows.push(damaged("an unknown location", &at(i, "/ins/0/memref"), json!("nobody")));
    rows.push(damaged("a negative count", &at(i, "/ins/0/ap"), json!([[8, -4], [1, 8]])));
    rows.push(damaged("nine pairs", &at(i, "/ins/0/ap"), json!(vec![[1, 1]; 9])));
    rows.push(damaged("an instruction without its source", &at(i, "/ins"), json!([])));
    rows.push(damaged("an abstract opcode", &at(i, "/opcode"), json!("DMA")));
    rows.push(damaged("a version to come", "/version", json!(3)));
    rows.push(text("a key written twice", "{\"version\": 2, \"version\": 1, \"functions\": []}"));
    let groups = json!({"replica_groups": [[0, 1], [1]]});
    let twice = inst("c", "CollectiveCompute", "Pool", json!([all(&X)]), json!([all(&O)]), groups);
    let block = json!([{"name": "B", "instructions": [twice]}]);
    rows.push(damaged("a rank in two groups", &at(f, "/blocks"), block));
    rows.push(damaged("a semaphore that does not exist", &at(i, "/sync_info"), json!({"on_update": [{"id": 256}]})));
    rows.push(damaged("a location of no bytes", &at(f, "/allocations/0/memorylocations/0/dims"), json!([4, 0])));
    let two = json!([{"name": "B", "instructions": []}, {"name": "B", "instructions": []}]);
    rows.push(damaged("two blocks of one name", &at(f, "/blocks"), two));
    let constant = json!({"name": "w", "opcode": "DoWhile", "engine": "ALL", "ins": [], "outs": [],
        "cond": {"kind": "AffExprKind", "c": 1}, "blocks": [{"name": "body", "instructions": []}]});
    rows.push(text("a condition without a register", program(vec![constant]).to_string()));
    let mut deep = inst("n", "NoOp", "SP", json!([]), json!([]), json!({}));
    for k in 0..70 {
        deep = json!({"name": format!("l{k}"), "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
            "LoopAxis": {"name": format!("i{k}"), "lb": 0, "ub": 1, "stride": 1},
            "blocks": [{"name": format!("b{k}"), "instructions": [deep]}]});
    }
    rows.push(text("loops 70 deep", program(vec![deep]).to_string()));
}
