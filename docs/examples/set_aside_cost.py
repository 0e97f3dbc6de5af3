"""What an idle set-aside costs streams of 512 MiB on an H100: measured and predicted."""

from __future__ import annotations

import csv
from pathlib import Path

import perfmodel
from perfmodel.kernels.l2_control import L2Control

MIB = 2**20
ROWS = Path(__file__).parents[2] / "measurements/l2/h100-sxm/set-aside/set-aside-streams.csv"

print("         set aside   measured  predicted")
with ROWS.open(encoding="utf-8") as file:
    for row in csv.DictReader(file):
        aside = int(row["set_mib"])
        if row["mib"] != "512" or aside not in (0, 8, 16, 24, 30):
            continue
        l2 = L2Control(aside * MIB)
        size = {"bytes": 512 * MIB}
        time = perfmodel.predict(row["stream"], l2=l2, **size).time_s * 1e6
        print(f"{row['stream']:8} {aside:5} MiB {float(row['time_us']):7.0f} us {time:7.0f} us")
