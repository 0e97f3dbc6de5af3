"""Stores of many warps to few places: the busiest slice decides, and only for such stores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import Prediction, predict
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.atomics.repeated_stores import REPEATED_STORES_TIME, repeated_stores
from perfmodel.models.requests.sampled_places import counted_places
from perfmodel.reports.explain import explain

FLAGS = """
name = "flags"

[parameters]
places = {{ default = 1 }}
apart = {{ default = 1024 }}

[launch]
grid = 2344
block = 256
registers = 16

[definitions]
i = "blockIdx.x*blockDim.x + threadIdx.x"

[buffers]
out = {{ length = 67108864, element_bytes = 4 }}

[[accesses]]
store = "out"
index = "{index}"
"""
SPREAD = "i // 32 % places * apart"


def stored(index: str, **parameters: int) -> Prediction:
    return predict(parse_kernel(FLAGS.format(index=index)), device="h200-sxm", **parameters)


def hot(p: Prediction) -> float:
    """Return the time of the busiest slice [s]; 0 where no store is hot."""
    found = repeated_stores(p.details.time.resources.execution)
    return 0.0 if found is None else float(np.max(found))


def test_a_constant_place_is_one_place_by_formula_or_by_count() -> None:
    # property: an index of no thread and one that is always 0 say the same
    assert hot(stored("7")) == pytest.approx(hot(stored(SPREAD)), rel=1e-6)
    # independent: 2344 blocks leave 1 + 0.36*7 sectors each, at 2.05 clocks of 1980 MHz, 64 less
    assert hot(stored("7")) == pytest.approx((2344 * 3.52 - 64) * 2.05 / 1.98e9, rel=1e-6)


@pytest.mark.parametrize("index", ["i", "i*4", "i // 8", "i*32 % 16777216"])
def test_streams_have_no_hot_places(index: str) -> None:
    # property: what each thread stores for itself is in L2's bandwidth alone
    p = stored(index)
    assert hot(p) == 0
    assert repeated_stores(p.details.time.resources.execution) is None


def test_explanations_show_the_busiest_slice() -> None:
    # property: the step is there, with the time that decides
    name = REPEATED_STORES_TIME.name
    (shown,) = (step for step in explain(stored("7")) if step.title == name)
    assert shown.result == pytest.approx(hot(stored("7")))
    assert name not in {step.title for step in explain(stored("i"))}


POWERS = st.integers(0, 6).map(lambda n: 2**n)


@settings(max_examples=12, deadline=None)
@given(places=POWERS, times=POWERS)
def test_more_places_never_take_longer(places: int, times: int) -> None:
    # property: places in pieces of their own, which an index that is affine in digits goes to
    few, many = stored(SPREAD, places=places), stored(SPREAD, places=places * times)
    assert hot(many) <= hot(few) * 1.02 + 1e-7
    assert many.time_s <= few.time_s * 1.01 + 1e-7


@pytest.mark.xfail(strict=True, reason="of places that are counted, some that are hot are not seen")
def test_three_places_are_hotter_than_four() -> None:
    # property: as above, where the warps do not go on to the places evenly
    assert hot(stored(SPREAD, places=3)) >= hot(stored(SPREAD, places=4)) > 0


def test_places_of_ones_own_are_not_hot_though_a_sample_goes_to_few() -> None:
    # property: 16 blocks store 64 times, each beside where it was before
    lanes = np.arange(32) * 4
    own = np.concatenate([b * 65536 + t * 128 + lanes[None] for t in range(64) for b in range(16)])
    assert counted_places(own, own >= 0, 1 << 26) is None
    one = np.zeros_like(own)
    found = counted_places(one, one >= 0, 1 << 26)
    assert found is not None
    assert found.hot.granule == pytest.approx(1)
