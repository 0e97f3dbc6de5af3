"""Units against pint (independent), conversions as properties."""

from __future__ import annotations

import math

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.hardware.figure import KINDS, UNITS, Figure, units_of

CLOCK = 1.98e9
SMS = 132

# How pint spells our units, and the SI unit of the dimension. Counts are pint's "count" each.
PINT = {
    "B": "byte",
    "kB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "KiB": "kibibyte",
    "MiB": "mebibyte",
    "GiB": "gibibyte",
    "B/s": "byte/second",
    "GB/s": "gigabyte/second",
    "TB/s": "terabyte/second",
    "B/clk": "byte/clk",
    "B/clk/SM": "byte/clk*sm",
    "Hz": "1/second",
    "MHz": "1/microsecond",
    "GHz": "1/nanosecond",
    "s": "second",
    "ms": "millisecond",
    "us": "microsecond",
    "ns": "nanosecond",
    "cycles": "clk",
    "FLOP/s": "flop/second",
    "GFLOP/s": "gigaflop/second",
    "TFLOP/s": "teraflop/second",
    "GOP/s": "gigaflop/second",
    "TOP/s": "teraflop/second",
    "blocks/s": "count/second",
    "Gblocks/s": "gigacount/second",
    "blocks/clk": "count/clk",
}
BASE = {
    "bytes": "byte",
    "bytes/second": "byte/second",
    "hertz": "1/second",
    "seconds": "second",
    "operations/second": "flop/second",
    "blocks/second": "count/second",
}


@pytest.fixture(scope="module")
def registry() -> pint.UnitRegistry:
    ureg = pint.UnitRegistry()
    ureg.define("flop = count")
    ureg.define(f"clk = {1 / CLOCK!r} second")
    ureg.define(f"sm = {SMS}")
    return ureg


@pytest.mark.parametrize("name", UNITS)
def test_factor_is_pints(name: str, registry: pint.UnitRegistry) -> None:
    figure = Figure(1.0, name, "assumed", "test")
    base = BASE.get(figure.dimension)
    if base is None:
        assert figure.si_value(CLOCK, SMS) == 1.0  # a plain count
        return
    expected = registry(PINT[name]).to(base).magnitude
    assert figure.si_value(CLOCK, SMS) == pytest.approx(expected, rel=1e-12)


def test_binary_and_decimal_prefixes_differ() -> None:
    assert UNITS["GiB"].factor == 1024**3
    assert UNITS["GB"].factor == 1000**3
    assert UNITS["KiB"].factor != UNITS["kB"].factor


@given(
    value=st.floats(1e-6, 1e12),
    unit=st.sampled_from(list(UNITS)),
    clock=st.floats(1e8, 1e10),
    sms=st.integers(1, 1000),
)
def test_si_value_is_value_times_factor(value: float, unit: str, clock: float, sms: int) -> None:
    row = UNITS[unit]
    expected = value * row.factor * clock**row.clock * sms**row.sms
    figure = Figure(value, unit, "measured", "test")
    assert math.isclose(figure.si_value(clock, sms), expected, rel_tol=1e-12)


def test_units_of_a_dimension() -> None:
    assert units_of("hertz") == ["Hz", "MHz", "GHz"]
    assert all(units_of(unit.dimension) for unit in UNITS.values())


def test_kinds() -> None:
    assert KINDS == ("datasheet", "measured", "fitted", "derived", "assumed")
