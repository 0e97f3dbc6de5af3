"""Drawn launches of every built-in have the times and traffic that are recorded."""

from __future__ import annotations

import pytest
from drawn_launches import EVERY
from last_bits import compared
from recorded_draws import TRAFFIC, batches, recorded, recorded_digests, together

NAMES = [" ".join(filter(None, one)) for one in EVERY]
BATCHES = batches(recorded())


def test_every_built_in_is_there() -> None:
    assert list(recorded()) == NAMES
    assert len(BATCHES) > 2.8 * len(NAMES)
    assert list(recorded_digests()) == [" ".join(at) for at in BATCHES]


@pytest.mark.parametrize(("name", "device"), BATCHES)
def test_drawn_launches_are_as_recorded(name: str, device: str) -> None:
    # regression: each was predicted alone; property: here they are together
    launches = BATCHES[name, device]
    found, digest = together(name, launches)
    assert found.time_s == pytest.approx([x["time_s"] for x in launches], rel=1e-11)
    for key in TRAFFIC:
        expected = [x[key] for x in launches]
        assert found.traffic[key] == pytest.approx(expected, rel=1e-11, abs=1e-6), key
    found_digest, expected_digest = compared(digest, recorded_digests()[f"{name} {device}"])
    assert found_digest == expected_digest
