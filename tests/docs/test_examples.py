"""The files in docs/examples, which the pages show and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app

EXAMPLES: Final = Path(__file__).parents[2] / "docs" / "examples"


def predicted(line: str) -> Any:
    result = CliRunner().invoke(app, ["predict", *line.split(), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_described_kernel_moves_what_its_source_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    size = "-D n=1000000"
    stated = predicted(f"my-kernel.toml {size}")
    compiled = predicted(f"my-kernel.cu --grid ceil_div(n,256) --block 256 {size}")
    # by hand: 3 loads of 31250 warps, each 12 sectors, and a store of 4
    for found in (stated, compiled):
        assert found["traffic"]["global_load_sectors"] == 3 * 31250 * 12
        assert found["traffic"]["global_store_sectors"] == 31250 * 4
    assert stated["time_s"] == pytest.approx(compiled["time_s"], rel=0.02)


def test_softmax_of_triton_moves_each_element_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    found = predicted("row_softmax.ptx --grid 4096 --block 128 --shared 16 --arg 2=1024")
    # by hand: 4096 rows of 1024 floats are 2**22 / 8 sectors, read once and written once
    assert found["traffic"]["global_load_sectors"] == 2**22 / 8
    assert found["traffic"]["global_store_sectors"] == 2**22 / 8


def test_padding_takes_the_bank_conflicts_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    launch = "transpose.cu --kernel tiled --grid n/32,n/32 --block 32,8 -D n=1024"
    straight, padded = predicted(launch), predicted(f"{launch} --compiler-option=-DPAD=1")
    # by hand: half of the requests, the loads of a column, take 32 wavefronts without padding
    requests = straight["traffic"]["shared_requests"]
    assert straight["traffic"]["shared_wavefronts"] == requests / 2 * 33
    assert padded["traffic"]["shared_wavefronts"] == requests
