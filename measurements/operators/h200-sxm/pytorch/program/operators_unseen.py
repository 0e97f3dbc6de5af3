"""Times operators at sizes that no choice was made on, as operators.py does: all for validation.

python3 operators_unseen.py OUT
"""

import sys
from functools import partial

from operator_runs import (
    Points,
    argmax,
    decode,
    gemv_own,
    kv_append,
    layernorm,
    linear,
    prefill,
    softmax,
)
from operator_times import measure

BOTH = ("fp16", "fp32")

# Rows and columns.
SOFTMAX = (
    *((1000, 1536), (3000, 640), (20000, 6144), (300, 50256), (5000, 3000), (17, 12288)),
    (40000, 384),
)
LAYERNORM = ((777, 1280), (5000, 1600), (12000, 6656), (100, 5120), (3, 3072), (40000, 640))
ARGMAX = ((2, 32000), (8, 151936), (32, 102400), (128, 65536), (600, 30522), (1, 250000))
GEMV = (
    *((2560, 2560), (10240, 2560), (2560, 10240), (5120, 13824), (13824, 5120), (18944, 3584)),
    *((3584, 18944), (27648, 5120), (152064, 3584), (7168, 7168), (1536, 1536)),
)
# Batch, heads, heads of keys, context, width of a head.
DECODE = (
    *((1, 40, 40, 3000, 128), (4, 32, 32, 3000, 128), (2, 28, 4, 6000, 128)),
    *((1, 32, 8, 10000, 128), (12, 16, 16, 1500, 64), (1, 16, 16, 20000, 128), (3, 8, 8, 700, 64)),
)
# Batch, heads, tokens, width of a head.
PREFILL = (
    *((1, 40, 3000, 128), (2, 16, 1500, 64), (1, 24, 700, 128), (6, 32, 1000, 128)),
    (3, 8, 5000, 64),
)
# Batch, heads, context, width of a head.
APPEND = ((3, 40, 3000, 128), (50, 8, 3000, 128), (200, 16, 500, 64))


def points() -> Points:
    """Return all points, in order."""
    found = Points(lambda name: "validation")
    for operator, make, sizes in (
        ("softmax", softmax, SOFTMAX),
        ("layernorm", layernorm, LAYERNORM),
        ("argmax", argmax, ARGMAX),
    ):
        for rows, columns in sizes:
            for dtype in BOTH:
                found.add(operator, "torch", make, dtype=dtype, rows=rows, columns=columns)
    for rows, columns in GEMV:
        for dtype in ("fp16", "bf16", "fp32"):
            found.add("ffn-gemv", "torch", linear, dtype=dtype, rows=rows, columns=columns)
        found.add("ffn-gemv", "own", gemv_own, dtype="fp16", rows=rows, columns=columns)
    for b, h, g, s, d in DECODE:
        shape = {
            "dtype": "fp16",
            **{"batch": b, "heads": h, "kv_heads": g, "context": s, "width": d},
        }
        found.add("decode-attention", "flash", partial(decode, "flash"), **shape)
        for part in (128, 256):
            found.add("decode-attention", "own", partial(decode, "own"), **shape, part=part)
    for b, h, s, d in PREFILL:
        shape = {"dtype": "fp16", "batch": b, "heads": h, "tokens": s, "width": d}
        for causal in (0, 1):
            make = partial(prefill, "flash")
            found.add("prefill-attention", "flash", make, **shape, causal=causal)
        if b * h * s * s < 1 << 29:
            make = partial(prefill, "matmul")
            found.add("prefill-attention", "matmul", make, **shape, causal=0)
    for h, s in ((6, 600), (3, 1200), (12, 300)):
        shape = {"dtype": "fp16", "batch": 1, "heads": h, "tokens": s, "width": 128, "causal": 0}
        found.add("prefill-attention", "own-naive", partial(prefill, "own-naive"), **shape)
    for b, h, s, d in APPEND:
        shape = {"dtype": "fp16", "batch": b, "kv_heads": h, "context": s, "width": d}
        for impl in ("index_copy", "copy", "own"):
            found.add("kv-append", impl, partial(kv_append, impl), **shape)
    return found


if __name__ == "__main__":
    measure(points(), sys.argv[1])
