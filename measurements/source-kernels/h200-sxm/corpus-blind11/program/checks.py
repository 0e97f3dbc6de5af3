"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, H, N, D, U, W = cp.float32, cp.float16, cp.int32, cp.float64, cp.uint32, cp.uint64


def wide(x):
    return x.astype(D)


def brain(x):
    """Return the numbers that stand in a buffer as bfloat16."""
    return wide((x.view(cp.uint16).astype(U) << U(16)).view(F))


def to_brain(x):
    """Return numbers rounded to bfloat16, to even, subnormal ones too."""
    bits = x.astype(F).view(U)
    return wide((bits + U(0x7FFF) + (bits >> U(16) & U(1)) & U(0xFFFF0000)).view(F))


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


def gemm_double_tile(a):
    left, right = a["a"].reshape(a["m"], a["k"]), a["b"].reshape(a["k"], a["n"])
    return a["c"].view(D), a["alpha"] * (left @ right)


def conv_line_bf16(a):
    taps, n = a["taps"], a["length"]
    lines, weights = brain(a["in"]).reshape(-1, n), brain(a["filter"])
    lines = cp.pad(lines, ((0, 0), (taps // 2, taps // 2)))
    wanted = cp.zeros((lines.shape[0], n))
    for k in range(taps):
        wanted += weights[k] * lines[:, k : k + n]
    return brain(a["out"]), to_brain(wanted)


def spmv_diagonals(a):
    n, rows = a["n"], cp.arange(a["n"])
    values = a["values"].reshape(-1, n)
    wanted = cp.zeros(n)
    for d in range(a["diagonals"]):
        columns = rows + a["offsets"][d] - a["shift"]
        inside = (columns >= 0) & (columns < n)
        wanted += cp.where(inside, values[d] * a["x"][cp.clip(columns, 0, n - 1)], 0)
    return a["out"].view(D), wanted


def dot_half_atomics(a):
    return a["out"], (wide(a["a"]) * wide(a["b"])).sum().reshape(1)


def transpose_in_place(a):
    return a["y"], a["before"]["y"].reshape(a["n"], a["n"]).T


def gather_rows_of_four(a):
    return a["out"].view(F), a["table"].reshape(-1, 4)[a["index"]]


def reread_resident(a):
    n, threads = a["n"], a["out"].size // 4
    each = wide(a["in"]).reshape(n, 4).sum(1)
    wanted = cp.zeros(threads)
    for k in range(a["passes"]):
        turned = cp.roll(each, -(k * a["shift"] % n))
        wanted += cp.pad(turned, (0, -n % threads)).reshape(-1, threads).sum(0)
    return a["out"].view(F), wanted


def potential_double(a):
    x, y, z, strength = a["charges"].reshape(-1, 4).T
    wanted = []
    for first in range(0, a["n"], 500):
        here = slice(first, first + 500)
        square = (x[here, None] - x) ** 2 + (y[here, None] - y) ** 2 + (z[here, None] - z) ** 2
        wanted.append((strength / cp.sqrt(square + a["softening"])).sum(1))
    return a["out"].view(D), cp.concatenate(wanted)


def seeded(first, many):
    """Return the state that each generator starts with."""
    x = (cp.arange(many) + first).astype(U)
    x = (x ^ U(61)) ^ x >> U(16)
    x = x * U(9)
    x = x ^ x >> U(4)
    x = x * U(0x27D4EB2D)
    return (x ^ x >> U(15)) | U(1)


def following(state):
    state = state ^ state << U(13)
    state = state ^ state >> U(17)
    return state ^ state << U(5)


def buffon_needles(a):
    # how many threads there are is told by the launches: 1056 of 256, or 50 of 128
    threads = {256: 1056 * 256, 128: 50 * 128}[a["block"]]
    state, wanted = seeded(a["seed"], threads), 0
    for _ in range(a["throws"]):
        state = following(state)
        away = wide(state >> U(8)) * (0.5 / 16777216)
        state = following(state)
        turned = wide(state >> U(8)) * (cp.pi / 2 / 16777216)
        wanted += (away < 0.5 * a["length"] * cp.sin(turned)).sum()
    return a["crossings"], wanted.reshape(1)


def rate_paths(a):
    state = seeded(a["seed"], a["paths"])
    rate, total, step = cp.full(a["paths"], a["rate"]), 0, a["step"]
    for _ in range(a["pairs"]):
        state = following(state)
        far = cp.sqrt(-2 * cp.log((wide(state >> U(9)) + 0.5) / 8388608))
        state = following(state)
        turn = wide(state >> U(9)) * (2 * cp.pi / 8388608)
        for normal in (far * cp.cos(turn), far * cp.sin(turn)):
            total = total + rate
            spread = a["spread"] * cp.sqrt(cp.maximum(rate, 0) * step)
            rate = rate + a["pull"] * (a["mean"] - rate) * step + spread * normal
    # of what is lost by discounting
    return 1 - wide(a["out"].view(F)), 1 - cp.exp(-total * step)


def lennard_jones_lists(a):
    n, places = a["n"], wide(a["atoms"]).reshape(-1, 4)[:, :3]
    lists, kinds = a["neighbours"].reshape(-1, n), a["kinds"].astype(N)
    size6 = ((0.5 + wide(a["sizes"])) * a["unit"]) ** 6
    depth, wanted = wide(a["depths"]), cp.zeros((n, 4))
    for k in range(lists.shape[0]):
        d = places - places[lists[k]]
        d = d - cp.rint(d)
        square = (d * d).sum(1)
        held = cp.maximum(square, a["core"])
        pair = kinds * 8 + kinds[lists[k]]
        part = size6[pair] / held**3
        pull = 24 * depth[pair] * part * (2 * part - 1) / held
        energy = 4 * depth[pair] * part * (part - 1)
        terms = cp.concatenate([pull[:, None] * d, energy[:, None]], axis=1)
        counted = (k < a["counts"]) & (square < a["cut"] ** 2)
        wanted += cp.where(counted[:, None], terms, 0)
    came = a["forces"].view(F).reshape(n, 4)
    return both((came[:, :3], wanted[:, :3]), (came[:, 3], wanted[:, 3]))


def dependent_divisions(a):
    x = 0.5 + wide(a["in"])
    value = x
    for k in range(a["steps"], 0, -1):
        value = x + k / 2 / value
    return a["out"].view(F), 1 / cp.sqrt(cp.pi) / value


def seidel_red_black(a):
    shape = a["height"], a["width"]
    before, source = (wide(x).reshape(shape) for x in (a["before"]["y"], a["source"]))
    rows, columns = cp.arange(shape[0])[:, None], cp.arange(shape[1])
    # a row's first cell of the colour is its cell 1 or its cell 2
    turn = (columns - 1 - (rows + a["colour"])) % 2 == 0
    inside = (rows > 0) & (rows < shape[0] - 1) & (columns > 0) & (columns < shape[1] - 1)
    around = sum(cp.roll(before, by, axis) for axis in (0, 1) for by in (1, -1))
    after = before + a["relax"] * ((around - source) / 4 - before)
    wanted = cp.where(turn & inside, after, before)
    came = a["y"].reshape(shape)
    return both((came, wanted), (came - before, wanted - before))


def stencil_in_time(a):
    x = wide(a["in"])
    start = x.copy()
    for _ in range(a["steps"]):
        x[1:-1] = x[1:-1] + a["rate"] * (x[:-2] - 2 * x[1:-1] + x[2:])
    came = a["out"].view(F)
    return both((came, x), (came - start, x - start))


def upsample_twice_nhwc(a):
    h, w, channels = a["height"], a["width"], 2 * a["pairs"]
    x = wide(a["in"]).reshape(-1, h, w, channels)
    for axis, size in ((1, h), (2, w)):
        at = cp.maximum((cp.arange(2 * size) + 0.5) / 2 - 0.5, 0)
        low = at.astype(N)
        high = cp.minimum(low + 1, size - 1)
        shape = [1, 1, 1, 1]
        shape[axis] = 2 * size
        part = (at - low).reshape(shape)
        x = cp.take(x, low, axis) * (1 - part) + cp.take(x, high, axis) * part
    return a["out"].view(H), x.astype(H)


def equalise_tiles(a):
    w, tw, th = a["width"], a["tile_width"], a["tile_height"]
    tiles = a["image"].reshape(-1, th, w // tw, tw).transpose(0, 2, 1, 3).reshape(-1, tw * th)
    many, area = tiles.shape
    counts = cp.zeros(many * 256, dtype=cp.int64)
    share = 1024  # tiles at once
    for first in range(0, many, share):
        some = tiles[first : first + share].astype(N)
        keys = some + 256 * cp.arange(some.shape[0], dtype=N)[:, None]
        end = (first + some.shape[0]) * 256
        counts[first * 256 : end] = cp.bincount(keys.ravel(), minlength=some.shape[0] * 256)
    counts = counts.reshape(many, 256)
    cut = cp.minimum(counts, a["limit"])
    cut = cut + (counts - cut).sum(1, keepdims=True) // 256
    return a["tables"], (cp.cumsum(cut, axis=1) * 255 + area // 2) // area


def adamw_masters_bf16(a):
    before = wide(a["before"]["y"]).reshape(3, -1)
    gradient = brain(a["grads"])
    w, m, v = before
    m = a["beta1"] * m + (1 - a["beta1"]) * gradient
    v = a["beta2"] * v + (1 - a["beta2"]) * gradient**2
    move = m * a["scale1"] / (cp.sqrt(v * a["scale2"]) + a["tiny"]) + a["decay"] * w
    w = w - a["rate"] * move
    came, shown = wide(a["y"]).reshape(3, -1), brain(a["weights"])
    # what is shown is what came, rounded
    return both(
        (came[0], w),
        (came[0] - before[0], w - before[0]),
        (came[1], m),
        (came[2], v),
        (shown, to_brain(came[0])),
    )


def bias_grads_bf16(a):
    return a["out"], brain(a["grads"]).reshape(a["rows"], -1).sum(0)


def xent_forward_bf16(a):
    width = 2 * a["pairs"]
    logits = a["logits"].reshape(-1, width)
    norms, losses = [], []
    for first in range(0, logits.shape[0], 250):
        x, targets = brain(logits[first : first + 250]), a["targets"][first : first + 250]
        top = x.max(1)
        norm = top + cp.log(cp.exp(x - top[:, None]).sum(1))
        norms.append(norm)
        losses.append(norm - x[cp.arange(x.shape[0]), targets])
    return both(
        (a["norms"].view(F), cp.concatenate(norms)), (a["losses"].view(F), cp.concatenate(losses))
    )


def norm_rope_bf16(a):
    heads = a["heads"]
    x, gain = a["in"].reshape(-1, heads, 128), brain(a["gain"])
    cosines, sines = (a[name].reshape(-1, 64) for name in ("cosines", "sines"))
    came, wanted = a["out"].view(cp.uint16).reshape(x.shape), []
    for first in range(0, x.shape[0], 2000):
        part = brain(x[first : first + 2000])
        scale = 1 / cp.sqrt((part**2).mean(2, keepdims=True) + a["tiny"])
        low, high = cp.split(part * scale * gain, 2, axis=2)
        places = a["positions"][first : first + 2000]
        c, s = (wide(table[places])[:, None] for table in (cosines, sines))
        turned = cp.concatenate([low * c - high * s, high * c + low * s], axis=2)
        wanted.append(to_brain(turned))
    return brain(came), cp.concatenate(wanted)


def alibi_softmax(a):
    heads, tokens = a["heads"], a["tokens"]
    scores, place = a["scores"].reshape(heads, tokens, tokens), cp.arange(tokens)
    away = place - place[:, None]
    wanted = cp.zeros(scores.shape)
    for head in range(heads):
        slope = 2.0 ** (-8 * (head + 1) / heads)
        x = wide(scores[head]) * a["scale"] + slope * away
        x = cp.where(away <= 0, x, -cp.inf)
        weight = cp.exp(x - x.max(1, keepdims=True))
        wanted[head] = weight / weight.sum(1, keepdims=True)
    return a["out"].view(H), wanted.astype(H)


def top_p_sample(a):
    rows = a["random"].size
    x, slack, each = wide(a["logits"]).reshape(rows, -1), 1e-5, cp.arange(rows)
    weight = cp.exp((x - x.max(1, keepdims=True)) * a["scale"])
    total, least, tokens = weight.sum(1), wide(a["least"].view(F)), a["tokens"].view(N)
    width = 2.0 ** -a["rounds"]

    def above(limit):
        return cp.where(weight >= limit[:, None], weight, 0)

    # what weighs as much as the limit, but for rounding, may be on either side of it
    enough = above(least * (1 - slack)).sum(1) >= a["p"] * total * (1 - slack)
    no_more = above((least + width) * (1 + slack)).sum(1) <= a["p"] * total * (1 + slack)
    inside = (tokens >= 0) & (tokens < a["width"])
    tokens = cp.clip(tokens, 0, a["width"] - 1)
    kept = weight[each, tokens] >= least * (1 - slack)
    upto = cp.cumsum(above(least), axis=1)
    target, more = wide(a["random"]) * upto[:, -1], slack * upto[:, -1]
    there = upto[each, tokens]
    before = there - weight[each, tokens]
    drawn = (before <= target + more) & (there >= target - more)
    return told(enough, no_more, inside, kept, drawn)


def crc_slices(a):
    table = cp.arange(256).astype(U)
    for _ in range(8):
        table = cp.where(table & U(1), table >> U(1) ^ U(0xEDB88320), table >> U(1))
    messages = a["messages"].reshape(a["n"], -1)
    crc = cp.full(a["n"], 0xFFFFFFFF, dtype=U)
    for word in range(a["words"]):
        for byte in range(4):
            given = messages[:, word] >> U(8 * byte)
            crc = table[((crc ^ given) & U(255)).astype(N)] ^ crc >> U(8)
    return a["out"].view(U), ~crc


def group_by_hash(a):
    keys, groups = a["keys"].astype(cp.int64), int(a["keys"].max()) + 1
    counts = cp.bincount(keys, minlength=groups)
    sums = cp.bincount(keys, weights=wide(a["values"]), minlength=groups)
    taken = cp.nonzero(a["slots"])[0]
    found = a["slots"][taken].astype(cp.int64) - 1
    came_counts, came_sums = cp.zeros(groups), cp.zeros(groups)
    came_counts[found] = a["counts"][taken]
    came_sums[found] = a["sums"][taken]
    present = (counts > 0).sum().reshape(1)
    return both((came_counts, counts), (came_sums, sums), (cp.asarray([taken.size]), present))


EXPECTED = {
    each.__name__: each
    for each in (
        gemm_double_tile,
        conv_line_bf16,
        spmv_diagonals,
        dot_half_atomics,
        transpose_in_place,
        gather_rows_of_four,
        reread_resident,
        potential_double,
        buffon_needles,
        rate_paths,
        lennard_jones_lists,
        dependent_divisions,
        seidel_red_black,
        stencil_in_time,
        upsample_twice_nhwc,
        equalise_tiles,
        adamw_masters_bf16,
        bias_grads_bf16,
        xent_forward_bf16,
        norm_rope_bf16,
        alibi_softmax,
        top_p_sample,
        crc_slices,
        group_by_hash,
    )
}

# Relative errors allowed beyond 1e-4: of fast exponentials rounded to few bits, and of paths.
LOOSE = {"alibi_softmax": 1e-3, "norm_rope_bf16": 5e-4, "conv_line_bf16": 5e-4, "rate_paths": 1e-3}
