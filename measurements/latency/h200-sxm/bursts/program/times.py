# ruff: noqa
"""Times launches by events, then by CUPTI: times.py OUT."""

import csv, ctypes, json, os, sys, time
import numpy as np, torch

OUT = sys.argv[1]
START = time.time()
L = ctypes.CDLL("./lone.so")
for f in ("setup", "launch", "timed", "sequence", "look"):
    getattr(L, f).restype = ctypes.c_char_p
L.look.argtypes = [ctypes.c_longlong, ctypes.c_void_p]


def ok(m):
    if m not in (b"no error", b""):
        raise RuntimeError(m.decode())


def longs(v):
    return (ctypes.c_longlong * 8)(*[int(x) for x in v] + [0] * (8 - len(v)))


torch.zeros(1, device="cuda")
ok(L.setup())
for _ in range(300):
    L.flush()
torch.cuda.synchronize()
print("setup", time.time() - START, flush=True)
K, M = 1024, 1 << 20
T = []
for g in (1, 132, 264):
    T.append(("empty", 0, [256, g]))
NS = (33792, 67584, 135168, 270336, 540672, 1081344)
for name, i in (("strided", 3), ("sread", 4), ("swrite", 5)):
    for s in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100, 257, 1024):
        for n in NS:
            if n * s * 4 <= 5 << 30:
                T.append((name, i, [256, n // 256, n, s]))
for what in (1, 2, 3, 4, 5, 7):
    for step, pitches in (
        (4, (128, 4096, 64 * K, 512 * K, 2 * M)),
        (128, (4096, 64 * K, 512 * K, 2 * M)),
        (32, (1024, 64 * K)),
    ):
        for pitch in pitches:
            for n in (33792, 67584):
                if n // 32 * pitch <= 5 << 30:
                    T.append(("move", 2, [256, n // 256, n, step, pitch, what]))
for places in (1 << 18, 1 << 20, 1 << 22, 1 << 23):
    for n in NS:
        T.append(("gather", 6, [256, n // 256, n, places]))
for b in (32, 64, 128, 512, 1024):
    for s in (1, 8, 32, 100):
        for n in (33792, 270336):
            T.append(("strided", 3, [b, n // b, n, s]))
rows = []


def write():
    with open(f"{OUT}/times.csv", "w", newline="") as f:
        o = csv.writer(f)
        o.writerow("kernel block blocks p2 p3 p4 p5 timing cache repeats time_us spread".split())
        for n, p, t, c, v in rows:
            o.writerow(
                [
                    n,
                    *(list(p) + [0] * 6)[:6],
                    t,
                    c,
                    len(v),
                    f"{np.median(v):.4f}",
                    f"{(max(v) - min(v)) / np.median(v):.3f}",
                ]
            )


reps = 15
for n, i, p in T:
    us = (ctypes.c_float * 64)()
    ok(L.timed(i, longs(p), 0, reps, us))
    rows.append((n, p, "events", "warm", list(us[:reps])))
write()
print("events", time.time() - START, flush=True)
for part in range(0, len(T), 80):
    some = T[part : part + 80]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for q in some:
            ok(L.sequence(q[1], longs(q[2]), 0, reps))
        L.mark()
        torch.cuda.synchronize()
    prof.export_chrome_trace("/tmp/lone-trace.json")
    found = []
    for e in sorted(
        (
            e
            for e in json.load(open("/tmp/lone-trace.json"))["traceEvents"]
            if e.get("cat") == "kernel"
        ),
        key=lambda e: e["ts"],
    ):
        if "marker" in e["name"]:
            found.append([])
        elif found and "flush" not in e["name"]:
            found[-1].append(e["dur"])
    for q, v in zip(some, found[: len(some)]):
        v = v[2:]
        if len(v) != reps:
            print("count", q, len(v))
            continue
        rows.append((q[0], q[2], "profiler", "warm", v))
    write()
    if time.time() - START > 62:
        print("stopped", part)
        break
print("all", time.time() - START, flush=True)
