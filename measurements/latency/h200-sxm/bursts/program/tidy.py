"""Tidy what run.sh wrote: ``python tidy.py OUT FOLDER``."""

from __future__ import annotations

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

NAMES = {"strided": ("n", "stride"), "sread": ("n", "stride"), "swrite": ("n", "stride")}
NAMES |= {"gather": ("n", "places"), "move": ("n", "step", "pitch", "what"), "empty": ()}
SIZES = (48, 52, 54, 56, 57, 58, 59, 60, 62, 64)
LAUNCHES = (0, 1, 2, 3, 5, 8, 12, 20)
MIB = 1 << 20


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, names: list[str], rows: list[list[object]]) -> None:
    """Write a CSV."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names)
        out.writerows(rows)


def times(source: Path) -> tuple[list[str], list[list[object]]]:
    """Return the times of launches."""
    names = ["n", "stride", "places", "step", "pitch", "what"]
    rows: list[list[object]] = []
    for r in read(source / "times.csv"):
        given = dict(zip(NAMES[r["kernel"]], (r[f"p{k}"] for k in (2, 3, 4, 5)), strict=False))
        point = [r["kernel"], r["block"], r["blocks"], *(given.get(name, "") for name in names)]
        rows.append([*point, "fit", r["timing"], r["cache"], r["repeats"], r["time_us"]])
    head = ["kernel", "block", "blocks", *names, "use", "timing", "cache", "repeats"]
    return [*head, "time_us"], rows


def bursts(source: Path) -> tuple[list[str], list[list[object]]]:
    """Return the clocks of bursts that meet, the first time and later, and of loops."""
    rows: list[list[object]] = []
    for r in read(source / "burst.csv"):
        loop = r["meet"] == "0"
        if int(r["round"]) and (loop or int(r["round"]) != 3):
            continue
        clocks = [r["whole50"], r["whole100"]] if loop else [r["block50"], r["block100"]]
        keys = ("blocks", "warps", "step", "places", "turn", "rounds", "round", "meet")
        rows.append(["burst", *(r[k] for k in keys), "fit", "profiler", "warm", 5, *clocks])
    head = ["kernel", "blocks", "warps", "step", "places", "turn", "loads", "load", "meets"]
    return [*head, "use", "timing", "cache", "repeats", "mean_clocks", "cycles"], rows


def settling(source: Path) -> tuple[list[str], list[list[object]]]:
    """Return times and counted DRAM reads of sets, launch after launch."""
    found = defaultdict(list)
    for r in read(source / "knee.csv"):
        if int(r["launch"]) in LAUNCHES:
            found[int(r["mib"]), int(r["iterations"]), int(r["launch"])].append(float(r["us"]))
    rows: list[list[object]] = []
    for (mib, passes, launch), us in sorted(found.items()):
        point = ["set", mib * MIB, passes, launch, "fit", "events", "warm" if launch else "cold"]
        rows.append([*point, len(us), f"{statistics.median(us):.2f}", min(us), max(us), ""])
    lines = [x for x in (source / "count.csv").read_text().splitlines() if x.startswith('"')]
    counted = list(csv.DictReader(lines))[1:]
    for k, r in enumerate(counted):
        mib, launch = SIZES[k // 8], k % 8
        us = float(r["gpu__time_duration.sum"].replace(",", "")) / 1e3
        read_bytes = round(float(r["dram__bytes_read.sum"].replace(",", "")))
        point = ["set", mib * MIB, 1024 // mib, launch, "fit", "profiler"]
        rows.append([*point, "warm" if launch else "cold", 1, f"{us:.3f}", "", "", read_bytes])
    head = ["kernel", "bytes", "iterations", "launch", "use", "timing", "cache", "repeats"]
    return [*head, "time_us", "shortest_us", "longest_us", "dram_read_bytes"], rows


def empty(source: Path) -> tuple[list[str], list[list[object]]]:
    """Return how much medians of 21 empty launches differ."""
    rows: list[list[object]] = []
    group = ""
    seen: dict[str, int] = defaultdict(int)
    for line in (source / "empty.csv").read_text().splitlines()[1:]:
        cells = [cell.strip() for cell in line.split(",")]
        how, least, median, most = " ".join(cells[:-8]), cells[-7], cells[-4], cells[-1]
        if not how.startswith("medians"):
            group = how.replace("for gap", "for and") + (" us more" if "gap" in how else "")
            continue
        point = ["empty", group, seen[group], "fit", "events", "warm", 40]
        rows.append([*point, median, least, most])
        seen[group] += 1
    head = ["kernel", "how", "turn_of", "use", "timing", "cache", "repeats"]
    return [*head, "time_us", "shortest_us", "longest_us"], rows


def main(source: Path, folder: Path) -> None:
    """Write every CSV of the folder."""
    for name, rows in {
        "times": times(source),
        "bursts": bursts(source),
        "settling": settling(source),
        "empty": empty(source),
    }.items():
        write(folder / f"{name}.csv", *rows)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
