"""Published figures on L2 residency: an H100's table, and NVIDIA's sliding window on an A100."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.advise import advise

PUBLISHED = Path(__file__).parents[1] / "published" / "residency"
MIB = 2**20
OUT = 4096 * MIB
ROWS = list(csv.DictReader((PUBLISHED / "l2-persistence-h100.csv").open()))


def predicted(row: dict[str, str], control: L2Control | None) -> Prediction:
    size = int(row["mib"]) * MIB
    if row["kernel"] == "data-reset":
        return predict("data-reset", l2=control, in_bytes=size, out_bytes=OUT)
    return predict("stream-persistent", l2=control, persistent_bytes=size, stream_bytes=OUT)


def authors_control(row: dict[str, str]) -> L2Control:
    buffer = "in" if row["kernel"] == "data-reset" else "persistent"
    ratio = min(8 / int(row["mib"]), 1.0)
    return L2Control(8 * MIB, AccessPolicyWindow(buffer, 8 * MIB, ratio))


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['kernel']}-{r['mib']}")
def test_h100_without_a_window(row: dict[str, str]) -> None:
    # published; largest error 3.4%. Of coefficients that fit an H200 alike, those that come nearest
    # here were taken (the leak, the cost of scattered misses)
    assert predicted(row, None).time_s * 1e3 == pytest.approx(float(row["without_ms"]), rel=0.04)


STREAMING = [row for row in ROWS if row["kernel"] == "stream-persistent"]


@pytest.mark.parametrize("row", STREAMING, ids=lambda r: r["mib"])
def test_h100_with_the_authors_window(row: dict[str, str]) -> None:
    # published; largest errors 2.4% and 0.019
    without, with_window = predicted(row, None), predicted(row, authors_control(row))
    assert with_window.time_s * 1e3 == pytest.approx(float(row["with_ms"]), rel=0.04)
    gain = float(row["without_ms"]) / float(row["with_ms"])
    assert without.time_s / with_window.time_s == pytest.approx(gain, abs=0.03)


MEASURED = Path(__file__).parents[2] / "measurements" / "suite/h100-sxm/sweeps" / "data-reset.csv"


def measured(mib: int, aside: int) -> float:
    """Time of data-reset with 4 GiB of output on our H100, with a window or none [us]."""
    with MEASURED.open() as file:
        (found,) = (
            float(row["time_us"])
            for row in csv.DictReader(file)
            if (row["in_mib"], row["out_mib"], row["set_mib"]) == (str(mib), "4096", str(aside))
            and row["window_mib"] == str(min(mib, aside))
            and (row["timing"], row["cache"]) == ("events", "cold")
        )
    return found


@pytest.mark.parametrize("mib", [2, 4, 8, 16])
def test_data_reset_gains_from_a_window_after_all(mib: int) -> None:
    # The article sees none, to all digits. Our H100 takes as long as it without a window, and gains
    # 1.035, 1.145, 1.222 and 1.097 with it; 1.000, 1.092, 1.252 and 1.057 here. Of 8 MiB, which
    # fill 0.85 of the set-aside, five of eight places of memory gain as much; in three some 4% of
    # the re-reads find no way in their sets, and 1.07 to 1.1 remain (l2/h100-sxm/set-aside:
    # data-reset.csv, ways.csv). H200s gain 1.04 to 1.12 (grid.csv, data-reset-long.csv and
    # data-reset.csv)
    row = {"kernel": "data-reset", "mib": str(mib)}
    gain = predicted(row, None).time_s / predicted(row, authors_control(row)).time_s
    assert gain == pytest.approx(measured(mib, 0) / measured(mib, 8), abs=0.06)


def test_advice_on_the_articles_case() -> None:
    found = advise(
        "stream-persistent",
        l2=L2Control(set_aside=8 * MIB),
        persistent_bytes=16 * MIB,
        stream_bytes=OUT,
    )
    best = found.options[0]
    window = best.prediction.details.setting.control.window
    assert best.kind == "residency"
    assert window is not None
    assert 0.25 < window.hit_ratio <= 0.5
    # published for hitRatio 0.5 over the first 8 MiB: 1.096
    assert 1.096 - 0.05 < best.gain < 1.096 + 0.1
    assert best.gain_interval[0] < 1.096 < best.gain_interval[1]
    assert any("cudaLimitPersistingL2CacheSize, 8388608" in line for line in best.cuda)
    assert best.cuda[-2:] == (
        "cudaCtxResetPersistingL2Cache();",
        "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);",
    )


def sliding(megabytes: int, control: L2Control | None, threads: int = 1024) -> float:
    found = predict(
        PUBLISHED / "sliding-window.toml",
        device="a100-sxm-40",
        l2=control,
        small_bytes=megabytes * 10**6,
        large_bytes=1024 * 10**6,
        threads=threads,
    )
    return found.time_s


def whole(megabytes: int, ratio: float = 1.0) -> L2Control:
    return L2Control(30 * MIB, AccessPolicyWindow("small", megabytes * 10**6, ratio))


@pytest.mark.parametrize(
    ("megabytes", "least", "most"), [(10, 1.05, 1.5), (20, 1.45, 1.55), (30, 1.45, 1.55)]
)
def test_a100_gains_while_the_window_fits(megabytes: int, least: float, most: float) -> None:
    # published as a figure only: up to about 50%; the model says 7, 52 and 50% for 10 to 30 MB,
    # of the code as printed: the load of the stream waits for the store to the table, which could
    # be the same place, and each index is a remainder
    gain = sliding(megabytes, None) / sliding(megabytes, whole(megabytes))
    assert least < gain < most


@pytest.mark.parametrize("threads", [128, 256, 512])
def test_a100_gains_about_as_much_whatever_the_blocks(threads: int) -> None:
    # the guide does not say how long its blocks are: 61, 63 and 60% here. On an H200 the gain of a
    # table of 25 MB is 1.31, 1.32 and 1.30 with blocks of 256, 512 and 1024
    # (measurements/l2/h200-sxm/moving-sets/slide.csv)
    gain = sliding(20, None, threads) / sliding(20, whole(20), threads)
    assert 1.45 < gain < 1.65


@pytest.mark.parametrize("megabytes", [35, 45, 60])
def test_a100_loses_beyond_with_hit_ratio_1_and_not_when_tuned(megabytes: int) -> None:
    # published as a figure only: about 10% slower with hitRatio 1, and no loss when tuned
    none = sliding(megabytes, None)
    assert 1.05 < sliding(megabytes, whole(megabytes)) / none < 1.15
    assert sliding(megabytes, whole(megabytes, 20 / megabytes)) < none


@pytest.mark.parametrize("megabytes", [5, 10, 20, 25, 30, 40, 60])
def test_a100_tuned_is_never_worse_than_none(megabytes: int) -> None:
    # published: the guide's remedy, a window of which about 20 MB persist, whatever the size. Its
    # code, a window of 20 MB with the same ratio, keeps less: here 2 and 5% slower at 50 and 60 MB
    ratio = min(1.0, 20 / megabytes)
    none = sliding(megabytes, None)
    assert sliding(megabytes, whole(megabytes, ratio)) < 1.025 * none
