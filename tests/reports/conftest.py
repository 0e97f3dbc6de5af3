"""What the tests of the reports share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from perfmodel import Prediction, predict
from perfmodel.validation.sweeps import KERNELS


@lru_cache(maxsize=64)
def _predicted(kernel: str, options: tuple[tuple[str, Any], ...]) -> Prediction:
    name, _, mapping = kernel.partition(":")
    path = KERNELS / f"{name}.toml"
    return predict(path if path.exists() else name, mapping=mapping or None, **dict(options))


@pytest.fixture
def predicted() -> Callable[..., Prediction]:
    """Predict a kernel: ``"gemm:naive"``, or the name of a validation kernel."""

    def prediction(kernel: str, **options: Any) -> Prediction:
        return _predicted(kernel, tuple(options.items()))

    return prediction
