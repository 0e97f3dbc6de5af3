# ruff: noqa: B023, D103, E401, E402, E501, E731, I001, N812, SIM115, SIM905
"""Products whose operands' rows are as long as a power of two, or a little longer: one thing varied."""

import csv, json, os, statistics, sys, time

sys.argv = [sys.argv[0]]
import torch_products as P
import torch
from torch.profiler import ProfilerActivity, profile

out = csv.writer(open(os.environ["OUT"] + "/pitch.csv", "w"))
out.writerow(
    "dtype,m,n,k,extra_a,extra_b,warm_us,warm_min_us,cold_us,cold_min_us,kernel".split(",")
)
cases = [
    (d, m, n, k, ea, eb)
    for d, ms, nks in (
        ("bf16", (64, 512, 4096), ((4096, 4096), (8192, 8192), (4096, 16384), (16384, 2048))),
        ("fp32", (512, 2048), ((2048, 2048), (4096, 4096))),
    )
    for m in ms
    for n, k in nks
    for ea, eb in ((0, 0), (8, 8), (64, 64), (0, 64), (256, 256), (1024, 1024))
]


def chunk(cs):
    plan, place = [], 0
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for d, m, n, k, ea, eb in cs:
            t = P.TYPES[d]
            a = torch.randn(m, k + ea, device="cuda").to(t)[:, :k]
            b = torch.randn(n, k + eb, device="cuda").to(t)[:, :k]
            run = lambda: torch.matmul(a, b.t())
            run()
            torch.cuda.synchronize()
            first = place
            for _ in range(9):
                P.mark(place)
                run()
                place += 1
            for _ in range(5):
                P.sweep()
                P.mark(place)
                run()
                place += 1
            P.mark(place)
            place += 1
            torch.cuda.synchronize()
            plan.append(((d, m, n, k, ea, eb), first))
    name = f"/tmp/trace-{os.getpid()}.json"
    p.export_chrome_trace(name)
    g = P.groups_of(json.load(open(name)))
    os.remove(name)
    for c, first in plan:
        w, k = [
            [sum(e["dur"] for e in x) for x in g[first + s : first + e]]
            for s, e in ((2, 9), (9, 14))
        ]
        out.writerow(
            [
                *c,
                *(f"{x:.3f}" for x in (statistics.median(w), min(w), statistics.median(k), min(k))),
                max(g[first + 8], key=lambda e: e["dur"])["name"][:90],
            ]
        )


begun = time.time()
for at in range(0, len(cases), 30):
    if time.time() - begun > 40:
        print("out of time", at)
        break
    try:
        chunk(cases[at : at + 30])
    except Exception as e:
        print("failed", at, repr(e)[:300])
        torch.cuda.synchronize()
