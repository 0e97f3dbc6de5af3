"""What drills say of the hardware, against the recorded rows, read here by another reader."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from measured import FOLDER, rows

from perfmodel.drills import load_drills, work
from perfmodel.reports.drill_text import filled

SUITE = FOLDER.parents[2] / "suite/h200-sxm/sweeps"
DRILLS = {drill.id: drill for drill in load_drills()}


def known(name: str) -> dict[str, float]:
    return {n: q.value for n, q in work(DRILLS[name]).known.items()}  # type: ignore[misc]


def said(name: str) -> str:
    return filled(DRILLS[name].hardware, work(DRILLS[name]).known)


def cell(topic: str, column: str, folder: Path = SUITE, **wanted: object) -> float:
    found = [r for r in rows(topic, folder, **wanted) if column in r]
    assert len(found) == 1, wanted
    return float(found[0][column])


def test_reads_get_nearly_all_of_dram() -> None:
    wanted = {"kernel": "read", "bytes": 2**30, "vector": 16, "block": 256, "timing": "profiler"}
    time = cell("streams", "time_us", FOLDER, **wanted) * 1e-6
    # 3201 MHz x 2 x 6016 bit of the H200's session file
    share = 2**30 / time / (3201e6 * 2 * 6016 / 8)
    for name in ("decode-cache-time", "reads-of-the-peak"):
        found = known(name)
        assert found["share" if name == "decode-cache-time" else "measured_share"] == (
            pytest.approx(share, rel=1e-4)
        )
    assert share == pytest.approx(0.956, abs=0.001)
    assert "95.58%" in said("reads-of-the-peak")


def test_sectors_not_lines_are_charged() -> None:
    def each(pattern: str) -> float:
        wanted = {"kernel": "coalesce-load", "vector": 4, "pattern": pattern}
        return (cell("coalescer", "global_load_sectors", FOLDER, **wanted) - 64 * 4) / 64

    # independent: the offsets of these patterns, by hand: 1, 4, 5 and 32 sectors
    assert [each(f"stride={s};offset={o}") for s, o in ((0, 0), (4, 0), (4, 4), (128, 0))] == [
        *(1, 4, 5, 32),
    ]
    assert known("broadcast")["each"] == 1
    assert known("contiguous")["each"] == 4
    assert known("off-by-one")["each"] == 5
    assert known("strided")["each"] == known("miniature-scaled")["each"] == 32
    assert "a quarter more, not twice" in said("off-by-one")


def test_strides_beyond_eight() -> None:
    def row(stride: int, column: str) -> float:
        wanted = {"n": 2**24, "offset": 0, "timing": "profiler", "stride": stride}
        return cell("strided", column, FOLDER, **wanted)

    # the note says that these are alike
    assert row(8, "global_load_sectors") == row(16, "global_load_sectors") == 2**24
    assert row(32, "global_load_sectors") == 2**24
    assert known("stride-32-share")["each"] == 32
    # DRAM moves 64 B for each float from stride 16 on
    assert known("stride-32-share")["dram_share"] == pytest.approx(4 / 64, rel=1e-3)
    assert row(16, "dram_read_bytes") == pytest.approx(64 * 2**24, rel=1e-3)
    ratio = row(32, "time_us") / row(8, "time_us")
    assert known("stride-8-to-32")["measured_ratio"] == pytest.approx(ratio)
    assert ratio == pytest.approx(2.195, abs=0.001)  # 296.32 / 135.008


def test_fetch_granularity() -> None:
    found = known("over-fetch")
    sectors = 2**22 * 32  # 4 Mi floats, each in a sector of its own
    assert found["at32"] == pytest.approx(sectors, rel=0.001)
    assert found["at64"] == pytest.approx(2 * sectors, rel=0.001)
    assert found["at128"] == pytest.approx(4 * sectors, rel=0.001)
    found = known("granularity-time")
    assert found["measured_gain"] == pytest.approx(116.128 / 57.824)


def test_gain_of_coalescing_differs_between_gpus() -> None:
    found = known("load-sectors-saved")
    # published: 309.0 and 1986.5 GFLOP/s on an RTX A6000
    assert found["published"] == pytest.approx(1986.5 / 309.0, rel=1e-3)
    for n, name in ((4096, "h200_4096"), (2050, "h200_2050")):
        naive, coalesced = (
            cell("gemm", "time_us", FOLDER, mapping=m, M=n, N=n, K=n, timing="profiler")
            for m in ("naive", "coalesced")
        )
        assert found[name] == pytest.approx(naive / coalesced)
    assert found["h200_4096"] > 10
    assert found["h200_2050"] < 5


def test_a_counter_of_floats() -> None:
    # measurements/suite/h200-sxm/sweeps/atomics.csv; published for another H200: 3.47 clocks each
    with (SUITE / "atomics.csv").open(newline="") as file:
        times = [
            float(row["time_us"]) * 1e-6
            for row in csv.DictReader(file)
            if (row["dtype"], row["pattern"], row["timing"]) == ("float32", "modulo", "profiler")
            and (row["returns"], row["spacing"], row["addresses"]) == ("0", "1", "1")
            and row["n"] == "262144"
        ]
    assert len(times) == 1
    assert known("one-counter-time")["time"] == pytest.approx(times[0], rel=0.02)


def test_set_asides() -> None:
    reset = {"in_mib": 16, "out_mib": 1024, "timing": "profiler"}
    eight = {**reset, "set_mib": 8, "window_mib": 16}
    none = cell("data-reset", "time_us", **reset, set_mib=0, window_mib=0)
    full, half = (cell("data-reset", "time_us", **eight, hit_eighths=h) for h in (8, 4))
    assert full < none < half  # too large a window does no harm, and half of it does
    assert known("lru-full")["full"] == pytest.approx(full * 1e-6)
    assert known("lru-full")["none"] == pytest.approx(none * 1e-6)
    assert known("hit-ratio-for-16-mib")["reset_half"] == pytest.approx(half * 1e-6)
    # beside a stream 0.5 gains: 359.104 / 326.048, as published for an H100, 4.12 / 3.76
    found = known("hit-ratio-for-16-mib")
    assert found["stream_none"] / found["stream_half"] == pytest.approx(4.12 / 3.76, rel=0.01)
    # by hand: floor(16 x 0.85 x 8/16) = 6, less one, in sixteenths
    assert found["best"] == 5 / 16


def test_data_reset_gains_on_an_h100_and_on_h200s() -> None:
    found = known("data-reset-gain")
    assert found["gain"] == pytest.approx(420.8 / 345.392)
    assert found["far_gain"] == pytest.approx(1668.24 / 1543.808)
    # measured on two H200s: suite/h200-sxm/sweeps and suite/h200-sxm/contention
    assert found["first_gain"] == pytest.approx(1194.208 / 1116.672)
    assert found["other_gain"] == pytest.approx(1168.576 / 1045.888)
    assert found["dram_with"] < found["dram_without"] / 2.5
    # of eight places of memory five take as long as the first: 1.222 in suite/h100-sxm/sweeps, 4
    # GiB
    assert found["promised"] == pytest.approx(found["gain"], abs=0.06)
    assert f"perfmodel promises {found['promised']:.4g} times" in said("data-reset-gain")


def test_half_of_hit_ratio_is_nine_sixteenths() -> None:
    found = known("hit-ratio-in-sixteenths")
    # by hand: (473,424,896 - 16,777,216) / (1008 x 1,048,576)
    assert found["missed"] == pytest.approx(456_647_680 / 1_056_964_608)
    assert found["hit"] == pytest.approx(9 / 16, abs=0.01)


def test_embedding_needs_no_window_beside_40_mib() -> None:
    found = known("embedding")
    assert found["small_gain"] == pytest.approx(151.36 / 151.008)
    assert found["gain"] == pytest.approx(212.544 / 208.032)


def test_a_set_aside_costs_writes_but_not_reads() -> None:
    found = known("cost-of-a-set-aside")
    assert found["measured_ratio"] == pytest.approx(429.408 / 162.336)
    assert found["read_with"] == pytest.approx(found["read_without"], rel=0.01)


def test_products_read_little_of_what_they_ask_for_from_dram() -> None:
    wanted = {"mapping": "coalesced", "M": 4096, "N": 4096, "K": 4096, "timing": "profiler"}
    moved = cell("gemm", "dram_read_bytes", FOLDER, **wanted)
    found = known("n-cubed-from-hbm")
    assert found["moved"] == moved == 4_263_988_736
    assert found["share"] == pytest.approx(moved / 2**39)
    assert "4.264 GB" in said("n-cubed-from-hbm")


def test_rungs_on_an_h100() -> None:
    # by hand, of suite/h100-sxm/sweeps: 273,753 us, 22,032 us and, with tiles of a thread, 7,863 us
    found = known("remap-gain")
    assert found["measured_gain"] == pytest.approx(273753.024 / 22032.288)
    assert found["gain"] == pytest.approx(found["measured_gain"], rel=0.06)
    found = known("l1-bound")
    assert found["tiled"] == pytest.approx(7863.296e-6)
    assert found["l1"] > 10 * found["dram"]
    found = known("shares-on-an-h100")
    assert found["measured_share"] == pytest.approx(2658.102 / 22032.288)
    assert found["naive_share"] == pytest.approx(2658.102 / 273753.024)
    assert "0.971%" in said("shares-on-an-h100")


def test_compression_saves_bytes_of_zeros_in_compressible_memory() -> None:
    found = known("compressible")
    # by hand, of compression.csv: 536,876,800 B and 134,233,856 B; random data takes 118.272 us and
    # 117.952 us
    assert found["plain_bytes"] / found["packed_bytes"] == pytest.approx(4, rel=1e-3)
    assert found["random_gain"] == pytest.approx(118.272 / 117.952)


def test_data_reset_saves_a_tenth_at_most() -> None:
    found = known("data-reset-missing-gain")
    assert found["counted"] == 488_644_608
    assert found["measured"] == pytest.approx(1668.24 / 1543.52, rel=2e-3)
    # property: no more time is saved than bytes
    assert found["measured"] < found["most"]


def test_every_note_is_filled_from_numbers() -> None:
    for drill in DRILLS.values():
        if drill.hardware:
            assert "{" in drill.hardware, f"{drill.id} states its measurement as text"
            assert "{" not in said(drill.id)
