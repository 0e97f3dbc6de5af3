"""Handing out blocks: against blocks handed out one by one, and launches by hand."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models import compiled_loops
from perfmodel.models.launch import handout
from perfmodel.models.launch.handout import busiest_of, busiest_work, time_in_slots
from perfmodel.prediction import predict


def one_by_one(works: list[float], sms: int, held: int) -> float:
    """Return when the last block ends: an SM works oldest first, and has room when one ends."""
    queues = [works[sm : sms * held : sms] for sm in range(sms)]
    following = sms * held
    running = [(queue.pop(0), sm) for sm, queue in enumerate(queues) if queue]
    heapq.heapify(running)
    end = 0.0
    while running:
        end, sm = heapq.heappop(running)
        if following < len(works):
            queues[sm].append(works[following])
            following += 1
        if queues[sm]:
            heapq.heappush(running, (end + queues[sm].pop(0), sm))
    return end


def test_random_grids_equal_blocks_handed_out_one_by_one() -> None:
    # independent: an event a block; in turns of one an SM few grids differ
    generator = np.random.default_rng(5)
    grids = [
        (*generator.integers(1, 40, 2), *generator.uniform(0.05, 1, 2), generator.choice([1, 2, 4]))
        for _ in range(120)
    ]
    x, y, cut_x, cut_y, held = np.array(grids).T
    found, total = busiest_work([x, y], [cut_x, cut_y], held, 132)
    errors = []
    for i, (columns, rows, c, d, resident) in enumerate(grids):
        along, down = np.ones(int(columns)), np.ones(int(rows))
        along[-1], down[-1] = c, d
        works = np.outer(down, along).reshape(-1).tolist()
        assert total[i] == pytest.approx(sum(works))
        errors.append(abs(found[i] / one_by_one(works, 132, int(resident)) - 1))
    assert np.quantile(errors, 0.9) < 1e-9
    assert np.quantile(errors, 0.97) < 0.03


def test_the_compiled_loop_equals_arrays(monkeypatch) -> None:
    # independent: the same with arrays, for fewer grids than the loop is compiled for
    pytest.importorskip("numba")
    generator = np.random.default_rng(3)
    counts = [generator.integers(1, 30, 300).astype(float) for _ in range(3)]
    counts[2] = generator.integers(1, 3, 300).astype(float)
    cuts = [np.where(generator.random(300) < 0.3, 1.0, generator.random(300)) for _ in range(3)]
    held = generator.integers(1, 9, 300).astype(float)
    with monkeypatch.context() as few:
        few.setattr(compiled_loops, "_MANY", 1)
        together, _ = busiest_work(counts, cuts, held, 132)
    monkeypatch.setattr(compiled_loops, "_FEW", 1 << 30)
    for part in (slice(0, 150), slice(150, 300)):
        alone, _ = busiest_work([c[part] for c in counts], [c[part] for c in cuts], held[part], 132)
        np.testing.assert_array_equal(together[part], alone)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 300),
            st.integers(1, 5),
            st.sampled_from([1.0, 1.0, 0.5, 0.99, 0.9991, 1 / 3, 1e-3]),
            st.sampled_from([1.0, 0.25, 0.7]),
            st.integers(1, 5),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([7, 50]),
)
def test_the_compiled_loop_skips_turns_of_whole_blocks(
    grids: list[tuple[int, int, float, float, int]], sm_count: int
) -> None:
    # independent: arrays, which go by every turn
    pytest.importorskip("numba")
    x, y, cut_x, cut_y, held = (np.array(c, dtype=float) for c in zip(*grids, strict=True))
    found = []
    for least in (1, 1 << 30):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(compiled_loops, "_MANY", least)
            patched.setattr(compiled_loops, "_FEW", least)
            patched.setattr(handout, "MOST_ROUNDS", 1 << 30)
            found.append(busiest_work([x, y], [cut_x, cut_y], held, sm_count)[0])
    np.testing.assert_array_equal(*found)


def test_rows_of_few_blocks_with_a_small_last_one() -> None:
    # independent: an event a block. Rows of two to four blocks, the last of them small, fall on the
    # same SMs row for row at first; those whose blocks are small then take several of the others
    # at once: 51% off at worst, when each SM took one at a time
    generator = np.random.default_rng(7)
    x, y = generator.integers(2, 5, 60), generator.integers(40, 350, 60)
    cut, held = generator.uniform(0.01, 0.4, 60), generator.choice([2, 4, 6, 9, 16], 60)
    found, _ = busiest_work([x, y], [cut, np.ones(60)], held, 132)
    for i in range(60):
        along = np.ones(int(x[i]))
        along[-1] = cut[i]
        works = np.tile(along, int(y[i])).tolist()
        assert found[i] == pytest.approx(one_by_one(works, 132, int(held[i])), rel=0.05)


def test_many_rounds_end_within_a_block_of_the_average() -> None:
    # by hand: 4000 rows of two blocks, one of them a tenth: 33.3 blocks an SM, and not 60.6
    found, total = busiest_work(
        [np.array([2.0]), np.array([4000.0])], [np.array([0.1]), np.ones(1)], np.ones(1), 132
    )
    assert total[0] == pytest.approx(4400)
    assert found[0] == pytest.approx(4400 / 132 + 1)


def test_whole_blocks_are_rounds() -> None:
    # by hand: 1, 2 and 100 rounds of equal blocks
    counts = np.array([132.0, 133.0, 13_200.0])
    found, total = busiest_work([counts], [np.ones(3)], np.ones(3), 132)
    assert found.tolist() == [1, 2, 100]
    assert total.tolist() == counts.tolist()


def test_small_blocks_make_room_for_others() -> None:
    # by hand: 14 rows of 19 blocks, the last of each row next to nothing: two blocks an SM take
    # 264 of 266, and the last of all goes where a small one and a whole one have ended
    found, _ = busiest_work(
        [np.array([19.0]), np.array([14.0])],
        [np.array([0.01]), np.ones(1)],
        np.full(1, 2.0),
        132,
    )
    assert found[0] == pytest.approx(2.01)


@pytest.mark.parametrize(
    ("m", "n", "k", "measured_us"),
    [
        (582, 445, 306, 143.2),
        (333, 777, 1555, 592.4),
        (777, 777, 777, 723.3),
        (869, 1337, 477, 814.4),
    ],
)
def test_products_of_odd_sizes_as_measured(m: int, n: int, k: int, measured_us: float) -> None:
    # measured: medians by the profiler, warm (built-in-kernels/h200-sxm/first and
    # suite/h200-sxm/sweeps); 7 to 17% off with all of the last round's blocks whole
    found = predict("gemm", mapping="naive", device="h200-sxm", cache="warm", M=m, N=n, K=k)
    assert found.time_s * 1e6 == pytest.approx(measured_us, rel=0.1)


@pytest.mark.parametrize(("mapping", "rows"), [("naive", "N"), ("coalesced", "M")])
def test_blocks_with_few_warps_at_work_are_not_slower_than_full_ones(
    mapping: str, rows: str
) -> None:
    # property: a warp's row more never takes time away; one warp of 32 asks a 32nd of all
    shape = {"M": 4096, "N": 4096, "K": 4096}
    found = [predict("gemm", mapping=mapping, **(shape | {rows: n})) for n in (1, 2, 8, 16, 31, 32)]
    times = [p.time_s for p in found]
    assert times == sorted(times)
    # derived: what threads outside the guard skip, no pipe does
    alone, full = found[0].terms_s, found[-1].terms_s
    assert alone["int32"] < full["int32"] / 20
    assert alone["l1"] < full["l1"] / 10


def test_one_thread_of_a_large_block_takes_little_more_than_the_launch() -> None:
    # derived: 30 instructions of each of 32 warps are 0.5 us at most, and two loads from DRAM 1 us
    found = predict("gemm", mapping="coalesced", N=1)
    assert found.time_s < found.terms_s["launch"] + 1.5e-6


def test_blocks_one_by_one_on_the_busiest_sm() -> None:
    # independent: an event a block
    generator = np.random.default_rng(11)
    for held in (1, 2, 8):
        works = generator.choice([0.3, 1.0, 1.7], int(generator.integers(150, 900)))
        found = busiest_of(works, np.array([float(held)]), 132)
        assert found == pytest.approx(one_by_one(works.tolist(), 132, held))


def test_a_triangle_of_blocks_that_all_run_together() -> None:
    # by hand: block b goes to SM b % 132; of 32 x 32 blocks those with x <= y work
    x, y = np.arange(1024) % 32, np.arange(1024) // 32
    works = (x <= y).astype(float)
    by_hand = np.bincount(np.arange(1024) % 132, weights=works).max()
    assert busiest_of(works, np.array([8.0]), 132) == by_hand == 8


def test_blocks_that_only_wait_take_turns_in_slots() -> None:
    # Graham's bounds, and equal blocks by hand
    assert time_in_slots([1.0] * 10, 4) == 3
    generator = np.random.default_rng(3)
    works = generator.uniform(0.1, 2, 500).tolist()
    found = time_in_slots(works, 64)
    assert max(*works, sum(works) / 64) <= found <= sum(works) / 64 + max(works)
    assert time_in_slots(works, 500) == max(works)
