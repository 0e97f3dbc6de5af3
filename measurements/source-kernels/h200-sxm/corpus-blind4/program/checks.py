"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import numpy as np

from perfmodel.cuda.launch.content import generate

F, N, D, U = cp.float32, cp.int32, cp.float64, cp.uint32


def wide(x):
    return x.astype(D)


def first(a, name):
    """Return what a buffer of floats in [0, 1) held before the launch, in double."""
    return wide(cp.asarray(generate("uniform", "f32", a[name].size, name)))


def both(*pairs):
    """Return all that came and all that was wanted, each as one row of doubles."""
    return tuple(cp.concatenate([wide(p[k]).ravel() for p in pairs]) for k in (0, 1))


def gesummv_rows(a):
    n, x = a["n"], wide(a["x"])
    rows = [wide(a[name]).reshape(n, n) @ x for name in ("a", "b")]
    return a["out"].view(F), a["alpha"] * rows[0] + a["beta"] * rows[1]


def magnetic_step(a):
    shape = a["height"], a["width"]
    ex, ey = wide(a["ex"]).reshape(shape), wide(a["ey"]).reshape(shape)
    wanted = wide(a["before"]["y"]).reshape(shape)
    curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
    wanted[:-1, :-1] -= a["rate"] * curl
    return a["y"], wanted


def column_spread(a):
    data = wide(a["data"]).reshape(a["rows"], a["columns"])
    return both((a["mean"].view(F), data.mean(0)), (a["spread"].view(F), data.std(0)))


def rank_2k(a):
    n, m = a["n"], a["m"]
    left, right = wide(a["a"]).reshape(n, m), wide(a["b"]).reshape(n, m)
    product = left @ right.T
    return a["y"], a["alpha"] * (product + product.T) + a["beta"] * wide(a["before"]["y"]).reshape(
        n, n
    )


def gram_project(a):
    shape = a["rows"], a["columns"]
    later = a["pivot"] + 1
    q = wide(a["q"]).reshape(shape)[:, a["pivot"]]
    wanted = wide(a["before"]["y"]).reshape(shape)
    r = a["scale"] * (q @ wanted[:, later:])
    wanted[:, later:] -= q[:, None] * r
    return both((a["y"], wanted), (a["r"].view(F)[later:], r))


def sobel_bytes(a):
    p = a["in"].astype(N).reshape(a["height"], a["width"])
    left = p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2]
    right = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]
    top = p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:]
    low = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]
    strength = a["gain"] * (abs(right - left) + abs(top - low))
    wanted = cp.zeros(p.shape, N)
    wanted[1:-1, 1:-1] = cp.minimum(strength.astype(N), 255)
    return a["out"].view(cp.uint8), wanted


def speckle_update(a):
    shape = a["height"], a["width"]
    weight, n, s, w, e = (
        wide(a[name]).reshape(shape) for name in ("weight", "north", "south", "west", "east")
    )
    p = cp.pad(weight, ((0, 1), (0, 1)), mode="edge")
    flow = weight * n + p[1:, :-1] * s + weight * w + p[:-1, 1:] * e
    return a["y"], wide(a["before"]["y"]).reshape(shape) + 0.25 * a["rate"] * flow


def haar_levels(a):
    rest, parts, root = wide(a["in"]).reshape(-1, 1024), [], 0.5**0.5
    while rest.shape[1] > 1:
        even, odd = rest[:, ::2], rest[:, 1::2]
        parts.insert(0, (even - odd) * root)
        rest = (even + odd) * root
    return a["out"].view(F), cp.concatenate([rest, *parts], 1)


def nine_point_double(a):
    h, w = a["height"], a["width"]
    p = cp.pad(a["in"].reshape(h, w), 1, mode="edge")
    sides = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    corners = p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:]
    wanted = a["centre"] * p[1:-1, 1:-1] + a["straight"] * sides + a["corner"] * corners
    return a["out"].view(D), wanted


def walsh_block(a):
    x = wide(a["in"]).reshape(-1, 2048)
    for level in range(11):
        pairs = x.reshape(x.shape[0], -1, 2, 1024 >> level)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        x = cp.stack([low + high, low - high], 2).reshape(x.shape[0], -1)
    return a["out"].view(F), x


def box_forces(a):
    place = wide(a["place"]).reshape(-1, 100, 4)
    charge, boxes = wide(a["charge"]).reshape(-1, 100), place.shape[0]
    near = a["near"].reshape(boxes, -1)
    wanted = cp.zeros((boxes, 100, 4))
    for k in range(a["neighbours"] + 1):
        other = cp.arange(boxes) if k == 0 else near[:, k - 1]
        b, q = place[other], charge[other][:, None, :]
        r2 = (
            place[:, :, None, 3] + b[:, None, :, 3] - place[..., :3] @ b[..., :3].transpose(0, 2, 1)
        )
        v = q * cp.exp(-a["alpha"] * r2)
        wanted[..., 3] += v.sum(2)
        wanted[..., :3] += 2 * (place[..., :3] * v.sum(2)[..., None] - v @ b[..., :3])
    return a["out"].view(F), wanted


def cell_fluxes(a):
    n = a["n"]
    state = wide(a["state"]).reshape(4, n) + cp.array([1.0, 0.0, 0.0, 2.0])[:, None]
    near, normals = a["near"].reshape(4, n), wide(a["normals"]).reshape(4, 2, n) - 0.5

    def derived(s):
        velocity = s[1:3] / s[0]
        pressure = 0.4 * (s[3] - 0.5 * s[0] * (velocity**2).sum(0))
        speed = cp.sqrt((velocity**2).sum(0)) + cp.sqrt(1.4 * pressure / s[0])
        return velocity, pressure, speed

    v, p, fast = derived(state)
    wanted = cp.zeros((4, n))
    for k in range(4):
        other, normal = state[:, near[k]], normals[k]
        u, op, also = derived(other)
        spread = -0.1 * cp.sqrt((normal**2).sum(0)) * (fast + also)
        through, back = 0.5 * (normal * v).sum(0), 0.5 * (normal * u).sum(0)
        wanted += spread * (state - other) + through * state + back * other
        wanted[1:3] += 0.5 * normal * (p + op)
        wanted[3] += through * p + back * op
    return a["out"].view(F), wanted


def neighbour_forces(a):
    place = wide(a["place"]).reshape(-1, 4)
    wanted = cp.zeros_like(place)
    for each in a["list"].reshape(a["neighbours"], -1):
        off = place[:, :3] - place[each, :3]
        r2 = (off**2).sum(1) + 0.1
        sixth = r2**-3
        f = sixth / r2 * (a["a12"] * sixth - a["a6"]) * (r2 < a["cut"])
        wanted[:, :3] += off * f[:, None]
    return a["out"].view(F), wanted


def scanner_q(a):
    s = wide(a["samples"]).reshape(-1, 4)
    re = cp.zeros(a["voxels"])
    im = cp.zeros(a["voxels"])
    for x, y, z, phase in s.tolist():
        angle = 2 * np.pi * (x * wide(a["x"]) + y * wide(a["y"]) + z * wide(a["z"]))
        re += phase * cp.cos(angle)
        im += phase * cp.sin(angle)
    return both((a["real"].view(F), re), (a["imaginary"].view(F), im))


def bfs_level(a):
    starts, nodes = a["starts"], a["nodes"]
    came_from = cp.asarray(np.repeat(np.arange(nodes), np.diff(cp.asnumpy(starts))))
    to = a["edges"][: came_from.size]
    live = (a["frontier"][came_from] == 0) & (a["seen"][to] == 0)
    found = cp.zeros(nodes, N)
    found[to[live]] = 1
    reached = np.zeros(nodes, np.int32)
    np.maximum.at(reached, cp.asnumpy(to[live]), cp.asnumpy(a["cost"][came_from[live]] + 1))
    return both((a["found"].view(N), found), (a["reached"].view(N), cp.asarray(reached)))


def opening_gain(a):
    points = wide(a["points"]).reshape(a["dimensions"], -1)
    distance = ((points - points[:, a["candidate"]][:, None]) ** 2).sum(0)
    change = a["scale"] * distance * wide(a["weight"]) - wide(a["cost"])
    moved = change < 0
    lower = cp.bincount(a["centre"], cp.where(moved, 0, change), minlength=200)
    return both((a["gain"].view(F), cp.where(moved, change, 0)), (a["lower"].view(F), lower))


def first_above(a):
    value = a["draws"].astype(F) * F(a["length"] - 1)
    found = cp.ceil(value).astype(N)
    return both((a["index"].view(N), found), (a["out"].view(F), a["places"][found]))


def table_rounds(a):
    table, key = a["table"], a["key"]
    state = [word ^ key[k] for k, word in enumerate(a["in"].reshape(-1, 4).T)]

    def turned(x, by):
        return x >> U(by) | x << U(32 - by)

    for r in range(1, 11):
        state = [
            table[state[k] >> U(24)]
            ^ turned(table[state[(k + 1) % 4] >> U(16) & U(255)], 8)
            ^ turned(table[state[(k + 2) % 4] >> U(8) & U(255)], 16)
            ^ turned(table[state[(k + 3) % 4] & U(255)], 24)
            ^ key[4 * r + k]
            for k in range(4)
        ]
    return a["out"].view(U), cp.stack(state, 1)


def layer_forward(a):
    part = (wide(a["weights"]).reshape(-1, 16) * wide(a["in"])[:, None]).reshape(-1, 16, 16)
    for power in (2, 4, 8, 16):
        part[:, ::power] += part[:, power // 2 :: power]
    return both((a["products"].view(F), part), (a["sums"].view(F), part[:, 0]))


def adam_update(a):
    w, m, v = (first(a, name) for name in "wmv")
    g = wide(a["gradient"]) - 0.5 + a["decay"] * w
    m = a["beta1"] * m + (1 - a["beta1"]) * g
    v = a["beta2"] * v + (1 - a["beta2"]) * g * g
    w -= a["rate"] * (m * a["unbias1"]) / (cp.sqrt(v * a["unbias2"]) + 1e-8)
    return both((a["w"], w), (a["m"], m), (a["v"], v))


def embedding_grads(a):
    width, words = a["width"], a["words"]
    order = cp.argsort(words)
    sums = cp.zeros((a["table"].view(F).size // width, width))
    running = cp.cumsum(wide(a["gradient"]).reshape(-1, width)[order], 0)
    ends = cp.searchsorted(words[order], cp.arange(sums.shape[0]), side="right")
    upto = cp.concatenate([cp.zeros((1, width)), running])[ends]
    sums[0] = upto[0]
    sums[1:] = upto[1:] - upto[:-1]
    return a["table"].view(F), sums


def matvec_int8(a):
    m = wide(a["a"]).reshape(a["rows"], -1)
    return a["out"].view(F), (m @ wide(a["x"])) * wide(a["scales"])


def factor_small(a):
    s = wide(a["in"]).reshape(-1, 32, 32) + 16 * cp.eye(32)
    for k in range(31):
        s[:, k + 1 :, k] /= s[:, k, k][:, None]
        s[:, k + 1 :, k + 1 :] -= s[:, k + 1 :, k, None] * s[:, k, None, k + 1 :]
    return a["out"].view(F), s


def backward_tree(a):
    spot, strike = 50 + 50 * wide(a["spot"]), 50 + 50 * wide(a["strike"])
    leaves = a["slope"] * (2 * cp.arange(a["steps"] + 1) - a["steps"])
    leaves[-1] = a["slope"] * a["steps"]
    value = cp.maximum(spot[:, None] * cp.exp(leaves) - strike[:, None], 0)
    for _ in range(a["steps"]):
        value = a["up"] * value[:, 1:] + a["down"] * value[:, :-1]
    return a["out"].view(F), value


EXPECTED = {
    each.__name__: each
    for each in (
        gesummv_rows,
        magnetic_step,
        column_spread,
        rank_2k,
        gram_project,
        sobel_bytes,
        speckle_update,
        haar_levels,
        nine_point_double,
        walsh_block,
        box_forces,
        cell_fluxes,
        neighbour_forces,
        scanner_q,
        bfs_level,
        opening_gain,
        first_above,
        table_rounds,
        layer_forward,
        adam_update,
        embedding_grads,
        matvec_int8,
        factor_small,
        backward_tree,
    )
}

LOOSE = {"scanner_q": 0.001}
"""Relative error of the norm that is allowed where 1e-4 is too strict: fast functions."""
