"""The way from every figure to the time is closed: a replay gives what a new prediction gives."""

from __future__ import annotations

import math
import random
import zlib
from dataclasses import replace
from unittest import mock

import pytest
from drawn_launches import EVERY, drawn, drawn_of
from programs import launch, sample_program

from perfmodel import Prediction, predict, predict_many
from perfmodel.cuda.kernel.translate import translated
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.hardware.device import quantities
from perfmodel.models import derivation as recorder
from perfmodel.models.replay import DecisionError
from perfmodel.prediction.evaluate import evaluate
from perfmodel.prediction.figures_used import derive

ONE_PPM = 1e-6


def time_with(found: Prediction, device: Device) -> float:
    details = found.details
    # requests know no device, so they are those of the launch
    asked = details.requests, details.on_chip
    given = details.instance, device, found.timing, found.cache, details.setting
    return float(evaluate(*given, asked=asked).time.time_s[0])


def moved(value: float) -> float:
    return value + 1 if isinstance(value, int) else value * (1 + ONE_PPM)


def check(found: Prediction) -> tuple[int, int]:
    """Check every figure, and return how many move the time, and how many change its form."""
    way, gpu = derive(found), found.details.device
    assert way.replay()[0] == pytest.approx(found.time_s, rel=1e-13)
    given = {name: getattr(gpu, name) for name in quantities()}
    figures = {n: moved(v) for n, v in given.items() if isinstance(v, (int, float))}
    unmoved([n for n in figures if n not in way.figures], figures, found)
    matter = other = 0
    for name in figures.keys() & way.figures.keys():
        try:
            expected = time_with(found, replace(gpu, **{name: figures[name]}))
        except (PerfmodelError, KeyError):
            continue  # no such GPU: none fetches 65 bytes
        matter += expected != found.time_s
        try:
            replayed = way.replay(**{name: figures[name]})[0]
        except DecisionError:
            # a whole number by which blocks or slices are counted
            assert isinstance(given[name], int), name
            other += 1
            continue
        assert replayed == pytest.approx(expected, rel=1e-11), name
    return matter, other


def unmoved(names: list[str], figures: dict[str, float], found: Prediction) -> None:
    """Check that figures which are not on the way change nothing: together, where such a GPU is."""
    device = replace(found.details.device, **{name: figures[name] for name in names})
    try:
        assert time_with(found, device) == found.time_s, names
    except (PerfmodelError, KeyError):
        half = len(names) // 2
        for some in (names[:half], names[half:]) if half else ():
            unmoved(some, figures, found)


def predicted(kernel: str, mapping: str | None) -> Prediction:
    """Predict the first launch of a kernel that can be, of some that are drawn."""
    for seed in range(50):
        rng = random.Random(zlib.crc32(f"{kernel} {mapping}".encode()) + seed)
        try:
            return drawn_of(kernel, mapping, rng).predicted()
        except PerfmodelError:
            continue
    raise AssertionError("no launch could be predicted")


@pytest.mark.parametrize(("kernel", "mapping"), EVERY, ids=str)
def test_every_built_in(kernel: str, mapping: str | None) -> None:
    # property: by a second way, a new prediction of a GPU with one figure moved
    matter, other = check(predicted(kernel, mapping))
    assert matter >= 3
    assert other <= 12


@pytest.mark.parametrize("start", range(0, 40, 8))
def test_launches_drawn_at_random(start: int) -> None:
    checked = 0
    for seed in range(start, start + 8):
        try:
            found = drawn(random.Random(seed)).predicted()
        except PerfmodelError:
            continue
        check(found)
        checked += 1
    assert checked >= 3


SAMPLES = {
    "saxpy": ((4000,), (256,), {"n": 1_024_000, "a": 2.0}),
    "transpose": ((32, 32), (32, 8), {"w": 1024, "h": 1024}),
    "stencil": ((32, 128), (32, 8), {"nx": 1024, "ny": 1024}),
    "warp_sums": ((264,), (256,), {"n": 60_000}),
    "histogram": ((264,), (256,), {"n": 60_000}),
    "gather": ((4000,), (256,), {"n": 1_000_000}),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_kernels_from_ptx(name: str) -> None:
    grid, block, arguments = SAMPLES[name]
    kernel = translated(sample_program(), launch(grid, block, **arguments), name)
    for cache in ("cold", "warm"):
        check(predict(kernel, cache=cache))


def test_figures_and_formulas_of_a_copy() -> None:
    way = derive(predict("copy", bytes=1 << 28))
    assert {"dram_bandwidth", "launch_floor", "sm_clock", "sm_count"} <= way.figures.keys()
    assert "peak_fp64" not in way.figures
    names = [node.name for node in way.formulas]
    assert "time of a transfer" in names
    # half of the DRAM bandwidth takes longer, but not twice as long: the launch takes its time
    bandwidth = way.figures["dram_bandwidth"].value
    slower = way.replay(dram_bandwidth=bandwidth / 2)[0] / way.replay()[0]
    assert 1.5 < slower < 2.0


@pytest.mark.parametrize(
    ("kernel", "mapping"), [("copy", None), ("gemm", "coalesced"), ("gather", None)]
)
def test_elasticity_of_a_figure_is_that_of_a_new_prediction(
    kernel: str, mapping: str | None
) -> None:
    # property: by a second way, a new prediction of a GPU with the figure 0.01% larger
    found = predict(kernel, mapping=mapping)
    way, gpu = derive(found), found.details.device
    checked = 0
    for name, node in way.figures.items():
        if name not in gpu.figures or not isinstance(node.value, float):
            continue
        again = time_with(found, replace(gpu, **{name: node.value * 1.0001}))
        expected = math.log(again / found.time_s) / math.log(1.0001)
        assert way.elasticity(node) == pytest.approx(expected, rel=1e-2, abs=1e-4), name
        checked += abs(expected) > 1e-2
    assert checked >= 2


def test_predictions_record_nothing() -> None:
    with mock.patch.object(recorder, "Node", side_effect=AssertionError("a node")):
        predict("gemm", mapping="coalesced")
        predict_many("gemm", mapping="coalesced", N=[1024, 2048])


def test_simulated_traffic_has_no_derivation() -> None:
    found = predict("copy", bytes=1 << 20, traffic="simulated")
    with pytest.raises(PerfmodelError, match="closed-form traffic"):
        derive(found)
