# ruff: noqa
"""Times points by events, then by CUPTI: times.py OUT."""

import csv, ctypes, json, os, sys, time
import numpy as np, torch

OUT = sys.argv[1]
START = time.time()
L = ctypes.CDLL("./turns.so")
for f in ("setup", "launch", "timed", "sequence", "peek", "look"):
    getattr(L, f).restype = ctypes.c_char_p
L.peek.argtypes = [ctypes.c_longlong, ctypes.c_void_p]
L.look.argtypes = [ctypes.c_longlong, ctypes.c_void_p]


def ok(m):
    if m not in (b"no error", b""):
        raise RuntimeError(m.decode())


def longs(v):
    return (ctypes.c_longlong * 8)(*[int(x) for x in v] + [0] * (8 - len(v)))


torch.zeros(1, device="cuda")
ok(L.setup())
for _ in range(300):
    L.flush(1)
torch.cuda.synchronize()
P = []  # name, id, params, caches
both = ("warm", "cold")
warm = ("warm",)
HOW = {"warm": 0, "cold": 1, "cold-written": 2, "dirty": 3}
four = tuple(HOW)
for g in (1, 132, 1056):
    P.append(("empty", 0, [32, g], four))
for b in (32, 64, 128, 256, 512, 1024):
    held = min(2048 // b, 32)
    for clocks in (0, 1000, 3000):
        for shared in (0, 150 << 10):
            h = 1 if shared else held
            P.append(("spin", 1, [b, 132 * h * 12, clocks, shared], warm))
for f, i in (("write", 3), ("read", 4), ("copy", 5)):
    for b in (128, 256, 512, 1024):
        if b == 256:
            for n in (16384, 131072, 1048576):
                P.append((f, i, [b, n // b, n], four))
        n = 8 << 20
        P.append((f, i, [b, n // b, n], both))
for mib in (4, 8, 24, 40, 48, 54):
    for it in (1, 2, 3, 5, 9, 17):
        P.append(("set", 7, [1024, 264, mib << 16, it], both))
for run, places in ((1, 1 << 19), (32, 1 << 14)):
    for d in range(4):
        for n in (33792, 135168, 270336, 1081344):
            P.append(("after", 8, [256, n // 256, n, d, places, run], both))
for stride in (1, 2, 3, 4, 6, 8, 12, 16, 24, 25, 32, 33, 64, 100, 257, 1024):
    for n in (33792, 67584, 135168, 270336, 540672, 1081344):
        P.append(
            ("strided", 6, [256, n // 256, n, stride], both if n * stride <= 60 << 20 else warm)
        )
for k in (0, 1, 2, 3, 4, 5, 10, 11, 12):
    for b, g in ((32, 1), (256, 132), (256, 528)):
        P.append(("hops" if k < 9 else "straight", 9, [b, g, k], both))
R = []


def write():
    with open(f"{OUT}/times.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(
            [
                "kernel",
                "block",
                "blocks",
                "p2",
                "p3",
                "p4",
                "p5",
                "timing",
                "cache",
                "repeats",
                "time_us",
                "spread",
            ]
        )
        for n, p, t, c, v in R:
            w.writerow(
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


def logs(tag):
    with open(f"{OUT}/log-{tag}.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["block", "threads", "warp", "begin", "end", "sm", "slot"])
        for b in (256, 512, 1024):
            g = 132 * (2048 // b) * 6
            L.launch(2, longs([b, g, 1000]))
            L.launch(2, longs([b, g, 1000]))
            torch.cuda.synchronize()
            a = np.zeros((g * (b // 32), 4), "u4")
            ok(L.peek(len(a), a.ctypes.data))
            a = a.reshape(g, b // 32, 4)
            for k in range(g):
                if a[k, 0, 2] < 4:
                    for q in range(b // 32):
                        w.writerow([k, b, q, *a[k, q]])


logs("plain")
reps = 9
for n, i, p, cs in P:
    for c in cs:
        us = (ctypes.c_float * 64)()
        ok(L.timed(i, longs(p), HOW[c], reps, us))
        R.append((n, p, "events", c, list(us[:reps])))
write()
print("events", time.time() - START, flush=True)
# results
ok(L.launch(8, longs([256, 132, 33792, 2, 1 << 19, 1])))
a = np.zeros(33792, "u4")
ok(L.look(33792, a.ctypes.data))
print("sum", int(a.astype("u8").sum()))
for part in range(0, len(P), 60):
    some = P[part : part + 60]
    plan = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for q in some:
            for c in q[3]:
                ok(L.sequence(q[1], longs(q[2]), HOW[c], reps))
                plan.append((q, c))
        L.mark()
        torch.cuda.synchronize()
        if part == 0:
            logs("cupti")
    prof.export_chrome_trace("/tmp/turns-trace.json")
    found = []
    for e in sorted(
        (
            e
            for e in json.load(open("/tmp/turns-trace.json"))["traceEvents"]
            if e.get("cat") == "kernel"
        ),
        key=lambda e: e["ts"],
    ):
        if "marker" in e["name"]:
            found.append([])
        elif found and "flush" not in e["name"] and "k_log" not in e["name"]:
            found[-1].append(e["dur"])
    found = found[: len(plan)]
    for (q, c), v in zip(plan, found):
        v = v[2:] if c == "warm" else v
        if len(v) != reps:
            print("count", q, c, len(v))
            continue
        R.append((q[0], q[2], "profiler", c, v))
    write()
    print("part", part, time.time() - START, flush=True)
    if time.time() - START > 20:
        break
