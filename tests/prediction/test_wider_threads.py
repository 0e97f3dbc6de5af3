"""Advice on vector width: what threads of neighbouring words do together, made to the record."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from perfmodel.kernels import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.prediction.predict import predict
from perfmodel.prediction.wider_threads import wider_threads

WORDS = 1 << 24


def kernel(index: str = "i", guard: str = "i < n", **changes: Any) -> Kernel:
    """Return a kernel whose threads add a word of two arrays, or what the changes make of it."""
    table: dict[str, Any] = {
        "name": "add",
        "parameters": {"n": {"default": WORDS}},
        "launch": {"grid": "ceil_div(n, 256)", "block": 256, "registers": 16},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "guard": guard,
        "buffers": {"x": {"length": 64 * WORDS}, "y": {"length": 64 * WORDS}},
        "accesses": [
            {"load": "x", "index": index},
            {"load": "y", "index": index},
            {"store": "y", "index": index},
        ],
        "arithmetic": [{"pipe": "fma32", "count": 1}, {"pipe": "other", "count": 10}],
    }
    return kernel_from_table(table | changes)


def found(made: Kernel, fewer: str = "blocks", **params: Any) -> dict[int, Kernel]:
    """Return the kernels with wider threads by their words, those with fewer blocks or turns."""
    base = predict(made, device="h200-sxm", **params)
    said = re.compile(rf"move (\d+) neighbouring words of .* of the {fewer}")
    changes = [(said.search(c.what), c.kernel) for c in wider_threads(base)]
    return {int(words[1]): kernel for words, kernel in changes if words}


def test_it_is_the_kernel_that_a_user_would_write() -> None:
    # independent: float4 in a quarter of the blocks, with four additions a thread
    wide = kernel(
        index="4*i",
        guard="4*i < n",
        launch={"grid": "ceil_div(n, 1024)", "block": 256, "registers": 22},
        accesses=[
            {"load": "x", "index": "4*i", "vector": 4},
            {"load": "y", "index": "4*i", "vector": 4},
            {"store": "y", "index": "4*i", "vector": 4},
        ],
        arithmetic=[{"pipe": "fma32", "count": 4}, {"pipe": "other", "count": 10}],
    )
    wanted, got = (predict(k, device="h200-sxm") for k in (wide, found(kernel())[4]))
    assert got.traffic == pytest.approx(wanted.traffic)
    assert got.terms_s == pytest.approx(wanted.terms_s)
    assert got.grid == wanted.grid


def test_a_loop_over_the_data_takes_fewer_turns() -> None:
    # independent: the same grid, and a quarter of the turns, a float4 each
    def loop(step: str, trips: int, vector: int) -> Kernel:
        index = f"{step}*(j*gridDim.x*blockDim.x + i)"
        return kernel(
            guard="i < n",
            launch={"grid": 1056, "block": 256, "registers": 16 + 3 * (vector // 4) * 2},
            loops=[{"variable": "j", "trips": trips}],
            accesses=[
                {"load": "x", "index": index, "loop": "j", "vector": vector, "name": "x"},
                {"load": "y", "index": index, "loop": "j", "vector": vector, "name": "y"},
                {"store": "y", "index": index, "loop": "j", "vector": vector, "name": "z"},
            ],
            arithmetic=[{"pipe": "fma32", "count": vector, "loop": "j"}],
        )

    narrow = kernel_without_guard(loop("1", 64, 1))
    wide = kernel_without_guard(loop("4", 16, 4))
    four = found(narrow, "iterations of loop 'j'")[4]
    wanted, got = (predict(k, device="h200-sxm") for k in (wide, four))
    assert got.traffic == pytest.approx(wanted.traffic)
    assert got.time_s == pytest.approx(wanted.time_s)


def kernel_without_guard(made: Kernel) -> Kernel:
    """Return a kernel all of whose threads work."""
    return replace(made, guard=None)


@pytest.mark.parametrize(
    ("index", "n", "words"),
    [
        ("i", WORDS, [2, 4]),
        ("i + 4", WORDS, [2, 4]),
        ("i + 2", WORDS, [2]),  # no float4 begins there
        ("i + 1", WORDS, []),
        ("2*i", WORDS, []),  # lanes lie apart
        ("i % 32", WORDS, []),
        ("random(i, n)", WORDS, []),
        ("i", WORDS - 2, [2]),  # the last thread would do words past the end
        ("i", WORDS - 1, []),
    ],
)
def test_only_words_side_by_side_at_whole_vectors(index: str, n: int, words: list[int]) -> None:
    # property: a vector begins at a multiple of its size, and none lies half outside
    assert sorted(found(kernel(index=index), n=n)) == words


@pytest.mark.parametrize(
    "changes",
    [
        {"barriers": [{"count": 1}]},
        {"arithmetic": [{"pipe": "shuffle", "count": 1}]},
        {"accesses": [{"atomic": "x", "index": "i"}]},
        {"accesses": [{"load": "x", "index": "i"}, {"store": "y", "index": "blockIdx.x"}]},
        {"accesses": [{"load": "x", "index": "i", "guard": "i % 2 == 0"}]},
    ],
    ids=["barrier", "shuffle", "atomic", "store of blocks", "every other"],
)
def test_what_threads_do_together_stays(changes: dict[str, Any]) -> None:
    # property: lanes that others count on, or that differ, are not put together
    assert not found(kernel(**changes))
