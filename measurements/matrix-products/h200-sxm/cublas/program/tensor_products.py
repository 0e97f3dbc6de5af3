"""Products through the vendor library: kernel times by CUPTI, warm and cold, and between events."""

import csv
import json
import os
import statistics
import sys
import time

import cupy
import tensor_shapes as shapes
import torch
from torch.nn.functional import linear
from torch.profiler import ProfilerActivity, profile

OUT = os.environ["OUT"]
SOURCE = r"""
extern "C" __global__ void mark_clock(long long ns, float* mhz, int place) {
  unsigned long long t0, t1; long long c0, c1;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0) :: "memory");
  unsigned long long t = t0;
  while (t == t0) asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t) :: "memory");
  c0 = clock64(); t0 = t;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t1) :: "memory");
  } while (t1 - t0 < (unsigned long long)ns);
  c1 = clock64();
  mhz[place] = float(double(c1 - c0) * 1000.0 / double(t1 - t0));
}
extern "C" __global__ void sweep_l2(const uint4* in, unsigned long long n, unsigned* out) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned s = 0;
  const unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned long long i = first; i < n; i += step) {
    const uint4 v = in[i];
    s ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (s == 0x12345679u) out[0] = s;
}
"""
module = cupy.RawModule(code=SOURCE)
mark_kernel, sweep_kernel = module.get_function("mark_clock"), module.get_function("sweep_l2")
torch.manual_seed(1)
torch.cuda.init()
stream = torch.cuda.Stream()
torch.cuda.set_stream(stream)
external = cupy.cuda.ExternalStream(stream.cuda_stream)
external.use()
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")
CLOCKS = torch.zeros(1 << 16, dtype=torch.float32, device="cuda")
SMS = torch.cuda.get_device_properties(0).multi_processor_count


def mark(place, ns=6000):
    """Read the SM clock for some time."""
    mark_kernel((1,), (1,), (cupy.int64(ns), cupy.uint64(CLOCKS.data_ptr()), cupy.int32(place)))


def sweep():
    """Read a buffer far larger than L2."""
    sweep_kernel(
        (4 * SMS,),
        (512,),
        (
            cupy.uint64(FLUSH.data_ptr()),
            cupy.uint64(FLUSH.numel() // 4),
            cupy.uint64(FLUSH.data_ptr()),
        ),
    )


def product(op, dtype, m, n, k, kind="randn"):
    """Return a function that launches, and one that checks its result."""

    def made(*size):
        if kind == "randn":
            return torch.randn(size, device="cuda")
        if kind == "uniform":
            return torch.rand(size, device="cuda")
        if kind == "zeros":
            return torch.zeros(size, device="cuda")
        if kind == "ones":
            return torch.ones(size, device="cuda")
        if kind == "integers":
            return torch.randint(-2, 3, size, device="cuda").float()
        if kind == "half-zeros":
            return torch.randn(size, device="cuda") * (torch.rand(size, device="cuda") < 0.5)
        raise ValueError(kind)

    types = {
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
        "tf32": torch.float32,
        "fp8": torch.float8_e4m3fn,
    }
    t = types[dtype]
    a = made(m, k).to(t)
    if dtype == "fp8":
        b = made(n, k).to(t).t()
        one = torch.ones((), device="cuda")

        def run():
            return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    elif op == "linear":
        w = made(n, k).to(t)
        b = w.t()

        def run():
            return linear(a, w)
    else:
        b = made(k, n).to(t)

        def run():
            return torch.matmul(a, b)

    def check():
        c = run()[:2, :16].float()
        r = a[:2].float().double() @ b[:, :16].float().double()
        return float((c - r).abs().max() / r.abs().max().clamp(min=1e-6)) < (
            0.02 if dtype != "tf32" else 0.005
        )

    return run, check


def groups_of(trace):
    """Return lists of what ran after each mark, in order; work that is ours is left out."""
    events = [
        e for e in trace["traceEvents"] if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")
    ]
    events.sort(key=lambda e: e["ts"])
    found = []
    for e in events:
        if "mark_clock" in e["name"]:
            found.append([])
        elif "sweep_l2" in e["name"]:
            found.append(None)
        elif found and found[-1] is not None:
            found[-1].append(e)
    return [g for g in found if g is not None]


def long(event):
    """Return how long a kernel took [us]."""
    return event["dur"]


def durations(groups):
    """Return each group's span and its kernels' times summed."""
    span = [g[-1]["ts"] + g[-1]["dur"] - g[0]["ts"] for g in groups]
    total = [sum(e["dur"] for e in g) for g in groups]
    return span, total


FIELDS = [
    "group",
    "use",
    "op",
    "dtype",
    "m",
    "n",
    "k",
    "checked",
    "repeats",
    "warm_us",
    "warm_min_us",
    "warm_max_us",
    "warm_span_us",
    "cold_us",
    "cold_min_us",
    "cold_max_us",
    "cold_span_us",
    "events_us",
    "events_min_us",
    "warm_clock_mhz",
    "cold_clock_mhz",
    "kernels",
    "kernel",
    "grid",
    "block",
    "registers",
    "shared_bytes",
    "main_us",
    "others",
    "others_us",
]


def measure(cases, path, limit):
    """Write a row for each case, until the time is up."""
    begun = time.time()
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for at in range(0, len(cases), 40):
            if time.time() - begun > limit:
                print("out of time at", at, "of", len(cases), flush=True)
                break
            chunk(cases[at : at + 40], out)
            file.flush()
    print(path, "took", time.time() - begun, flush=True)


def chunk(cases, out):
    """Measure some cases under one profiler."""
    plan, place = [], 0
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for case in cases:
            group, op, dtype, m, n, k = case
            try:
                run, check = product(op, dtype, m, n, k)
                ok = check()
                torch.cuda.synchronize()
                guess = 2 * m * n * k / 3e14 * (8 if dtype == "tf32" else 1) + 1e-5
                warm, cold = (7, 5) if guess < 3e-3 else (5, 3)
                first = place
                for _ in range(warm + 2):
                    mark(place)
                    run()
                    place += 1
                for _ in range(cold):
                    sweep()
                    mark(place)
                    run()
                    place += 1
                mark(place)
                place += 1
                begin = [torch.cuda.Event(enable_timing=True) for _ in range(warm)]
                end = [torch.cuda.Event(enable_timing=True) for _ in range(warm)]
                torch.cuda.synchronize()
                plan.append((case, ok, warm, cold, first, None))
                mark(65535, 100000)
                for b, e in zip(begin, end, strict=False):
                    mark(65535, 25000)
                    b.record(stream)
                    run()
                    e.record(stream)
                torch.cuda.synchronize()
                plan[-1] = (
                    *plan[-1][:-1],
                    [b.elapsed_time(e) * 1000.0 for b, e in zip(begin, end, strict=False)],
                )
                place += warm + 1  # marks that the trace has too
            except Exception as error:
                print("failed", case, repr(error)[:200], flush=True)
                torch.cuda.synchronize()
                break  # the marks no longer agree: what was planned before is kept
            finally:
                run = check = None
        torch.cuda.synchronize()
    name = f"/tmp/trace-{os.getpid()}.json"
    p.export_chrome_trace(name)
    with open(name) as file:
        groups = groups_of(json.load(file))
    os.remove(name)
    clocks = CLOCKS.cpu().tolist()
    if len(groups) != place:
        print("marks", place, "groups", len(groups), flush=True)
    for (group, op, dtype, m, n, k), ok, warm, cold, first, events in plan:
        w, c = (
            groups[first + 2 : first + 2 + warm],
            groups[first + 2 + warm : first + 2 + warm + cold],
        )
        if not all(w) or not all(c):
            print("empty group", m, n, k, [len(g) for g in w + c], flush=True)
            continue
        (ws, wt), (cs, ct) = durations(w), durations(c)
        last = w[-1]
        main = max((e for e in last if e["cat"] == "kernel"), key=lambda e: e["dur"])
        others = [e for e in last if e is not main]
        mid = statistics.median
        out.writerow(
            {
                "group": group,
                "use": shapes.use(m, n, k),
                "op": op,
                "dtype": dtype,
                "m": m,
                "n": n,
                "k": k,
                "checked": int(ok),
                "repeats": f"{warm}/{cold}",
                "warm_us": f"{mid(wt):.3f}",
                "warm_min_us": f"{min(wt):.3f}",
                "warm_max_us": f"{max(wt):.3f}",
                "warm_span_us": f"{mid(ws):.3f}",
                "cold_us": f"{mid(ct):.3f}",
                "cold_min_us": f"{min(ct):.3f}",
                "cold_max_us": f"{max(ct):.3f}",
                "cold_span_us": f"{mid(cs):.3f}",
                "events_us": f"{mid(events):.3f}",
                "events_min_us": f"{min(events):.3f}",
                # the mark after a launch reads the clock that it left
                "warm_clock_mhz": f"{mid(clocks[first + 3 : first + 3 + warm]):.0f}",
                "cold_clock_mhz": f"{mid(clocks[first + 3 + warm : first + 3 + warm + cold]):.0f}",
                "kernels": len(last),
                "kernel": main["name"],
                "grid": "x".join(map(str, main["args"]["grid"])),
                "block": "x".join(map(str, main["args"]["block"])),
                "registers": main["args"].get("registers per thread"),
                "shared_bytes": main["args"].get("shared memory"),
                "main_us": f"{mid([max(e['dur'] for e in g) for g in w]):.3f}",
                "others": ";".join(e["name"][:90] for e in others),
                "others_us": f"{mid([sum(map(long, sorted(g, key=long)[:-1])) for g in w]):.3f}",
            }
        )


def power(path):
    """Record what the clock does under long runs of a product, by its operands."""
    import pynvml

    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                "dtype",
                "m",
                "n",
                "k",
                "data",
                "launch",
                "since_start_ms",
                "time_us",
                "clock_mhz",
                "power_w",
                "limit_w",
                "reasons",
            ]
        )
        limit = pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3
        cases = [
            ("bf16", 8192, 8192, 8192, d, 0.5)
            for d in ("randn", "uniform", "integers", "half-zeros", "ones", "zeros")
        ]
        cases += [
            ("bf16", 4096, 4096, 4096, "randn", 0.3),
            ("bf16", 8192, 16384, 16384, "randn", 0.5),
            ("bf16", 8192, 8192, 1024, "randn", 0.3),
            ("bf16", 2048, 2048, 8192, "randn", 0.3),
            ("fp16", 8192, 8192, 8192, "randn", 0.4),
            ("fp8", 8192, 8192, 8192, "randn", 0.4),
            ("fp8", 8192, 8192, 8192, "zeros", 0.3),
            ("tf32", 8192, 8192, 8192, "randn", 0.4),
            ("bf16", 64, 16384, 16384, "randn", 0.3),
        ]
        for dtype, m, n, k, data, seconds in cases:
            try:
                run, _check = product("linear", dtype, m, n, k, data)
                run()
                torch.cuda.synchronize()
                time.sleep(0.4)
                begun, place, _rows = time.time(), 0, []
                begin = [torch.cuda.Event(enable_timing=True) for _ in range(4000)]
                end = [torch.cuda.Event(enable_timing=True) for _ in range(4000)]
                mark(65000, 50000)
                watts, why = [], []
                while time.time() - begun < seconds and place < 4000:
                    for _ in range(20):
                        if place >= 4000:
                            break
                        begin[place].record(stream)
                        run()
                        end[place].record(stream)
                        mark(place, 4000)
                        place += 1
                    if place > 40:
                        end[place - 41].synchronize()
                    watts.append((place, pynvml.nvmlDeviceGetPowerUsage(gpu) / 1e3))
                    why.append(
                        (
                            place,
                            pynvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
                            if hasattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons")
                            else pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu),
                        )
                    )
                torch.cuda.synchronize()
                clocks = CLOCKS[:place].cpu().tolist()
                keep = [*range(min(20, place)), *range(20, place, max(1, place // 60))]
                for i in keep:
                    w = next((x for at, x in watts if at > i), watts[-1][1])
                    r = next((x for at, x in why if at > i), why[-1][1])
                    out.writerow(
                        [
                            dtype,
                            m,
                            n,
                            k,
                            data,
                            i,
                            f"{begin[0].elapsed_time(begin[i]):.2f}",
                            f"{begin[i].elapsed_time(end[i]) * 1e3:.2f}",
                            f"{clocks[i]:.0f}",
                            f"{w:.0f}",
                            f"{limit:.0f}",
                            hex(r),
                        ]
                    )
                file.flush()
            except Exception as error:
                print("power failed", dtype, m, n, k, data, repr(error)[:300], flush=True)


def counted():
    """Run products under the profiler, one launch each."""
    rng = shapes.random.Random(3)
    chosen = [
        (m, n, k)
        for m, n, k in [
            (8192, 8192, 8192),
            (8192, 16384, 16384),
            (4096, 4096, 4096),
            (2048, 2048, 2048),
            (1024, 1024, 1024),
            (512, 512, 16384),
            (128, 512, 16384),
            (64, 4096, 4096),
            (16, 16384, 4096),
            (1, 8192, 8192),
            (256, 8192, 8192),
            (8192, 512, 512),
            (2047, 4097, 4095),
            (8192, 1024, 16384),
            (4096, 16384, 512),
            (3000, 3000, 3000),
            (33, 11008, 4096),
            (1000, 14336, 4096),
        ]
    ]
    chosen += [
        r[1:]
        for r in rng.sample(
            [r for r in shapes.main_shapes() if r[0] == "random" and shapes.use(*r[1:]) == "fit"],
            14,
        )
    ]
    for m, n, k in chosen:
        run, _ = product(shapes.op(m, n, k), "bf16", m, n, k)
        run()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push(f"{shapes.op(m, n, k)} {m} {n} {k}")
        torch.cuda.profiler.start()
        run()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        torch.cuda.nvtx.range_pop()
        print("COUNTED", shapes.op(m, n, k), m, n, k, flush=True)


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = True
    what = sys.argv[1]
    if what == "bf16":
        cases = [(g, shapes.op(m, n, k), "bf16", m, n, k) for g, m, n, k in shapes.main_shapes()]
        other = {"linear": "matmul", "matmul": "linear"}
        both = [
            (g, other[o], d, m, n, k) for g, o, d, m, n, k in cases if (m * 7 + n * 3 + k) % 4 == 0
        ]
        measure(cases + both, f"{OUT}/bf16.csv", 110)
    elif what == "other":
        cases = [
            (g, "linear", d, m, n, k)
            for d in ("fp16", "tf32", "fp8")
            for g, m, n, k in shapes.other_shapes()
        ]
        measure(cases, f"{OUT}/other.csv", 40)
    elif what == "fresh":
        fresh = shapes.fresh_shapes()
        cases = [(g, shapes.op(m, n, k), "bf16", m, n, k) for g, m, n, k in fresh]
        measure(cases, f"{OUT}/fresh.csv", 60)
    elif what == "narrow":
        cases = [(g, shapes.op(m, n, k), "bf16", m, n, k) for g, m, n, k in shapes.narrow_shapes()]
        measure(cases, f"{OUT}/narrow.csv", 42)
        cases = [(g, "linear", "tf32", m, n, k) for g, m, n, k in shapes.tf32_shapes()]
        measure(cases, f"{OUT}/tf32.csv", 10)
    elif what == "power":
        power(f"{OUT}/power.csv")
    else:
        counted()
