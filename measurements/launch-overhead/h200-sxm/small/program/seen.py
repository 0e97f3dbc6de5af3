# ruff: noqa: D103, E501, E731, N812
"""Runs operators and products once each between profiler start and stop: seen.py big|products|few."""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

which = sys.argv[1]
T = {"fp16": torch.float16, "fp32": torch.float32, "bf16": torch.bfloat16}
r = lambda *s, d="fp16": torch.randn(*s, dtype=T[d], device="cuda")


def softmax(n, c, d):
    x = r(n, c, d=d)
    return lambda: F.softmax(x, -1)


def layernorm(n, c, d):
    x, w, b = r(n, c, d=d), r(c, d=d), r(c, d=d)
    return lambda: F.layer_norm(x, (c,), w, b)


def argmax(n, c, d):
    x = r(n, c, d=d)
    return lambda: torch.argmax(x, -1)


def flash(b, h, t, s, w, causal=False):
    q, k, v = r(b, h, t, w), r(b, h, s, w), r(b, h, s, w)

    def run():
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


def append(b, h, c, w, how):
    new, cache = r(b, h, 1, w), r(b, h, c, w)
    at = c // 2
    i = torch.tensor([at], device="cuda")
    return (
        (lambda: cache[:, :, at : at + 1].copy_(new))
        if how == "copy"
        else (lambda: cache.index_copy_(2, i, new))
    )


def mm(m, n, k, d):
    if d == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
        a, b = r(m, k, d="fp32"), r(n, k, d="fp32")
    else:
        a, b = r(m, k, d=d), r(n, k, d=d)
    return lambda: F.linear(a, b)


big = [
    ("softmax", softmax, (65536, 512, "fp16")),
    ("softmax", softmax, (32768, 1024, "fp16")),
    ("softmax", softmax, (131072, 128, "fp16")),
    ("softmax", softmax, (4096, 4096, "fp16")),
    ("softmax", softmax, (8192, 32768, "fp16")),
    ("softmax", softmax, (65536, 512, "fp32")),
    ("softmax", softmax, (512, 8192, "fp32")),
    ("softmax", softmax, (16, 8192, "fp16")),
    ("softmax", softmax, (128, 1024, "fp16")),
    ("layernorm", layernorm, (8192, 512, "fp32")),
    ("layernorm", layernorm, (16384, 2048, "fp16")),
    ("layernorm", layernorm, (2048, 4096, "fp16")),
    ("layernorm", layernorm, (1024, 2048, "fp32")),
    ("layernorm", layernorm, (1, 4096, "fp16")),
    ("argmax", argmax, (256, 128256, "fp16")),
    ("argmax", argmax, (64, 32000, "fp32")),
    ("prefill", flash, (1, 12, 4096, 4096, 64)),
    ("prefill", flash, (1, 32, 2048, 2048, 128, True)),
    ("prefill", flash, (1, 32, 4096, 4096, 128)),
    ("prefill", flash, (4, 32, 512, 512, 128, True)),
    ("decode", flash, (1, 32, 1, 32768, 128)),
    ("decode", flash, (1, 12, 1, 4096, 64)),
    ("decode", flash, (8, 32, 1, 512, 128)),
    ("append", append, (1, 32, 4096, 128, "copy")),
    ("append", append, (1, 32, 4096, 128, "index_copy")),
    ("append", append, (128, 32, 1024, 128, "copy")),
]
products = [
    ("mm", mm, (3, 4096, 4096, "bf16")),
    ("mm", mm, (16, 4096, 4096, "bf16")),
    ("mm", mm, (96, 4096, 4096, "bf16")),
    ("mm", mm, (192, 4096, 4096, "bf16")),
    ("mm", mm, (320, 1136, 5760, "tf32")),
    ("mm", mm, (400, 4704, 2896, "tf32")),
    ("mm", mm, (272, 3568, 12592, "tf32")),
    ("mm", mm, (2048, 2048, 2048, "tf32")),
    ("mm", mm, (1104, 1040, 928, "tf32")),
    ("mm", mm, (4095, 4095, 4095, "bf16")),
    ("mm", mm, (1094, 8468, 4614, "bf16")),
    ("mm", mm, (269, 12328, 4443, "bf16")),
    ("mm", mm, (3784, 11276, 2592, "bf16")),
    ("mm", mm, (1754, 3122, 2123, "bf16")),
    ("mm", mm, (1500, 1500, 1500, "bf16")),
]
few = [
    p
    for p in big
    if p[2]
    in (
        (128, 1024, "fp16"),
        (1, 4096, "fp16"),
        (16, 8192, "fp16"),
        (64, 32000, "fp32"),
        (1, 32, 4096, 128, "copy"),
        (1, 32, 4096, 128, "index_copy"),
        (1, 12, 1, 4096, 64),
        (1, 12, 4096, 4096, 64),
        (1, 32, 4096, 4096, 128),
    )
]
for name, make, p in {"big": big, "products": products, "few": few}[which]:
    try:
        run = make(*p)
        run()
        run()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        torch.cuda.nvtx.range_push(f"{name} {p}")
        run()
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print("COUNTED", name, p, flush=True)
    except Exception as error:
        print("FAILED", name, p, repr(error)[:200], flush=True)
    torch.cuda.empty_cache()
