"""Tidies what measure.sh left into the CSVs of a measurement folder: python tidy.py OUT FOLDER."""

import csv
import io
import sys
from collections import Counter
from pathlib import Path

MIB = 2**20
SIZES = {
    "data_reset": ("table_mib", "stream_mib"),
    "stream_persistent": ("table_mib", "stream_mib"),
    "embedding": ("table_mib", "stream_mib", "lookups"),
    "gather": ("n", "run", "table_mib"),
    "working_set_read": ("table_mib", "iterations"),
    "two_tables": ("table_mib", "other_mib", "stream_mib"),
}
COLUMNS = ("table_bytes", "other_bytes", "stream_bytes", "lookups", "n", "run", "iterations")


def _sizes(row):
    found = dict(zip(SIZES[row["kernel"]], (row["x"], row["y"], row["z"]), strict=False))
    whole = {
        k.replace("_mib", "_bytes"): int(v) * (MIB if "mib" in k else 1) for k, v in found.items()
    }
    return {name: whole.get(name, "") for name in COLUMNS}


def _gains(out):
    seen = Counter()
    for part in ("first", "second"):
        for row in csv.DictReader((out / f"{part}.csv").open()):
            plain = row["set_bytes"] == "0"
            point = tuple(list(row.values())[:-2])
            seen[point] += 1
            yield {
                "function": row["kernel"],
                "list": part,
                **_sizes(row),
                "set_bytes": row["set_bytes"],
                "window_over": "" if plain else ("table", "other")[int(row["window_of"])],
                "window_bytes": row["window_bytes"],
                "hit_ratio": row["hit_ratio"],
                "miss_prop": "" if plain else row["miss_prop"],
                "fetch_bytes": row["fetch"],
                "round": seen[point],
                "use": "validation",
                "timing": "events",
                "cache": "warm",
                "repeats": 7,
                "time_us": row["time_us"],
                "spread": row["spread"],
            }


def _profiled(path):
    """Yield the launches that Nsight Compute has counted, in order."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        if row["ID"]:
            yield row


def _number(row, name):
    return float(row[name].replace(",", ""))


def _sets(out):
    counted = list(_profiled(out / "sets_ncu.csv"))
    # Before every three launches one reads the 256 MiB of others' lines.
    launches = [row for i, row in enumerate(counted) if i % 4]
    listed = csv.DictReader((out / "sets_list.csv").open())
    for given, row in zip(listed, launches, strict=True):
        read = _number(row, "lts__t_sectors_srcunit_tex_op_read.sum")
        yield {
            "function": "counted_set",
            **{
                k: given[k]
                for k in ("bytes", "iterations", "set_mib", "hit_eighths", "miss_prop", "launch")
            },
            "use": "fit" if given["set_mib"] in ("16", "37") else "validation",
            "timing": "profiler",
            "cache": "warm" if int(given["launch"]) else "cold",
            "repeats": 1,
            "time_us": _number(row, "gpu__time_duration.sum") / 1000,
            "dram_read_bytes": int(_number(row, "dram__bytes_read.sum")),
            "l2_read_sectors": int(read),
            "l2_hit_sectors": int(_number(row, "lts__t_sectors_srcunit_tex_lookup_hit.sum")),
            "l2_clock_mhz": round(_number(row, "lts__cycles_elapsed.avg.per_second") / 1e6, 1),
        }


def _sides(out):
    listed = list(csv.DictReader((out / "sides_list.csv").open()))
    counted = list(_profiled(out / "sides_ncu.csv"))
    sets = sum(given["function"] == "set" for given in listed) // 2
    # Before every two launches over a set one reads the 256 MiB of others' lines.
    launches = [row for i, row in enumerate(counted) if i >= 3 * sets or i % 3]
    for given, row in zip(listed, launches, strict=True):
        yield {
            "function": given["function"].rstrip("18"),
            "bytes": int(given["mib"]) * MIB,
            "run": given["function"].removeprefix("gather").removeprefix("set"),
            **{k: given[k] for k in ("set_mib", "hit_eighths", "launch")},
            "use": "validation",
            "timing": "profiler",
            "cache": "warm" if int(given["launch"]) else "cold",
            "repeats": 1,
            "time_us": _number(row, "gpu__time_duration.sum") / 1000,
            "dram_read_bytes": int(_number(row, "dram__bytes_read.sum")),
            "dram_write_bytes": int(_number(row, "dram__bytes_write.sum")),
            "l2_read_sectors": int(_number(row, "lts__t_sectors_srcunit_tex_op_read.sum")),
            "l2_hit_sectors": int(_number(row, "lts__t_sectors_srcunit_tex_lookup_hit.sum")),
            "l2_all_sectors": int(_number(row, "lts__t_sectors.sum")),
            "far_sectors": int(_number(row, "lts__t_sectors_srcunit_ltcfabric.sum")),
            "far_hit_sectors": int(_number(row, "lts__t_sectors_srcunit_ltcfabric_lookup_hit.sum")),
        }


def _write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main(out, folder):
    """Write the CSVs."""
    _write(folder / "gains.csv", list(_gains(out)))
    _write(folder / "sets.csv", list(_sets(out)))
    _write(folder / "sides.csv", list(_sides(out)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
