"""The figure of a validation: many launches are one picture, few are shapes each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.hardware import load_device
from perfmodel.reports.page.svg import save_figure
from perfmodel.reports.validation_figure import validation_figure
from perfmodel.validation.case import Case
from perfmodel.validation.validate import Judged, Validation


@pytest.mark.parametrize(("count", "pictures"), [(100, 0), (3000, 1)])
def test_many_points_are_one_picture(
    count: int, pictures: int, case: Callable[..., Case], tmp_path: Path
) -> None:
    # property: a shape each would be over 150 B a launch
    cases = [case(line=i, measured_s=1e-6 * (i + 1), use="validation") for i in range(count)]
    judged = tuple(Judged(each, 1e-3, 1e-3) for each in cases)
    gpu = load_device("h200-sxm")
    validation = Validation(gpu, {}, ("here",), False, judged, {}, left_out=0, undescribed=0)
    path = tmp_path / "validation.svg"
    save_figure(validation_figure(validation), path)
    text = path.read_text()
    assert len(re.findall("<image ", text)) == pictures
    assert path.stat().st_size < 150_000 + 150 * count
