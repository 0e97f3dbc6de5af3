# ruff: noqa: B905, D103, E401, E402, E501, F401, I001, N812, SIM115, SIM905
"""Scaled dot product attention through torch: what runs, and how long, warm and cold; one thing varied at a time."""

import csv, json, os, statistics, sys, time, hashlib, random

sys.argv = [sys.argv[0]]
sys.path.insert(0, ".")
import torch_products as P
import torch
from torch.profiler import ProfilerActivity, profile

F = torch.nn.functional.scaled_dot_product_attention
T = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
cases = []


def add(group, dtype, batch, heads, kv, queries, keys, width, causal):
    c = (group, dtype, batch, heads, kv, queries, keys, width, causal)
    if c not in cases:
        cases.append(c)


# blocks of 128 queries: as many as SMs, and more
for blocks in (1, 66, 132, 133, 198, 264, 265, 330, 396, 397, 462, 528, 529, 660, 792, 1056):
    for keys, width in ((512, 128), (2048, 128), (1024, 64)):
        add("waves", "fp16", 1, blocks, blocks, 128, keys, width, False)
for blocks in (132, 264):
    for keys in (64, 128, 256, 512, 1024, 4096, 8192):
        for width in (64, 128):
            add("steps", "fp16", 1, blocks, blocks, 128, keys, width, False)
for dtype in ("fp16", "bf16", "fp32"):
    for batch, heads, tokens, width, causal in (
        (1, 32, 128, 128, 0),
        (1, 32, 512, 128, 1),
        (1, 32, 2048, 128, 1),
        (1, 32, 4096, 128, 0),
        (8, 12, 1024, 64, 0),
        (4, 16, 512, 64, 1),
        (2, 8, 1024, 32, 0),
        (1, 16, 1024, 96, 0),
        (1, 8, 1024, 256, 0),
        (1, 16, 1000, 80, 0),
    ):
        if dtype == "fp32" and tokens > 2048:
            continue
        add("types", dtype, batch, heads, heads, tokens, tokens, width, bool(causal))
for batch, heads, kv, keys, width in (
    (1, 32, 32, 1024, 128),
    (1, 32, 32, 4096, 128),
    (1, 32, 32, 16384, 128),
    (1, 32, 8, 4096, 128),
    (8, 32, 32, 2048, 128),
    (32, 32, 32, 2048, 128),
    (32, 32, 8, 4096, 128),
    (16, 12, 12, 1024, 64),
    (1, 12, 12, 512, 64),
):
    add("one token", "fp16", batch, heads, kv, 1, keys, width, False)
    add("one token", "bf16", batch, heads, kv, 1, keys, width, False)
r = random.Random("sdpa")
for _ in range(60):
    add(
        "random",
        r.choice(["fp16", "bf16"]),
        r.choice([1, 1, 2, 4, 8, 16]),
        h := r.choice([4, 8, 12, 16, 32]),
        h,
        t := P.logu(r, 100, 6000, r.choice([1, 64, 128])),
        t,
        r.choice([64, 128]),
        r.random() < 0.5,
    )


def make(c):
    _, dtype, b, h, kv, q, k, w, causal = c
    Q, K, V = (
        torch.randn(b, n, t, w, device="cuda").to(T[dtype]) for n, t in ((h, q), (kv, k), (kv, k))
    )
    return lambda: F(Q, K, V, is_causal=causal, enable_gqa=kv != h)


FIELDS = "group,use,dtype,batch,heads,kv_heads,queries,keys,width,causal,warm_us,warm_min_us,warm_max_us,cold_us,events_us,warm_clock_mhz,kernels,kernel,grid,block,registers,shared_bytes,main_us,others".split(
    ","
)
out = csv.DictWriter(open(os.environ["OUT"] + "/sdpa.csv", "w", newline=""), FIELDS)
out.writeheader()


def chunk(cs):
    plan, place = [], 0
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for c in cs:
            run = make(c)
            run()
            torch.cuda.synchronize()
            warm, cold, first = 7, 5, place
            for _ in range(warm + 2):
                P.mark(place)
                run()
                place += 1
            for _ in range(cold):
                P.sweep()
                P.mark(place)
                run()
                place += 1
            P.mark(place)
            place += 1
            ev = [
                (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                for _ in range(warm)
            ]
            P.mark(65535, 100000)
            for b, e in ev:
                P.mark(65535, 25000)
                b.record(P.stream)
                run()
                e.record(P.stream)
            torch.cuda.synchronize()
            plan.append((c, warm, cold, first, [b.elapsed_time(e) * 1e3 for b, e in ev]))
            place += warm + 1
    name = f"/tmp/trace-{os.getpid()}.json"
    p.export_chrome_trace(name)
    g = P.groups_of(json.load(open(name)))
    os.remove(name)
    clocks = P.CLOCKS.cpu().tolist()
    mid = statistics.median
    if len(g) != place:
        print("marks", place, len(g))
    for c, warm, cold, first, events in plan:
        w, k = g[first + 2 : first + 2 + warm], g[first + 2 + warm : first + 2 + warm + cold]
        if not all(w) or not all(k):
            print("empty", c)
            continue
        wt, ct = [sum(e["dur"] for e in x) for x in w], [sum(e["dur"] for e in x) for x in k]
        main = max((e for e in w[-1] if e["cat"] == "kernel"), key=lambda e: e["dur"])
        out.writerow(
            dict(
                zip(
                    FIELDS,
                    (
                        c[0],
                        P.use(*c[2:]),
                        *c[1:8],
                        int(c[8]),
                        *(f"{x:.3f}" for x in (mid(wt), min(wt), max(wt), mid(ct), mid(events))),
                        f"{mid(clocks[first + 3 : first + 3 + warm]):.0f}",
                        len(w[-1]),
                        main["name"][:150],
                        "x".join(map(str, main["args"]["grid"])),
                        "x".join(map(str, main["args"]["block"])),
                        main["args"].get("registers per thread"),
                        main["args"].get("shared memory"),
                        f"{mid([max(e['dur'] for e in x) for x in w]):.3f}",
                        ";".join(e["name"][:90] for e in w[-1] if e is not main),
                    ),
                )
            )
        )


begun = time.time()
print(len(cases), torch.__version__)
for at in range(0, len(cases), 30):
    if time.time() - begun > 46:
        print("out of time", at)
        break
    try:
        chunk(cases[at : at + 30])
    except Exception as e:
        print("failed", at, repr(e)[:300])
        torch.cuda.synchronize()
