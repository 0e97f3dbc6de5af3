"""Kernels from sources, one for each size: predicted by what those before them have taught."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from perfmodel.kernels import Kernel
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.compiled.forms import Forms
from perfmodel.prediction.compiled.programs import Programs
from perfmodel.prediction.conditions import by_the_models
from tests.prediction.sources import saxpy

SIZES = [256 * n + tail for n in range(4000, 4012) for tail in (0, 32)]


def models(kernel: Kernel) -> Prediction:
    with by_the_models():
        return predict(kernel)


def test_later_sizes_cost_no_models_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: the models, of each launch alone
    kernels = [saxpy(n) for n in SIZES]
    expected = [models(kernel) for kernel in kernels]
    for kernel in kernels:
        predict(kernel)

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("the models were asked")

    monkeypatch.setattr(import_module("perfmodel.prediction.predict"), "_by_models", refused)
    for kernel, one in zip(kernels, expected, strict=True):
        found = predict(kernel)
        assert found.time_s == pytest.approx(one.time_s, rel=1e-12)
        assert (found.params, found.grid, found.block) == (one.params, one.grid, one.block)
        assert found.bottleneck == one.bottleneck
        assert found.traffic == pytest.approx(dict(one.traffic), rel=1e-9, abs=1e-3)
    assert found.interval_s == pytest.approx(one.interval_s, rel=1e-12)
    assert found.warnings == one.warnings


def test_programs_that_do_not_hold_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: a time that is not the launch's is never given
    kernels = [saxpy(n) for n in SIZES]
    held: list[Programs[Any]] = []
    learn = Forms.learn

    def learnt(self: Forms, given: Any, evaluated: Any) -> None:
        learn(self, given, evaluated)
        self.hold_to(given, 1.0)
        held.append(self.of_numbers)

    monkeypatch.setattr(Forms, "learn", learnt)
    monkeypatch.setattr("perfmodel.kernels.lifted._forms", {})
    for kernel in kernels:
        assert predict(kernel).time_s == models(kernel).time_s
    assert any(programs.failed for programs in held)
