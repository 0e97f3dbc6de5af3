# ruff: noqa: B002, D103, E501
"""Chooses the points of the built-in kernels, by a seeded generator: points.py [SEED OUT]; points-second.csv has seed 20261124, points-third.csv 20261125. half: by the hash of the point."""

import csv
import hashlib
import json
import math
import random
import sys

SEED, OUT = (int(sys.argv[1]), sys.argv[2]) if sys.argv[1:] else (20261122, "points.csv")
R = random.Random(SEED)
KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30
DTYPES = ["int32", "uint32", "uint64", "float32", "float64", "half2"]
PATTERNS = ["modulo", "random", "warp"]
rows = []


def log_int(low, high, multiple=1):
    return max(
        int(math.exp(R.uniform(math.log(low), math.log(high)))) // multiple * multiple, multiple
    )


def add(kernel, params, *launch, mapping="", extra=None, prep=(0, 0, 0), by="cuda"):
    text = f"{kernel}|{mapping}|{json.dumps(params, sort_keys=True)}|{json.dumps(extra or {}, sort_keys=True)}"
    half = "A" if hashlib.sha256(text.encode()).digest()[0] % 2 else "B"
    if any(r["text"] == text for r in rows):
        return
    rows.append(
        {
            "text": text,
            "kernel": kernel,
            "mapping": mapping,
            "by": by,
            "half": half,
            "params": json.dumps(params),
            "extra": json.dumps(extra or {}),
            "launch": json.dumps(launch),
            "prep": json.dumps(prep),
        }
    )


for name in ("copy", "read", "write"):
    for vector in (4, 8, 16):
        for j in range(8):
            size = log_int(
                *[(64 * KiB, MiB), (MiB, 24 * MiB), (24 * MiB, 200 * MiB), (200 * MiB, 4 * GiB)][
                    j % 4
                ],
                16,
            )
            block = R.choice([64, 128, 256, 256, 512, 1024])
            add(name, {"bytes": size, "vector": vector, "block": block}, size, vector, block)
for _ in range(32):
    stride = R.choice(
        [
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            11,
            13,
            16,
            17,
            21,
            24,
            31,
            32,
            33,
            48,
            63,
            64,
            96,
            100,
            127,
            200,
            257,
        ]
    )
    offset = R.choice([0, 0, 1, 3, 5, 8, 13, 17, 31, 40])
    n = log_int(30_000, min(80_000_000, 4 * GiB // 4 // stride))
    add("strided-copy", {"n": n, "stride": stride, "offset": offset}, n, stride, offset)
for j in range(45):
    run = R.choice([1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 32, 48, 64])
    table = log_int(*[(MiB, 20 * MiB), (20 * MiB, 100 * MiB), (100 * MiB, 4 * GiB)][j % 3], 4)
    n = log_int(100_000, 40_000_000)
    granularity = [0, 32, 64, 128][j // 3 % 4]
    add(
        "gather",
        {"n": n, "run": run, "table_bytes": table},
        n,
        run,
        extra={"fetch_granularity": granularity},
        prep=(2, -(-n // run), table // 4 // run),
    )
for _ in range(26):
    size = log_int(MiB, 120 * MiB, 16)
    it = R.choice([2, 3, 5, 8, 13, 20, 35, 50])
    add("working-set-read", {"bytes": size, "iterations": it}, size, it)
for _ in range(16):
    m, n = log_int(64 * KiB, 96 * MiB, 16), log_int(4 * MiB, 2 * GiB, 16)
    add("data-reset", {"in_bytes": m, "out_bytes": n}, m, n)
for j in range(40):
    m, n = log_int(MiB, 64 * MiB, 16), log_int(64 * MiB, 2 * GiB, 16)
    if j % 4 == 0:
        add(
            "stream-persistent",
            {"persistent_bytes": m, "stream_bytes": n},
            m,
            n,
            0,
            0,
            0,
            prep=(4, 0, 0),
        )
    else:
        aside = R.choice([0, 6, 12, 18, 24, 30, 36]) * MiB
        window = m if j % 4 < 3 else log_int(m // 3 + 16, m, 16)
        ratio = R.choice([1.0, 1.0, 0.8, 0.6, 0.5, 0.35, 0.2])
        add(
            "stream-persistent",
            {"persistent_bytes": m, "stream_bytes": n},
            m,
            n,
            aside,
            window,
            round(ratio * 1000),
            extra={
                "set_aside": aside,
                "window": window,
                "window_buffer": "persistent",
                "hit_ratio": ratio,
            },
            prep=(4, 0, 0),
        )
for j in range(56):
    d = j % 6
    addresses = R.choice(
        [1, 2, 3, 7, 16, 31, 32, 33, 100, 500, 1024, 5000, 30_000, 262_144, 1_000_003, 4_194_304]
    )
    spacing = R.choice([1, 1, 2, 3, 4, 8, 16, 32, 64])
    if addresses * spacing > 1 << 27:
        spacing = 4
    n = log_int(10_000, 4_000_000 if addresses < 30 else 40_000_000)
    ret, pat = R.choice([0, 0, 1]), R.choice([0, 0, 1, 2])
    size = addresses * spacing * (8 if d in (2, 4) else 4)
    add(
        "atomic-add",
        {
            "n": n,
            "addresses": addresses,
            "spacing": spacing,
            "dtype": DTYPES[d],
            "returns": ["false", "true"][ret],
            "pattern": PATTERNS[pat],
        },
        n,
        addresses,
        spacing,
        d,
        ret,
        pat,
        prep=(3, size, 0),
    )
for j in range(15):
    d, block, n = (
        j % 5,
        R.choice([32, 64, 128, 192, 256, 384, 512, 1024]),
        log_int(20_000, 60_000_000),
    )
    add(
        "atomic-privatized",
        {"n": n, "block": block, "dtype": DTYPES[d]},
        n,
        block,
        d,
        prep=(3, 64, 0),
    )
for j in range(20):
    d, blocks, it = (
        j % 5,
        R.choice([1, 20, 66, 132, 200, 264, 500, 1056, 3000]),
        R.choice([10, 30, 64, 100, 300, 1000]),
    )
    addresses, block = (
        R.choice([1, 2, 3, 8, 16, 32, 48, 64, 100, 256, 1000, 4096]),
        R.choice([32, 64, 128, 256, 256, 512, 1024]),
    )
    add(
        "shared-atomic",
        {
            "blocks": blocks,
            "iterations": it,
            "addresses": addresses,
            "block": block,
            "dtype": DTYPES[d],
        },
        blocks,
        it,
        addresses,
        block,
        d,
    )
for k, name in enumerate(("naive", "coalesced", "smem")):
    shapes = [
        (s, s, s)
        for s in (
            [300, 511, 777, 1000, 1536, 2050, 2500]
            if k == 0
            else [300, 511, 777, 1000, 1536, 2304, 3333, 5000]
        )
    ]
    top = 1800 if k == 0 else 4500
    shapes += [tuple(log_int(200, top) for _ in range(3)) for _ in range(6)] + [
        (4096, 64, 1024),
        (100, 3000, 700),
        (31, 2000, 2000),
    ]
    for m, n, kk in shapes:
        add("gemm", {"M": m, "N": n, "K": kk}, m, n, kk, k, mapping=name)
H = (1, 0, 0)
for _ in range(20):
    heads, group = R.choice([8, 16, 32, 40, 64]), R.choice([1, 1, 4, 8])
    kv, width, batch = heads // group, R.choice([64, 128, 128, 256]), R.choice([1, 1, 2, 4, 8, 16])
    context = log_int(
        200, min(60_000, GIB_TOKENS) if (GIB_TOKENS := GiB // (batch * kv * width)) > 300 else 300
    )
    part = max(128, -(-(-(-context * batch * heads // 1024)) // 128) * 128)
    add(
        "decode-attention",
        {"batch": batch, "heads": heads, "kv_heads": kv, "context": context, "width": width},
        batch,
        heads,
        kv,
        context,
        width,
        part,
        mapping="split",
        prep=H,
    )
for _ in range(8):
    heads, group, width, tokens = (
        R.choice([8, 16, 32]),
        R.choice([1, 4]),
        R.choice([64, 128]),
        R.choice([200, 333, 512, 700, 1024, 1500]),
    )
    add(
        "prefill-attention",
        {"batch": 1, "heads": heads, "kv_heads": heads // group, "tokens": tokens, "width": width},
        1,
        heads,
        heads // group,
        tokens,
        width,
        mapping="naive",
        prep=H,
    )
for _ in range(14):
    d = R.choice([0, 0, 2])
    r, c = log_int(500, 60_000), R.choice([1024, 2048, 2560, 4096, 5120, 7168, 8192, 11008, 14336])
    add(
        "ffn-gemv",
        {"rows": r, "columns": c, "dtype": ["fp16", "", "fp32"][d]},
        r,
        c,
        d,
        mapping="warp",
        prep=H if d == 0 else (5, 0, 0),
    )
for _ in range(12):
    batch, heads, width = (
        R.choice([1, 2, 8, 32, 64, 256, 1000]),
        R.choice([1, 8, 16, 32]),
        R.choice([64, 128, 256]),
    )
    context = max(min(R.choice([512, 2048, 5000, 16384]), GiB // (batch * heads * width)), 16)
    at = R.randrange(context)
    add(
        "kv-append",
        {"batch": batch, "kv_heads": heads, "context": context, "width": width, "at": at},
        batch,
        heads,
        context,
        width,
        at,
        prep=H,
    )
# operators as PyTorch runs them, which the built-ins of these names describe
for _ in range(14):
    add(
        "argmax",
        {
            "rows": R.choice([1, 2, 4, 7, 16, 50, 128, 600, 2048]),
            "cols": R.choice([1000, 32000, 50257, 100_277, 128_256, 151_936]),
            "dtype": R.choice(["fp16", "bf16", "fp32"]),
        },
        by="torch",
    )
for name in ("softmax", "layernorm"):
    for _ in range(22):
        c = R.choice(
            [
                64,
                200,
                512,
                768,
                1000,
                1024,
                1600,
                2048,
                2560,
                3000,
                4096,
                5120,
                8192,
                11008,
                16384,
                32000,
            ]
        )
        add(
            name,
            {
                "rows": log_int(8, min(60_000, 200_000_000 // c)),
                "cols": c,
                "dtype": R.choice(["fp16", "bf16", "fp32"]),
            },
            by="torch",
        )
for _ in range(10):
    heads, group = R.choice([8, 16, 32]), R.choice([1, 4])
    add(
        "prefill-attention",
        {
            "batch": R.choice([1, 1, 2]),
            "heads": heads,
            "kv_heads": heads // group,
            "tokens": R.choice([200, 512, 1000, 2048, 3000, 4096, 6000]),
            "width": R.choice([64, 128]),
            "causal": R.choice(["false", "true"]),
        },
        mapping="tiled",
        by="torch",
    )
for _ in range(10):
    add(
        "decode-attention",
        {
            "batch": R.choice([1, 2, 4, 16]),
            "heads": (h := R.choice([8, 16, 32])),
            "kv_heads": h,
            "context": log_int(300, 30_000),
            "width": R.choice([64, 128]),
        },
        mapping="flash",
        by="torch",
    )
for _ in range(10):
    add(
        "ffn-gemv",
        {
            "rows": log_int(500, 40_000),
            "columns": R.choice([1024, 2048, 4096, 5120, 11008, 14336]),
            "dtype": "fp32",
        },
        mapping="rows",
        by="torch",
    )
for _ in range(8):
    how = R.choice(["copy", "index_copy"])
    add(
        "kv-append",
        {
            "batch": R.choice([1, 2, 8, 32]),
            "kv_heads": R.choice([8, 16, 32]),
            "context": (c := R.choice([512, 2048, 5000])),
            "width": R.choice([64, 128]),
            "at": R.randrange(c),
            "how": how,
        },
        by="torch",
    )

with open(OUT, "w", newline="") as f:
    w = csv.DictWriter(f, [k for k in rows[0] if k != "text"], extrasaction="ignore")
    w.writeheader()
    w.writerows(rows)
