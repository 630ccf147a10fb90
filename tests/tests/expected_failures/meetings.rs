//! Programs of several cores.

use super::*;
use birsim_engine::Cores;
use birsim_engine::format::read;

const V: T = T("v", "ExternalInput", "DRAM", "uint32", 3, 2);
const H: T = T("h", "Internal", "DRAM", "bfloat16", 4, 16);

fn all_of_them() -> Vec<Json> {
    [&X, &N, &U, &S, &R, &W, &O, &V, &H].iter().map(|t| t.record()).chain([register("k")]).collect()
}

/// Runs the lists of instructions together, one per core.
fn together(id: &str, builder: Builder, lists: Vec<Vec<Json>>) -> Row {
    modules(id, builder, lists.into_iter().map(|list| module(all_of_them(), list)).collect())
}

fn modules(id: &str, builder: Builder, list: Vec<Json>) -> Row {
    action(id, move || {
        let modules: Result<Vec<_>, Error> = list.iter().map(|m| read(m.to_string().as_bytes())).collect();
        let mut cores = Cores::load(&builder.threads(1), &modules?)?;
        cores.bind("x", &[0; 128])?;
        cores.bind("v", &[0; 24])?;
        cores.run().map(|_| ())
    })
}

fn cc(ins: Json, outs: Json, fields: Json) -> Vec<Json> {
    vec![inst("cc", "CollectiveCompute", "Pool", ins, outs, fields)]
}

/// An AllReduce with these changes.
fn reduce(fields: Json) -> Vec<Json> {
    let mut all = json!({"kind": "AllReduce", "op": "add"});
    fields.as_object().unwrap().iter().for_each(|(k, v)| all[k] = v.clone());
    cc(json!([super::all(&X)]), json!([super::all(&O)]), all)
}

fn send_recv(to: i64, from: i64, fields: Json) -> Vec<Json> {
    let mut all = json!({"kind": "SendRecv", "send_to_rank": to, "recv_from_rank": [from]});
    fields.as_object().unwrap().iter().for_each(|(k, v)| all[k] = v.clone());
    cc(json!([super::all(&X)]), json!([super::all(&O)]), all)
}

fn barrier(name: &str, id: i64, cores: Json) -> Json {
    inst(name, "CoreBarrier", "Pool", json!([]), json!([]), json!({"id": id, "cores": cores}))
}

fn semaphore(name: &str, waits: u32, updates: u32, core: u32) -> Json {
    let wait = json!({"type": "semaphore", "id": waits, "wait_mode": "sem-ge-imm", "wait_value": 1});
    let update =
        json!({"type": "semaphore", "id": updates, "update_mode": "sem-inc", "update_value": 1, "target_core": core});
    inst(name, "NoOp", "PE", json!([]), json!([]), json!({"sync_info": {"on_wait": [wait], "on_update": [update]}}))
}

/// The chunk table of AllToAllV is computed before the exchange, so that it need not be bound.
fn chunks(metadata: [[i32; 2]; 4], rows: i64) -> Vec<Json> {
    let mut list = Vec::new();
    for (k, value) in metadata.iter().flatten().enumerate() {
        list.push(inst(
            &format!("m{k}"),
            "Memset",
            "Pool",
            json!([]),
            json!([part(&U, k as i64, &[[8, 1], [1, 1]])]),
            json!({"mode": "Const", "constant": value}),
        ));
    }
    list.push(inst(
        "cc",
        "CollectiveCompute",
        "Pool",
        json!([part(&X, 0, &[[8, 1], [1, 4]]), part(&U, 0, &[[2, rows], [1, 2]])]),
        json!([part(&O, 0, &[[8, 1], [1, 6]])]),
        json!({"kind": "AllToAllV"}),
    ));
    list
}

fn plain() -> Builder {
    Simulator::builder()
}

pub(super) fn rows(rows: &mut Vec<Row>) {
    disagreements(rows);
    places(rows);
    kinds(rows);
    deadlocks(rows);
    watched(rows);
}

fn disagreements(rows: &mut Vec<Row>) {
    let mut pair = |id: &str, a: Vec<Json>, b: Vec<Json>| rows.push(together(id, plain(), vec![a, b]));
    pair("members disagree on the operation", reduce(json!({})), reduce(json!({"op": "max"})));
    pair("members disagree on the kind", reduce(json!({})), reduce(json!({"kind": "PermuteReduce"})));
    let gather = |dim: &str| reduce(json!({"kind": "AllGather", "op": "bypass", "cc_dim": dim}));
    pair("members disagree on the dimension", gather("Free"), gather("Partition"));
    let group = |g: Json| reduce(json!({"replica_groups": [g]}));
    pair("members disagree on the group", group(json!([0, 1])), group(json!([1, 0])));
    let permute = |p: Json| reduce(json!({"kind": "Permute", "op": "bypass", "src_target_pairs": p}));
    pair("members disagree on the pairs", permute(json!([[0, 1], [1, 0]])), permute(json!([[0, 1]])));
    let two = cc(
        json!([all(&X), all(&X)]),
        json!([part(&H, 0, &[[16, 4], [1, 8]]), part(&H, 8, &[[16, 4], [1, 8]])]),
        json!({"kind": "AllReduce", "op": "add"}),
    );
    pair("members disagree on the number of tensors", reduce(json!({})), two);
    let narrow = |t: &T| cc(json!([all(t)]), json!([all(t)]), json!({"kind": "AllReduce", "op": "add"}));
    pair("members disagree on the element type", narrow(&R), narrow(&U));
    let second =
        |t: &T| cc(json!([all(&X), all(t)]), json!([all(&O), all(t)]), json!({"kind": "AllReduce", "op": "add"}));
    pair("members disagree on the number of elements", second(&R), second(&W));
    let half = cc(
        json!([part(&X, 0, &[[8, 2], [1, 8]])]),
        json!([part(&O, 0, &[[8, 2], [1, 8]])]),
        json!({"kind": "SendRecv", "send_to_rank": 0, "recv_from_rank": [0]}),
    );
    pair("partners send different numbers of elements", send_recv(1, 1, json!({})), half);
}

fn places(rows: &mut Vec<Row>) {
    let mut add = |id: &str, builder: Builder, lists: Vec<Vec<Json>>| rows.push(together(id, builder, lists));
    add("send to oneself", plain(), vec![send_recv(0, 1, json!({})), send_recv(0, 0, json!({}))]);
    add("barrier of a missing core", plain(), vec![vec![barrier("b", 1, json!([0, 2]))], vec![]]);
    add("barrier of others", plain(), vec![vec![barrier("b", 1, json!([1]))], vec![]]);
    add("group of missing ranks", plain(), vec![reduce(json!({"replica_groups": [[0, 9], [1, 12]]})), vec![]]);
    let pairs = json!({"kind": "Permute", "op": "bypass", "src_target_pairs": [[7, 0], [0, 1]]});
    add("pair with a missing rank", plain(), vec![reduce(pairs), vec![]]);
    add("exchange with a missing rank", plain(), vec![send_recv(1, 5, json!({})), vec![]]);
    let local = json!({"is_local": true, "replica_groups": [[0, 2]]});
    add("local group beyond the rank", plain().lnc(2), vec![reduce(local), vec![], vec![], vec![]]);
    let far = send_recv(2, 2, json!({"is_local": true}));
    add("local exchange beyond the rank", plain().lnc(2), vec![far, vec![], vec![], vec![]]);
    add("semaphore of a missing core", plain(), vec![vec![semaphore("a", 1, 2, 4)], vec![]]);
    let swap = || vec![inst("s", "GPSIMDSB2SB", "Pool", json!([all(&S)]), json!([all(&R)]), json!({}))];
    add("partner exchange of three", plain(), vec![swap(), swap(), swap()]);
    add("modules that do not fit the ranks", plain().lnc(2), vec![vec![], vec![], vec![]]);
    add("no rank", plain().ranks(0), vec![vec![]]);
    let one = |shape: T| {
        let mut record = shape.record();
        record["addr_space"] = json!("Shared");
        module(vec![record, X.record(), V.record()], vec![])
    };
    rows.push(modules(
        "shared tensor of two shapes",
        plain(),
        vec![one(T("both", "Internal", "DRAM", "float32", 2, 4)), one(T("both", "Internal", "DRAM", "float32", 4, 2))],
    ));
}

fn kinds(rows: &mut Vec<Row>) {
    let mut both = |id: &str, list: Vec<Json>| rows.push(together(id, plain(), vec![list.clone(), list]));
    both("scatter of five by two", {
        let fields = json!({"kind": "ReduceScatter", "op": "add", "cc_dim": "Free"});
        cc(json!([part(&X, 0, &[[8, 4], [1, 5]])]), json!([part(&O, 0, &[[8, 2], [1, 5]])]), fields)
    });
    both("reducing permute with one input", reduce(json!({"kind": "PermuteReduceImplicit"})));
    let fold = json!({"kind": "SendRecvCCE", "replica_groups": [[0], [1]], "recv_from_rank": [0, 1]});
    both("fold of a rank outside the group", reduce(fold));
    let pairs = json!({"kind": "Permute", "op": "bypass", "replica_groups": [[0], [1]], "src_target_pairs": [[0, 1]]});
    both("pair across groups", reduce(pairs));
    both("chunk leaves its buffer", chunks([[1, 3], [0, 2], [0, 0], [0, 3]], 4));
    both("chunk larger than its slot", chunks([[1, 4], [0, 0], [0, 0], [0, 0]], 3));
    both("chunks overlap", chunks([[2, 2], [0, 0], [0, 0], [0, 1]], 4));
    both("chunk leaves the result", chunks([[2, 2], [0, 0], [0, 0], [0, 5]], 4));
    both("metadata of floats", {
        let ins = json!([part(&X, 0, &[[8, 1], [1, 4]]), part(&X, 0, &[[2, 3], [1, 2]])]);
        cc(ins, json!([part(&O, 0, &[[8, 1], [1, 6]])]), json!({"kind": "AllToAllV"}))
    });
    both("metadata of two rows", {
        let ins = json!([part(&X, 0, &[[8, 1], [1, 4]]), part(&V, 0, &[[2, 2], [1, 2]])]);
        cc(ins, json!([part(&O, 0, &[[8, 1], [1, 6]])]), json!({"kind": "AllToAllV"}))
    });
    both("AllToAllV without metadata", reduce(json!({"kind": "AllToAllV", "op": "bypass"})));
}

fn deadlocks(rows: &mut Vec<Row>) {
    rows.push(together(
        "deadlock of remote semaphores",
        plain(),
        vec![vec![semaphore("a", 1, 2, 1)], vec![semaphore("b", 2, 1, 0)]],
    ));
    let meet = |second: i64| vec![barrier("first", 1, json!([0, 1])), barrier("second", second, json!([0, 1]))];
    rows.push(together("deadlock of barrier ids", plain().lnc(2), vec![meet(2), meet(3)]));
    let trips = |n: i64| {
        json!([{"name": "loop", "opcode": "Loop", "engine": "ALL", "ins": [], "outs": [],
            "LoopAxis": {"name": "i", "lb": 0, "ub": n, "stride": 1},
            "blocks": [{"name": "body", "instructions": reduce(json!({}))}]}])
        .as_array()
        .unwrap()
        .clone()
    };
    rows.push(together("deadlock of a trip short", plain().lnc(1), vec![trips(3), trips(2), trips(3)]));
    rows.push(together(
        "deadlock of a silent peer",
        plain(),
        vec![vec![inst("r", "CollectiveRecv", "DMA", json!([]), json!([all(&O)]), json!({"peer_id": 1}))], vec![]],
    ));
}

fn watched(rows: &mut Vec<Row>) {
    let read = || vec![inst("c", "DMACopy", "DMA", json!([all(&S)]), json!([all(&O)]), json!({}))];
    rows.push(together("one core reads what nothing wrote", plain().checks([Check::Uninit]), vec![vec![], read()]));
}
