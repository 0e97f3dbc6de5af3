"""Tidy what cublas_sgemm.py wrote: ``python tidy.py OUT FOLDER``."""

import csv
import re
import sys
from pathlib import Path

REPEATS = {"warm": 7, "cold": 5, "events": 7}
SIZES = ["math", "op", "dtype", "M", "N", "K"]
KERNEL = ["kernels", "kernel", "grid", "block", "registers", "shared_bytes", "main_us"]
HOW = ["relative_error", "use", "timing", "cache", "repeats", "time_us", "spread"]
STATE = ["clock_mhz", "flag"]


def main() -> None:
    """Write the table, a row a protocol; events between which the host was late are flagged."""
    with (Path(sys.argv[1]) / "raw.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    with (Path(sys.argv[2]) / "sgemm.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, [*SIZES, *KERNEL, *HOW, *STATE], lineterminator="\n")
        out.writeheader()
        for r in found:
            assert int(r["finite"])
            assert float(r["relative_error"]) < 1e-5
            name = re.sub(r"^void ", "", r["kernel"])
            name = name.split("(")[0].removesuffix("_execute_kernel__5x_cublas")
            about = {**r, "dtype": "fp32", "use": "validation", "kernel": name}
            for each, repeats in REPEATS.items():
                row = {k: about.get(k, "") for k in (*SIZES, *KERNEL, *HOW, *STATE)}
                row |= {
                    "timing": "events" if each == "events" else "profiler",
                    "cache": "cold" if each == "cold" else "warm",
                    "repeats": repeats,
                    "time_us": r[f"{each}_us"],
                    "spread": r[f"{each}_spread"],
                }
                if each == "events" and float(row["spread"]) > 0.1:
                    row["flag"] = "host late"
                out.writerow(row)


main()
