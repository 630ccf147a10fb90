"""The NumPy half of the kernels_vs_numpy bench.

Reads one case name a line and answers `ready`, or `none` when NumPy has no counterpart. Every `go N` that follows runs
the case N times and answers the best time in nanoseconds. Results are written into arrays made beforehand wherever
NumPy allows it.
"""

import sys
import time

import ml_dtypes
import numpy as np

P, F = 128, 8192
RNG = np.random.default_rng(1)
BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3
TYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": BF16,
    "fp8": FP8,
    "int8": np.int8,
    "int32": np.int32,
    "uint8": np.uint8,
}


def values(dtype, low=-4.0, shape=(P, F)):
    return RNG.uniform(low, 4.0, shape).astype(np.float32).astype(TYPES.get(dtype, dtype))


def ints(high, shape=(P, F), dtype=np.int32):
    return RNG.integers(0, high, shape, dtype=dtype)


def empty(dtype="f32", shape=(P, F)):
    return np.zeros(shape, TYPES.get(dtype, dtype))


def cast(a, b):
    x, out = values(a), empty(b)
    return lambda: np.copyto(out, x, casting="unsafe")


def tensor_scalar(dtype):
    x, out = values(dtype), empty(dtype)
    a, b = out.dtype.type(2), out.dtype.type(0.5)

    def run():
        np.multiply(x, a, out=out)
        np.add(out, b, out=out)

    return run


def tensor_scalar_ptr(dtype):
    x, out = values(dtype), empty(dtype)
    a, b = values(dtype, shape=(P, 1)), values(dtype, shape=(P, 1))

    def run():
        np.multiply(x, a, out=out)
        np.add(out, b, out=out)

    return run


def scalar_tensor_tensor(dtype):
    x, y, out = values(dtype), values(dtype), empty(dtype)
    a = values(dtype, shape=(P, 1))

    def run():
        np.multiply(x, a, out=out)
        np.add(out, y, out=out)

    return run


def binary(f, dtype):
    x, y, out = values(dtype), values(dtype), empty(dtype)
    return lambda: f(x, y, out=out)


def binary_int(f):
    x, y, out = ints(1 << 30), ints(1 << 30), empty("int32")
    return lambda: f(x, y, out=out)


def along(f, dtype, axis):
    x = values(dtype)
    out = empty(dtype, (F,) if axis == 0 else (P,))
    return lambda: f(x, axis=axis, out=out)


def pool(f):
    x, out = values("f32", shape=(P, F // 4, 2, 2)), empty("f32", (P, F // 4))
    return lambda: f(x, axis=(2, 3), out=out)


def accumulate(f, dtype):
    x, out = values(dtype), empty(dtype)
    return lambda: f.accumulate(x, axis=1, out=out)


def select():
    p, a, b = ints(2).astype(bool), values("f32"), values("f32")
    return lambda: np.where(p, a, b)


def copy_predicated():
    p, a, out = ints(2).astype(bool), values("f32"), empty()
    return lambda: np.copyto(out, a, where=p)


def iota():
    row, col, out = np.arange(P, dtype=np.int32)[:, None], np.arange(F, dtype=np.int32), empty("int32")
    return lambda: np.add(row, col, out=out)


def affine_select():
    x, row = values("f32"), np.arange(P, dtype=np.int32)[:, None] * 64
    col, value = np.arange(F, dtype=np.int32), empty("int32")

    def run():
        np.subtract(row, col, out=value)
        return np.where(value >= 0, x, np.float32(-1e30))

    return run


def range_select():
    x, index = values("f32"), np.arange(F, dtype=np.float32)
    low, high = values("f32", shape=(P, 1)) + 100, values("f32", shape=(P, 1)) + 4000
    return lambda: np.where((index >= low) & (index < high), x, np.float32(-1e30))


def memset():
    out = empty()
    return lambda: out.fill(1.5)


def shuffle():
    x, out = values("f32"), empty()
    rows = np.concatenate([np.arange(31, -1, -1) + 32 * b for b in range(P // 32)])
    return lambda: np.take(x, rows, axis=0, out=out, mode="clip")


def tiles():
    x, out = values("f32").reshape(P // 32, 32, F // 32, 32), empty().reshape(P // 32, 32, F // 32, 32)
    return lambda: np.copyto(out, x.transpose(0, 3, 2, 1))


def transpose(dtype):
    x, out = values(dtype), empty(dtype, (F, P))
    return lambda: np.copyto(out, x.T)


def unary(f, dtype="f32", low=-4.0):
    x, out = values(dtype, low), empty(dtype)
    return lambda: f(x, out)


def sigmoid(x, out):
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def silu(x, out):
    sigmoid(x, out)
    np.multiply(out, x, out=out)


def gelu_tanh(x, out):
    one = out.dtype.type
    np.multiply(x, x, out=out)
    np.multiply(out, one(0.044715 * 0.7978845608), out=out)
    np.add(out, one(0.7978845608), out=out)
    np.multiply(out, x, out=out)
    np.tanh(out, out=out)
    np.add(out, one(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, one(0.5), out=out)


def rsqrt(x, out):
    np.sqrt(x, out=out)
    np.reciprocal(out, out=out)


def softplus(x, out):
    np.exp(x, out=out)
    np.log1p(out, out=out)


def matmul(dtype, m, n):
    w, x, out = values(dtype, shape=(128, m)), values(dtype, shape=(128, n)), empty("f32", (m, n))
    if dtype == "f32":
        return lambda: np.matmul(w.T, x, out=out)
    return lambda: np.matmul(w.astype(np.float32).T, x.astype(np.float32), out=out)


def quantize_mx():
    x, out = values("bf16"), empty(ml_dtypes.float8_e4m3fn, (P // 8, 8, F // 4, 4))

    def run():
        blocks = x.astype(np.float32).reshape(P // 8, 8, F // 4, 4)
        top = np.abs(blocks).max(axis=(1, 3), keepdims=True)
        exponent = np.maximum((top.view(np.int32) >> 23) - 8, 0)
        factor = ((254 - exponent) << 23).view(np.float32)
        np.copyto(out, blocks * factor, casting="unsafe")
        return exponent.astype(np.uint8)

    return run


def bn_stats():
    x = values("f32", shape=(P, F // 2, 2))
    return lambda: (x.mean(axis=1), x.var(axis=1))


def max8():
    x = values("f32")
    return lambda: -np.sort(-np.partition(x, F - 8, axis=1)[:, F - 8 :], axis=1)


def match_replace():
    x, top = values("f32"), values("f32", shape=(P, 8))

    def run():
        out = x.copy()
        for k in range(8):
            hit = x == top[:, k : k + 1]
            at = hit.argmax(axis=1)
            rows = np.nonzero(hit[np.arange(P), at])[0]
            out[rows, at[rows]] = 0
        return out

    return run


def gather_rows():
    table, index, out = values("f32", shape=(1024, F)), ints(1024, (P,)), empty()
    return lambda: np.take(table, index, axis=0, out=out, mode="clip")


def scatter_add():
    table, index, x = values("f32", shape=(1024, F)), ints(1024, (P,)), values("f32")
    return lambda: np.add.at(table, index, x)


def gather_elements():
    x, index = values("f32"), ints(F)
    return lambda: np.take_along_axis(x, index, axis=1)


def random_bits(generator):
    g = np.random.Generator(generator(1))
    return lambda: g.integers(0, 1 << 32, (P, F), dtype=np.uint32)


def random_uniform():
    g, out = np.random.Generator(np.random.PCG64(1)), empty()

    def run():
        g.random(out=out, dtype=np.float32)
        np.multiply(out, np.float32(2), out=out)
        np.add(out, np.float32(-1), out=out)

    return run


def dropout():
    g, x, r = np.random.Generator(np.random.PCG64(1)), values("f32"), empty()

    def run():
        g.random(out=r, dtype=np.float32)
        return np.where(r < np.float32(0.5), np.float32(0), x)

    return run


def cce():
    x, y, z, out = values("f32"), values("f32"), values("f32"), empty()

    def run():
        np.add(x, y, out=out)
        np.add(out, z, out=out)

    return run


def tile(n, low):
    return values("f32", low, (P, F + 16))[:, :n]


def tile_add(n):
    x, y, out = tile(n, -4.0), tile(n, -3.0), tile(n, 0.0)
    return lambda: np.add(x, y, out=out)


def tile_scale(n):
    x, out = tile(n, -4.0), tile(n, 0.0)
    a, b = np.float32(2), np.float32(0.5)

    def run():
        np.multiply(x, a, out=out)
        np.add(out, b, out=out)

    return run


def tile_column(n):
    x, out, a = tile(n, -4.0), tile(n, 0.0), values("f32", shape=(P, 1))
    return lambda: np.multiply(x, a, out=out)


def tile_exp(n):
    x, out = tile(n, -4.0), tile(n, 0.0)
    return lambda: np.exp(x, out=out)


CASES = {
    "affine_select": affine_select,
    "bn_stats": bn_stats,
    "cce add of 3": cce,
    "copy_predicated": copy_predicated,
    "dropout": dropout,
    "gather elements": gather_elements,
    "gather rows": gather_rows,
    "iota int32": iota,
    "match_replace": match_replace,
    "matmul bf16": lambda: matmul("bf16", 128, 512),
    "matmul f32": lambda: matmul("f32", 128, 512),
    "matmul fp8": lambda: matmul("fp8", 128, 512),
    "max8": max8,
    "memset f32": memset,
    "pool avg 2x2": lambda: pool(np.mean),
    "pool max 2x2": lambda: pool(np.max),
    "quantize_mx": quantize_mx,
    "random mt19937": lambda: random_bits(np.random.MT19937),
    "random pcg32": lambda: random_bits(np.random.PCG64),
    "random philox": lambda: random_bits(np.random.Philox),
    "random uniform": random_uniform,
    "random xorwow": lambda: random_bits(np.random.SFC64),
    "range_select": range_select,
    "scatter-add rows": scatter_add,
    "select f32": select,
    "shuffle": shuffle,
    "stream_transpose": tiles,
    "tensor_tensor and int32": lambda: binary_int(np.bitwise_and),
    "tensor_tensor add int32": lambda: binary_int(np.add),
}
for n in (1, 8, 64, 512):
    CASES |= {
        f"tile add 128x{n}": lambda n=n: tile_add(n),
        f"tile scale 128x{n}": lambda n=n: tile_scale(n),
        f"tile column 128x{n}": lambda n=n: tile_column(n),
        f"tile exp 128x{n}": lambda n=n: tile_exp(n),
    }
for d in ("f32", "bf16", "fp8"):
    CASES |= {
        f"copy {d}": lambda d=d: cast(d, d),
        f"dma transpose {d}": lambda d=d: transpose(d),
        f"scalar_tensor_tensor {d}": lambda d=d: scalar_tensor_tensor(d),
        f"tensor_scalar {d}": lambda d=d: tensor_scalar(d),
        f"tensor_scalar_ptr {d}": lambda d=d: tensor_scalar_ptr(d),
        f"tensor_tensor add {d}": lambda d=d: binary(np.add, d),
        f"tensor_tensor max {d}": lambda d=d: binary(np.maximum, d),
        f"tensor_tensor mult {d}": lambda d=d: binary(np.multiply, d),
        f"reduce add X {d}": lambda d=d: along(np.sum, d, 1),
        f"reduce add C {d}": lambda d=d: along(np.sum, d, 0),
        f"reduce max X {d}": lambda d=d: along(np.max, d, 1),
        f"scan add {d}": lambda d=d: accumulate(np.add, d),
        f"scan max {d}": lambda d=d: accumulate(np.maximum, d),
    }
    for e in ("f32", "bf16", "fp8", "f16", "int8", "int32"):
        CASES[f"cast {d} to {e}"] = lambda d=d, e=e: cast(d, e)
        CASES[f"cast {e} to {d}"] = lambda d=d, e=e: cast(e, d)
    for name, f, low in (
        ("abs", lambda x, out: np.abs(x, out=out), -4.0),
        ("arctan", lambda x, out: np.arctan(x, out=out), -4.0),
        ("exp", lambda x, out: np.exp(x, out=out), -4.0),
        ("gelu_apprx_tanh", gelu_tanh, -4.0),
        ("ln", lambda x, out: np.log(x, out=out), 0.01),
        ("reciprocal", lambda x, out: np.reciprocal(x, out=out), 0.01),
        ("relu", lambda x, out: np.maximum(x, out.dtype.type(0), out=out), -4.0),
        ("rsqrt", rsqrt, 0.01),
        ("sigmoid", sigmoid, -4.0),
        ("silu", silu, -4.0),
        ("sin", lambda x, out: np.sin(x, out=out), -4.0),
        ("softplus", softplus, -4.0),
        ("sqrt", lambda x, out: np.sqrt(x, out=out), 0.01),
        ("square", lambda x, out: np.multiply(x, x, out=out), -4.0),
        ("tanh", lambda x, out: np.tanh(x, out=out), -4.0),
    ):
        CASES[f"{name} {d}"] = lambda f=f, d=d, low=low: unary(f, d, low)


def main():
    np.seterr(all="ignore")
    print(f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}", flush=True)
    run = None
    for line in sys.stdin:
        line = line.strip()
        if line.startswith("go "):
            best = 1 << 62
            for _ in range(int(line[3:])):
                start = time.perf_counter_ns()
                run()
                best = min(best, time.perf_counter_ns() - start)
            print(best, flush=True)
            continue
        make = CASES.get(line)
        run = make() if make else None
        if run:
            run()
        print("ready" if run else "none", flush=True)


if __name__ == "__main__":
    main()
