"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import sys
from pathlib import Path

MIB = 2**20
NONE_KEPT = 0.355
"""Share of the probed lines that took under 600 clocks though none was in L2: far from all miss."""
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-3, "us": 1, "ms": 1e3}


def profiled(path):
    """Return the metrics of each launch that Nsight Compute has counted, in order."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    launches = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        value = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value
    return [launches[number] for number in sorted(launches)]


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _after(path):
    for row in csv.DictReader(path.open()):
        kept = (float(row["kept"]) - NONE_KEPT) / (1 - NONE_KEPT)
        yield {
            "function": row["after"],
            "after_mib": row["mib"],
            "done": row["done"],
            "set_mib": "" if row["set_mib"] == "-1" else row["set_mib"],
            "persisted_mib": row["persisted_mib"],
            "use": "validation",
            "timing": "events",
            "cache": "dirty",
            "repeats": 1 if row["done"] == "wait-1s" else 5,
            "time_us": row["time_us"],
            "kept": f"{min(1.0, max(0.0, kept)):.2f}" if row["persisted_mib"] != "0" else "",
        }


def _windows(times, counters):
    for row, found in zip(csv.DictReader(times.open()), profiled(counters), strict=True):
        given = {k: row[k] for k in ("function", "table_mib", "out_mib", "set_mib")}
        given |= {"hit_sixteenths": row["hit_sixteenths"], "miss_prop": row["miss_prop"]}
        how = {"use": "validation", "timing": "events", "cache": "warm", "repeats": 6}
        yield (
            given
            | how
            | {
                "time_us": row["time_us"],
                "spread": row["spread"],
                "dram_read_bytes": "",
                "dram_write_bytes": "",
            }
        )
        how |= {"timing": "profiler", "cache": "cold", "repeats": 1}
        yield (
            given
            | how
            | {
                "time_us": f"{found['gpu__time_duration.sum']:.3f}",
                "spread": "",
                "dram_read_bytes": round(found["dram__bytes_read.sum"]),
                "dram_write_bytes": round(found["dram__bytes_write.sum"]),
            }
        )


def _limits(path):
    """Print the table of limits for the session file: no launches, so no CSV of the folder."""
    found = list(csv.DictReader(path.open()))
    asked = [r for r in found if r["by"] == "call"]
    shares = [r for r in found if r["by"] == "environment" and r["asked"]]
    (start,) = (r["limit_bytes"] for r in found if r["by"] == "environment" and not r["asked"])
    print(f"[limits]\nat_start_bytes = {start}")
    for name, rows, key in (
        ("asked_bytes", asked, "asked"),
        ("given_bytes", asked, "limit_bytes"),
        ("asked_percent", shares, "asked"),
        ("given_by_percent_bytes", shares, "limit_bytes"),
    ):
        print(f"{name} = [{', '.join(r[key] for r in rows)}]")


def main(out, folder):
    """Write the CSVs."""
    _write(folder / "after-use.csv", [*_after(out / "after.csv"), *_after(out / "as-is.csv")])
    _write(folder / "miss-prop.csv", list(_windows(out / "miss.csv", out / "counters.csv")))
    _limits(out / "limit.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
