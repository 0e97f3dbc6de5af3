"""What each kernel of this blind corpus should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import numpy as np

F, N, D, U, B = cp.float32, cp.int32, cp.float64, cp.uint32, cp.uint8


def wide(x):
    return x.astype(D)


def told(*facts):
    """Return a pair for conditions that all should hold."""
    return cp.concatenate([fact.all().reshape(1) for fact in facts]), cp.ones(len(facts))


def away(came, wanted, most):
    """Return the share of values that are not as they should be."""
    return (cp.abs(wide(came) - wide(wanted)) > most).mean()


def uniform(name, count, kind):
    """Return what a buffer of this name held before: the recipe of launch files."""
    from perfmodel.cuda.launch.content import generate

    return cp.asarray(generate("uniform", kind, count, name))


def submatrix_copy(a):
    rows, columns, top, left = (a[k] for k in ("rows", "columns", "top", "left"))
    wanted = a["in"].reshape(-1, a["in_pitch"])[top : top + rows, left : left + columns]
    return a["out"].view(F).reshape(rows, a["out_pitch"])[:, :columns], wanted


def columns_scaled_double(a):
    columns = a["columns"]
    first = uniform("a", a["rows"] * columns, "f64").reshape(-1, columns)
    return a["a"], first / (a["norms"][:columns] + 1)


def transpose_diagonal_order(a):
    return a["out"].view(F), a["in"].reshape(a["height"], a["width"]).T.copy()


def outer_maximum_table(a):
    return a["out"].view(F), cp.maximum(a["a"][:, None], a["b"])


def sum_every_kth(a):
    return a["out"], wide(a["in"])[:: a["k"]][: a["n"]].sum().reshape(1)


def shell_sort_rows(a):
    wanted = cp.sort(a["in"].reshape(a["rows"], a["columns"]), axis=1)
    return a["out"].view(F), wanted


def radix_pass_block(a):
    tiles = a["keys"].reshape(-1, 1024)
    digits = (tiles >> U(a["shift"]) & U(15)).astype(cp.int64)
    order = cp.argsort(digits * 1024 + cp.arange(1024), axis=1)
    sorted_tiles = cp.take_along_axis(tiles, order, axis=1)
    totals = cp.stack([(digits == d).sum(axis=1) for d in range(16)])
    right = a["out"].view(U) == sorted_tiles.ravel()
    return told(right, a["totals"].view(U) == totals.ravel())


def histogram_columns_bytes(a):
    levels = a["in"].reshape(a["rows"], a["columns"]) >> B(4)
    return a["bins"], cp.stack([(levels == level).sum(axis=0) for level in range(16)])


def delta_zigzag_decode(a):
    codes = a["codes"]
    steps = (codes >> U(1)).astype(cp.int64) ^ -(codes & U(1)).astype(cp.int64)
    values = cp.cumsum(steps.reshape(-1, 128), axis=1) + a["firsts"][:, None]
    return told(a["out"].view(N) == values.ravel())


def crc16_frames(a):
    words = a["frames"].reshape(a["many"], a["words"])
    table = cp.asarray([crc_of_nibble(k) for k in range(16)])
    crc = cp.full(a["many"], 0xFFFF, cp.int64)
    for w in range(a["words"]):
        word = words[:, w].astype(cp.int64)
        for b in range(4):
            byte = word >> (8 * b) & 0xFF
            for nibble in (byte >> 4, byte & 15):
                crc = (crc << 4 ^ table[(crc >> 12 ^ nibble) & 15]) & 0xFFFF
    return a["codes"].view(cp.uint16), crc


def crc_of_nibble(k):
    crc = k << 12
    for _ in range(4):
        crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def residual_norm_plane(a):
    width, height = a["width"], a["height"]
    u, f = (wide(a[k]).reshape(height, width) for k in "uf")
    around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
    r = cp.zeros((-(-height // 32) * 32, -(-width // 32) * 32))
    r[1 : height - 1, 1 : width - 1] = f[1:-1, 1:-1] - (4 * u[1:-1, 1:-1] - around) * a["over_h2"]
    r = (r * r).reshape(len(r) // 32, 32, -1, 32)
    return a["sums"].view(F), r.sum(axis=(1, 3))


def advect_d2q5(a):
    f = wide(a["from"]).reshape(5, a["height"], a["width"])
    flow = wide(a["flow"]).reshape(a["height"], a["width"], 2)
    ways = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
    f = cp.stack([cp.roll(f[k], way, axis=(0, 1)) for k, way in enumerate(ways)])
    much, u, v = f.sum(axis=0), flow[..., 0], flow[..., 1]
    rest = cp.stack([much / 3, *(much / 6 * (1 + 3 * w) for w in (u, v, -u, -v))])
    return a["to"].view(F), (1 - a["omega"]) * f + a["omega"] * rest


def pressure_red_black_3d(a):
    shape = a["nz"], a["ny"], a["nx"]
    p = wide(uniform("p", int(np.prod(shape)), "f32")).reshape(shape)
    rhs = wide(a["rhs"]).reshape(shape)
    inner = slice(1, -1)
    around = sum(
        p[tuple(slice(1 + s, n - 1 + s) if k == axis else inner for k, n in enumerate(shape))]
        for axis in range(3)
        for s in (-1, 1)
    )
    old = p[inner, inner, inner]
    new = old + a["omega"] * ((around - a["h2"] * rhs[inner, inner, inner]) / 6 - old)
    k, j, i = cp.meshgrid(*(cp.arange(1, n - 1) for n in shape), indexing="ij")
    ours = (i + 1 + j + k + a["colour"]) % 2 == 0
    wanted = p.copy()
    wanted[inner, inner, inner] = cp.where(ours, new, old)
    return a["p"], wanted


def ewald_phases(a):
    atoms = wide(a["atoms"]).reshape(-1, 4)
    waves = wide(a["waves"]).reshape(-1, 3)
    parts = []
    for some in cp.array_split(waves, 20):
        phase = 2 * cp.pi * some @ atoms[:, :3].T
        parts.append(cp.stack([cp.cos(phase) @ atoms[:, 3], cp.sin(phase) @ atoms[:, 3]], axis=1))
    return a["out"].view(F), cp.concatenate(parts)


def asian_option_paths(a):
    def draw(state):
        state = state ^ state << U(13)
        state = state ^ state >> U(17)
        state = state ^ state << U(5)
        return state, wide(state >> U(8))

    block, pairs = a["block"], a["pairs"]
    paths = len(a["sums"].view(F)) * block
    state = (cp.arange(paths, dtype=U) + U(a["seed"])) * U(2654435769) | U(1)
    level, total = cp.zeros(paths), cp.zeros(paths)
    for _ in range(pairs):
        state, u = draw(state)
        state, v = draw(state)
        far = cp.sqrt(-2 * cp.log((u + 1) / 2**24))
        for normal in (far * cp.cos(2 * cp.pi * v / 2**24), far * cp.sin(2 * cp.pi * v / 2**24)):
            level = level + a["drift"] + a["swing"] * normal
            total += cp.exp(level)
    payoffs = cp.maximum(total / (2 * pairs) - a["strike"], 0)
    return a["sums"].view(F), payoffs.reshape(-1, block).sum(axis=1)


def chroma_halved(a):
    width, height = a["width"], a["height"]
    rgb = wide(a["rgb"]).reshape(height, width, 3)
    mean = rgb.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))

    def right(name, picture, *weights):
        ideal = picture @ cp.asarray(weights[:3]) + weights[3]
        came = wide(a[name]).reshape(ideal.shape)
        # rounded to the next whole number, but for ties
        return away(came, cp.clip(ideal, 0, 255), 0.501) < 1e-6

    return told(
        right("luma", rgb, 0.299, 0.587, 0.114, 0),
        right("blue", mean, -0.168736, -0.331264, 0.5, 128),
        right("red", mean, 0.5, -0.418688, -0.081312, 128),
    )


def boxes_from_anchors(a):
    n = a["n"]
    x, y, w, h = wide(a["anchors"]).reshape(-1, 4)[cp.arange(n) % a["per_image"]].T
    d = wide(a["deltas"]).reshape(n, 4).T
    x, y = x + d[0] * w, y + d[1] * h
    w, h = w / 2 * cp.exp(cp.minimum(d[2], 4.135)), h / 2 * cp.exp(cp.minimum(d[3], 4.135))
    low = cp.maximum(x - w, 0), cp.maximum(y - h, 0)
    high = cp.minimum(x + w, a["width"]), cp.minimum(y + h, a["height"])
    boxes = cp.stack([*low, *high], axis=1)
    scores = 1 / (1 + cp.exp(-wide(a["logits"])))
    came = a["boxes"].view(F), a["scores"].view(F)
    return cp.concatenate(came), cp.concatenate([boxes.ravel(), scores])


def curve_table_rgba(a):
    pixels = a["in"].view(B).reshape(-1, 4).copy()
    curves = a["curves"].reshape(3, 256)
    for k in range(3):
        pixels[:, k] = curves[k][pixels[:, k]]
    return told(a["out"] == pixels.ravel())


def motion_search_sad(a):
    width, height = a["width"], a["height"]
    frame = a["frame"].reshape(height, width).astype(N)
    last = cp.pad(a["last"].reshape(height, width).astype(N), 8, mode="edge")
    best = cp.full((height // 16, width // 16), 2**31 - 1)
    for t in range(256):
        dy, dx = t // 16, t % 16
        apart = cp.abs(frame - last[dy : dy + height, dx : dx + width])
        sums = apart.reshape(height // 16, 16, -1, 16).sum(axis=(1, 3))
        best = cp.minimum(best, sums * 256 + t)
    return told(a["best"].view(U) == best.ravel())


def distance_rows_binary(a):
    rows, width = a["rows"], a["width"]
    places = cp.arange(width)
    image = cp.asnumpy(a["in"].reshape(rows, width) >= B(a["level"]))
    before = np.maximum.accumulate(np.where(image, np.arange(width), -65535), axis=1)
    after = np.where(image, np.arange(width), 2 * 65535)[:, ::-1]
    after = np.minimum.accumulate(after, axis=1)[:, ::-1]
    near = cp.minimum(places - cp.asarray(before), cp.asarray(after.copy()) - places)
    return told(a["out"].view(cp.uint16) == cp.minimum(near, 65535).ravel())


def scores_biased_softmax(a):
    queries, heads, reach, keys = a["queries"], a["heads"], a["reach"], 8 * a["block"]
    x = a["scores"].reshape(-1, heads, queries, keys)
    bias = wide(a["bias"]).reshape(heads, 2 * reach + 1)
    apart = cp.arange(keys) - cp.arange(queries)[:, None]
    bias = bias[:, cp.clip(apart, -reach, reach) + reach]
    came = a["out"].view(cp.float16).reshape(x.shape)
    facts = []
    for one, other in zip(x, came, strict=True):
        power = cp.exp(wide(one) * a["scale"] + bias)
        power /= power.sum(axis=2, keepdims=True)
        facts.append(cp.linalg.norm(wide(other) - power) < 1e-3 * cp.linalg.norm(power))
    return told(*facts)


def label_smoothing_rows(a):
    rows, smooth = a["rows"], a["smoothing"]
    x = wide(a["logits"]).reshape(rows, a["classes"])
    named = x[cp.arange(rows), a["labels"]]
    wanted = cp.log(cp.exp(x).sum(axis=1)) - (1 - smooth) * named - smooth * x.mean(axis=1)
    return a["losses"].view(F), wanted


def rmsprop_centred(a):
    n, decay = 4 * a["n"], a["decay"]
    g = wide(a["grads"])
    p, s, m = (wide(uniform(k, n, "f32")) for k in ("weights", "squares", "means"))
    s = decay * s + (1 - decay) * g * g
    m = decay * m + (1 - decay) * g
    p -= a["rate"] * g / (cp.sqrt(cp.maximum(s - m * m, 0)) + a["least"])
    came = [a[k] for k in ("weights", "squares", "means")]
    return cp.concatenate(came), cp.concatenate([p, s, m])


def quantise_columns_asymmetric(a):
    x = wide(a["in"]).reshape(a["rows"], a["columns"]) - 0.5
    low, high = cp.minimum(x.min(axis=0), 0), cp.maximum(x.max(axis=0), 0)
    scale = (high - low) / 255
    zero = cp.rint(-low / scale)
    wanted = cp.clip(cp.rint(x / scale) + zero, 0, 255)
    came = a["out"].reshape(x.shape)
    # what lies between two levels may round otherwise, a zero and with it its column too
    some, none = away(came, wanted, 0.5) < 1e-3, away(came, wanted, 1.5) == 0
    scales = cp.abs(a["scales"].view(F) - scale) < 1e-5 * scale
    return told(some, none, scales, away(a["zeros"], zero, 0.5) < 1e-3)


EXPECTED = {
    each.__name__: each
    for each in (
        submatrix_copy,
        columns_scaled_double,
        transpose_diagonal_order,
        outer_maximum_table,
        sum_every_kth,
        shell_sort_rows,
        radix_pass_block,
        histogram_columns_bytes,
        delta_zigzag_decode,
        crc16_frames,
        residual_norm_plane,
        advect_d2q5,
        pressure_red_black_3d,
        ewald_phases,
        asian_option_paths,
        chroma_halved,
        boxes_from_anchors,
        curve_table_rgba,
        motion_search_sad,
        distance_rows_binary,
        scores_biased_softmax,
        label_smoothing_rows,
        rmsprop_centred,
        quantise_columns_asymmetric,
    )
}

# Relative errors allowed beyond 1e-4: of fast logarithms and sines over a path.
LOOSE = {"asian_option_paths": 1e-3}
