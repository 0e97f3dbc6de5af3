"""Drawn launches of every built-in have the times and traffic that are recorded."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_launches import EVERY
from recorded_draws import DEVICES, TRAFFIC, recorded

from perfmodel.prediction import predict_many

NAMES = [" ".join(filter(None, one)) for one in EVERY]
BATCHES = {
    (name, device): launches
    for name, every in recorded().items()
    for device in DEVICES
    if (launches := [each for each in every if each["device"] == device])
}


def test_every_built_in_is_there() -> None:
    assert list(recorded()) == NAMES
    assert len(BATCHES) > 2.8 * len(NAMES)


@pytest.mark.parametrize(("name", "device"), BATCHES)
def test_drawn_launches_are_as_recorded(name: str, device: str) -> None:
    # regression: each was predicted alone; property: here they are together
    launches = BATCHES[name, device]
    columns: dict[str, Any] = {n: [x["params"][n] for x in launches] for n in launches[0]["params"]}
    kernel, *mapping = name.split()
    found = predict_many(kernel, mapping=mapping[0] if mapping else None, device=device, **columns)
    assert found.time_s == pytest.approx([x["time_s"] for x in launches], rel=1e-11)
    for key in TRAFFIC:
        expected = [x[key] for x in launches]
        assert found.traffic[key] == pytest.approx(expected, rel=1e-11, abs=1e-6), key
