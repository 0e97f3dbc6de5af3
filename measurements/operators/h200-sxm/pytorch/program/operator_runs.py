# ruff: noqa: D103, N812
"""Operators of a language model: each function returns what to run, and what says if it is right.

Needs operators.cu as /tmp/libops.so (operators.sh builds it).
"""

import ctypes
import hashlib
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

LIB = ctypes.CDLL("/tmp/libops.so")
P = ctypes.c_void_p
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


def split_by_name(name: str) -> str:
    """Say whether a point is for fitting, by its text: before any time is seen."""
    return "validation" if hashlib.sha256(name.encode()).digest()[0] & 1 else "fit"


class Points(list):
    """Points to measure, in order."""

    def __init__(self, use: Callable[[str], str]) -> None:
        super().__init__()
        self.use = use

    def add(self, operator: str, impl: str, make: Callable, counted: bool = False, **p) -> None:
        """Append a point: `make` called with `p` gives what to run, and its check."""
        name = f"{operator} {impl} " + " ".join(f"{k}={v}" for k, v in p.items())
        self.append(
            {
                "operator": operator,
                "impl": impl,
                "make": make,
                "p": p,
                "use": self.use(name),
                "counted": counted,
            }
        )


def ptr(t):
    return P(t.data_ptr())


def check(code):
    if code:
        raise RuntimeError(f"launch failed: {code}")


def rand(*shape, dtype="fp16"):
    return torch.randn(*shape, dtype=TYPES[dtype], device="cuda")


def softmax(dtype, rows, columns):
    x = rand(rows, columns, dtype=dtype)
    return lambda: F.softmax(x, -1), lambda y: (y.float().sum(-1) - 1).abs().max().item() < 0.02


def layernorm(dtype, rows, columns):
    x, w, b = (
        rand(rows, columns, dtype=dtype),
        rand(columns, dtype=dtype),
        rand(columns, dtype=dtype),
    )
    ref = F.layer_norm(x[:1].float(), (columns,), w.float(), b.float())
    return (
        lambda: F.layer_norm(x, (columns,), w, b),
        lambda y: (y[:1].float() - ref).abs().max().item() < 0.1,
    )


def argmax(dtype, rows, columns):
    x = rand(rows, columns, dtype=dtype)
    return lambda: torch.argmax(x, -1), lambda y: bool((x[0, y[0]] == x[0].max()).item())


def linear(dtype, rows, columns):
    w, x = rand(rows, columns, dtype=dtype), rand(1, columns, dtype=dtype)
    ref = x.double() @ w[:8].double().T
    return lambda: F.linear(x, w), lambda y: bool(
        (y[:, :8].double() - ref).abs().max() < 0.05 * columns**0.5
    )


def gemv_own(dtype, rows, columns):
    w, x = rand(rows, columns, dtype=dtype), rand(1, columns, dtype=dtype)
    y = torch.empty(1, rows, dtype=TYPES[dtype], device="cuda")
    ref = x.double() @ w[:8].double().T

    def run():
        check(LIB.launch_gemv(ptr(w), ptr(x), ptr(y), rows, columns))
        return y

    return run, lambda y: bool((y[:, :8].double() - ref).abs().max() < 0.05 * columns**0.5)


def qkv(dtype, batch, heads, kv_heads, tokens, context, width):
    return (
        rand(batch, heads, tokens, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
    )


def attention_check(q, k, v, causal=False):
    """Return a check of the first head and query, in double."""
    last = 1 if causal else k.shape[2]
    k0, v0 = k[0, 0, :last].double(), v[0, 0, :last].double()
    s = (q[0, 0, 0].double() @ k0.T) / q.shape[-1] ** 0.5
    ref = torch.softmax(s, -1) @ v0
    return lambda y: bool((y[0, 0, 0].double() - ref).abs().max() < 0.05)


def sdpa(impl, dtype, batch, heads, kv_heads, tokens, context, width, causal=0):
    q, k, v = qkv(dtype, batch, heads, kv_heads, tokens, context, width)

    def run():
        with sdpa_kernel([BACKENDS[impl]]):
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=bool(causal), enable_gqa=heads != kv_heads
            )

    return run, attention_check(q, k, v, bool(causal))


def prefill(impl, dtype, batch, heads, tokens, width, causal):
    if impl == "matmul":
        q, k, v = qkv(dtype, batch, heads, heads, tokens, tokens, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        return lambda: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, ok
    if impl == "own-naive":
        q, k, v = qkv(dtype, batch, heads, heads, tokens, tokens, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        s = torch.empty(batch * heads, tokens, tokens, device="cuda")
        out = torch.empty_like(q)

        def run():
            check(
                LIB.launch_prefill_naive(
                    ptr(q), ptr(k), ptr(v), ptr(s), ptr(out), batch * heads, tokens
                )
            )
            return out

        return run, ok
    return sdpa(impl, dtype, batch, heads, heads, tokens, tokens, width, causal)


def decode(impl, dtype, batch, heads, kv_heads, context, width, part=0):
    if impl == "own":
        q, k, v = qkv(dtype, batch, heads, kv_heads, 1, context, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        out = torch.empty_like(q)
        splits = -(-context // part)
        partial = torch.empty(batch * heads * splits * (width + 2), device="cuda")

        def run():
            check(
                LIB.launch_decode(
                    ptr(q),
                    ptr(k),
                    ptr(v),
                    ptr(partial),
                    ptr(out),
                    batch * heads,
                    heads // kv_heads,
                    context,
                    part,
                    width,
                )
            )
            return out

        return run, ok
    return sdpa(impl, dtype, batch, heads, kv_heads, 1, context, width)


def kv_append(impl, dtype, batch, kv_heads, context, width):
    new, cache = (
        rand(batch, kv_heads, 1, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
    )
    at = context // 2
    if impl == "index_copy":
        index = torch.tensor([at], device="cuda")
        run = lambda: cache.index_copy_(2, index, new)  # noqa: E731
    elif impl == "copy":
        run = lambda: cache[:, :, at : at + 1].copy_(new)  # noqa: E731
    else:
        new2, cache2 = rand(batch, kv_heads, 1, width, dtype=dtype), torch.empty_like(cache)

        def run():
            check(
                LIB.launch_kv_append(
                    ptr(new),
                    ptr(new2),
                    ptr(cache),
                    ptr(cache2),
                    batch * kv_heads,
                    context,
                    width,
                    at,
                )
            )

    return run, lambda _: bool((cache[:, :, at] == new[:, :, 0]).all())
