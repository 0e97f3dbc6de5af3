"""Whole launches: by hand, the same however they are run, sampled, and refused."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from launches import H200, MIB, bound, counts, launched, residency

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction.simulated import simulate
from perfmodel.trace.addresses import sms_of
from perfmodel.trace.counts import Simulation
from perfmodel.trace.sampling import LEAST, windows
from perfmodel.trace.simulate import (
    Simulator,
    check_launch,
    lines_per_request,
    seconds,
    warp_requests,
)


def table(**changes: Any) -> Kernel:
    """Return a kernel that adds one to a vector, with changes."""
    return kernel_from_table(
        {
            "name": "mine",
            "summary": "y = x + 1",
            "parameters": {"n": {"default": 1 << 16}},
            "launch": {"grid": "ceil_div(n, 256)", "block": 256},
            "guard": "i < n",
            "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
            "buffers": {"x": {"length": "n"}, "y": {"length": "n"}},
            "accesses": [{"load": "x", "index": "i"}, {"store": "y", "index": "i"}],
        }
        | changes
    )


@lru_cache
def whole_run(name: str, mapping: str | None = None, **params: int) -> Simulation:
    """Simulate all of a built-in kernel's launch, which samples are held against."""
    return launched(bound(name, mapping, **params))


def test_a_stream_by_hand() -> None:
    # by hand: 2**16 floats are 2048 warps, 4 sectors each; nothing hits, nothing is written yet
    found = launched(bound(table()))
    x, y = found.accesses
    assert (x.requests, x.lanes, x.sectors, x.lines) == (2048, 2**16, 8192, 2048)
    assert (x.l1_hit_sectors, x.l2_sectors, x.l2_missed_sectors) == (0, 8192, 8192)
    assert (y.requests, y.sectors, y.l2_sectors, y.dram_read_sectors) == (2048, 8192, 8192, 0)
    assert found.dram_read_bytes == 2**18
    assert (found.dram_write_bytes, found.dirty_left_bytes) == (0, 2**18)


def test_weighted_bins_are_drawn_by_their_weights() -> None:
    # by hand: all weight on bin 7 is one address; independent: distinct draws of NumPy's, by warp
    def addresses(weights: list[float] | str) -> float:
        access = {"atomic": "x", "index": "random(i, 64)", "weights": weights}
        return launched(bound(table(accesses=[access]))).accesses[0].atomic_addresses

    assert addresses([0.0] * 7 + [1.0] + [0.0] * 56) == 2048
    likely = 1 / np.arange(1, 65)
    drawn = np.random.default_rng(1).choice(64, (2048, 32), p=likely / likely.sum())
    distinct = sum(len(set(warp)) for warp in drawn.tolist())
    assert addresses("1/(bin + 1)") == pytest.approx(distinct, rel=0.02)


def test_blocks_without_work_make_room() -> None:
    # by hand: the same work in ten times as many blocks, of which nine tenths do nothing
    idle = table(launch={"grid": "10*ceil_div(n, 256)", "block": 256})
    assert counts(launched(bound(idle)))[:2] == counts(launched(bound(table())))[:2]


def test_l1_serves_a_block_that_reads_again() -> None:
    # by hand: every warp reads its line 10 times: 9 of 10 hit
    again = table(
        loops=[{"variable": "k", "trips": 10}],
        accesses=[{"load": "x", "index": "i", "loop": "k"}],
    )
    (x,) = launched(bound(again)).accesses
    assert (x.sectors, x.l1_hit_sectors) == (81920, 9 * 8192)


def test_loads_past_l1_do_not_hit_there() -> None:
    again = table(
        loops=[{"variable": "k", "trips": 10}],
        accesses=[{"load": "x", "index": "i", "loop": "k", "cache": "l2"}],
    )
    (x,) = launched(bound(again)).accesses
    assert (x.l1_hit_sectors, x.l2_sectors, x.l2_missed_sectors) == (0, 81920, 8192)


def test_atomics_are_counted_by_address() -> None:
    # by hand: 8 addresses a warp, 4 lanes each; one sector; read once, dirty at the end
    kernel = table(accesses=[{"atomic": "y", "index": "threadIdx.x % 8"}])
    found = launched(bound(kernel))
    (y,) = found.accesses
    assert (y.requests, y.sectors) == (2048, 2048)
    assert (y.atomic_addresses, y.atomic_busiest) == (2048 * 8, 2048 * 4)
    assert (y.l2_sectors, y.atomic_passes) == (2048, 2048 * 4)
    assert found.l2_hit_rate == 1 - 1 / (2048 * 4)
    assert found.dram_read_bytes == 64
    assert found.dirty_left_bytes == 32


def test_stores_of_half_sectors_are_completed_from_dram() -> None:
    # by hand: 4 of 8 floats of every sector are stored; what is written back was read before
    kernel = table(
        parameters={"n": {"default": 1 << 24}},
        accesses=[{"store": "y", "index": "i // 4*8 + i % 4", "guard": "i < n // 2"}],
    )
    found = launched(bound(kernel))
    (_, y) = found.buffers
    assert y.dram_write_bytes + found.dirty_left_bytes == 4 * (1 << 24)
    assert y.partial_bytes == y.dram_write_bytes == y.dram_read_bytes > 0


KERNELS = [
    ("gemm", "coalesced", {"N": 96}),
    ("gemm", "naive", {"M": 70, "N": 40, "K": 33}),
    ("strided-copy", None, {"n": 100_000, "stride": 3, "offset": 1}),
    ("copy", None, {"bytes": 3 * MIB + 4096, "vector": 8}),
]


@pytest.mark.parametrize(("name", "mapping", "params"), KERNELS)
def test_batches_and_engines_change_nothing(name: str, mapping: str | None, params: Any) -> None:
    # property
    instance = bound(name, mapping, **params)
    base = counts(launched(instance, Simulator(H200, engine="numba")))
    assert counts(launched(instance, Simulator(H200, engine="numpy"))) == base
    for batch in (1, 300, 1 << 20):
        assert counts(launched(instance, Simulator(H200, batch=batch))) == base


def test_patterns_give_what_lanes_give(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: the way of separable indices, and that of all others
    instances = [bound(name, mapping, **params) for name, mapping, params in KERNELS]
    fast = [counts(launched(instance)) for instance in instances]
    monkeypatch.setattr("perfmodel.trace.addresses._separable", lambda *_: False)
    assert [counts(launched(instance)) for instance in instances] == fast


def test_blocks_go_where_others_end() -> None:
    # property: the first on SM after SM; of each 132 that follow one goes to every SM, in an order
    # that is no order, the same for every part of the grid that is asked for
    found = sms_of(np.arange(1320), 132, 264, 0).reshape(10, 132)
    assert np.array_equal(found[:2], np.stack([np.arange(132)] * 2))
    assert np.array_equal(np.sort(found, axis=1), np.stack([np.arange(132)] * 10))
    assert len({tuple(row) for row in found.tolist()}) == 9
    assert np.array_equal(sms_of(np.array([500, 1000]), 132, 264, 0), found.ravel()[[500, 1000]])


def test_seeds() -> None:
    # property: the same seed, the same counts; another one moves SMs to the other side
    instance = bound("gemm", "coalesced", N=96)
    one, again, other = (counts(launched(instance, Simulator(H200, seed=s))) for s in (1, 1, 2))
    assert one == again != other


def test_what_a_launch_counts_on_any_machine() -> None:
    # regression: an H200's 16 x 16 x 16 products; any change of hashes or order shows here
    found = launched(bound("gemm", "naive", M=64, N=64, K=64))
    assert [a.l1_hit_sectors for a in found.accesses] == [261120, 7168, 0]
    assert [a.l2_near_sectors for a in found.accesses] == [448, 512, 3072]


def test_persistence_after_use() -> None:
    # by hand: 8 MiB read with a window stay through a stream of 512 MiB without one
    table_, stream = bound("read", bytes=8 * MIB), bound("read", bytes=512 * MIB)
    far = 1 << 40
    window = AccessPolicyWindow("in", 8 * MIB)

    def read(instance: Any, first: int = 0) -> float:
        return simulator.launch(instance, residency(instance), first=first).dram_read_bytes

    simulator = Simulator(H200, L2Control(set_aside=16 * MIB, window=window))
    assert read(table_, far) == 8 * MIB
    simulator.control = L2Control(set_aside=16 * MIB)
    read(stream)
    # nothing has asked for them since: they are still there
    lines = simulator.l2.state.line >= far // 128
    assert int((lines & (simulator.l2.state.rank >> 50 == 2)).sum()) > 0.9 * 8 * MIB / 128


def test_hit_ratio_fits_until_the_set_aside() -> None:
    # published: DRAM reads fall with hitRatio until hitRatio x window meets the set-aside, then
    # rise again; read twice, 96 MiB with a set-aside of 16 MiB
    def reads(hit_ratio: float) -> float:
        window = AccessPolicyWindow("in", 96 * MIB, hit_ratio)
        simulator = Simulator(H200, L2Control(set_aside=16 * MIB, window=window))
        instance = bound("read", bytes=96 * MIB)
        launched(instance, simulator)
        return launched(instance, simulator).dram_read_bytes / (96 * MIB)

    shares = {ratio: reads(ratio) for ratio in (0.05, 0.15, 0.7, 1.0)}
    for ratio in (0.05, 0.15):  # what is not picked streams, and never hits
        assert shares[ratio] == pytest.approx(1 - ratio, abs=0.05)
    assert shares[0.7] > 1 - 0.7 + 0.4
    assert shares[1.0] > 0.98


def test_sets_and_windows_of_a_launch_together() -> None:
    whole, instance = whole_run("copy", None, bytes=512 * MIB), bound("copy", bytes=512 * MIB)
    part = launched(instance, Simulator(H200, sets=8), share=0.25)
    assert part.sampled < 0.4
    assert part.error is not None
    moved, expected = (r.dram_read_bytes + r.dram_write_bytes for r in (part, whole))
    assert moved == pytest.approx(expected, rel=max(part.error, 0.005))


@pytest.mark.parametrize("sets", [0, -1, 65])
def test_numbers_of_sets_that_make_no_sample(sets: int) -> None:
    with pytest.raises(PerfmodelError, match="sets must be 1 to 64"):
        Simulator(H200, sets=sets)


@pytest.mark.parametrize("total", [LEAST, 100.0, 1000.3])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("start", [1, 5])
def test_windows_stand_for_the_rest(total: float, share: float, start: int) -> None:
    # property: weights times counted waves are all that is left; windows go forward
    made, weights = windows(start, total, share)
    counted = [w.last - w.first for w in made if w.counted]
    if len(weights) > 1:
        stands = sum(w * c for w, c in zip(weights, counted, strict=True))
        assert stands == pytest.approx(total - start)
    ordered = [n for w in made for n in range(w.first, w.last)]
    assert ordered == sorted(set(ordered))
    assert ordered[0] == start


def test_small_launches_are_run_whole() -> None:
    found = launched(bound("copy", bytes=MIB), share=0.1)
    assert (found.sampled, found.error) == (1.0, None)


def test_interruption_gives_what_was_counted() -> None:
    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    instance = bound("copy", bytes=64 * MIB)
    found = Simulator(H200).launch(instance, residency(instance), progress=stop)
    assert found.interrupted
    assert 0.5 <= found.sampled < 0.7
    assert found.total("requests") == pytest.approx(found.sampled * 2 * 131072, rel=0.01)


def test_estimates_grow_with_the_launch() -> None:
    # by hand: 2 N**3/32 + N**2/32 requests
    instance = bound("gemm", "coalesced", N=4096)
    assert warp_requests(instance) == (2 * 4096 + 1) * 4096 * 4096 // 32
    assert seconds(instance) > 60


@pytest.mark.parametrize(
    ("kernel", "params", "lines"),
    [
        ("copy", {"bytes": 64 * MIB}, 4.0),
        ("strided-copy", {"n": 1 << 20, "stride": 40}, 33 / 2),
        ("atomic-add", {"n": 1 << 20, "addresses": 1 << 24, "pattern": "random"}, 32 / 3),
    ],
)
def test_estimates_count_the_lines_of_a_request(kernel: str, params: Any, lines: float) -> None:
    # by hand: 16 B a lane are 4 lines; floats 160 B apart are one each, and their copies one for
    # all; random words of 64 MiB are one each but for chance, and
    # two of the kernel's three atomics are held back by their guards
    assert lines_per_request(bound(kernel, **params)) == pytest.approx(lines, rel=0.01)


def test_estimates_of_uncoalesced_launches() -> None:
    # by hand: time goes by the lines that requests touch; how long a line takes depends on the
    # machine, and is measured in benchmarks/simulator.py
    dense = bound("strided-copy", n=1 << 20, stride=1)  # a line a request
    wide = bound("copy", bytes=64 * MIB)  # four
    assert seconds(wide) / seconds(dense) == pytest.approx(
        4 * warp_requests(wide) / warp_requests(dense), rel=0.01
    )
    strided = bound("strided-copy", n=1 << 20, stride=40)  # 33 for two requests
    assert seconds(strided) / seconds(dense) == pytest.approx(33 / 2, rel=0.01)


# Random places and windows: all that draws something.
DRAWN = [
    ("gather", {"n": 1 << 14, "table_bytes": 8 * MIB}, "table"),
    ("atomic-add", {"n": 1 << 14, "addresses": 1 << 16, "pattern": "random"}, None),
    ("cas-loop", {"n": 1 << 12, "addresses": 7}, None),
    ("data-reset", {"in_bytes": 2 * MIB, "out_bytes": 4 * MIB}, "in"),
]


@pytest.mark.parametrize(("kernel", "params", "buffer"), DRAWN, ids=lambda v: str(v)[:10])
def test_what_is_drawn_depends_on_the_seed_alone(
    kernel: str, params: Any, buffer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # property: engine, chunk size and number of workers change nothing; another seed does
    instance = bound(kernel, **params)
    window = AccessPolicyWindow(buffer, MIB, 0.4) if buffer else None
    control = L2Control(set_aside=MIB, window=window, fetch_granularity=32)

    def run(seed: int = 5, **how: Any) -> Any:
        simulator = Simulator(H200, control, seed=seed, **how)
        return [counts(launched(instance, simulator)) for _ in range(2)]

    base = run()
    assert run(engine="numpy") == base
    for batch in (1, 700):
        assert run(batch=batch) == base
    monkeypatch.setattr("perfmodel.trace.threads.WORTH_A_THREAD", 1)
    for workers in (1, 3):
        monkeypatch.setattr("perfmodel.trace.threads.THREADS", workers)
        assert run() == base
    assert run(seed=6) != base


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accesses": []}, "no addresses to simulate"),
        ({"loops": [{"variable": "k", "trips": 0}],
          "accesses": [{"load": "x", "index": "i", "loop": "k"}]}, "no addresses to simulate"),
    ],
)  # fmt: skip
def test_nothing_to_simulate_is_refused(change: Any, says: str) -> None:
    with pytest.raises(PerfmodelError, match=says):
        launched(bound(table(**change)))


@pytest.mark.parametrize(
    ("control", "says"),
    [
        (L2Control(window=AccessPolicyWindow("z", 128)), "'z' does not exist"),
        (L2Control(window=AccessPolicyWindow("x", 2**20)), "not inside buffer 'x' of 262144"),
        (L2Control(window=AccessPolicyWindow("x", 128, offset=2**18)), "not inside buffer 'x'"),
    ],
)
def test_windows_outside_buffers_are_refused(control: L2Control, says: str) -> None:
    with pytest.raises(PerfmodelError, match=says):
        launched(bound(table()), Simulator(H200, control))


def test_what_l2_cannot_do_is_refused() -> None:
    # property: by the rules that predictions go by
    for control, says in (
        (L2Control(set_aside=10**9), "set_aside of 1000000000 bytes"),
        (L2Control(fetch_granularity=48), "must be 32, 64 or 128"),
        (L2Control(window=AccessPolicyWindow("x", 128, hit_ratio=1.5)), "hit_ratio must be from 0"),
    ):
        with pytest.raises(PerfmodelError, match=says):
            simulate(table(), control=control)


def test_arrays_and_shares_are_refused() -> None:
    instance = bound(table())
    with pytest.raises(PerfmodelError, match="over 0 and up to 1"):
        Simulator(H200).launch(instance, residency(instance), share=0.0)
    many = bound(table(), n=np.array([1, 2]))  # type: ignore[arg-type]
    with pytest.raises(PerfmodelError, match="one configuration at a time"):
        check_launch(many)


def test_memory_stays_under_a_gibibyte() -> None:
    # property: peak of what NumPy and numba allocate, as the process sees it, over a long launch
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    launched(bound("gemm", "naive", M=1024, N=1024, K=24))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB
