"""What each kernel should have written: formulas of CuPy, in double where it matters.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp
import numpy as np

F, N, U, D = cp.float32, cp.int32, cp.uint32, cp.float64


def wide(x):
    return x.astype(D)


def reduce_tree(a):
    x = cp.zeros(a["out"].nbytes // 4 * 512)
    x[: a["n"]] = wide(a["in"][: a["n"]])
    return a["out"].view(F), x.reshape(-1, 512).sum(axis=1)


def scan_doubling(a):
    return a["out"].view(F), wide(a["in"]).reshape(-1, 1024).cumsum(axis=1)


def scan_blelloch(a):
    x = a["in"].reshape(-1, 512)
    return a["out"].view(N), x.cumsum(axis=1) - x


def bitonic_block(a):
    return a["out"].view(U), cp.sort(a["in"].reshape(-1, 1024), axis=1)


def cholesky_block(a):
    x = wide(a["in"]).reshape(-1, 16, 16)
    low = cp.tril(x) + 20 * cp.eye(16)
    whole = low + cp.tril(low, -1).transpose(0, 2, 1)
    return a["out"].view(F), cp.asarray(np.linalg.cholesky(cp.asnumpy(whole)))


def fft_block(a):
    x = a["in"].view(cp.complex64).astype(cp.complex128).reshape(-1, 512)
    return a["out"].view(F), cp.fft.fft(x, axis=1).astype(cp.complex64).view(F)


def compact_block(a):
    kept = a["in"][: a["n"]]
    kept = kept[kept < a["limit"]]
    count = int(a["count"].view(N)[0])
    return cp.sort(a["out"].view(N)[:count]), cp.sort(kept)


def radix_counts(a):
    digits = (a["keys"][: a["n"]] >> a["shift"] & 255).reshape(-1, 4096).astype(N)
    blocks = cp.arange(len(digits), dtype=N)[:, None]
    flat = cp.bincount((digits * len(digits) + blocks).ravel(), minlength=256 * len(digits))
    return a["counts"].view(U), flat


def tiles_of_product(a):
    m, n, k = a["m"], a["n"], a["k"]
    x, y = wide(a["a"])[: m * k].reshape(m, k), wide(a["b"])[: k * n].reshape(k, n)
    return a["c"].view(F), x @ y


def lines_in_step(a):
    x = a["in"][: a["lines"] * a["stride"]].reshape(-1, 256)
    line = x[:, cp.arange(256) ^ 33].sum(axis=0)
    return a["out"].view(N).reshape(-1, 256), cp.tile(line, (a["out"].nbytes // 1024, 1))


def tree_in_rounds(a):
    return a["out"].view(F), wide(a["in"]).reshape(-1, a["block"]).sum(axis=1)


def row_sums(a):
    return a["out"].view(F), wide(a["in"]).reshape(-1, a["columns"]).sum(axis=1)


def stencil_halo(a):
    p = wide(a["in"]).reshape(a["height"], a["width"])
    out = a["out"].view(F).reshape(p.shape)[1:-1, 1:-1]
    i = p[1:-1, 1:-1]
    return out, 0.2 * (i + p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1])


def sparse_rows(a):
    starts = a["starts"]
    last = int(starts[-1])
    terms = wide(a["values"][:last]) * wide(a["x"])[a["columns"][:last]]
    sums = cp.concatenate([cp.zeros(1), cp.cumsum(terms)])
    return a["out"].view(F), sums[starts[1:]] - sums[starts[:-1]]


def walk_list(a):
    at = cp.arange(a["n"])
    total = cp.zeros(a["n"])
    for _ in range(a["steps"]):
        total += wide(a["weight"])[at]
        at = a["next"][at]
    return a["out"].view(F), total


def thomas_columns(a):
    shape = (a["size"], a["systems"])
    low, middle, high, right = (
        wide(a[name]).reshape(shape) for name in ("below", "diagonal", "above", "right")
    )
    c, d = cp.zeros(shape), cp.zeros(shape)
    for k in range(shape[0]):
        before = (c[k - 1], d[k - 1]) if k else (0.0, 0.0)
        m = 1 / (4 + middle[k] - low[k] * before[0])
        c[k], d[k] = high[k] * m, (right[k] - low[k] * before[1]) * m
    for k in range(shape[0] - 2, -1, -1):
        d[k] -= c[k] * d[k + 1]
    return a["out"].view(F), d


def compare_strings(a):
    return a["out"].view(N), cp.full(a["n"], a["length"])


def tree_descend(a):
    nodes, q = a["nodes"].reshape(-1, 2)[:, 0], a["queries"]
    at = cp.ones(len(q), dtype=N)
    for _ in range(a["depth"]):
        at = 2 * at + (nodes[at] < q)
    return a["out"].view(N), at


def small_products(a):
    x, y = (wide(a[name]).reshape(-1, 8, 8) for name in "ab")
    return a["c"].view(F), x @ y


def norm_rows(a):
    x = wide(a["in"]).reshape(-1, a["columns"])
    return a["out"].view(F), x / cp.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * a["gain"]


EXPECTED = {
    **{
        f.__name__: f
        for f in (
            *(reduce_tree, scan_doubling, scan_blelloch, bitonic_block, cholesky_block, fft_block),
            *(compact_block, radix_counts, tiles_of_product, lines_in_step, tree_in_rounds),
            *(row_sums, stencil_halo, walk_list, thomas_columns, compare_strings, tree_descend),
            *(small_products, norm_rows),
        )
    },
    **{"csr_scalar": sparse_rows, "csr_vector": sparse_rows, "gemm_guarded": tiles_of_product},
    "gemm_tiles": tiles_of_product,
}
LOOSE = {}
