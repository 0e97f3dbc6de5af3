"""What holds of every mechanism in the registry: neutral when off, documented, with evidence."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perfmodel import predict
from perfmodel.models.mechanism import mechanisms, without

ROOT = Path(__file__).parents[2]
LAUNCHES: tuple[dict[str, Any], ...] = (
    {"kernel": "copy", "bytes": 16 << 20, "cache": "warm"},
    {"kernel": "gemm", "mapping": "coalesced", "N": 1024},
    {"kernel": "gemm", "mapping": "tensor-core", "N": 1024},
    {"kernel": "stream-persistent", "persistent_bytes": 16 << 20, "stream_bytes": 1 << 28},
    {"kernel": "atomic-add", "n": 1 << 20, "addresses": 1024},
    {"kernel": "argmax"},
    {"kernel": "decode-attention", "mapping": "split"},
)


@cache
def launches() -> tuple[dict[str, Any], ...]:
    """Return the launches with all of their parameters: a library's choice of tile is made once."""
    return tuple({**launch, **predict(**launch).params} for launch in LAUNCHES)


@cache
def times(*off: str) -> tuple[float, ...]:
    with without(*off):
        return tuple(predict(**launch).time_s for launch in launches())


@pytest.mark.parametrize("name", mechanisms())
def test_without_it_launches_still_have_times(name: str) -> None:
    # property: a neutral mechanism leaves a model, if a worse one: within ten times of the whole
    for whole, found in zip(times(), times(name), strict=True):
        assert math.isfinite(found)
        assert 0.1 < found / whole < 10


@pytest.mark.parametrize("name", mechanisms())
def test_it_is_described_where_it_stands(name: str) -> None:
    # property: a file of its name in the folder of its stage, a line that says what it is,
    # subjects of measurements that are there
    found = mechanisms()[name]
    assert (ROOT / "perfmodel" / "models" / found.stage / f"{name}.py").is_file()
    assert found.text.endswith(".")
    for subject in found.evidence:
        assert (ROOT / "measurements" / subject).is_dir(), subject


def test_most_of_what_matters_is_seen_in_these_launches() -> None:
    # regression: switched off, these change a launch above; that the others change none here says
    # only that these launches do not need them
    changing = {name for name in mechanisms() if times(name) != times()}
    assert {"cold_start", "slowest_sm", "queueing", "pipe_contention"} <= changing
    assert times() == times.__wrapped__()
