"""Built-ins as somebody wrote them who had read neither the models nor the project's own CUDA.

Rows of half B only, which nobody looked into one by one; H200, profiler, cold and warm. Bands are
regression, a little over what was reached when the rows came in (2026-11-22); the first look,
before anything was measured, stands in the rows themselves.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.folders import root
from perfmodel.measure.recorded import Row, read_recording
from perfmodel.prediction import predict
from perfmodel.validation.cases import as_timed, matched, predict_row

BANDS = {
    "builtins shared-atomic": (0.05, 0.25),  # 3.0%, 20.1%
    "builtins atomic-privatized": (0.11, 0.45),  # 8.9%, 42.1%
}


def rows_of(topic: str, halves: str = "B") -> Iterator[Row]:
    for _, row in matched(read_recording(root() / "built-in-kernels/h200-sxm/first")):
        if row.topic == topic and row.timing == "profiler" and row.values["half"] in halves:
            yield row


@pytest.mark.parametrize("name", BANDS)
def test_half_that_nobody_looked_into(name: str) -> None:
    recording = read_recording(root() / "built-in-kernels/h200-sxm/first")
    device = load_device("h200-sxm")
    errors = []
    for sweep, row in matched(recording):
        if sweep.name == name and row.timing == "profiler" and row.values["half"] == "B":
            time = predict_row(sweep, row, as_timed(device, recording, row)).time_s
            errors.append(abs(time / row.time_s - 1))
    assert len(errors) >= 18
    median, ninetieth = BANDS[name]
    assert np.median(errors) < median
    assert np.quantile(errors, 0.9) < ninetieth


def test_sectors_and_bytes_of_gathers() -> None:
    # independent: the profiler's counters, cold, of 14 gathers with runs of 1 to 48 and fetch
    # granularities of 32, 64 and 128 B; before warps of a block shared what they ask for, DRAM
    # bytes of runs that warps cut were up to 17% too many, and L1 hits of indices none
    points = {r.values["point"]: r.values for r in rows_of("builtin-gather", "AB")}
    counted = rows("builtin-counters", root() / "built-in-kernels/h200-sxm/first", kernel="gather")
    assert len(counted) == 14
    for row in counted:
        point = points[row["point"]]
        found = predict(
            "gather",
            device="h200-sxm",
            l2=L2Control(fetch_granularity=point["fetch_granularity"]),
            **{name: point[name] for name in ("n", "run", "table_bytes")},
        ).traffic
        assert found["l2_read_sectors"] == pytest.approx(row["l2_read_sectors"], rel=0.045)
        assert found["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.025)


def test_first_look() -> None:
    # regression: columns of the rows themselves, which no model changes; gemm 88% inside, windows
    # 100%; launches of a few microseconds are no such evidence, for CUPTI reads less than the floor
    for topic, median in (("builtin-gemm", 0.05), ("builtin-stream-persistent", 0.05)):
        found = [r.values for r in rows_of(topic)]
        errors = [abs(v["predicted_us"] / v["time_us"] - 1) for v in found]
        inside = [v["low_us"] <= v["time_us"] <= v["high_us"] for v in found]
        assert np.median(errors) < median
        assert np.mean(inside) > 0.85


def test_copies_beyond_l2_are_slower_warm() -> None:
    # measured: what the help of --cache says, of half A: the last launch's dirty lines go out
    times: dict[tuple[str, object], dict[str, float]] = {}
    for topic in ("builtin-copy", "builtin-strided-copy", "builtin-stream-persistent"):
        for r in rows_of(topic, "A"):
            assert r.time_s is not None
            times.setdefault((topic, r.values["point"]), {})[r.cache] = r.time_s
    ratios = [t["warm"] / t["cold"] for t in times.values() if t["cold"] > 60e-6]
    assert len(ratios) >= 16
    assert np.quantile(ratios, 0.1) > 0.995
    assert 1.003 < np.median(ratios) < 1.03


# measured: points of new seeds, and what was said of them by models made before they ran (commits
# 937392b and 9ab6abf); the rows say so themselves, no model changes them
@pytest.mark.parametrize(
    ("draw", "launches", "middle", "ninth", "within"),
    [
        ("second", 1972, 0.0319, 0.115, 0.895),
        ("third", 1996, 0.0304, 0.0952, 0.934),
    ],
)
def test_new_draws_on_an_h100_as_first_seen(
    draw: str, launches: int, middle: float, ninth: float, within: float
) -> None:
    looks = [
        row for _, row in matched(read_recording(root() / f"built-in-kernels/h100-sxm/{draw}"))
    ]
    seen = [r for r in looks if r.values.get("predicted_us")]
    assert len(seen) == launches
    errors = [abs(r.values["predicted_us"] / r.values["time_us"] - 1) for r in seen]
    inside = [r.values["low_us"] <= r.values["time_us"] <= r.values["high_us"] for r in seen]
    assert np.median(errors) == pytest.approx(middle, abs=5e-4)
    assert np.quantile(errors, 0.9) == pytest.approx(ninth, abs=1e-3)
    assert np.mean(inside) == pytest.approx(within, abs=5e-3)


def test_second_draw_counts_what_is_predicted() -> None:
    # independent: the profiler's sectors of kernels whose requests their index alone decides; of
    # half A, some 30 points
    device = load_device("h100-sxm")
    recording = read_recording(root() / "built-in-kernels/h100-sxm/second")
    counted = {
        r["point"]: r
        for r in rows("builtin-counters", root() / "built-in-kernels/h100-sxm/second", half="A")
    }
    checked = set()
    for sweep, row in matched(recording):
        point = row.values["point"]
        exact = row.topic in {f"builtin-{n}" for n in ("copy", "read", "write", "strided-copy")}
        if not exact or point not in counted or point in checked:
            continue
        checked.add(point)
        found = predict_row(sweep, row, as_timed(device, recording, row)).traffic
        for name in ("global_load_sectors", "global_store_sectors"):
            assert found[name] == counted[point][name], (row.topic, point)
    assert len(checked) >= 12
