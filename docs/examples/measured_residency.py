"""The L2 article's two kernels: published, measured on this project's H100, and predicted."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import perfmodel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control

MIB = 2**20
MEASURED = Path(__file__).parents[2] / "measurements/l2/h100-sxm/set-aside"
# 'GPU L2 Cache Persistence', NVIDIA H100 80GB HBM3, by ncu: table in MiB, ms without and with 8 MiB
# set aside and a window of 8 MiB, hitRatio min(8 MiB / table, 1). 4096 MiB are written.
PUBLISHED = {
    "data-reset": {2: (1.31, 1.31), 4: (1.46, 1.46), 8: (1.64, 1.64), 16: (2.44, 2.43)},
    "stream-persistent": {2: (2.86, 2.81), 4: (2.97, 2.81), 8: (3.26, 2.81), 16: (4.12, 3.76)},
}
TABLES = {"data-reset": ("in", "out"), "stream-persistent": ("persistent", "stream")}


def measured(kernel: str, mib: int, aside: int) -> float:
    """Return the profiler's time of a launch with the article's window or none [ms]."""
    table, other = TABLES[kernel]
    wanted = {f"{table}_mib": mib, f"{other}_mib": 4096, "set_mib": aside, "timing": "profiler"}
    if aside:
        wanted |= {"window_mib": min(mib, 8), "hit_eighths": 8 if mib <= 8 else 4}
    with (MEASURED / f"{kernel}.csv").open(encoding="utf-8") as file:
        (row,) = (
            row
            for row in csv.DictReader(file)
            if all(row[name] == str(value) for name, value in wanted.items())
        )
    return float(row["time_us"]) / 1e3


def predicted(kernel: str, mib: int, aside: int) -> float:
    """Return perfmodel's time of the same launch [ms]."""
    table, other = TABLES[kernel]
    window = AccessPolicyWindow(table, 8 * MIB, min(8 / mib, 1))
    l2 = L2Control(aside * MIB, window) if aside else None
    sizes = {f"{table}_bytes": mib * MIB, f"{other}_bytes": 4096 * MIB}
    return perfmodel.predict(kernel, l2=l2, **sizes).time_s * 1e3


def main(kernel: str) -> None:
    """Print a line per size of the table: ms without, ms with, and the gain."""
    print("table        published              measured             predicted")
    for mib, published in PUBLISHED[kernel].items():
        columns = [published] + [
            tuple(times(kernel, mib, aside) for aside in (0, 8)) for times in (measured, predicted)
        ]
        gains = (f"{slow:.2f} to {fast:.2f}: {slow / fast:.3f}" for slow, fast in columns)
        print(f"{mib:2} MiB  " + "   ".join(gains))


if __name__ == "__main__":
    main(sys.argv[1])
