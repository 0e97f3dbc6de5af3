"""The kernels of the Triton and Numba samples in this folder."""

import triton
import triton.language as tl
from numba import cuda, float32


@triton.jit
def hist(x, bins, n, B: tl.constexpr):  # B = 1024
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(bins + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def flash(q, k, v, o, n, scale, D: tl.constexpr, B: tl.constexpr):  # D = 64, B = 128, 8 warps
    r = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    j = tl.arange(0, B)
    base = tl.program_id(1) * n * D
    Q = tl.load(q + base + r[:, None] * D + d[None, :])
    m = tl.full((B,), -1e30, tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for s in range(0, n, B):
        K = tl.load(k + base + (s + j)[None, :] * D + d[:, None])
        S = tl.dot(Q, K) * scale
        mn = tl.maximum(m, tl.max(S, 1))
        p = tl.exp(S - mn[:, None])
        f = tl.exp(m - mn)
        total = total * f + tl.sum(p, 1)
        acc = acc * f[:, None]
        V = tl.load(v + base + (s + j)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), V, acc)
        m = mn
    tl.store(o + base + r[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


def tiled(a, b, c):  # cuda.compile_ptx(tiled, (float32[:, :],) * 3, cc=(9, 0))
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = float32(0.0)
    for i in range(c.shape[0] // 16):
        sa[tx, ty] = a[x, ty + i * 16]
        sb[tx, ty] = b[tx + i * 16, y]
        cuda.syncthreads()
        for j in range(16):
            t += sa[tx, j] * sb[j, ty]
        cuda.syncthreads()
    c[x, y] = t
