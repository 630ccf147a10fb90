//! What every instruction with tensor operands refuses: a pattern that leaves its tensor, counts that disagree.

use super::*;

/// (opcode, engine, ins, outs, fields).
type Sample = (&'static str, &'static str, Vec<Json>, Vec<Json>, Json);

/// Valid instructions.
fn samples() -> Vec<Sample> {
    let alu = json!({"op0": "mult", "const0": 2.0, "reverse0": false, "op1": "add", "const1": 1.0, "reverse1": false});
    let ptr = json!({"op0": "mult", "reverse0": false, "op1": "bypass", "reverse1": false});
    let act = json!({"func": "Relu", "scale": 1.0, "alpha": 0.0, "acc": "Idle", "op0": "bypass", "op1": "bypass", "reduce_op": "add"});
    let row = |t: &T| part(t, 0, &[[8, 4], [1, 8]]);
    let one = |t: &T| part(t, 0, &[[8, 1], [1, 1]]);
    vec![
        ("Load", "DMA", vec![row(&X)], vec![row(&S)], json!({})),
        ("Save", "DMA", vec![row(&S)], vec![row(&O)], json!({})),
        ("DMACopy", "DMA", vec![row(&X)], vec![row(&O)], json!({})),
        ("TensorCopy", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("GenericCopy", "Pool", vec![row(&S)], vec![row(&R)], json!({})),
        ("AbstractCopy", "Activation", vec![row(&S)], vec![row(&R)], json!({})),
        ("Memset", "DVE", vec![], vec![row(&S)], json!({"mode": "Const", "constant": 0})),
        ("Iota", "Pool", vec![], vec![row(&S)], json!({"base": 0, "pattern": [[1, 8]]})),
        ("TensorScalar", "DVE", vec![row(&S)], vec![row(&R)], alu),
        ("TensorScalarPtr", "DVE", vec![row(&S), all(&C)], vec![row(&R)], ptr),
        ("TensorTensor", "DVE", vec![row(&S), row(&R)], vec![row(&S)], json!({"op": "add"})),
        ("Reciprocal", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("Activation", "Activation", vec![row(&S)], vec![row(&R)], act),
        ("Select", "DVE", vec![row(&U), row(&S), row(&R)], vec![row(&S)], json!({})),
        ("CopyPredicated", "DVE", vec![row(&U), row(&S)], vec![row(&R)], json!({})),
        (
            "TensorScalarAffineSelect",
            "Pool",
            vec![row(&S)],
            vec![row(&R)],
            json!({"base": 0, "pattern": [[1, 8]], "compare_op": "is_gt"}),
        ),
        ("Max", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("MatchReplace", "DVE", vec![row(&S), row(&R)], vec![row(&S)], json!({"imm_value": 0.0})),
        ("Matmult", "PE", vec![row(&S), all(&W)], vec![row(&P)], json!({"accumulation_flag": 1})),
        ("TensorLoad", "ALL", vec![one(&N)], vec![reg("k")], json!({})),
        ("TensorSave", "ALL", vec![reg("k")], vec![one(&N)], json!({})),
        (
            "CollectiveCompute",
            "Pool",
            vec![row(&X)],
            vec![row(&O)],
            json!({"kind": "AllReduce", "op": "add", "replica_groups": [[0]]}),
        ),
        ("CollectiveSend", "DMA", vec![row(&X)], vec![], json!({"peer_id": 0})),
        ("DevicePrint", "Pool", vec![row(&X)], vec![], json!({})),
        ("Gather", "Pool", vec![row(&S), row(&U)], vec![row(&R)], json!({})),
        ("TongaReduceMacroSymbolic", "DVE", vec![row(&S)], vec![row(&R)], json!({"op": "add"})),
        ("ReadVarAddr", "DMA", vec![row(&X)], vec![reg("k")], json!({})),
        ("TensorReduce", "DVE", vec![row(&S)], vec![all(&C)], json!({"op": "add", "axis": "X"})),
        ("Exponential", "Activation", vec![row(&S)], vec![row(&R)], json!({"reduce_cmd": "Idle"})),
        ("MaxIndex", "DVE", vec![row(&R), row(&S)], vec![row(&U)], json!({})),
        (
            "RangeSelect",
            "DVE",
            vec![row(&S), all(&C), all(&C)],
            vec![row(&R)],
            json!({"compare_op0": "is_ge", "compare_op1": "is_lt"}),
        ),
        ("IndirectLoad", "DMA", vec![row(&X), part(&U, 0, &[[8, 4], [1, 1]])], vec![row(&S)], json!({})),
        ("IndirectSave", "DMA", vec![row(&S), part(&U, 0, &[[8, 4], [1, 1]])], vec![row(&O)], json!({})),
        ("StreamTranspose", "DVE", vec![row(&S)], vec![row(&R)], json!({})),
        ("TensorCopyDynamicSrc", "Pool", vec![row(&S), reg("k")], vec![row(&R)], json!({"scale": 1})),
    ]
}

/// Every tensor operand of every sample, one element too far.
pub(super) fn out_of_bounds(rows: &mut Vec<Row>) {
    for (opcode, engine, ins, outs, fields) in samples() {
        for (role, n) in [("ins", ins.len()), ("outs", outs.len())] {
            for k in 0..n {
                let (mut a, mut b) = (ins.clone(), outs.clone());
                let operand = if role == "ins" { &mut a[k] } else { &mut b[k] };
                if operand["kind"] != "physical_ap" {
                    continue;
                }
                operand["offset"] = json!(32);
                let i = inst("bad", opcode, engine, json!(a), json!(b), fields.clone());
                rows.push(row(format!("bounds {opcode} {role}[{k}]"), program(vec![i])));
            }
        }
    }
}

/// An output of half the elements.
pub(super) fn shapes(rows: &mut Vec<Row>) {
    // Tables and sums take other counts; the register form writes one element.
    let takes_any = ["TensorSave", "IndirectLoad", "IndirectSave", "TensorReduce"];
    for (opcode, engine, ins, mut outs, fields) in samples() {
        if ins.is_empty() || outs.is_empty() || outs[0]["kind"] != "physical_ap" || takes_any.contains(&opcode) {
            continue;
        }
        outs[0]["ap"] = json!([[8, 4], [1, 3]]);
        rows.push(row(
            format!("shape {opcode}"),
            program(vec![inst("bad", opcode, engine, json!(ins), json!(outs), fields)]),
        ));
    }
}
