"""Cost over sizes: of every built-in, what no machine changes stays what it is (property)."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from benchmarks.flat import (
    FOLLOWED,
    Work,
    cost,
    kernels,
    launches,
    sizes,
    source_grids,
    source_sizes,
)
from benchmarks.sources import source
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.kernels import Kernel
from perfmodel.prediction.conditions import by_the_models

_MORE = 1.5
"""Calls at one size over those at another: some forms have a term more."""
_PIECES = 5.0
"""The same where a sample of random places is looked at piece by piece."""
_WRAPPED = 400_000
"""Calls besides where numbers of threads wrap in the 32 bits of a register, as in grids of 2^31
blocks, and a sample of them is looked at piece by piece: a number, as it is the same whatever the
rest costs."""
_LITTLE = 1 << 18
_DRAWN = 1 << 23
"""Memory in use [B], and where random places are drawn, as many for any size."""
_TRANSLATED = 1 << 22
"""Memory in use [B] for a translation besides: a buffer keeps 2^18 numbers that it gave."""
_OF_BLOCKS = 1 << 23
"""Memory in use [B] where blocks are told apart, up to 8,192 of them."""
_RANDOM = ("embedding", "gather")
_USUAL = gc.get_threshold()


@pytest.fixture(autouse=True)
def usual_collection() -> Iterator[None]:
    """Look for garbage as often as a command does: the memory in use depends on it."""
    of_tests = gc.get_threshold()
    gc.set_threshold(*_USUAL)
    yield
    gc.set_threshold(*of_tests)


@pytest.mark.parametrize("kernel", kernels(), ids=lambda k: f"{k.name}-{k.mapping}")
def test_a_prediction_costs_the_same_at_any_size(kernel: Kernel) -> None:
    with by_the_models():
        for parameter in sizes(kernel)[:1]:
            some = list(launches(kernel, parameter).values())
            assert some
            drawn = kernel.name in _RANDOM
            limits = (_DRAWN, _PIECES) if drawn else (_LITTLE, _MORE)
            _costs_alike(some[0], some[-1], *limits)


@pytest.mark.parametrize("name", FOLLOWED)
def test_translation_and_prediction_of_a_source_cost_the_same_at_any_size(name: str) -> None:
    if not name.endswith(".ptx") and find_tool("nvcc") is None:
        pytest.skip("needs nvcc")
    with by_the_models():
        some = source(name)
        works = list(source_sizes(some).values())
        _costs_alike(works[0], works[-1], _TRANSLATED, _MORE)
        grids = list(source_grids(some).values())
        if grids:  # the source is not for one grid alone
            _costs_alike(grids[0], grids[-1], _OF_BLOCKS, _MORE, _WRAPPED)


def _costs_alike(small: Work, large: Work, most: int, more: float, besides: int = 0) -> None:
    # both were done before, to see that they are possible: what is worked out once is known
    costs = [cost(work) for work in (small, large)]
    calls = [each.calls for each in costs]
    assert max(calls) <= more * min(calls) + besides
    assert max(each.peak for each in costs) <= most
