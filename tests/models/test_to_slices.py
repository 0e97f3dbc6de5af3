"""The way of atomics to L2's slices: against published and measured times, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.models.atomics.to_slices import (
    REPEAT_CLOCKS,
    SEND_CLOCKS,
    SEND_CYCLES,
    Operands,
    Packets,
    network_cost,
    network_time,
    send_time,
)

H200 = load_device("h200-sxm")


def packets(lanes_each: float, width: int, sectors: float = 1.0) -> Packets:
    """Return packets of passes with so many lanes each."""
    filled = (lanes_each * width - width) / (32 - width)
    one = np.ones(1)
    return Packets(
        one * sectors,
        one,
        one * lanes_each * sectors,
        sectors=one * sectors,
        lanes_each=one * lanes_each,
        filled=one * filled,
    )


def operands(dtype: str, returns: bool = False, compares: bool = False) -> Operands:
    """Return what an atomic of a type does."""
    place = np.array([list(DATA_TYPES).index(dtype)])
    return Operands(place, np.array([returns]), np.zeros(1, dtype=bool), compares)


@pytest.mark.parametrize(
    ("lines", "sectors", "clocks"), [(1, 4, 5), (2, 4, 10), (4, 4, 20), (16, 2, 48), (32, 1, 36)]
)
def test_sending_takes_the_measured_clocks(lines: int, sectors: int, clocks: float) -> None:
    # measured: additions of one A100 SM to so many lines (note of `SEND_CLOCKS`)
    each, again = SEND_CLOCKS(H200), REPEAT_CLOCKS(H200)
    found = SEND_CYCLES(packets=lines, s=sectors, each=each, repeats=0.0, again=again)
    assert found == pytest.approx(clocks)


def test_packets_to_lines_that_a_request_has_named_follow_one_another() -> None:
    # by hand: 132 SMs send 10 packets each, 4 of them to lines of their own: 4.5 + 6*1.8 clocks
    sent = packets(1.0, 4)
    sent = Packets(
        sent.passes, np.full(1, 1320.0), sent.lanes, sent.sectors, sent.lanes_each, sent.filled
    )
    found = send_time(sent, np.full(1, 528.0), H200)
    assert found * H200.sm_clock == pytest.approx(4 * 1.125 + 6 * 1.8)


@pytest.mark.parametrize(
    ("dtype", "lanes", "returns", "rates"),
    [
        ("int32", 1.0, True, (74, 103)),
        ("int32", 8.0, True, (54, 103)),
        ("half2", 1.0, False, (74, 103)),
        ("half2", 8.0, False, (59, 103)),
        ("float64", 4.0, False, (78, 105)),
    ],
)
def test_what_a_sector_costs_on_its_way(
    dtype: str, lanes: float, returns: bool, rates: tuple[float, float]
) -> None:
    # measured: G sectors a second with and without (measurements/suite/h200-sxm/sweeps,
    # atomics-spread.csv, as the notes of the coefficients have them)
    slow, fast = rates
    width = 8 if dtype == "float64" else 4
    found = network_cost(packets(lanes, width), operands(dtype, returns), H200)
    assert found == pytest.approx(fast / slow, rel=0.03)


@pytest.mark.parametrize(
    ("sectors", "lanes", "clocks"), [(1.0, 1.0, 3.4), (2.0, 1.0, 10.2), (2.0, 8.0, 14.7)]
)
def test_a_compare_and_swap_packet_takes_the_measured_clocks(
    sectors: float, lanes: float, clocks: float
) -> None:
    # measured: clocks of an SM for a packet, of which one sector's are 3.4
    # (measurements/atomics/h200-sxm/cas/rounds.csv)
    one, found = (
        network_cost(p, operands("int32", compares=True), H200) * p.sectors
        for p in (packets(1.0, 4), packets(lanes, 4, sectors))
    )
    assert found / one == pytest.approx(clocks / 3.4, rel=0.04)


def test_the_network_takes_the_mean_of_lone_and_full_sectors() -> None:
    # by hand: a million passes, half of their bytes changed, at the mean of both times
    sent = packets(4.5, 4)
    sent = Packets(
        np.full(1, 1e6), sent.packets, sent.lanes, sent.sectors, sent.lanes_each, sent.filled
    )
    lone = H200.atomic_sector_rate
    full = H200.atomic_full_sector_rate
    assert lone is not None
    assert full is not None
    expected = 1e6 * (0.5 / lone + 0.5 / full)
    cost = network_cost(sent, operands("int32"), H200)
    assert network_time(sent, cost, H200) == pytest.approx(expected)
