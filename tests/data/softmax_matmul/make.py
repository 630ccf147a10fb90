"""Writes module.json, ident.npy, inputs.npz and golden.npz of the softmax-matmul example.

    o = softmax(x / 2, axis=1) @ w        x: 128 x 512, w: 512 x 128, all float32

Loop i runs over four tiles of 32 rows. A tile is loaded in four column chunks; DVE halves chunk by chunk and takes the row
maximum, Activation exponentiates and sums, DVE normalises, PE transposes every chunk, Pool copies it out of PSUM. Loop j inside runs
over two halves of w's columns: DMA loads the four chunks of w, PE accumulates them in PSUM, Activation and DVE each move
half of the product to SBUF, DMA stores it. Every hand-over between two engines is one semaphore wait; semaphores count up
within a pass and are reset where all engines meet.
"""

import json
import pathlib

import numpy as np

ROWS, COLS, OUT = 128, 512, 128
TILE, CHUNK, HALF = 32, 128, 64
CHUNKS = COLS // CHUNK
PSUM_PITCH = 512

HERE = pathlib.Path(__file__).parent
sets, sb_used, psum_bank = [], 0, 0


def tensor(name, kind, shape, type_, dims, **extra):
    location = {"name": name, "type": type_, "dims": dims, "addr": 0, "base": 0, "bank": 0, "allocated": type_ != "DRAM",
                "tensor_id": 0, "Skind": "memory_location"}
    location.update({k: extra.pop(k) for k in list(extra) if k in ("addr", "bank")})
    sets.append({"Skind": "memory_location_set", "name": name + "_set", "kind": kind, "addr_space": "Local",
                 "dtype": "float32", "partition_dim": 0, "tensor_shape": shape, "memorylocations": [location], **extra})


def dram(name, kind, shape, **extra):
    tensor(name, kind, shape, "DRAM", [shape[0], 4 * shape[1]], **extra)


def sb(name, shape):
    global sb_used
    tensor(name, "Internal", shape, "SB", [shape[0], 4 * shape[1]], addr=sb_used)
    sb_used += 4 * shape[1]


def psum(name, shape):
    global psum_bank
    tensor(name, "Internal", shape, "PSUM", [shape[0], 2048], addr=2048 * psum_bank, bank=psum_bank)
    psum_bank += 1


def ap(name, pitch, rows, cols, offset=0):
    return {"kind": "physical_ap", "dtype": "float32", "memref": name, "memsetref": name + "_set", "offset": offset,
            "ap": [[pitch, rows], [1, cols]]}


def affine(axis, coeff, c=0):
    terms = [{"idx": {"kind": "AffIVKind", "axis": axis}, "coeff": coeff}] if axis else []
    return {"kind": "AffExprKind", "terms": terms, "c": c}


def tile(name, pitch, rows, cols, row, col):
    """A window of a DRAM tensor whose first row and column depend on loop axes."""
    return {"kind": "symbolic_ap", "dtype": "float32", "memsetref": name + "_set", "ap": [[pitch, rows], [1, cols]],
            "addrs": [row, col], "access_shape": [rows, cols]}


def imm(value):
    return {"kind": "imm_value", "dtype": "float32", "value": value}


def instruction(name, opcode, engine, ins, outs, wait=(), signal=None, **fields):
    out = {"name": name, "opcode": opcode, "engine": engine, "ins": ins, "outs": outs, **fields}
    sync = {}
    if wait:
        sync["on_wait"] = [{"type": "semaphore", "id": s, "wait_mode": "sem-ge-imm", "wait_value": v} for s, v in wait]
    if signal:
        sync["on_update"] = [{"type": "semaphore", "id": signal[0], "update_mode": "sem-add-imm", "update_value": signal[1]}]
    if sync:
        out["sync_info"] = sync
    return out


def reset(name, semaphores):
    return instruction(name, "GroupResetSemaphores", "ALL", [], [], mode="SemaphoreZero", sema_group=semaphores)


def loop(name, axis, trips, body):
    return instruction(name, "Loop", "ALL", [], [], LoopAxis={"name": axis, "lb": 0, "ub": trips, "stride": 1},
                       isParallel=False, isBasicBlock=False, blocks=[{"name": name + "-body", "instructions": body}])


def matmult(name, moving, stationary, out, flag, **sync):
    return instruction(name, "Matmult", "PE", [moving, stationary], [out], accumulation_flag=flag, **sync)


def program():
    dram("x", "ExternalInput", [ROWS, COLS])
    dram("w", "ExternalInput", [COLS, OUT])
    dram("ident", "Const", [TILE, TILE], file="ident.npy")
    dram("o", "ExternalOutput", [ROWS, OUT])
    sb("id_sb", [TILE, TILE])
    sb("x_sb", [TILE, COLS])
    sb("half", [TILE, COLS])
    sb("neg_max", [TILE, 1])
    sb("e", [TILE, COLS])
    sb("total", [TILE, 1])
    sb("inverse", [TILE, 1])
    sb("p", [TILE, COLS])
    for c in range(CHUNKS):
        psum(f"t{c}", [CHUNK, TILE])
        sb(f"pt{c}", [CHUNK, TILE])
        sb(f"w{c}", [CHUNK, HALF])
    psum("acc", [TILE, HALF])
    sb("o_sb", [TILE, HALF])

    # Semaphores: 1 x loaded, 2 maximum ready, 3 sum ready, 4 chunk normalised, 5 chunk transposed, 6 w loaded, 7 product
    # ready, 8 left half moved, 9 right half moved.
    rows = affine("i", TILE)
    outer = []
    for c in range(CHUNKS):
        outer.append(instruction(f"load-x{c}", "Load", "DMA", [tile("x", COLS, TILE, CHUNK, rows, affine(None, 0, c * CHUNK))],
                                 [ap("x_sb", COLS, TILE, CHUNK, c * CHUNK)], signal=(1, 16)))
    for c in range(CHUNKS):
        outer.append(instruction(f"halve{c}", "TensorScalar", "DVE", [ap("x_sb", COLS, TILE, CHUNK, c * CHUNK)],
                                 [ap("half", COLS, TILE, CHUNK, c * CHUNK)], wait=[(1, 16 * (c + 1))],
                                 op0="mult", const0=0.5, reverse0=False, op1="bypass", const1=0.0,
                                 reverse1=False))
    outer.append(instruction("max", "TensorReduce", "DVE", [ap("half", COLS, TILE, COLS)], [ap("neg_max", 1, TILE, 1)],
                             signal=(2, 1), op="max", axis="X", negate=True))
    outer.append(instruction("exp", "Activation", "Activation",
                             [ap("half", COLS, TILE, COLS), ap("neg_max", 1, TILE, 1), imm(1.0), imm(0.0)],
                             [ap("e", COLS, TILE, COLS)], wait=[(2, 1)], func="Exp", scale=1.0, alpha=0.0,
                             acc="ZeroAccumulate", reduce_op="add"))
    outer.append(instruction("sum", "ReadActivationAccumulator", "Activation", [], [ap("total", 1, TILE, 1)], signal=(3, 1)))
    outer.append(instruction("invert", "Reciprocal", "DVE", [ap("total", 1, TILE, 1)], [ap("inverse", 1, TILE, 1)],
                             wait=[(3, 1)]))
    for c in range(CHUNKS):
        outer.append(instruction(f"scale{c}", "TensorScalarPtr", "DVE",
                                 [ap("e", COLS, TILE, CHUNK, c * CHUNK), ap("inverse", 1, TILE, 1)],
                                 [ap("p", COLS, TILE, CHUNK, c * CHUNK)], signal=(4, 1), op0="mult", reverse0=False,
                                 op1="bypass", reverse1=False))
    for c in range(CHUNKS):
        # A product with the identity transposes: t[m, n] = sum over k of p[k, m] * ident[k, n].
        outer.append(matmult(f"transpose{c}", ap("id_sb", TILE, TILE, TILE), ap("p", COLS, TILE, CHUNK, c * CHUNK),
                             ap(f"t{c}", PSUM_PITCH, CHUNK, TILE), 3, wait=[(4, c + 1)], signal=(5, 1)))
    for c in range(CHUNKS):
        outer.append(instruction(f"copy{c}", "TensorCopy", "Pool", [ap(f"t{c}", PSUM_PITCH, CHUNK, TILE)],
                                 [ap(f"pt{c}", TILE, CHUNK, TILE)], wait=[(5, c + 1)]))
    outer.append(reset("reset-i", [1, 2, 3, 4, 5]))

    inner = []
    for c in range(CHUNKS):
        inner.append(instruction(f"load-w{c}", "Load", "DMA",
                                 [tile("w", OUT, CHUNK, HALF, affine(None, 0, c * CHUNK), affine("j", HALF))],
                                 [ap(f"w{c}", HALF, CHUNK, HALF)], signal=(6, 16)))
    for c in range(CHUNKS):
        flag = 1 if c == 0 else 6 if c == CHUNKS - 1 else 4
        signal = (7, 1) if c == CHUNKS - 1 else None
        inner.append(matmult(f"mm{c}", ap(f"w{c}", HALF, CHUNK, HALF), ap(f"pt{c}", TILE, CHUNK, TILE),
                             ap("acc", PSUM_PITCH, TILE, HALF), flag, wait=[(6, 16 * (c + 1))], signal=signal))
    half = HALF // 2
    inner.append(instruction("left", "Activation", "Activation",
                             [ap("acc", PSUM_PITCH, TILE, half), imm(0.0), imm(1.0), imm(0.0)], [ap("o_sb", HALF, TILE, half)],
                             wait=[(7, 1)], signal=(8, 1), func="Copy", scale=1.0, alpha=0.0, acc="Idle"))
    inner.append(instruction("right", "TensorCopy", "DVE", [ap("acc", PSUM_PITCH, TILE, half, half)],
                             [ap("o_sb", HALF, TILE, half, half)], wait=[(7, 1)], signal=(9, 1)))
    inner.append(instruction("store", "Save", "DMA", [ap("o_sb", HALF, TILE, HALF)],
                             [tile("o", OUT, TILE, HALF, rows, affine("j", HALF))], wait=[(8, 1), (9, 1)]))
    inner.append(reset("reset-j", [6, 7, 8, 9]))

    outer.append(loop("over-columns", "j", OUT // HALF, inner))
    main = [instruction("load-ident", "Load", "DMA", [ap("ident", TILE, TILE, TILE)], [ap("id_sb", TILE, TILE, TILE)]),
            loop("over-rows", "i", ROWS // TILE, outer)]
    return {"version": 2, "arch": "gen3", "attributes": {"neuron_core_id": 0},
            "functions": [{"name": "main", "attributes": {}, "allocations": sets,
                           "blocks": [{"name": "Block1", "instructions": main}]}],
            "queues": []}


def data():
    i, j = np.indices((ROWS, COLS))
    x = ((i * 37 + j * 101 + i * j % 53) % 61 - 30) / 8
    k, n = np.indices((COLS, OUT))
    w = ((k * 29 + n * 53 + k * n % 17) % 15 - 7) / 16
    half = x / 2
    e = np.exp(half - half.max(axis=1, keepdims=True))
    o = e / e.sum(axis=1, keepdims=True) @ w
    return {"x": x.astype(np.float32), "w": w.astype(np.float32)}, {"o": o.astype(np.float32)}


def lines(value, indent=0):
    """JSON with one instruction or tensor a line."""
    pad = " " * indent
    if isinstance(value, dict) and ("blocks" in value or "functions" in value or "instructions" in value):
        body = ",\n".join(f"{pad} {json.dumps(k)}: {lines(v, indent + 2)}" for k, v in value.items())
        return "{\n" + body + "\n" + pad + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        body = ",\n".join(pad + " " + lines(v, indent + 1) for v in value)
        return "[\n" + body + "\n" + pad + "]" if indent < 40 and any("name" in v for v in value) else json.dumps(value)
    return json.dumps(value)


if __name__ == "__main__":
    inputs, golden = data()
    (HERE / "module.json").write_text(lines(program()) + "\n")
    np.save(HERE / "ident.npy", np.eye(TILE, dtype=np.float32))
    np.savez_compressed(HERE / "inputs.npz", **inputs)
    np.savez_compressed(HERE / "golden.npz", **golden)
