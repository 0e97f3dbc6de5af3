"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, H, N, D, U, W = cp.float32, cp.float16, cp.int32, cp.float64, cp.uint32, cp.uint64


def wide(x):
    return x.astype(D)


def both(*pairs):
    """Return all that came and all that was wanted, each part over the norm of what was wanted."""
    norms = [cp.maximum(cp.linalg.norm(wide(wanted).ravel()), 1e-300) for _, wanted in pairs]
    return tuple(
        cp.concatenate([wide(p[k]).ravel() / n for p, n in zip(pairs, norms, strict=True)])
        for k in (0, 1)
    )


def gcd_pairs(a):
    pairs = a["pairs"].astype(cp.int64).reshape(-1, 2)
    big, small = pairs[:, 0], pairs[:, 1]
    while bool((small > 0).any()):
        more = small > 0
        big, small = (
            cp.where(more, small, big),
            cp.where(more, big % cp.maximum(small, 1), 0),
        )
    came = wide(a["out"].view(U))
    return both((came, big), (1 / came, 1 / wide(big)))


def sieve_segments(a):
    limit = a["limit"]
    odds = (limit + 1) // 2  # bit i stands for 2 i + 1
    prime = cp.ones(odds, dtype=cp.int8)
    prime[0] = 0
    for p in range(3, int(limit**0.5) + 1, 2):
        prime[p * p // 2 :: p] = 0
    words = a["flags"].view(U)
    came = (words[:, None] >> cp.arange(32).astype(U) & U(1)).ravel()
    wanted = cp.zeros(came.size)
    wanted[:odds] = prime
    return both((came, wanted), (a["count"], prime.astype(N).sum().reshape(1)))


def fir_constant(a):
    # half of a band, windowed as Hamming did
    x = cp.arange(32) - 15.5
    taps = 0.5 * cp.sinc(x / 2) * (0.54 - 0.46 * cp.cos(2 * cp.pi * cp.arange(32) / 31))
    n, line = a["n"], cp.zeros(2 * a["n"] + 32)
    samples = wide(a["in"])[: line.size] / 32768
    line[: samples.size] = samples
    wanted = cp.zeros(n)
    for k in range(32):
        wanted += taps[k] * line[k : k + 2 * n : 2]
    return a["out"].view(F), wanted


def matmul_integers(a):
    # sums below 2^53 are exact in double precision
    left, right = (wide(a[name]).reshape(-1, a["k"]) for name in ("a", "b"))
    return a["c"].view(N), left @ right.T


def vortex_velocities(a):
    x, y, strength = (wide(a[name]) for name in ("x", "y", "strength"))
    u, v = [], []
    for first in range(0, a["n"], 500):
        here = slice(first, first + 500)
        dx, dy = x[here, None] - x, y[here, None] - y
        turn = strength / (dx * dx + dy * dy + a["core"]) / (2 * cp.pi)
        u.append(-(turn * dy).sum(1))
        v.append((turn * dx).sum(1))
    return both((a["u"], cp.concatenate(u)), (a["v"], cp.concatenate(v)))


def min_and_max(a):
    sign = cp.asarray([1 << 63], dtype=W)  # all numbers are positive: their keys have it set
    low, high = ~a["out"][:1], a["out"][1:]
    came = [(key ^ sign).view(D) for key in (low, high)]
    return both((came[0], a["in"].min().reshape(1)), (came[1], a["in"].max().reshape(1)))


def segmented_scan(a):
    n = a["n"]
    heads = (a["marks"] == 0) | (cp.arange(n) % a["block"] == 0)
    values = a["values"].astype(cp.int64)
    upto = cp.cumsum(values)
    begins = cp.nonzero(heads)[0]
    begin = begins[cp.cumsum(heads.astype(N)) - 1]
    return a["out"].view(N), upto - upto[begin] + values[begin]


def softmax_strided(a):
    x = wide(a["in"]).reshape(-1, a["channels"], a["inner"]) * a["sharpness"]
    weight = cp.exp(x - x.max(1, keepdims=True))
    return a["out"].view(F), weight / weight.sum(1, keepdims=True)


def argmax_rows(a):
    x = a["in"].reshape(a["rows"], a["columns"])
    largest = x.max(1)
    places = cp.arange(a["columns"], dtype=N)
    first = cp.where(x == largest[:, None], places, a["columns"]).min(1)
    return both((a["values"].view(F), largest), (a["places"].view(N), first))


def gather_twice(a):
    return a["out"].view(D), a["table"][a["index"][a["order"]]]


def unpack_thirteen(a):
    n = a["n"]
    bit = 13 * cp.arange(n)
    words = cp.concatenate([a["packed"].astype(W), cp.zeros(1, dtype=W)])
    pair = words[bit // 32] | words[bit // 32 + 1] << W(32)
    code = (pair >> (bit % 32).astype(W) & W(8191)).astype(N)
    return a["out"].view(F), a["dictionary"][code]


def join_probe(a):
    key, starts = a["keys"].astype(cp.int64), a["starts"].astype(cp.int64)
    bucket, tag = key % a["buckets"], key // a["buckets"]
    begin, end = starts[bucket], starts[bucket + 1]
    sums, found = cp.zeros(key.size), 0
    for k in range(int((starts[1:] - starts[:-1]).max())):
        at = cp.minimum(begin + k, a["tags"].size - 1)
        match = (begin + k < end) & (a["tags"][at] == tag)
        sums += cp.where(match, wide(a["payloads"])[at], 0)
        found += int(match.sum())
    return both((a["out"].view(F), sums), (a["matches"], cp.asarray([found])))


def chacha_blocks(a):
    n, key = a["n"], [a["key"][k : k + 1] for k in range(11)]
    letters = b"expand 32-byte k"
    named = [int.from_bytes(letters[k : k + 4], "little") for k in range(0, 16, 4)]
    zero = cp.zeros(n, dtype=U)
    counter = (cp.arange(n) + a["counter"]).astype(U)
    start = [zero + U(v) for v in named] + [zero + v for v in key[:8]]
    start += [counter] + [zero + v for v in key[8:]]
    s = list(start)

    def quarter(p, q, r, t):
        for to, by, turned, bits in ((p, q, t, 16), (r, t, q, 12), (p, q, t, 8), (r, t, q, 7)):
            s[to] = s[to] + s[by]
            mixed = s[turned] ^ s[to]
            s[turned] = mixed << U(bits) | mixed >> U(32 - bits)

    for _ in range(10):
        for k in range(4):
            quarter(k, 4 + k, 8 + k, 12 + k)
        for k in range(4):
            quarter(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
    stream = cp.stack([u + v for u, v in zip(s, start, strict=True)], axis=1)
    return a["out"].view(U), a["in"].reshape(n, 16) ^ stream


def permute_tokens(a):
    slots, width = a["experts"].size, 2 * a["width"]
    places = a["places"].view(N)
    rows = a["out"].view(H).reshape(-1, width)[places]
    tokens = a["tokens"].reshape(-1, 1, width).astype(F)
    wanted = (tokens * a["weights"].reshape(-1, 2, 1).astype(F)).astype(H)
    each = cp.sort(places)
    distinct = (each[1:] > each[:-1]).all() & (each[0] >= 0)
    counts = cp.bincount(a["experts"], minlength=a["counts"].size)
    return both(
        (rows, wanted),
        (places // a["capacity"], a["experts"]),
        (places % a["capacity"] < counts[a["experts"]], cp.ones(slots)),
        (a["counts"], counts),
        (distinct.reshape(1), cp.ones(1)),
    )


def yuv_from_rgb(a):
    w, h = a["width"], a["height"]
    image = a["in"].reshape(-1, h, w, 3).astype(N)
    r, g, b = (image[..., k] for k in range(3))
    luma = (66 * r + 129 * g + 25 * b + 128 >> 8) + 16
    squares = image.reshape(-1, h // 2, 2, w // 2, 2, 3).sum((2, 4)) + 2 >> 2
    r, g, b = (squares[..., k] for k in range(3))
    u = (-38 * r - 74 * g + 112 * b + 128 >> 8) + 128
    v = (112 * r - 94 * g - 18 * b + 128 >> 8) + 128
    return both((a["luma"], luma), (a["chroma"], cp.stack([u, v], axis=-1)))


def dilate_bits(a):
    words, height = a["words"], a["height"]
    places = cp.arange(32).astype(U)

    def spread(x):
        bits = x.view(U).reshape(height, words, 1) >> places & U(1)
        return bits.astype(cp.uint8).reshape(height, -1)

    given = cp.pad(spread(a["in"]), ((1, 1), (3, 3)))
    wide_by = words * 32
    across = given[:, :wide_by].copy()
    for k in range(1, 7):
        across |= given[:, k : k + wide_by]
    wanted = across[:-2] | across[1:-1] | across[2:]
    wrong = (spread(a["out"]) != wanted).sum().reshape(1)
    return 1 + wrong, cp.ones(1)


def max_pool_places(a):
    h, w, oh, ow = (a[name] for name in ("height", "width", "out_height", "out_width"))
    x = a["in"].reshape(-1, h, w)
    sides = ((0, 0), (1, 1), (1, 1))
    x = cp.pad(x, sides, constant_values=-cp.inf)
    best = cp.full((x.shape[0], oh, ow), -cp.inf, dtype=F)
    places = cp.zeros(best.shape, dtype=N)
    rows, columns = 2 * cp.arange(oh)[:, None] - 1, 2 * cp.arange(ow) - 1
    for dy in range(3):
        for dx in range(3):
            value = x[:, dy : dy + 2 * oh - 1 : 2, dx : dx + 2 * ow - 1 : 2]
            higher = value > best
            here = ((rows + dy) * w + columns + dx).astype(N)
            best, places = cp.where(higher, value, best), cp.where(higher, here, places)
    return both((a["out"].view(F), best), (a["places"].view(N), places))


def hmm_forward(a):
    states, steps = a["states"], a["steps"]
    table = wide(a["transitions"]).reshape(states, states)
    shown = wide(a["emissions"]).reshape(-1, states)
    seen = a["seen"].astype(N).reshape(-1, steps)
    now = cp.full((seen.shape[0], states), 1 / states) * shown[seen[:, 0]]
    wanted = cp.zeros(seen.shape[0])
    for t in range(steps):
        if t > 0:
            now = now @ table * shown[seen[:, t]]
        total = now.sum(1, keepdims=True)
        wanted += cp.log(total[:, 0])
        now = now / total
    return a["out"].view(F), wanted


def riemann_fluxes(a):
    # both of the states beside the contact are worked out, then one of four fluxes is taken
    density, pressure = (cp.maximum(a[name], a["floor"]) for name in ("density", "pressure"))
    speed = a["speed"] - a["frame"]
    sound = cp.sqrt(a["gamma"] * pressure / density)
    rest = [(x[:-1], x[1:]) for x in (density, speed, pressure, sound)]
    (rl, ul, pl, cl), (rr, ur, pr, cr) = zip(*rest, strict=True)
    slow, fast = cp.minimum(ul - cl, ur - cr), cp.maximum(ul + cl, ur + cr)
    across = rl * (slow - ul) - rr * (fast - ur)
    contact = (pr - pl + rl * ul * (slow - ul) - rr * ur * (fast - ur)) / across

    def fluxes(r, u, p, s):
        e = p / (a["gamma"] - 1) + r * u * u / 2
        held = cp.stack([r, r * u, e])
        plain = cp.stack([r * u, r * u * u + p, u * (e + p)])
        inner = e / r + (contact - u) * (contact + p / (r * (s - u)))
        star = r * (s - u) / (s - contact) * cp.stack([cp.ones_like(r), contact, inner])
        return plain, plain + s * (star - held)

    left, left_star = fluxes(rl, ul, pl, slow)
    right, right_star = fluxes(rr, ur, pr, fast)
    wanted = cp.where(contact >= 0, left_star, right_star)
    wanted = cp.where(slow >= 0, left, cp.where(fast <= 0, right, wanted))
    names = ("mass", "momentum", "energy")
    return both(*((a[name].view(D), wanted[k]) for k, name in enumerate(names)))


def lstm_cell(a):
    pairs = a["pairs"]
    gates = wide(a["from_input"]) + wide(a["from_state"])
    gates = gates.reshape(-1, 4, 2 * pairs) + wide(a["bias"]).reshape(4, 2 * pairs)
    into, forget, fresh, open_ = (gates[:, k] for k in range(4))

    def sigmoid(x):
        return 1 / (1 + cp.exp(-x))

    held = wide(a["memory"]).reshape(-1, 2 * pairs)
    kept = sigmoid(forget) * held + sigmoid(into) * cp.tanh(fresh)
    shown = sigmoid(open_) * cp.tanh(kept)
    return both((a["kept"].view(F), kept), (a["shown"].view(F), shown))


EXPECTED = {
    each.__name__: each
    for each in (
        gcd_pairs,
        sieve_segments,
        fir_constant,
        matmul_integers,
        vortex_velocities,
        min_and_max,
        segmented_scan,
        softmax_strided,
        argmax_rows,
        gather_twice,
        unpack_thirteen,
        join_probe,
        chacha_blocks,
        permute_tokens,
        yuv_from_rgb,
        dilate_bits,
        max_pool_places,
        hmm_forward,
        riemann_fluxes,
        lstm_cell,
    )
}

LOOSE = {}  # relative errors allowed beyond 1e-4: none
