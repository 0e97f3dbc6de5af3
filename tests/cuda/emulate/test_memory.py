"""What buffers hold, and requests, when they come again: against those that come once."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from perfmodel.cuda.emulate.counts import Counter
from perfmodel.cuda.emulate.memory import Memory, Region, generated
from perfmodel.cuda.emulate.reuse import Touches

WORD = np.dtype(np.uint32)


def test_numbers_that_are_read_again_are_the_same() -> None:
    region = Region("in", 1 << 20, below=1000)
    first = np.arange(0, 400, 4)
    # The same length and ends, and other places in between.
    other = first.copy()
    other[1:-1] += 400
    fresh = {}
    for offset in (first, other, first, other):
        fresh[offset[1]] = Region("in", 1 << 20, below=1000).load(offset, 4, "u32")
        assert region.load(offset, 4, "u32").tolist() == fresh[offset[1]].tolist()
    assert region.largest == max(int(held.max()) for held in fresh.values())
    # As another type they are other numbers.
    assert region.load(first, 4, "f32").tolist() != fresh[first[1]].tolist()


def test_what_was_stored_is_read_in_place_of_what_was_kept() -> None:
    region = Region("in", 4096)
    offset = np.arange(0, 128, 4)
    before = region.load(offset, 4, "u32")
    region.store(offset[:3], 4, np.array([7, 8, 9], dtype=WORD))
    assert region.load(offset, 4, "u32").tolist() == [7, 8, 9, *before[3:].tolist()]


@pytest.mark.parametrize("which", [(0,), (1, 3), (0, 1, 2, 3)])
def test_numbers_in_a_row_are_those_one_by_one(which: tuple[int, ...]) -> None:
    lanes = np.arange(64)

    def memory() -> tuple[Memory, np.ndarray]:
        # The last lanes are put back inside; some are in another buffer, or in shared memory.
        found = Memory([Region("a", 800), Region("b", 4096)], 2048, 0, lanes // 32)
        found.shared[:] = np.arange(len(found.shared)) % 251
        at = Memory.base(0) + 16 * lanes
        at[5::7] += Memory.base(1) - Memory.base(0)
        at[3] = (1 << 20) + 48
        return found, at.astype(np.uint64)

    one, address = memory()
    found = one.in_a_row(address, lanes, 4, "u32", which)
    each, _ = memory()
    for row, i in zip(found, which, strict=True):
        assert row.tolist() == each.load(address + np.uint64(4 * i), lanes, 4, "u32").tolist()
    assert (one.reached, one.strayed) == (each.reached, each.strayed)
    assert [r.reach for r in one.regions] == [r.reach for r in each.regions]
    assert found[0][5] == generated_word(16 * 5 + 4 * which[0])


def generated_word(offset: int) -> int:
    """Return what buffer b holds, by the recipe alone."""
    other = zlib.crc32(b"b") << 8
    return int(generated(np.array([offset + 4 * other]), WORD, "u32")[0])


def test_requests_that_come_again_count_as_often() -> None:
    lanes = np.arange(64)
    first = (Memory.base(0) + 4 * lanes).astype(np.uint64)
    other = first.copy()
    other[1:-1] += np.uint64(32) * (np.arange(62, dtype=np.uint64) % np.uint64(5))
    whole = Counter(frozenset(), Touches({}, 32))
    for address in (first, other, first, first):
        whole.report(1, address, lanes, 4)
    parts = []
    for address in (first, other):
        alone = Counter(frozenset(), Touches({}, 32))
        alone.report(1, address, lanes.copy(), 4)
        parts.append(alone.counts[1])
    found = whole.counts[1]
    for name in ("requests", "lanes", "looked", "different", "sectors", "lines", "pairs", "data"):
        a, b = (getattr(part, name) for part in parts)
        assert getattr(found, name) == 3 * a + b, name
    # Other lanes at the same addresses are other requests.
    whole.report(1, first, lanes + 16, 4)
    assert found.requests == 3 * parts[0].requests + parts[1].requests + 3
