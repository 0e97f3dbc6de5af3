"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, N, D, U, W, B = cp.float32, cp.int32, cp.float64, cp.uint32, cp.uint64, cp.uint8


def wide(x):
    return x.astype(D)


def copy_shorts_one_by_one(a):
    return a["out"].view(cp.uint16), a["in"]


def strided_writes(a):
    return a["out"].view(F)[:: a["stride"]], wide(a["in"]) * a["scale"]


def date_from_days(a):
    # What the calendar says of each day there is, by a table.
    import numpy as np

    days = np.arange(int(a["days"].max()) + 1).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    years = days.astype("datetime64[Y]").astype(int) + 1970
    table = years * 10000 + (months.astype(int) % 12 + 1) * 100 + (days - months).astype(int) + 1
    return a["dates"].view(N), cp.asarray(table)[a["days"]]


def below_normal(x):
    # Abramowitz and Stegun 7.1.26, to some 1e-7
    z = cp.abs(x) / 2**0.5
    t = 1 / (1 + 0.3275911 * z)
    series = 0.0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + factor) * t
    error = 1 - series * cp.exp(-z * z)
    return 0.5 * (1 + cp.where(x < 0, -error, error))


def option_greeks(a):
    spot, strike = (50 + 100 * wide(a[n]) for n in ("spots", "strikes"))
    t, rate, volatility = 0.1 + 2 * wide(a["years"]), a["rate"], a["volatility"]
    root = cp.sqrt(t)
    d1 = (cp.log(spot / strike) + (rate + volatility**2 / 2) * t) / (volatility * root)
    density = cp.exp(-d1 * d1 / 2) * 0.3989422804
    discounted = strike * cp.exp(-rate * t) * below_normal(d1 - volatility * root)
    wanted = {
        "delta": below_normal(d1),
        "gamma": density / (spot * volatility * root),
        "vega": spot * density * root,
        "theta": -spot * density * volatility / (2 * root) - rate * discounted,
    }
    scales = {n: float(cp.abs(w).max()) for n, w in wanted.items()}  # so that each counts
    came = [wide(a[n].view(F)) / scales[n] for n in wanted]
    return cp.concatenate(came), cp.concatenate([w / scales[n] for n, w in wanted.items()])


def alpha_over(a):
    top, below = a["top"].reshape(-1, 4).astype(N), a["below"].reshape(-1, 4).astype(N)
    t = below * (255 - top[:, 3:]) + 128
    return a["out"], cp.minimum(top + ((t + (t >> 8)) >> 8), 255)


def hsv_from_rgb(a):
    r, g, b = (wide(a["rgb"][k::3]) / 255 for k in range(3))
    most, least = cp.maximum(r, cp.maximum(g, b)), cp.minimum(r, cp.minimum(g, b))
    span = most - least
    safe = cp.where(span > 0, span, 1)
    hue = cp.where(most == g, 2 + (b - r) / safe, 4 + (r - g) / safe)
    hue = cp.where(most == r, ((g - b) / safe) % 6, hue)
    hue = cp.where(span > 0, hue, 0) / 6
    saturation = span / cp.where(most > 0, most, 1)
    came = [wide(a["hue"].view(F)) / 360, a["saturation"].view(F), a["value"].view(F)]
    return cp.concatenate(came), cp.concatenate([hue, saturation, most])


def average_pool_stride_two(a):
    width, height = a["width"], a["height"]
    planes = a["in"].reshape(-1, height, width)

    def summed(x):
        high, wide_ = x.shape[1:]
        room = cp.zeros((len(x), high + 3, wide_ + 3), D)
        room[:, 1 : high + 1, 1 : wide_ + 1] = x
        rows, columns = 2 * a["out_height"], 2 * a["out_width"]
        return sum(
            room[:, y : y + rows : 2, x : x + columns : 2] for y in range(3) for x in range(3)
        )

    return a["out"].view(F), summed(planes) / summed(cp.ones((1, height, width)))


def prelu_channels(a):
    v = wide(a["in"]).reshape(-1, a["channels"], a["plane"]) - wide(a["bias"])[:, None]
    return a["out"].view(F), cp.where(v > 0, v, v * wide(a["slope"])[:, None])


def swish_bias_rows(a):
    v = wide(a["in"]).reshape(-1, 4 * a["quads"]) + wide(a["bias"])
    return a["out"].view(F), v / (1 + cp.exp(-a["beta"] * v))


def burgers_step(a):
    here = wide(a["u"]) - 0.5
    left, right = cp.roll(here, 1), cp.roll(here, -1)
    flux = cp.maximum(cp.maximum(here, 0) ** 2, cp.minimum(right, 0) ** 2) / 2
    spread = a["viscosity"] * (left - 2 * here + right)
    return a["next"].view(F), here - a["ratio"] * (flux - cp.roll(flux, 1)) + spread


def fdtd_ez_update(a):
    hx, hy, gain = (wide(a[n]).reshape(a["ny"], a["nx"]) for n in ("hx", "hy", "gain"))
    wanted = cp.zeros_like(hx)
    curl = hy[1:, 1:] - hy[1:, :-1] - hx[1:, 1:] + hx[:-1, 1:]
    wanted[1:, 1:] = gain[1:, 1:] * curl
    return a["ez"], wanted


def jacobi_double_five(a):
    u, f = (a[n].reshape(a["ny"], a["nx"]) for n in ("u", "f"))
    wanted = u.copy()
    around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
    wanted[1:-1, 1:-1] = (around + a["h2"] * f[1:-1, 1:-1]) / 4
    return a["next"].view(D), wanted


def stencil_25_axes(a):
    u = wide(a["in"]).reshape(a["nz"], a["ny"], a["nx"])
    inner = (slice(4, -4),) * 3
    wanted = cp.zeros_like(u)
    wanted[inner] = 3 * a["c0"] * u[inner]
    for axis in range(3):
        for r in range(1, 5):
            both = cp.roll(u, r, axis) + cp.roll(u, -r, axis)
            wanted[inner] += a[f"c{r}"] * both[inner]
    return a["out"].view(F), wanted


def stencil_seven_slices(a):
    u = wide(a["in"]).reshape(a["nz"], a["ny"], a["nx"])
    wanted = a["middle"] * u
    for axis in range(3):
        last = u.shape[axis] - 1
        for step in (-1, 1):
            places = cp.clip(cp.arange(last + 1) + step, 0, last)
            wanted += a["side"] * cp.take(u, places, axis=axis)
    return a["out"].view(F), wanted


def histogram_quads_of_bytes(a):
    return a["counts"], cp.bincount(a["in"].astype(N), minlength=256)


def histogram_two_copies(a):
    return a["counts"], cp.bincount(a["keys"], minlength=a["bins"])


def kmer_hash_counts(a):
    k, letters = a["k"], a["letters"].astype(W)
    count = len(letters) - k + 1
    forward, backward = cp.zeros(count, W), cp.zeros(count, W)
    for j in range(k):
        letter = letters[j : j + count]
        forward = (forward << W(2)) | letter
        backward |= (W(3) - letter) << W(2 * j)
    word = cp.minimum(forward, backward)
    word ^= word >> W(33)
    word *= W(0xFF51AFD7ED558CCD)
    word ^= word >> W(33)
    slot = (word & W(a["slot_mask"])).astype(cp.int64)
    return a["slots"], cp.bincount(slot, minlength=a["slot_mask"] + 1)


def smith_waterman_stripes(a):
    long, wide_, pairs = a["query_length"], a["target_length"], a["pairs"]
    queries, targets = a["queries"].reshape(pairs, long), a["targets"].reshape(pairs, wide_)
    # By anti-diagonals: place i of one is the cell of the query's letter i.
    before = cp.zeros((pairs, long + 1), N)
    last = cp.zeros((pairs, long + 1), N)
    best = cp.zeros(pairs, N)
    for step in range(long + wide_ - 1):
        first, end = max(0, step - wide_ + 1), min(long, step + 1)
        i = cp.arange(first, end)
        same = queries[:, first:end] == targets[:, step - i]
        by = before[:, first:end] + cp.where(same, a["match"], -a["mismatch"])
        side = cp.maximum(last[:, first:end], last[:, first + 1 : end + 1]) - a["gap"]
        now = cp.zeros_like(last)
        now[:, first + 1 : end + 1] = cp.maximum(cp.maximum(by, side), 0)
        best = cp.maximum(best, now.max(axis=1))
        before, last = last, now
    return a["best"].view(N), best


def gemm_half_to_float(a):
    m, n, k = a["m"], a["n"], a["k"]
    return a["c"].view(F), wide(a["a"]).reshape(m, k) @ wide(a["b"]).reshape(k, n)


def gemm_one_by_four(a):
    m, n, k = a["m"], a["n"], a["k"]
    return a["c"].view(F), wide(a["a"]).reshape(m, k) @ wide(a["b"]).reshape(k, n)


def norm_squared_unrolled(a):
    return wide(a["partial"].view(F)).sum().reshape(1), (wide(a["in"]) ** 2).sum().reshape(1)


def cosine_embedding_loss(a):
    p, q = (wide(a[n]).reshape(a["rows"], -1) - 0.5 for n in ("first", "second"))
    cosine = (p * q).sum(axis=1) / cp.sqrt((p * p).sum(axis=1) * (q * q).sum(axis=1))
    wanted = cp.where(a["alike"] != 0, 1 - cosine, cp.maximum(cosine - a["margin"], 0))
    return a["loss"].view(F), wanted


def verlet_step_aos(a):
    body, dt = wide(a["now"]).reshape(-1, 10), a["dt"]
    place, speed, push, mass = body[:, :3], body[:, 3:6], body[:, 6:9], body[:, 9:]
    place = place + dt * (speed + dt / 2 * push)
    square = (place * place).sum(axis=1, keepdims=True) + a["softening"]
    new = -a["pull"] * place / (square**1.5 * (1 + mass))
    speed = speed + dt / 2 * (push + new)
    return a["next"].view(F), cp.concatenate([place, speed, new, mass], axis=1)


def coulomb_field_points(a):
    points, charges = wide(a["points"]).reshape(-1, 3), wide(a["charges"]).reshape(-1, 4)
    wanted = []
    for at in range(0, len(points), 4096):
        apart = [points[at : at + 4096, k, None] - charges[:, k] for k in range(3)]
        strength = charges[:, 3] / (sum(d * d for d in apart) + 0.01) ** 1.5
        wanted.append(cp.stack([(strength * d).sum(axis=1) for d in apart], axis=1))
    return a["field"].view(F), cp.concatenate(wanted)


EXPECTED = {
    f.__name__: f
    for f in (
        copy_shorts_one_by_one,
        strided_writes,
        date_from_days,
        option_greeks,
        alpha_over,
        hsv_from_rgb,
        average_pool_stride_two,
        prelu_channels,
        swish_bias_rows,
        burgers_step,
        fdtd_ez_update,
        jacobi_double_five,
        stencil_25_axes,
        stencil_seven_slices,
        histogram_quads_of_bytes,
        histogram_two_copies,
        kmer_hash_counts,
        smith_waterman_stripes,
        gemm_half_to_float,
        gemm_one_by_four,
        norm_squared_unrolled,
        cosine_embedding_loss,
        verlet_step_aos,
        coulomb_field_points,
    )
}
LOOSE = {}
