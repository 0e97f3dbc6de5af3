"""Launches of the record that are predicted together have the times that each has alone."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest
from formula_launches import launch_arguments, recorded, rows_of
from recorded_stages import LAUNCHES

from perfmodel.kernels import Kernel
from perfmodel.prediction import predict_many

TOGETHER = 6
EVERY = 3  # of the topics
PARTS = 7


@cache
def batches() -> dict[str, list[str]]:
    """Return some launches of each topic that differ in numbers alone."""
    topics = dict.fromkeys(tuple(name.split()[:3]) for name in LAUNCHES)
    found: dict[str, list[str]] = {}
    for device, folder, topic in list(topics)[::EVERY]:
        names = [f"{device} {folder} {row}" for row in rows_of(folder) if row.split()[0] == topic]
        alike = defaultdict(list)
        for name in names[:: max(len(names) // (2 * TOGETHER), 1)]:
            alike[_common(launch_arguments(name))].append(name)
        most = max(alike.values(), key=len)[:TOGETHER]
        if len(most) > 2:
            found[f"{device} {folder} {topic}"] = most
    return found


def _common(launch: dict[str, Any]) -> str:
    """Return all of a launch but its numbers, and how these are called."""
    return "; ".join(
        name if type(value) is int else f"{name} {_named(value)}" for name, value in launch.items()
    )


def _named(value: Any) -> str:
    return str(id(value)) if isinstance(value, Kernel) else repr(value)


def test_there_are_batches_of_many_topics() -> None:
    # of 71 topics 22 have no three launches that are alike
    assert len(batches()) >= 45


@pytest.mark.parametrize("part", range(PARTS))
def test_a_batch_has_the_times_of_its_launches(part: int) -> None:
    # regression: the committed record; property: whoever is predicted beside a launch
    for topic in list(batches())[part::PARTS]:
        launches = [launch_arguments(name) for name in batches()[topic]]
        first = launches[0]
        numbers = {n: [each[n] for each in launches] for n, v in first.items() if type(v) is int}
        found = predict_many(**first | numbers)
        expected = [recorded(name)["time_s"] for name in batches()[topic]]
        assert found.time_s == pytest.approx(np.array(expected), rel=1e-9), topic
