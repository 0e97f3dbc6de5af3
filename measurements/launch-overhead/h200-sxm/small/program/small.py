# ruff: noqa: D103, E501, E731, SIM115, B905
"""Times small launches by CUPTI: code met for the first time, parameters, rows on pages.

python3 small.py OUT [ncu]: with `ncu` some points run once each, for Nsight Compute around it. Needs
operators.cu and small.cu as /tmp/libops.so and /tmp/libsmall.so (launches.sh builds them).
"""

import csv
import ctypes
import hashlib
import json
import sys
from statistics import median

import torch

OUT = sys.argv[1]
NCU = len(sys.argv) > 2
REPEATS = 11
OPS = ctypes.CDLL("/tmp/libops.so")
LIB = ctypes.CDLL("/tmp/libsmall.so")
P = ctypes.c_void_p
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")
far = torch.randint(
    -(2**31), 2**31 - 1, (((528 << 24) + (1 << 24)) // 4,), dtype=torch.int32, device="cuda"
)
near = torch.randint(-(2**31), 2**31 - 1, (1 << 20,), dtype=torch.int32, device="cuda")
out = torch.empty(1 << 20, dtype=torch.float32, device="cuda")
ptr = lambda t: P(t.data_ptr())


def check(code):
    if code:
        raise RuntimeError(f"launch failed: {code}")


def flush():
    check(OPS.launch_flush(ptr(FLUSH), ctypes.c_int64(FLUSH.numel() * 4)))


points = []


def add(**p):
    name = " ".join(f"{k}={v}" for k, v in p.items())
    p["use"] = "validation" if hashlib.sha256(name.encode()).digest()[0] & 1 else "fit"
    points.append(p)


for n in (64, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192):
    for how in ("straight", "looped"):
        for blocks, threads in (
            (1, 32),
            (1, 1024),
            (132, 128),
            (1056, 128),
            (16896, 128),
            (2112, 1024),
        ):
            add(kernel=how, n=n, blocks=blocks, threads=threads)
for n in (1, 64, 256, 1000):
    for blocks in (1, 132):
        add(kernel="words", n=n, blocks=blocks, threads=128)
for mode in (0, 1, 2):
    for blocks in (1, 8, 32, 132, 528):
        for pitch in (512, 1 << 16, 1 << 20, (1 << 21) + 512, 1 << 24):
            add(kernel=("load", "store", "copy")[mode], n=pitch, blocks=blocks, threads=32)


def runner(p):
    k, n, b, t = p["kernel"], p["n"], p["blocks"], p["threads"]
    if k == "straight":
        return lambda: check(LIB.go_straight(n, b, t, ptr(out)))
    if k == "looped":
        return lambda: check(LIB.go_looped(n, b, t, ptr(out)))
    if k == "words":
        return lambda: check(LIB.go_words(n, b, t, ptr(out)))
    mode = ("load", "store", "copy").index(k)
    return lambda: check(LIB.go_rows(mode, b, t, ptr(far), ptr(near), ctypes.c_int64(n // 16)))


if NCU:
    for p in points:
        if (p["blocks"], p["threads"]) in ((132, 128), (1, 32), (132, 32), (32, 32)) and (
            p["kernel"] not in ("straight", "looped") or p["n"] in (64, 1024, 4096)
        ):
            run = runner(p)
            run()
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            print("COUNTED", json.dumps(p), flush=True)
    sys.exit()
a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
for _ in range(200):
    a @ a
torch.cuda.synchronize()
rows = []
for at in range(0, len(points), 60):
    done = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for p in points[at : at + 60]:
            run = runner(p)
            run()
            run()
            for cold in (0, 1):
                check(OPS.launch_point())
                for _ in range(REPEATS):
                    if cold:
                        flush()
                    check(OPS.launch_rep())
                    run()
                done.append((p, cold))
            torch.cuda.synchronize()
        check(OPS.launch_point())
        torch.cuda.synchronize()
    prof.export_chrome_trace("/tmp/small.json")
    trace = json.load(open("/tmp/small.json"))["traceEvents"]
    events = sorted((e for e in trace if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    found = []
    for e in events:
        if "pm_point" in e["name"]:
            found.append([])
        elif "pm_flush" in e["name"] or "pm_rep" in e["name"] or not found:
            continue
        else:
            found[-1].append(e["dur"])
    print(len(found), len(done), flush=True)
    for (p, cold), durs in zip(done, found):
        if durs:
            rows.append(
                p
                | {
                    "timing": "profiler",
                    "cache": "cold" if cold else "warm",
                    "repeats": len(durs),
                    "time_us": f"{median(durs):.3f}",
                    "low_us": f"{min(durs):.3f}",
                    "high_us": f"{max(durs):.3f}",
                }
            )
with open(f"{OUT}/small.csv", "w", newline="") as f:
    w = csv.DictWriter(f, list(rows[0]))
    w.writeheader()
    w.writerows(rows)
print(len(rows), "rows")
