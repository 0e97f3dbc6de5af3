"""Layouts of shared memory without bank conflicts: padded rows, and rows swizzled by XOR.

Lanes that walk down a column of a tile, or that lie a power of two apart, meet in a few banks.
Some elements left out after each row move every row on by as many banks; an XOR of the column with
the row's number does the same without more memory.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.expressions import Node, Number
from perfmodel.kernels import Access, Kernel
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.requests.wavefronts import BANK_WORD, BANKS
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.rewrites import element_of, element_type, kernel_of
from perfmodel.records import record

CONFLICT: Final = 1.15
"""Clocks of the banks over those that the lanes' data needs, from which a layout is worth a try."""
_ROW: Final = BANKS * BANK_WORD
"""Bytes that all banks give in a clock."""


@record
class Layout:
    """A shared array laid out otherwise."""

    buffer: str
    row: int  # elements of a row
    pad: int = 0  # elements left out after each row; 0 for a swizzle
    # Of a swizzle: elements that stay together, and rows after which it starts again.
    unit: int = 1
    period: int = 1

    def index(self, index: Node) -> Node:
        """Return where element `index` lies."""
        line = index // self.row
        if self.pad:
            return index + line * self.pad
        return index ^ (line % self.period * self.unit)

    def cuda(self, length: int, element: int) -> tuple[str, ...]:
        """Return the lines to write, for `length` elements of `element` bytes."""
        name, kind = self.buffer, element_type(element)
        rows = -(-length // self.row)
        padded = f"i + i / {self.row} * {self.pad}"
        if self.pad:
            return (
                f"__shared__ {kind} {name}[{rows}][{self.row} + {self.pad}];  /* element i is "
                f"{name}[i / {self.row}][i % {self.row}] */",
                f"/* or, of one dimension: {name}[{padded}] for {name}[i] */",
            )
        unit = f" * {self.unit}" if self.unit > 1 else ""
        return (
            f"/* in every load and store, for {name}[i]: */",
            f"{name}[i ^ (i / {self.row} % {self.period}{unit})]",
        )


def conflict(r: Requests) -> float:
    """Return the clocks that requests hold the banks over those that their data needs."""
    requests = float(np.max(r.requests))
    if requests <= 0:
        return 1.0
    needed = max(1.0, float(np.max(r.wanted_bytes)) / requests / _ROW)
    return float(np.max(r.data_wavefronts)) / requests / needed


def banks(base: Prediction) -> Iterator[Change]:
    """Yield the launch with the rows of conflicting shared arrays padded, or swizzled."""
    for layout, kernel in layouts(base):
        name = layout.buffer
        length = int(np.max(base.details.instance.lengths[name]))
        worst = max(conflict(r) for r in base.details.on_chip if r.access.buffer == name)
        how = (
            f"leave {layout.pad} element{'s' * (layout.pad > 1)} out after each row of {layout.row}"
            if layout.pad
            else f"XOR the column with the row's number, in rows of {layout.row}"
        )
        yield changed(
            base,
            "padding" if layout.pad else "swizzle",
            f"lay shared {name!r} out so that lanes spread over the banks ({worst:.1f} times the "
            f"clocks of its data now): {how}",
            cuda=layout.cuda(length, element_of(base, name)),
            kernel=kernel,
        )


def layouts(base: Prediction) -> Iterator[tuple[Layout, Kernel]]:
    """Yield layouts of the shared arrays whose accesses conflict, and the kernel with each."""
    kernel = kernel_of(base)
    for name in dict.fromkeys(r.access.buffer for r in base.details.on_chip):
        own = [r for r in base.details.on_chip if r.access.buffer == name]
        if any(r.access.counted is not None or r.access.kind == "atomic" for r in own):
            continue
        bad = [r for r in own if conflict(r) >= CONFLICT]
        element = element_of(base, name)
        unit = max(BANK_WORD, *(r.width for r in own)) // element
        rows = dict.fromkeys(row for r in bad for row in _rows(r, element, unit))
        for row in rows:
            for pad in (unit, 2 * unit, 4 * unit):
                yield _laid_out(kernel, Layout(name, row, pad=pad))
            period = min(row, _ROW // element) // unit
            if row & (row - 1) == 0 and unit & (unit - 1) == 0 and period > 1:
                yield _laid_out(kernel, Layout(name, row, unit=unit, period=period))


def _rows(r: Requests, element: int, unit: int) -> Iterator[int]:
    """Yield row lengths that could tell conflicting lanes apart: their distances, or all banks."""
    distances = [] if r.strides is None else [
        abs(float(np.max(r.strides[v.name]))) for v, _ in r.lanes
    ]  # fmt: skip
    for length in (*distances, float(_ROW)):
        row = int(length) // element
        if row >= 2 * unit and row % unit == 0:
            yield row


def _laid_out(kernel: Kernel, layout: Layout) -> tuple[Layout, Kernel]:
    buffer = kernel.buffer(layout.buffer)
    more: Node = Number(0)
    if layout.pad:
        more = (buffer.length + (layout.row - 1)) // layout.row * layout.pad
    elif layout.period > 1:
        # A swizzle moves elements within whole rows.
        more = (Number(0) - buffer.length) % layout.row
    longer = replace(buffer, length=buffer.length + more)
    taken = kernel.launch.shared_bytes + more * buffer.element_bytes

    def moved(access: Access) -> Access:
        same = access.buffer != layout.buffer
        return access if same else replace(access, index=layout.index(access.index))

    return layout, replace(
        kernel,
        buffers=tuple(longer if b is buffer else b for b in kernel.buffers),
        accesses=tuple(moved(a) for a in kernel.accesses),
        launch=replace(kernel.launch, shared_bytes=taken),
    )
