# ruff: noqa
"""Gathers, their parts and random reads by CUPTI, then clocks of a few warps: times.py OUT SECONDS [again]."""

import csv, ctypes, json, os, sys, time
import numpy as np, torch

from points import AGAIN, FIRST, M

START, LIMIT, OUT = time.time(), float(sys.argv[2]), sys.argv[1]
L = ctypes.CDLL("./g.so")
q = ctypes.c_longlong
for f in ("setup", "rows", "sequence", "peek"):
    getattr(L, f).restype = ctypes.c_char_p
L.setup.argtypes = [q]
L.rows.argtypes = [q, q]
L.sequence.argtypes = [ctypes.c_int, q, q, q, q, ctypes.c_int, ctypes.c_int]
L.launch.argtypes = [ctypes.c_int, q, q, q, q]
L.peek.argtypes = [q, ctypes.c_void_p]


def ok(m):
    if m != b"no error":
        raise RuntimeError(m.decode())


ok(L.setup(16 << 30))
for _ in range(300):
    L.flush(1)
torch.cuda.synchronize()
NAMES = "empty store divide rows copy gather hashed shift timed reads".split()
P = AGAIN if sys.argv[3:] == ["again"] else FIRST
done = []
at = 0
while at < len(P) and time.time() - START < LIMIT:
    chunk = P[at : at + 60]
    at += 60
    began = time.time()
    plan = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for part, k, n, run, size, x, cold in chunk:
            if k != 9:
                ok(L.rows((n + run - 1) // run, size // 4 // run))
            reps = 5 if cold else 9
            ok(L.sequence(k, n, run, size, x, cold, reps))
            plan.append(reps)
        L.mark()
        torch.cuda.synchronize()
    prof.export_chrome_trace("/tmp/gather.json")
    found = []
    for e in sorted(
        (e for e in json.load(open("/tmp/gather.json"))["traceEvents"] if e.get("cat") == "kernel"),
        key=lambda e: e["ts"],
    ):
        if "marker_kernel" in e["name"]:
            found.append([])
        elif found and "k_" in e["name"]:
            found[-1].append(e["dur"])
    for point, reps, times in zip(chunk, plan, found):
        t = np.array(times[-reps:])
        done.append(
            [
                *point[:1],
                NAMES[point[1]],
                *point[2:6],
                ("warm", "cold")[point[6]],
                len(t),
                f"{np.median(t):.3f}",
                f"{(t.max() - t.min()) / np.median(t):.3f}",
            ]
        )
    print(at, f"{time.time() - began:.2f} s at {time.time() - START:.1f}", flush=True)
    with open(f"{OUT}/times.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow("part,kernel,n,run,table_bytes,blocks,cache,repeats,time_us,spread".split(","))
        w.writerows(done)
# clocks of sampled warps
with open(f"{OUT}/clocks.csv", "w") as f:
    f.write(
        "n,run,table_bytes,cache,rows10,rows50,rows90,table10,table50,table90,rows_mean,table_mean,sms\n"
    )
    for n, run, size, cold in (
        (17301504, 48, 3 * M, 0),
        (17301504, 48, 3 * M, 1),
        (17301504, 4, 4 * M, 0),
        (17301504, 16, 32 * M, 0),
        (17301504, 1, 2 * M, 0),
        (17301504, 8, 16 * M, 0),
        (17301504, 64, 256 * M, 0),
        (435643, 8, 2 * M, 0),
        (270336, 8, 2 * M, 0),
        (117031, 1, 512 * M, 0),
        (117031, 1, 2 * M, 0),
        (33792, 8, 2 * M, 0),
        (33792, 1, 512 * M, 0),
        (33792, 1, 16384 * M, 0),
        (33792, 1, 2 * M, 0),
    ):
        every = 31 if n > 10**6 else 1
        ok(L.rows((n + run - 1) // run, size // 4 // run))
        for k in range(3):
            if cold:
                L.flush(1)
            L.launch(8, n, run, size, every)
        torch.cuda.synchronize()
        blocks = ((n + 255) // 256 + every - 1) // every
        a = np.zeros((blocks * 8, 4), "u4")
        ok(L.peek(len(a), a.ctypes.data))
        a = a[: len(a) - 8]
        f.write(
            f"{n},{run},{size},{('warm', 'cold')[cold]},"
            + ",".join(f"{x:.0f}" for c in (1, 2) for x in np.percentile(a[:, c], (10, 50, 90)))
            + f",{a[:, 1].mean():.0f},{a[:, 2].mean():.0f},{len(set(a[:, 3]))}\n"
        )
print("end", time.time() - START, flush=True)
