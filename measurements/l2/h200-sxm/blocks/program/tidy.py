"""Tidy what run.sh wrote: ``python tidy.py OUT FOLDER``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

CLOCKS = ("at_work", "sms", "doubled_sms", "mean_clocks", "least_clocks", "most_clocks")
TIMED = ("use", "timing", "cache", "repeats", "time_us")
EVENTS = ["fit", "events", "warm", 7]
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def counted(path: Path) -> list[dict[str, float]]:
    """Return what Nsight Compute counted, a row a launch, in us and bytes."""
    lines = [line for line in path.read_text().splitlines() if line.startswith('"')]
    names, units, *found = csv.reader(lines)
    return [
        {
            name: float(cell.replace(",", "")) * UNITS[unit]
            for name, unit, cell in zip(names, units, row, strict=True)
            if unit in UNITS
        }
        for row in found
    ]


def write(path: Path, names: list[str], rows: list[list[object]]) -> None:
    """Write a CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([names, *rows])


def main(out: Path, folder: Path) -> None:
    """Write the CSVs of a folder."""
    sets, bursts, copies = [], [], []
    for line in (out / "blocks.txt").read_text().splitlines():
        name, *cells = line.split(",")
        if name.startswith(("read", "write")):
            lane = "4" if name.startswith("read4") else "16"
            what = "set-read" if name.startswith("read") else "set-write"
            blocks, block, size, times, where, time, *clocks = cells
            place = where.split("-") if name.endswith("-on") else ["", "", ""]
            sets.append(
                [what, lane, size, times, blocks, block, *place, *EVENTS, time, *clocks[:6]]
            )
        elif name == "burst":
            blocks, block, stride, _, _, time, mean, most = cells
            bursts.append([name, stride, blocks, block, *EVENTS[:3], 9, time, mean, most])
        elif name == "chained":
            before, after, n, block, _, time, *_ = cells
            copies.append([name, n, block, "", "", "", before, after, *EVENTS[:3], 5, time])
        elif name == "strided":
            n, block, offset, _, _, time = cells
            copies.append([name, n, block, offset, "", "", "", "", *EVENTS, time])
        elif name.startswith("run_"):
            n, block, run, pitch, _, time = cells
            copies.append([name, n, block, "", run, pitch, "", "", *EVENTS, time])
    where = ["first_sm", "last_sm", "sm_step"]
    head = ["function", "lane_bytes", "bytes", "iterations", "blocks", "block", *where]
    write(folder / "sets.csv", [*head, *TIMED, *CLOCKS], sets)
    head = ["function", "stride", "blocks", "block", *TIMED, "mean_clocks", "most_clocks"]
    write(folder / "bursts.csv", head, bursts)
    head = ["function", "n", "block", "offset", "run", "pitch", "before", "after", *TIMED]
    write(folder / "copies.csv", head, copies)
    shapes = [("copy", 16, 256), ("copy", 16, 1024), ("copy", 8, 256), ("copy", 4, 256)]
    shapes.append(("write", 16, 256))
    moved = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"]
    dirty = []
    for i, row in enumerate(counted(out / "dirty.txt")):
        mib = (8, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 96)[i // 5]
        found = [round(row[name], 3) for name in moved]
        dirty.append([*shapes[i % 5], mib << 20, "fit", "profiler", "cold", 1, *found])
    head = ["function", "vector", "block", "bytes", *TIMED, "dram_read_bytes", "dram_write_bytes"]
    write(folder / "dirty.csv", head, dirty)
    sizes = (36, 40, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 68, 72, 80)
    launches: list[list[object]] = []
    for i, row in enumerate(counted(out / "sets.txt")):
        times, mib = (2, 4, 17, 68)[i // 80], sizes[i // 5 % 16]
        cache = "warm" if i % 5 else "cold"
        read = round(row["dram__bytes_read.sum"])
        launches.append(["set-plain", mib << 20, times, i % 5, "fit", "profiler", cache, 1, read])
    head = ["function", "bytes", "iterations", "launch", "use", "timing", "cache", "repeats"]
    write(folder / "launches.csv", [*head, "dram_read_bytes"], launches)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
