"""Tidies what measure.sh left into the CSVs of a measurement folder.

    python tidy.py OUT FOLDER L2_BYTES PERSISTING_MAX SMS

The three numbers are those that cases.py was given.
"""

import csv
import sys
from pathlib import Path
from statistics import mean

from cases import cases

from perfmodel.measure.profiler import TIME, read_rows

READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
STREAMS_FITTED = "8"
"""Blocks an SM of streams.cu that may be fitted on."""
TABLES_FITTED = {"grid": ("4", "8", "16", "32"), "ways": ("1", "8", "20", "36")}
"""The same of tables [MiB], as on an H200 (l2/h200-sxm/set-aside, l2/h200-sxm/before)."""


def _counted(path):
    """Yield time [us], DRAM bytes read and written of each launch that the profiler saw."""
    for row in read_rows(path.read_text()):
        yield round(row[TIME] * 1e-3, 3), int(row[READ]), int(row[WRITTEN])


def _measured(launches, cache):
    times, reads, writes = zip(*launches, strict=True)
    return {
        "timing": "profiler",
        "cache": cache,
        "repeats": len(times),
        "time_us": round(mean(times), 3),
        "spread": round((max(times) - min(times)) / mean(times), 4),
        "dram_read_bytes": reads[0],
        "dram_write_bytes": writes[0],
    }


def _replayed(out, gpu):
    """Return the rows of each topic of replay.cu; the last launches may be missing."""
    numbers = [int(n) for n in (out / "replay.txt").read_text().split()]
    launches = {}
    for number, found in zip(numbers, _counted(out / "replay.ncu"), strict=False):
        launches.setdefault(number, []).append(found)
    topics = {}
    for number, (topic, row, _) in enumerate(cases(*gpu)):
        if number in launches:
            topics.setdefault(topic, []).append(row | _measured(launches[number], "cold"))
    return topics


def _events(out, name, repeats):
    lines = (out / f"{name}.csv").read_text().splitlines()[1:]
    for row in csv.DictReader(lines):
        if name == "streams":
            use = "fit" if row["resident"] == STREAMS_FITTED else "validation"
        else:
            use = "fit" if row["table_mib"] in TABLES_FITTED[name] else "validation"
        time, spread = row.pop("time_us"), row.pop("spread")
        found = {"use": use, "timing": "events", "cache": "warm", "repeats": repeats}
        yield row | found | {"time_us": time, "spread": spread}


def _ways(out):
    rows = [
        row | {"dram_read_bytes": "", "dram_write_bytes": ""} for row in _events(out, "ways", 5)
    ]
    said = list(csv.DictReader((out / "ways_counted.txt").read_text().splitlines()))
    for row, found in zip(said, _counted(out / "ways_counted.ncu"), strict=False):
        given = {k: v for k, v in row.items() if k not in ("time_us", "spread")}
        rows.append(given | {"use": "validation"} | _measured([found], "warm"))
    return rows


def _write(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(out, folder, *gpu):
    """Write the CSVs."""
    folder.mkdir(exist_ok=True)
    for topic, rows in _replayed(out, gpu).items():
        _write(folder / f"{topic}.csv", rows)
    _write(folder / "grid.csv", list(_events(out, "grid", 4)))
    _write(folder / "streams.csv", list(_events(out, "streams", 5)))
    _write(folder / "ways.csv", _ways(out))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
