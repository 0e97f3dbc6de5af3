"""The ladder of FP32 products on an H200: counters exactly, times within bands.

Bands are regression: a little over what was reached when the rows came in (2026-11-21). The rows of
the default tiles at N = 512, 1024, 2048 and 4096, and those of `ladder-residents`, were looked at
while the model was made; of its numbers only `strands` of two kernel files was fitted to them.
"""

from __future__ import annotations

import math
import statistics
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from measured import rows, times

from perfmodel.measure.folders import published, root
from perfmodel.measure.recorded import read_recording
from perfmodel.prediction import predict
from perfmodel.prediction.ladder import MARGIN, ladder
from perfmodel.prediction.predict import predict_many

FOLDER = root() / "matrix-products/h200-sxm/ladder"
TILES = ("M", "N", "K", "BM", "BN", "BK", "TM", "TN", "WM", "WN", "stages")


def mapping(row: dict[str, Any]) -> str:
    return str(row["function"]).removeprefix("gemm_").replace("_", "-")


def launch(row: dict[str, Any]) -> dict[str, Any]:
    sizes = {name: row[name] for name in TILES if name in row}
    told = {"kernel": "gemm", "device": "h200-sxm", "timing": "profiler"}
    return {**told, "mapping": mapping(row), "cache": row["cache"], **sizes}


def off(found: list[dict[str, Any]]) -> np.ndarray:
    """Return predicted over measured times of rows, less one."""
    return times(map(launch, found), "MNK") * 1e6 / np.array([row["time_us"] for row in found]) - 1


def counted() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of launches that differ in K alone, with their counters."""
    found: dict[Any, dict[int, dict[str, Any]]] = {}
    for topic in ("ladder-counters", "ladder-tiles"):
        for row in rows(topic, FOLDER, timing="profiler"):
            key = tuple(row.get(name) for name in ("function", *TILES) if name != "K")
            found.setdefault(key, {})[row["K"]] = row
    return [(pair[256], pair[1024]) for pair in found.values()]


def name_of(pair: Any) -> str:
    return "-".join(str(pair[1].get(n, "")) for n in ("function", *TILES[3:]))


@pytest.mark.parametrize("pair", counted(), ids=name_of)
def test_what_a_step_asks_of_shared_memory(pair: Any) -> None:
    # measured; the compiler reads A along K as it likes in blocktile-2d, so 20% there
    short, long = pair
    predicted = [predict(**launch(row)).traffic for row in pair]
    of_banks = 0.2 if mapping(long) == "blocktile-2d" else 0.07
    for name, band in (("global_load_requests", 0.001), ("shared_wavefronts", of_banks)):
        step = long[name] - short[name]
        found = predicted[1][name] - predicted[0][name]
        assert found == pytest.approx(step, rel=band), name


@pytest.fixture(scope="module")
def errors() -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    measured = rows("ladder", FOLDER, timing="profiler")
    for row, error in zip(measured, off(measured), strict=True):
        found.setdefault(mapping(row), []).append(error)
        if row["use"] == "validation":
            found.setdefault("validation", []).append(error)
    return found


BANDS = {
    # median, 90th percentile; reached
    "naive": (0.025, 0.03),
    "coalesced": (0.05, 0.1),
    "smem": (0.08, 0.14),
    "blocktile-1d": (0.05, 0.09),
    "blocktile-2d": (0.060, 0.13),
    "vectorized": (0.06, 0.11),
    "warptile": (0.06, 0.13),
    "validation": (0.05, 0.11),
}


@pytest.mark.parametrize("rung", BANDS)
def test_times_stay_in_their_bands(errors: dict[str, list[float]], rung: str) -> None:
    found = np.abs(errors[rung])
    print(f"{rung}: median {np.median(found):.1%}, 90th {np.quantile(found, 0.9):.1%}")
    assert np.median(found) < BANDS[rung][0]
    assert np.quantile(found, 0.9) < BANDS[rung][1]


def test_sizes_chosen_after_the_model() -> None:
    # measured when the model stood; 3.8% and 6.9% at first look
    found = np.abs(off(rows("unseen-ladder", FOLDER, timing="profiler")))
    assert len(found) == 120
    assert np.median(found) < 0.045
    assert np.quantile(found, 0.9) < 0.09


DEFAULT_TILES: dict[str, dict[str, int]] = {
    "blocktile-1d": {"BM": 64, "BN": 64, "BK": 8, "TM": 8},
    "blocktile-2d": {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8},
    "vectorized": {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8},
    "warptile": {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 4},
}


def log_ratios(topic: str, use: str) -> list[tuple[float, float]]:
    """Return the ratios of two rungs' times with default tiles, predicted and measured, as logs."""
    found: dict[tuple[str, str], dict[tuple[int, int, int], list[float]]] = {}
    for row in rows(topic, FOLDER, timing="profiler", use=use):
        tiles = {n: row[n] for n in TILES[3:] if n in row and n != "stages"}
        if tiles == DEFAULT_TILES.get(mapping(row), {}) and row.get("stages", 1) == 1:
            sizes = found.setdefault((mapping(row), row["cache"]), {})
            sizes.setdefault((row["M"], row["N"], row["K"]), []).append(row["time_us"])
    rungs: dict[Any, list[tuple[float, float]]] = {}
    cache: Any
    for (name, cache), sizes in found.items():
        columns: dict[str, Any] = {
            n: np.array(v) for n, v in zip("MNK", zip(*sizes, strict=True), strict=True)
        }
        made = predict_many("gemm", mapping=name, device="h200-sxm", cache=cache, **columns)
        for size, predicted in zip(sizes, made.time_s, strict=True):
            at = rungs.setdefault((size, cache), [])
            at.append((float(predicted), statistics.median(sizes[size])))
    return [
        (math.log(p / q), math.log(m / n))
        for pairs in rungs.values()
        for (p, m), (q, n) in combinations(pairs, 2)
    ]


def test_what_is_too_close_to_call_is_fitted_to_rows_for_fitting() -> None:
    # measured: for nine pairs in ten the predicted ratio is off by less than `MARGIN`
    off = [abs(predicted - measured) for predicted, measured in log_ratios("ladder", "fit")]
    assert len(off) == 168
    assert np.quantile(off, 0.9) == pytest.approx(math.log1p(MARGIN), abs=0.015)


def test_rungs_that_are_told_apart_rank_as_measured() -> None:
    # measured, rows for validation: of 532 pairs further apart than `MARGIN` one is the other way
    # round, measured 1% apart; of the 58 that are called too close, 14
    pairs = log_ratios("ladder", "validation") + log_ratios("unseen-ladder", "validation")
    told = [(p, m) for p, m in pairs if abs(p) >= math.log1p(MARGIN)]
    assert len(pairs) == 590
    assert len(told) >= 520
    assert sum(p * m <= 0 for p, m in told) <= 1


def test_a_rung_is_ranked_among_those_it_may_change_places_with() -> None:
    # property: each lies between its best and its worst place, closeness goes both ways
    rungs = ladder(device="h200-sxm", N=1024)
    by_time = sorted(rungs, key=lambda rung: rung.prediction.time_s)
    for place, rung in enumerate(by_time, 1):
        assert rung.ranks[0] <= place <= rung.ranks[1]
        for other in rungs:
            mine = str(rung.prediction.mapping)
            assert (other.prediction.mapping in rung.close) == (mine in other.close)
    # measured: 2% apart or less at this size, cold, in ladder.csv
    assert next(r for r in rungs if r.prediction.mapping == "warptile").close == ("vectorized",)


def published_cases() -> list[tuple[str, int, float]]:
    table = read_recording(published()["rtx-a6000"][0]).topics["gemm"].rows
    return [
        (str(r.values["mapping"]), int(r.values["N"]), float(r.values["published_rate"]))
        for r in table
    ]


def test_the_published_ladder_of_another_gpu() -> None:
    # published: siboehm/SGEMM_CUDA on an RTX A6000, which nothing was fitted on
    errors = []
    for name, n, rate in published_cases():
        found = predict(
            "gemm", mapping=name, device="rtx-a6000", timing="events", cache="warm", N=n
        )
        errors.append(found.roofline.flop_per_s / (rate * 1e9) - 1)
    assert len(errors) >= 27
    assert np.median(np.abs(errors)) < 0.1  # 7.5%
    assert np.max(np.abs(errors)) < 0.25


@pytest.mark.parametrize("n", [1024, 4096])
@pytest.mark.parametrize("rung", ["blocktile-1d", "blocktile-2d", "vectorized", "warptile"])
def test_the_tile_predicted_fastest_is_near_the_fastest_measured(rung: str, n: int) -> None:
    # measured: what advise would pick, against all tiles that were measured
    every = rows("ladder", FOLDER, timing="profiler", cache="warm", M=n, N=n, K=n)
    tiles = [row for row in every if mapping(row) == rung]
    found = list(
        zip(times(map(launch, tiles), "MNK"), (row["time_us"] for row in tiles), strict=True)
    )
    assert len(found) >= 4
    _, picked = min(found)
    assert picked < 1.12 * min(measured for _, measured in found)
