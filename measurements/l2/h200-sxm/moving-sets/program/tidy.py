"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import itertools
import sys
from pathlib import Path
from statistics import median

MIB = 2**20


def profiled(path):
    """Yield the launches that Nsight Compute has counted, in order."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(('"ID"', "ID")))
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        if row["ID"]:
            yield row


def _number(row, name):
    return float(row[name].replace(",", ""))


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _timed(path, kind, repeats):
    for row in csv.DictReader(path.open()):
        yield (
            row,
            {"use": "validation", "timing": "events", "cache": kind, "repeats": repeats},
            {
                "time_us": row["time_us"],
                "spread": row["spread"],
            },
        )


def main(out, folder):
    """Write the CSVs."""
    rows = []
    for row, how, found in _timed(out / "slide.csv", "warm", 5):
        given = {k: row[k] for k in ("block", "small_bytes", "set_bytes", "hit_ratio")}
        rows.append({"function": row["kernel"], **given, "large_bytes": 1024000000} | how | found)
    _write(folder / "slide.csv", rows)
    rows = []
    for row, how, found in _timed(out / "sets.csv", "warm", 7):
        given = {"bytes": int(float(row["mib"]) * MIB)}
        given |= {k: row[k] for k in ("iterations", "blocks", "shift")}
        rows.append({"function": row["function"], **given} | how | found)
    _write(folder / "sets.csv", rows)
    times = {}
    for row in profiled(out / "rounds_ncu.csv"):
        block = int(row["Block Size"].strip("(").split(",")[0])
        blocks = int(row["Grid Size"].strip("(").split(",")[0])
        name = row["Kernel Name"].split("(")[0]
        times.setdefault((name, block, blocks), []).append(_number(row, "gpu__time_duration.sum"))
    rows = []
    for (name, block, blocks), found in times.items():
        # The first of two copies finds what others wrote.
        times_ns = found[1::2] if name == "m_copy" else found
        how = {"use": "fit", "timing": "profiler", "cache": "warm", "repeats": len(times_ns)}
        size = {"block": block, "blocks": blocks, "out_bytes": block * blocks * 16}
        rows.append({"function": name, **size} | how | {"time_us": median(times_ns) / 1000})
    _write(folder / "rounds.csv", rows)
    sets = (
        (mib, times, shift)
        for mib in (8.25, 16.5, 33.0, 49.5, 57.75)
        for times in (30, 120, 400)
        for shift in (1, 2, 4, 8, 37, 132)
        if mib * times <= 7000
    )
    rows = []
    for (mib, times, shift), row in zip(sets, profiled(out / "counts_ncu.csv"), strict=True):
        given = {"bytes": int(mib * MIB), "iterations": times, "blocks": 264, "shift": shift}
        rows.append({"function": "working_set_read", **given} | _counted(row, "cold", shift == 1))
    _write(folder / "counters.csv", rows)
    rows = []
    for row, how, found in _timed(out / "windows.csv", "warm", 5):
        given = window(*(row[k] for k in list(row)[:6]))
        rows.append(given | how | {"cache": _state(row["flush"])} | found)
    _write(folder / "windows.csv", rows)
    launches = (
        (flush, prop, mib, aside, eighths, again)
        for flush, prop, mib, aside, eighths in itertools.product(
            ("plain", "evict_first", "none"), ("streaming", "normal"), (24, 40), (0, 16, 30), (2, 4)
        )
        if aside or (eighths == 2 and prop == "streaming")
        for again in range(1 + (flush == "none"))
    )
    rows = []
    for launch, row in zip(launches, profiled(out / "windows_ncu.csv"), strict=True):
        *given, again = launch
        # The first of two launches comes after the same flush as "plain".
        flush = given[0] if again or given[0] != "none" else "plain"
        given = window(flush, *given[1:], 42)
        rows.append(given | _counted(row, _state(flush), False))
    _write(folder / "window-counters.csv", rows)


def window(flush, prop, mib, aside, eighths, times):
    """Return the columns that say what a launch under a window was."""
    return {
        "function": "working_set_read",
        "flush": flush,
        "miss_prop": prop,
        "bytes": int(mib) * MIB,
        "set_mib": aside,
        "hit_eighths": eighths,
        "iterations": times,
    }


def _state(flush):
    return "warm" if flush == "none" else "cold"


def _counted(row, cache, fit):
    return {
        "use": "fit" if fit else "validation",
        "timing": "profiler",
        "cache": cache,
        "repeats": 1,
        "time_us": _number(row, "gpu__time_duration.sum") / 1000,
        "dram_read_bytes": int(_number(row, "dram__bytes_read.sum")),
        "l2_read_sectors": int(_number(row, "lts__t_sectors_srcunit_tex_op_read.sum")),
        "l2_hit_sectors": int(_number(row, "lts__t_sectors_srcunit_tex_lookup_hit.sum")),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
