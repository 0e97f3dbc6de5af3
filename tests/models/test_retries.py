"""Retries: loops of compare-and-swap at one address and at many."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.atomics.retries import FAR, NEAR, contenders

DEVICE = load_device("h200-sxm")


def seconds(**params: Any) -> float:
    return predict("cas-loop", device=DEVICE, cache="warm", **params).time_s


@pytest.mark.parametrize(("lanes", "addresses"), [(16384, 1024), (1 << 18, 1024), (4096, 4096)])
def test_the_most_popular_of_random_addresses(lanes: int, addresses: int) -> None:
    # independent: draws
    rng = np.random.default_rng(3)
    drawn = [
        np.bincount(rng.integers(0, addresses, lanes), minlength=addresses).max() for _ in range(9)
    ]
    found = contenders(np.array(lanes / addresses), True, np.array(float(addresses)))
    assert float(found) == pytest.approx(float(np.median(drawn)), rel=0.2)
    even = contenders(np.array(lanes / addresses), False, np.array(float(addresses)))
    assert float(even) == lanes / addresses


# measured on an H200: one address, between events less 2.9 us of an empty kernel
ONE_ADDRESS = {32: 9.4, 256: 66.8, 2048: 980.0}


@pytest.mark.parametrize(("n", "microseconds"), ONE_ADDRESS.items())
def test_one_address_as_measured(n: int, microseconds: float) -> None:
    floor = seconds(n=32, addresses=32, block=32)
    found = seconds(n=n, addresses=1, block=min(n, 256)) - floor
    # The word may be near the one SM of the short launches, or far: 66.8 or some 95 us.
    assert found * 1e6 == pytest.approx(microseconds, rel=0.25)


@pytest.mark.parametrize("pattern", ["modulo", "random"])
def test_more_addresses_never_take_longer(pattern: str) -> None:
    times = [
        seconds(n=1 << 14, addresses=1 << k, spacing=32, pattern=pattern) for k in range(0, 15, 2)
    ]
    assert all(b <= a * 1.01 for a, b in pairwise(times))


def test_a_warp_at_one_address_takes_a_round_for_each_lane() -> None:
    # measured: 12.3 us for one warp, 32 rounds, of which 2.9 us are an empty kernel
    together = seconds(n=32, addresses=1, block=32, pattern="warp")
    apart = seconds(n=32, addresses=32, block=32)
    assert (together - apart) * 1e6 == pytest.approx(31 * 0.29, rel=0.2)


# measured: one warp at one word on one SM, after the other and per added lane
# (atomics/h200-sxm/cas/rounds.csv)
@pytest.mark.parametrize(("side", "clocks"), [(NEAR(DEVICE), 14761), (FAR(DEVICE), 21601)])
def test_a_round_near_and_far(side: float, clocks: float) -> None:
    sent = 3.4 * (32 * 33 / 2)
    assert 32 * side * DEVICE.l2_latency * DEVICE.sm_clock + sent == pytest.approx(clocks, rel=0.05)


# measured: clocks of a slice for one request that fails (atomics/h200-sxm/cas/shapes.csv), all SMs
# at one place
@pytest.mark.parametrize(
    ("params", "clocks"),
    [
        ({"addresses": 32}, 9.74),
        ({"addresses": 32, "spacing": 2}, 2 * 9.31),
        ({"addresses": 1}, 46.76),
        ({"addresses": 2, "spacing": 8}, 74.2),
    ],
)
def test_a_slices_clocks_for_one_request(params: dict[str, int], clocks: float) -> None:
    details = predict("cas-loop", device=DEVICE, n=1 << 12, **params).details
    (found,) = details.time.atomics
    sharing = details.requests[found.position].sharing
    assert sharing is not None
    each = float(found.slice_pass.time_s[0]) * DEVICE.sm_clock
    assert float(np.ravel(sharing.conflicts.passes)[0]) * each == pytest.approx(clocks, rel=0.06)


def test_a_line_of_compare_and_swaps_is_two_packets() -> None:
    # counted: 65536 L2 requests of 131072 sectors for 32768 warps
    # (atomics/h200-sxm/cas/counters.csv)
    given = {"n": 1 << 20, "addresses": 1 << 20}
    found = predict("cas-loop", device=DEVICE, **given).details.requests[0].sharing
    assert found is not None
    assert float(found.conflicts.halves[0]) == 65536 / 32768
    assert float(found.conflicts.passes[0]) == 131072 / 32768


def tries_of(n: int, addresses: int) -> float:
    """Return the attempts per lane of so many."""
    (found,) = predict("cas-loop", device=DEVICE, n=n, addresses=addresses).details.time.atomics
    assert found.tries is not None
    return float(np.ravel(found.tries)[0])


# counted: tries of a lane where slices are busy (retries.csv, fit rows)
@pytest.mark.parametrize(
    ("n", "addresses", "counted"), [(16384, 256, 23.6), (131072, 256, 114.0), (131072, 64, 317.0)]
)
def test_tries_as_counted(n: int, addresses: int, counted: float) -> None:
    tries = tries_of(n, addresses)
    assert tries == pytest.approx(counted, rel=0.35)
    # property: never more than where all take turns
    assert tries <= (n / addresses + 1) / 2


def test_several_waves_of_blocks() -> None:
    """Measured, and never fitted on: the usual one of six places of a buffer, four waves of blocks.

    Source: measurements/atomics/h200-sxm/cas/loops.csv; single places are up to a third off one
    another.
    """
    with (
        Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/cas" / "loops.csv"
    ).open() as file:
        rows = [row for row in csv.DictReader(file) if row["n"] == "1048576"]
    times: dict[tuple[str, int, int], list[float]] = {}
    for row in rows:
        point = (row["pattern"], int(row["addresses"]), int(row["spacing"]))
        times.setdefault(point, []).append(float(row["time_us"]))
    assert len(times) == 20
    errors = [
        seconds(n=1 << 20, pattern=pattern, addresses=addresses, spacing=spacing)
        * 1e6 / float(np.median(measured)) - 1
        for (pattern, addresses, spacing), measured in times.items()
    ]  # fmt: skip
    assert np.median(np.abs(errors)) < 0.20
    assert abs(np.median(errors)) < 0.15


def test_a_stream_of_lanes_tries_more_often_than_a_burst() -> None:
    """Counted: 1024 addresses, 33.7 tries of a lane where 131072 lanes start at once, and 81.5 of
    eight times as many (retries.csv, fit rows)."""
    found = [tries_of(n, 1024) for n in (1 << 17, 1 << 20)]
    assert found[1] / found[0] == pytest.approx(81.5 / 33.7, rel=0.2)


@pytest.mark.parametrize(
    ("launch", "n", "places"), [(9, 10000, 40), (10, 90000, 1000), (11, 600000, 5000)]
)
def test_loops_of_warps_that_were_measured_after_the_model(
    launch: int, n: int, places: int
) -> None:
    # measured on an H200, never fitted on: `bounded_count` of unseen_loops.csv, medians of places
    path = (
        Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/streams" / "unseen_loops.csv"
    )
    with path.open(newline="") as file:
        found = [float(r["time_us"]) for r in csv.DictReader(file) if r["launch"] == str(launch)]
    assert len(found) == 5
    given = {"n": n, "addresses": places, "spacing": 8, "pattern": "warp", "dtype": "uint32"}
    p = predict("cas-loop", device="h200-sxm", timing="events", cache="cold", **given)
    assert p.time_s * 1e6 == pytest.approx(median(found), rel=0.3)
