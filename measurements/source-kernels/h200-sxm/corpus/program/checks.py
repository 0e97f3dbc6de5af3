"""What each kernel of the corpus should have written: formulas of CuPy, in double where it matters.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes. Sums that atomics add up in any order are compared with a tolerance.
"""

import cupy as cp
import cupyx.scipy.special as special

F, N, U, D = cp.float32, cp.int32, cp.uint32, cp.float64


def wide(x):
    return x.astype(D)


def plane(a, name="in"):
    return wide(a[name].reshape(a["height"], a["width"]))


def stencil_plane(a):
    p, out = plane(a), cp.zeros((a["height"], a["width"]))
    out[1:-1, 1:-1] = 0.2 * (
        p[1:-1, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]
    )
    return a["out"].view(F), out


def stencil_volume(a):
    v = wide(a["in"].reshape(a["nz"], a["ny"], a["nx"]))
    out, m = cp.zeros_like(v), slice(1, -1)
    around = v[:-2, m, m] + v[2:, m, m] + v[m, m, :-2] + v[m, m, 2:] + v[m, :-2, m] + v[m, 2:, m]
    out[m, m, m] = 0.4 * v[m, m, m] + 0.1 * around
    return a["out"].view(F), out


def stencil_line(a):
    x, out = wide(a["in"]), cp.zeros(a["n"])
    out[1:-1] = 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]
    return a["out"].view(F), out


def stencil_line_shared(a):
    x, n = cp.pad(wide(a["in"]), 4), a["n"]
    return a["out"].view(F), sum(x[k : k + n] for k in range(9)) / 9


def blur_plane(a):
    p, h, w = cp.pad(plane(a), 2, mode="edge"), a["height"], a["width"]
    k = [1, 4, 6, 4, 1]
    return a["out"].view(F), sum(
        k[i] * k[j] * p[i : i + h, j : j + w] for i in range(5) for j in range(5)
    ) / 256


def transposed(a):
    return a["out"].view(F), plane(a).T


def blocks(a, name="in", size=256):
    x = wide(a[name])
    return cp.pad(x, (0, -len(x) % size)).reshape(-1, size)


def block_sums(a):
    return a["out"].view(F), blocks(a).sum(1)


def scans(a, size):
    x = a["in"].reshape(-1, size)
    return a["out"].view(N), cp.cumsum(x, 1)


def counts(a):
    return a["bins"], cp.bincount(a["keys"].astype(N), minlength=len(a["bins"]))


def compact(a):
    kept = a["in"][a["in"] < a["limit"]]
    n = int(a["count"][0])
    return cp.concatenate([cp.sort(a["out"].view(U)[:n]), a["count"]]), cp.concatenate(
        [cp.sort(kept), cp.array([kept.size], U)]
    )


def best_of(a):
    x = a["in"].reshape(-1, 4096)
    return a["best"], cp.maximum(x.max(0), 0)


def product(a, transpose=False):
    n = a["n"]
    p, q = wide(a["a"]).reshape(n, n), wide(a["b"]).reshape(n, n)
    return a["c"].view(F), p @ (q.T if transpose else q)


def matvec(a, transpose=False):
    m = wide(a["a"]).reshape(a["rows"], a["columns"])
    return a["y"].view(F) if a["y"].dtype == cp.uint8 else a["y"], (m.T if transpose else m) @ wide(
        a["x"]
    )


def sparse(a):
    starts, rows = a["starts"], a["rows"]
    terms = wide(a["values"]) * wide(a["x"])[a["columns"]]
    sums = cp.concatenate([cp.zeros(1), cp.cumsum(terms)])
    return a["y"].view(F), sums[starts[1 : rows + 1]] - sums[starts[:rows]]


def links(a):
    at = cp.arange(a["n"])
    for _ in range(a["steps"]):
        at = a["next"][at]
    return a["end"].view(N), at


def nbody(a):
    b = wide(a["bodies"]).reshape(-1, 4)
    out = cp.zeros_like(b)
    for i in range(0, a["n"], 512):
        d = b[None, :, :3] - b[i : i + 512, None, :3]
        s = b[None, :, 3] * ((d * d).sum(2) + 1e-4) ** -1.5
        out[i : i + 512, :3] = (s[:, :, None] * d).sum(1)
    return a["forces"].view(F), out


def options(a):
    s, k, t = 1 + wide(a["spot"]), 1 + wide(a["strike"]), 0.25 + wide(a["years"])
    spread = a["volatility"] * cp.sqrt(t)
    d = (cp.log(s / k) + (a["rate"] + a["volatility"] ** 2 / 2) * t) / spread
    below = special.ndtr
    return a["call"].view(F), s * below(d) - k * cp.exp(-a["rate"] * t) * below(d - spread)


def polynomial(a):
    x = wide(a["in"])
    total = cp.ones_like(x)
    for _ in range(a["degree"]):
        total = total * x + 1 / 3
    return a["out"].view(F), total


def lattice(a):
    p = a["in"].reshape(9, a["height"], a["width"])
    moved = [cp.roll(p[k], (k // 3 - 1, k % 3 - 1), (0, 1)) for k in range(9)]
    return a["out"].view(F), cp.stack(moved)


def heat(a):
    t = a["in"].copy()
    for _ in range(a["steps"]):
        t = t + 0.01 * (0.5 - t) * t
    return a["out"].view(D), t


def rows(a, columns):
    return wide(a["in"]).reshape(-1, columns)


def softmax(a, columns):
    x = rows(a, columns)
    e = cp.exp(x - x.max(1, keepdims=True))
    return a["out"].view(F), e / e.sum(1, keepdims=True)


def layer_norm(a):
    x = rows(a, a["columns"])
    x = (x - x.mean(1, keepdims=True)) / cp.sqrt(x.var(1, keepdims=True) + 1e-5)
    return a["out"].view(F), x * wide(a["gain"]) + wide(a["bias"])


def rms_norm(a):
    x = rows(a, 2 * a["pairs"])
    return a["out"].view(cp.float16), x / cp.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * wide(
        a["gain"]
    )


def gelu(a):
    x = wide(a["in"]) + cp.resize(wide(a["bias"]), a["n"])
    return a["out"].view(F), x / 2 * (1 + cp.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def rotary(a):
    v = wide(a["in"]).reshape(-1, a["heads"], a["half"], 2)
    t = wide(a["turns"]).reshape(-1, 1, a["half"], 2)
    x, y = (
        v[..., 0] * t[..., 0] - v[..., 1] * t[..., 1],
        v[..., 0] * t[..., 1] + v[..., 1] * t[..., 0],
    )
    return a["out"].view(F), cp.stack([x, y], -1)


def bits_of(a):
    x = a["in"].reshape(-1, 4)
    return a["out"].view(N), sum((x >> b & 1).sum(1) for b in range(32))


def bit_order(a):
    i = cp.arange(1 << a["bits"], dtype=cp.int64)
    j = sum((i >> b & 1) << (a["bits"] - 1 - b) for b in range(a["bits"]))
    return a["out"].view(F)[j], a["in"]


def curve(a):
    w = a["width"]
    y, x = cp.mgrid[0:w, 0:w]
    place = sum(((x >> b & 1) << 2 * b) + ((y >> b & 1) << 2 * b + 1) for b in range(12))
    return a["out"].view(F)[place], a["in"].reshape(w, w)


def xorshift(a):
    x = U(a["seed"]) ^ (cp.arange(a["n"], dtype=U) * U(2654435761) + U(1))
    for _ in range(a["rounds"]):
        x ^= x << U(13)
        x ^= x >> U(17)
        x ^= x << U(5)
    return a["out"].view(U), x


def crc(a):
    import zlib

    import numpy as np

    words = cp.asnumpy(a["in"].reshape(a["words"], a["n"])[:, :1000])
    told = [zlib.crc32(words[:, i].tobytes()) for i in range(1000)]
    return a["out"].view(U)[:1000], cp.asarray(np.array(told, np.uint32))


def ballot(a):
    bits = (a["in"] < F(a["limit"])).reshape(-1, 32).astype(U)
    return a["out"].view(U), (bits << cp.arange(32, dtype=U)).sum(1, dtype=U)


def collatz(a):
    x, steps = cp.arange(1, a["n"] + 1, dtype=cp.int64), cp.zeros(a["n"], N)
    while bool((going := x != 1).any()):
        x = cp.where(going, cp.where(x & 1, 3 * x + 1, x >> 1), x)
        steps += going
    return a["steps"].view(N), steps


def mandelbrot(a):
    """At the border single precision decides otherwise: 99% of the points must agree."""
    h, w = a["height"], a["width"]
    y, x = cp.mgrid[0:h, 0:w]
    c = (-2 + 3 * x / w) + 1j * (-1.5 + 3 * y / h)
    z, k = cp.zeros_like(c), cp.zeros((h, w), N)
    for _ in range(a["most"]):
        inside = (abs(z) < 2) & (k == _)
        z = cp.where(inside, z * z + c, z)
        k += inside
    agree = (a["out"].view(N).reshape(h, w) == k).mean()
    return cp.array([float(agree > 0.99)]), cp.ones(1)


def parted(a):
    x = wide(a["in"])
    odd = cp.arange(a["n"]) % 2 == 1
    for _ in range(16):
        x = cp.where(odd, cp.sin(x) + 0.25, cp.sqrt(x + 0.5))
    return a["out"].view(F), x


def by_kind(a):
    x, k = wide(a["in"]), cp.minimum(a["kind"], 6)
    ways = [
        x * x,
        cp.sqrt(x),
        1 / (1 + x),
        cp.exp(x),
        cp.log(1 + x),
        cp.where(x > 0.5, 1 - x, x),
        -x,
    ]
    return a["out"].view(F), sum(cp.where(k == i, way, 0.0) for i, way in enumerate(ways))


def early(a):
    high = a["in"].reshape(a["length"], a["n"]) >= F(a["limit"])
    return a["first"].view(N), cp.where(high.any(0), high.argmax(0), a["length"])


def particles(a):
    p = wide(a["particles"]).reshape(-1, 8)
    return a["energy"].view(F), 0.5 * p[:, 3] * (p[:, 4:7] ** 2).sum(1)


EXPECTED = {
    "copy_float": lambda a: (a["out"].view(F), a["in"]),
    "copy_vector": lambda a: (a["out"].view(F), a["in"]),
    "copy_bytes": lambda a: (a["out"], a["in"]),
    "scale_double": lambda a: (a["out"].view(D), a["factor"] * a["in"]),
    "triad": lambda a: (a["a"].view(F), wide(a["b"]) + a["s"] * wide(a["c"])),
    "saxpy_grid_stride": lambda a: (a["y"], a["a"] * wide(a["x"]) + wide(a["before"]["y"])),
    "read_strided": lambda a: (a["out"].view(F), a["in"][:: a["stride"]]),
    "copy_offset": lambda a: (a["out"].view(F), a["in"][a["offset"] : a["offset"] + a["n"]]),
    "kinetic_energy": particles,
    "stencil_line": stencil_line,
    "stencil_line_shared": stencil_line_shared,
    "stencil_plane": stencil_plane,
    "stencil_volume": stencil_volume,
    "blur_plane": blur_plane,
    "transpose_plain": transposed,
    "transpose_tile": transposed,
    "transpose_padded": transposed,
    "rotate_axes": lambda a: (
        a["out"].view(F),
        a["in"].reshape(a["na"], a["nb"], a["nc"]).transpose(1, 2, 0),
    ),
    "interleave": lambda a: (a["out"].view(F), cp.stack([a["red"], a["green"], a["blue"]], -1)),
    "block_sums": block_sums,
    "block_sums_modulo": block_sums,
    "total_sum": lambda a: (a["total"], wide(a["in"]).sum().reshape(1)),
    "dot_double": lambda a: (a["out"].view(D).sum().reshape(1), (a["x"] * a["y"]).sum().reshape(1)),
    "row_sums": lambda a: (a["out"].view(F), rows(a, a["columns"]).sum(1)),
    "column_sums": lambda a: (a["out"].view(F), rows(a, a["columns"]).sum(0)),
    "row_maxima": lambda a: (
        cp.take_along_axis(rows(a, a["columns"]), a["where"].view(N)[:, None].astype(cp.int64), 1)[
            :, 0
        ],
        rows(a, a["columns"]).max(1),
    ),
    "scan_doubling": lambda a: scans(a, 256),
    "scan_tree": lambda a: (
        a["out"].view(N),
        (cp.cumsum(a["in"].reshape(-1, 512), 1) - a["in"].reshape(-1, 512)),
    ),
    "scan_shuffle": lambda a: scans(a, a["block"]),
    "histogram_global": counts,
    "histogram_shared": counts,
    "compact": compact,
    "segment_sums": lambda a: (
        a["sums"],
        cp.bincount(a["segments"], weights=wide(a["values"]), minlength=len(a["sums"])),
    ),
    "maximum_by_compare": best_of,
    "matvec_thread": matvec,
    "matvec_warp": matvec,
    "matvec_transposed": lambda a: matvec(a, True),
    "matmul_plain": product,
    "matmul_tile": product,
    "matmul_registers": product,
    "matmul_rows": lambda a: product(a, True),
    "outer_product": lambda a: (a["c"].view(F), cp.outer(wide(a["x"]), wide(a["y"]))),
    "gather": lambda a: (a["out"].view(F), a["table"][a["index"]]),
    "scatter": lambda a: (a["table"].view(F)[a["index"]], a["in"]),
    "sparse_rows_thread": sparse,
    "sparse_rows_warp": sparse,
    "copy_table_rows": lambda a: (
        a["out"].view(F),
        a["table"].reshape(-1, 4 * a["width"])[a["index"]],
    ),
    "search_sorted": lambda a: (a["place"].view(N), cp.searchsorted(a["sorted"], a["wanted"])),
    "follow_links": links,
    "nbody_tile": nbody,
    "nbody_plain": nbody,
    "option_prices": options,
    "polynomial": polynomial,
    "lattice_stream": lattice,
    "heat_double": heat,
    "softmax_rows": lambda a: softmax(a, a["columns"]),
    "softmax_warp": lambda a: softmax(a, 128),
    "layer_norm": layer_norm,
    "rms_norm_half": rms_norm,
    "gelu_bias": gelu,
    "rotary": rotary,
    "count_bits": bits_of,
    "reverse_bits": bit_order,
    "to_curve": curve,
    "random_words": xorshift,
    "checksums": crc,
    "ballot_words": ballot,
    "collatz": collatz,
    "mandelbrot": mandelbrot,
    "odd_and_even": parted,
    "staircase": lambda a: (a["out"].view(F), cp.cumsum(rows(a, 64), 1)),
    "by_kind": by_kind,
    "sort_sixteen": lambda a: (a["out"].view(N), cp.sort(a["in"].reshape(16, -1), 0)),
    "early_exit": early,
}

LOOSE = {
    "rms_norm_half": 2e-3,
    "option_prices": 1e-3,
    "softmax_rows": 1e-3,
    "softmax_warp": 1e-3,
    "nbody_tile": 1e-3,
    "nbody_plain": 1e-3,
}
"""Relative error of the norm that is allowed where 1e-4 is too strict: halves, fast functions."""
