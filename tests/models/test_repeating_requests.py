"""Requests of indices that repeat (i % m) or are random, against every thread counted."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.expressions import evaluate
from perfmodel.expressions.mixing import mixed
from perfmodel.kernels import bind, builtin
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import Requests, access_requests


def requests(instance: Instance) -> list[Requests]:
    shape = block_shape(tuple(int(np.max(n)) for n in instance.block))
    return [access_requests(instance, i, shape, {}) for i in range(len(instance.kernel.accesses))]


def counted(instance: Instance, position: int) -> dict[str, int]:
    """Count one access of a one-dimensional launch without loops, lane by lane."""
    access = instance.kernel.accesses[position]
    size = int(instance.element_bytes[access.buffer])
    index, guard = instance.expression(access.index), instance.condition(access)
    found = {"requests": 0, "sectors": 0, "lines": 0, "active_lanes": 0}
    for block in range(int(instance.grid[0])):
        for first in range(0, int(instance.block[0]), 32):
            addresses = []
            for thread in range(first, first + 32):
                place = {**instance.known, "blockIdx.x": block, "threadIdx.x": thread}
                if guard is None or evaluate(guard, place):
                    addresses.append(int(evaluate(index, place)) * size)
            found["requests"] += bool(addresses)
            found["active_lanes"] += len(addresses)
            for name, granule in (("sectors", 32), ("lines", 128)):
                found[name] += len({a // granule for a in addresses})
    return found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("data-reset", {"in_bytes": 4096, "out_bytes": 65536}),
        ("data-reset", {"in_bytes": 4096, "out_bytes": 50_000}),
        ("data-reset", {"in_bytes": 4096 + 16, "out_bytes": 65536}),  # the period cuts lines
        ("data-reset", {"in_bytes": 1 << 20, "out_bytes": 32768}),  # never wraps
        ("stream-persistent", {"persistent_bytes": 384, "stream_bytes": 20_000}),
        ("gather", {"n": 1024, "run": 1, "table_bytes": 1 << 20}),
        ("gather", {"n": 1000, "run": 8, "table_bytes": 1 << 16}),
        ("gather", {"n": 1024, "run": 24, "table_bytes": 1 << 16}),
    ],
)
def test_every_lane_counted(name: str, values: dict[str, int]) -> None:
    # independent: plain Python, one lane after the other; one draw of what is told as expected
    instance = bind(builtin(name), values)
    for position, got in enumerate(requests(instance)):
        near = 0.02 if got.random and got.sampled is None else 1e-6
        for what, expected in counted(instance, position).items():
            found = float(np.ravel(getattr(got, what))[0])
            assert found == pytest.approx(expected, rel=near), what


@pytest.mark.parametrize("run", [1, 3, 12, 48, 1000])
def test_a_block_asks_for_a_sector_once(run: int) -> None:
    # independent: plain Python, sets of a block's addresses
    n, words = 5000, 1 << 15
    rows, table, _ = requests(
        bind(builtin("gather"), {"n": n, "run": run, "table_bytes": 4 * words})
    )
    draws = words // run
    picked = [mixed(i // run, draws) * run + i % run for i in range(n)]
    for got, elements in ((rows, [i // run for i in range(n)]), (table, picked)):
        if got.strides is not None:  # closed forms have footprints
            assert run == 1
            continue
        near = 0.02 if got.sampled is None else 1e-6  # one draw of what is told as expected
        blocks = [elements[start : start + 256] for start in range(0, n, 256)]
        for place, granule in enumerate((32, 64, 128)):
            expected = sum(len({4 * e // granule for e in block}) for block in blocks)
            assert got.distinct_per_block is not None
            assert got.distinct_per_block[place] == pytest.approx(expected, rel=near)


def test_what_repeats_has_a_closed_form() -> None:
    instance = bind(builtin("data-reset"), {"in_bytes": np.array([1 << 17, 1 << 18, 1 << 20])})
    table, _ = requests(instance)
    assert table.sampled is None
    assert table.period is not None
    assert table.period.tolist() == [1 << 17, 1 << 18, 1 << 20]


def test_what_is_random_says_so() -> None:
    rows, table, out = requests(bind(builtin("gather"), {"n": 4096, "run": 8}))
    assert [r.random for r in (rows, table, out)] == [False, True, False]
