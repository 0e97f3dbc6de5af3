"""Traces by hand against slow second implementations."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.drills.lookup import find
from perfmodel.drills.sources import Expression, Lru, Warp
from perfmodel.expressions import Number, evaluate, parse


def expression(text: str | int | float) -> Expression:
    node = parse(text) if isinstance(text, str) else Number(text)
    return Expression(str(text), node)


def value(found: Expression) -> float | int:
    result = evaluate(found.node, {})
    assert isinstance(result, int | float)
    return result


@settings(deadline=None, max_examples=60)
@given(
    stride=st.integers(0, 300),
    offset=st.integers(0, 300),
    lanes=st.integers(1, 64),
    width=st.sampled_from([1, 2, 4, 8, 16]),
    granule=st.sampled_from([16, 32, 128]),
    bend=st.integers(0, 3),
)
def test_a_warp_touches_what_a_set_of_granules_holds(
    stride: int, offset: int, lanes: int, width: int, granule: int, bend: int
) -> None:
    # independent: every byte's granule in a Python set
    addresses = [width * (offset + stride * i + bend * i * i) for i in range(lanes)]
    touched = {(a + b) // granule for a in addresses for b in range(width)}
    source = Warp(
        address=expression(f"{width}*({offset} + {stride}*lane + {bend}*lane*lane)"),
        lanes=expression(lanes),
        bytes=expression(width),
        granule=expression(granule),
        read="granules",
    )
    assert find(source, value, "", Path()).value == len(touched)


@settings(deadline=None, max_examples=40)
@given(
    capacity=st.integers(1, 40),
    window=st.integers(1, 60),
    eighths=st.integers(0, 8),
    passes=st.integers(1, 4),
)
def test_passes_hit_what_a_queue_holds(
    capacity: int, window: int, eighths: int, passes: int
) -> None:
    # independent: an ordered dictionary, oldest first
    picked = [i for i in range(window) if (i + 1) * eighths // 8 > i * eighths // 8]
    queue: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for _ in range(passes):
        hits = 0
        for line in picked:
            if line in queue:
                hits += 1
                queue.move_to_end(line)
                continue
            queue[line] = None
            if len(queue) > capacity:
                queue.popitem(last=False)
    for read, expected in (("hits", hits), ("misses", window - hits), ("held", len(queue))):
        source = Lru(
            capacity=expression(capacity),
            window=expression(window),
            picked=expression(eighths / 8),
            passes=expression(passes),
            read=read,
        )
        assert find(source, value, "", Path()).value == expected
