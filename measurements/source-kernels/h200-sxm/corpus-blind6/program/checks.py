"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import numpy as np

F, N, D, U = cp.float32, cp.int32, cp.float64, cp.uint32


def wide(x):
    return x.astype(D)


def both(*pairs):
    """Return all that came and all that was wanted, each as one row of doubles."""
    return tuple(cp.concatenate([wide(p[k]).ravel() for p in pairs]) for k in (0, 1))


def cross_entropy_grads(a):
    rows = cp.arange(a["labels"].size)
    logits = wide(a["logits"]).reshape(rows.size, -1)
    weight = cp.exp(logits - logits.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    losses = -cp.log(weight[rows, a["labels"]])
    weight[rows, a["labels"]] -= 1
    came = wide(a["grads"].view(F)) / a["scale"]
    return both((came, weight), (a["losses"].view(F), losses))


def conv_direct(a):
    c, f, h, w = a["channels"], a["filters"], a["height"], a["width"]
    p = cp.pad(wide(a["in"]).reshape(-1, c, h, w), ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = wide(a["weights"]).reshape(f, c, 3, 3)
    wanted = cp.zeros((f, p.shape[0], h, w))
    for dy in range(3):
        for dx in range(3):
            wanted += cp.tensordot(taps[:, :, dy, dx], p[:, :, dy : dy + h, dx : dx + w], (1, 1))
    return a["out"].view(F), cp.maximum(wanted, 0).transpose(1, 0, 2, 3)


def matmul_dp4a(a):
    left, right = (wide(a[n].view(cp.int8)).reshape(-1, 4 * a["words"]) for n in ("a", "b"))
    return a["out"].view(F), left @ right.T * wide(a["rows"])[:, None] * wide(a["columns"])


def paged_decode(a):
    heads, most = a["heads"], a["most"]
    queries = wide(a["queries"]).reshape(-1, heads // 4, 4, 128)
    keys, values = (wide(a[n]).reshape(-1, heads // 4, 16, 128) for n in ("keys", "values"))
    wanted = cp.empty_like(queries)
    for sequence, pages in enumerate(a["pages"].reshape(-1, most)):
        tokens = a["least"] + int(a["more"][sequence])
        k, v = (x[pages].transpose(1, 0, 2, 3).reshape(-1, 16 * most, 128) for x in (keys, values))
        score = queries[sequence] @ k[:, :tokens].transpose(0, 2, 1) * a["scale"]
        weight = cp.exp(score - score.max(2, keepdims=True))
        wanted[sequence] = weight @ v[:, :tokens] / weight.sum(2, keepdims=True)
    return a["out"].view(F), wanted


def cyclic_reduction(a):
    # put into its equations, the solution gives the right side
    lower, middle, upper = (wide(a[n]).reshape(-1, 512) for n in ("lower", "middle", "upper"))
    x = wide(a["out"].view(F)).reshape(-1, 512)
    right = (middle + 2.5) * x
    right[:, 1:] += lower[:, 1:] * x[:, :-1]
    right[:, :-1] += upper[:, :-1] * x[:, 1:]
    return right, a["right"]


def shallow_water(a):
    shape = a["height"], a["width"]
    h, p, q = (cp.pad(wide(a[n]).reshape(shape), 1, mode="edge") for n in "hpq")
    h += 1
    g = 4.905 * h * h
    east = (p, p * p / h + g, p * q / h)
    south = (q, p * q / h, q * q / h + g)
    pairs = []
    for name, u, f, s in zip("hpq", (h, p, q), east, south, strict=True):
        mean = (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]) / 4
        moved = f[1:-1, 2:] - f[1:-1, :-2] + s[2:, 1:-1] - s[:-2, 1:-1]
        pairs.append((a[f"{name}_out"].view(F), mean - a["step"] * moved))
    return both(*pairs)


def asian_paths(a):
    paths = a["out"].size // 4 * a["block"]
    state = (cp.arange(paths, dtype=U) + U(a["seed"])) * U(2654435761)
    state = state ^ state >> U(16)
    state = state * U(0x7FEB352D) | U(1)

    def draw():
        nonlocal state
        state = state ^ state << U(13)
        state = state ^ state >> U(17)
        state = state ^ state << U(5)
        return (wide(state >> U(8)) + 0.5) / 2**24

    price, mean = cp.full(paths, 100.0), cp.zeros(paths)
    for _ in range(a["steps"] // 2):
        radius, angle = cp.sqrt(-2 * cp.log(draw())), 2 * np.pi * draw()
        for normal in (radius * cp.sin(angle), radius * cp.cos(angle)):
            price *= cp.exp(a["drift"] + a["spread"] * normal)
            mean += price
    pay = cp.maximum(mean / a["steps"] - a["strike"], 0)
    return a["out"].view(F), pay.reshape(-1, a["block"]).sum(1)


def recursive_columns(a):
    rows = a["in"].reshape(a["height"], -1)
    a0, a1, b1, b2 = (a[n] for n in ("a0", "a1", "b1", "b2"))
    zero = cp.zeros_like(rows[0])
    wanted = cp.empty_like(rows)
    last, y1, y2 = zero, zero, zero
    for y, row in enumerate(rows):
        y1, y2 = a0 * row + a1 * last + b1 * y1 + b2 * y2, y1
        wanted[y], last = y1, row
    x1, x2, y1, y2 = zero, zero, zero, zero
    for y in range(len(rows) - 1, -1, -1):
        y1, y2 = a1 * x1 + a0 * x2 + b1 * y1 + b2 * y2, y1
        wanted[y] += y1
        x1, x2 = rows[y], x1
    return a["out"].view(D), wanted


def radix_block_pass(a):
    keys = a["keys"].astype(cp.int64).reshape(-1, 1024)
    digits = keys >> a["shift"] & 15
    order = cp.sort(digits * 1024 + cp.arange(1024), axis=1) & 1023
    counts = cp.stack([(digits == d).sum(1) for d in range(16)])
    came = a["out"].view(U), cp.take_along_axis(keys, order, 1)
    return both(came, (wide(a["counts"].view(N)) * 2.0**24, counts * 2.0**24))


def page_rank_pull(a):
    starts = a["starts"].astype(cp.int64)
    begin, end = int(starts[0]), int(starts[-1])
    links = a["links"][begin:end]
    given = wide(a["ranks"])[links] / (a["more"][links] + 1.0)
    upto = cp.concatenate([cp.zeros(1), cp.cumsum(given)])
    sums = upto[starts[1:] - begin] - upto[starts[:-1] - begin]
    return a["out"].view(F), (1 - a["damping"]) / a["pages"] + a["damping"] * sums


def coo_products_double(a):
    given = a["entries"] * a["x"][a["columns"]]
    return a["out"], cp.bincount(a["rows"], given, minlength=a["out"].size)


def sketch_counts(a):
    bits = a["bits"]
    h = a["keys"].astype(U) * U(0x9E3779B1) + U(0x85EBCA6B)
    counts = []
    for _ in range(4):
        h = h ^ h >> U(15)
        h = h * U(0x2C1B3C6D)
        h = h ^ h >> U(12)
        counts.append(cp.bincount((h >> U(32 - bits)).astype(N), minlength=1 << bits))
    return a["table"], cp.concatenate(counts)


def median_nine(a):
    h, w = a["height"], a["width"]
    p = cp.pad(a["in"].reshape(h, w), 1, mode="edge")
    near = cp.stack([p[y : y + h, x : x + w] for y in range(3) for x in range(3)])
    return a["out"], cp.sort(near, axis=0)[4]


def row_prefix_sums(a):
    pixels = a["in"].astype(cp.int64).reshape(-1, 4 * a["quads"])
    return a["out"].view(N), cp.cumsum(pixels, axis=1)


EXPECTED = {
    each.__name__: each
    for each in (
        cross_entropy_grads,
        conv_direct,
        matmul_dp4a,
        paged_decode,
        cyclic_reduction,
        shallow_water,
        asian_paths,
        recursive_columns,
        radix_block_pass,
        page_rank_pull,
        coo_products_double,
        sketch_counts,
        median_nine,
        row_prefix_sums,
    )
}

# Relative errors allowed beyond 1e-4, for half precision and single-precision sums.
LOOSE = {"paged_decode": 1e-3}
