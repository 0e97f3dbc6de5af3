"""The emulator: results of kernels against NumPy, the order of divergent warps, and its limits."""

from __future__ import annotations

import re
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
from emulated import STORE, single
from programs import launch, sample, sample_bound, samples, written

from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.memory import Region
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.errors import PerfmodelError


def ran(name: str, content: dict[str, np.ndarray], grid: Any, block: Any, **arguments: Any) -> Any:
    """Run all blocks of a sample kernel on given arrays; return what its buffers hold then."""
    shared = arguments.pop("shared", 0)
    sizes = {key: Buffer(max(array.nbytes, 1)) for key, array in content.items()}
    spec = launch(grid, block, shared, **arguments, **sizes)
    prepared = emulated_launch(sample_bound(name, spec), sample(name))
    regions = {region.name: region for region in prepared.buffers.values()}
    for key, array in content.items():
        regions[key].content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    found = emulate(samples(), sample(name), prepared, Effort(lanes=1 << 17))
    assert found.sampled == found.blocks

    def held(key: str, dtype: Any) -> np.ndarray:
        region: Region = regions[key]
        offsets = np.arange(0, region.size, np.dtype(dtype).itemsize)
        whole = np.dtype(f"u{np.dtype(dtype).itemsize}")
        return region.load(offsets, whole.itemsize, "b32").view(dtype)

    return held, found


RANDOM = np.random.default_rng(7)


def test_saxpy_computes() -> None:
    x, y = (RANDOM.random(1000, dtype=np.float32) for _ in range(2))
    held, _ = ran("saxpy", {"x": x, "y": y}, 4, 256, n=1000, a=2.5)
    np.testing.assert_allclose(held("y", np.float32), 2.5 * x + y, rtol=1e-6)


def test_products_compute() -> None:
    a, b = (RANDOM.random((64, 64), dtype=np.float32) for _ in range(2))
    out = np.zeros_like(a)
    held, _ = ran("product_tiled", {"A": a, "B": b, "C": out}, (2, 2), (32, 32), N=64)
    np.testing.assert_allclose(held("C", np.float32).reshape(64, 64), a @ b, rtol=1e-4)
    sizes: dict[str, Any] = {"M": 50, "N": 37, "K": 21}
    a, b = RANDOM.random((50, 21), dtype=np.float32), RANDOM.random((21, 37), dtype=np.float32)
    out = np.zeros((50, 37), np.float32)
    held, _ = ran("product", {"A": a, "B": b, "C": out}, (3, 4), (16, 16), **sizes)
    np.testing.assert_allclose(held("C", np.float32).reshape(50, 37), a @ b, rtol=1e-4)


def test_shared_memory_barriers_and_halving_loops_compute() -> None:
    x = RANDOM.random(1000, dtype=np.float32)
    held, _ = ran("reduce", {"x": x, "out": np.zeros(4, np.float32)}, 4, 256, shared=1024, n=1000)
    expected = [x[i : i + 256].sum() for i in range(0, 1000, 256)]
    np.testing.assert_allclose(held("out", np.float32), expected, rtol=1e-5)


def test_transposition_computes() -> None:
    x = RANDOM.random((70, 50), dtype=np.float32)
    held, _ = ran(
        "transpose", {"in": x, "out": np.zeros(3500, np.float32)}, (2, 3), (32, 8), w=50, h=70
    )
    assert np.array_equal(held("out", np.float32).reshape(50, 70), x.T)


def test_shuffles_and_atomics_on_floats_compute() -> None:
    x = RANDOM.random(3000, dtype=np.float32)
    held, _ = ran("warp_sums", {"x": x, "out": np.zeros(1, np.float32)}, 4, 128, n=3000)
    assert held("out", np.float32)[0] == pytest.approx(x.sum(), rel=1e-4)


def test_histograms_compute() -> None:
    data = RANDOM.integers(0, 256, 5000).astype(np.uint8)
    held, _ = ran("histogram", {"d": data, "h": np.zeros(256, np.uint32)}, 20, 256, n=5000)
    assert np.array_equal(held("h", np.uint32), np.bincount(data, minlength=256))


def test_data_dependent_loops_compute() -> None:
    def steps(value: int) -> int:
        count = 0
        while value != 1:
            value = 3 * value + 1 if value & 1 else value >> 1
            count += 1
        return count

    held, _ = ran("collatz", {"steps": np.zeros(300, np.int32)}, 2, 160, n=300)
    assert held("steps", np.int32).tolist() == [steps(i + 1) for i in range(300)]


def test_sparse_rows_compute() -> None:
    lengths = RANDOM.integers(0, 9, 100)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = RANDOM.integers(0, 40, starts[-1]).astype(np.int32)
    values, x = RANDOM.random(starts[-1], dtype=np.float32), RANDOM.random(40, dtype=np.float32)
    content = {"starts": starts, "columns": columns, "values": values, "x": x}
    held, _ = ran("sparse", content | {"y": np.zeros(100, np.float32)}, 2, 64, rows=100)
    expected = [(values[a:b] * x[columns[a:b]]).sum() for a, b in pairwise(starts)]
    np.testing.assert_allclose(held("y", np.float32), expected, rtol=1e-5, atol=1e-7)


def test_ballots_and_returned_atomics_compact() -> None:
    data = RANDOM.integers(-5, 6, 1000).astype(np.int32)
    content = {"in": data, "out": np.zeros(1000, np.int32), "count": np.zeros(1, np.int32)}
    held, _ = ran("compact", content, 4, 256, n=1000)
    kept = int((data > 0).sum())
    assert held("count", np.int32)[0] == kept
    assert sorted(held("out", np.int32)[:kept]) == sorted(data[data > 0])


def test_lanes_that_part_meet_again() -> None:
    # by hand: two sides of 16 lanes, each once; then the whole warp once
    found, out = single(
        """
        mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 16; @%p1 bra low;
        mov.u32 %r1, 2; bra join;
    low:
        mov.u32 %r1, 1;
    join:
        """
        + STORE
    )
    assert found.warps.tolist() == [1, 1, 1, 1]
    assert found.threads.tolist() == [32, 16, 16, 32]
    assert out.tolist() == [1] * 16 + [2] * 16


@pytest.mark.parametrize(("unrolled", "warps"), [(False, 32), (True, 35)])
def test_a_loop_runs_as_long_as_the_slowest_lane(unrolled: bool, warps: int) -> None:
    # by hand: lane i goes round i + 1 times, the warp 32 times; put together in fours, twos and
    # ones, two more for lanes that have two left and one for those that have one
    found, out = single(
        """
        mov.u32 %r2, %tid.x; mov.u32 %r1, 0;
    again:
        add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %r2; @%p1 bra again;
        """
        + STORE,
        unrolled=[1] if unrolled else [],
    )
    assert out.tolist() == list(range(1, 33))
    assert found.warps[1] == warps
    assert found.threads[1] == sum(range(1, 33))


def test_a_barrier_waits_for_all_warps() -> None:
    # by hand: the second warp's word is stored before the first reads it, whichever runs first
    found, out = single(
        """
        mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, cells; add.u32 %r5, %r4, %r3;
        st.shared.u32 [%r5], %r2; bar.sync 0;
        xor.b32 %r6, %r3, 252; add.u32 %r7, %r4, %r6; ld.shared.u32 %r1, [%r7];
        """
        + STORE,
        block=64,
        declared=".shared .align 4 .b8 cells[256];",
    )
    assert out.tolist() == list(range(63, -1, -1))
    assert not found.notes


def test_counted_requests_by_hand() -> None:
    found, _ = single("mov.u32 %r1, 1;" + STORE, grid=3, block=64)
    (count,) = (c for at, c in found.counts.items())
    # two warps a block of 32 consecutive words each: 4 sectors, 1 line
    assert (count.requests, count.lanes) == (6, 192)
    assert (count.sectors, count.lines, count.pairs) == (24, 6, 12)


def test_what_does_not_end_is_stopped_with_its_place() -> None:
    spec = launch(2, 64, n=5, out=Buffer(4096))
    prepared = emulated_launch(sample_bound("forever", spec), sample("forever"))
    with pytest.raises(PerfmodelError, match="does not end: after 501 steps") as error:
        emulate(samples(), sample("forever"), prepared, Effort(steps=500))
    assert "PTX line" in str(error.value)
    assert "the content of out is generated" in str(error.value)


def test_what_takes_too_long_is_not_said_to_have_no_end() -> None:
    spec = launch(2, 64, n=5, out=Buffer(4096))
    prepared = emulated_launch(sample_bound("forever", spec), sample("forever"))
    with pytest.raises(PerfmodelError, match="takes too long to follow: after") as error:
        emulate(samples(), sample("forever"), prepared, Effort(seconds=0.0))
    assert "does not end" not in str(error.value)


def test_work_ends_an_emulation_and_not_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: a busy machine gives up where an idle one does
    spec = launch(2, 64, n=5, out=Buffer(4096))
    prepared = emulated_launch(sample_bound("forever", spec), sample("forever"))
    steps = set()
    for clock in (0.0, 1e-9):
        ticks = count(0.0, clock)
        monkeypatch.setattr("perfmodel.cuda.emulate.budget.time.thread_time", partial(next, ticks))
        with pytest.raises(PerfmodelError, match="takes too long to follow") as error:
            emulate(samples(), sample("forever"), prepared, Effort(seconds=0.01))
        steps.update(re.findall(r"after (\d+) steps", str(error.value)))
    assert len(steps) == 1


LONG = (
    """
    ld.param.u64 %d1, [out]; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r10, %tid.x; mov.u32 %r9, 2;
again:
    and.b32 %r3, %r2, 3; mov.u32 %r4, 0;
inner:
    ld.global.u32 %r5, [%d1]; add.u32 %r1, %r1, %r5; add.u32 %r4, %r4, 1;
    setp.le.u32 %p1, %r4, %r3; @%p1 bra inner;
    st.global.u32 [%d1+64], %r4; bar.sync 0;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 2000; @%p2 bra again;
    add.u32 %r1, %r1, 1;
    """
    + STORE
)


def test_what_is_left_of_a_long_loop_is_taken_to_be_like_what_was_run() -> None:
    # property: the same counts as when all of it is run, within what its iterations differ by
    module = written(LONG)
    kernel = module.kernels[0]
    prepared = emulated_launch(bound(launch(40, 64, out=Buffer(4 * 2560)), kernel), kernel)
    # Work of 10 instructions for two warps, some 2,000 times; a part of it, and all.
    some, all_of_it = (emulate(module, kernel, prepared, Effort(seconds=s)) for s in (0.7, 60.0))
    assert [text for text in some.notes if "taken to be like them" in text]
    assert not [text for text in all_of_it.notes if "taken to be like them" in text]
    per_block = all_of_it.warps / all_of_it.sampled
    np.testing.assert_allclose(some.warps / some.sampled, per_block, rtol=0.02)
    for at, found in all_of_it.counts.items():
        short = some.counts[at]
        assert short.requests / some.sampled == pytest.approx(
            found.requests / all_of_it.sampled, rel=0.02
        )
        assert short.mean(short.sectors) == pytest.approx(found.mean(found.sectors), rel=0.01)


def test_calls_without_a_body_give_zero_and_a_note() -> None:
    # property: what cannot be known is left out, and said
    found, out = single(
        "call (%r1), elsewhere, (%r2);" + STORE,
        declared=".extern .func (.reg .b32 r) elsewhere(.reg .b32 x);",
    )
    assert not out.any()
    assert "not emulated, results taken as 0: call" in found.notes


def test_a_huge_grid_is_sampled() -> None:
    spec = launch(2**31 - 1, 256, n=1, steps=64)
    prepared = emulated_launch(sample_bound("collatz", spec), sample("collatz"))
    found = emulate(samples(), sample("collatz"), prepared)
    assert found.blocks == 2**31 - 1
    assert found.sampled == 64
