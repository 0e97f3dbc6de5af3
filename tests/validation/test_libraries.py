"""Published times of libraries' kernels, and the intervals fitted to them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.intervals.libraries import (
    LibraryCase,
    LibraryRow,
    fitted,
    predicted_case,
    read_classes,
    read_rows,
)
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import device_names
from perfmodel.prediction.interval import LIBRARY, read_wider


def case(ratio: float, use: str, source: str = "a") -> LibraryCase:
    row = LibraryRow("rows", "a100-sxm-80", source, "softmax", {}, "warm", ratio, use)
    return LibraryCase(row, 1.0, (0.9, 1.1))


def test_rows_are_of_classes_and_gpus_that_there_are() -> None:
    rows, classes = read_rows(), read_classes()
    assert len(rows) > 1000
    for row in rows:
        assert row.device in device_names()
        assert row.time_s > 0
        assert any(each.has(row) for each in classes)
    # by hash: about half
    assert 0.45 < np.mean([row.use == "fit" for row in rows]) < 0.55


def test_the_fit_is_of_its_half_alone() -> None:
    # by hand: quantiles of ratios 1.00 to 2.00 in equal steps; the others do not count
    ratios = np.exp(np.linspace(0, np.log(2), 101))
    cases = [case(float(r), "fit") for r in ratios]
    found = fitted([*cases, case(1.5, "validation"), case(5.0, "validation")])
    assert found.low == 1.0  # the prediction itself is inside
    assert found.high == pytest.approx(2**0.95, rel=0.01)
    assert (found.rows, found.held_out_rows) == (101, 2)
    assert (found.before, found.held_out) == (0.0, 0.5)


def test_sources_count_alike_however_many_rows_they_have() -> None:
    few = [case(2.0, "fit", "few")] * 5
    many = [case(1.0, "fit", "many")] * 95
    # by hand: half of the weight is at 2, far beyond the 95% quantile of all rows
    assert fitted([*few, *many, case(1.0, "validation")]).high == pytest.approx(2.0)


def test_both_halves_are_needed() -> None:
    with pytest.raises(PerfmodelError, match="both are needed"):
        fitted([case(1.0, "fit")])


def test_the_file_is_of_all_classes_and_a_class_can_be_fitted_again() -> None:
    known = {
        (w.kernel, w.mapping, w.compute_capability, w.precisions): w for w in read_wider(LIBRARY)
    }
    classes = {(c.kernel, c.mapping, c.compute_capability, c.precisions): c for c in read_classes()}
    assert known.keys() == classes.keys()
    # regression: the quickest class, with today's models
    (key,) = (k for k in classes if k[0] == "copy")
    cases = [predicted_case(row, "") for row in read_rows() if classes[key].has(row)]
    found = fitted([c for c in cases if c is not None])
    assert found.high == pytest.approx(known[key].high, rel=0.02)
    assert found.held_out == pytest.approx(known[key].held_out, abs=0.05)
