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


def murmur_end(h):
    """Return words mixed as MurmurHash3 ends."""
    h = h ^ h >> U(16)
    h = h * U(0x85EBCA6B)
    h = h ^ h >> U(13)
    h = h * U(0xC2B2AE35)
    return h ^ h >> U(16)


def trailing_update(a):
    n, at = a["n"], a["offset"]
    wanted = wide(a["before"]["y"]).reshape(n, n)
    later = at + 16
    wanted[later:, later:] -= wanted[later:, at:later] @ wanted[at:later, later:]
    return a["y"], wanted


def fan_two(a):
    n, step = a["n"], a["step"]
    factors = wide(a["factors"]).reshape(n, n)[step + 1 :, step]
    wanted = wide(a["before"]["y"]).reshape(n, n)
    wanted[step + 1 :, step:] -= factors[:, None] * wanted[step, step:]
    right = first(a, "right")
    right[step + 1 :] -= factors * right[step]
    return both((a["y"], wanted), (a["right"], right))


def pair_angles(a):
    points = cp.stack([wide(a[name]) for name in ("px", "py", "pz")], 1)
    counts = cp.zeros(32)
    for each in range(0, a["n"], 512):
        found = (a["scale"] * (points[each : each + 512] @ points.T)).astype(N).ravel()
        counts += cp.bincount(cp.clip(found, 0, 31), minlength=32)
    return a["bins"].view(U), counts


def cutoff_lattice(a):
    cut, spacing = a["cut2"], a["spacing"]
    cells = a["atoms"].size // 32
    atoms = wide(a["atoms"]).reshape(cells, 8, 4)
    side = {4096: (16, 16, 16), 90: (3, 6, 5)}[cells]
    atoms = cp.pad(atoms.reshape(*side, 8, 4), ((1, 1), (1, 1), (1, 1), (0, 0), (0, 0)))
    x = cp.arange(8) * spacing
    wanted = cp.zeros((side[0], 8, side[1], 8, side[2], 8))
    for dz in range(3):
        for dy in range(3):
            for dx in range(3):
                near = atoms[
                    dz : dz + side[0], dy : dy + side[1], dx : dx + side[2]
                ]  # cells beside, without charge beyond the rim
                for k in range(8):
                    px, py, pz, q = (near[:, None, :, None, :, None, k, c] for c in range(4))
                    r2 = (
                        (px + dx - 1 - x[None, None, None, None, None, :]) ** 2
                        + (py + dy - 1 - x[None, None, None, :, None, None]) ** 2
                        + (pz + dz - 1 - x[None, :, None, None, None, None]) ** 2
                        + 0.01
                    )
                    wanted += cp.where(r2 < cut, q / cp.sqrt(r2) * (1 - r2 / cut) ** 2, 0)
    return a["out"].view(F), wanted


def block_match(a):
    h, w = a["height"], a["width"]
    frame, past = (a[name].reshape(h, w).astype(N) for name in ("frame", "past"))
    p = cp.pad(past, 8, mode="edge")
    wanted = cp.zeros((h // 16, w // 16, 16, 16), N)
    for dy in range(16):
        for dx in range(16):
            apart = abs(frame - p[dy : dy + h, dx : dx + w])
            wanted[:, :, dy, dx] = apart.reshape(h // 16, 16, w // 16, 16).sum((1, 3))
    return a["out"].view(cp.uint16), wanted


def tree_lookup(a):
    key = a["wanted"]
    return a["out"], cp.where(key % 3 == 0, a["records"][key // 3], 0)


def cosine_blocks(a):
    k = cp.arange(8)
    basis = cp.cos(np.pi * k[:, None] * (2 * k + 1) / 16) / 2
    basis[0] *= 0.5**0.5
    blocks = wide(a["in"]).reshape(-1, 8, a["width"] // 8, 8).transpose(0, 2, 1, 3)
    return a["out"].view(F), (basis @ blocks @ basis.T).transpose(0, 2, 1, 3)


def twister_streams(a):
    threads = a["matrix"].size
    state = [U(a["seed"]) + cp.arange(threads, dtype=U)]
    for i in range(1, 19):
        last = state[-1]
        state.append(U(1812433253) * (last ^ last >> U(30)) + U(i))
    matrix, b, c = (a[name].astype(U) for name in ("matrix", "mask_b", "mask_c"))
    drawn = []
    for draw in range(a["out"].size // 4 // threads):
        at = draw % 19
        x = (state[at] & U(0xFFFFFFFE)) | (state[(at + 1) % 19] & U(1))
        x = state[(at + 9) % 19] ^ x >> U(1) ^ cp.where((x & U(1)) > 0, matrix, U(0))
        state[at] = x
        x = x ^ x >> U(12)
        x = x ^ (x << U(7) & b)
        x = x ^ (x << U(15) & c)
        drawn.append((wide(x ^ x >> U(18)) + 1) / 2**32)
    return a["out"].view(F), cp.stack(drawn)


def taps_down_columns(a):
    h = a["height"]
    half = [0.01, 0.02, 0.03, 0.05, 0.07, 0.08, 0.10, 0.11]
    p = cp.pad(wide(a["in"]).reshape(h, -1), ((8, 8), (0, 0)))
    taps = [*half, 0.12, *half[::-1]]
    return a["out"].view(F), sum(tap * p[k : k + h] for k, tap in enumerate(taps))


def march_radius_four(a):
    volume = wide(a["in"]).reshape(a["nz"], a["ny"], a["nx"])
    inner = tuple(slice(4, size - 4) for size in volume.shape)
    wanted = a["c0"] * volume[inner]
    for k in range(1, 5):
        for axis in range(3):
            for off in (-k, k):
                moved = list(inner)
                moved[axis] = slice(4 + off, volume.shape[axis] - 4 + off)
                wanted += a[f"c{k}"] * volume[tuple(moved)]
    return a["out"].view(F).reshape(volume.shape)[inner], wanted


def merge_paths(a):
    return a["out"].view(N), cp.sort(cp.concatenate([a["a"], a["b"]]))


def attention_tile(a):
    n = a["n"]
    q, k, v = (wide(a[name]).reshape(-1, n, 64) for name in ("queries", "keys", "values"))
    seen = cp.tril(cp.ones((n, n), bool))
    wanted = cp.empty_like(q)
    for head in range(q.shape[0]):
        score = cp.where(seen, q[head] @ k[head].T * a["scale"], -1e30)
        weight = cp.exp(score - score.max(1, keepdims=True))
        wanted[head] = weight @ v[head] / weight.sum(1, keepdims=True)
    return a["out"].view(F), wanted


def depthwise_3x3(a):
    c, h, w = a["channels"], a["height"], a["width"]
    p = cp.pad(wide(a["in"]).reshape(-1, c, h, w), ((0, 0), (0, 0), (1, 1), (1, 1)))
    weights = wide(a["weights"]).reshape(c, 3, 3) - 0.25
    wanted = sum(
        p[:, :, y : y + h, x : x + w] * weights[:, y, x][:, None, None]
        for y in range(3)
        for x in range(3)
    )
    return a["out"].view(F), cp.clip(wanted, 0, 6)


def batch_statistics(a):
    x = wide(a["in"]).reshape(a["images"], -1, a["pixels"])
    mean, spread = x.mean((0, 2)), x.var((0, 2))
    scale = wide(a["gain"]) / cp.sqrt(spread + 1e-5)
    wanted = (x - mean[:, None]) * scale[:, None] + wide(a["shift"])[:, None]
    return both((a["mean"].view(F), mean), (a["out"].view(F), wanted))


def matvec_nibbles(a):
    words = a["weights"].astype(U)[:, None] >> (U(4) * cp.arange(8, dtype=U)) & U(15)
    rows = (wide(words) - 8).reshape(a["rows"], a["groups"], 32)
    rows = rows * wide(a["scales"]).reshape(a["rows"], a["groups"], 1)
    return a["out"].view(F), rows.reshape(a["rows"], -1) @ wide(a["x"])


def matmul_wmma(a):
    left, right = a["a"].reshape(-1, a["depth"]), a["b"].reshape(a["depth"], -1)
    return a["out"].view(F), wide(left) @ wide(right)


def cross_sections(a):
    per = cp.array([34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9])
    h = murmur_end(cp.arange(1, a["lookups"] + 1, dtype=U))
    energy = (h >> U(8)).astype(F) * F(2.0**-24) * F(a["grid_points"] - 1)
    material = (murmur_end(h) % U(12)).astype(N)
    low = cp.minimum(energy.astype(N), a["grid_points"] - 2)
    part = wide(energy) - low
    rows = a["rows"].reshape(-1, a["nuclides"])
    points = wide(a["points"]).reshape(a["nuclides"], a["each"], 6)
    sums = cp.zeros((a["lookups"], 5))
    for k in range(34):
        nuclide = a["materials"].reshape(12, 34)[material, k]
        row = rows[low, nuclide]
        one, two = points[nuclide, row], points[nuclide, row + 1]
        weight = cp.where(k < per[material], one[:, 0] + 0.5, 0)
        sums += weight[:, None] * (one[:, 1:] + part[:, None] * (two[:, 1:] - one[:, 1:]))
    return a["out"].view(F), sums.max(1) + sums[:, 0]


def hexahedra(a):
    side = a["side"]
    shape = (side + 1,) * 3
    corners = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)]
    corners += [(1, y, x) for _, y, x in corners]
    grid = cp.meshgrid(*(cp.arange(side),) * 3, indexing="ij")
    place = []
    for z, y, x in corners:
        inside = tuple(slice(k, side + k) for k in (z, y, x))
        place.append(
            [
                a[name].reshape(shape)[inside] * 0.2 + grid[2 - axis] + (x, y, z)[axis]
                for axis, name in enumerate(("px", "py", "pz"))
            ]
        )
    p = cp.stack([cp.stack(corner) for corner in place])

    def triple(one, two, three):
        (bx, by, bz), (cx, cy, cz) = two, three
        return (
            one[0] * (by * cz - bz * cy)
            + one[1] * (bz * cx - bx * cz)
            + one[2] * (bx * cy - by * cx)
        )

    volume = triple(p[3] - p[1] + p[7] - p[2], p[6] - p[3], p[2] - p[0])
    volume += triple(p[4] - p[3] + p[5] - p[7], p[6] - p[4], p[7] - p[0])
    volume += triple(p[1] - p[4] + p[2] - p[5], p[6] - p[1], p[5] - p[0])
    return a["out"].view(D), volume / 12


def su3_links(a):
    left = wide(a["a"]).view(cp.complex128).reshape(-1, 4, 3, 3)
    right = wide(a["b"]).view(cp.complex128).reshape(4, 3, 3)
    return a["out"].view(F), (left @ right).ravel().view(D)


def spectral_elements(a):
    d, u = a["derive"].reshape(8, 8), a["u"].reshape(-1, 8, 8, 8)
    g = a["geometry"].reshape(6, -1, 8, 8, 8)
    r = cp.einsum("im,ekjm->ekji", d, u)
    s = cp.einsum("jm,ekmi->ekji", d, u)
    t = cp.einsum("km,emji->ekji", d, u)
    one = g[0] * r + g[1] * s + g[2] * t
    two = g[1] * r + g[3] * s + g[4] * t
    three = g[2] * r + g[4] * s + g[5] * t
    wanted = cp.einsum("mi,ekjm->ekji", d, one)
    wanted += cp.einsum("mj,ekmi->ekji", d, two) + cp.einsum("mk,emji->ekji", d, three)
    return a["out"].view(D), wanted


def murmur_strings(a):
    begin, end = a["starts"][:-1], a["starts"][1:]
    length = end - begin
    text = a["text"].astype(U)

    def byte(place):
        return text[cp.clip(place, 0, text.size - 1)]

    def scrambled(word):
        word = word * U(0xCC9E2D51)
        return (word << U(15) | word >> U(17)) * U(0x1B873593)

    h = cp.full(a["n"], a["seed"], U)
    for k in range(int(length.max()) // 4):
        at = begin + 4 * k
        word = byte(at) | byte(at + 1) << U(8) | byte(at + 2) << U(16) | byte(at + 3) << U(24)
        new = h ^ scrambled(word)
        new = new << U(13) | new >> U(19)
        h = cp.where(k < length // 4, new * U(5) + U(0xE6546B64), h)
    rest, left = cp.zeros_like(h), length % 4
    for k in range(3):
        rest |= cp.where(k < left, byte(end - left + k) << U(8 * k), U(0))
    h = h ^ scrambled(rest)
    return a["out"].view(U), murmur_end(h ^ length.astype(U))


def hash_insert(a):
    n, table = a["n"], a["table"].view(U).astype(N)
    values = cp.zeros(n + 1, N)
    values[a["keys"] + 1] = a["values"]
    return both(
        (cp.sort(table)[-n:], cp.arange(1, n + 1)),
        (a["held"].view(N), values[table]),
    )


def relax_edges(a):
    through = np.minimum(cp.asnumpy(a["width"])[cp.asnumpy(a["from"])], cp.asnumpy(a["capacity"]))
    wanted = np.zeros(a["width"].size, np.int32)
    np.maximum.at(wanted, cp.asnumpy(a["to"]), through)
    return a["next"].view(N), cp.asarray(wanted)


def ising_step(a):
    shape = a["height"], a["width"]
    old, other = (x.astype(N).reshape(shape) * 2 - 1 for x in (a["before"]["y"], a["other"]))
    odd = (cp.arange(a["height"]) % 2 == a["black"])[:, None]
    aside = cp.where(odd, cp.roll(other, -1, 1), cp.roll(other, 1, 1))
    around = cp.roll(other, 1, 0) + cp.roll(other, -1, 0) + other + aside
    chance = cp.exp(F(-2 * a["beta"]) * (around * old).astype(F))
    turned = a["draws"].reshape(shape) < chance
    return a["y"].view(cp.int8), cp.where(turned, -old, old) > 0


EXPECTED = {
    each.__name__: each
    for each in (
        trailing_update,
        fan_two,
        pair_angles,
        cutoff_lattice,
        block_match,
        tree_lookup,
        cosine_blocks,
        twister_streams,
        taps_down_columns,
        march_radius_four,
        merge_paths,
        attention_tile,
        depthwise_3x3,
        batch_statistics,
        matvec_nibbles,
        matmul_wmma,
        cross_sections,
        hexahedra,
        su3_links,
        spectral_elements,
        murmur_strings,
        hash_insert,
        relax_edges,
        ising_step,
    )
}

LOOSE = {"ising_step": 5e-4, "cutoff_lattice": 5e-4, "cross_sections": 2e-4}
"""Relative error of the norm that is allowed where 1e-4 is too strict: fast functions, and a spin
in millions that turns the other way."""
