"""No prediction depends on the order in which a kernel file states its accesses."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from drawn_launches import EVERY, FILES, drawn_of

from perfmodel import Prediction, predict
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel, find_kernel
from perfmodel.kernels.tables import kernel_from_table

TIMES = int(os.environ.get("PERFMODEL_DRAWN_TIMES", "1"))
"""How many times as many launches are drawn."""
TOLERANCE = 1e-9


def permuted(kernel: Kernel, rng: random.Random) -> Kernel:
    """Return a kernel with its accesses in another order that means the same.

    A load between two stores to one buffer is made between them: only there the order counts.
    """
    stores = [a for a in kernel.accesses if a.kind != "load"]
    loads = [a for a in kernel.accesses if a.kind == "load"]
    rng.shuffle(stores)
    rng.shuffle(loads)
    every = rng.choice(([*loads, *stores], [*stores, *loads]))
    if len({a.buffer for a in stores}) == len(stores):
        rng.shuffle(every)
    return replace(kernel, accesses=tuple(every))


def numbers(found: Prediction) -> Iterator[tuple[str, float]]:
    yield "time", found.time_s
    yield from ((f"term {name}", value) for name, value in found.terms_s.items())
    yield from ((f"traffic {name}", value) for name, value in found.traffic.items())


def check(kernel: Kernel, rng: random.Random, options: dict[str, Any]) -> bool:
    """Hold a kernel's numbers against those of its permutation; False if it is refused."""
    try:
        stated = predict(kernel, **options)
    except PerfmodelError:
        return False
    other = permuted(kernel, rng)
    found = dict(numbers(predict(other, **options)))
    for name, value in numbers(stated):
        order = [kernel.accesses.index(a) for a in other.accesses]
        assert found[name] == pytest.approx(value, rel=TOLERANCE, abs=1e-30), (name, order, options)
    return True


@pytest.mark.parametrize(("name", "mapping"), [*EVERY, *((file, None) for file in FILES)])
def test_order_of_a_kernel_does_not_matter(name: str, mapping: str | None) -> None:
    # property: as the format of kernel files says
    kernel = find_kernel(name, mapping)
    if len(kernel.accesses) < 2:
        return
    rng = random.Random(f"{name} {mapping}")
    for n in range(TIMES):
        launch = drawn_of(name, mapping, rng)
        given = (
            {**launch.options, **launch.params} if n else {"cache": rng.choice(("cold", "warm"))}
        )
        if not check(kernel, rng, given):
            assert n, "the defaults are refused"


def made(rng: random.Random) -> dict[str, Any]:
    """Draw a kernel of a few loads, stores and additions, in loops that follow one another."""
    loops: list[str | None] = [None, "a", "b", "b"]
    accesses: list[dict[str, Any]] = []
    for n in range(rng.randint(3, 6)):
        loop = rng.choice(loops)
        kind = rng.choice(("load", "load", "load", "store", "atomic"))
        step = f" + {loop}*{rng.choice((1, 32, 256, 4096))}" if loop else ""
        index = f"blockIdx.x*{rng.choice((0, 256, 8192))} + threadIdx.x*{rng.choice((0, 1, 2, 8))}"
        place = f"({index}{step} + {rng.choice((0, 1, 16))}) % (1 << 20)"
        access = {kind: rng.choice(("x", "y", "z")), "name": f"n{n}", "index": place}
        if loop:
            access["loop"] = loop
        accesses.append(access)
    loads = [a for a in accesses if "load" in a and "loop" not in a]
    if len(loads) > 1 and rng.random() < 0.5:
        loads[-1]["needs"] = loads[0]["name"]
    return {
        "name": "made",
        "summary": "drawn",
        "parameters": {"rounds": {"default": rng.choice((2, 16, 64))}},
        "launch": {"grid": rng.choice((1, 132, 2000)), "block": 256},
        "buffers": {name: {"length": 1 << 20} for name in ("x", "y", "z")},
        "loops": [{"variable": name, "trips": "rounds"} for name in ("a", "b")],
        "accesses": accesses,
    }


def test_order_of_drawn_kernels_does_not_matter() -> None:
    # property: the same of kernels that nobody wrote
    rng, checked = random.Random(26), 0
    for _ in range(30 * TIMES):
        kernel = kernel_from_table(made(rng))
        checked += check(kernel, rng, {"cache": rng.choice(("cold", "warm"))})
    assert checked >= 15 * TIMES
