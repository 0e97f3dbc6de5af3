# ruff: noqa: D103, N812
"""PyTorch's softmax and layer normalisation, in whole rounds of blocks.

Usage: python rounds.py times FILE | python rounds.py counts
"""

import csv
import json
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
TRACE = "/tmp/rounds-trace.json"
COLD = 5
COLUMNS = ["operator", "dtype", "rows", "columns", "batch", "heads", "tokens", "context", "width"]
COLUMNS += ["causal", "counted"]


def points():
    found = []

    def add(operator, dtype, rows, columns, counted=0):
        found.append(
            {
                "operator": operator,
                "dtype": dtype,
                "counted": counted,
                "rows": rows,
                "columns": columns,
            }
        )

    for columns in (10240, 16384, 24576, 32000):
        for rows in (132, 264, 528, 1056, 2112, 4224):
            for dtype in ("bf16", "fp32"):
                counted = columns in (16384, 32000) and rows == 2112
                add("softmax", dtype, rows, columns, int(counted))
    for columns in (1024, 2048, 3072, 4096, 8192):
        for rows in (264, 528, 1056, 4224, 16896):
            for dtype in ("fp16", "fp32"):
                counted = columns in (1024, 8192) and rows == 16896
                add("softmax", dtype, rows, columns, int(counted))
    for columns in (512, 1024, 4096, 8192):
        for rows in (33, 132, 528, 2112, 8448, 21120):
            for dtype in ("fp16", "fp32"):
                counted = columns == 4096 and rows == 21120
                add("layernorm", dtype, rows, columns, int(counted))
    return found


def make(p):
    t = TYPES[p["dtype"]]

    def r(*s):
        return torch.randn(*s, device="cuda", dtype=t)

    if p["operator"] in ("prefill", "decode"):
        shape = (p["batch"], p["heads"])
        q = r(*shape, p.get("tokens", 1), p["width"])
        k, v = (r(*shape, p.get("context", p.get("tokens")), p["width"]) for _ in range(2))

        def run():
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=bool(p.get("causal", 0)))

        return run
    x = r(p["rows"], p["columns"])
    if p["operator"] == "softmax":
        return lambda: torch.softmax(x, 1)
    if p["operator"] == "argmax":
        return lambda: torch.argmax(x, 1)
    g = r(p["columns"])
    if p["operator"] == "mv":
        return lambda: torch.mv(x, g)
    b = r(p["columns"])
    return lambda: F.layer_norm(x, (p["columns"],), g, b)


def mark():
    torch.arange(77, device="cuda")


def times(path):
    flush = torch.randint(0, 9, (1 << 26,), dtype=torch.int32, device="cuda")
    every = points()
    flush.max()
    mark()
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for p in every:
            run = make(p)
            run()
            mark()
            for _ in range(9):
                run()
            for _ in range(COLD):
                mark()
                flush.max()
                mark()
                run()
            mark()  # what the next point prepares
            torch.cuda.synchronize()
    prof.export_chrome_trace(TRACE)
    with open(TRACE) as trace:
        events = [e for e in json.load(trace)["traceEvents"] if e.get("cat") == "kernel"]
    groups = []
    for e in sorted(events, key=lambda e: e["ts"]):
        if "arange" in e["name"]:
            groups.append([])
        elif groups:
            groups[-1].append(e)
    each = 2 + 2 * COLD
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                *COLUMNS,
                "timing",
                "cache",
                "repeats",
                "time_us",
                "grid",
                "registers",
                "shared_bytes",
                "library_kernel",
            ]
        )
        for n, p in enumerate(every):
            mine = groups[n * each : (n + 1) * each]
            for cache, part in (
                ("warm", mine[0]),
                ("cold", [e for one in mine[2:-1:2] for e in one]),
            ):
                by = {}
                for e in part:
                    by.setdefault(e["name"], []).append(e)
                for name, found in by.items():
                    es = found[-7:] if cache == "warm" else found
                    a = es[0]["args"]
                    out.writerow(
                        [
                            *(p.get(c, "") for c in COLUMNS),
                            "profiler",
                            cache,
                            len(es),
                            f"{statistics.median(e['dur'] for e in es):.3f}",
                            "x".join(map(str, a["grid"])),
                            a.get("registers per thread"),
                            a.get("shared memory"),
                            name[:90].replace(",", ";"),
                        ]
                    )


def counts():
    for p in points():
        if p["counted"]:
            run = make(p)
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            print(p, flush=True)


if __name__ == "__main__":
    torch.manual_seed(3)
    times(sys.argv[2]) if sys.argv[1] == "times" else counts()
