# ruff: noqa: D103, SIM115
"""Makes this session's CSVs of what launch.sh and streams.sh wrote: tidy.py OUT2 OUT2 FOLDER."""

import csv
import gzip
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

LAUNCH, STREAMS, FOLDER = (Path(a) for a in sys.argv[1:4])
CACHE = {0: "warm", 1: "cold", 2: "cold", 3: "dirty"}
FLUSH = {0: "", 1: "read", 2: "both", 3: "written"}
FIRST = {0: ("empty", 0), 1: ("spin", 0), 3: ("write", 4), 4: ("read", 4), 5: ("copy", 4)}
FIRST |= {6: ("write", 16), 7: ("read", 16), 8: ("copy", 16)}
SECOND = ("empty", "write", "read", "copy")
HEAD = ["session", "kernel", "vector", "block", "grid", "bytes", "clocks", "use", "timing", "cache"]
HEAD += ["repeats", "time_us", "spread"]
LATE = 8.0  # us that events read beyond the profiler where the host was still queueing


def described(session, point):
    if session == 1:
        kernel, vector = FIRST[point[0]]
        block, grid, n = point[1:]
    else:
        kernel, vector = SECOND[point[0]], point[1] if point[0] else 0
        block, grid, n = point[2:]
    size, clocks = (n * vector, "") if vector else ("", n if kernel == "spin" else "")
    return [session, kernel, vector or "", block, grid, size, clocks, "fit"]


def timed(path, numbers):
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            v = line.split()
            key = tuple(int(x) for x in v[:numbers]), int(v[numbers])
            found[key] += [float(x) for x in v[numbers + 1 :]]
    return found


def counted(path, points, each):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    rows = list(csv.DictReader(line for line in opened if line.startswith('"')))
    launches = [r for r in rows if r["ID"].strip()]
    found = defaultdict(list)
    for i, r in enumerate(launches):
        found[points[i // each]].append(r)
    return found


def number(row, name):
    return float(row[name].replace(",", ""))


def summary(v):
    return [len(v), f"{median(v):.3f}", f"{(max(v) - min(v)) / median(v):.3f}"]


def points(path):
    return [tuple(int(x) for x in line.split()) for line in path.read_text().splitlines()]


def write(name, head, rows):
    with (FOLDER / name).open("w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([head, *rows])


times, profiled = [], []
for session, where, numbers in ((1, LAUNCH, 4), (2, STREAMS, 5)):
    traced = timed(where / "cupti.txt", numbers)
    for timing, found in (("events", timed(where / "events.txt", numbers)), ("profiler", traced)):
        for (point, how), v in found.items():
            if how in FLUSH:
                late = (point, how) in traced and median(v) > median(traced[point, how]) + LATE
                row = [*described(session, point), timing, CACHE[how], *summary(v)]
                times.append([*row, FLUSH[how], "late" if late else ""])
    few, zipped, each = points(where / "few.txt"), "" if session == 1 else ".gz", 5 - session
    for how, cache in (("all", "cold"), ("none", "warm")):
        for point, rows in counted(where / f"ncu-{how}.csv{zipped}", few, each).items():
            v = [number(r, "gpu__time_duration.sum") / 1e3 for r in rows]
            profiled.append([*described(session, point), "profiler", cache, *summary(v)])
write("times.csv", [*HEAD, "flush", "flag"], times)
write("profiled.csv", HEAD, profiled)

near = []
for point, rows in counted(LAUNCH / "ncu-near.csv", points(LAUNCH / "near.txt"), 4).items():
    moved = [
        round(median(number(r, f"dram__bytes_{way}.sum") for r in rows))
        for way in ("read", "write")
    ]
    v = [number(r, "gpu__time_duration.sum") / 1e3 for r in rows]
    near.append([*described(1, point), "profiler", "warm", *summary(v), *moved])
write("near.csv", [*HEAD, "dram_read_bytes", "dram_write_bytes"], near)

lives = []
for line in gzip.open(STREAMS / "lives.txt.gz", "rt"):
    if line.startswith("#"):
        continue
    v = line.split()
    width, block, grid, n, cold, run = (int(x) for x in v[:6])
    if run == 2:  # the second of two
        for b, stamp in enumerate(v[6:]):
            start, sm, _, clocks = (int(x) for x in stamp.split(","))
            cache = "cold" if cold else "warm"
            lives.append([width, block, grid, n * width, b, sm, "fit", cache, start, clocks])
head = ["vector", "block", "grid", "bytes", "number", "sm", "use", "cache", "start_ns", "cycles"]
write("lives.csv", head, lives)
