"""Atomics where few warps or few places contend (measurements/atomics/h200-sxm/contended)."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.l1.throughput import LONE_WARP
from perfmodel.models.l2.slices import most_pieces

FOLDER = Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/contended"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("op", ["add", "store"])
@pytest.mark.parametrize("words", [8, 16, 32])
def test_a_lone_warp_takes_twice_its_passes_and_two_warps_do_not(op: str, words: int) -> None:
    # measured: lanes in 8, 16 or 32 words of a bank, 1024 accesses one after the other
    clocks = {
        int(r["warps"]): int(r["clocks"]) / 1024
        for r in rows("shared.csv")
        if (r["op"], r["spacing"]) == (op, str(words))
    }
    assert clocks[1] == pytest.approx(LONE_WARP(load_device("h200-sxm")) * words, rel=0.03)
    assert clocks[2] / 2 == pytest.approx(words, rel=0.03)


def test_lone_warps_at_meetings_chosen_after_the_model() -> None:
    # measured, never fitted on: 5 to 24 lanes of a warp meet at a word; the rest of the launch,
    # and what the first of them wait less, is below a tenth of 2000 additions
    found = [r for r in rows("lone.csv") if r["use"] == "validation" and r["op"] == "add"]
    found = [r for r in found if r["iterations"] == "2000" and int(r["same"]) >= 5]
    assert len(found) == 8
    for r in found:
        lanes, warps = int(r["same"]), int(r["warps"])
        given = {"blocks": 1, "block": 32 * warps, "iterations": 2000, "constant": "false"}
        p = predict("shared-atomic", device="h200-sxm", addresses=-(-32 // lanes), **given)
        clocks = float(np.max(p.terms_s["l1"])) * 1.98e9
        # lanes modulo the addresses meet a little less often than lanes in groups
        meet = lanes / -(-32 // -(-32 // lanes))
        assert clocks * meet == pytest.approx(int(r["clocks_barrier"]), rel=0.1), r


def shares() -> dict[int, float]:
    """Return the pieces of the busiest slice, means of many places, by how many there are."""
    times = defaultdict(list)
    for r in rows("places.csv"):
        if r["align"] in ("2MiB", "64KiB"):
            # one piece: 1588 us for 8 additions of every lane
            # (measurements/atomics/h200-sxm/cas/places.csv); an empty kernel: some 4.5
            one = (1588 - 4.5) / 8 * int(r["turns"])
            times[int(r["pieces"])].append((float(r["time_us"]) - 4.5) / one * int(r["pieces"]))
    return {pieces: mean(found) for pieces, found in times.items()}


@pytest.mark.parametrize("pieces", [8, 16, 20, 24, 28, 32, 48, 64, 80, 96, 112])
def test_the_busiest_slice_is_the_mean_of_many_places(pieces: int) -> None:
    # measured; single places of 20 to 96 pieces have up to one piece more or fewer
    assert float(most_pieces(pieces, load_device("h200-sxm"))) == pytest.approx(
        shares()[pieces], rel=0.12
    )


def tables(use: str) -> list[dict[str, str]]:
    found = [r for r in rows("tables.csv") if (r["use"], r["timing"]) == (use, "profiler")]
    assert len(found) == {"fit": 54, "validation": 28}[use]
    return found


@pytest.mark.parametrize(
    ("use", "reads", "writes", "times"),
    [("fit", 0.09, 0.13, 0.18), ("validation", 0.09, 0.13, 0.225)],
)
def test_cold_tables_at_random_places(use: str, reads: float, writes: float, times: float) -> None:
    # measured: what DRAM moves for additions at random places of cold tables, and how long they
    # take; writes where more than half of the additions write back
    off = []
    for r in tables(use):
        words, n = int(r["table_mib"]) << 18, int(r["n"])
        given = {"n": n, "addresses": words, "dtype": r["dtype"], "pattern": "random"}
        p = predict("atomic-add", device="h200-sxm", cache="cold", **given)
        read, written = (float(p.traffic[f"dram_{w}_bytes"]) for w in ("read", "write"))
        assert read == pytest.approx(float(r["dram_read_bytes"]), rel=reads), r
        if float(r["dram_write_bytes"]) > n * 32 / 2:
            assert written == pytest.approx(float(r["dram_write_bytes"]), rel=writes), r
        off.append(p.time_s * 1e6 / float(r["time_us"]) - 1)
    assert max(map(abs, off)) < times
    assert median(map(abs, off)) < 0.05


def test_a_place_decides_how_long_retries_take() -> None:
    # measured: the same launch at other places of a buffer, 1024 warps that retry at a word of
    # 8 bytes each, takes up to twice as long; no model knows the place
    times = [
        float(r["time_us"])
        for r in rows("cas-places.csv")
        if (r["pattern"], r["dtype"], r["n"], r["block"]) == ("warp", "uint64", "32768", "512")
        and (r["addresses"], r["spacing"]) == ("1024", "1")
    ]
    assert len(times) == 36
    assert max(times) > 2 * min(times)
    given = {"n": 32768, "addresses": 1024, "dtype": "uint64", "pattern": "warp", "block": 512}
    p = predict("cas-loop", device="h200-sxm", cache="warm", timing="events", **given)
    assert p.time_s * 1e6 == pytest.approx(median(times), rel=0.15)
