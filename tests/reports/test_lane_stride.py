"""Lane strides as expressions: against the change of the index itself."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from perfmodel.expressions import evaluate, parse, text
from perfmodel.reports.lane_stride import slope

INDICES = {
    "threadIdx.x": "1",
    "m*K + k": "0",
    "(blockIdx.x*blockDim.x + threadIdx.x)*K + k": "K",
    "threadIdx.x*stride + offset": "stride",
    "k*N + blockIdx.x*32 + threadIdx.x % 32": "1",
    "(blockIdx.y*32 + threadIdx.x // 32)*K + k": "0",
    "2*threadIdx.x + 3*threadIdx.x": "5",
    "n - 1 - threadIdx.x": "-1",
    "3*(threadIdx.x*(a + b))": "3*(a + b)",
}


@pytest.mark.parametrize(("index", "expected"), INDICES.items())
def test_by_hand(index: str, expected: str) -> None:
    found = slope(parse(index), "threadIdx.x")
    assert found is not None
    names = dict.fromkeys(("K", "stride", "a", "b"), 7)
    assert evaluate(found, names) == evaluate(parse(expected), names)


@pytest.mark.parametrize("index", ["threadIdx.x*threadIdx.x", "max(threadIdx.x, n)"])
def test_no_slope_is_none(index: str) -> None:
    assert slope(parse(index), "threadIdx.x") is None


# Sums and products with the variable in one factor only: there the slope is exact.
_CONSTANT = st.sampled_from(["2", "5", "K", "(K + 3)", "(K - N)"])
_LINEAR = st.recursive(
    st.one_of(_CONSTANT, st.just("threadIdx.x")),
    lambda part: st.one_of(
        st.tuples(part, part).map(lambda p: f"({p[0]} + {p[1]})"),
        st.tuples(part, part).map(lambda p: f"({p[0]} - {p[1]})"),
        st.tuples(_CONSTANT, part).map(lambda p: f"{p[0]}*{p[1]}"),
        part.map(lambda p: f"(-{p})"),
    ),
    max_leaves=8,
)


@given(_LINEAR, st.integers(0, 30), st.integers(1, 50), st.integers(1, 50))
def test_slope_is_the_change_of_the_index(index: str, x: int, k: int, n: int) -> None:
    """Property: the index one lane on, less the index here."""
    node = parse(index)
    change = slope(node, "threadIdx.x")
    assert change is not None
    values = {"K": k, "N": n}
    here, there = (evaluate(node, {**values, "threadIdx.x": i}) for i in (x, x + 1))
    assert evaluate(parse(text(change)), values) == there - here
