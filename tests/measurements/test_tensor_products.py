"""Products through cuBLAS on an H200, those that nothing was fitted on.

Bounds: what the project set out to reach (median 8%, ninetieth percentile 20%), held tighter, as
they were reached (2026-11-21): 4.6% and 15.5% warm, 5.1% and 15.0% cold. The roofline beside it
has three constants, fitted to the same rows.
"""

import numpy as np
import pytest
from scipy.optimize import least_squares

from perfmodel.measure.folders import root
from perfmodel.measure.recorded import read_recording
from perfmodel.prediction import predict
from perfmodel.prediction.interval import residual_class
from perfmodel.prediction.predict import predict_many

RECORDING = read_recording(root() / "matrix-products/h200-sxm/cublas")
NARROW = read_recording(root() / "matrix-products/h200-sxm/narrow")


def measured(use, cache, dtype="bf16", topic="products", recording=RECORDING, **more):
    wanted = {"timing": "profiler", "cache": cache, "use": use, "dtype": dtype, **more}
    found = [
        row
        for row in recording.topics[topic].rows
        if row.trusted and all(row.values[key] == value for key, value in wanted.items())
    ]
    shapes = {name: np.array([row.values[name] for row in found]) for name in "MNK"}
    return shapes, np.array([row.time_s for row in found])


def off(times, wanted):
    errors = np.abs(times / wanted - 1)
    return np.median(errors), np.quantile(errors, 0.9)


def roofline(shapes, constants):
    launch, rate, bandwidth = np.exp(constants)
    m, n, k = (shapes[name].astype(float) for name in "MNK")
    return launch + np.maximum(2 * m * n * k / rate, 2 * (m * k + n * k + m * n) / bandwidth)


@pytest.fixture(scope="module")
def constants():
    shapes, times = measured("fit", "warm")
    start = np.log([3e-6, 6e14, 4e12])
    found = least_squares(
        lambda logs: np.log(roofline(shapes, logs) / times), start, loss="soft_l1", f_scale=0.1
    )
    return found.x


def test_validation_rows_are_off_by_less_than_a_fitted_roofline(constants):
    shapes, times = measured("validation", "warm")
    assert len(times) >= 200
    assert {1, 8192} <= set(shapes["M"].tolist())
    predicted = predict_many(
        "gemm", mapping="tensor-core", device="h200-sxm", cache="warm", **shapes
    ).time_s
    median, ninetieth = off(predicted, times)
    simple_median, simple_ninetieth = off(roofline(shapes, constants), times)
    assert median < 0.05
    assert ninetieth < 0.17
    # Published with the rows: 12.6% and 65%.
    assert median < 0.5 * simple_median
    assert ninetieth < 0.5 * simple_ninetieth


def test_cold_caches_are_no_worse():
    shapes, times = measured("validation", "cold")
    some = slice(None, None, 3)
    shapes = {name: values[some] for name, values in shapes.items()}
    predicted = predict_many("gemm", mapping="tensor-core", device="h200-sxm", **shapes).time_s
    median, ninetieth = off(predicted, times[some])
    assert median < 0.06
    assert ninetieth < 0.17


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_shapes_that_came_after_the_models(cache):
    # 360 shapes measured when all else was done; reached when they came in: 6.7% and 19.0% warm,
    # 5.0% and 15.5% cold
    shapes, times = measured("validation", cache, topic="unseen")
    some = slice(None, None, 2)
    shapes = {name: values[some] for name, values in shapes.items()}
    predicted = predict_many(
        "gemm", mapping="tensor-core", device="h200-sxm", cache=cache, **shapes
    ).time_s
    median, ninetieth = off(predicted, times[some])
    assert median < 0.08
    assert ninetieth < 0.20


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_rows_that_are_no_whole_pieces_of_16_bytes(cache):
    # 89 of the shapes for validation: 12.3% and 13.4% while their copies were taken as issue slots,
    # 6.4% and 6.8% (23% and 24% at the ninetieth percentile) since they take L1's banks
    shapes, times = measured("validation", cache)
    narrow = (shapes["K"] % 8 != 0) | (shapes["N"] % 8 != 0)
    assert narrow.sum() >= 80
    shapes = {name: values[narrow] for name, values in shapes.items()}
    found = predict_many("gemm", mapping="tensor-core", device="h200-sxm", cache=cache, **shapes)
    median, ninetieth = off(found.time_s, times[narrow])
    assert median < 0.075
    assert ninetieth < 0.255
    large = np.prod([shapes[n].astype(float) for n in "MNK"], axis=0) > 1e10
    assert large.sum() >= 10
    # what the profiler says of such kernels: L1's data stage is busy 81 to 90% of the time; blocks
    # that have an SM to themselves wait besides
    assert np.mean(np.isin(found.bottleneck[large], ["lsu", "waits"])) > 0.9


def few_narrow(use, operation):
    shapes, times = measured(use, "cold", recording=NARROW, operation=operation)
    few = (shapes["M"] > 1) & (shapes["M"] <= 64)
    return {name: values[few] for name, values in shapes.items()}, times[few]


@pytest.mark.parametrize(
    ("operation", "most", "ninetieth"), [("linear", 0.065, 0.24), ("matmul", 0.09, 0.33)]
)
def test_few_narrow_rows_by_kernels_that_the_library_takes(operation, most, ninetieth):
    # measured, 78 and 76 shapes for validation of 2 to 64 rows: 10.1 and 9.5% off in the median
    # while the fastest cut of K was taken, 5.5 and 7.9% since only those are that the library takes
    shapes, times = few_narrow("validation", operation)
    found = predict_many(
        "gemm", mapping="tensor-core", device="h200-sxm", operation=operation, **shapes
    )
    assert len(times) >= 70
    found_most, found_ninetieth = off(found.time_s, times)
    assert found_most < most
    assert found_ninetieth < ninetieth


def test_few_narrow_rows_lie_in_an_interval_of_their_own():
    # measured: the interval of blocks that copy by TMA held 70% of such rows for validation, that
    # of such rows' own residuals, of rows for fitting, 88%
    shapes, times = few_narrow("validation", "linear")
    found = predict_many("gemm", mapping="tensor-core", device="h200-sxm", **shapes)
    one = predict(
        "gemm",
        mapping="tensor-core",
        device="h200-sxm",
        **{name: int(values[0]) for name, values in shapes.items()},
    )
    low, high = (end / one.time_s for end in one.interval_s)
    ratios = times / found.time_s
    assert np.mean((low < ratios) & (ratios < high)) > 0.82


def test_whole_pieces_decide_whose_interval_it_is():
    # property: 16 bytes are 8 numbers of 16 bits, 4 of TF32; fp8 has results of 16 bits
    def class_of(dtype, n, k):
        p = predict("gemm", mapping="tensor-core", device="h200-sxm", M=64, N=n, K=k, dtype=dtype)
        return residual_class(p.behind.circumstances, p.bottleneck)

    assert class_of("bf16", 1024, 1024) == class_of("tf32", 1028, 1028) == "pipeline"
    assert class_of("bf16", 1020, 1024) == class_of("bf16", 1024, 1020) == "narrow"
    assert class_of("fp8", 1024, 1032) == "narrow"


@pytest.mark.parametrize(("dtype", "most"), [("fp16", 0.085), ("fp8", 0.12), ("tf32", 0.13)])
def test_other_types(dtype, most):
    shapes, times = measured("validation", "warm", dtype)
    predicted = predict_many(
        "gemm", mapping="tensor-core", device="h200-sxm", cache="warm", dtype=dtype, **shapes
    ).time_s
    assert off(predicted, times)[0] < most


def test_dram_bytes_of_large_products():
    # The profiler's, cold: the closed form of a round of tiles against the library's own order. It
    # is a lead, not a bound: the library holds to other tiles, and C takes room in L2 (4096 x 16384
    # x 512 reads half as much as predicted).
    ratios = []
    for row in (row.values for row in RECORDING.topics["counters"].rows):
        if row["M"] * row["N"] * row["K"] > 1e10 and row["library_kernel"].startswith("nvjet"):
            shape = {name: np.array([row[name]]) for name in "MNK"}
            found = predict_many("gemm", mapping="tensor-core", device="h200-sxm", **shape).traffic
            ratios.append(found["dram_read_bytes"][0] / row["dram_read_bytes"])
    assert len(ratios) >= 5
    assert 0.8 < np.median(ratios) < 1.25
