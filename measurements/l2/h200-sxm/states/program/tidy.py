"""Tidy what states.sh measured: python tidy.py RAW FOLDER."""

import csv
import io
import sys
from pathlib import Path


def write(path: Path, head: str, rows: list[list[str]]) -> None:
    """Write a CSV with a line of names."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head.split(","), *rows])


def kept(raw: Path) -> list[list[str]]:
    """Return each launch under the profiler: four in a row of each point."""
    points = [p for p in csv.reader((raw / "keep.csv").open()) if p and p[0].isdigit()]
    lines = (raw / "keep-ncu.csv").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    counted = list(csv.DictReader(io.StringIO("\n".join([lines[start], *lines[start + 2 :]]))))
    found = []
    for i, row in enumerate(counted):
        n, stride, offset, use = points[i // 4]
        values = [row[f"dram__bytes_{w}.sum"] for w in ("read", "write")]
        read, written = (f"{float(v.replace(',', '')):.0f}" for v in values)
        time = f"{float(row['gpu__time_duration.sum'].replace(',', '')) / 1000:.3f}"
        found.append([n, stride, offset, str(i % 4 + 1), use, "profiler", "1", time, read, written])
    return found


def main(raw: Path, folder: Path) -> None:
    """Write all CSVs."""
    head = "n,stride,offset,launch,use,timing,repeats,time_us,dram_read_bytes,dram_write_bytes"
    write(folder / "kept.csv", head, kept(raw))
    for name in ("warm", "places"):
        rows = [[*r[:7], "events", *r[7:]] for r in csv.reader((raw / f"{name}.csv").open())]
        head = "kernel,n,stride,offset,buffer,round,use,timing,cache,repeats"
        head += ",time_us,shortest_us,longest_us"
        write(folder / f"{name}.csv", head, rows)
    series = [
        [r[1], r[2], str(i), "fit", "events", "1", time]
        for r in csv.reader((raw / "series.csv").open())
        for i, time in enumerate(r[3:], 1)
    ]
    write(folder / "series.csv", "when,stride,launch,use,timing,repeats,time_us", series)
    found = csv.reader((raw / "empty.csv").open())
    empty = [[*r[:4], "fit", "events", "130", *r[4:]] for r in found]
    head = "process,order,round,how,use,timing,repeats,time_us,shortest_us,longest_us"
    write(folder / "empty.csv", head, empty)
    sms = [[*r[:3], "fit", "events", "5", *r[3:]] for r in csv.reader((raw / "sms.csv").open())]
    head = "access,blocks,iterations,use,timing,repeats,time_us,sectors_per_ns"
    write(folder / "sms.csv", head, sms)
    states, freed = [], []
    for path in sorted(raw.glob("states-*.csv")):
        for r in csv.reader(path.open()):
            extra = path.stem.removeprefix("states-")
            if r[0] == "median":
                states.append([extra, *r[1:4], "fit", "events", *r[4:]])
            elif r[0] == "series":
                freed += [[extra, *r[1:4], "fit", "events", *at.split(":")] for at in r[4:]]
    head = "extra_gib,when,kernel,stride,use,timing,repeats,time_us,shortest_us,longest_us"
    if states:
        write(folder / "states.csv", head, states)
        write(folder / "freed.csv", "extra_gib,when,kernel,stride,use,timing,at_ms,time_us", freed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
