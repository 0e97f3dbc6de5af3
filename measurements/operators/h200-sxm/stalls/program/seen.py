# ruff: noqa: D103, E501, E731, N812
"""Runs operators on rows, decode attention and products once each between profiler start and stop."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

T = {"fp16": torch.float16, "fp32": torch.float32, "bf16": torch.bfloat16}
r = lambda *s, d="fp16": torch.randn(*s, dtype=T[d], device="cuda")


def softmax(n, c, d):
    x = r(n, c, d=d)
    return lambda: F.softmax(x, -1)


def layernorm(n, c, d):
    x, w, b = r(n, c, d=d), r(c, d=d), r(c, d=d)
    return lambda: F.layer_norm(x, (c,), w, b)


def layernorm_bare(n, c, d):
    x = r(n, c, d=d)
    return lambda: F.layer_norm(x, (c,))


def mm(m, n, k, d):
    if d == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
        a, b = r(m, k, d="fp32"), r(n, k, d="fp32")
    else:
        torch.backends.cuda.matmul.allow_tf32 = False
        a, b = r(m, k, d=d), r(n, k, d=d)
    return lambda: F.linear(a, b)


def flash(b, h, hk, t, s, w):
    q, k, v = r(b, h, t, w), r(b, hk, s, w), r(b, hk, s, w)

    def run():
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            return F.scaled_dot_product_attention(q, k, v, enable_gqa=h != hk)

    return run


def argmax(n, c, d):
    x = r(n, c, d=d)
    return lambda: torch.argmax(x, -1)


launches = [
    (softmax, (16384, 2048, "fp16")),
    (softmax, (16384, 2048, "fp32")),
    (softmax, (2048, 1024, "fp16")),
    (softmax, (64, 2048, "fp16")),
    (softmax, (1, 1024, "fp32")),
    (softmax, (20000, 6144, "fp16")),
    (softmax, (2048, 16384, "fp32")),
    (layernorm, (16384, 2048, "fp32")),
    (layernorm, (5000, 1600, "fp32")),
    (layernorm, (32768, 1024, "fp32")),
    (layernorm, (4096, 4096, "fp32")),
    (layernorm, (131072, 512, "fp32")),
    (layernorm, (131072, 128, "fp16")),
    (layernorm, (512, 5120, "fp32")),
    (layernorm_bare, (16384, 2048, "fp32")),
    (mm, (1, 2048, 2048, "fp32")),
    (mm, (1, 4096, 4096, "fp32")),
    (flash, (12, 16, 16, 1, 1500, 64)),
    (flash, (1, 32, 8, 1, 10000, 128)),
    (mm, (51, 6309, 3696, "bf16")),
    (mm, (20, 14416, 9803, "bf16")),
]
for f, p in launches:
    try:
        run = f(*p)
        run()
        run()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        run()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print("COUNTED", f.__name__, p, flush=True)
    except Exception as e:
        print("FAILED", f.__name__, p, repr(e)[:200], flush=True)
