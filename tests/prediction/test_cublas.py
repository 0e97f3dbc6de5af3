"""cuBLAS's FP32 product, the ladder's reference: its table against the measurements."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import perfmodel
from perfmodel import predict, predict_many
from perfmodel.measure.folders import root
from perfmodel.prediction.ladder import cublas_fp32, ladder
from perfmodel.reports.ladder_text import ladder_report
from tests.measurements.measured import rows

TABLE = tomllib.loads(
    (Path(perfmodel.__file__).parent / "prediction" / "cublas.toml").read_text("utf-8")
)
H100 = root() / "matrix-products/h100-sxm/cublas-fp32"
H200 = [root() / "matrix-products/h200-sxm" / name for name in ("pytorch", "unseen")]


def measured(**given: str) -> dict[tuple[int, int, int], float]:
    found = rows("sgemm", H100, timing="profiler", **given)
    return {(r["M"], r["N"], r["K"]): r["time_us"] for r in found}


def test_the_table_is_what_was_measured_on_an_h100() -> None:
    given = {"math": "default", "op": "matmul"}
    cold, warm = measured(cache="cold", **given), measured(cache="warm", **given)
    assert TABLE["h100-sxm"]["protocols"] == [["profiler", "cold"], ["profiler", "warm"]]
    listed = {tuple(row[:3]): row[3:] for row in TABLE["h100-sxm"]["times_us"]}
    assert listed.keys() == cold.keys()
    for size, times in listed.items():
        assert times == pytest.approx([cold[size], warm[size]], rel=1e-5)


def test_pedantic_products_take_as_long_as_default_ones() -> None:
    # measured: the same kernels, within 4% (the SM clock differs by that in a few rows)
    default = measured(cache="warm", math="default", op="matmul")
    pedantic = measured(cache="warm", math="pedantic", op="matmul")
    assert [default[size] for size in pedantic] == pytest.approx([*pedantic.values()], rel=0.04)


def test_published_rates_of_an_a6000() -> None:
    # published: the table of siboehm/SGEMM_CUDA, 23249.6 GFLOP/s at N = 4096
    found = cublas_fp32(predict("gemm", mapping="naive", N=4096, device="rtx-a6000"))
    assert found is not None
    assert found.flop_per_s == pytest.approx(23249.6e9, rel=1e-5)
    assert found.kind == "measured"


def off(found: list[dict[str, object]], device: str) -> np.ndarray:
    errors = []
    for operation in {str(r["op"]): None for r in found}:
        some = [r for r in found if r["op"] == operation]
        sizes = {name: np.array([r[name] for r in some]) for name in "MNK"}
        params = {"mapping": "tensor-core", "dtype": "fp32", "operation": operation, **sizes}
        times = predict_many("gemm", device=device, cache="cold", **params).time_s
        errors.append(times * 1e6 / np.array([r["time_us"] for r in some]) - 1)
    return np.abs(np.concatenate(errors))


def stated(device: str) -> tuple[int, float, float]:
    count, median, most = re.findall(r"[\d.]+(?= products|%)", TABLE[device]["held"])
    return int(count), float(median) / 100, float(most) / 100


@pytest.mark.parametrize("device", ["h100-sxm", "h200-sxm"])
def test_what_is_said_of_predictions_holds(device: str) -> None:
    # regression: the described kernel against products that nothing was fitted to; up to 32 rows
    # PyTorch takes other kernels
    given = {"timing": "profiler", "cache": "cold", "use": "validation", "dtype": "fp32"}
    if device == "h100-sxm":
        found = rows("sgemm", H100, **given, math="default")
    else:
        topics = zip(("torch-products", "unseen-products"), H200, strict=True)
        found = [r for topic, folder in topics for r in rows(topic, folder, **given)]
        found = [r for r in found if r["batch"] == 1 and r["M"] > 32]
    errors = off(found, device)
    count, median, most = stated(device)
    assert len(errors) == count
    assert np.median(errors) == pytest.approx(median, abs=0.0006)
    assert np.quantile(errors, 0.9) == pytest.approx(most, abs=0.006)


def test_it_is_measured_then_predicted_then_absent() -> None:
    def kind(device: str, **given: object) -> str | None:
        found = cublas_fp32(predict("gemm", mapping="naive", device=device, **given))
        return found and found.kind

    assert kind("h100-sxm", N=4096) == "measured"
    assert kind("h100-sxm", N=128, timing="events") == "predicted"  # 5 us matter there
    assert kind("h100-sxm", N=4096, timing="events") == "measured"  # and do not here
    assert kind("h100-sxm", N=3000) == "predicted"
    assert kind("rtx-a6000", N=3000) is None
    assert kind("a100-sxm-80", N=4096) is None


def test_shares_of_the_ladder() -> None:
    # published: of cuBLAS on an RTX A6000 at N = 4096, by the article's table
    article = {"naive": 309.0, "coalesced": 1986.5, "smem": 2980.3, "blocktile-1d": 8474.7}
    article |= {"blocktile-2d": 15971.7, "vectorized": 18237.3, "warptile": 21779.3}
    rungs = ladder(device="rtx-a6000", timing="events", cache="warm", N=4096)
    shares = {str(r.prediction.mapping): r.share_of_cublas for r in rungs}
    assert shares.pop("tensor-core") is None  # of another precision
    for name, rate in article.items():
        assert shares[name] == pytest.approx(rate / 23249.6, rel=0.16), name
    shown = "\n".join(ladder_report(rungs).lines(80))
    assert "of cuBLAS" in shown
    assert "cublas-fp32   23.2 TFLOP/s" in shown
    assert rungs[0].to_json()["cublas_fp32"]["kind"] == "measured"


def test_a_ladder_without_a_reference_says_so() -> None:
    rungs = ladder(device="a100-sxm-80", N=1024)
    assert all(r.share_of_cublas is None for r in rungs)
    shown = "\n".join(ladder_report(rungs).lines(80))
    assert "cublas-fp32: not measured on a100-sxm-80" in shown
    assert "of last" in shown
