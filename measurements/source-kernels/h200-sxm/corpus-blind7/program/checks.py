"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, H, N, D, U = cp.float32, cp.float16, cp.int32, cp.float64, cp.uint32


def wide(x):
    return x.astype(D)


def both(*pairs):
    """Return all that came and all that was wanted, each part over the norm of what was wanted."""
    norms = [cp.linalg.norm(wide(wanted).ravel()) for _, wanted in pairs]
    return tuple(
        cp.concatenate([wide(p[k]).ravel() / n for p, n in zip(pairs, norms, strict=True)])
        for k in (0, 1)
    )


def rms_norm_residual(a):
    width = 8 * a["vectors"]
    total = (a["x"] + a["residual"]).reshape(-1, width)
    f = wide(total)
    wanted = f / cp.sqrt((f * f).mean(1, keepdims=True) + a["eps"]) * wide(a["weight"])
    return both((a["carried"].view(H), total), (a["out"].view(H), wanted))


def rope_rotate(a):
    half, heads, kv = a["half_dim"], a["heads"], a["kv_heads"]
    x = wide(a["qkv"]).reshape(-1, heads + 2 * kv, 2, half)[:, : heads + kv]
    turns = wide(a["table"]).reshape(-1, 2, half)[a["positions"]]
    c, s = turns[:, None, 0], turns[:, None, 1]
    wanted = cp.stack([x[:, :, 0] * c - x[:, :, 1] * s, x[:, :, 1] * c + x[:, :, 0] * s], axis=2)
    return both((a["q"].view(H), wanted[:, :heads]), (a["k"].view(H), wanted[:, heads:]))


def gemv_int4(a):
    rows, columns = a["rows"], a["columns"]
    shifts = cp.arange(0, 32, 4).astype(U)
    nibbles = a["weights"].view(U).reshape(rows, -1, 1) >> shifts & U(15)
    grouped = nibbles.reshape(rows, -1, 128).astype(F) - a["zeros"].reshape(rows, -1, 1)
    weights = wide(grouped) * wide(a["scales"]).reshape(rows, -1, 1)
    return a["out"].view(H), weights.reshape(rows, columns) @ wide(a["x"])


def topk_logits(a):
    logits = a["logits"].reshape(-1, a["vocabulary"])
    places = a["places"].view(N).reshape(-1, 8)
    wanted = cp.sort(logits, axis=1)[:, :-9:-1]
    there = cp.take_along_axis(logits, places.astype(cp.int64), 1)
    each = cp.sort(places, axis=1)
    distinct = (each[:, 1:] > each[:, :-1]).all(1)  # all of a row's places differ
    came = a["values"].view(F)
    return both((came, wanted), (there, wanted), (distinct, cp.ones_like(distinct)))


def depthwise_nhwc(a):
    h, w, c, s = a["height"], a["width"], 4 * a["quads"], a["stride"]
    x = cp.pad(wide(a["in"]).reshape(-1, h, w, c), ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = wide(a["taps"]).reshape(3, 3, c)
    wanted = wide(a["bias"])
    for dy in range(3):
        for dx in range(3):
            wanted = wanted + x[:, dy : dy + h : s, dx : dx + w : s] * taps[dy, dx]
    return a["out"].view(F), cp.clip(wanted, 0, 6)


def nchw_to_nhwc(a):
    x = a["in"].reshape(-1, a["channels"], a["pixels"])
    return a["out"].view(H), x.transpose(0, 2, 1).astype(H)


def resize_normalise(a):
    h, w = a["height"], a["width"]
    image = wide(a["in"]).reshape(-1, h, w, 3)
    near = []
    for size, out, scale in (
        (h, a["out_height"], a["scale_y"]),
        (w, a["out_width"], a["scale_x"]),
    ):
        place = cp.maximum((cp.arange(out) + 0.5) * scale - 0.5, 0)
        first = cp.minimum(cp.floor(place).astype(N), size - 1)
        near.append((first, cp.minimum(first + 1, size - 1), place - first))
    (y0, y1, ay), (x0, x1, ax) = near
    ay, ax = ay[:, None, None], ax[:, None]
    top = image[:, y0][:, :, x0] * (1 - ax) + image[:, y0][:, :, x1] * ax
    bottom = image[:, y1][:, :, x0] * (1 - ax) + image[:, y1][:, :, x1] * ax
    mean, deviation = cp.array([0.485, 0.456, 0.406]), cp.array([0.229, 0.224, 0.225])
    wanted = ((top * (1 - ay) + bottom * ay) / 255 - mean) / deviation
    return a["out"].view(F), wanted.transpose(0, 3, 1, 2)


def welford_channels(a):
    x = wide(a["in"]).reshape(a["images"], a["channels"], a["pixels"])
    means, variances = x.mean((0, 2)), x.var((0, 2))
    return both((a["means"].view(F), means), (a["variances"].view(F), variances))


def compact_below(a):
    wanted = cp.nonzero(a["in"] < F(a["limit"]))[0]
    count = int(a["count"][0])
    places, values = a["places"].view(N)[:count], a["values"].view(F)[:count]
    held = a["in"][places]
    return both((a["count"], cp.array([wanted.size])), (cp.sort(places), wanted), (values, held))


def bfs_expand(a):
    starts = a["starts"].astype(cp.int64)
    vertices = starts.size - 1
    reached = cp.zeros(vertices, dtype=bool)
    reached[a["frontier"][: a["size"]]] = True
    lengths = starts[1:] - starts[:-1]
    upto = cp.arange(int(starts[-1])) + int(starts[0])
    owner = cp.searchsorted(starts, upto, side="right") - 1
    assert int(lengths.sum()) == upto.size
    wanted = cp.unique(a["targets"][upto[reached[owner]]])
    levels = cp.zeros(vertices)
    levels[wanted] = a["level"]
    found = cp.sort(a["next"].view(N)[: int(a["count"][0])])
    return both((a["count"], cp.array([wanted.size])), (found, wanted), (a["levels"], levels))


def merge_sorted(a):
    return a["out"].view(N), cp.sort(cp.concatenate([a["a"], a["b"]]))


def primes(count):
    return [p for p in range(2, 400) if all(p % q for q in range(2, p))][:count]


def fraction(value, root):
    """Return the first 32 bits of a root's fraction, exactly."""
    whole = value << (32 * root)
    low, high = 0, 1 << 48
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= whole else (low, middle)
    return low & 0xFFFFFFFF


def sha256_stretch(a):
    # the standard's constants are roots of primes: square ones to begin with, cubic ones a round
    start = [fraction(p, 2) for p in primes(8)]
    rounds = [fraction(p, 3) for p in primes(64)]

    def turned(x, by):
        return x >> U(by) | x << U(32 - by)

    given = a["in"].view(U).reshape(-1, 8)
    digest = [given[:, k].copy() for k in range(8)]
    for _ in range(a["times"]):
        rest = [0x80000000, 0, 0, 0, 0, 0, 0, 256]
        w = digest + [cp.zeros_like(digest[0]) + U(v) for v in rest]
        for k in range(16, 64):
            x, y = w[k - 15], w[k - 2]
            one = turned(x, 7) ^ turned(x, 18) ^ x >> U(3)
            w.append(w[k - 16] + one + w[k - 7] + (turned(y, 17) ^ turned(y, 19) ^ y >> U(10)))
        s = [cp.zeros_like(digest[0]) + U(v) for v in start]
        for k in range(64):
            p, q, r, d, e, f, g, h = s
            one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & f ^ ~e & g)
            one = one + U(rounds[k]) + w[k]
            two = (turned(p, 2) ^ turned(p, 13) ^ turned(p, 22)) + (p & q ^ p & r ^ q & r)
            s = [one + two, p, q, r, d + one, e, f, g]
        digest = [u + U(v) for u, v in zip(s, start, strict=True)]
    return a["out"].view(U), cp.stack(digest, axis=1)


def batched_gemm(a):
    m, n, k = a["m"], a["n"], a["k"]
    return a["c"].view(F), wide(a["a"]).reshape(-1, m, k) @ wide(a["b"]).reshape(-1, k, n)


def cholesky_batch(a):
    # the factor times itself turned is the matrix, mirrored from its lower half
    n = a["n"]
    below = cp.tril(cp.ones((n, n)))
    given = wide(a["in"]).reshape(-1, n, n) * below
    whole = given + given.transpose(0, 2, 1) * (1 - cp.eye(n)) + a["ridge"] * cp.eye(n)
    factor = wide(a["out"].view(F)).reshape(-1, n, n)
    lower = factor * below
    return both((lower @ lower.transpose(0, 2, 1), whole), (factor, lower))


def fft_radix4(a):
    came = a["out"].view(F).reshape(-1, 1024, 2)
    given = wide(a["in"]).reshape(-1, 1024, 2)
    wanted = cp.fft.fft(given[..., 0] + 1j * given[..., 1], axis=1)
    return both((came[..., 0], wanted.real), (came[..., 1], wanted.imag))


def wave_double(a):
    shape = a["nz"], a["ny"], a["nx"]
    u, past = a["now"].reshape(shape), a["past"].reshape(shape)
    middle = slice(2, -2)
    bend = -7.5 * u[middle, middle, middle]
    for axis in range(3):
        for by, weight in ((1, 4 / 3), (2, -1 / 12)):
            bend += weight * cp.roll(u, by, axis)[middle, middle, middle]
            bend += weight * cp.roll(u, -by, axis)[middle, middle, middle]
    wanted = 2 * u[middle, middle, middle] - past[middle, middle, middle] + a["courant"] * bend
    return a["next"].view(D).reshape(shape)[middle, middle, middle], wanted


EXPECTED = {
    each.__name__: each
    for each in (
        rms_norm_residual,
        rope_rotate,
        gemv_int4,
        topk_logits,
        depthwise_nhwc,
        nchw_to_nhwc,
        resize_normalise,
        welford_channels,
        compact_below,
        bfs_expand,
        merge_sorted,
        sha256_stretch,
        batched_gemm,
        cholesky_batch,
        fft_radix4,
        wave_double,
    )
}

# Relative errors allowed beyond 1e-4, for results in half precision.
LOOSE = {"rms_norm_residual": 1e-3, "rope_rotate": 1e-3, "gemv_int4": 1e-3}
