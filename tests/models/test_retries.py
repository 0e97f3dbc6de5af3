"""Retries: loops of compare-and-swap at one address and at many."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models import retries, slices
from perfmodel.models.formula import Formula
from perfmodel.models.retries import contenders

DEVICE = load_device("h200-sxm")


def seconds(**params: Any) -> float:
    return predict("cas-loop", device=DEVICE, cache="warm", **params).time_s


def test_formulas_explain_their_symbols() -> None:
    for module in (retries, slices):
        for value in vars(module).values():
            if isinstance(value, Formula):
                assert not value.unexplained(), value.name
                assert value.sympy() is not None


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
    assert found * 1e6 == pytest.approx(microseconds, rel=0.2)


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
