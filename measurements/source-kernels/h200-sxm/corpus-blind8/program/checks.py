"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, H, N, D, U = cp.float32, cp.float16, cp.int32, cp.float64, cp.uint32
L, B = cp.int64, cp.uint8
erf = cp.ElementwiseKernel("float64 x", "float64 y", "y = erf(x)", "error_function")


def wide(x):
    return x.astype(D)


def both(*pairs):
    """Return all that came and all that was wanted, each part over the norm of what was wanted."""
    norms = [cp.linalg.norm(wide(wanted).ravel()) for _, wanted in pairs]
    return tuple(
        cp.concatenate([wide(p[k]).ravel() / n for p, n in zip(pairs, norms, strict=True)])
        for k in (0, 1)
    )


def saxpy_half2(a):
    return a["z"].view(H), a["a"] * wide(a["x"]) + wide(a["y"])


def normalise_aos12(a):
    v = wide(a["in"]).reshape(-1, 3)
    return a["out"].view(F), v / cp.sqrt((v * v).sum(1, keepdims=True) + 1e-12)


def energy_aos20(a):
    x, y, z, charge, mass = wide(a["in"]).reshape(-1, 5).T
    squares = (x - a["px"]) ** 2 + (y - a["py"]) ** 2 + (z - a["pz"]) ** 2
    return a["out"].view(F), charge / cp.sqrt(squares + a["soft"]) + a["gravity"] * mass * z


def bytes_to_planes(a):
    colours = a["in"].astype(N).reshape(-1, 3)
    grey = 77 * colours[:, 0] + 150 * colours[:, 1] + 29 * colours[:, 2] >> 8
    planes = [(a[name].view(B), colours[:, k]) for k, name in enumerate(("red", "green", "blue"))]
    return both(*planes, (a["grey"].view(B), grey))


def difference_long(a):
    return a["out"].view(L), a["in"][a["lag"] :] - a["in"][: -a["lag"]]


def jacobi_shared(a):
    v = a["in"].reshape(a["height"], a["width"])
    p = cp.pad(v, 1)
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return a["out"].view(D), v + a["rate"] * (around - 4 * v)


def advect_upwind(a):
    c, u, v = (wide(a[name]).reshape(a["height"], a["width"]) for name in "cuv")
    u, v = u - 0.5, v - 0.5
    slope_x = cp.where(u > 0, c - cp.roll(c, 1, 1), cp.roll(c, -1, 1) - c)
    slope_y = cp.where(v > 0, c - cp.roll(c, 1, 0), cp.roll(c, -1, 0) - c)
    return a["out"].view(F), c - a["step"] * (u * slope_x + v * slope_y)


def transpose_bytes(a):
    return a["out"].view(B), a["in"].reshape(a["height"], a["width"]).T


def transpose_swizzled(a):
    return a["out"].view(F), a["in"].reshape(a["height"], a["width"]).T


def unfold_patches(a):
    x = cp.pad(a["in"].reshape(-1, a["height"], a["width"]), ((0, 0), (1, 1), (1, 1)))
    h, w, s = a["out_height"], a["out_width"], a["stride"]
    taps = [
        x[:, dy : dy + (h - 1) * s + 1 : s, dx : dx + (w - 1) * s + 1 : s]
        for dy in range(3)
        for dx in range(3)
    ]
    return a["out"].view(F), cp.stack(taps, axis=1)


def argmin_blocks(a):
    values, places = a["values"].view(F), a["places"].view(N)
    turn = values.size * a["block"]  # elements of a turn of the grid
    x = cp.pad(a["in"], (0, -a["in"].size % turn), constant_values=2.0)
    wanted = x.reshape(-1, values.size, a["block"]).min((0, 2))
    owners = places // a["block"] % values.size
    return both(
        (values, wanted),
        (a["in"][places], wanted),
        (1 + owners, 1 + cp.arange(values.size)),
    )


def max_abs(a):
    return a["result"].view(F), cp.abs(wide(a["in"]) - a["centre"]).max().reshape(1)


def columns_min_max(a):
    x = a["in"].reshape(a["rows"], a["columns"])
    return both((a["low"].view(F), x.min(0)), (a["high"].view(F), x.max(0)))


def segmented_scan(a):
    heads = (a["flags"] == 0) | (cp.arange(a["n"]) % a["block"] == 0)
    x = wide(a["in"])
    sums = cp.cumsum(x)
    starts = cp.nonzero(heads)[0]
    before = (sums - x)[starts]
    return a["out"].view(F), sums - before[cp.cumsum(heads.astype(L)) - 1]


def drawdown_rows(a):
    x = a["in"].reshape(a["rows"], a["columns"])
    most, by = cp.maximum(x, F(1e-6)), 1
    while by < a["columns"]:
        most = cp.concatenate([most[:, :by], cp.maximum(most[:, by:], most[:, :-by])], axis=1)
        by *= 2
    return a["out"].view(F), 1 - wide(x) / wide(most)


def bins_per_thread(a):
    return a["bins"].view(U), cp.bincount(a["in"].astype(N) >> 4, minlength=16)


def weighted_histogram(a):
    wanted = cp.bincount(a["keys"], weights=wide(a["weights"]), minlength=a["bins"].size)
    return a["bins"], wanted


def matvec_packed(a):
    n = a["n"]
    i = cp.arange(n, dtype=L)
    top, right = cp.minimum(i[:, None], i), cp.maximum(i[:, None], i)
    whole = a["packed"][top * n - top * (top - 1) // 2 + right - top]
    return a["out"].view(F), wide(whole) @ wide(a["x"])


def gemm_atb(a):
    k = a["k"]
    return a["c"].view(F), wide(a["a"]).reshape(k, -1).T @ wide(a["b"]).reshape(k, -1)


def batched_eights(a):
    return a["c"].view(D), a["a"].reshape(-1, 8, 8) @ a["b"].reshape(-1, 8, 8)


def logsumexp_rows(a):
    x = a["scale"] * wide(a["in"]).reshape(-1, a["columns"])
    most = x.max(1, keepdims=True)
    return a["out"].view(F), most[:, 0] + cp.log(cp.exp(x - most).sum(1))


def layer_norm_backward(a):
    x, grad = (wide(a[name]).reshape(-1, a["columns"]) for name in ("in", "grad"))
    inverse = wide(a["inverses"])[:, None]
    normal, g = (x - wide(a["means"])[:, None]) * inverse, grad * wide(a["gain"])
    weighted = (g * normal).mean(1, keepdims=True)
    return a["out"].view(F), inverse * (g - g.mean(1, keepdims=True) - normal * weighted)


def cross_correlation(a):
    first, second, came = wide(a["first"]), wide(a["second"]), a["out"].view(F)
    n = a["n"]
    return came, cp.stack([first[: n - lag] @ second[lag:] for lag in range(came.size)])


def two_level_table(a):
    keys = a["keys"].astype(L)
    return a["out"].view(F), a["pages"][a["directory"][keys >> 6].astype(L) * 64 + (keys & 63)]


def scatter_structs(a):
    came = a["out"].view(D).reshape(-1, 3)
    return came[a["to"]], a["scale"] * a["in"].reshape(-1, 3)


def newton_roots(a):
    t = wide(a["out"].view(F))
    return t * cp.exp(t), a["range"] * wide(a["in"])


def morton_codes(a):
    wanted = cp.zeros(a["n"], dtype=U)
    for up, name in ((2, "x"), (1, "y"), (0, "z")):
        cell = cp.clip(a[name] * F(1024), 0, 1023).astype(U)
        for bit in range(10):
            wanted |= (cell >> U(bit) & U(1)) << U(3 * bit + up)
    return a["out"].view(U), wanted


def expected_improvement(a):
    s = a["deviation"] + 0.1
    u = (a["mean"] - a["best"]) / s
    density = cp.exp(-0.5 * u * u) / (2 * cp.pi) ** 0.5
    gain = s * (u * 0.5 * (1 + erf(u / 2**0.5)) + density)
    return both((a["gain"].view(D), gain), (a["logarithm"].view(D), cp.log(gain + 1e-9)))


EXPECTED = {
    each.__name__: each
    for each in (
        saxpy_half2,
        normalise_aos12,
        energy_aos20,
        bytes_to_planes,
        difference_long,
        jacobi_shared,
        advect_upwind,
        transpose_bytes,
        transpose_swizzled,
        unfold_patches,
        argmin_blocks,
        max_abs,
        columns_min_max,
        segmented_scan,
        drawdown_rows,
        bins_per_thread,
        weighted_histogram,
        matvec_packed,
        gemm_atb,
        batched_eights,
        logsumexp_rows,
        layer_norm_backward,
        cross_correlation,
        two_level_table,
        scatter_structs,
        newton_roots,
        morton_codes,
        expected_improvement,
    )
}

# Relative errors allowed beyond 1e-4, for results in half precision.
LOOSE = {"saxpy_half2": 1e-3}
