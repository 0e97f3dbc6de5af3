"""Loops of compare-and-swap that sources write for shared memory: measured, and by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.atomics.shared_swaps import (
    AGAIN,
    AGAIN_WIDE,
    BANK,
    FIRST,
    FIRST_WIDE,
    GROWTH,
    MIXED,
    SWAP_CHAIN,
    SWAP_TIME,
    SWAPS_SENT,
)

H200 = load_device("h200-sxm")
MEASURED = (
    Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/shared-memory" / "places.csv"
)


def test_a_warp_alone_takes_little_less_than_in_microbenchmarks() -> None:
    # measured: clocks of a request of one warp, 1 to 32 lanes a word. Rounds of lanes that lost are
    # between these and those of kernels that do other work beside them, which lose less
    ratios = []
    with MEASURED.open(newline="") as file:
        for r in csv.DictReader(file):
            alone = (r["pattern"], r["pitch"], r["warps"], r["held"]) == ("own", "1", "1", "1")
            if not alone or r["op"] not in ("loop_float", "loop_double"):
                continue
            wide, lanes = r["op"] == "loop_double", float(r["m"])
            said = SWAP_CHAIN(
                first=(FIRST_WIDE if wide else FIRST)(H200),
                again=(AGAIN_WIDE if wide else AGAIN)(H200),
                most=lanes,
                growth=GROWTH(H200),
                mixed=1.0,
                bank=BANK(H200),
                turns=lanes,
            )
            if lanes == 1:
                assert said == pytest.approx(float(r["each"]), rel=0.02)
            else:
                ratios.append(said / float(r["each"]))
    assert len(ratios) == 10
    assert min(ratios) > 0.82
    assert max(ratios) < 0.95
    assert 0.86 < np.median(ratios) < 0.90


def test_a_request_by_hand() -> None:
    # by hand: three lanes at a word go two rounds more, in two banks' turns of three lanes
    given = {"first": 100.0, "again": 200.0, "most": 3.0, "growth": 1.0, "bank": 5.0, "turns": 3.0}
    assert SWAP_CHAIN(mixed=1.0, **given) == pytest.approx(100 + 400 + 10)
    mixed = MIXED(H200)
    assert SWAP_CHAIN(mixed=mixed, **given) == pytest.approx(100 + 400 * mixed + 10)


def test_tries_keep_the_banks() -> None:
    # by hand: 10 clocks of loads, 20 turns of 2 clocks, and for each of 20 turns a third of the 7
    # other lanes tries once more; where other warps come too, of all 8
    given = {"loads": 10.0, "turns": 20.0, "swap": 2.0, "again": 20.0, "often": 1 / 3, "late": 1.5}
    assert SWAPS_SENT(c=8.0, others=0.0, **given) == pytest.approx(10 + 40 + 20 / 3 * 7 * 1.5)
    assert SWAPS_SENT(c=8.0, others=1.0, **given) == pytest.approx(10 + 40 + 20 / 3 * 8 * 1.5)


def test_turns_and_tries_overlap() -> None:
    # by hand: two rounds of the root of (3 + 1)**2 + 3**2, at a clock of 2 Hz
    found = SWAP_TIME(waves=2.0, serial=3.0, chain=1.0, sent=3.0, clock=2.0)
    assert found == pytest.approx(5.0)
