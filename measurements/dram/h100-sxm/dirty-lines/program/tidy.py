"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import sys
from pathlib import Path

WORDS = ("copy", "put", "gather", "hashed")
HOW = {"all": ("one", "profiler"), "many": ("several", "profiler")}
HOW |= {"flush": ("one", "reads"), "manyflush": ("several", "reads")}
COMMON = {"use": "fit", "timing": "profiler", "cache": "cold", "repeats": 1}


def _counted(path):
    lines = [line for line in path.read_text().splitlines() if line.startswith('"') or "," in line]
    start = next(i for i, line in enumerate(lines) if "Kernel Name" in line)
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))[1:]
    for row in rows:
        number = {k: float(v.replace(",", "")) for k, v in row.items() if "__" in k and ".sum" in k}
        yield number


def _numbers(found):
    return {
        "time_us": round(found["gpu__time_duration.sum"] * 1e-3, 3),
        "dram_read_bytes": int(found["dram__bytes_read.sum"]),
        "dram_write_bytes": int(found["dram__bytes_write.sum"]),
    }


def _dirty(out):
    told = (line.split() for line in (out / "dirty.txt").read_text().splitlines())
    told = [words for words in told if words and words[0] in WORDS]
    for words, found in zip(told, _counted(out / "dirty.csv"), strict=True):
        function = {"put": "write"}.get(words[0], words[0])
        n, run, mib, granularity = map(int, words[1:])
        stream = function in ("copy", "write")
        sizes = {"bytes": 4 * n, "vector": 4} if stream else {"n": n, "run": run}
        if not stream:
            sizes |= {"table_bytes": mib << 20, "granularity": granularity}
        yield {"function": function, **sizes, **COMMON, **_numbers(found)}


def _passes(out):
    for name, (passes, flushed) in HOW.items():
        told = (line.split(",") for line in (out / f"{name}.txt").read_text().splitlines())
        told = [words[1:] for words in told if words[0] == "row"]
        for words, found in zip(told, _counted(out / f"{name}.csv"), strict=True):
            function, size, a, b, wide = words
            row = {"function": function, "passes": passes, "flushed": flushed}
            if function == "gather":
                row |= {"n": int(size) << 20, "run": a, "table_bytes": int(b) << 20}
            else:
                bytes_ = int(float(size) * (1 << 20))
                row |= {"bytes": bytes_, "reads": a, "writes": b, "vector": 4 * int(wide)}
            yield row | COMMON | _numbers(found)


def _write(path, rows):
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    last = [n for n in names if n in (*COMMON, "time_us", "dram_read_bytes", "dram_write_bytes")]
    names = [n for n in names if n not in last] + last
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    source, folder = map(Path, sys.argv[1:])
    _write(folder / "dirty.csv", _dirty(source))
    _write(folder / "passes.csv", _passes(source))
