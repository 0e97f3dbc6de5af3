# ruff: noqa: B905, SIM115
"""Times the points of launch.cu under CUPTI: launch_cupti.py OUT."""

import ctypes
import json
import sys
import time

import torch
from launch_points import P

START = time.time()
L = ctypes.CDLL("./launch.so")
for f in ("setup", "launch", "sequence"):
    getattr(L, f).restype = ctypes.c_char_p
torch.zeros(1, device="cuda")
print(L.setup())
for _ in range(300):
    L.flush(1)
torch.cuda.synchronize()
REPS = 11
rows = []
for at in range(0, len(P), 45):
    plan = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for p in P[at : at + 45]:
            for how in (0, 1, 2):
                s = L.sequence(p[0], (ctypes.c_longlong * 4)(*p[1:]), how, REPS)
                if s != b"no error":
                    print(p, s)
                plan.append((p, how))
        L.mark()
        torch.cuda.synchronize()
    prof.export_chrome_trace("/tmp/launch-trace.json")
    found = []
    for e in sorted(
        (
            e
            for e in json.load(open("/tmp/launch-trace.json"))["traceEvents"]
            if e.get("cat") == "kernel"
        ),
        key=lambda e: e["ts"],
    ):
        if "marker" in e["name"]:
            found.append([])
        elif found and "flush" not in e["name"]:
            found[-1].append(e["dur"])
    for (p, how), v in zip(plan, found):
        rows.append([*p, how, *(v[2:] if how == 0 else v)])
    with open(f"{sys.argv[1]}/cupti.txt", "w") as f:
        for r in rows:
            print(*r, file=f)
    print("part", at, time.time() - START, flush=True)
    if time.time() - START > 18:
        break
