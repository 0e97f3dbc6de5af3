"""Numbers as people read them. Expected values: by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.reports import units


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 ns"),
        (2e-6, "2 us"),
        (2.345e-6, "2.35 us"),
        (23.2e-3, "23.2 ms"),
        (0.99949e-3, "999 us"),
        (0.9996e-3, "1.00 ms"),
        (99.96e-6, "100 us"),
        (3.2e-10, "0.320 ns"),
        (90, "90 s"),
        (367810.4, "367810 s"),
    ],
)
def test_seconds(value: float, expected: str) -> None:
    assert units.seconds(value) == expected


def test_span() -> None:
    assert units.span(18.55e-3, 28.99e-3) == "18.6 to 29.0 ms"
    assert units.span(0.8e-3, 1.2e-3) == "0.800 to 1.20 ms"


def test_decimal_and_binary_units_are_kept_apart() -> None:
    assert units.data(2**30) == "1.07 GB"
    assert units.capacity(2**30) == "1 GiB"
    assert units.capacity(80e9) == "74.5 GiB"
    assert units.data(992) == "992 B"
    assert units.data(0.006) == "<1 B"
    assert units.data(0) == "0 B"
    assert units.data(999_600) == "1.00 MB"
    assert units.bandwidth(3352e9) == "3.35 TB/s"
    assert units.flop_rate(66.9e12) == "66.9 TFLOP/s"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (31, "31"), (15.5, "15.5"), (99_999, "99999"), (536_870_912, "537M"), (1e18, "1E")],
)
def test_count(value: float, expected: str) -> None:
    assert units.count(value) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "0%"), (1, "100%"), (0.934, "93%"), (0.0894, "8.9%"), (0.0001, "<0.1%"), (0.0996, "10%")],
)
def test_percent(share: float, expected: str) -> None:
    assert units.percent(share) == expected


@given(st.floats(1e-12, 1e17))
def test_no_text_is_far_from_its_number(value: float) -> None:
    text, unit = units.bandwidth(value).split()
    factor = {"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "PB/s": 1e15}[unit]
    assert float(text) * factor == pytest.approx(value, rel=0.0051)
    assert float(text) < 1000


def test_one_of_a_kind() -> None:
    assert units.several(1.0, "round") == "1 round"
    assert units.several(1.5, "round") == "1.50 rounds"
    assert units.several(4096, "round") == "4096 rounds"
