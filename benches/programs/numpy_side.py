"""The NumPy half of the programs bench: the same operations on the same tiles, one NumPy call for each instruction.

Reads `NAME SIZE` lines and answers `ready`, or `none` when there is no counterpart. Every `go N` that follows runs the
case N times and answers the best wall time in nanoseconds, of one pass. NumPy multiplies no bf16 matrices: bf16 programs
are float32 here, without the roundings between the steps.
"""

import sys
import time

import numpy as np

P, WIDE = 128, 512
RNG = np.random.default_rng(1)


def values(*shape):
    return RNG.uniform(-1.0, 1.0, shape).astype(np.float32)


def gelu(x):
    # The tanh form: NumPy has no erf.
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def tiles(cols):
    a, b, c = values(P, cols), values(P, cols), values(P, cols)
    passes = max(1, 20_000 // (cols + 60))

    def run():
        for _ in range(passes):
            np.add(a, b, out=c)
            np.multiply(c, np.float32(0.5), out=a)
            np.add(a, np.float32(0.25), out=a)
            np.maximum(a, b, out=c)
            np.copyto(a, c)

    return run, 4 * passes


def many(n):
    t = [values(P, 64) for _ in range(32)]

    def run():
        for i in range(n):
            a, b, c = t[i % 32], t[(i + 5) % 32], t[(i + 9) % 32]
            if i % 4 == 0:
                np.add(a, b, out=c)
            elif i % 4 == 1:
                np.multiply(a, np.float32(0.5), out=b)
                np.add(b, np.float32(0.25), out=b)
            elif i % 4 == 2:
                np.maximum(a, b, out=c)
            else:
                np.copyto(b, a)

    return run, 1


def layer_norm(rows):
    cols = 2048
    x, y = values(rows, cols), np.empty((rows, cols), np.float32)
    a, b = values(P, cols), values(P, cols)
    one = np.float32(1 / cols)

    def run():
        for r in range(0, rows, P):
            np.copyto(a, x[r : r + P])
            mean = a.sum(axis=1, keepdims=True) * one
            np.subtract(a, mean, out=a)
            np.multiply(a, a, out=b)
            square = b.sum(axis=1, keepdims=True) * one + np.float32(1e-5)
            scale = 1 / np.sqrt(square)
            np.multiply(a, scale, out=b)
            np.copyto(y[r : r + P], b)

    return run, 1


def matmul(n):
    a, b, c = values(n, n), values(n, n), np.empty((n, n), np.float32)
    acc, product = np.empty((P, WIDE), np.float32), np.empty((P, WIDE), np.float32)
    turned = [np.ascontiguousarray(a[k : k + P].T) for k in range(0, n, P)]

    def run():
        for m in range(0, n, P):
            for col in range(0, n, WIDE):
                for k, w in enumerate(turned):
                    out = acc if k == 0 else product
                    np.matmul(w[m : m + P], b[k * P : k * P + P, col : col + WIDE], out=out)
                    if k:
                        np.add(acc, product, out=acc)
                c[m : m + P, col : col + WIDE] = acc

    return run, 1


def attention(n):
    heads = n // WIDE
    q, k, v = values(heads, P, n), values(heads, P, n), values(heads, n, P)
    o = np.empty((heads, n, P), np.float32)
    scores, acc, product = np.empty((P, n), np.float32), np.empty((P, P), np.float32), np.empty((P, P), np.float32)

    def run():
        for h in range(heads):
            for row in range(0, n, P):
                rows = np.ascontiguousarray(q[h, :, row : row + P].T)
                for col in range(0, n, WIDE):
                    scores[:, col : col + WIDE] = rows @ k[h, :, col : col + WIDE]
                scores.__isub__(scores.max(axis=1, keepdims=True))
                np.exp(scores, out=scores)
                inverse = 1 / scores.sum(axis=1, keepdims=True)
                for t in range(0, n, P):
                    out = acc if t == 0 else product
                    np.matmul(scores[:, t : t + P], v[h, t : t + P], out=out)
                    if t:
                        np.add(acc, product, out=acc)
                np.multiply(acc, inverse, out=o[h, row : row + P])

    return run, 1


def mlp(n):
    w0, w1, x = values(n, n), values(n, n), values(n, WIDE)
    h, y = np.empty((n, WIDE), np.float32), np.empty((n, WIDE), np.float32)
    product = np.empty((P, WIDE), np.float32)

    def run():
        for weights, given, out in ((w0.T, x, h), (w1.T, h, y)):
            for m in range(0, n, P):
                acc = np.zeros((P, WIDE), np.float32)
                for k in range(0, n, P):
                    np.matmul(weights[m : m + P, k : k + P], given[k : k + P], out=product)
                    np.add(acc, product, out=acc)
                out[m : m + P] = gelu(acc) if out is h else acc

    return run, 1


CASES = {
    "tiles": tiles,
    "many": many,
    "layer_norm": layer_norm,
    "matmul_f32": matmul,
    "matmul_bf16": matmul,
    "attention": attention,
    "mlp": mlp,
}


def best(run, passes, times):
    nanos = []
    for _ in range(times):
        start = time.perf_counter_ns()
        run()
        nanos.append(time.perf_counter_ns() - start)
    return min(nanos) / passes


def main():
    print(f"NumPy {np.__version__}", flush=True)
    case = None
    for line in sys.stdin:
        word, number = line.split()
        if word == "go":
            print(best(*case, int(number)), flush=True)
        else:
            made = CASES.get(word)
            case = made(int(number)) if made else None
            print("ready" if made else "none", flush=True)


main()
