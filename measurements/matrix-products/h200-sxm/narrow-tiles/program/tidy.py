"""Tidy what tiles.py wrote: python tidy.py FROM INTO."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "cublas" / "program"))

import tidy_tensor

SAME = ["what", "operation", "M", "N", "K", "rank", "kernel", "split", "reduction"]
MORE = ["grid", "block", "registers", "shared_bytes", "kernels"]
HEADER = ",".join([*SAME, "use,timing,cache,repeats,time_us,flag,main_us", *MORE])


def tiles(path):
    """Yield a row for each launch, warm and cold; the first of those that are the same.

    Kernels that write parts of results in FP32 have another name with one part.
    """
    seen = set()
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            point = tuple(row[name] for name in SAME)
            if point in seen:
                continue
            seen.add(point)
            flag = "" if float(row["error"]) < 0.02 else "wrong result"
            for cache, repeats in (("warm", 6), ("cold", 5)):
                times = row[f"{cache}_us"], flag, row[f"{cache}_main_us"]
                yield (
                    *(row[name] for name in SAME),
                    *("fit", "profiler", cache, repeats, *times),
                    *(row[name] for name in MORE),
                )


if __name__ == "__main__":
    given, made = map(Path, sys.argv[1:3])
    tidy_tensor.write(made / "tiles.csv", HEADER, tiles(given / "tiles.csv"))
    rows = tidy_tensor.products(given / "rows.csv")
    tidy_tensor.write(made / "rows.csv", tidy_tensor.PRODUCTS, rows)
