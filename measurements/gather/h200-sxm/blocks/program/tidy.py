"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import sys
from collections import Counter
from pathlib import Path

MIB = 2**20


def _rows(path):
    return list(csv.DictReader(path.open()))


def _counted(path):
    """Return the DRAM bytes that Nsight Compute has counted, launch by launch."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))
    return [float(r["dram__bytes_read.sum"].replace(",", "")) for r in rows[1:]]


def _blocks(out):
    for row in _rows(out / "blocks.csv"):
        lookups = row["kernel"] == "embedding"
        yield {
            "function": row["kernel"],
            "n": "" if lookups else row["n"],
            "run": "" if lookups else row["run"],
            "lookups": row["n"] if lookups else "",
            "share": row["run"] if lookups else "",
            "table_bytes": int(row["table_mib"]) * MIB,
            "use": "validation",
            "timing": "events",
            "cache": row["cache"],
            "repeats": 7,
            "time_us": row["event_us"],
            "timed_us": row["event_timed_us"],
            **{k: "" if row[k] == "-1" else row[k] for k in list(row)[7:]},
        }


def _pages(out):
    counted = _counted(out / "pages_ncu.csv")
    for k, row in enumerate(_rows(out / "pages.csv")):
        yield {
            "function": row["kernel"],
            "n": row["n"],
            "run": row["run"],
            "places": row["pattern"],
            "table_bytes": int(row["table_mib"]) * MIB,
            "lines": row["lines"],
            "use": "validation",
            "timing": "events",
            "cache": "warm",
            "repeats": 21,
            "time_us": row["time_us"],
            "spread": row["spread"],
            "dram_read_bytes": f"{counted[3 * k + 2]:.0f}",
        }


def _windows(out):
    key = ("kernel", "x", "y", "z", "set_bytes", "hit_ratio", "fetch")
    listed = _rows(out / "list.csv")
    counts = _counted(out / "windows_ncu.csv")
    assert len(counts) == 2 * len(listed)
    read = {tuple(r[k] for k in key): counts[2 * i + 1] for i, r in enumerate(listed)}
    seen = Counter()
    for part, use in (("second", "fit"), ("third", "validation")):
        for row in _rows(out / f"{part}.csv"):
            lookups = row["kernel"] == "embedding"
            point = tuple(row[k] for k in key)
            seen[point] += 1
            found = read.get(point) if seen[point] == 1 else None
            yield {
                "function": row["kernel"],
                "table_bytes": int(row["x" if lookups else "z"]) * MIB,
                "stream_bytes": int(row["y"]) * MIB if lookups else "",
                "lookups": row["z"] if lookups else "",
                "n": "" if lookups else row["x"],
                "run": "" if lookups else row["y"],
                "set_bytes": row["set_bytes"],
                "window_bytes": row["window_bytes"],
                "hit_ratio": row["hit_ratio"],
                "fetch_bytes": row["fetch"],
                "round": seen[point],
                "use": use,
                "timing": "events",
                "cache": "warm",
                "repeats": 7,
                "time_us": row["time_us"],
                "spread": row["spread"],
                "dram_read_bytes": "" if found is None else f"{found:.0f}",
            }


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _main():
    out, folder = map(Path, sys.argv[1:])
    _write(folder / "blocks.csv", list(_blocks(out)))
    _write(folder / "pages.csv", list(_pages(out)))
    _write(folder / "windows.csv", list(_windows(out)))


_main()
