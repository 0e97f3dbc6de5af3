"""Coalesced layouts: data laid out so that lanes of a warp touch neighbouring elements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfmodel.expressions import Name, Node, Number, substitute
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.remaps import WASTE
from perfmodel.prediction.rewrites import element_of, kernel_of, plain_index
from perfmodel.traffic import AccessTraffic


def coalescing(base: Prediction) -> Iterator[Change]:
    """Yield the uncoalesced accesses of each buffer as they would be with neighbouring lanes.

    An unrolled loop accesses a buffer in many places: moving one of them would not help.
    """
    kernel = kernel_of(base)
    far: dict[tuple[str, str], list[tuple[Access, AccessTraffic, int]]] = defaultdict(list)
    for access, found, request in zip(
        (a for a in kernel.accesses if kernel.buffer(a.buffer).space != "shared"),
        base.details.traffic.accesses,
        base.details.requests,
        strict=True,
    ):
        sectors, wanted = float(np.max(found.sectors)), float(np.max(found.wanted_bytes))
        if access.kind == "atomic" or request.strides is None or not wanted:
            continue
        if sectors * SECTOR <= WASTE * max(wanted, SECTOR * float(np.max(found.requests))):
            continue
        stride = float(np.max(request.strides.get("lane.x", 0.0)))
        apart = round(stride / element_of(base, access.buffer))
        far[access.buffer, access.kind].append((access, found, apart))
    for (buffer, kind), group in far.items():
        dense = {
            id(access): replace(access, index=_neighbours(access, kernel, apart))
            for access, _, apart in group
        }
        wanted = sum(float(np.max(found.wanted_bytes)) for _, found, _ in group)
        share = sum(float(np.max(found.sectors)) for _, found, _ in group) * SECTOR / wanted
        yield changed(
            base,
            "coalescing",
            f"lay {buffer!r} out so that lanes of a warp {kind} neighbouring elements ({share:.1f} "
            "times the wanted bytes now): at best",
            cuda=_lines(group[0][0], group[0][2], len(group) - 1),
            kernel=replace(kernel, accesses=tuple(dense.get(id(a), a) for a in kernel.accesses)),
        )


def _neighbours(access: Access, kernel: Kernel, apart: int) -> Node:
    """Return an index whose lanes are neighbours.

    Elements between those of two lanes, `apart`, are other accesses' or iterations': each of them
    gets a row of neighbours in the same place.
    """
    thread = Name("threadIdx.x")
    lane = thread % 32
    start = substitute(expanded(kernel, access.index), {"threadIdx.x": thread - lane})
    first = start
    if apart > 1:
        first = start + Number(31) * (start % apart)
    return first + (lane if access.vector == Number(1) else lane * access.vector)


def _lines(access: Access, row: int, others: int) -> tuple[str, ...]:
    """Return an access to data whose rows lie column by column, 32 at a time, a warp's together.

    Nothing where no rows are told apart. `row` elements are from one lane's to the next's, and so
    many `others` accesses to the buffer move alike.
    """
    if row < 2 or not isinstance(access.vector, Number):
        return ()
    index = plain_index(access.index)
    alike = f", and {others} more alike" if others else ""
    vector = int(access.vector.value)
    place = (
        f"{access.buffer}[now / {32 * row} * {32 * row} + now % {row} * 32 + now / {row} % 32"
        f"{f' * {vector}' if vector > 1 else ''}]"
    )
    return (
        # Such a comment may be broken between words, as a report of some width does.
        f"/* 32 rows of {row} elements at a time, stored column by column; {access.buffer}[now] "
        f"until then{alike}: */",
        f"const auto now = {index};" if index else "/* now: its index as it is */",
        f"const auto element = {place};" if access.kind == "load" else f"{place} = element;",
    )
