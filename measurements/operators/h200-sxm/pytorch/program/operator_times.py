# ruff: noqa: D103, E501, SIM115, B905
"""Times points of operators into CSV files: between events, and again under CUPTI.

Each point runs between events (a spinning kernel before it, so that the queue is full) and again under
CUPTI, with L2 as the last run left it (warm) and after 256 MiB of other data were read (cold).
"""

import csv
import ctypes
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from statistics import median

import torch
from operator_runs import LIB, check, ptr

REPEATS = 11
COLUMNS = (
    *("operator", "impl", "dtype", "rows", "columns", "batch", "heads", "kv_heads", "tokens"),
    *("context", "width", "causal", "part", "use", "timing", "cache", "repeats", "time_us"),
    *("spread", "kernels", "right", "point"),
)
FLUSH = torch.randint(-(2**31), 2**31 - 1, (1 << 26,), dtype=torch.int32, device="cuda")  # 256 MiB


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


def measure(every, out, count=False):
    """Time all points into CSV files under `out`; or run the counted ones once, for a profiler."""
    torch.manual_seed(int(time.time()))
    with torch.no_grad():
        if count:
            run_counted(every)
        else:
            time_all(every, out)


def run_counted(every):
    for i, point in enumerate(every):
        if not point["counted"]:
            continue
        what = (i, point["operator"], point["impl"])
        try:
            run, _ = point["make"](**point["p"])
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            check(LIB.launch_point())
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            print("COUNTED", *what, json.dumps(point["p"]), flush=True)
        except Exception as error:
            torch.cuda.profiler.stop()
            print("FAILED", *what, point["p"], repr(error)[:200], flush=True)


def time_all(every, out):
    print(
        f"{len(every)} points; {sum(p['use'] == 'validation' for p in every)} validation",
        flush=True,
    )
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    for _ in range(300):
        a @ a
    torch.cuda.synchronize()
    found = Found(out, clocks=[clock()])
    started = time.time()
    floor = {c: by_events(lambda: check(LIB.launch_rep()), c) for c in (False, True)}
    print("event floor, an empty kernel of one thread [us]: warm, cold", floor, flush=True)
    size = 40
    for at in range(0, len(every), size):
        torch.cuda.empty_cache()
        timed = between_events(every[at : at + size], at, found)
        profile(timed, at, found)
        found.clocks.append(clock())
        print(at, f"{time.time() - started:.1f} s", found.clocks[-1], len(found.failed), "failed")
        found.write()
        if time.time() - started > 170:
            found.failed.append((at, "stopped for time", "", {}, ""))
            break
    found.write()


def between_events(some, at, found):
    """Return (number, point, right, times) of those points that run."""
    timed = []
    for i, point in enumerate(some, at):
        try:
            run, ok = point["make"](**point["p"])
            for _ in range(3):
                y = run()
            right = bool(ok(y))
            del y
            timed.append((i, point, right, {cold: by_events(run, cold) for cold in (False, True)}))
            del run, ok
        except Exception as error:
            found.failed.append(
                (i, point["operator"], point["impl"], point["p"], repr(error)[:300])
            )
    return timed


def profile(timed, at, found):
    """Run the points again under CUPTI, and add their rows."""
    done = []
    trace = []
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
            for i, point, right, times in timed:
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
                    done.append((i, point, right, times[cold], cold))
                del run
                torch.cuda.synchronize()
            check(LIB.launch_point())
            torch.cuda.synchronize()
        path = "/tmp/trace.json"
        prof.export_chrome_trace(path)
        trace = json.load(open(path))["traceEvents"]
        os.remove(path)
    except Exception as error:
        found.failed.append((at, "profile", "", {}, repr(error)[:300]))
    events = sorted(
        (e for e in trace if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
        key=lambda e: e["ts"],
    )
    found.empty.extend(e["dur"] for e in events if "pm_rep" in e["name"])
    by_point = sequences(events)
    if len(by_point) != len(done) + 1:
        found.failed.append(
            (at, "profile", f"{len(by_point)} sequences for {len(done)} runs", {}, "")
        )
    for one, repetitions in zip(done, by_point):
        found.add(*one, repetitions)


@dataclass
class Found:
    """Rows as they come in, and where they go."""

    out: str
    rows: list = field(default_factory=list)
    kernels: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    clocks: list = field(default_factory=list)
    empty: list = field(default_factory=list)

    def add(self, i, point, right, by_events, cold, repetitions):
        """Add the rows of a point with caches in one state: the operator's, and its kernels'."""
        # The first launches of a run are followed by data that the next point makes: left out.
        lengths = [len(r) for r in repetitions]
        usual = max(set(lengths), key=lengths.count) if lengths else 0
        repetitions = [r[:usual] for r in repetitions if len(r) >= usual]
        base = {
            "operator": point["operator"],
            "impl": point["impl"],
            **point["p"],
            "use": point["use"],
            "cache": "cold" if cold else "warm",
            "point": i,
            "repeats": REPEATS,
            "right": int(right),
            "kernels": usual,
        }
        time_us, spread = by_events
        times = {"timing": "events", "time_us": f"{time_us:.3f}", "spread": f"{spread:.4f}"}
        self.rows.append(base | times)
        sums = [sum(e["dur"] for e in r) for r in repetitions]
        if not (sums and usual):
            return
        m = median(sums)
        spread = (max(sums) - min(sums)) / m
        times = {"timing": "profiler", "time_us": f"{m:.3f}", "spread": f"{spread:.4f}"}
        self.rows.append(base | times)
        for n in range(usual):
            e = repetitions[-1][n]
            g = e.get("args", {})
            self.kernels.append(
                {
                    "point": i,
                    "cache": base["cache"],
                    "number": n,
                    "time_us": f"{median(r[n]['dur'] for r in repetitions):.3f}",
                    "grid": "x".join(map(str, g.get("grid", []))),
                    "block": "x".join(map(str, g.get("block", []))),
                    "registers": g.get("registers per thread", ""),
                    "shared_bytes": g.get("shared memory", ""),
                    "bytes": g.get("bytes", ""),
                    "kernel": e["name"],
                }
            )

    def write(self):
        """Write all files anew."""
        with open(f"{self.out}/operators.csv", "w", newline="") as file:
            w = csv.DictWriter(file, COLUMNS, restval="")
            w.writeheader()
            w.writerows(self.rows)
        if self.kernels:
            with open(f"{self.out}/launches.csv", "w", newline="") as file:
                w = csv.DictWriter(file, list(self.kernels[0]))
                w.writeheader()
                w.writerows(self.kernels)
        for name, lines in (("failed", self.failed), ("clocks", self.clocks)):
            with open(f"{self.out}/{name}.txt", "w") as file:
                file.writelines(f"{line}\n" for line in lines)
        if self.empty:
            with open(f"{self.out}/empty.txt", "w") as file:
                file.write(
                    f"{median(self.empty)} us median of {len(self.empty)} empty kernels under "
                    f"CUPTI; {min(self.empty)} to {max(self.empty)}\n"
                )
