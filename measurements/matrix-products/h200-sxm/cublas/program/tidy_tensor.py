"""Make the CSVs of this session from what tensor.sh left in a folder.

Usage: python tidy_tensor.py FOLDER_WITH_RESULTS OUTPUT_FOLDER [narrow]
"""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

import tensor_shapes

PRODUCTS = (
    "group,operation,dtype,M,N,K,use,timing,cache,repeats,time_us,spread,flag,library_kernel,"
    "library_grid,library_block,registers,kernels,main_us,span_us"
)
POWER = "dtype,M,N,K,operands,launch,use,timing,cache,repeats,time_us,clock_mhz,since_start,power_w"
LOOPS = "group,operation,dtype,M,N,K,method,use,timing,cache,repeats,time_us"
COUNTERS = (
    "operation,dtype,M,N,K,position,use,timing,cache,repeats,time_us,l2_read_sectors,"
    "l2_write_sectors,dram_read_bytes,dram_write_bytes,sm_cycles_elapsed,sm_cycles_active,"
    "registers,tensor_active,library_kernel"
)
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "us": 1, "ns": 1e-3, "ms": 1e3}
LATE_US = 5.0  # events that read so much more than the kernels waited for the host


def short(name):
    """Return the part of a kernel's name that tells its tiles."""
    if name.startswith("nvjet"):
        return name
    found = re.search(r"cutlass_\d+_\w+", name) or re.search(r"(gemv|gemmSN|dot|gemm)\w+", name)
    return found[0] if found else re.sub(r"[^\w]+", "_", name)[:60]


def products(path):
    """Yield three rows for each product: warm, cold, and between events."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            warm, cold = row["repeats"].split("/")
            same = [row[name] for name in ("group", "op", "dtype", "m", "n", "k", "use")]
            flag = "" if row["checked"] == "1" else "wrong result"
            kernel = [short(row["kernel"])]
            kernel += [row[name] for name in ("grid", "block", "registers", "kernels", "main_us")]
            for state, repeats, more in (("warm", warm, kernel), ("cold", cold, [""] * 6)):
                most, least, time = (float(row[f"{state}{end}_us"]) for end in ("_max", "_min", ""))
                spread = f"{(most - least) / time:.4f}"
                seen = [row[f"{state}_us"], spread, flag, *more, row[f"{state}_span_us"]]
                yield [*same, "profiler", state, repeats, *seen]
            late = float(row["events_us"]) - float(row["warm_span_us"]) > LATE_US
            flag = flag or ("host late" if late else "")
            yield [*same, "events", "warm", warm, row["events_us"], "", flag, *[""] * 7]


def unseen(path):
    """Yield the same of shapes that came after the models: all for validation."""
    for row in products(path):
        yield [*row[:6], "validation", *row[7:]]


def loops(path):
    """Yield a row for each way of timing a product between events, as scripts do."""
    ways = {
        "loop20_us": ("20 launches in a row", "warm", 20),
        "loop100ms_us": ("60 ms of launches in a row", "warm", 20),
        "flushed_us": ("256 MiB written before each", "dirty", 10),
    }
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            same = [row["group"], row["op"], "bf16", row["m"], row["n"], row["k"]]
            for column, (method, cache, repeats) in ways.items():
                yield [*same, method, "validation", "events", cache, repeats, row[column]]


def power(path):
    """Yield a row for each launch that was kept."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            same = [row[name] for name in ("dtype", "m", "n", "k", "data", "launch")]
            since = f"{float(row['since_start_ms']) / 1e3:.5f}"
            times = [row["time_us"], row["clock_mhz"], since, row["power_w"]]
            yield [*same, "fit", "events", "warm", 1, *times]


def counters(path):
    """Yield a row for each kernel that the profiler counted."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    kernels = {}
    for row in csv.DictReader(lines[first:]):
        place = str([value for name, value in row.items() if "ange" in name])
        found = kernels.setdefault(row["ID"], {"name": row["Kernel Name"], "range": place})
        value = float(row["Metric Value"].replace(",", ""))
        found[row["Metric Name"]] = value * UNITS.get(row["Metric Unit"], 1)
    seen = Counter()
    for found in kernels.values():
        shape = re.search(r"(linear|matmul) (\d+) (\d+) (\d+)", found["range"])
        m, n, k = map(int, shape.groups()[1:])
        seen[shape[0]] += 1
        whole = (
            "lts__t_sectors_srcunit_tex_op_read.sum",
            "lts__t_sectors_srcunit_tex_op_write.sum",
            "dram__bytes_read.sum",
            "dram__bytes_write.sum",
            "sm__cycles_elapsed.max",
            "sm__cycles_active.avg",
            "launch__registers_per_thread",
        )
        active = found["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"] / 100
        place = [shape[1], "bf16", m, n, k, seen[shape[0]], tensor_shapes.use(m, n, k)]
        times = ["profiler", "cold", 1, f"{found['gpu__time_duration.sum']:.3f}"]
        counts = [round(found[name]) for name in whole]
        yield [*place, *times, *counts, f"{active:.4f}", short(found["name"])]


def write(path, header, rows):
    """Write a CSV."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header.split(","))
        out.writerows(rows)


if __name__ == "__main__":
    given, made = map(Path, sys.argv[1:3])
    if sys.argv[3:] == ["narrow"]:
        both = [row for name in ("narrow", "tf32") for row in products(given / f"{name}.csv")]
        write(made / "products.csv", PRODUCTS, both)
        raise SystemExit
    both = [row for name in ("bf16", "other") for row in products(given / f"{name}.csv")]
    write(made / "products.csv", PRODUCTS, both)
    write(made / "unseen.csv", PRODUCTS, unseen(given / "fresh.csv"))
    write(made / "loops.csv", LOOPS, loops(given / "loops.csv"))
    write(made / "power.csv", POWER, power(given / "power.csv"))
    write(made / "counters.csv", COUNTERS, counters(given / "counters.csv"))
