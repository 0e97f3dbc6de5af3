"""Times of the library's kernels for rows that are no whole pieces of 16 bytes.

What its heuristic would take, a dozen a shape; then one kernel at a time, by blocks, K, rows, pitch
and parts. ``rows`` as the first argument: what torch takes instead.
"""

import csv
import json
import math
import os
import random
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../cublas/program"))

import cublaslt
import tensor_products as timed
import tensor_shapes as shapes
from torch.profiler import ProfilerActivity, profile

OUT = os.environ["OUT"]
STREAM = timed.stream.cuda_stream
WARM, COLD = 8, 5
HEAD = ["what", "operation", "M", "N", "K", "rank", *cublaslt.CONFIGURATION, "error"]
HEAD += ["warm_us", "warm_main_us", "cold_us", "cold_main_us"]
HEAD += ["kernel", "grid", "block", "registers", "shared_bytes", "kernels"]


def short(name):
    """Return the part of a kernel's name that tells its tiles."""
    found = re.search(r"cutlass_\d+_\w+|nvjet\w+|gemv\w+|gemmSN\w+", name)
    return found[0] if found else re.sub(r"\W+", "_", name)[:60]


def measure(jobs, out):
    """Write a row for each (what, product, algorithm, rank); return kernels by operation."""
    plan, place = [], 0
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for job in jobs:
            _, product, algorithm, _ = job
            product.fill()
            refused = product.run(algorithm, STREAM)
            timed.torch.cuda.synchronize()
            if refused:
                continue
            plan.append((job, product.error(), place))
            for i in range(WARM + COLD + 1):
                if i >= WARM and i < WARM + COLD:
                    timed.sweep()
                timed.mark(place)
                place += 1
                if i < WARM + COLD:
                    product.run(algorithm, STREAM)
            timed.torch.cuda.synchronize()
            del product.weights, product.given, product.found
    name = f"/tmp/trace-{os.getpid()}.json"
    p.export_chrome_trace(name)
    with open(name) as file:
        groups = timed.groups_of(json.load(file))
    os.remove(name)
    found = {}
    for (what, product, algorithm, rank), error, first in plan:
        warm = groups[first + 2 : first + WARM]
        cold = groups[first + WARM : first + WARM + COLD]
        main = max((e for e in warm[-1] if e["cat"] == "kernel"), key=lambda e: e["dur"])
        times = [
            f"{statistics.median(of(e['dur'] for e in g) for g in groups_):.3f}"
            for groups_ in (warm, cold)
            for of in (sum, max)
        ]
        about = main["args"]
        out.writerow(
            [what, *product.shape, rank, *cublaslt.configuration(algorithm).values()]
            + [f"{error:.4f}", *times, short(main["name"])]
            + ["x".join(map(str, about[name])) for name in ("grid", "block")]
            + [about.get("registers per thread"), about.get("shared memory"), len(warm[-1])]
        )
        found.setdefault((product.shape[0], short(main["name"])), algorithm)
    return found


def drawn(seed, count, unit, most):
    """Return shapes for fitting: up to `most` rows, N and K multiples of `unit`."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        m = round(math.exp(rng.uniform(0, math.log(most))))
        n, k = (round(math.exp(rng.uniform(6.2, 9.4)) / unit) * unit for _ in range(2))
        if shapes.use(m, n, k) == "fit":
            found.append((m, n, k))
    return found


def chosen():
    """Yield what the heuristic would take for shapes of few rows and of more."""
    for unit in (1, 2, 8):
        some = drawn(100 + unit, 14, unit, 64) + drawn(150 + unit, 3, unit, 700)
        for i, shape in enumerate(some):
            product = cublaslt.Product(("linear", "matmul")[i % 2], *shape)
            for rank, one in enumerate(product.heuristics(12)):
                yield "heuristic", product, (cublaslt.c.c_uint64 * 8)(*one.algorithm), rank


def alone(kernels):
    """Yield launches of one kernel at a time."""
    for (operation, kernel), algorithm in kernels.items():

        def job(what, m, n, k, parts=1, by=(operation, algorithm)):
            return what, cublaslt.Product(by[0], m, n, k), cublaslt.split(by[1], parts), -1

        if "gemmSN" in kernel:
            for m in range(1, 9):
                for n, k in ((1057, 1025), (1057, 4097), (4225, 4097), (8449, 2049), (33793, 1025)):
                    yield job("rows", m, n, k)
            continue
        size = re.search(r"_(\d+)x(\d+)_(?:\d+x\d+_)?\w\w_align([12])", kernel)
        if not size:
            continue
        columns, rows, align = map(int, size.groups())
        for blocks in (16, 132, 264, 396, 528, 660):
            n = blocks * columns - align
            if 500 < n < 40000:
                for k in (512 + align, 2048 + align):
                    for m in {2, rows}:
                        yield job("blocks", m, n, k)
        if align == 2 and rows <= 64:
            for k in (2052, 2054, 2056, 2060):
                yield job("pitch", 2, 132 * columns - 2, k)
        for parts in (2, 4, 8, 16, 32):
            yield job("parts", 4, max(1, 132 // parts) * columns - align, 4096 + align, parts)


def torch_shapes():
    """Return shapes whose rows are odd, or even and no more, by rows; all for fitting."""
    sizes = [(600, 4000), (1000, 1000), (2200, 700), (4200, 4200), (9000, 1500), (15000, 5000)]
    for unit in (1, 2):
        for n, k in sizes:
            for j, m in enumerate((1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 40, 64)):
                a, b = n + unit + 2 * unit * j, k - unit - 2 * unit * j
                while shapes.use(m, a, b) != "fit":
                    a += 2 * unit
                yield m, a, b


if __name__ == "__main__":
    if sys.argv[1:] == ["rows"]:
        both = ("linear", "matmul")
        cases = [("rows", op, "bf16", *shape) for shape in torch_shapes() for op in both]
        timed.measure(cases, f"{OUT}/rows.csv", 30)
        raise SystemExit
    with open(f"{OUT}/tiles.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(HEAD)
        seen = measure(list(chosen()), out)
        rest = list(alone(seen))
        for start in range(0, len(rest), 120):
            measure(rest[start : start + 120], out)
            file.flush()
