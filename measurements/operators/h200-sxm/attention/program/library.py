# ruff: noqa
"""PyTorch's attention of prompts and matrix-vector products: kernels, grids and times under CUPTI, warm and cold."""

import json
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

out = open(sys.argv[1] + "/flash.csv", "w")
flush = torch.ones(1 << 26, dtype=torch.int32, device="cuda")
t = torch.float16
plan = []
for heads, width, causal in (
    (8, 64, False),
    (8, 128, False),
    (8, 128, True),
    (32, 128, False),
    (32, 128, True),
    (16, 64, False),
):
    for tokens in (200, 512, 1024, 2048, 3072, 4096, 6000):
        if heads * tokens > 32 * 3072:
            continue
        plan.append(("prefill", heads, width, causal, tokens))
for rows, columns in (
    (3200, 4096),
    (4224, 4096),
    (8448, 4096),
    (14983, 4096),
    (16896, 4096),
    (25344, 4096),
    (3654, 14336),
    (8448, 14336),
    (3200, 8192),
    (8448, 8192),
    (8448, 1024),
    (8448, 2048),
    (12672, 2048),
):
    plan.append(("mv", rows, columns, 0, 0))
runs = []
for kind, a, b, c, d in plan:
    if kind == "prefill":
        q, k, v = (torch.randn(1, a, d, b, device="cuda", dtype=t) for _ in range(3))

        def run(q=q, k=k, v=v, c=c):
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=c)
    else:
        w, x = torch.randn(a, b, device="cuda"), torch.randn(b, device="cuda")

        def run(w=w, x=x):
            return torch.mv(w, x)

    runs.append(run)
torch.cuda.synchronize()
R = 5
for cold in (0, 1):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for p, run in zip(plan, runs):
            torch.arange(77, device="cuda")  # marks the next point
            run()
            run()
            for _ in range(R):
                if cold:
                    flush.max()
                run()
        torch.cuda.synchronize()
    prof.export_chrome_trace(sys.argv[1] + "/trace.json")
    es = sorted(
        (
            e
            for e in json.load(open(sys.argv[1] + "/trace.json"))["traceEvents"]
            if e.get("cat") == "kernel"
        ),
        key=lambda e: e["ts"],
    )
    at = -1
    groups = []
    for e in es:
        if "arange" in e["name"]:
            groups.append([])
        elif groups and "reduce" not in e["name"].split("<")[0] or "gemv" in e["name"]:
            groups[-1].append(e)
    for p, g in zip(plan, groups):
        per = {}
        for e in g:
            per.setdefault(
                (
                    e["name"][:110].replace(",", ";"),
                    "x".join(map(str, e["args"]["grid"])),
                    e["args"].get("registers per thread"),
                    e["args"].get("shared memory"),
                ),
                [],
            ).append(e["dur"])
        for key, d in per.items():
            print(
                *p,
                "cold" if cold else "warm",
                len(d),
                statistics.median(d[-R:]),
                *key,
                sep=",",
                file=out,
                flush=True,
            )
