# ruff: noqa: C408, D103, E501, N812, SIM115, B905, PLW2901, D401
"""Times the operators of a language model, one launch sequence a point, into CSV files under $OUT.

python3 operators.py OUT [count]: with `count` the chosen points run once each for a profiler around it.
Each point runs between events (a spinning kernel before it, so that the queue is full) and again under
CUPTI, with L2 as the last run left it (warm) and after 256 MiB of other data were read (cold).
"""

import csv
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import time
from statistics import median

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

OUT = sys.argv[1]
COUNT = len(sys.argv) > 2
REPEATS = 11
LIB = ctypes.CDLL("/tmp/libops.so")
P = ctypes.c_void_p
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")  # 256 MiB


def ptr(t):
    return P(t.data_ptr())


def check(code):
    if code:
        raise RuntimeError(f"launch failed: {code}")


def rand(*shape, dtype="fp16"):
    return torch.randn(*shape, dtype=TYPES[dtype], device="cuda")


# Operators: each returns what to run, and what says whether the result is right ----------------


def softmax(dtype, rows, columns):
    x = rand(rows, columns, dtype=dtype)
    return lambda: F.softmax(x, -1), lambda y: (y.float().sum(-1) - 1).abs().max().item() < 0.02


def layernorm(dtype, rows, columns):
    x, w, b = (
        rand(rows, columns, dtype=dtype),
        rand(columns, dtype=dtype),
        rand(columns, dtype=dtype),
    )
    ref = F.layer_norm(x[:1].float(), (columns,), w.float(), b.float())
    return (
        lambda: F.layer_norm(x, (columns,), w, b),
        lambda y: (y[:1].float() - ref).abs().max().item() < 0.1,
    )


def argmax(dtype, rows, columns):
    x = rand(rows, columns, dtype=dtype)
    return lambda: torch.argmax(x, -1), lambda y: bool((x[0, y[0]] == x[0].max()).item())


def linear(dtype, rows, columns):
    w, x = rand(rows, columns, dtype=dtype), rand(1, columns, dtype=dtype)
    ref = x.double() @ w[:8].double().T
    return lambda: F.linear(x, w), lambda y: bool(
        (y[:, :8].double() - ref).abs().max() < 0.05 * columns**0.5
    )


def gemv_own(dtype, rows, columns):
    w, x = rand(rows, columns, dtype=dtype), rand(1, columns, dtype=dtype)
    y = torch.empty(1, rows, dtype=TYPES[dtype], device="cuda")
    ref = x.double() @ w[:8].double().T

    def run():
        check(LIB.launch_gemv(ptr(w), ptr(x), ptr(y), rows, columns))
        return y

    return run, lambda y: bool((y[:, :8].double() - ref).abs().max() < 0.05 * columns**0.5)


def qkv(dtype, batch, heads, kv_heads, tokens, context, width):
    return (
        rand(batch, heads, tokens, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
    )


def attention_check(q, k, v, causal=False):
    """The first head and query in double."""
    last = 1 if causal else k.shape[2]
    k0, v0 = k[0, 0, :last].double(), v[0, 0, :last].double()
    s = (q[0, 0, 0].double() @ k0.T) / q.shape[-1] ** 0.5
    ref = torch.softmax(s, -1) @ v0
    return lambda y: bool((y[0, 0, 0].double() - ref).abs().max() < 0.05)


def sdpa(impl, dtype, batch, heads, kv_heads, tokens, context, width, causal=0):
    q, k, v = qkv(dtype, batch, heads, kv_heads, tokens, context, width)

    def run():
        with sdpa_kernel([BACKENDS[impl]]):
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=bool(causal), enable_gqa=heads != kv_heads
            )

    return run, attention_check(q, k, v, bool(causal))


def prefill(impl, dtype, batch, heads, tokens, width, causal):
    if impl == "matmul":
        q, k, v = qkv(dtype, batch, heads, heads, tokens, tokens, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        return lambda: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, ok
    if impl == "own-naive":
        q, k, v = qkv(dtype, batch, heads, heads, tokens, tokens, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        s = torch.empty(batch * heads, tokens, tokens, device="cuda")
        out = torch.empty_like(q)

        def run():
            check(
                LIB.launch_prefill_naive(
                    ptr(q), ptr(k), ptr(v), ptr(s), ptr(out), batch * heads, tokens
                )
            )
            return out

        return run, ok
    return sdpa(impl, dtype, batch, heads, heads, tokens, tokens, width, causal)


def decode(impl, dtype, batch, heads, kv_heads, context, width, part=0):
    if impl == "own":
        q, k, v = qkv(dtype, batch, heads, kv_heads, 1, context, width)
        ok = attention_check(q, k, v)
        q = q / width**0.5
        out = torch.empty_like(q)
        splits = -(-context // part)
        partial = torch.empty(batch * heads * splits * (width + 2), device="cuda")

        def run():
            check(
                LIB.launch_decode(
                    ptr(q),
                    ptr(k),
                    ptr(v),
                    ptr(partial),
                    ptr(out),
                    batch * heads,
                    heads // kv_heads,
                    context,
                    part,
                    width,
                )
            )
            return out

        return run, ok
    return sdpa(impl, dtype, batch, heads, kv_heads, 1, context, width)


def kv_append(impl, dtype, batch, kv_heads, context, width):
    new, cache = (
        rand(batch, kv_heads, 1, width, dtype=dtype),
        rand(batch, kv_heads, context, width, dtype=dtype),
    )
    at = context // 2
    if impl == "index_copy":
        index = torch.tensor([at], device="cuda")
        run = lambda: cache.index_copy_(2, index, new)  # noqa: E731
    elif impl == "copy":
        run = lambda: cache[:, :, at : at + 1].copy_(new)  # noqa: E731
    else:
        new2, cache2 = rand(batch, kv_heads, 1, width, dtype=dtype), torch.empty_like(cache)

        def run():
            check(
                LIB.launch_kv_append(
                    ptr(new),
                    ptr(new2),
                    ptr(cache),
                    ptr(cache2),
                    batch * kv_heads,
                    context,
                    width,
                    at,
                )
            )

    return run, lambda _: bool((cache[:, :, at] == new[:, :, 0]).all())


# Points -------------------------------------------------------------------------------------------


def points():
    def add(operator, impl, make, counted=False, **p):
        name = f"{operator} {impl} " + " ".join(f"{k}={v}" for k, v in p.items())
        # The split is by the name, before any time is seen.
        use = "validation" if hashlib.sha256(name.encode()).digest()[0] & 1 else "fit"
        found.append(
            {
                "operator": operator,
                "impl": impl,
                "make": make,
                "p": p,
                "use": use,
                "counted": counted,
            }
        )

    found = []
    rows = {
        64: (32768, 262144),
        128: (64, 4096, 131072),
        256: (8, 1024, 32768),
        512: (64, 4096, 65536),
        768: (512, 16384),
        1024: (1, 128, 2048, 32768),
        2048: (64, 1024, 16384),
        4096: (1, 32, 256, 4096, 32768),
        8192: (16, 512, 8192),
        16384: (132, 2048),
        32768: (8, 64, 1024, 8192),
        131072: (1, 16, 256),
        32000: (1, 32),
    }
    wanted = {
        (4096, 4096),
        (1024, 2048),
        (1024, 1024),
        (32768, 64),
        (16384, 132),
        (32768, 1024),
        (512, 4096),
    }
    for columns, some in rows.items():
        for r in some:
            for dtype in ("fp16", "fp32"):
                if r * columns <= 1 << 28:
                    add(
                        "softmax",
                        "torch",
                        softmax,
                        (columns, r) in wanted,
                        dtype=dtype,
                        rows=r,
                        columns=columns,
                    )
    rows = {
        128: (64, 4096, 131072),
        256: (1024,),
        512: (64, 8192, 131072),
        768: (1, 512, 16384),
        1024: (128, 2048, 32768),
        2048: (64, 1024, 16384),
        4096: (1, 32, 256, 2048, 4096, 32768),
        5120: (1, 512, 8192),
        8192: (1, 64, 1024, 8192),
        16384: (132, 2048),
    }
    wanted = {(4096, 4096), (1024, 2048), (512, 8192), (8192, 1024), (4096, 1)}
    for columns, some in rows.items():
        for r in some:
            for dtype in ("fp16", "fp32"):
                add(
                    "layernorm",
                    "torch",
                    layernorm,
                    (columns, r) in wanted,
                    dtype=dtype,
                    rows=r,
                    columns=columns,
                )
    wanted = {(32000, 1), (32000, 256), (128256, 16)}
    for columns in (4096, 32000, 50304, 128256):
        for r in (1, 4, 16, 64, 256, 1024):
            for dtype in ("fp16", "fp32"):
                add(
                    "argmax",
                    "torch",
                    argmax,
                    (columns, r) in wanted,
                    dtype=dtype,
                    rows=r,
                    columns=columns,
                )
    shapes = [
        (512, 512),
        (1024, 1024),
        (2048, 2048),
        (4096, 1024),
        (1024, 4096),
        (4096, 4096),
        (11008, 4096),
        (4096, 11008),
        (16384, 4096),
        (4096, 16384),
        (8192, 8192),
        (28672, 8192),
        (8192, 28672),
        (32000, 4096),
        (14336, 4096),
        (3072, 768),
        (6144, 6144),
        (12288, 4096),
        (16384, 16384),
    ]
    wanted = {(4096, 4096), (11008, 4096), (4096, 11008), (1024, 1024), (16384, 16384)}
    for r, columns in shapes:
        for dtype in ("fp16", "bf16", "fp32"):
            add(
                "ffn-gemv",
                "torch",
                linear,
                (r, columns) in wanted,
                dtype=dtype,
                rows=r,
                columns=columns,
            )
        add(
            "ffn-gemv",
            "own",
            gemv_own,
            (r, columns) in wanted,
            dtype="fp16",
            rows=r,
            columns=columns,
        )
    wanted = {
        (1, 32, 32, 4096, 128),
        (1, 32, 32, 512, 128),
        (8, 32, 32, 4096, 128),
        (1, 32, 8, 16384, 128),
    }
    for b, h, g, s, d in [
        (1, 32, 32, 128, 128),
        (1, 32, 32, 512, 128),
        (1, 32, 32, 1024, 128),
        (1, 32, 32, 2048, 128),
        (1, 32, 32, 4096, 128),
        (1, 32, 32, 8192, 128),
        (1, 32, 32, 32768, 128),
        (1, 32, 32, 131072, 128),
        (8, 32, 32, 512, 128),
        (8, 32, 32, 4096, 128),
        (32, 32, 32, 1024, 128),
        (32, 32, 32, 4096, 128),
        (1, 32, 8, 4096, 128),
        (1, 32, 8, 16384, 128),
        (16, 32, 8, 4096, 128),
        (64, 32, 8, 2048, 128),
        (1, 8, 8, 1024, 64),
        (1, 12, 12, 4096, 64),
        (16, 12, 12, 2048, 64),
        (64, 16, 16, 4096, 64),
        (1, 8, 8, 16384, 128),
    ]:
        c = (b, h, g, s, d) in wanted
        shape = dict(batch=b, heads=h, kv_heads=g, context=s, width=d)
        for impl in ("flash", "efficient", "cudnn"):
            if (impl == "efficient" and h != g) or (
                impl == "cudnn" and (b > 1 or h != g or d != 128)
            ):
                continue
            make = lambda impl=impl, **p: decode(impl, **p)  # noqa: E731
            add("decode-attention", impl, make, c and impl == "flash", dtype="fp16", **shape)
        for blocks in (2, 8):  # blocks an SM, about
            step = 32 if d == 128 else 64
            part = max(step, -(-(s * b * h) // (132 * blocks) // step) * step)
            make = lambda **p: decode("own", **p)  # noqa: E731
            add(
                "decode-attention", "own", make, c and blocks == 8, dtype="fp16", **shape, part=part
            )
    wanted = {(1, 32, 2048, 128, 0), (1, 32, 512, 128, 0), (1, 32, 2048, 128, 1)}
    for b, h, s, d in [
        (1, 32, 128, 128),
        (1, 32, 256, 128),
        (1, 32, 512, 128),
        (1, 32, 1024, 128),
        (1, 32, 2048, 128),
        (1, 32, 4096, 128),
        (1, 32, 8192, 128),
        (4, 32, 512, 128),
        (4, 32, 2048, 128),
        (1, 8, 1024, 64),
        (1, 12, 4096, 64),
        (8, 12, 1024, 64),
        (16, 16, 2048, 64),
        (1, 8, 4096, 128),
    ]:
        for causal in (0, 1):
            c = (b, h, s, d, causal) in wanted
            for impl in ("flash", "cudnn", "matmul"):
                if impl == "matmul" and (causal or b * h * s * s > 1 << 30):
                    continue
                if impl == "cudnn" and (causal or d != 128):
                    continue
                make = lambda impl=impl, **p: prefill(impl, **p)  # noqa: E731
                add(
                    "prefill-attention",
                    impl,
                    make,
                    c and impl != "cudnn",
                    dtype="fp16",
                    batch=b,
                    heads=h,
                    tokens=s,
                    width=d,
                    causal=causal,
                )
    for h, s in [
        (8, 128),
        (8, 256),
        (8, 512),
        (8, 1024),
        (32, 256),
        (32, 512),
        (2, 1024),
        (2, 2048),
        (1, 512),
        (4, 768),
    ]:
        make = lambda **p: prefill("own-naive", **p)  # noqa: E731
        add(
            "prefill-attention",
            "own-naive",
            make,
            (h, s) in {(8, 512), (32, 512)},
            dtype="fp16",
            batch=1,
            heads=h,
            tokens=s,
            width=128,
            causal=0,
        )
    for b, h, s, d in [
        (1, 8, 4096, 64),
        (1, 32, 4096, 128),
        (1, 32, 65536, 128),
        (1, 8, 8192, 128),
        (8, 32, 4096, 128),
        (32, 32, 2048, 128),
        (64, 8, 4096, 128),
        (128, 32, 1024, 128),
        (256, 8, 4096, 128),
        (16, 12, 4096, 64),
    ]:
        for impl in ("index_copy", "copy", "own"):
            make = lambda impl=impl, **p: kv_append(impl, **p)  # noqa: E731
            add(
                "kv-append",
                impl,
                make,
                (b, h, s) in {(1, 32, 4096), (128, 32, 1024)},
                dtype="fp16",
                batch=b,
                kv_heads=h,
                context=s,
                width=d,
            )
    return found


# Timing -------------------------------------------------------------------------------------------


def flush():
    check(LIB.launch_flush(ptr(FLUSH), ctypes.c_int64(FLUSH.numel() * 4)))


def by_events(run, cold):
    times = []
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if cold:
            flush()
        torch.cuda._sleep(300_000)  # about 150 us: the host has put everything in the queue by then
        begin.record()
        run()
        end.record()
        times.append((begin, end))
    torch.cuda.synchronize()
    times = [b.elapsed_time(e) * 1e3 for b, e in times]
    return median(times), (max(times) - min(times)) / median(times)


def clock():
    text = subprocess.run(
        [
            "nvidia-smi",
            "--query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw",
            "--format=csv,noheader,nounits",
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return text


def sequences(events):
    """Kernel records between markers: [point][repetition] -> records, flushes left out."""
    found = []
    for e in events:
        name = e["name"]
        if "pm_point" in name:
            found.append([])
        elif "pm_rep" in name:
            found[-1].append([])
        elif "pm_flush" in name or not found or not found[-1]:
            continue
        else:
            found[-1][-1].append(e)
    return found


def main():
    every = points()
    torch.manual_seed(int(time.time()))
    rows, kernels, failed = [], [], []
    print(
        f"{len(every)} points; {sum(p['use'] == 'validation' for p in every)} validation",
        flush=True,
    )
    if COUNT:
        for i, point in enumerate(every):
            if not point["counted"]:
                continue
            try:
                run, _ = point["make"](**point["p"])
                run()
                torch.cuda.synchronize()
                torch.cuda.profiler.start()
                check(LIB.launch_point())
                run()
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
                print(
                    f"COUNTED {i}",
                    point["operator"],
                    point["impl"],
                    json.dumps(point["p"]),
                    flush=True,
                )
            except Exception as error:
                torch.cuda.profiler.stop()
                print(
                    "FAILED",
                    i,
                    point["operator"],
                    point["impl"],
                    point["p"],
                    repr(error)[:200],
                    flush=True,
                )
        return
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    for _ in range(300):
        a @ a
    torch.cuda.synchronize()
    started = time.time()
    clocks = [clock()]
    size = 40
    for at in range(0, len(every), size):
        done = []
        torch.cuda.empty_cache()
        activity = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        prepared = []
        for i, point in enumerate(every[at : at + size], at):
            try:
                run, ok = point["make"](**point["p"])
                for _ in range(3):
                    y = run()
                right = bool(ok(y))
                del y
                timed = {cold: by_events(run, cold) for cold in (False, True)}
                prepared.append((i, point, right, timed))
                del run, ok
            except Exception as error:
                failed.append((i, point["operator"], point["impl"], point["p"], repr(error)[:300]))
        try:
            with activity as prof:
                for i, point, right, timed in prepared:
                    run, ok = point["make"](**point["p"])
                    del ok
                    run()
                    run()
                    for cold in (False, True):
                        check(LIB.launch_point())
                        for _ in range(REPEATS):
                            if cold:
                                flush()
                            check(LIB.launch_rep())
                            run()
                        done.append((i, point, right, timed[cold], cold))
                    del run
                    torch.cuda.synchronize()
                check(LIB.launch_point())
                torch.cuda.synchronize()
            path = "/tmp/trace.json"
            prof.export_chrome_trace(path)
            trace = json.load(open(path))["traceEvents"]
            os.remove(path)
        except Exception as error:
            failed.append((at, "profile", "", {}, repr(error)[:300]))
            trace = []
        events = sorted(
            (e for e in trace if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
            key=lambda e: e["ts"],
        )
        found = sequences(events)
        if len(found) != len(done) + 1:
            failed.append((at, "profile", f"{len(found)} sequences for {len(done)} runs", {}, ""))
        clocks.append(clock())
        for (i, point, right, (time_us, spread), cold), reps in zip(done, found):
            # The first launches of a run are followed by data that the next point makes: leave those out.
            lengths = [len(r) for r in reps]
            usual = max(set(lengths), key=lengths.count) if lengths else 0
            reps = [r[:usual] for r in reps if len(r) >= usual]
            base = {
                "operator": point["operator"],
                "impl": point["impl"],
                **point["p"],
                "use": point["use"],
                "cache": "cold" if cold else "warm",
                "point": i,
                "repeats": REPEATS,
                "right": int(right),
            }
            sums = [sum(e["dur"] for e in r) for r in reps]
            rows.append(
                base
                | {
                    "timing": "events",
                    "time_us": f"{time_us:.3f}",
                    "spread": f"{spread:.4f}",
                    "kernels": usual,
                }
            )
            if sums and usual:
                m = median(sums)
                rows.append(
                    base
                    | {
                        "timing": "profiler",
                        "time_us": f"{m:.3f}",
                        "spread": f"{(max(sums) - min(sums)) / m:.4f}",
                        "kernels": usual,
                    }
                )
                for n in range(usual):
                    e = reps[-1][n]
                    g = e.get("args", {})
                    kernels.append(
                        {
                            "point": i,
                            "cache": base["cache"],
                            "number": n,
                            "time_us": f"{median(r[n]['dur'] for r in reps):.3f}",
                            "grid": "x".join(map(str, g.get("grid", []))),
                            "block": "x".join(map(str, g.get("block", []))),
                            "registers": g.get("registers per thread", ""),
                            "shared_bytes": g.get("shared memory", ""),
                            "bytes": g.get("bytes", ""),
                            "kernel": e["name"],
                        }
                    )
        print(at, f"{time.time() - started:.1f} s", clocks[-1], len(failed), "failed", flush=True)
        write(rows, kernels, failed, clocks)
        if time.time() - started > 170:
            failed.append((at, "stopped for time", "", {}, ""))
            break
    write(rows, kernels, failed, clocks)


def write(rows, kernels, failed, clocks):
    order = [
        "operator",
        "impl",
        "dtype",
        "rows",
        "columns",
        "batch",
        "heads",
        "kv_heads",
        "tokens",
        "context",
        "width",
        "causal",
        "part",
        "use",
        "timing",
        "cache",
        "repeats",
        "time_us",
        "spread",
        "kernels",
        "right",
        "point",
    ]
    with open(f"{OUT}/operators.csv", "w", newline="") as file:
        w = csv.DictWriter(file, order, restval="")
        w.writeheader()
        w.writerows(rows)
    if kernels:
        with open(f"{OUT}/launches.csv", "w", newline="") as file:
            w = csv.DictWriter(file, list(kernels[0]))
            w.writeheader()
            w.writerows(kernels)
    with open(f"{OUT}/failed.txt", "w") as file:
        file.writelines(f"{f}\n" for f in failed)
    with open(f"{OUT}/clocks.txt", "w") as file:
        file.writelines(f"{c}\n" for c in clocks)


with torch.no_grad():
    main()
