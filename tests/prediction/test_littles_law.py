"""Little's law of a launch: bytes in flight needed and had, by hand and against measured reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfmodel
from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.time.bytes_in_flight import BYTES_HAD, BYTES_NEEDED, WARPS_NEEDED
from perfmodel.prediction import Prediction
from perfmodel.prediction.littles_law import LevelInFlight, littles_law
from perfmodel.reports.littles_law_text import in_flight_line
from tests.measurements.measured import rows

PACKAGE = Path(perfmodel.__file__).parent
READ = PACKAGE / "validation/kernels/read-grid-stride.toml"
H100 = PACKAGE.parent / "measurements/suite/h100-sxm/sweeps"


def read(**params: Any) -> Prediction:
    given = {"bytes": 1 << 28, "vector": 4, "unroll": 1, "block": 256, "blocks": 132, **params}
    return predict(str(READ), timing="events", **given)


def dram(prediction: Prediction) -> LevelInFlight:
    (found,) = (x for x in littles_law(prediction).levels if x.level == "DRAM")
    return found


def test_formulas_by_hand() -> None:
    # by hand: 3 TB/s for 500 ns are 1.5 MB; 64 warps of two loads of 128 B are 16384 B;
    # 1.5 MB over 100 SMs are 15 kB, which take 15000/256 = 58.6 such warps
    assert BYTES_NEEDED(bandwidth=3e12, latency=500e-9) == pytest.approx(1.5e6)
    assert BYTES_HAD(warps=64.0, loads=2.0, bytes=128.0, waiting=0.5) == 8192
    assert WARPS_NEEDED(needed=1.5e6, sms=100.0, loads=2.0, bytes=128.0) == pytest.approx(58.59375)


def test_what_a_read_has_by_hand() -> None:
    # by hand: one block of 256 threads per SM is 8 warps; each has one load of 32 floats in flight
    found = dram(read())
    assert found.warps_per_sm == 8
    assert found.loads_per_warp == pytest.approx(1, rel=1e-3)  # a last turn has fewer
    assert found.bytes_per_load == pytest.approx(128, rel=1e-3)
    assert found.had_bytes_per_sm == pytest.approx(8 * 128 * found.waiting, rel=1e-3)
    # by hand: a quarter of the SMs with a block each have a quarter of it
    assert dram(read(blocks=33)).warps_per_sm == 2
    assert dram(read(blocks=33)).had_bytes_per_sm == pytest.approx(2 * 128, rel=0.1)
    # by hand: four times the bytes per load and four loads of them
    wide = dram(read(vector=16, unroll=4))
    assert wide.bytes_per_load == pytest.approx(512, rel=1e-2)
    assert wide.loads_per_warp == pytest.approx(4, rel=1e-2)


def test_what_dram_needs_is_the_models_own() -> None:
    # the device's figures: bandwidth of reads alone, and at least the latency of one
    device = load_device("h100-sxm")
    found = dram(read())
    assert found.bandwidth == pytest.approx(device.dram_read_bandwidth, rel=1e-6)
    assert device.dram_latency <= found.latency_s < 1.3 * device.dram_latency
    assert found.needed_bytes == pytest.approx(found.bandwidth * found.latency_s)
    assert found.needed_bytes_per_sm == pytest.approx(found.needed_bytes / device.sm_count)


@pytest.mark.parametrize("vector", [4, 16])
def test_share_is_dram_time_over_latency(vector: int) -> None:
    # derived: blocks that wait for DRAM alone bring had/latency bytes a second, so that the share
    # is the time that DRAM needs over that of the blocks one after another
    found = read(vector=vector)
    ratio = found.terms_s["dram"] / found.terms_s["latency"]
    assert dram(found).share == pytest.approx(ratio, rel=0.03)


def test_measured_reads_have_what_is_told() -> None:
    """Little's law on an H100: what measured reads have in flight, rate times latency."""
    measured = rows("in-flight", H100, function="read_gridstride", cache="cold", bytes=268435456)
    told = 0
    for row in measured:
        unroll = min(int(row["unroll"]), 4)  # as the sweep says: one batch has four at most
        sizes = {"vector": row["vector"], "block": row["block"], "blocks": row["grid"]}
        found = dram(read(unroll=unroll, **{name: int(value) for name, value in sizes.items()}))
        rate = 2**28 / (float(row["time_us"]) * 1e-6)
        if found.share < 0.5:
            assert rate * found.latency_s == pytest.approx(found.had_bytes, rel=0.1)
            told += 1
        if found.share > 2.5:  # enough for nine tenths, whatever queues
            assert rate > 0.9 * found.bandwidth
            assert found.limit is None
    assert told > 20


def test_what_limits() -> None:
    # by hand: 8 warps of an SM's 64 are too few, 64 with narrow loads would do with wider ones
    assert dram(read(unroll=4)).limit == "warps"
    full = dram(read(block=1024, blocks=264))
    assert full.limit == "bytes per load"
    # property: alone, each closes the gap
    assert full.warps_needed == pytest.approx(full.warps_per_sm / full.share)
    assert full.bytes_needed == pytest.approx(full.bytes_per_load / full.share)
    # by hand: a warp per SM with one narrow load: neither 64 of them nor 16 B per lane are enough
    assert dram(read(block=32)).limit == "loads per warp"
    # property: of a product's loads L1 and L2 answer nearly all
    assert dram(predict("gemm", mapping="naive", N=1024)).limit == "hits"


def test_occupancy_needed_halves_as_loads_double() -> None:
    # derived: warps times loads is what counts
    law = littles_law(read())
    needed = [o.warps_per_sm for o in law.occupancies]
    assert needed == pytest.approx([needed[0] / 2**i for i in range(len(needed))])
    one = law.occupancies[0]
    found = dram(read())
    # by hand: needed per SM over 128 B
    assert one.warps_per_sm == pytest.approx(found.needed_bytes_per_sm / 128, rel=1e-3)
    assert one.fraction is None  # 68 warps: an SM holds 64
    assert law.occupancies[1].fraction == pytest.approx(needed[1] / 64)


def test_nothing_to_tell_of_stores_and_of_tiles_copied_ahead() -> None:
    for found in (predict("write", bytes=1 << 20), predict("gemm", mapping="tensor-core")):
        law = littles_law(found)
        assert law.levels == law.occupancies == ()
        assert law.missing


def test_explain_says_it_where_a_launch_waits() -> None:
    line = in_flight_line(read(unroll=4))
    assert line is not None
    assert "DRAM needs" in line
    assert "limited by warps" in line
    # property: what has enough in flight has no such line
    assert in_flight_line(read(vector=16, unroll=4, block=1024, blocks=264)) is None
