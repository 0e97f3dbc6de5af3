"""Traces by hand: what a warp touches, what a small cache keeps, tables over a variable."""

from typing import Any, Final

import numpy as np

from perfmodel.drills.sources import Expression, Found, Lru, Trace, Value, Warp, whole
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number, substitute
from perfmodel.models.requests.coalescing import row_granules

MOST_LANES: Final = 1024
MOST_LINES: Final = 1 << 12
"""Lines that a traced window or set-aside has at most."""


def warp_request(source: Warp, number: Value) -> Found:
    """Return what one request of a warp touches or moves."""
    lanes, wide, granule = (whole(number(e)) for e in (source.lanes, source.bytes, source.granule))
    if not 1 <= lanes <= MOST_LANES or not 1 <= wide <= granule or granule > 1 << 20:
        raise PerfmodelError(
            f"a warp needs 1 to {MOST_LANES} lanes and granules of at least its bytes, "
            f"not {lanes} lanes of {wide} bytes in granules of {granule}"
        )
    each = [whole(number(_with(source.address, "lane", lane))) for lane in range(lanes)]
    address = np.array(each, dtype=np.int64)
    granules = _granules(address, wide, granule)
    wanted = len(np.unique(address)) * wide
    reads = {
        "granules": Found(granules),
        "moved_bytes": Found(granules * granule, "B"),
        "wanted_bytes": Found(wanted, "B"),
        "efficiency": Found(wanted / (granules * granule), "%"),
    }
    first = ", ".join(str(int(a)) for a in address[:3])
    rest = f" ... {int(address[-1])}" if lanes > 3 else ""
    found = reads[source.read]
    return Found(found.value, found.unit, f"lanes at bytes {first}{rest}, {granule} B a granule")


def lru_passes(source: Lru, number: Value) -> Found:
    """Return what passes over a window hit in a least-recently-used set-aside."""
    capacity, window, passes = (
        whole(number(e)) for e in (source.capacity, source.window, source.passes)
    )
    picked = float(number(source.picked))
    if not (1 <= capacity <= MOST_LINES and 1 <= window <= MOST_LINES and 1 <= passes <= 16):
        raise PerfmodelError(
            f"a trace takes 1 to {MOST_LINES} lines and 1 to 16 passes, not a window of {window} "
            f"lines in {capacity}, {passes} times"
        )
    if not 0 <= picked <= 1:
        raise PerfmodelError(f"picked must be from 0 to 1, not {picked}")
    hits, held = _lru(capacity, window, picked, passes)
    times = "one pass" if passes == 1 else f"{passes} passes"
    found: dict[str, float | int] = {
        "hits": hits,
        "misses": window - hits,
        "hit_share": hits / window,
        "held": held,
    }
    return Found(
        found[source.read],
        "%" if source.read == "hit_share" else "lines",
        f"{times} over {window} lines traced through a cache of {capacity}, least recently used "
        "out first",
    )


def table(source: Trace, number: Value) -> Found:
    """Return the rows of a trace."""
    head = (source.variable, *(heading for heading, _ in source.columns))
    rows = [
        (
            str(value),
            *(f"{number(_with(e, source.variable, value)):.6g}" for _, e in source.columns),
        )
        for value in source.values
    ]
    return Found("", rows=(head, *rows))


def _with(expression: Expression, variable: str, value: int) -> Expression:
    return Expression(expression.text, substitute(expression.node, {variable: Number(value)}))


def _granules(address: Any, wide: int, granule: int) -> int:
    """Return the distinct granules: by the closed form of evenly spaced lanes, else counted."""
    steps = np.diff(address)
    if address.min() < 0:
        raise PerfmodelError(f"a lane's address is negative: {int(address.min())}")
    if np.any(address % wide):
        raise PerfmodelError(f"addresses must be multiples of the {wide} bytes that a lane wants")
    if granule % wide:
        raise PerfmodelError(f"a granule of {granule} bytes must hold whole lanes of {wide}")
    if len(steps) == 0 or (np.all(steps == steps[0]) and steps[0] >= 0):
        stride = int(steps[0]) if len(steps) else 0
        offset = int(address[0]) % granule
        return round(float(row_granules(len(address), stride, offset, granule, granule)))
    return len(np.unique(address // granule))


def _lru(capacity: int, window: int, picked: float, passes: int) -> tuple[int, int]:
    """Return the hits of the last pass, and the lines held at its end."""
    from perfmodel.trace.cache import NORMAL, READ, CacheShape, Touches, access, empty

    lines = np.arange(window)
    persisting = lines[np.floor((lines + 1) * picked) > np.floor(lines * picked)]
    shape = CacheShape(sets=1, ways=capacity)
    state = empty(shape)
    n = len(persisting)
    hits = 0
    for turn in range(passes):
        outcome = access(
            shape,
            state,
            Touches(
                row=np.zeros(n, np.int64),
                line=persisting.astype(np.int64),
                sectors=np.full(n, 0b1111, np.uint8),
                words=np.zeros(n, np.uint32),
                kind=np.full(n, READ, np.uint8),
                rank=np.full(n, NORMAL, np.uint8),
                stamp=np.arange(turn * n, (turn + 1) * n, dtype=np.int64),
            ),
            engine="numpy" if n * capacity < 1 << 16 else "auto",
        )
        hits = int(np.count_nonzero(outcome.hit))
    return hits, int(np.count_nonzero(state.line >= 0))
