"""Times the operators of a language model, one launch sequence a point, into CSV files under OUT.

python3 operators.py OUT [count]: with `count` the chosen points run once each, for a profiler.
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
    split_by_name,
)
from operator_times import measure

BOTH = ("fp16", "fp32")

# Columns: rows; and (columns, rows) that are counted too.
SOFTMAX = {
    64: (32768, 262144),
    128: (64, 4096, 131072),
    256: (8, 1024, 32768),
    512: (64, 4096, 65536),
    768: (512, 16384),
    1024: (1, 128, 2048, 32768),
    2048: (64, 1024, 16384),
    4096: (1, 32, 256, 4096, 32768),
    8192: (16, 512, 8192),
    16384: (132, 2048),
    32768: (8, 64, 1024, 8192),
    131072: (1, 16, 256),
    32000: (1, 32),
}
SOFTMAX_COUNTED = (
    *((4096, 4096), (1024, 2048), (1024, 1024), (32768, 64), (16384, 132), (32768, 1024)),
    (512, 4096),
)
LAYERNORM = {
    128: (64, 4096, 131072),
    256: (1024,),
    512: (64, 8192, 131072),
    768: (1, 512, 16384),
    1024: (128, 2048, 32768),
    2048: (64, 1024, 16384),
    4096: (1, 32, 256, 2048, 4096, 32768),
    5120: (1, 512, 8192),
    8192: (1, 64, 1024, 8192),
    16384: (132, 2048),
}
LAYERNORM_COUNTED = ((4096, 4096), (1024, 2048), (512, 8192), (8192, 1024), (4096, 1))
ARGMAX_COUNTED = ((32000, 1), (32000, 256), (128256, 16))
# Rows and columns.
GEMV = (
    *((512, 512), (1024, 1024), (2048, 2048), (4096, 1024), (1024, 4096), (4096, 4096)),
    *((11008, 4096), (4096, 11008), (16384, 4096), (4096, 16384), (8192, 8192), (28672, 8192)),
    *((8192, 28672), (32000, 4096), (14336, 4096), (3072, 768), (6144, 6144), (12288, 4096)),
    (16384, 16384),
)
GEMV_COUNTED = ((4096, 4096), (11008, 4096), (4096, 11008), (1024, 1024), (16384, 16384))
# Batch, heads, heads of keys, context, width of a head.
DECODE = (
    *((1, 32, 32, s, 128) for s in (128, 512, 1024, 2048, 4096, 8192, 32768, 131072)),
    *((8, 32, 32, 512, 128), (8, 32, 32, 4096, 128), (32, 32, 32, 1024, 128)),
    *((32, 32, 32, 4096, 128), (1, 32, 8, 4096, 128), (1, 32, 8, 16384, 128)),
    *((16, 32, 8, 4096, 128), (64, 32, 8, 2048, 128), (1, 8, 8, 1024, 64), (1, 12, 12, 4096, 64)),
    *((16, 12, 12, 2048, 64), (64, 16, 16, 4096, 64), (1, 8, 8, 16384, 128)),
)
DECODE_COUNTED = (
    *((1, 32, 32, 4096, 128), (1, 32, 32, 512, 128), (8, 32, 32, 4096, 128)),
    (1, 32, 8, 16384, 128),
)
# Batch, heads, tokens, width of a head.
PREFILL = (
    *((1, 32, s, 128) for s in (128, 256, 512, 1024, 2048, 4096, 8192)),
    *((4, 32, 512, 128), (4, 32, 2048, 128), (1, 8, 1024, 64), (1, 12, 4096, 64)),
    *((8, 12, 1024, 64), (16, 16, 2048, 64), (1, 8, 4096, 128)),
)
PREFILL_COUNTED = ((1, 32, 2048, 128, 0), (1, 32, 512, 128, 0), (1, 32, 2048, 128, 1))
# Heads, tokens.
NAIVE = (
    *((8, 128), (8, 256), (8, 512), (8, 1024), (32, 256), (32, 512), (2, 1024), (2, 2048)),
    *((1, 512), (4, 768)),
)
# Batch, heads, context, width of a head.
APPEND = (
    *((1, 8, 4096, 64), (1, 32, 4096, 128), (1, 32, 65536, 128), (1, 8, 8192, 128)),
    *((8, 32, 4096, 128), (32, 32, 2048, 128), (64, 8, 4096, 128), (128, 32, 1024, 128)),
    *((256, 8, 4096, 128), (16, 12, 4096, 64)),
)


def points() -> Points:
    """Return all points, in order."""
    found = Points(split_by_name)
    row_wise(found)
    products(found)
    attention(found)
    return found


def row_wise(found: Points) -> None:
    """Add softmax, layer normalisation and argmax."""
    for operator, make, sizes, counted in (
        ("softmax", softmax, SOFTMAX, SOFTMAX_COUNTED),
        ("layernorm", layernorm, LAYERNORM, LAYERNORM_COUNTED),
        (
            *("argmax", argmax),
            dict.fromkeys((4096, 32000, 50304, 128256), (1, 4, 16, 64, 256, 1024)),
            ARGMAX_COUNTED,
        ),
    ):
        for columns, some in sizes.items():
            for rows in some:
                if operator == "softmax" and rows * columns > 1 << 28:
                    continue
                wanted = (columns, rows) in counted
                for dtype in BOTH:
                    shape = {"dtype": dtype, "rows": rows, "columns": columns}
                    found.add(operator, "torch", make, wanted, **shape)


def products(found: Points) -> None:
    """Add products of a matrix and a vector."""
    for rows, columns in GEMV:
        wanted = (rows, columns) in GEMV_COUNTED
        shape = {"rows": rows, "columns": columns}
        for dtype in ("fp16", "bf16", "fp32"):
            found.add("ffn-gemv", "torch", linear, wanted, dtype=dtype, **shape)
        found.add("ffn-gemv", "own", gemv_own, wanted, dtype="fp16", **shape)


def attention(found: Points) -> None:
    """Add attention of a token, of a prompt, and keys and values that join the cache."""
    for b, h, g, s, d in DECODE:
        wanted = (b, h, g, s, d) in DECODE_COUNTED
        shape = {
            "dtype": "fp16",
            **{"batch": b, "heads": h, "kv_heads": g, "context": s, "width": d},
        }
        for impl in ("flash", "efficient", "cudnn"):
            if (impl == "efficient" and h != g) or (
                impl == "cudnn" and (b > 1 or h != g or d != 128)
            ):
                continue
            make = partial(decode, impl)
            found.add("decode-attention", impl, make, wanted and impl == "flash", **shape)
        for blocks in (2, 8):  # blocks an SM, about
            step = 32 if d == 128 else 64
            part = max(step, -(-(s * b * h) // (132 * blocks) // step) * step)
            make = partial(decode, "own")
            found.add("decode-attention", "own", make, wanted and blocks == 8, **shape, part=part)
    for b, h, s, d in PREFILL:
        shape = {"dtype": "fp16", "batch": b, "heads": h, "tokens": s, "width": d}
        for causal in (0, 1):
            wanted = (b, h, s, d, causal) in PREFILL_COUNTED
            for impl in ("flash", "cudnn", "matmul"):
                if impl == "matmul" and (causal or b * h * s * s > 1 << 30):
                    continue
                if impl == "cudnn" and (causal or d != 128):
                    continue
                make = partial(prefill, impl)
                counted = wanted and impl != "cudnn"
                found.add("prefill-attention", impl, make, counted, **shape, causal=causal)
    for h, s in NAIVE:
        shape = {"dtype": "fp16", "batch": 1, "heads": h, "tokens": s, "width": 128, "causal": 0}
        counted = (h, s) in ((8, 512), (32, 512))
        found.add("prefill-attention", "own-naive", partial(prefill, "own-naive"), counted, **shape)
    for b, h, s, d in APPEND:
        shape = {"dtype": "fp16", "batch": b, "kv_heads": h, "context": s, "width": d}
        counted = (b, h, s) in ((1, 32, 4096), (128, 32, 1024))
        for impl in ("index_copy", "copy", "own"):
            found.add("kv-append", impl, partial(kv_append, impl), counted, **shape)


if __name__ == "__main__":
    measure(points(), sys.argv[1], count=len(sys.argv) > 2)
