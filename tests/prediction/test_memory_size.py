"""Buffers that a GPU's memory cannot hold: refused with their sum, wherever a time is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from perfmodel import load_device, predict, predict_many
from perfmodel.cli.app import app
from perfmodel.kernels import find_kernel
from perfmodel.operators.model_shape import load_shape
from perfmodel.operators.predict import predict_operators
from perfmodel.prediction.memory_size import TooLargeForMemoryError
from perfmodel.prediction.sweep import sweep

GIB = 1 << 30


@pytest.mark.parametrize("command", ["predict", "explain", "roofline"])
def test_buffers_over_the_memory_are_refused_with_their_sum(command: str) -> None:
    # by hand: two buffers of a TiB each
    done = CliRunner().invoke(app, [command, "copy", "-D", "bytes=1TiB"])
    assert (done.exit_code, done.stdout) == (2, "")
    said = done.stderr
    assert "copy need 2 TiB (in 1 TiB + out 1 TiB)" in said
    assert "h100-sxm has 79.18 GiB" in said
    assert "choose a GPU with more memory" in said


def test_the_limit_is_what_the_device_has() -> None:
    # by hand: buffers of all of its memory together fit, 16 B more in each do not
    device = replace(load_device("h100-sxm"), dram_size=4 * GIB)
    assert predict("copy", device=device, bytes=2 * GIB).time_s > 0
    with pytest.raises(TooLargeForMemoryError):
        predict("copy", device=device, bytes=2 * GIB + 16)


def test_one_of_many_configurations_is_enough_to_refuse_them() -> None:
    with pytest.raises(TooLargeForMemoryError, match="2 TiB"):
        predict_many("copy", bytes=np.array([GIB, 1 << 40]))


def test_a_sweep_goes_on_without_the_values_that_are_refused() -> None:
    # by hand: 2 x 60 GiB are over 79.18 GiB, 2 x 30 GiB are not
    found = sweep(find_kernel("copy"), "bytes", [GIB, 60 * GIB, 30 * GIB])
    assert found.values == (GIB, 30 * GIB)
    assert len(found.predictions) == 2
    assert list(found.refused) == [60 * GIB]
    assert "120 GiB" in found.refused[60 * GIB]
    with pytest.raises(TooLargeForMemoryError, match="120 GiB"):
        sweep(find_kernel("copy"), "bytes", [60 * GIB, 70 * GIB])


def test_the_commands_name_what_a_sweep_leaves_out() -> None:
    given: list[Any] = ["sweep", "copy", "--over", "bytes=1GiB,60GiB"]
    said = " ".join(CliRunner().invoke(app, given).output.split())
    assert "refused bytes=60 GiB: the buffers of copy need 120 GiB" in said
    (told,) = json.loads(CliRunner().invoke(app, [*given, "--json"]).output)
    assert [r["value"] for r in told["refused"]] == [60 * GIB]


def test_a_model_and_its_cache_over_the_memory_are_refused_with_the_sum() -> None:
    # by hand: 2 x 32 layers x 4096 tokens x 4096 x 2 B = 2 GiB of cache a sequence
    shape, device = load_shape("llama-2-7b"), load_device("h100-sxm")
    with pytest.raises(TooLargeForMemoryError, match=r"cache 240 GiB \+ weights 12\.\d+ GiB"):
        predict_operators(shape, device, batch=120)
