"""Intervals and warnings by compiled forms: those of the models, for launches of all built-ins."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from perfmodel import load_device, predict
from perfmodel.kernels import find_kernel
from perfmodel.kernels.library import mappings
from perfmodel.models.ranges import Differences
from perfmodel.names import builtin_names
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.forms import Forms
from perfmodel.prediction.compiled.layouts import read_reliability
from perfmodel.prediction.conditions import Conditions, by_the_models
from perfmodel.prediction.evaluate import prediction_of
from perfmodel.prediction.record import Behind, Prediction
from perfmodel.prediction.time_of_traffic import moved_figures, moved_times, spread, spread_of
from perfmodel.validation.sweeps import KERNELS

H200 = load_device("h200-sxm")
COLD = Conditions(H200, "profiler", "cold")
# What is drawn of each built-in: from, to, and a multiple of what; warps of others are counted.
SIZES = {
    "atomic-add": {"n": (1 << 20, 1 << 26, 1), "addresses": (64, 1 << 12, 1)},
    "atomic-privatized": {"n": (1 << 20, 1 << 26, 1)},
    "cas-loop": {"n": (1 << 14, 1 << 18, 1), "addresses": (64, 1 << 10, 1)},
    "copy": {"bytes": (1 << 22, 1 << 32, 16)},
    "data-reset": {"in_bytes": (1 << 24, 1 << 26, 1 << 20)},
    "decode-attention": {"context": (1024, 1 << 15, 64)},
    "decode-combine": {"context": (1024, 1 << 15, 64), "batch": (2, 16, 1)},
    "ffn-gemv": {"rows": (1 << 12, 1 << 16, 8)},
    "gemm": {"M": (1024, 8192, 128), "N": (1024, 8192, 128), "K": (1024, 8192, 128)},
    "kv-append": {"batch": (4, 64, 1), "context": (1024, 1 << 14, 64)},
    "layernorm": {"rows": (1024, 1 << 14, 8)},
    "lock-loop": {"n": (1 << 12, 1 << 15, 1), "addresses": (64, 1 << 10, 1)},
    "prefill-attention": {"tokens": (1024, 1 << 13, 128)},
    "read": {"bytes": (1 << 22, 1 << 32, 16)},
    "shared-atomic": {"blocks": (264, 4096, 1)},
    "softmax": {"rows": (1024, 1 << 14, 8)},
    "stream-persistent": {"persistent_bytes": (1 << 24, 1 << 26, 1 << 20)},
    "strided-copy": {"n": (1 << 20, 1 << 26, 1), "stride": (4, 40, 1)},
    "working-set-read": {"bytes": (1 << 24, 1 << 27, 1 << 16)},
    "write": {"bytes": (1 << 22, 1 << 32, 16)},
}
KINDS = [
    (name, mapping)
    for name in builtin_names()
    if name in SIZES
    for mapping in mappings(name) or [None]
    if mapping != "tensor-core"  # a tile is chosen for each size
]
TRIED, LEARNED, ENOUGH = 24, 12, 4


def draw(name: str) -> list[dict[str, int]]:
    random = np.random.default_rng(28)

    def one(low: int, high: int, step: int) -> int:
        return step * int(2 ** random.uniform(*np.log2([low, high])) / step)

    return [{n: one(*limits) for n, limits in SIZES[name].items()} for _ in range(TRIED)]


def check_same(found: Prediction, models: Prediction) -> None:
    assert found.warnings == models.warnings
    assert found.interval_s == pytest.approx(models.interval_s, rel=1e-12)
    # what is left of times that are nearly alike
    assert found.figure_spread == pytest.approx(models.figure_spread, rel=1e-10, abs=1e-15)
    assert found.behind.circumstances == models.behind.circumstances
    ours, theirs = found.to_json(), models.to_json()
    assert ours.keys() == theirs.keys()
    assert ours["l2_control"] == theirs["l2_control"]
    assert ours["over_fetch"] == pytest.approx(theirs["over_fetch"], rel=1e-12)


@pytest.mark.parametrize(("name", "mapping"), KINDS, ids=[f"{n}-{m}" for n, m in KINDS])
def test_a_program_gives_the_interval_and_the_warnings_of_the_models(name, mapping) -> None:
    # independent: the models replay the derivation of each launch with its figures moved
    kernel, launches = find_kernel(name, mapping), draw(name)
    forms = Forms.of(kernel, H200, tuple(SIZES[name]), "profiler", "cold")
    held = 0
    assert forms.of_reliability.learn_of(launches[:LEARNED], COLD.evaluated)
    for launch in launches:
        found = forms.of_reliability.found(launch)
        if found is None or held == ENOUGH:
            continue
        held += 1
        models = prediction_of(COLD.details(kernel, launch), "profiler", "cold", "closed-form")
        behind = Behind(lambda: pytest.fail("asked for"), "profiler", "cold", lambda r=found: r)
        check_same(with_behind(models, behind), models)
    assert held


def with_behind(prediction: Prediction, behind: Behind) -> Prediction:
    return replace(prediction, behind=behind)


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_predictions_one_after_another(cache) -> None:
    # independent: by the models alone
    for n in range(20):
        size = {"n": (1 << 22) + (n << 12), "stride": 6}
        found = predict("strided-copy", device=H200, cache=cache, **size)
        found.interval_s  # noqa: B018  # forms are made of the launches that are asked
    assert found.behind._reliability is not None
    with by_the_models():
        check_same(found, predict("strided-copy", device=H200, cache=cache, **size))
    again = pickle.loads(pickle.dumps(found))
    check_same(again, found)


def test_times_with_figures_moved_make_the_spread() -> None:
    # independent: `spread` replays the derivation instead of predicting again
    details = predict("strided-copy", device=H200).details
    times = [float(time[0]) for time in moved_times(details, "profiler")]
    assert len(times) == 1 + len(moved_figures(H200))
    assert spread_of(times) == spread(details, "profiler") > 0


def test_counted_accesses_have_no_program() -> None:
    # a warning says how many warps were counted, which depends on the size
    kernel = find_kernel(KERNELS / "run-copy.toml")
    read = partial(read_reliability, timing="profiler", cache="cold")
    details = COLD.details(kernel, {"run": 3, "pitch": 32})
    with pytest.raises(NoProgramError, match="closed form"):
        read(details)


def test_differences_in_a_row_and_back() -> None:
    found = Differences(8.0, 2.0, 64.0, (1.0, -3.0, 0.5, 2.0))
    assert Differences.of(found.numbers()) == found
    assert Differences.of((8.0, 2.0, 64.0)).causes == ()
