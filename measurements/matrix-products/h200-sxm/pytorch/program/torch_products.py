# ruff: noqa: B905, D103, E401, E501, E731, I001, SIM115, SIM905
"""Products of all types and batches through torch: kernel times by CUPTI, warm and cold, and between events."""

import csv, hashlib, json, math, os, random, statistics, sys, time
import cupy, torch
from torch.profiler import ProfilerActivity, profile

OUT = os.environ["OUT"]
SOURCE = r"""
extern "C" __global__ void mark_clock(long long ns, float* mhz, int place) {
  unsigned long long t0, t1; long long c0, c1;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0) :: "memory");
  unsigned long long t = t0;
  while (t == t0) asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t) :: "memory");
  c0 = clock64(); t0 = t;
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t1) :: "memory"); } while (t1 - t0 < (unsigned long long)ns);
  c1 = clock64();
  mhz[place] = float(double(c1 - c0) * 1000.0 / double(t1 - t0));
}
extern "C" __global__ void sweep_l2(const uint4* in, unsigned long long n, unsigned* out) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned s = 0;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint4 v = in[i]; s ^= v.x ^ v.y ^ v.z ^ v.w; }
  if (s == 0x12345679u) out[0] = s;
}
"""
module = cupy.RawModule(code=SOURCE)
mark_kernel, sweep_kernel = module.get_function("mark_clock"), module.get_function("sweep_l2")
torch.manual_seed(1)
stream = torch.cuda.Stream()
torch.cuda.set_stream(stream)
external = cupy.cuda.ExternalStream(stream.cuda_stream)
external.use()
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")
CLOCKS = torch.zeros(1 << 16, dtype=torch.float32, device="cuda")


def mark(place, ns=6000):
    mark_kernel((1,), (1,), (cupy.int64(ns), cupy.uint64(CLOCKS.data_ptr()), cupy.int32(place)))


def sweep():
    sweep_kernel(
        (528,),
        (512,),
        (
            cupy.uint64(FLUSH.data_ptr()),
            cupy.uint64(FLUSH.numel() // 4),
            cupy.uint64(FLUSH.data_ptr()),
        ),
    )


TYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "tf32": torch.float32,
    "fp32": torch.float32,
}


def product(op, dtype, batch, m, n, k):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    lead = () if batch == 0 else (batch,)
    a = torch.randn(*lead, m, k, device="cuda").to(TYPES[dtype])
    b = torch.randn(*lead, *((n, k) if op == "linear" else (k, n)), device="cuda").to(TYPES[dtype])
    right = b.transpose(-1, -2) if op == "linear" else b
    if batch == 0 and op == "linear":
        run = lambda: torch.nn.functional.linear(a, b)
    else:
        run = lambda: torch.matmul(a, right)

    def check():
        c, x, y = (t[0] if batch else t for t in (run(), a, right))
        r = x[:2].double() @ y[:, :16].double()
        return float((c[:2, :16].double() - r).abs().max() / r.abs().max()) < 0.02

    return run, check


def use(*size):
    return (
        "validation"
        if hashlib.sha256(",".join(map(str, size)).encode()).digest()[0] < 115
        else "fit"
    )


def logu(r, lo, hi, mult):
    return int(
        min(max(round(math.exp(r.uniform(math.log(lo), math.log(hi))) / mult) * mult, mult), hi)
    )


def cases(kind):
    r, found = random.Random(kind), []

    def add(dtype, batch, m, n, k):
        op = (
            "linear"
            if hashlib.sha256(f"op {batch},{m},{n},{k}".encode()).digest()[0] < 128
            else "matmul"
        )
        c = (op, dtype, batch, m, n, k)
        if c not in found:
            found.append(c)

    if kind == "fp32":
        for s in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
            add("fp32", 0, s, s, s)
        for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024):
            for n, k in ((4096, 4096), (1024, 1024), (11008, 4096), (768, 3072), (3072, 768)):
                add("fp32", 0, m, n, k)
        for _ in range(110):
            mult = r.choice([1, 2, 4, 4, 8, 16, 32, 64])
            m, n, k = (
                logu(r, 1, 4096, 1 if r.random() < 0.5 else mult),
                logu(r, 128, 8192, mult),
                logu(r, 128, 8192, mult),
            )
            if 2 * m * n * k < 3e11:
                add("fp32", 0, m, n, k)
    elif kind == "batched":
        for b in (8, 32, 64, 256):
            for s in (
                (64, 64, 64),
                (128, 128, 128),
                (256, 256, 256),
                (512, 512, 64),
                (512, 64, 512),
                (1024, 1024, 128),
            ):
                for d in ("bf16", "fp32"):
                    add(d, b, *s)
        for _ in range(110):
            mult = r.choice([8, 8, 16, 32, 64, 64])
            d = r.choice(["bf16", "bf16", "fp16", "fp32", "tf32"])
            b, m, n, k = (
                logu(r, 2, 512, 1),
                logu(r, 1, 2048, r.choice([1, mult])),
                logu(r, 16, 2048, mult),
                logu(r, 16, 2048, mult),
            )
            if (
                2 * b * m * n * k < (2e11 if d in ("fp32", "tf32") else 1e12)
                and b * (m * n + n * k + m * k) < 6e8
            ):
                add(d, b, m, n, k)
    else:
        for d in ("tf32", "fp16"):
            for m in (1, 8, 32, 128, 512, 2048):
                for n, k in ((4096, 4096), (1024, 1024), (11008, 4096), (768, 3072)):
                    add(d, 0, m, n, k)
            for _ in range(50):
                mult = r.choice([8, 8, 16, 32, 64, 128])
                add(
                    d,
                    0,
                    logu(r, 1, 4096, 1 if r.random() < 0.5 else mult),
                    logu(r, 256, 8192, mult),
                    logu(r, 256, 8192, mult),
                )
    return found


def groups_of(trace):
    events = sorted(
        (e for e in trace["traceEvents"] if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")),
        key=lambda e: e["ts"],
    )
    found = []
    for e in events:
        if "mark_clock" in e["name"]:
            found.append([])
        elif "sweep_l2" in e["name"]:
            found.append(None)
        elif found and found[-1] is not None:
            found[-1].append(e)
    return [g for g in found if g is not None]


FIELDS = "use,op,dtype,batch,m,n,k,checked,warm_us,warm_min_us,warm_max_us,cold_us,cold_min_us,cold_max_us,events_us,warm_clock_mhz,kernels,kernel,grid,block,registers,shared_bytes,main_us,others".split(
    ","
)


def chunk(cs, out):
    plan, place = [], 0
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for case in cs:
            run, check = product(*case)
            ok = check()
            torch.cuda.synchronize()
            warm, cold, first = 7, 5, place
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
            ev = [
                (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                for _ in range(warm)
            ]
            mark(65535, 100000)
            for b, e in ev:
                mark(65535, 25000)
                b.record(stream)
                run()
                e.record(stream)
            torch.cuda.synchronize()
            plan.append((case, ok, warm, cold, first, [b.elapsed_time(e) * 1e3 for b, e in ev]))
            place += warm + 1
        torch.cuda.synchronize()
    name = f"/tmp/trace-{os.getpid()}.json"
    p.export_chrome_trace(name)
    groups = groups_of(json.load(open(name)))
    os.remove(name)
    clocks = CLOCKS.cpu().tolist()
    if len(groups) != place:
        print("marks", place, "groups", len(groups), flush=True)
    mid = statistics.median
    for (op, dtype, batch, m, n, k), ok, warm, cold, first, events in plan:
        w, c = (
            groups[first + 2 : first + 2 + warm],
            groups[first + 2 + warm : first + 2 + warm + cold],
        )
        if not all(w) or not all(c):
            print("empty", op, dtype, batch, m, n, k)
            continue
        wt, ct = [sum(e["dur"] for e in g) for g in w], [sum(e["dur"] for e in g) for g in c]
        last = w[-1]
        main = max((e for e in last if e["cat"] == "kernel"), key=lambda e: e["dur"])
        out.writerow(
            dict(
                zip(
                    FIELDS,
                    (
                        use(batch, m, n, k),
                        op,
                        dtype,
                        batch,
                        m,
                        n,
                        k,
                        int(ok),
                        *(
                            f"{x:.3f}"
                            for x in (
                                mid(wt),
                                min(wt),
                                max(wt),
                                mid(ct),
                                min(ct),
                                max(ct),
                                mid(events),
                            )
                        ),
                        f"{mid(clocks[first + 3 : first + 3 + warm]):.0f}",
                        len(last),
                        main["name"],
                        "x".join(map(str, main["args"]["grid"])),
                        "x".join(map(str, main["args"]["block"])),
                        main["args"].get("registers per thread"),
                        main["args"].get("shared memory"),
                        f"{mid([max(e['dur'] for e in g) for g in w]):.3f}",
                        ";".join(e["name"][:80] for e in last if e is not main),
                    ),
                )
            )
        )


begun = time.time()
for kind in sys.argv[1:]:
    cs = cases(kind)
    print(kind, len(cs), torch.__version__, flush=True)
    with open(f"{OUT}/{kind}.csv", "w", newline="") as f:
        out = csv.DictWriter(f, FIELDS)
        out.writeheader()
        for at in range(0, len(cs), 30):
            if time.time() - begun > 50:
                print("out of time", kind, at)
                break
            try:
                chunk(cs[at : at + 30], out)
            except Exception as e:
                print("failed", kind, at, repr(e)[:300], flush=True)
                torch.cuda.synchronize()
            f.flush()
