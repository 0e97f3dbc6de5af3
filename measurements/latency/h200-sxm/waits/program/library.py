"""Times PyTorch's argmax and FlashAttention over rows and blocks: library.py OUT."""

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

MOST_SECONDS = 22
COLUMNS = (
    "what dtype a b c cache kernel number time_us grid block registers shared".split()  # noqa: SIM905
)
ROWS = (1, 65536), (1, 120000), (1, 131072), (1, 180224), (1, 262144), (1, 524288), (1, 1048576)
ROWS += (1, 4194304), (2, 163840), (3, 200000), (4, 262144), (8, 140000), (8, 524288)
ROWS += (16, 150000), (32, 262144), (64, 180000), (128, 131072), (256, 160000), (528, 131072)
HEADS = (64, 4096), (128, 2048), (128, 512), (64, 1024)
BLOCKS = (66, 120, 132, 133, 160, 198, 230, 264, 265, 300, 330, 376, 396, 397, 430, 460, 528, 529)
BLOCKS += (600, 660, 792, 900, 1056, 1200)

Point = tuple[str, str, int, int, int]


def points() -> list[Point]:
    """Return what is measured."""
    kinds = ("float16", "float32")
    rows = [("argmax", kind, n, columns, 0) for kind in kinds for n, columns in ROWS]
    return rows + [("flash", "float16", n, keys, w) for w, keys in HEADS for n in BLOCKS]


def launch(point: Point) -> Callable[[], object]:
    """Return what runs a point."""
    what, kind, a, b, c = point
    dtype = getattr(torch, kind)
    if what == "argmax":
        x = torch.randn(a, b, device="cuda").to(dtype)
        return lambda: torch.argmax(x, 1)
    q = torch.randn(1, a, 128, c, device="cuda").to(dtype)
    k = torch.randn(1, a, b, c, device="cuda").to(dtype)
    v = torch.randn(1, a, b, c, device="cuda").to(dtype)

    def attend() -> None:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            functional.scaled_dot_product_attention(q, k, v)

    return attend


def measure(some: list[Point], flush: torch.Tensor, trace: Path, rows) -> None:
    """Time some points between two spins each, and write their kernels' rows."""
    runs = [launch(point) for point in some]
    for run in runs:
        run()
        run()
    torch.cuda.synchronize()
    order = []
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for point, run in zip(some, runs, strict=True):
            for cache in ("warm", "cold") if point[0] == "argmax" else ("warm",):
                if cache == "warm":
                    run()
                for _ in range(5):
                    if cache == "cold":
                        flush.sum()
                    torch.cuda._sleep(20000)
                    run()
                    torch.cuda._sleep(1000)
                    order.append((point, cache))
        torch.cuda.synchronize()
    prof.export_chrome_trace(str(trace))
    kinds = ("kernel", "gpu_memset", "gpu_memcpy")
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") in kinds]
    trace.unlink()
    seen: dict[tuple[Point, str], list[list[dict]]] = {}
    for key, part in zip(order, between(events), strict=True):
        seen.setdefault(key, []).append(part)
    for (point, cache), repeats in seen.items():
        for n, event in enumerate(repeats[0]):
            given = event.get("args", {})
            time_us = round(median(r[n]["dur"] for r in repeats if len(r) > n), 3)
            shape = ["x".join(map(str, given.get(name, []))) for name in ("grid", "block")]
            taken = [given.get("registers per thread"), given.get("shared memory")]
            rows.writerow([*point, cache, event["name"][:90], n, time_us, *shape, *taken])


def between(events: list[dict]) -> list[list[dict]]:
    """Return the events between each two spins."""
    parts, inside = [], None
    for event in sorted(events, key=lambda e: e["ts"]):
        if "spin" not in event["name"]:
            if inside is not None:
                inside.append(event)
        elif inside is None:
            inside = []
        else:
            parts.append(inside)
            inside = None
    return parts


def main() -> None:
    """Measure until the time is up."""
    out = Path(sys.argv[1])
    started = time.time()
    flush = torch.ones(1 << 26, device="cuda", dtype=torch.float32)
    wanted = points()
    with (out / "library.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for at in range(0, len(wanted), 24):
            try:
                measure(wanted[at : at + 24], flush, out / "trace.json", rows)
            except Exception as error:
                print("FAILED", at, repr(error)[:300])
            print(at, time.time() - started, flush=True)
            if time.time() - started > MOST_SECONDS:
                print("stopped")
                break


if __name__ == "__main__":
    main()
