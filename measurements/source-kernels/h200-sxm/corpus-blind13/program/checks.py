"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import numpy as np

F, N, D, U, W, B = cp.float32, cp.int32, cp.float64, cp.uint32, cp.uint64, cp.uint8


def wide(x):
    return x.astype(D)


def told(*facts):
    """Return a pair for conditions that all should hold."""
    return cp.concatenate([fact.all().reshape(1) for fact in facts]), cp.ones(len(facts))


def alike(came, wanted, most=1e-3):
    """Return the share of values that are not as they should be."""
    return (cp.abs(wide(came) - wide(wanted)) > most).mean()


def row_norms_thread(a):
    x = wide(a["in"]).reshape(a["rows"], a["columns"])
    return a["out"].view(F), cp.sqrt((x * x).sum(axis=1))


def transpose_half_pairs(a):
    return a["out"].view(cp.float16), a["in"].reshape(a["rows"], a["columns"]).T.copy()


def shared_stride_reads(a):
    cells = a["in"].reshape(-1, 1024)
    out = a["out"].view(D).reshape(len(cells), -1)
    wanted = cp.zeros_like(out)
    starts = cp.arange(a["block"]) * a["stride"]
    for k in range(a["rounds"]):
        wanted += cells[:, (starts + k) & 1023]
    return out, wanted


def counters_spread(a):
    bins, pitch = a["bins"], a["pitch"]
    wanted = cp.zeros((bins, pitch))
    wanted[:, 0] = cp.bincount((a["keys"] % U(bins)).astype(N), minlength=bins)
    return a["counters"], wanted


def append_by_parity(a):
    values, counts = a["in"], a["counts"]
    evens, odds = (cp.sort(values[values % U(2) == p]) for p in (0, 1))
    lists = a["even"].view(U)[: len(evens)], a["odd"].view(U)[: len(odds)]
    right = counts == cp.asarray([len(evens), len(odds)])
    return told(right, cp.sort(lists[0]) == evens, cp.sort(lists[1]) == odds)


def add_bytes_saturated(a):
    return a["out"], cp.minimum(a["a"].astype(N) + a["b"].astype(N), 255)


def bits_of(words, rows):
    """Return the bits of a matrix of words, the lowest of each word first."""
    return cp.unpackbits(words.view(B), bitorder="little").reshape(rows, -1)


def transpose_bits_warp(a):
    rows, columns = 32 * a["high"], 32 * a["wide"]
    return told(bits_of(a["out"].view(U), columns) == bits_of(a["in"], rows).T)


def sip_round(a, b, c, d):
    def turn(x, by):
        return (x << W(by)) | (x >> W(64 - by))

    a = a + b
    b = turn(b, 13) ^ a
    a = turn(a, 32)
    c = c + d
    d = turn(d, 16) ^ c
    a = a + d
    d = turn(d, 21) ^ a
    c = c + b
    b = turn(b, 17) ^ c
    return a, b, turn(c, 32), d


def siphash_keys(a):
    words = a["words"]
    keys = a["keys"].reshape(-1, words)
    zeros = cp.zeros(len(keys), W)
    state = [
        zeros + W(key ^ int.from_bytes(text, "big"))
        for key, text in zip(
            (a["low"], a["high"], a["low"], a["high"]),
            (b"somepseu", b"dorandom", b"lygenera", b"tedbytes"),
            strict=True,
        )
    ]
    for word in [*keys.T, zeros + W((8 * words & 255) << 56)]:
        state[3] = state[3] ^ word
        state = list(sip_round(*sip_round(*state)))
        state[0] = state[0] ^ word
    state[2] = state[2] ^ W(255)
    for _ in range(4):
        state = sip_round(*state)
    return told(a["hashes"].view(W) == state[0] ^ state[1] ^ state[2] ^ state[3])


def complex_products(a):
    p, q = (wide(a[k]).reshape(-1, 2) for k in "ab")
    product = (p[:, 0] + 1j * p[:, 1]) * (q[:, 0] - 1j * q[:, 1])
    product /= cp.abs(product)
    return a["out"].view(F), cp.stack([product.real, product.imag], axis=1)


def count_primes_trial(a):
    n, first = a["n"], a["first"]
    prime = np.ones(first + 2 * n, bool)
    prime[:2] = False
    for d in range(2, int(len(prime) ** 0.5) + 1):
        if prime[d]:
            prime[d * d :: d] = False
    return a["count"], cp.asarray([prime[first::2].sum()])


def branch_by_bits(a):
    key, v = a["keys"] >> U(a["shift"]), wide(a["in"])
    some, other = v, v
    for _ in range(12):
        some = some * 0.75 + cp.sqrt(some) * 0.25
    for _ in range(20):
        other = other * (1.9 - other) + 0.01
    v = cp.where((key & U(1)) != 0, some, other)
    v = cp.where((key & U(2)) != 0, cp.exp(-v) / (1 + v * v), v)
    v = cp.where((key & U(4)) != 0, cp.log(v + 1.5) * cp.sin(3 * v) + 0.5, v)
    return a["out"].view(F), v


def syrk_lower_tile(a):
    n = a["n"]
    x = wide(a["a"]).reshape(n, a["depth"])
    lower = cp.tril(cp.ones((n, n), bool))
    return a["c"].view(F).reshape(n, n)[lower], (a["alpha"] * (x @ x.T))[lower]


def pair_distances_tile(a):
    p, q = (wide(a[k]).reshape(-1, a["width"]) for k in "pq")
    squares = (p * p).sum(axis=1)[:, None] + (q * q).sum(axis=1) - 2 * (p @ q.T)
    return a["out"].view(F), cp.sqrt(cp.maximum(squares, 0))


def group_norm_channels(a):
    each, pixels, groups = a["each"], a["pixels"], a["groups"]
    x = wide(a["in"]).reshape(-1, groups, each * pixels)
    x = x - x.mean(axis=2, keepdims=True)
    x /= cp.sqrt((x * x).mean(axis=2, keepdims=True) + a["least"])
    x = x.reshape(-1, groups * each, pixels)
    return a["out"].view(F), x * wide(a["gain"])[:, None] + wide(a["bias"])[:, None]


def mean_variance_double(a):
    n, x = a["n"], a["in"]
    parts = a["out"].view(D).reshape(-1, 3)
    mean = (parts[:, 0] * parts[:, 1]).sum() / n
    squares = parts[:, 2].sum() + (parts[:, 0] * (parts[:, 1] - mean) ** 2).sum()
    return cp.stack([parts[:, 0].sum() / n, mean, squares / n]), cp.stack(
        [cp.ones(()), x.mean(), x.var()]
    )


def window_mean_rows(a):
    width, radius = a["width"], a["radius"]
    x = wide(a["in"]).reshape(-1, width)
    sums = cp.zeros((len(x), width + 1))
    sums[:, 1:] = cp.cumsum(x, axis=1)
    places = cp.arange(width)
    first, last = cp.maximum(places - radius, 0), cp.minimum(places + radius, width - 1)
    return a["out"].view(F), (sums[:, last + 1] - sums[:, first]) / (last - first + 1)


def biharmonic_13(a):
    width, height = a["width"], a["height"]
    u = cp.zeros((height + 4, width + 4))
    u[2:-2, 2:-2] = wide(a["u"]).reshape(height, width)

    def at(y, x):
        return u[2 + y : 2 + y + height, 2 + x : 2 + x + width]

    def around(many):
        return at(-many, 0) + at(many, 0) + at(0, -many) + at(0, many)

    across = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
    step = 20 * at(0, 0) - 8 * around(1) + 2 * across + around(2)
    return a["out"].view(F), at(0, 0) - a["rate"] * step


def pyramid_down(a):
    width, height = a["width"], a["height"]
    x = cp.pad(wide(a["in"]).reshape(height, width), 2, mode="edge")
    taps = (1, 4, 6, 4, 1)
    x = sum(t * x[:, k : k + width : 2] for k, t in enumerate(taps))
    x = sum(t * x[k : k + height : 2] for k, t in enumerate(taps))
    return a["out"], cp.floor(x / 256 + 0.5)


def edge_thinning(a):
    width, height = a["width"], a["height"]
    x, y = ((a[k] - F(0.5)).reshape(height, width) for k in ("gx", "gy"))
    all_over = x * x + y * y
    here = all_over[1:-1, 1:-1]
    x, y = x[1:-1, 1:-1], y[1:-1, 1:-1]
    flat = cp.abs(y) < F(0.41421356) * cp.abs(x)
    steep = cp.abs(y) > F(2.41421356) * cp.abs(x)
    falls = x * y > 0

    def strongest(dy, dx):
        def at(s):
            return all_over[1 + s * dy : height - 1 + s * dy, 1 + s * dx : width - 1 + s * dx]

        return (here >= at(1)) & (here >= at(-1))

    slanted = cp.where(falls, strongest(1, 1), strongest(1, -1))
    kept = cp.where(flat, strongest(0, 1), cp.where(steep, strongest(1, 0), slanted))
    wanted = cp.zeros((height, width), N)
    kinds = cp.where(here > F(a["high"]), 2, 1)
    wanted[1:-1, 1:-1] = cp.where(kept & (here > F(a["low"])), kinds, 0)
    # sums that round otherwise may turn a few pixels that are on an edge of the rules
    return told(alike(a["edges"].reshape(height, width), wanted) < 1e-5)


SECTIONS = (
    (0.2066, 0.4132, 0.2066, -0.3695, 0.1958),
    (0.7478, -1.4956, 0.7478, -1.4221, 0.5533),
    (1.0560, -1.6210, 0.6840, -1.6210, 0.7400),
    (0.9150, -0.3300, 0.7200, -0.3300, 0.6350),
)


def biquad_cascade(a):
    x = wide(a["in"]).reshape(a["samples"], a["channels"]).copy()
    for b0, b1, b2, a1, a2 in SECTIONS:
        first, second = cp.zeros(a["channels"]), cp.zeros(a["channels"])
        for t in range(len(x)):
            v = x[t].copy()
            w = b0 * v + first
            first = b1 * v - a1 * w + second
            second = b2 * v - a2 * w
            x[t] = w
    return a["out"].view(F), x


def polyphase_decimate(a):
    x, total = wide(a["in"]), a["total"]
    wanted = cp.zeros(total)
    for k, tap in enumerate(cp.asnumpy(a["taps"]).tolist()):
        wanted += tap * x[k : k + 4 * total : 4][:total]
    return a["out"].view(F), wanted


def run_starts(a):
    x, block, counts = a["in"], a["block"], a["counts"].view(N)
    begins = cp.ones(len(x), bool)
    begins[1:] = x[1:] != x[:-1]
    places = cp.nonzero(begins)[0]
    wanted = cp.bincount(places // block, minlength=len(counts))
    came = a["starts"].view(N).reshape(len(counts), block)
    listed = came[cp.arange(block) < counts[:, None]]
    same = len(listed) == len(places) and bool((listed == places).all())
    return told(counts == wanted, cp.asarray([same]))


def insertion_sort_local(a):
    x = a["in"].reshape(a["many"], a["n"])
    return a["out"].view(F), cp.sort(x, axis=0)


def barrier_paths(a):
    def draw(state):
        state = state * U(747796405) + U(2891336453)
        word = ((state >> ((state >> U(28)) + U(4))) ^ state) * U(277803737)
        return state, wide(((word >> U(22)) ^ word) >> U(8))

    n = a["n"]
    state = (cp.arange(n, dtype=U) + U(a["seed"])) * U(2654435769)
    level, alive = cp.zeros(n), cp.ones(n, bool)
    for _ in range(a["steps"]):
        state, u = draw(state)
        state, v = draw(state)
        normal = cp.sqrt(-2 * cp.log((u + 1) / 2**24)) * cp.cos(2 * cp.pi * v / 2**24)
        level = level + a["drift"] + a["swing"] * normal
        alive &= level > np.log(a["barrier"])
    wanted = cp.where(alive, cp.maximum(cp.exp(level) - a["strike"], 0), 0)
    came = a["payoffs"].view(F)
    # a path that grazes the barrier may end otherwise
    near = cp.abs(wide(came).mean() - wanted.mean()) < 1e-3 * wanted.mean()
    return told(alike(came, wanted) < 1e-3, near)


EXPECTED = {
    each.__name__: each
    for each in (
        row_norms_thread,
        transpose_half_pairs,
        shared_stride_reads,
        counters_spread,
        append_by_parity,
        add_bytes_saturated,
        transpose_bits_warp,
        siphash_keys,
        complex_products,
        count_primes_trial,
        branch_by_bits,
        syrk_lower_tile,
        pair_distances_tile,
        group_norm_channels,
        mean_variance_double,
        window_mean_rows,
        biharmonic_13,
        pyramid_down,
        edge_thinning,
        biquad_cascade,
        polyphase_decimate,
        run_starts,
        insertion_sort_local,
        barrier_paths,
    )
}

# Relative errors allowed beyond 1e-4: none.
LOOSE = {}
