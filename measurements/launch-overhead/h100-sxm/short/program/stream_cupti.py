# ruff: noqa: B905, SIM115
"""Times the points of streams.cu under CUPTI: stream_cupti.py OUT."""

import ctypes
import json
import sys
import time

import torch
from stream_points import P

START = time.time()
L = ctypes.CDLL("./streams.so")
for f in ("setup", "launch", "sequence"):
    getattr(L, f).restype = ctypes.c_char_p
torch.zeros(1, device="cuda")
print(L.setup())
for _ in range(300):
    L.flush(1)
torch.cuda.synchronize()
REPS = 11
with open(f"{sys.argv[1]}/cupti.txt", "w") as out:
    for at in range(0, len(P), 60):
        plan = []
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
            for p in P[at : at + 60]:
                for how in (0, 1, 2):
                    s = L.sequence((ctypes.c_longlong * 5)(*p), how, REPS)
                    if s != b"no error":
                        print(p, s)
                    plan.append((p, how))
            L.mark()
            torch.cuda.synchronize()
        prof.export_chrome_trace("/tmp/short-trace.json")
        found = []
        for e in sorted(
            (
                e
                for e in json.load(open("/tmp/short-trace.json"))["traceEvents"]
                if e.get("cat") == "kernel"
            ),
            key=lambda e: e["ts"],
        ):
            if "marker" in e["name"]:
                found.append([])
            elif found and "flush" not in e["name"]:
                found[-1].append(e["dur"])
        for (p, how), v in zip(plan, found):
            print(*p, how, *(v[2:] if how == 0 else v), file=out)
        out.flush()
        print("part", at, time.time() - START, flush=True)
        if time.time() - START > 17:
            break
