# ruff: noqa: B905, D103, E501, E731, N812, PLW2901, SIM115
"""Times every point of points.csv by the profiler (CUPTI) and between events, cold and warm: times.py OUT."""

import csv
import ctypes
import json
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

START, LIMIT = time.time(), float(os.environ.get("LIMIT", "62"))
OUT = sys.argv[1]
L = ctypes.CDLL("./builtins.so")
for f in ("setup", "prepare", "limits", "timed", "sequence", "peek"):
    getattr(L, f).restype = ctypes.c_char_p
L.limit_now.restype = ctypes.c_longlong
L.prepare.argtypes = [ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
L.limits.argtypes = [ctypes.c_int, ctypes.c_longlong]
L.peek.argtypes = [ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong, ctypes.c_void_p]
CACHE = ["warm", "dirty", "cold"]
IDS = [
    "empty",
    "copy",
    "read",
    "write",
    "strided-copy",
    "gather",
    "working-set-read",
    "data-reset",
    "stream-persistent",
    "atomic-add",
    "atomic-privatized",
    "shared-atomic",
    "gemm",
    "decode-attention",
    "prefill-attention",
    "ffn-gemv",
    "kv-append",
]


def ok(message):
    if message != b"no error":
        raise RuntimeError(message.decode())


def peek(which, offset, count, dtype):
    a = np.zeros(count, dtype)
    ok(L.peek(which, offset, a.nbytes, a.ctypes.data))
    return a


def longs(values):
    return (ctypes.c_longlong * 8)(*list(values) + [0] * (8 - len(values)))


T = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "": torch.float16}


def torch_op(row, p):
    t = T[p.get("dtype", "fp16")]
    r = lambda *s: torch.randn(*s, device="cuda", dtype=t)
    k = row["kernel"]
    if k == "argmax":
        x = r(p["rows"], p["cols"])
        return lambda: torch.argmax(x, 1)
    if k == "softmax":
        x = r(p["rows"], p["cols"])
        return lambda: torch.softmax(x, 1)
    if k == "layernorm":
        x, g, b = r(p["rows"], p["cols"]), r(p["cols"]), r(p["cols"])
        return lambda: F.layer_norm(x, (p["cols"],), g, b)
    if k == "prefill-attention":
        q = r(p["batch"], p["heads"], p["tokens"], p["width"])
        a, v = (r(p["batch"], p["kv_heads"], p["tokens"], p["width"]) for _ in range(2))
        return lambda: F.scaled_dot_product_attention(
            q, a, v, is_causal=p["causal"] == "true", enable_gqa=p["heads"] != p["kv_heads"]
        )
    if k == "decode-attention":
        q, a, v = (
            r(p["batch"], p["heads"], 1, p["width"]),
            r(p["batch"], p["heads"], p["context"], p["width"]),
            r(p["batch"], p["heads"], p["context"], p["width"]),
        )
        return lambda: F.scaled_dot_product_attention(q, a, v)
    if k == "ffn-gemv":
        w, x = r(p["rows"], p["columns"]), r(p["columns"])
        return lambda: torch.mv(w, x)
    if k == "kv-append":
        c, n = (
            r(p["batch"], p["kv_heads"], p["context"], p["width"]),
            r(p["batch"], p["kv_heads"], 1, p["width"]),
        )
        i = torch.tensor([p["at"]], device="cuda")
        if p["how"] == "copy":
            return lambda: c[:, :, p["at"] : p["at"] + 1].copy_(n)
        return lambda: c.index_copy_(2, i, n)
    raise ValueError(k)


def torch_timed(run, cold, reps):
    b = [torch.cuda.Event(enable_timing=True) for _ in range(reps)]
    e = [torch.cuda.Event(enable_timing=True) for _ in range(reps)]
    torch.cuda.synchronize()
    for _ in range(12):
        L.flush()  # the host runs ahead
    if not cold:
        run()
        run()
    for j in range(reps):
        if cold:
            L.empty_l2(cold)
        b[j].record()
        run()
        e[j].record()
    torch.cuda.synchronize()
    return [x.elapsed_time(y) * 1000 for x, y in zip(b, e)]


def torch_sequence(run, cold, reps):
    L.mark()
    if not cold:
        run()
        run()
    for _ in range(reps):
        if cold:
            L.empty_l2(cold)
        run()
    torch.cuda.synchronize()


def c_timed(i, p, cold, reps, window):
    us = (ctypes.c_float * 64)()
    ok(L.timed(i, p, cold, reps, us, window))
    return list(us[:reps])


for other in (
    torch.backends.cuda.enable_cudnn_sdp,
    torch.backends.cuda.enable_mem_efficient_sdp,
    torch.backends.cuda.enable_math_sdp,
):
    other(False)  # attention as the built-in describes it: the flash kernels
ok(L.setup())
default = int(L.limit_now())
print("fetch granularity", default, "torch", torch.__version__, flush=True)
for _ in range(300):
    L.flush()  # clocks up
torch.cuda.synchronize()
points = list(csv.DictReader(open("points.csv")))
for r in points:
    r["params"], r["extra"], r["launch"], r["prep"] = (
        json.loads(r[k]) for k in ("params", "extra", "launch", "prep")
    )
floor = [c_timed(0, longs([]), c, 15, 0) for c in (2, 1, 0)]
print("event floor us cold, dirty, warm:", *(float(np.median(f)) for f in floor), flush=True)

done, checks = [], []


def write(results):
    with open(f"{OUT}/times.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["point", "timing", "cache", "repeats", "time_us", "spread", "kernels", "names"])
        for number, timing, cache, times, kernels, names in results:
            t = np.array(times)
            w.writerow(
                [
                    number,
                    timing,
                    cache,
                    len(t),
                    f"{np.median(t):.4f}",
                    f"{(t.max() - t.min()) / np.median(t):.4f}",
                    kernels,
                    names,
                ]
            )


def check(r):
    """Against NumPy, where it is quick."""
    p, k = r["params"], r["kernel"]
    n = 1000
    if k == "copy":
        at = p["bytes"] // p["vector"] * p["vector"] - 4 * n
        return bool((peek(1, at, n, "f4") == peek(0, at, n, "f4")).all())
    if k == "strided-copy":
        a = peek(0, 4 * p["offset"], (n - 1) * p["stride"] + 1, "f4")
        return bool((peek(1, 0, n, "f4") == a[:: max(p["stride"], 1)]).all())
    if k == "gather":
        rows = peek(2, 0, n, "u4")
        i = np.arange(n)
        at = rows[i // p["run"]].astype("i8") * p["run"] + i % p["run"]
        return bool(
            all(
                peek(0, int(a) * 4, 1, "f4")[0] == o
                for a, o in zip(at[::50], peek(1, 0, n, "f4")[::50])
            )
        )
    if k == "data-reset":
        m, j = p["in_bytes"] // 16, p["out_bytes"] // 16 - 1
        return bool((peek(1, j * 16, 4, "f4") == peek(0, j % m * 16, 4, "f4")).all())
    if k == "stream-persistent":
        m, j = p["persistent_bytes"] // 16, p["stream_bytes"] // 16 - 1
        return bool(
            (
                peek(1, j * 16, 4, "f4") == peek(0, j * 16, 4, "f4") + peek(2, j % m * 16, 4, "f4")
            ).all()
        )
    if k == "gemm":
        M, N, K = p["M"], p["N"], p["K"]
        a, c = peek(0, (M - 1) * K * 4, K, "f4"), peek(1, (M - 1) * N * 4, N, "f4")
        b = peek(0, (1 << 28), K * N, "f4").reshape(K, N)
        return bool(np.allclose(c, a @ b, rtol=1e-3))
    if k == "ffn-gemv":
        half = p["dtype"] == "fp16"
        t = "f2" if half else "f4"
        C = p["columns"]
        s = 2 if half else 4
        w, x, y = (
            peek(0, (p["rows"] - 1) * C * s, C, t).astype("f8"),
            peek(2, 0, C, t).astype("f8"),
            peek(1, (p["rows"] - 1) * s, 1, t),
        )
        return bool(abs(float(y[0]) - w @ x) < 0.01 * abs(w @ x) + 0.2)
    if k == "decode-attention":
        # the last head from its partial sums: weights of all parts add up to the softmax
        B, H, KV, C, W, part = r["launch"]
        parts = -(-C // part)
        head = B * H - 1
        q = peek(2, head * W * 2, W, "f2").astype("f8")
        kk = peek(0, (B * KV - 1) * C * W * 2, C * W, "f2").astype("f8").reshape(C, W)
        v = peek(0, 2**31 + (B * KV - 1) * C * W * 2, C * W, "f2").astype("f8").reshape(C, W)
        s = kk @ q * {64: 0.125, 128: 0.0884, 256: 0.0625}[W]
        e = np.exp(s - s.max())
        want = e @ v / e.sum()
        ps = peek(1, head * parts * W * 4, parts * W, "f4").reshape(parts, W)
        sc = peek(1, 2**30 + head * parts * 8, parts * 2, "f4").reshape(parts, 2)
        f = np.exp(sc[:, 0] - sc[:, 0].max())
        got = f @ ps / (f @ sc[:, 1])
        return bool(np.allclose(got, want, atol=2e-3))
    if k in ("atomic-add", "atomic-privatized") and p["dtype"] in ("int32", "uint32"):
        ok(L.prepare(*r["prep"]))
        L.launch(IDS.index(k), longs(r["launch"]))
        if k == "atomic-privatized":
            return int(peek(1, 0, 1, "u4")[0]) == p["n"]
        return (
            int(peek(1, 0, p["addresses"] * p["spacing"], "u4")[:: p["spacing"]].astype("u8").sum())
            == p["n"]
        )
    return None


by_kernel = {}
for number, r in enumerate(points):
    by_kernel.setdefault((r["kernel"], r["mapping"], r["by"]), []).append(number)
# small groups in turn, so that a late end leaves every kernel with points
chunks = [
    (key, numbers[at : at + 25])
    for at in range(0, 100, 25)
    for key, numbers in by_kernel.items()
    if numbers[at : at + 25]
]
reps_of = {}


def ready(r):
    """Buffers and limits as the point wants them; what launches it."""
    if r["by"] == "torch":
        ok(L.limits(default, 0))
        run = torch_op(r, r["params"])
        run()
        return run
    ok(L.prepare(*r["prep"]))
    ok(L.limits(r["extra"].get("fetch_granularity") or default, r["extra"].get("set_aside", 0)))
    if "window" in r["extra"]:
        L.reset_l2()
    return IDS.index(r["kernel"]), longs(r["launch"]), int("window" in r["extra"])


if os.environ.get(
    "COUNTS"
):  # each chosen point once between profiler start and stop, for its counters
    for number in map(int, open("counted.txt").read().split()):
        if time.time() - START > LIMIT:
            break
        run = ready(points[number])
        L.empty_l2(2)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        run() if callable(run) else L.launch(run[0], run[1])
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print("point", number, flush=True)
    sys.exit()


def timed(run, cold, reps):
    return (
        torch_timed(run, cold, reps)
        if callable(run)
        else c_timed(run[0], run[1], cold, reps, run[2])
    )


# between events, before any profiler is attached
for key, numbers in chunks:
    began = time.time()
    for number in numbers:
        r = points[number]
        if time.time() - START > LIMIT * 0.5:
            print("events left out", number, r["kernel"], flush=True)
            continue
        try:
            run = ready(r)
            pilot = timed(run, 0, 1)[0]
            reps_of[number] = int(min(max(6000 / pilot, 1 if pilot > 50000 else 2), 9))
            for c in (2, 1, 0):
                done.append((number, "events", CACHE[c], timed(run, c, reps_of[number]), "", ""))
            family = (r["kernel"], r["mapping"])
            if (
                r["by"] == "cuda"
                and len([1 for f in checks if f[0] == family]) < 3
                and r["params"].get("N", 0) < 1100
            ):
                result = check(r)
                if result is not None:
                    checks.append((family, result))
        except Exception as error:
            print("failed", number, r["kernel"], r["params"], repr(error)[:200], flush=True)
    write(done)
    print(
        "events",
        *key,
        len(numbers),
        f"{time.time() - began:.2f} s, at {time.time() - START:.1f}",
        flush=True,
    )
write(done)
print("checks", checks, flush=True)
print("wrong", [f for f, c in checks if not c], flush=True)

for key, numbers in chunks:
    began, plan = time.time(), []
    if began - START > LIMIT:
        print("profiler left out", key, len(numbers), flush=True)
        continue
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
            for number in numbers:
                r = points[number]
                if number not in reps_of:
                    continue
                try:
                    run, reps = ready(r), reps_of[number]
                    for c in (2, 1, 0):
                        if callable(run):
                            torch_sequence(run, c, reps)
                        else:
                            ok(L.sequence(run[0], run[1], c, reps, run[2]))
                        plan.append((number, c, reps))
                    L.mark()
                    plan.append(None)
                except Exception as error:
                    L.mark()
                    plan.append(None)
                    print("failed", number, r["kernel"], r["params"], repr(error)[:200], flush=True)
            torch.cuda.synchronize()
        prof.export_chrome_trace("/tmp/builtins.json")
        trace = json.load(open("/tmp/builtins.json"))["traceEvents"]
        found = []
        for e in sorted((e for e in trace if e.get("cat") == "kernel"), key=lambda e: e["ts"]):
            if "marker_kernel" in e["name"]:
                found.append([])
            elif found and not ("flush_" in e["name"] or e["name"].startswith("fill_")):
                found[-1].append((e["dur"], e["name"]))
        if len(found) != len(plan):
            print("segments", len(found), "of", len(plan), flush=True)
        for entry, kernels in zip(plan, found):
            if entry is None:
                continue
            number, cold, reps = entry
            launches = reps if cold else reps + 2
            per = len(kernels) // launches
            if per == 0 or len(kernels) != per * launches:
                print(
                    "kernels",
                    number,
                    len(kernels),
                    launches,
                    [n for _, n in kernels[:4]],
                    flush=True,
                )
                continue
            kernels = kernels[0 if cold else 2 * per :]
            cache = CACHE[cold]
            names = " + ".join(n[:100] for _, n in kernels[:per])
            done.append((number, "profiler", cache, [d for d, _ in kernels[::per]], per, names))
            if per > 1:
                done.append(
                    (
                        number,
                        "profiler-all",
                        cache,
                        [
                            sum(d for d, _ in kernels[j : j + per])
                            for j in range(0, len(kernels), per)
                        ],
                        per,
                        names,
                    )
                )
    except Exception as error:
        print("group failed", key, repr(error)[:300], flush=True)
    print(
        "profiler",
        *key,
        len(numbers),
        f"{time.time() - began:.2f} s, at {time.time() - START:.1f}",
        flush=True,
    )
    write(done)
