"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import sys
from pathlib import Path
from statistics import median

FITTED = ("1", "8", "20", "36")
"""Tables of ways.cu that are fitted on [MiB]."""
DRAWN = ("8", "28", "56")
"""Tables of random.cu whose counts are [MiB]."""


def _counted(out, name):
    """Yield what a program said of each counted launch, and what Nsight Compute counted."""
    lines = (out / f"{name}_ncu.csv").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = [r for r in csv.DictReader(io.StringIO("\n".join(lines[first:]))) if r["ID"]]
    said = [
        line.split("cnt ")[1].strip()
        for line in (out / f"{name}_list.txt").read_text().splitlines()
        if line.startswith("cnt ")
    ]
    if name != "states":  # two launches each, and the second is the warm one
        rows = rows[1::2]
    for text, row in zip(said, rows, strict=False):
        if text != "pre":
            yield (
                text.split(","),
                {
                    "timing": "profiler",
                    "cache": "warm",
                    "repeats": 1,
                    "time_us": _number(row, "gpu__time_duration.sum") / 1000,
                    "dram_read_bytes": int(_number(row, "dram__bytes_read.sum")),
                },
            )


def _number(row, name):
    return float(row[name].replace(",", ""))


def _timed(out, name):
    text = (out / f"{name}.csv").read_text().splitlines()
    yield from csv.DictReader(text[1:])


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _events(row, repeats):
    found = {"timing": "events", "cache": "warm", "repeats": repeats}
    return found | {"time_us": row["time_us"], "dram_read_bytes": ""}


def _ways(out):
    for row in _timed(out, "ways"):
        given = {k: row[k] for k in ("function", "place", "table_mib", "out_mib", "set_mib")}
        given |= {k: row[k] for k in ("window_mib", "hit_eighths", "miss_prop")}
        use = {"use": "fit" if row["table_mib"] in FITTED else "validation"}
        yield given | use | _events(row, 5)
    for (kind, table, aside, hit, prop), found in _counted(out, "ways"):
        given = {"function": ("data_reset", "stream_persistent")[int(kind)], "place": 0}
        given |= {"table_mib": table, "out_mib": 512, "set_mib": aside}
        given |= {"window_mib": table if int(hit) else 0, "hit_eighths": int(hit) or 8}
        yield given | {"miss_prop": prop, "use": "validation"} | found


def _sets(out):
    times = {}
    keys = ("state", "bytes", "iterations", "set_mib", "hit_eighths", "launch")
    for row in _timed(out, "states"):
        times.setdefault(tuple(row[k] for k in keys), []).append(float(row["time_us"]))
    for key, several in times.items():
        row = {"time_us": round(median(several), 3)}
        given = dict(zip(keys, key, strict=True))
        yield {"function": "window_set"} | given | {"use": "validation"} | _events(row, 2)
    for key, found in _counted(out, "states"):
        given = dict(zip(keys, key, strict=True))
        fitted = given["state"] == "own-plain" and given["hit_eighths"] == "2"
        fitted = fitted and given["launch"] != "0"
        use = {"use": "fit" if fitted else "validation"}
        yield {"function": "window_set"} | given | use | found


def _small(out):
    for row in _timed(out, "small"):
        given = {k: row[k] for k in ("function", "table_kib", "set_mib", "hit_eighths")}
        yield given | {"use": "validation"} | _events(row, 5)
    for (function, kib, aside, hit), found in _counted(out, "small"):
        given = {"function": function, "table_kib": kib, "set_mib": aside, "hit_eighths": hit}
        yield given | {"use": "validation"} | found


def _random(out):
    names = ("run", "table_mib", "set_mib", "hit_eighths", "miss_prop")
    for row in _timed(out, "random"):
        given = {k: row[k] for k in ("function", *names, "stream_mib")}
        yield given | {"use": "validation"} | _events(row, 5)
    for (function, *values), found in _counted(out, "random"):
        given = {"function": function} | dict(zip(names, values, strict=True)) | {"stream_mib": 0}
        use = {"use": "fit" if given["table_mib"] in DRAWN else "validation"}
        yield given | use | found


def main(out, folder):
    """Write the CSVs."""
    for name, rows in (("ways", _ways), ("sets", _sets), ("small", _small), ("random", _random)):
        _write(folder / f"{name}.csv", list(rows(out)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
