"""Accesses outside their buffers, misaligned ones, and divisors: against enumerations."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, parse
from perfmodel.kernels import Instance, bind, builtin, check_bounds, kernel_from_table
from perfmodel.kernels.bounds import divisor

Refusal = Callable[..., str]


def line(**changes: Any) -> Instance:
    """Return a kernel of 1000 elements in blocks of 256 threads, with some keys changed."""
    table = {
        "name": "t",
        "launch": {"grid": 4, "block": 256},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "buffers": {"x": {"length": 1000}},
        "accesses": [{"load": "x", "index": "i"}],
    }
    return bind(kernel_from_table({**table, **changes}))


def test_off_by_one_is_named(refusal: Refusal) -> None:
    # by hand: thread 232 of block 3 is the first past the end, 3*256 + 232 = 1000
    text = refusal(check_bounds, line(guard="i <= 1000"))
    assert text == (
        "kernel 't', load 'x': index 1000 is outside buffer 'x' of 1000 elements, in "
        "blockIdx (3, 0, 0), threadIdx (232, 0, 0); guard the access, or make the buffer longer"
    )
    check_bounds(line(guard="i < 1000"))
    check_bounds(line(guard="i <= 999"))


def test_guards_that_intervals_cannot_follow(refusal: Refusal) -> None:
    check_bounds(line(guard="i*i < 1000*1000"))
    text = refusal(check_bounds, line(guard="i*i <= 1000*1000"))
    assert "index 1000 is" in text
    assert "blockIdx (3, 0, 0), threadIdx (232, 0, 0)" in text


def test_before_the_start(refusal: Refusal) -> None:
    accesses = [{"load": "x", "index": "i - 1", "name": "left"}]
    text = refusal(check_bounds, line(accesses=accesses, guard="i < 1000"))
    assert "load 'left': index -1 is outside" in text
    assert "blockIdx (0, 0, 0), threadIdx (0, 0, 0)" in text
    check_bounds(line(accesses=accesses, guard="0 < i < 1000"))
    check_bounds(line(accesses=[{**accesses[0], "guard": "i > 0"}], guard="i < 1000"))


def test_stencil() -> None:
    accesses = [{"load": "x", "index": f"i + {d}"} for d in (-1, 0, 1)]
    check_bounds(line(accesses=accesses, guard="i >= 1 and i + 1 < 1000"))


def test_matrix_off_by_one(refusal: Refusal) -> None:
    """The corner of a guard in two directions, away from any corner of the launch."""
    table = {
        "name": "matrix",
        "launch": {"grid": [7, 9], "block": [32, 8]},
        "definitions": {
            "c": "blockIdx.x*blockDim.x + threadIdx.x",
            "r": "blockIdx.y*blockDim.y + threadIdx.y",
        },
        "guard": "c < 201 and r < 67",
        "buffers": {"x": {"length": 201 * 67 - 1}},
        "loops": [{"variable": "k", "trips": 5}],
        "accesses": [{"store": "x", "index": "r*201 + c", "loop": "k"}],
    }
    text = refusal(check_bounds, bind(kernel_from_table(table)))
    # by hand: column 200 is thread 8 of block 6, row 66 is thread 2 of block 8
    assert "index 13466 is outside buffer 'x' of 13466 elements" in text
    assert "blockIdx (6, 8, 0), threadIdx (8, 2, 0), k = 0;" in text
    table["buffers"] = {"x": {"length": 201 * 67}}
    check_bounds(bind(kernel_from_table(table)))


def test_loops(refusal: Refusal) -> None:
    loops = [
        {"variable": "a", "trips": 3},
        {"variable": "b", "trips": 5, "parent": "a"},
        {"variable": "c", "trips": 7},
    ]
    accesses = [{"load": "x", "index": "a*5 + b + i - i", "loop": "b"}]
    check_bounds(line(loops=loops, accesses=accesses, buffers={"x": {"length": 15}}))
    text = refusal(
        check_bounds, line(loops=loops, accesses=accesses, buffers={"x": {"length": 14}})
    )
    assert "index 14 is outside" in text
    assert "a = 2, b = 4;" in text
    never = [{"variable": "b", "trips": 0}]
    accesses = [{"load": "x", "index": "b + 5000", "loop": "b"}]
    check_bounds(line(loops=never, accesses=accesses))


def test_misaligned_vectors(refusal: Refusal) -> None:
    def quads(index: str) -> Instance:
        accesses = [{"load": "x", "index": index, "vector": 4}]
        return line(accesses=accesses, guard="i < 250")

    check_bounds(quads("i*4"))
    text = refusal(check_bounds, quads("i"))
    assert "index 1 of buffer 'x' is no multiple of the vector of 4" in text
    assert "threadIdx (1, 0, 0)" in text
    assert "index 1000 to 1003 is outside" in refusal(check_bounds, quads("i*4 + 4"))


def test_shared_buffers_and_atomics(refusal: Refusal) -> None:
    launch = {"grid": 4, "block": 256, "shared_bytes": 1024}
    buffers = {"x": {"length": 256, "space": "shared"}}
    accesses = [{"atomic": "x", "index": "threadIdx.x"}]
    check_bounds(line(launch=launch, buffers=buffers, accesses=accesses))
    accesses = [{"atomic": "x", "index": "threadIdx.x + 1"}]
    text = refusal(check_bounds, line(launch=launch, buffers=buffers, accesses=accesses))
    assert "atomic 'x': index 256" in text


def test_indices_without_a_value(refusal: Refusal) -> None:
    accesses = [{"load": "x", "index": "i % 8 // (255 - threadIdx.x)"}]
    assert "divides by zero" in refusal(check_bounds, line(accesses=accesses))
    guarded = [{**accesses[0], "guard": "threadIdx.x < 255"}]
    check_bounds(line(accesses=guarded))


def test_arrays_are_refused(refusal: Refusal) -> None:
    text = refusal(check_bounds, bind(builtin("gemm"), {"N": [64, 128]}))
    assert "one configuration at a time, not for arrays of shape (2,)" in text


def test_no_accesses() -> None:
    check_bounds(line(accesses=[]))


def test_more_loops_than_corners() -> None:
    loops = [{"variable": f"k{n}", "trips": 3} for n in range(16)]
    for below, loop in itertools.pairwise(loops):
        loop["parent"] = below["variable"]
    total = " + ".join(str(loop["variable"]) for loop in loops)
    # A sum less itself is beyond interval arithmetic, so points are tried.
    accesses = [{"load": "x", "index": f"({total}) * ({total}) - ({total})", "loop": "k15"}]
    check_bounds(line(loops=loops, accesses=accesses))
    with pytest.raises(PerfmodelError, match="index 992 is outside"):
        check_bounds(line(loops=loops, accesses=accesses, buffers={"x": {"length": 992}}))


def enumerated(instance: Instance) -> dict[tuple[int, ...], int]:
    """Return the index of the only access of every thread that takes part (bx, by, tx, ty, k)."""
    (access,) = instance.kernel.accesses
    sizes = (*instance.grid[:2], *instance.block[:2], instance.trips["k"])
    places = np.indices([int(size) for size in sizes]).reshape(5, -1)
    names = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "k")
    known = {**instance.known, **dict(zip(names, places, strict=True))}
    known |= {"threadIdx.z": 0, "blockIdx.z": 0}
    guard = instance.condition(access)
    assert guard is not None
    active = np.broadcast_to(evaluate(guard, known), places.shape[1:]) != 0
    index = np.broadcast_to(evaluate(instance.expression(access.index), known), active.shape)
    return {
        tuple(place): int(value)
        for place, value, holds in zip(places.T.tolist(), index, active, strict=True)
        if holds
    }


def small_kernel(index: str, guard: str, length: int, sizes: tuple[int, ...]) -> Instance:
    bx, by, tx, ty, trips = sizes
    table = {
        "name": "t",
        "launch": {"grid": [bx, by], "block": [tx, ty]},
        "definitions": {
            "x": "blockIdx.x*blockDim.x + threadIdx.x",
            "y": "blockIdx.y*blockDim.y + threadIdx.y",
        },
        "buffers": {"a": {"length": length}},
        "loops": [{"variable": "k", "trips": trips}],
        "accesses": [{"load": "a", "index": index, "guard": guard, "loop": "k"}],
    }
    return bind(kernel_from_table(table))


def reported(instance: Instance) -> tuple[tuple[int, ...], int] | None:
    """Return the thread that `check_bounds` names, and its index."""
    try:
        check_bounds(instance)
    except PerfmodelError as error:
        numbers = r"blockIdx \((\d+), (\d+), 0\), threadIdx \((\d+), (\d+), 0\), k = (\d+);"
        place = re.search(numbers, str(error))
        index = re.search(r"index (-?\d+)", str(error))
        assert place is not None
        assert index is not None
        return tuple(map(int, place.groups())), int(index[1])
    return None


SIZES = st.tuples(*[st.integers(1, 4)] * 5)
COEFFICIENT = st.integers(-2, 5)


@settings(max_examples=80, deadline=None)
@given(
    SIZES,
    st.lists(COEFFICIENT, min_size=4, max_size=4),
    st.integers(1, 18),
    st.integers(1, 18),
    st.integers(-1, 1),
)
def test_linear_indices_are_decided(
    sizes: tuple[int, ...], terms: list[int], width: int, height: int, slack: int
) -> None:
    """With a linear index and a rectangular guard the answer is always right."""
    a, b, c, d = terms
    index, guard = f"{a}*x + {b}*y + {c}*k + {d}", f"x < {width} and y < {height}"
    everything = enumerated(small_kernel(index, guard, 1, sizes))
    length = max(0, max(everything.values()) + 1 + slack)
    instance = small_kernel(index, guard, length, sizes)
    wrong = {place: i for place, i in everything.items() if not 0 <= i < length}
    found = reported(instance)
    if found is None:
        assert not wrong
    else:
        assert wrong[found[0]] == found[1]


ATOMS = st.sampled_from(["x", "y", "k", "threadIdx.x", "blockIdx.y", "1", "3", "7", "31"])
OPERATORS = st.sampled_from(["+", "-", "*", "//", "%", "^", "&", "|", "<<", "min", "max", "where"])


def joined(operator: str, a: str, b: str) -> str:
    if operator in ("min", "max"):
        return f"{operator}({a}, {b})"
    if operator == "where":
        return f"where({a} < {b}, {a}, {b} + 1)"
    if operator in ("//", "%"):
        return f"({a}) {operator} (1 + abs({b}))"
    return f"({a}) << (({b}) & 3)" if operator == "<<" else f"({a}) {operator} ({b})"


EXPRESSIONS = st.recursive(
    ATOMS, lambda inner: st.builds(joined, OPERATORS, inner, inner), max_leaves=6
)
GUARDS = st.lists(
    st.builds(
        "{} {} {}".format,
        EXPRESSIONS.map(lambda text: f"({text})"),
        st.sampled_from(["<", "<=", ">", ">=", "=="]),
        EXPRESSIONS.map(lambda text: f"({text})"),
    ),
    min_size=1,
    max_size=3,
).map(" and ".join)


@settings(max_examples=150, deadline=None)
@given(SIZES, EXPRESSIONS, GUARDS, st.integers(0, 40))
def test_no_false_alarms(sizes: tuple[int, ...], index: str, guard: str, length: int) -> None:
    """Whatever is reported, an enumeration of all threads finds too."""
    instance = small_kernel(index, guard, length, sizes)
    everything = enumerated(instance)
    found = reported(instance)
    if found is not None:
        place, value = found
        assert not 0 <= value < length
        assert everything[place] == value


KNOWN = {"n": 12, "m": 5}
PLACES = {"i": np.arange(0, 40)[:, None], "j": np.arange(0, 7)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # by hand
        ("8*i + 4*j", 4),
        ("i*n + 16", 4),
        ("(i*n + 4*j)*2", 8),
        ("m*i", 1),
        ("where(i > 3, 8*i, 4)", 4),
        ("min(8*i, n*j)", 4),
        ("(8*i) % n", 4),
        ("n*n", 16),
        ("i // 4", 1),
        ("16*i + 8 - n", 4),
    ],
)
def test_divisors(expression: str, expected: int) -> None:
    tree = parse(expression)
    found = divisor(tree, KNOWN, 16)
    assert found == expected
    # independent: all values
    values = np.ravel(evaluate(tree, {**KNOWN, **PLACES}))
    assert math.gcd(16, *map(int, values)) % found == 0
