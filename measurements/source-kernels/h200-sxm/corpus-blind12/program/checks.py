"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import hashlib

import cupy as cp
import numpy as np
from cupyx.scipy.special import erf

F, N, D, U, W = cp.float32, cp.int32, cp.float64, cp.uint32, cp.uint64


def wide(x):
    return x.astype(D)


def brain(x):
    """Return the numbers that stand in a buffer as bfloat16."""
    return wide((x.view(cp.uint16).astype(U) << U(16)).view(F))


def both(*pairs):
    """Return all that came and all that was wanted, each part over the norm of what was wanted."""
    norms = [cp.maximum(cp.linalg.norm(wide(wanted).ravel()), 1e-300) for _, wanted in pairs]
    return tuple(
        cp.concatenate([wide(p[k]).ravel() / n for p, n in zip(pairs, norms, strict=True)])
        for k in (0, 1)
    )


def told(*facts):
    """Return a pair for conditions that all should hold."""
    return cp.concatenate([fact.all().reshape(1) for fact in facts]), cp.ones(len(facts))


def sum_compensated(a):
    came, exact = a["out"].view(F).reshape(-1, 2), wide(a["in"]).sum()
    # the pairs together are as good as double precision
    close = cp.abs(wide(came).sum() - exact) < 1e-11 * exact
    least = wide(came)[:, 0].sum() > 0.99 * exact
    return told(close, least)


def leibniz_double(a):
    # what the series lacks after so many terms, by its asymptotic expansion
    terms = a["terms"]
    left = (-1) ** terms * (1 / terms - 1 / (4 * terms**3))
    return cp.pi - a["out"], cp.asarray([left])


def divide_wide(a):
    tops, bottoms = a["tops"], a["bottoms"] | W(1)
    quotients, rests = a["quotients"].view(W), a["rests"].view(W)
    small = rests < bottoms
    # products wrap as they should, if the quotient is no larger than the top
    return told(small, quotients <= tops, quotients * bottoms + rests == tops)


def fill_quads(a):
    value = cp.arange(a["quads"]).astype(U) * U(2654435761) ^ U(a["seed"])
    came = a["out"].view(U).reshape(-1, 4)
    wanted = cp.stack([value, value >> U(7), value << U(5), ~value], axis=1)
    return came, wanted


def transpose_quads(a):
    return a["out"].view(F), a["in"].reshape(a["rows"], a["columns"]).T


def async_ring_sum(a):
    tiles = wide(a["in"]).reshape(a["tiles"], -1)
    each = cp.abs(tiles[:, 1:] - tiles[:, :-1]).sum(1)
    blocks = a["out"].size // 4
    wanted = cp.pad(each, (0, -a["tiles"] % blocks)).reshape(-1, blocks).sum(0)
    return a["out"].view(F), wanted


def chase_in_shared(a):
    came = a["out"].view(N)
    at, jump, steps = cp.arange(came.size) * 37 % 8192, a["links"], a["steps"]
    while steps:
        if steps % 2:
            at = jump[at]
        jump, steps = jump[jump], steps // 2
    return came, at


def bank_walk(a):
    came = a["out"].view(F)
    block = a["block"]
    at = cp.arange(block) * a["stride"] + cp.arange(came.size // block)[:, None]
    wanted = cp.zeros(at.shape)
    for k in range(a["steps"]):
        wanted += a["in"][(at + k * a["hop"]) % 4096]
    return came, wanted


def rank_by_counting(a):
    n = a["n"]
    joint = cp.sort(a["keys"].astype(cp.int64) * (1 << 24) + cp.arange(n))
    return both((a["sorted"].view(U), joint >> 24), (a["order"].view(N), joint % (1 << 24)))


def gemm_split_depth(a):
    left, right = wide(a["a"]).reshape(a["m"], a["k"]), wide(a["b"]).reshape(a["k"], a["n"])
    return a["c"], left @ right


def matvec_banded(a):
    n, half, rows = a["n"], a["half"], cp.arange(a["n"])
    band, x, wanted = a["band"].reshape(n, -1), wide(a["x"]), cp.zeros(n)
    for d in range(2 * half + 1):
        columns = rows + d - half
        inside = (columns >= 0) & (columns < n)
        wanted += cp.where(inside, band[:, d] * x[cp.clip(columns, 0, n - 1)], 0)
    return a["out"].view(F), wanted


def lu_pivot_warp(a):
    matrices = wide(a["in"]).reshape(-1, 32, 32)
    factors, pivots = wide(a["out"].view(F)).reshape(-1, 32, 32), a["pivots"].view(N)
    pivots = pivots.reshape(-1, 32)
    low = cp.tril(factors, -1)
    permuted = cp.take_along_axis(matrices, pivots[:, :, None].astype(cp.int64), axis=1)
    product = (low + cp.eye(32)) @ cp.triu(factors)
    largest = cp.abs(low).max() <= 1 + 1e-6
    each = (cp.sort(pivots, axis=1) == cp.arange(32)).all()
    return both((product, permuted), (cp.stack([largest, each]), cp.ones(2)))


def small_floats():
    """Return what each code of e4m3 stands for; of the two that are no numbers, zero."""
    codes = cp.arange(256)
    part, power = codes % 8, codes // 8 % 16
    size = cp.where(power > 0, (8 + part) * 2.0 ** (power - 10.0), part * 2.0**-9)
    return cp.where(codes % 128 == 127, 0, cp.where(codes > 127, -size, size))


def quantise_fp8_blocks(a):
    x = brain(a["in"]).reshape(-1, 128)
    scales = cp.abs(x).max(1, keepdims=True) / 448
    y = x / scales
    step = 2.0 ** (cp.floor(cp.log2(cp.maximum(cp.abs(y), 2.0**-6))) - 3)
    came = small_floats()[a["codes"].astype(N)].reshape(y.shape)
    # what lies in the middle of two codes, but for rounding, may be on either side
    near = cp.abs(came - y) <= step / 2 * (1 + 1e-6)
    wanted = cp.where(near, came, cp.rint(y / step) * step)
    return both((came, wanted), (a["scales"].view(F), scales))


def matvec_fp8(a):
    table, x, wanted = small_floats(), wide(a["x"]), []
    weights = a["weights"].reshape(a["rows"], -1)
    for first in range(0, a["rows"], 2000):
        wanted.append(table[weights[first : first + 2000].astype(N)] @ x)
    return a["out"].view(F), cp.concatenate(wanted) * a["scales"]


def suppression_masks(a):
    n, boxes = a["n"], wide(a["boxes"]).reshape(-1, 4)
    left, top = boxes[:, 0], boxes[:, 1]
    right, bottom = left + 0.02 + 0.1 * boxes[:, 2], top + 0.02 + 0.1 * boxes[:, 3]
    area = (right - left) * (bottom - top)
    masks = a["masks"].view(W).reshape(n, -1)
    many, wrong, beyond = 0, 0, 0
    for first in range(0, n, 500):
        own = slice(first, min(first + 500, n))
        wide_, high = (
            cp.maximum(cp.minimum(q[own, None], q) - cp.maximum(p[own, None], p), 0)
            for p, q in ((left, right), (top, bottom))
        )
        common = wide_ * high
        later = cp.arange(n) > cp.arange(own.start, own.stop)[:, None]
        wanted = (common / (area[own, None] + area - common) > a["least"]) & later
        bits = (masks[own, :, None] >> cp.arange(64).astype(W) & W(1)).reshape(
            -1, masks.shape[1] * 64
        )
        # words left of the diagonal's are not written
        written = cp.arange(bits.shape[1]) // 64 >= (cp.arange(own.start, own.stop) // 64)[:, None]
        came = (bits == 1) & written
        wrong += (came[:, :n] != wanted).sum()
        beyond += came[:, n:].sum()
        many += wanted.sum()
    # boxes that cover one another by the limit, but for rounding, may be on either side
    return told(many > n // 10, wrong <= 1e-5 * many + 1, beyond == 0)


def ray_triangles(a):
    n, rays = a["n"], wide(a["rays"]).reshape(-1, 4)
    triangles = wide(a["triangles"]).reshape(-1, 3, 3)
    corners, edges = triangles[:, 0], (triangles[:, 1:] - 0.5) * a["size"]
    nearest, which = cp.full(n, 1e30), cp.full(n, -1)
    towards = cp.stack([rays[:, 2] - 0.5, rays[:, 3] - 0.5, cp.ones(n)], axis=1)
    start = cp.stack([rays[:, 0], rays[:, 1], -cp.ones(n)], axis=1)
    for k in range(triangles.shape[0]):
        # by the plane of the triangle, then the places along its edges
        p, q = edges[k]
        normal = cp.cross(p, q)
        t = (corners[k] - start) @ normal / (towards @ normal)
        there = start + t[:, None] * towards - corners[k]
        square = normal @ normal
        u, v = cp.cross(there, q) @ normal / square, cp.cross(p, there) @ normal / square
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0) & (t < nearest)
        nearest, which = cp.where(hit, t, nearest), cp.where(hit, k, which)
    came, found = a["far"].view(F), a["which"].view(N)
    same = found == which
    some = same & (found >= 0)
    # a ray along an edge may go either way
    facts = told((~same).sum() <= 1e-4 * n, (found >= 0).sum() > n // 20)
    return both((came[some], nearest[some]), facts)


def weno_five(a):
    f = a["in"].reshape(-1, a["n"])
    m2, m1, p1, p2 = (cp.roll(f, by, 1) for by in (2, 1, -1, -2))
    bits = (
        (13 / 12 * (m2 - 2 * m1 + f) ** 2 + (m2 - 4 * m1 + 3 * f) ** 2 / 4),
        (13 / 12 * (m1 - 2 * f + p1) ** 2 + (m1 - p1) ** 2 / 4),
        (13 / 12 * (f - 2 * p1 + p2) ** 2 + (3 * f - 4 * p1 + p2) ** 2 / 4),
    )
    parts = [g / (1e-6 + b) ** 2 for g, b in zip((0.1, 0.6, 0.3), bits, strict=True)]
    sides = (
        (2 * m2 - 7 * m1 + 11 * f) / 6,
        (-m1 + 5 * f + 2 * p1) / 6,
        (2 * f + 5 * p1 - p2) / 6,
    )
    right = sum(p * s for p, s in zip(parts, sides, strict=True)) / sum(parts)
    wanted = f - a["courant"] * (right - cp.roll(right, 1, 1))
    came = a["out"].view(D).reshape(f.shape)
    return both((came, wanted), (came - f, wanted - f))


def lattice_d3q19(a):
    f = a["in"].reshape(19, a["nz"], a["ny"], a["nx"])
    # at rest, six along the axes, twelve between two axes: in pairs of opposites
    pairs = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0)]
    pairs += [(1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    speeds = [(0, 0, 0)] + [tuple(s * c for c in p) for p in pairs for s in (1, -1)]
    density, flow = 0, [0, 0, 0]
    for q, c in enumerate(speeds):
        here = cp.roll(wide(f[q]), c[::-1], (0, 1, 2))
        density = density + here
        flow = [u + part * here for u, part in zip(flow, c, strict=True)]
    flow = [u / density for u in flow]
    square = sum(u * u for u in flow)
    came = a["out"].view(F).reshape(f.shape)
    misses, norms = [], []
    for q, c in enumerate(speeds):
        here = cp.roll(wide(f[q]), c[::-1], (0, 1, 2))
        along = sum(part * u for part, u in zip(c, flow, strict=True))
        weight = (1 / 3, 1 / 18, 1 / 36)[sum(map(abs, c))]
        rest = weight * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * square)
        wanted = here + a["relax"] * (rest - here)
        misses.append(cp.linalg.norm((came[q] - wanted).ravel()))
        norms.append(cp.linalg.norm(wanted.ravel()))
    return 1 + cp.stack(misses) / cp.stack(norms), cp.ones(19)


def deposit_charge(a):
    side, places = a["side"], wide(a["places"]).reshape(-1, 2) * a["side"]
    charges, corner = wide(a["charges"]), cp.floor(places)
    part = places - corner
    wanted = cp.zeros(side * side)
    for right in (0, 1):
        for low in (0, 1):
            share = (part[:, 0] if right else 1 - part[:, 0]) * (
                part[:, 1] if low else 1 - part[:, 1]
            )
            cells = ((corner[:, 1] + low) % side * side + (corner[:, 0] + right) % side).astype(
                cp.int64
            )
            wanted += cp.bincount(cells, weights=share * charges, minlength=side * side)
    return a["grid"], wanted


def american_lattice(a):
    steps, strike = a["steps"], a["strike"]
    spots = (strike * (0.7 + 0.6 * wide(a["spots"])))[:, None]
    spreads = (0.1 + 0.4 * wide(a["spreads"]))[:, None]
    step = a["years"] / steps
    up = cp.exp(spreads * step**0.5)
    chance = (cp.exp(a["rate"] * step) - 1 / up) / (up - 1 / up)
    values = cp.maximum(strike - spots * up ** (2 * cp.arange(steps + 1) - steps), 0)
    for s in range(steps - 1, -1, -1):
        held = cp.exp(-a["rate"] * step) * (chance * values[:, 1:] + (1 - chance) * values[:, :-1])
        values = cp.maximum(held, strike - spots * up ** (2 * cp.arange(s + 1) - s))
    return a["out"].view(F), values[:, 0]


def implied_volatility(a):
    strike, years = a["strike"], 0.1 + 2 * wide(a["years"])
    spots = strike * (0.6 + 0.8 * wide(a["spots"]))
    due = strike * cp.exp(-a["rate"] * years)
    least = cp.maximum(spots - due, 0)
    price = least + (0.02 + 0.5 * wide(a["shares"])) * (spots - least)
    came = wide(a["out"].view(F))
    spread = came * cp.sqrt(years)
    first = cp.log(spots / due) / spread + spread / 2
    one, two = ((1 + erf(x / 2**0.5)) / 2 for x in (first, first - spread))
    inside = (came > 0.01) & (came < 16)
    miss = cp.abs(spots * one - due * two - price) / spots
    return both((spots * one - due * two, price), told(inside, miss < 2 * a["tiny"]))


def keccak_rounds(a):
    size = a["blocks"] * 136
    messages = cp.asnumpy(a["messages"]).tobytes()
    wanted = b"".join(
        hashlib.sha3_256(messages[first : first + size]).digest()
        for first in range(0, a["n"] * size, size)
    )
    return a["out"], cp.asarray(np.frombuffer(wanted, dtype=np.uint8))


def doubled(x):
    """Return bytes times x in the field of AES."""
    return x << 1 & 255 ^ (x >> 7) * 0x1B


def box_of_aes():
    """Return the box of AES: inverses by the powers of a generator, then the affine map."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ (powers[-1] << 1 & 255) ^ (powers[-1] >> 7) * 0x1B)
    box = [0x63] * 256
    for k, value in enumerate(powers):
        box[value] = affine(powers[-k % 255])
    return cp.asarray(box)


def affine(x):
    spread = 0
    for by in range(5):
        spread ^= x << by | x >> 8 - by
    return spread & 255 ^ 0x63


def aes_tables(a):
    n, box = a["n"], box_of_aes()
    keys = a["keys"].view(cp.uint8).astype(N).reshape(11, 16)
    state = cp.zeros((n, 4), dtype=U)
    state[:, 3] = (cp.arange(n) + a["start"]).astype(U)
    state = state.view(cp.uint8).astype(N).reshape(n, 16) ^ keys[0]
    # column c's row r comes from column c + r
    moved = cp.asarray([4 * ((c + r) % 4) + r for c in range(4) for r in range(4)])
    for k in range(1, 11):
        state = box[state][:, moved]
        if k < 10:
            s = state.reshape(n, 4, 4)
            whole = s[:, :, 0] ^ s[:, :, 1] ^ s[:, :, 2] ^ s[:, :, 3]
            state = (s ^ whole[:, :, None] ^ doubled(s ^ cp.roll(s, -1, 2))).reshape(n, 16)
        state = state ^ keys[k]
    wanted = state.astype(cp.uint8) ^ a["in"].view(cp.uint8).reshape(n, 16)
    return a["out"], wanted


def goertzel_tones(a):
    signals = wide(a["signals"]).reshape(-1, a["samples"])
    angles = cp.arccos(wide(F(2) * a["tones"] - F(1)) / 2)
    turns = cp.arange(a["samples"])[:, None] * angles
    wanted = (signals @ cp.cos(turns)) ** 2 + (signals @ cp.sin(turns)) ** 2
    return a["out"].view(F), wanted


EXPECTED = {
    each.__name__: each
    for each in (
        sum_compensated,
        leibniz_double,
        divide_wide,
        fill_quads,
        transpose_quads,
        async_ring_sum,
        chase_in_shared,
        bank_walk,
        rank_by_counting,
        gemm_split_depth,
        matvec_banded,
        lu_pivot_warp,
        quantise_fp8_blocks,
        matvec_fp8,
        suppression_masks,
        ray_triangles,
        weno_five,
        lattice_d3q19,
        deposit_charge,
        american_lattice,
        implied_volatility,
        keccak_rounds,
        aes_tables,
        goertzel_tones,
    )
}

# Relative errors allowed beyond 1e-4: of the little that a series lacks, of a
# lattice's many steps, and of recurrences that keep all errors.
LOOSE = {
    "leibniz_double": 1e-3,
    "american_lattice": 5e-4,
    "goertzel_tones": 1e-3,
}
