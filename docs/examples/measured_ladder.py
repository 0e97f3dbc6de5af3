"""The ladder of matrix products, predicted and measured: on this project's H100, or published."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import perfmodel

MEASUREMENTS = Path(__file__).parents[2] / "measurements"
FILES = {
    "h100-sxm": "suite/h100-sxm/sweeps/ladder.csv",
    "h100-sxm-unseen": "suite/h100-sxm/sweeps/unseen-ladder.csv",
    "rtx-a6000": "published/rtx-a6000/gemm.csv",
}
RUNGS = (
    *("naive", "coalesced", "smem", "blocktile-1d", "blocktile-2d"),
    *("vectorized", "warptile"),
)
CHOICES = ("BM", "BN", "BK", "TM", "TN", "WM", "WN", "stages")


def launches(name: str, rung: str) -> dict[str, np.ndarray]:
    """Return sizes and measured time [us] of a rung's launches, between events with a warm L2."""
    with (MEASUREMENTS / FILES[name]).open(encoding="utf-8") as file:
        found = [
            row
            for row in csv.DictReader(file)
            if (row["timing"], row["cache"]) == ("events", "warm")
            and rung.replace("-", "_") in (row.get("function") or row["mapping"]).replace("-", "_")
        ]
    default = [[row.get(choice) for choice in CHOICES] for row in found][:1]
    found = [row for row in found if [row.get(choice) for choice in CHOICES] in default]
    return {c: np.array([float(row[c]) for row in found]) for c in ("M", "N", "K", "time_us")}


def main(name: str) -> None:
    """Print each rung with its default tiles: at N = 4096 if it is there, and over all sizes."""
    print(FILES[name])
    print("                    N = 4096                   all sizes")
    print("rung          predicted   measured  error  launches  median error   worst")
    for rung in RUNGS:
        seen = launches(name, rung)
        if not len(seen["N"]):
            continue
        predicted = perfmodel.predict_many(
            "gemm",
            mapping=rung,
            device=name.removesuffix("-unseen"),
            timing="events",
            cache="warm",
            **{size: seen[size].astype(int) for size in ("M", "N", "K")},
        ).time_s
        errors = predicted * 1e6 / seen["time_us"] - 1
        square = np.flatnonzero((seen["N"] == 4096) & (seen["M"] == 4096) & (seen["K"] == 4096))
        at = f"{'':27}"
        if len(square):
            i = square[0]
            ms = seen["time_us"][i] / 1e3
            at = f"{predicted[i] * 1e3:7.2f} ms {ms:7.2f} ms {errors[i]:+6.1%}"
        worst = errors[np.argmax(np.abs(errors))]
        off = np.median(np.abs(errors))
        print(f"{rung:12} {at} {len(errors):9} {off:13.1%} {worst:+7.1%}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "h100-sxm")
