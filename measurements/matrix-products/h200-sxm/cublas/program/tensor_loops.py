"""Products timed as scripts usually do: loops between two events."""

import csv
import os
import time

import tensor_products as run
import tensor_shapes as shapes
import torch


def between(go, times, ready_ns=0):
    """Return the time of some launches in a row, each [us]."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if ready_ns:
        run.mark(0, ready_ns)
    begin.record(run.stream)
    for _ in range(times):
        go()
    end.record(run.stream)
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / times


def flushed(go, other):
    """Return the median time of ten launches, a large buffer written before each [us]."""
    times = []
    for _ in range(10):
        other.zero_()
        times.append(between(go, 1, 20000))
    return sorted(times)[5]


if __name__ == "__main__":
    begun = time.time()
    other = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    with open(os.environ["OUT"] + "/loops.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["group", "op", "m", "n", "k", "loop20_us", "loop100ms_us", "flushed_us"])
        for group, m, n, k in shapes.fresh_shapes():
            if time.time() - begun > 75:
                print("out of time")
                break
            op = shapes.op(m, n, k)
            go, _ = run.product(op, "bf16", m, n, k)
            between(go, 3)
            few = between(go, 20, 200000)
            many = between(go, max(20, min(1000, int(60e3 / max(few, 5)))))
            times = (few, many, flushed(go, other))
            out.writerow([group, op, m, n, k, *(f"{t:.3f}" for t in times)])
            file.flush()
