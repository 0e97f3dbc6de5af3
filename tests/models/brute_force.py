"""Threads counted one by one: the dumb second implementation that closed forms are held against.

Plain Python integers and sets; nothing of the package's arithmetic is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from perfmodel.kernels.instance import Instance, bind
from perfmodel.kernels.tables import kernel_from_table

AXES = "xyz"


@dataclass(frozen=True)
class Case:
    """A launch with one access whose index is ``offset + sum(coefficient * variable)``.

    `limits` maps an axis to the bound of ``blockIdx*blockDim + threadIdx`` along it.
    """

    block: tuple[int, int, int]
    grid: tuple[int, int, int] = (1, 1, 1)
    trips: tuple[int, ...] = ()
    offset: int = 0
    coefficients: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    element: int = 4
    vector: int = 1

    def instance(self) -> Instance:
        """Return it as the package states it."""
        # The offset and the trips are parameters, so that they reach the models as values.
        index = " + ".join(["offset", *(f"({c})*{v}" for v, c in self.coefficients.items())])
        guards = [
            f"blockIdx.{a}*blockDim.{a} + threadIdx.{a} < {n}" for a, n in self.limits.items()
        ]
        loops = [
            {"variable": f"k{i}", "trips": trips} | ({"parent": f"k{i - 1}"} if i else {})
            for i, trips in enumerate(self.trips)
        ]
        access: dict[str, Any] = {"load": "x", "index": index, "vector": self.vector}
        table: dict[str, Any] = {
            "name": "case",
            "parameters": {"offset": {"minimum": 0}},
            "launch": {"grid": list(self.grid), "block": list(self.block)},
            "buffers": {"x": {"length": 2**40, "element_bytes": self.element}},
            "loops": loops,
            "accesses": [access | ({"loop": f"k{len(loops) - 1}"} if loops else {})],
        }
        if guards:
            table["guard"] = " and ".join(guards)
        return bind(kernel_from_table(table), {"offset": self.offset})

    def pieces(self) -> tuple[int, int]:
        """Return accesses an element, and bytes of each: one vector, or powers of two."""
        moved = self.element * self.vector
        width = next(w for w in (16, 8, 4, 2, 1) if moved % w == 0)
        return moved // width, width


def threads(block: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (x, y, z) of every thread of a block, x fastest."""
    for z, y, x in product(range(block[2]), range(block[1]), range(block[0])):
        yield x, y, z


def warps(block: Sequence[int]) -> list[list[tuple[int, int, int]]]:
    """Return the threads of a block, 32 to a warp."""
    every = list(threads(block))
    return [every[i : i + 32] for i in range(0, len(every), 32)]


def requests(case: Case) -> Iterator[list[int]]:
    """Yield the byte addresses of the lanes that take part, for every request that has any."""
    pieces, width = case.pieces()
    c = case.coefficients
    for z, y, x in product(*(range(n) for n in reversed(case.grid))):
        home = (x, y, z)
        for warp in warps(case.block):
            lanes = [
                t
                for t in warp
                if all(
                    home[a] * case.block[a] + t[a] < case.limits.get(AXES[a], 2**62)
                    for a in range(3)
                )
            ]
            if not lanes:
                continue
            for ks in product(*(range(n) for n in case.trips)):
                base = case.offset + sum(c.get(f"k{i}", 0) * k for i, k in enumerate(ks))
                base += sum(c.get(f"blockIdx.{a}", 0) * home[i] for i, a in enumerate(AXES))
                places = [
                    base + sum(c.get(f"threadIdx.{a}", 0) * t[i] for i, a in enumerate(AXES))
                    for t in lanes
                ]
                for piece in range(pieces):
                    yield [place * case.element + piece * width for place in places]


def granules(addresses: Sequence[int], granule: int) -> int:
    """Return the distinct granules of naturally aligned accesses."""
    return len({address // granule for address in addresses})


def totals(case: Case) -> dict[str, int]:
    """Return requests, sectors, lines and active lanes of the launch."""
    found = list(requests(case))
    return {
        "requests": len(found),
        "sectors": sum(granules(r, 32) for r in found),
        "lines": sum(granules(r, 128) for r in found),
        "active_lanes": sum(len(r) for r in found),
    }
