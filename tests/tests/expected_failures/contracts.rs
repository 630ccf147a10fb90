//! Contracts of single instructions.

use super::*;

pub(super) fn contracts(rows: &mut Vec<Row>) {
    let mut add = |id: &str, opcode: &str, engine: &str, ins: Json, outs: Json, fields: Json| {
        rows.push(row(id, program(vec![inst("bad", opcode, engine, ins, outs, fields)])));
    };
    let scalar = |op0: &str, op1: &str| json!({"op0": op0, "const0": 1.0, "reverse0": false, "op1": op1, "const1": 1.0, "reverse1": false});
    for op in ["mod", "mod_int"] {
        add(
            &format!("float map lacks {op}"),
            "TensorScalar",
            "DVE",
            json!([all(&S)]),
            json!([all(&R)]),
            scalar(op, "bypass"),
        );
    }
    let fraction = json!({"op0": "bitwise_and", "const0": 1.5, "reverse0": false, "op1": "bypass", "const1": 0.0, "reverse1": false});
    add("fraction on the bit path", "TensorScalar", "DVE", json!([all(&N)]), json!([all(&N)]), fraction);
    add("bits of floats", "TensorTensor", "DVE", json!([all(&S), all(&R)]), json!([all(&R)]), json!({"op": "mod"}));
    add(
        "reduce with mod",
        "TensorReduce",
        "DVE",
        json!([all(&S)]),
        json!([all(&C)]),
        json!({"op": "mod", "axis": "X"}),
    );
    add(
        "collective reduces by product",
        "CollectiveCompute",
        "Pool",
        json!([all(&X)]),
        json!([all(&O)]),
        json!({"kind": "AllReduce", "op": "mult"}),
    );
    add("copy accumulates by maximum", "DMACopy", "DMA", json!([all(&X)]), json!([all(&O)]), json!({"cce_op": "max"}));
    add("register power", "RegisterAlu", "ALL", json!([reg("k"), int(2)]), json!([reg("k")]), json!({"op": "pow"}));
    let mm = |flag: i64| json!({"accumulation_flag": flag});
    add("accumulation flag 5", "Matmult", "PE", json!([all(&S), all(&W)]), json!([all(&P)]), mm(5));
    add("matmul to SBUF", "Matmult", "PE", json!([all(&S), all(&W)]), json!([all(&R)]), mm(1));
    add("matmul of integers", "Matmult", "PE", json!([all(&N), all(&W)]), json!([all(&P)]), mm(1));
    add(
        "matmul of different partitions",
        "Matmult",
        "PE",
        json!([part(&S, 0, &[[8, 3], [1, 8]]), all(&W)]),
        json!([all(&P)]),
        mm(1),
    );
    add(
        "zero region of 16 banks",
        "Matmult",
        "PE",
        json!([all(&S), all(&W)]),
        json!([all(&P)]),
        json!({"accumulation_flag": 1, "psum_zero_region": 4}),
    );
    add(
        "sparse matmul",
        "MatmultSparse",
        "PE",
        json!([all(&S), all(&W), all(&U)]),
        json!([all(&P)]),
        json!({"accumulation_flag": 1, "compress_ratio": 4}),
    );
    add(
        "partition broadcast",
        "TensorTensor",
        "DVE",
        json!([part(&S, 0, &[[8, 1], [1, 8]]), all(&R)]),
        json!([all(&R)]),
        json!({"op": "add"}),
    );
    add(
        "two elements into a register",
        "TensorLoad",
        "ALL",
        json!([part(&N, 0, &[[8, 1], [1, 2]])]),
        json!([reg("k")]),
        json!({}),
    );
    add(
        "register into two elements",
        "TensorSave",
        "ALL",
        json!([reg("k")]),
        json!([part(&N, 0, &[[8, 1], [1, 2]])]),
        json!({}),
    );
    add("negative function set", "LoadActFuncSet", "Activation", json!([]), json!([]), json!({"act_func_set_id": -1}));
    add("eight of six", "Max", "DVE", json!([part(&S, 0, &[[8, 4], [1, 6]])]), json!([all(&R)]), json!({}));
    add("nothing was sent", "CollectiveRecv", "DMA", json!([]), json!([all(&O)]), json!({"peer_id": 0}));
    add("no peer to send to", "CollectiveSend", "DMA", json!([all(&X)]), json!([]), json!({"peer_id": 3}));
    add("no partner core", "GPSIMDSB2SB", "Pool", json!([all(&S)]), json!([all(&R)]), json!({}));
    add(
        "rank in no group",
        "GetCurProcessingRankID",
        "ALL",
        json!([]),
        json!([reg("k")]),
        json!({"channel_id": 0, "replica_groups": [[4]]}),
    );
    add("external kernel", "CustomOp", "Pool", json!([all(&S)]), json!([all(&R)]), json!({"opFunctionName": "relu"}));
    add(
        "external BIR kernel",
        "BIRKernel",
        "ALL",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"kernel_name": "attention"}),
    );
    add(
        "random state of two words",
        "SetRandState",
        "Pool",
        json!([part(&U, 0, &[[8, 4], [1, 2]])]),
        json!([]),
        json!({}),
    );
    add(
        "random state of floats",
        "GetRandState",
        "Pool",
        json!([]),
        json!([part(&B, 0, &[[8, 4], [1, 6]])]),
        json!({}),
    );
    add(
        "shuffle of four partitions",
        "StreamShuffle",
        "DVE",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"mask": [0, 1]}),
    );
    add(
        "dropout of nothing",
        "Dropout",
        "DVE",
        json!([all(&S), imm(2.0), part(&U, 0, &[[8, 4], [1, 3]])]),
        json!([all(&R)]),
        json!({}),
    );
    add(
        "index past the table",
        "IndirectLoad",
        "DMA",
        json!([all(&X), part(&N, 0, &[[8, 4], [1, 1]])]),
        json!([all(&S)]),
        json!({}),
    );
    add(
        "float indices",
        "IndirectLoad",
        "DMA",
        json!([all(&X), part(&S, 0, &[[8, 4], [1, 1]])]),
        json!([all(&R)]),
        json!({}),
    );
    add("index past the row", "Gather", "Pool", json!([all(&S), all(&N)]), json!([all(&R)]), json!({}));
    add("stream transpose casts", "StreamTranspose", "DVE", json!([all(&S)]), json!([all(&B)]), json!({}));
    add(
        "indices that do not divide the data",
        "IndirectSave",
        "DMA",
        json!([all(&S), part(&U, 0, &[[8, 4], [1, 3]])]),
        json!([all(&O)]),
        json!({}),
    );
    add(
        "activation stage without the op",
        "Activation",
        "Activation",
        json!([all(&S)]),
        json!([all(&R)]),
        json!({"func": "Relu", "scale": 1.0, "alpha": 0.0, "acc": "Idle", "op0": "mod", "op1": "bypass", "reduce_op": "add", "is_activate2": true}),
    );
}
