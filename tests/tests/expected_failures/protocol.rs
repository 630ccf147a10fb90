//! Synchronisation, control flow and memory.

use super::*;

fn wait(id: u32, mode: &str, value: u32) -> Json {
    let kind = if mode.starts_with("evt") { "event" } else { "semaphore" };
    json!({"type": kind, "id": id, "wait_mode": mode, "wait_value": value})
}

fn update(id: u32, mode: &str, value: u32) -> Json {
    let kind = if mode.starts_with("evt") { "event" } else { "semaphore" };
    json!({"type": kind, "id": id, "update_mode": mode, "update_value": value})
}

fn synced(name: &str, engine: &str, waits: Vec<Json>, updates: Vec<Json>) -> Json {
    inst(name, "NoOp", engine, json!([]), json!([]), json!({"sync_info": {"on_wait": waits, "on_update": updates}}))
}

pub(super) fn protocol(rows: &mut Vec<Row>) {
    rows.push(row("deadlock", program(vec![synced("a", "PE", vec![wait(3, "sem-ge-imm", 1)], vec![])])));
    rows.push(row(
        "deadlock circle",
        program(vec![
            synced("a", "PE", vec![wait(3, "sem-ge-imm", 1)], vec![update(4, "sem-inc", 1)]),
            synced("b", "DVE", vec![wait(4, "sem-ge-imm", 1)], vec![update(3, "sem-inc", 1)]),
        ]),
    ));
    let set = || vec![update(7, "evt-set", 1)];
    rows.push(row(
        "event set twice",
        program(vec![synced("a", "PE", vec![], set()), synced("b", "PE", vec![], set())]),
    ));
    rows.push(row("event left set", program(vec![synced("a", "PE", vec![], set())])));
    rows.push(with(
        "semaphore left",
        program(vec![synced("a", "PE", vec![], vec![update(9, "sem-add-imm", 2)])]),
        Simulator::builder().strict(true),
    ));
    rows.push(row("semaphore inc by two", program(vec![synced("a", "PE", vec![], vec![update(9, "sem-inc", 2)])])));
    rows.push(row("semaphore waits like an event", {
        let mut w = wait(9, "evt-set-clear", 1);
        w["type"] = json!("semaphore");
        program(vec![synced("a", "PE", vec![w], vec![])])
    }));
    let mut unassigned = synced("a", "Unassigned", vec![], vec![update(9, "sem-inc", 1)]);
    unassigned["engine"] = json!("Unassigned");
    rows.push(row("no engine", program(vec![unassigned])));
}

/// What devices do not accept, with strict rules.
pub(super) fn devices(rows: &mut Vec<Row>) {
    let strict = || Simulator::builder().strict(true);
    let copy =
        |engine: &str, from: Json, to: Json| inst("c", "TensorCopy", engine, json!([from]), json!([to]), json!({}));
    let mut placed = program(vec![copy("DVE", all(&S), all(&R))]);
    let s = TENSORS.iter().position(|t| t.0 == S.0).unwrap();
    let location = &mut placed["functions"][0]["allocations"][s]["memorylocations"][0];
    (location["allocated"], location["base"]) = (json!(true), json!(8));
    rows.push(with("start partition", placed, strict()));
    let stepping = copy("DVE", part(&S, 0, &[[4, 2], [1, 4]]), part(&R, 0, &[[8, 2], [1, 4]]));
    rows.push(with("partition step", program(vec![stepping]), strict()));
    rows.push(with("memory out of reach", program(vec![copy("Pool", all(&P), all(&S))]), strict()));
    let waits = (1..4).map(|id| wait(id, "sem-ge-imm", 0)).collect();
    rows.push(with("three waits", program(vec![synced("a", "PE", waits, vec![])]), strict()));
    let random = inst("r", "Rand2", "DVE", json!([]), json!([all(&S)]), json!({}));
    rows.push(with("instruction of a later target", program(vec![random]), strict()));
    let lowered = synced("a", "PE", vec![], vec![update(9, "sem-sub-imm", 2)]);
    rows.push(with("semaphore below zero", program(vec![lowered]), strict()));
}

fn loop_over(name: &str, opcode: &str, axis: Json, body: Vec<Json>) -> Json {
    let key = if opcode == "Loop" { "LoopAxis" } else { "DynamicForLoopAxis" };
    json!({"name": name, "opcode": opcode, "engine": "ALL", "ins": [], "outs": [], key: axis,
        "blocks": [{"name": format!("{name}-body"), "instructions": body}]})
}

fn register_value(name: &str) -> Json {
    json!({"kind": "IntRuntimeValueKind", "regref": name})
}

pub(super) fn control(rows: &mut Vec<Row>) {
    let axis = |ub: Json| json!({"name": "i", "lb": 0, "ub": ub, "stride": 1});
    let write = inst("w", "RegisterMove", "ALL", json!([int(5)]), json!([reg("i")]), json!({}));
    rows.push(row("induction written", program(vec![loop_over("l", "Loop", axis(json!(2)), vec![write])])));
    let two = json!({"kind": "AffExprKind", "c": 0, "terms": [{"idx": register_value("k"), "coeff": 1}, {"idx": register_value("i"), "coeff": 1}]});
    rows.push(row("bound of two registers", program(vec![loop_over("l", "DynamicForLoop", axis(two), vec![])])));
    let one = inst("one", "RegisterMove", "ALL", json!([int(1)]), json!([reg("k")]), json!({}));
    let forever = json!({"name": "d", "opcode": "DoWhile", "engine": "ALL", "ins": [], "outs": [],
        "cond": register_value("k"), "blocks": [{"name": "body", "instructions": []}]});
    let limits = Limits { max_instructions: Some(1000), ..Limits::default() };
    rows.push(with("loop that never ends", program(vec![one, forever]), Simulator::builder().limits(limits)));
    let limits = Limits { max_memory: Some(16), ..Limits::default() };
    let copy = inst("c", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({}));
    rows.push(with("memory limit", program(vec![copy.clone()]), Simulator::builder().limits(limits)));

    let call = |name: &str, target: &str| inst(name, "Call", "ALL", json!([]), json!([]), json!({"target": target}));
    let mut nested = program(vec![call("outer", "f")]);
    let function = |name: &str, list: Vec<Json>| json!({"name": name, "attributes": {}, "allocations": [], "blocks": [{"name": "B", "instructions": list}]});
    nested["functions"]
        .as_array_mut()
        .unwrap()
        .extend([function("f", vec![call("inner", "g")]), function("g", vec![])]);
    rows.push(row("call in a call", nested));
    let mut wrong = reg("k");
    wrong["dtype"] = json!("int64");
    let branch = |a: Json, op: &str| {
        inst(
            "br",
            "CompareAndBranch",
            "ALL",
            json!([a, int(1)]),
            json!([]),
            json!({"comp_op": op, "on_true": "Block1", "on_false": "Block1"}),
        )
    };
    rows.push(row("branch on a wide register", program(vec![branch(wrong, "IS_LTIMM")])));
    rows.push(row("branch comparison unsupported", program(vec![branch(reg("k"), "Unsupported")])));
    let stray = inst("t", "InlineASMBytes", "Pool", json!([]), json!([]), json!({}));
    rows.push(with(
        "skipped opcode is an error",
        program(vec![stray]),
        Simulator::builder().unsupported_is_error(true),
    ));
    let mut v5 = program(vec![]);
    v5["arch"] = json!("core_v5");
    rows.push(row("architecture without sizes", v5));
}

pub(super) fn memory(rows: &mut Vec<Row>) {
    let wide = T("q", "Internal", "PSUM", "float32", 4, 1024);
    let mut list = storage();
    list.push(wide.record());
    let copy = inst("bad", "DMACopy", "DMA", json!([all(&wide)]), json!([all(&wide)]), json!({}));
    rows.push(row("two banks of PSUM", module(list, vec![copy])));
    let by_register = json!({"kind": "register_ap", "dtype": "float32", "memsetref": "x_set", "memref": "x", "ap": [[8, 4], [1, 8]],
        "reg_ap_offset": "k", "const_ap_offset": 0, "is_regloc_offset": false, "const_sub_tensor_id": -1});
    let i = inst("bad", "TensorCopy", "DVE", json!([by_register]), json!([all(&S)]), json!({}));
    rows.push(row("DRAM through a register", program(vec![i])));
    let mut big = T("big", "Internal", "SB", "uint8", 128, 300_000).record();
    big["memorylocations"][0]["allocated"] = json!(true);
    rows.push(row("SBUF overflow", module(vec![big], vec![])));
    let read = inst("bad", "DMACopy", "DMA", json!([all(&S)]), json!([all(&O)]), json!({}));
    rows.push(with("unwritten memory is read", program(vec![read]), Simulator::builder().checks([Check::Uninit])));
    let kernel = inst("bad", "CustomOp", "Pool", json!([all(&S)]), json!([all(&R)]), json!({"opFunctionName": "relu"}));
    let builder = Simulator::builder().external_kernels("/nonexistent/kernel_sim");
    rows.push(with("external kernel without a program", program(vec![kernel]), builder));
    rows.push(with("unknown dump", program(vec![]), Simulator::builder().dump("nobody", "bad")));
}
