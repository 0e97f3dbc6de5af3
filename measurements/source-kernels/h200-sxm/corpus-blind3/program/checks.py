"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import cupyx.scipy.special as special

F, N, D = cp.float32, cp.int32, cp.float64


def wide(x):
    return x.astype(D)


def speckle_weights(a):
    h, w, q0 = a["height"], a["width"], a["noise"]
    p = cp.pad(wide(a["image"]).reshape(h, w) + 0.5, 1, mode="edge")
    here = p[1:-1, 1:-1]
    sides = [p[:-2, 1:-1] - here, p[2:, 1:-1] - here, p[1:-1, :-2] - here, p[1:-1, 2:] - here]
    slope, bend = sum(d * d for d in sides) / here**2, sum(sides) / here
    q = (0.5 * slope - bend * bend / 16) / (1 + 0.25 * bend) ** 2
    weight = cp.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
    came = [a[k].view(F).reshape(h, w) for k in ("north", "south", "west", "east", "weight")]
    return cp.stack(came), cp.stack([*sides, weight])


def march_seven(a):
    v = a["in"].reshape(a["nz"], a["ny"], a["nx"])
    m = slice(1, -1)
    around = v[:-2, m, m] + v[2:, m, m] + v[m, m, :-2] + v[m, m, 2:] + v[m, :-2, m] + v[m, 2:, m]
    told = F(a["centre"]) * v[m, m, m] + F(a["side"]) * around
    return a["out"].view(F).reshape(v.shape)[m, m, m], told


def box_down_columns(a):
    h, w, r = a["height"], a["width"], a["radius"]
    p = cp.pad(wide(a["in"]).reshape(h, w), ((r, r), (0, 0)), mode="edge")
    return a["out"].view(F), sum(p[k : k + h] for k in range(2 * r + 1)) / (2 * r + 1)


def eliminate_block(a):
    m, k = wide(a["before"]["y"]).reshape(a["n"], -1).copy(), a["offset"]
    m[k + 16 :, k + 16 :] -= m[k + 16 :, k : k + 16] @ m[k : k + 16, k + 16 :]
    return a["y"], m


def keep_by_ballot(a):
    kept, n = cp.sort(a["in"][a["in"] > F(a["limit"])]), int(a["count"].view(cp.uint32)[0])
    return cp.sort(a["out"].view(F)[:n]), kept


def lower_bounds(a):
    low = cp.searchsorted(a["sorted"].astype(cp.int64), a["keys"].astype(cp.int64))
    return a["place"].view(N), low


def fields_of_records(a):
    return a["fields"].view(cp.int64), a["records"].astype(cp.int64).reshape(-1, 5).T


def covariance_double(a):
    d = a["data"].reshape(a["points"], a["features"]) - a["mean"]
    return a["out"].view(D), d.T @ d / (a["points"] - 1)


def both_products(a):
    m = wide(a["a"]).reshape(-1, a["columns"])
    came = cp.concatenate([a["q"].view(F), a["s"].view(F)])
    return came, cp.concatenate([m @ wide(a["p"]), wide(a["r"]) @ m])


def sparse_eight_lanes(a):
    each = int(a["starts"][1] - a["starts"][0])
    return a["out"].view(D), (a["values"] * a["x"][a["columns"]]).reshape(-1, each).sum(1)


def log_softmax_half(a):
    x = wide(a["in"]).reshape(-1, 2 * a["pairs"])
    return a["out"].view(cp.float16), x - cp.log(cp.exp(x).sum(1, keepdims=True))


def turn_halves(a):
    h = a["half"]
    v = wide(a["in"]).reshape(-1, a["heads"], 2, h)
    angle = cp.arange(len(v))[:, None] * 2.0 ** (-a["slope"] * cp.arange(h))
    c, s = cp.cos(angle)[:, None], cp.sin(angle)[:, None]
    told = [v[:, :, 0] * c - v[:, :, 1] * s, v[:, :, 1] * c + v[:, :, 0] * s]
    return a["out"].view(cp.float16), cp.stack(told, 2)


def quantise_rows(a):
    x = wide(a["in"]).reshape(-1, 4 * a["fours"])
    scale = abs(x).max(1, keepdims=True) / 127
    came = a["out"].view(cp.int8).reshape(x.shape) * wide(a["scales"].view(F))[:, None]
    return came, cp.rint(x / scale) * scale


def call_and_put(a):
    s, x, t = 5 + 25 * wide(a["stock"]), 1 + 99 * wide(a["strike"]), 0.25 + 9.75 * wide(a["years"])
    spread = a["volatility"] * cp.sqrt(t)
    d = (cp.log(s / x) + (a["rate"] + a["volatility"] ** 2 / 2) * t) / spread
    n1, n2, later = special.ndtr(d), special.ndtr(d - spread), x * cp.exp(-a["rate"] * t)
    came = cp.stack([a["call"].view(F), a["put"].view(F)])
    return came, cp.stack([s * n1 - later * n2, later * (1 - n2) - s * (1 - n1)])


def digit_counts(a):
    digits = (a["keys"].reshape(-1, 4096) >> cp.uint32(a["shift"])) & cp.uint32(15)
    return a["counts"].view(cp.uint32), cp.stack([(digits == d).sum(1) for d in range(16)])


def digest_rounds(x):
    u32 = cp.uint32
    i = cp.arange(1, x["n"] + 1, dtype=u32) * u32(0x85EBCA6B)
    m = [i ^ u32((k * 0xC2B2AE35 + x["salt"]) & 0xFFFFFFFF) for k in range(16)]
    start = (0x01234567, 0x89ABCDEF, 0xFEDCBA98, 0x76543210)
    a, b, c, d = (cp.full(x["n"], s, u32) for s in start)
    for k in range(64):
        f = ((b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d))[k // 16]
        word = m[(k, 5 * k + 1, 3 * k + 5, 7 * k)[k // 16] % 16]
        t, by = a + f + word + u32((k + 1) * 0x9E3779B9 & 0xFFFFFFFF), 5 + (k & 3) * 5
        a, b, c, d = d, b + ((t << u32(by)) | (t >> u32(32 - by))), b, c
    return x["out"].view(u32), cp.stack([a, b, c, d], 1)


EXPECTED = {
    "speckle_weights": speckle_weights,
    "march_seven": march_seven,
    "box_down_columns": box_down_columns,
    "eliminate_block": eliminate_block,
    "keep_by_ballot": keep_by_ballot,
    "lower_bounds": lower_bounds,
    "fields_of_records": fields_of_records,
    "covariance_double": covariance_double,
    "both_products": both_products,
    "sparse_eight_lanes": sparse_eight_lanes,
    "log_softmax_half": log_softmax_half,
    "turn_halves": turn_halves,
    "quantise_rows": quantise_rows,
    "call_and_put": call_and_put,
    "digit_counts": digit_counts,
    "digest_rounds": digest_rounds,
}

LOOSE = {
    "log_softmax_half": 0.002,
    "turn_halves": 0.002,
    "quantise_rows": 0.001,
    "call_and_put": 0.001,
}
"""Relative error of the norm that is allowed where 1e-4 is too strict: halves, fast functions."""
