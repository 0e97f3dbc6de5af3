"""FP32 products through cuBLAS, tensor cores off: kernel times by CUPTI and between events.

Needs torch (for CUPTI and the library), cupy and one GPU; leaves clocks and settings alone.
Usage: python cublas_sgemm.py FOLDER
"""

# ruff: noqa: D103

import csv
import ctypes
import json
import statistics
import sys
import tempfile
from pathlib import Path

import cupy
import torch
from torch.profiler import ProfilerActivity, profile

OUT = Path(sys.argv[1])
SQUARES = (
    *(64, 128, 192, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 2050, 3072, 4096, 4097),
    *(5000, 6144, 8192, 12288, 16384),
)
OTHERS = (
    (1024, 4096, 512), (4096, 4096, 256), (256, 4096, 4096), (4096, 256, 4096),
    (128, 11008, 4096), (2048, 8192, 1024), (8192, 1024, 1024), (512, 512, 8192),
    (5000, 3000, 2000), (4096, 4096, 16384), (16384, 4096, 1024), (1000, 3000, 7000),
)  # fmt: skip
COMPUTE = {"default": 68, "pedantic": 69}  # CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC
WARM, COLD = 7, 5
SOURCE = r"""
extern "C" __global__ void mark_clock(long long ns, float* mhz, int place) {
  unsigned long long t0, t1;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0) :: "memory");
  unsigned long long t = t0;
  while (t == t0) asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t) :: "memory");
  long long c0 = clock64();
  t0 = t;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t1) :: "memory");
  } while (t1 - t0 < (unsigned long long)ns);
  mhz[place] = float(double(clock64() - c0) * 1000.0 / double(t1 - t0));
}
extern "C" __global__ void sweep_l2(const uint4* in, unsigned long long n, unsigned* out) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned s = 0;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += step) {
    const uint4 v = in[i];
    s ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (s == 0x12345679u) out[0] = s;
}
"""
module = cupy.RawModule(code=SOURCE)
mark_kernel, sweep_kernel = module.get_function("mark_clock"), module.get_function("sweep_l2")
torch.manual_seed(29)
stream = torch.cuda.Stream()
torch.cuda.set_stream(stream)
cupy.cuda.ExternalStream(stream.cuda_stream).use()
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")
CLOCKS = torch.zeros(1 << 16, dtype=torch.float32, device="cuda")

torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")  # loads the library
LIBRARY = next(
    line.split()[-1]
    for line in Path("/proc/self/maps").read_text().splitlines()
    if "libcublas.so" in line
)
cublas = ctypes.CDLL(LIBRARY)
handle = ctypes.c_void_p()


def ok(status):
    if status:
        raise RuntimeError(f"cuBLAS status {status}")


ok(cublas.cublasCreate_v2(ctypes.byref(handle)))
ok(cublas.cublasSetStream_v2(handle, ctypes.c_void_p(stream.cuda_stream)))
version = ctypes.c_int()
ok(cublas.cublasGetVersion_v2(handle, ctypes.byref(version)))
ONE, ZERO = ctypes.c_float(1.0), ctypes.c_float(0.0)


def mark(place, ns=6000):
    mark_kernel((1,), (1,), (cupy.int64(ns), cupy.uint64(CLOCKS.data_ptr()), cupy.int32(place)))


def sweep():
    at, n = cupy.uint64(FLUSH.data_ptr()), cupy.uint64(FLUSH.numel() // 4)
    sweep_kernel((528,), (512,), (at, n, at))


def product(math, op, m, n, k):
    """Return a row-major product C = A B, and its largest relative error in a corner."""
    a = torch.randn(m, k, device="cuda")
    b = torch.randn(*((n, k) if op == "linear" else (k, n)), device="cuda")
    c = torch.full((m, n), float("nan"), device="cuda")
    # row-major C = A B is column-major C' = B' A'
    turned, pitch = (1, k) if op == "linear" else (0, n)
    pointer = [ctypes.c_void_p(t.data_ptr()) for t in (a, b, c)]

    def run():
        ok(
            cublas.cublasGemmEx(
                handle, turned, 0, n, m, k, ctypes.byref(ONE), pointer[1], 0, pitch,
                pointer[0], 0, k, ctypes.byref(ZERO), pointer[2], 0, n, COMPUTE[math], -1,
            )
        )  # fmt: skip

    def error():
        run()
        right = b.T if op == "linear" else b
        there = a[-3:].double() @ right[:, -17:].double()
        return float((c[-3:, -17:].double() - there).norm() / there.norm()), bool(
            c.isfinite().all()
        )

    return run, error, (a, b, c)


def groups_of(trace):
    """Return the kernels between two marks, launch by launch."""
    kinds = ("kernel", "gpu_memset", "gpu_memcpy")
    events = sorted(
        (e for e in trace["traceEvents"] if e.get("cat") in kinds), key=lambda e: e["ts"]
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


def measure(case):
    """Return a case's row."""
    run, error, kept = product(*case)
    off, finite = error()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for place in range(WARM + 2):
            mark(place)
            run()
        for place in range(WARM + 2, WARM + 2 + COLD):
            sweep()
            mark(place)
            run()
        mark(WARM + 2 + COLD)
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        p.export_chrome_trace(file.name)
        groups = groups_of(json.loads(Path(file.name).read_text()))
    clocks = CLOCKS.cpu().tolist()
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(WARM)]
    mark(65535, 100000)
    for begin, end in pairs:
        mark(65535, 25000)
        begin.record(stream)
        run()
        end.record(stream)
    torch.cuda.synchronize()
    events = [begin.elapsed_time(end) * 1e3 for begin, end in pairs]
    del kept
    warm, cold = groups[2 : WARM + 2], groups[WARM + 2 : WARM + 2 + COLD]
    assert all(warm) and all(cold) and len(groups) == WARM + COLD + 3, case  # noqa: PT018
    main = max(warm[-1], key=lambda e: e["dur"])
    row = dict(zip(("math", "op", "M", "N", "K"), case, strict=True))
    for name, times in (
        ("warm", [sum(e["dur"] for e in g) for g in warm]),
        ("cold", [sum(e["dur"] for e in g) for g in cold]),
        ("events", events),
    ):
        row |= {
            f"{name}_us": f"{statistics.median(times):.3f}",
            f"{name}_spread": f"{(max(times) - min(times)) / statistics.median(times):.4f}",
        }
    about = main["args"]
    return row | {
        "relative_error": f"{off:.2e}",
        "finite": int(finite),
        "clock_mhz": f"{statistics.median(clocks[3 : WARM + 3]):.0f}",
        "kernels": len(warm[-1]),
        "kernel": main["name"],
        "grid": "x".join(map(str, about["grid"])),
        "block": "x".join(map(str, about["block"])),
        "registers": about.get("registers per thread"),
        "shared_bytes": about.get("shared memory"),
        "main_us": f"{statistics.median([max(e['dur'] for e in g) for g in warm]):.3f}",
        "others": ";".join(e["name"][:60] for e in warm[-1] if e is not main),
    }


def main():
    cubes = [(n, n, n) for n in SQUARES]
    cases = [
        (math, op, *size)
        for size in (*cubes, *OTHERS)
        for math, op in (("default", "matmul"), ("pedantic", "matmul"), ("default", "linear"))
    ]
    print("cuBLAS", version.value, LIBRARY, torch.__version__, len(cases), flush=True)
    rows = []
    for case in cases:
        rows.append(measure(case))
        row = rows[-1]
        rate = 2e-6 * case[2] * case[3] * case[4] / float(row["warm_us"])
        said = [row[name] for name in ("warm_us", "cold_us", "events_us", "clock_mhz", "kernels")]
        checked = row["relative_error"], row["finite"]
        named = row["kernel"][:74], row["grid"]
        print(*case, *said, f"{rate:.1f} TFLOP/s", *checked, *named, flush=True)
        with (OUT / "raw.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            out.writerows(rows)


main()
