"""What tiles take at least; expected values are those of the same programs by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import PerfmodelError, load_device
from perfmodel.kernels import find_kernel
from perfmodel.prediction.compiled import least_times
from perfmodel.prediction.compiled.least_times import LeastTimes
from perfmodel.prediction.menu import combinations, open_parameters

PRODUCT = find_kernel("gemm", "tensor-core")


def taken(times: LeastTimes, given: dict[str, np.ndarray]) -> np.ndarray:
    tiles = combinations(PRODUCT, {**given, "dtype": "bf16"})[::7]
    names = open_parameters(PRODUCT, given)
    rows = {name: tiles[:, i] for i, name in enumerate(names)}
    return times.take(given, rows, {"dtype": "bf16"})


@pytest.mark.parametrize("multiples", [(8,), (1, 2, 8)])
def test_compiled_as_by_numpy(multiples: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    given = {side: random.integers(1, 900, 120) * random.choice(multiples, 120) for side in "MNK"}
    made = ("M", "N", "K", "BM", "BN", "split_k")
    times = LeastTimes.of(PRODUCT, made, load_device("h100-sxm"), cold=True)
    expected = taken(times, given)
    assert not any(times.compiled.values())
    monkeypatch.setattr(least_times, "_COMPILED", 100)
    np.testing.assert_array_equal(taken(times, given), expected)  # and after it they are compiled
    if not any(times.compiled.values()):
        pytest.skip("no LLVM, or one of before its version 15")
    monkeypatch.setattr(LeastTimes, "_by_numpy", lambda *_: np.inf)
    found = taken(times, given)
    by_them = np.isfinite(found).any(axis=1)
    assert by_them.mean() > 0.8
    np.testing.assert_allclose(found[by_them], expected[by_them], rtol=1e-13)


def test_errors_of_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    times = LeastTimes.of(PRODUCT, ("M", "N", "K"), load_device("h100-sxm"), cold=True)
    with pytest.raises(PerfmodelError):
        taken(times, dict.fromkeys("MNK", np.array([-8])))
