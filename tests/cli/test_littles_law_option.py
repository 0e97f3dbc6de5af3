"""`perfmodel predict --littles-law`, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources

import jsonschema
import pytest

import perfmodel

Run = Callable[..., str]


@pytest.mark.parametrize("launch", ["read", "gemm --mapping naive", "write"])
def test_json_has_it_only_when_asked(launch: str, run: Run) -> None:
    text = resources.files(perfmodel).joinpath("prediction/schema.json").read_text("utf-8")
    found = json.loads(run("predict", *launch.split(), "--littles-law", "--json"))
    jsonschema.Draft202012Validator(json.loads(text)).validate(found)
    law = found.pop("littles_law")
    assert (law["missing"] is None) == bool(law["levels"])
    assert found == json.loads(run("predict", *launch.split(), "--json"))


def test_table(run: Run) -> None:
    shown = run("predict", "read", "-D", "vector=4", "--littles-law", columns=80)
    assert "limited by" in shown
    assert "DRAM had: 64 warps x 1 load x 128 B" in shown
    assert max(map(len, shown.splitlines())) <= 80
