# ruff: noqa
"""Gathers by run, size, table and fetch granularity by CUPTI, then clocks of a few warps: runs.py OUT SECONDS."""

import csv, ctypes, json, sys, time
import numpy as np, torch

from run_points import POINTS, CLOCKS

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
NAMES = "empty store divide rows copy gather hashed shift timed reads".split()


def ok(m):
    if m != b"no error":
        raise RuntimeError(m.decode())


ok(L.setup(2 << 30))
for _ in range(300):
    L.flush(1)
torch.cuda.synchronize()
with open(f"{OUT}/clocks.csv", "w") as f:
    f.write(
        "kernel,n,run,granularity,table_bytes,cache,rows10,rows50,rows90,rows_mean,table10,table50,table90,table_mean,both90,block_mean,block90\n"
    )
    for n, run, g, size, cold in CLOCKS:
        L.granularity(g)
        every = 31 if n > 10**6 else 1
        ok(L.rows((n + run - 1) // run, size // 4 // run))
        for k in range(3):
            if cold:
                L.flush(1)
            L.launch(8, n, run, size, every)
        torch.cuda.synchronize()
        blocks = (n // 256 + every - 1) // every
        a = np.zeros((blocks * 8, 4), "u4")
        ok(L.peek(len(a), a.ctypes.data))
        two = (a[:, 1] + a[:, 2]).astype(float)
        last = two.reshape(-1, 8).max(1)
        per = lambda c: ",".join(
            f"{x:.0f}" for x in (*np.percentile(a[:, c], (10, 50, 90)), a[:, c].mean())
        )
        f.write(
            f"timed,{n},{run},{g},{size},{('warm', 'cold')[cold]},{per(1)},{per(2)},{np.percentile(two, 90):.0f},{last.mean():.0f},{np.percentile(last, 90):.0f}\n"
        )
print("clocks", time.time() - START, flush=True)
done, at = [], 0
while at < len(POINTS) and time.time() - START < LIMIT:
    chunk = POINTS[at : at + 60]
    at += 60
    plan = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for k, n, run, g, size, cold in chunk:
            L.granularity(g)
            ok(L.rows((n + run - 1) // run, size // 4 // run))
            reps = 5 if cold else 9
            ok(L.sequence(k, n, run, size, 0, cold, reps))
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
                NAMES[point[0]],
                *point[1:5],
                ("warm", "cold")[point[5]],
                len(t),
                f"{np.median(t):.3f}",
                f"{(t.max() - t.min()) / np.median(t):.3f}",
            ]
        )
    with open(f"{OUT}/times.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow("kernel,n,run,granularity,table_bytes,cache,repeats,time_us,spread".split(","))
        w.writerows(done)
print("end", at, len(POINTS), time.time() - START, flush=True)
