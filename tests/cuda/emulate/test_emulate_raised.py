"""Words that few lanes still raise: how many do, and which buffers hold such words."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import launch, written

from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.emulate.run import RAISING, UNDER_WAY, emulate
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.expressions import names
from perfmodel.models.requests.sampled_places import distinct_places

PLACE = """
    ld.param.u64 %d1, [out]; mov.u32 %r30, %tid.x; mov.u32 %r29, %ctaid.x; mov.u32 %r28, %ntid.x;
    mad.lo.s32 %r30, %r29, %r28, %r30; and.b32 %r1, %r30, 4095;
    mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; mul.lo.s32 %r2, %r30, -1640531527;
    shr.u32 %r3, %r2, 15; xor.b32 %r2, %r2, %r3; mul.lo.s32 %r2, %r2, -2048144789;
    shr.u32 %r2, %r2, 1; ld.global.u32 %r4, [%d1]; setp.gt.s32 %p1, %r2, %r4;
"""
WORDS = 4096
ROOT = Path(__file__).parents[3]


def ran(body: str, blocks: int) -> Emulation:
    module = written(PLACE + body)
    kernel = module.kernels[0]
    buffer = Buffer(4 * WORDS, dtype="u32", fill="zeros")
    prepared = emulated_launch(bound(launch(blocks, 256, out=buffer), kernel), kernel)
    return emulate(module, kernel, prepared)


def changes(found: Emulation) -> float:
    """Atomics of the launch."""
    return list(found.counts.values())[-1].lanes * found.scale


def test_formula_explains_its_symbols() -> None:
    assert names(RAISING.node) == RAISING.symbols.keys()


@pytest.mark.parametrize("each", [0.3, 1, 2, 10, 500])
def test_lanes_in_random_order_raise_a_harmonic_number_of_times(each: float) -> None:
    # independent: the k-th of values in random order is the largest so far with probability 1/k,
    # and of words at random each is looked at by a Poisson number of lanes
    expected, harmonic, likely = 0.0, 0.0, np.exp(-each)
    for k in range(1, 1000):
        likely *= each / k
        harmonic += 1 / k
        expected += likely * harmonic
    assert float(RAISING(each=each, once=0.0)) * each == pytest.approx(expected, rel=0.03)
    assert float(RAISING(each=each, once=1.0)) * each == pytest.approx(1 - np.exp(-each), rel=1e-4)


def test_words_at_random_as_counted() -> None:
    # measured on an H200: `highest` and `claimed` of raised.csv; only UNDER_WAY is fitted
    with (ROOT / "measurements" / "atomics/h200-sxm/lookups" / "raised.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["pattern"] == "random"]
    for r in rows:
        n, words = int(r["n"]), int(r["addresses"])
        first = UNDER_WAY / n
        each = n * (1 - first) / words
        once = float(r["kernel"] == "claimed")
        share = first + (1 - first) * float(RAISING(each=each, once=once))
        if r["kernel"] in ("highest", "lowest", "claimed"):
            assert share * n == pytest.approx(float(r["atomic_sectors"]), rel=0.25)


def test_distinct_places_are_as_many_as_lanes_were_drawn_from() -> None:
    # property: of w words, n lanes at random meet w*(1 - (1 - 1/w)**n)
    for words, lanes in ((1000, 700), (4096, 16384), (10**6, 16384)):
        met = words * (1 - (1 - 1 / words) ** lanes)
        assert distinct_places(lanes, round(met), 10**9) == pytest.approx(words, rel=0.05)
    assert distinct_places(512, 512, 2048) == 2048


@pytest.mark.parametrize("blocks", [2048, 16384])
def test_guarded_maxima_change_few_words(blocks: int) -> None:
    # independent: in the order of the launch, those under way together find what was there before
    each = blocks * 256 // WORDS
    together = UNDER_WAY // WORDS
    values = np.random.default_rng(3).random((WORDS, each))
    largest = np.maximum.accumulate(values, axis=1)[:, : each - together]
    expected = WORDS * together + (values[:, together:] > largest).sum()
    found = ran("@%p1 red.global.max.s32 [%d1], %r2; ret;", blocks)
    assert changes(found) == pytest.approx(float(expected), rel=0.1)
    assert "taken to find out as it was at first" in found.notes[0]


@pytest.mark.parametrize(
    "body",
    [
        # property: nobody's value stays where another store, or an exchange, changes the word
        "@%p1 red.global.max.s32 [%d1], %r2; st.global.u32 [%d1], 0; ret;",
        "@%p1 atom.global.exch.b32 %r5, [%d1], %r2; ret;",
        "@%p1 red.global.add.s32 [%d1], 1; ret;",
    ],
)
def test_words_that_are_not_raised_stay_as_at_first(body: str) -> None:
    assert not any("as it was at first" in note for note in ran(body, 16384).notes)


def test_few_blocks_all_come_first() -> None:
    found = ran("@%p1 red.global.max.s32 [%d1], %r2; ret;", 700)
    assert changes(found) == pytest.approx(700 * 256, rel=0.01)


def test_unguarded_maxima_are_all_done() -> None:
    # by hand: one of each thread, 256 in a block
    found: Any = ran("red.global.max.s32 [%d1], %r2; ret;", 16384)
    assert changes(found) == 16384 * 256


PROBES = """
    ld.param.u64 %d1, [out]; mov.u32 %r30, %tid.x; mov.u32 %r29, %ctaid.x; mov.u32 %r28, %ntid.x;
    mad.lo.s32 %r30, %r29, %r28, %r30; mul.lo.s32 %r2, %r30, -1640531527;
    shr.u32 %r3, %r2, 15; xor.b32 %r2, %r2, %r3; mul.lo.s32 %r2, %r2, -2048144789;
    shr.u32 %r2, %r2, 8; rem.u32 %r2, %r2, 100000; add.u32 %r2, %r2, 1;
    mul.lo.s32 %r6, %r2, -1640531527; shr.u32 %r6, %r6, 14;
again:
    mul.wide.u32 %d2, %r6, 4; add.s64 %d2, %d1, %d2; ld.global.u32 %r4, [%d2];
    setp.eq.u32 %p1, %r4, %r2; @%p1 bra done;
    setp.ne.u32 %p1, %r4, 0; @%p1 bra next;
    atom.global.cas.b32 %r5, [%d2], 0, %r2;
    setp.eq.u32 %p1, %r5, 0; @%p1 bra done;
    setp.eq.u32 %p1, %r5, %r2; @%p1 bra done;
next:
    add.u32 %r6, %r6, 1; and.b32 %r6, %r6, 262143; bra again;
done:
    ret;
"""


def test_keys_that_many_lanes_share_are_put_into_a_table_once() -> None:
    # limits: each of 100,000 keys is put in by somebody, and those under way at first try as well
    module = written(PROBES, ".param .u64 out")
    kernel = module.kernels[0]
    spec = launch(16384, 256, out=Buffer(1 << 20, "u32", "zeros"))
    found = emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel))
    (tries,) = (c for at, c in found.counts.items() if kernel.instructions[at].opcode == "atom")
    assert 1e5 < tries.lanes * found.scale < 1.2 * (1e5 + UNDER_WAY)
