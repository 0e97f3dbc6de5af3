"""Tidy what run.sh wrote: ``python tidy.py OUT FOLDER``."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

REPEATS = {"warm": 7, "cold": 5, "events": 7}


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


def timed(r: dict[str, str]) -> list[list[object]]:
    """Return a row's times, a protocol each."""
    found = [("profiler", c, REPEATS[c], r[f"{c}_us"]) for c in ("warm", "cold")]
    return [list(x) for x in (*found, ("events", "warm", REPEATS["events"], r["events_us"]))]


def name_of(kernel: str) -> str:
    """Return a kernel's name without its parameters."""
    return re.sub(r"^void |<unnamed>::|\(anonymous namespace\)::", "", kernel).split("(")[0][:80]


def main() -> None:
    """Write the tables."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    sizes = ["op", "dtype", "batch", "M", "N", "K"]
    kept = ["kernels", "kernel", "grid", "block", "main_us"]
    how = ["use", "timing", "cache", "repeats", "time_us"]
    rows: list[list[object]] = []
    for topic in ("fp32", "batched", "others"):
        for r in read(source / f"{topic}.csv"):
            what = [topic, r["op"], r["dtype"], max(int(r["batch"]), 1), r["m"], r["n"], r["k"]]
            about = [r["kernels"], name_of(r["kernel"]), r["grid"], r["block"], r["main_us"]]
            rows += [[*what, *about, r["use"], *t] for t in timed(r)]
    write(folder / "torch-products.csv", ["group", *sizes, *kept, *how], rows)
    sizes = ["batch", "heads", "kv_heads", "tokens", "context", "width", "causal"]
    rows = []
    for r in read(source / "sdpa.csv"):
        given = {**r, "tokens": r["queries"], "context": r["keys"]}
        what = [r["group"], r["dtype"], *(given[name] for name in sizes)]
        for old in (("sm90", "cudnn"), ("sm80_flash", "cudnn-sm80"), ("fmha", "efficient")):
            if old[0] in r["kernel"]:
                impl = old[1]
        about = [impl, r["kernels"], name_of(r["kernel"]), r["grid"], r["block"], r["main_us"]]
        rows += [[*what, *about, r["use"], *t] for t in timed(r)]
    write(folder / "sdpa.csv", ["group", "dtype", *sizes, "impl", *kept, *how], rows)
    rows = []
    for r in read(source / "pitch.csv"):
        what = [r[n] for n in ("dtype", "m", "n", "k", "extra_a", "extra_b")]
        for cache in ("warm", "cold"):
            rows.append([*what, "fit", "profiler", cache, REPEATS[cache], r[f"{cache}_us"]])
    write(folder / "pitches-torch.csv", ["dtype", "M", "N", "K", "extra_a", "extra_b", *how], rows)
    rows = []
    for r in read(source / "clock.csv"):
        what = [re.sub(r"[(),]", "", r["case"]), r["launches"], r["from_us"], r["to_us"]]
        rows.append([*what, "fit", "events", "warm", 3, r["launch_us"], r["mhz"]])
    names = ["what", "launches", "from_us", "to_us"]
    write(folder / "clocks-under-load.csv", [*names, *how, "clock_mhz"], rows)
    rows = []
    for r in read(source / "steps.csv"):
        what = [
            r["variant"],
            r["warps"],
            r["blocks"],
            r["tiles"],
            r["clocks"],
            r["least"],
            r["most"],
        ]
        rows.append([*what, "fit", "events", "warm", 6, r["time_us"]])
    names = ["step", "warps", "blocks", "steps", "clocks", "least_clocks", "most_clocks"]
    write(folder / "barrier-steps.csv", [*names, *how], rows)


main()
