"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, N, D, U, W, B = cp.float32, cp.int32, cp.float64, cp.uint32, cp.uint64, cp.uint8


def wide(x):
    return x.astype(D)


def sum_ints_first_add(a):
    return a["total"], wide(a["in"]).sum().reshape(1)


def rms_error_pairs(a):
    difference = a["a"] - a["b"]
    return a["partial"].view(D).sum().reshape(1), (wide(difference) ** 2).sum().reshape(1)


def scan_block_raking(a):
    n = a["n"]
    tiles = cp.zeros(-(-n // 1024) * 1024, N)
    tiles[:n] = a["in"]
    scanned = cp.cumsum(tiles.reshape(-1, 1024), axis=1)
    wanted = cp.concatenate([scanned.reshape(-1)[:n], scanned[:, -1]])
    return cp.concatenate([a["out"].view(N), a["sums"].view(N)]), wanted


def integral_rows(a):
    pixels = a["in"].reshape(-1, a["width"])
    return a["out"].view(U), cp.cumsum(pixels.astype(W), axis=1)


def chains_of_four(a):
    scale, sums = a["scale"], 0.0
    for chain in range(4):
        x = wide(a["in"]) + chain
        for _ in range(min(a["rounds"], 80)):  # a scale of a half forgets its start
            x = x * scale + 0.25 * (chain + 1)
        sums = sums + x
    return a["out"].view(F), sums


def shared_counters_few(a):
    counters = a["counters"]
    return a["totals"], cp.bincount((a["keys"] % U(counters)).astype(N), minlength=counters)


def histogram_pairs_2d(a):
    bins = a["bins"]
    column, row = (cp.clip((a[n] * F(bins)).astype(N), 0, bins - 1) for n in ("x", "z"))
    return a["counts"], cp.bincount(row * bins + column, minlength=bins * bins)


def bigram_counts(a):
    words, tokens = a["words"], a["tokens"].astype(N)
    return a["counts"], cp.bincount(tokens[:-1] * words + tokens[1:], minlength=words * words)


def scatter_add_floats(a):
    table = a["table"]
    return table, cp.bincount(a["index"], weights=wide(a["values"]), minlength=len(table))


def hough_votes(a):
    cells = a["cells"]
    points, directions = wide(a["points"]).reshape(-1, 2), wide(a["directions"]).reshape(-1, 2)
    wanted = []
    for x, y in directions.get():
        distance = (points[:, 0] * float(x) + points[:, 1] * float(y)) * 0.7
        cell = (distance * (cells / 2) + cells / 2 * 0.01).astype(N)
        wanted.append(cp.bincount(cell[(cell >= 0) & (cell < cells)], minlength=cells))
    return a["votes"], cp.concatenate(wanted)


def gather_near_window(a):
    at = cp.minimum(cp.arange(a["n"], dtype=N) + a["ahead"], a["n"] - 1)
    return a["out"].view(F), 0.5 * (wide(a["table"]) + wide(a["table"])[at])


def spmv_coo_atomics(a):
    products = wide(a["values"]) * wide(a["x"])[a["columns"]]
    return a["result"], cp.bincount(a["rows"], weights=products, minlength=len(a["result"]))


def bloom_probe(a):
    h = a["keys"] * W(0x9E3779B97F4A7C15)
    first, step = (h & W(0xFFFFFFFF)).astype(U), (h >> W(32)).astype(U) | U(1)
    found = cp.ones(len(h), bool)
    for k in range(a["hashes"]):
        bit = (first + U(k) * step) & U(a["bits"] - 1)
        found &= ((a["filter"][(bit >> U(5)).astype(N)] >> (bit & U(31))) & U(1)).astype(bool)
    return a["found"], found.astype(B)


def bits_set(x):
    x = x - ((x >> U(1)) & U(0x55555555))
    x = (x & U(0x33333333)) + ((x >> U(2)) & U(0x33333333))
    return (((x + (x >> U(4))) & U(0x0F0F0F0F)) * U(0x01010101)) >> U(24)


def triangle_counts(a):
    rows, ends = a["adjacent"].reshape(-1, a["words"]), a["edges"].reshape(-1, 2)
    parts = [
        bits_set(rows[part[:, 0]] & rows[part[:, 1]]).sum(axis=1)
        for part in (ends[at : at + 8192] for at in range(0, len(ends), 8192))
    ]
    return a["counts"].view(N), cp.concatenate(parts)


def dictionary_decode(a):
    return a["out"].view(U), a["words"].reshape(-1, 4)[a["codes"].astype(N)]


def run_length_expand(a):
    starts, runs = a["starts"], a["runs"]
    end = int(starts[runs])
    run = cp.searchsorted(starts[1 : runs + 1], cp.arange(end, dtype=N), side="right")
    return a["out"].view(F)[:end], a["values"][run]


def row_shuffled_dropout(a):
    columns, rows = a["columns"], len(a["order"])
    h = cp.arange(rows * columns, dtype=U) ^ U(a["seed"])
    h ^= h >> U(16)
    h *= U(0x7FEB352D)
    h ^= h >> U(15)
    h *= U(0x846CA68B)
    h ^= h >> U(16)
    values = a["in"].reshape(rows, columns)[a["order"]].ravel() * F(a["scale"])
    return a["out"].view(F), cp.where(h < U(a["keep_below"]), values, F(0))


def core_peel_pass(a):
    starts, vertices = a["starts"], a["vertices"]
    leaves = a["degree"] < a["level"]
    end = int(starts[vertices])
    owner = cp.searchsorted(starts[1 : vertices + 1], cp.arange(end, dtype=N), side="right")
    lost = cp.bincount(a["neighbours"][:end][leaves[owner]], minlength=vertices)
    return cp.concatenate([a["lost"], a["gone"].astype(N)]), cp.concatenate([lost, leaves])


def odd_even_sort_block(a):
    return a["out"].view(F), cp.sort(a["in"].reshape(-1, 2 * a["block"]), axis=1)


def transpose_batched_small(a):
    return a["out"].view(F), a["in"].reshape(-1, 16, 16).transpose(0, 2, 1).copy()


def gauss_rows_bytes(a):
    pixels = a["in"].reshape(-1, 4 * a["quads"]).astype(N)
    # Past an edge the edge's four pixels stand again.
    line = cp.concatenate([pixels[:, :4], pixels, pixels[:, -4:]], axis=1)
    middle, width = 4, pixels.shape[1]
    wanted = cp.zeros_like(pixels)
    for tap, weight in enumerate((1, 6, 15, 20, 15, 6, 1)):
        start = middle + tap - 3
        wanted += weight * line[:, start : start + width]
    return a["out"], (wanted + 32) >> 6


def viterbi_steps(a):
    steps, states = a["steps"], a["block"]
    seen = a["emissions"].reshape(-1, steps, states)
    moves = a["transitions"].reshape(states, states)
    score, back = seen[:, 0], cp.zeros(seen.shape, B)
    back[:, 0] = cp.arange(states)
    for step in range(1, steps):
        ways = score[:, :, None] + moves[None]
        back[:, step] = ways.argmax(axis=1)
        score = ways.max(axis=1) + seen[:, step]
    came = cp.concatenate([wide(a["best"].view(F)), wide(a["back"])])
    return came, cp.concatenate([wide(score).ravel(), wide(back).ravel()])


def garch_paths(a):
    draws = wide(a["draws"]).reshape(a["steps"], a["paths"])
    variance = cp.full(a["paths"], a["omega"] / (1 - a["alpha"] - a["beta"]))
    price = cp.zeros(a["paths"])
    for z in (draws - 0.5) * 3.4641016:
        r = cp.sqrt(variance) * z
        price += r - 0.5 * variance
        variance = a["omega"] + a["alpha"] * r * r + a["beta"] * variance
    return a["ends"].view(F), cp.exp(price)


def put_lattice_grid(a):
    spot, strike = (50 + 50 * wide(a[n])[:, None] for n in ("spots", "strikes"))
    steps = a["steps"]

    def exercised(level):
        return strike - spot * cp.exp((2 * cp.arange(level + 1) - level) * a["up_log"])

    value = cp.maximum(exercised(steps), 0)
    for level in range(steps - 1, -1, -1):
        held = a["up_share"] * value[:, 1:] + (1 - a["up_share"]) * value[:, :-1]
        value = cp.maximum(a["discount"] * held, exercised(level))
    return a["prices"].view(F), value[:, 0]


EXPECTED = {
    f.__name__: f
    for f in (
        sum_ints_first_add,
        rms_error_pairs,
        scan_block_raking,
        integral_rows,
        chains_of_four,
        shared_counters_few,
        histogram_pairs_2d,
        bigram_counts,
        scatter_add_floats,
        hough_votes,
        gather_near_window,
        spmv_coo_atomics,
        bloom_probe,
        triangle_counts,
        dictionary_decode,
        run_length_expand,
        row_shuffled_dropout,
        core_peel_pass,
        odd_even_sort_block,
        transpose_batched_small,
        gauss_rows_bytes,
        viterbi_steps,
        garch_paths,
        put_lattice_grid,
    )
}
LOOSE = {"hough_votes": 3e-2, "viterbi_steps": 1e-2, "put_lattice_grid": 1e-3}
