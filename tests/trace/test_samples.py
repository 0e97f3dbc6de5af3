"""Samples of launches, and of sets of L2, against whole runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
from launches import H200, MIB, bound, launched, working_set

from perfmodel.trace.counts import Simulation
from perfmodel.trace.simulate import Simulator


@lru_cache
def whole_run(name: str, mapping: str | None = None, **params: int) -> Simulation:
    """Simulate all of a built-in kernel's launch, which samples are held against."""
    return launched(bound(name, mapping, **params))


@pytest.mark.parametrize(
    ("name", "mapping", "params", "share"),
    [
        ("copy", None, {"bytes": 512 * MIB}, 0.25),
        ("strided-copy", None, {"n": 1 << 24, "stride": 8}, 0.35),
        ("gemm", "coalesced", {"M": 4096, "N": 2048, "K": 16}, 0.1),
    ],
)
def test_samples_come_near_whole_runs(
    name: str, mapping: str | None, params: Any, share: float
) -> None:
    # property: the error that is stated covers what is missed
    instance = bound(name, mapping, **params)
    whole, part = whole_run(name, mapping, **params), launched(instance, share=share)
    assert part.sampled < (0.7 if name == "gemm" else 1.5 * share)
    assert part.error is not None
    # the product stores too little to fill L2: how much stays there is not known, and it says so
    assert (part.error > 0.3) == (name == "gemm")
    for field in ("requests", "sectors"):
        assert part.total(field) == pytest.approx(whole.total(field), rel=0.005)
    stated = max(part.error, 0.01)
    assert part.total("l2_sectors") == pytest.approx(whole.total("l2_sectors"), rel=stated)
    moved, expected = (r.dram_read_bytes + r.dram_write_bytes for r in (part, whole))
    assert moved == pytest.approx(expected, rel=stated)


@pytest.mark.parametrize(("bytes_", "iterations"), [(4 * MIB, 64), (64 * MIB, 24)])
def test_iterations_are_sampled_where_waves_are_few(bytes_: int, iterations: int) -> None:
    # property: one wave; a set that stays in L2, and one that does not
    instance = bound(working_set("load"), bytes=bytes_, iterations=iterations)
    whole, part = launched(instance), launched(instance, share=0.15)
    assert part.sampled < 0.9
    assert part.total("l2_sectors") == pytest.approx(whole.total("l2_sectors"), rel=0.01)
    assert part.dram_read_bytes == pytest.approx(whole.dram_read_bytes, rel=0.05)


@pytest.mark.parametrize("sets", [4, 16])
@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("copy", {"bytes": 96 * MIB}),
        ("strided-copy", {"n": 1 << 22, "stride": 8}),
        ("data-reset", {"in_bytes": 16 * MIB, "out_bytes": 128 * MIB}),
        (working_set("load"), {"bytes": 48 * MIB, "iterations": 3}),
        (working_set("store"), {"bytes": 40 * MIB, "iterations": 3}),
    ],
)
def test_some_sets_stand_for_all(kernel: Any, params: Any, sets: int) -> None:
    # property: the error that is stated covers what is missed, beside and near capacity
    instance = bound(kernel, **params)
    whole, part = launched(instance), launched(instance, Simulator(H200, sets=sets))
    assert (part.sampled, part.sets) == (1, 1 / sets)
    assert part.error is not None
    assert part.error < 0.03
    for field in ("requests", "sectors", "l1_hit_sectors", "l2_sectors"):
        assert part.total(field) == whole.total(field)
    moved, expected = (r.dram_read_bytes + r.dram_write_bytes for r in (part, whole))
    assert moved == pytest.approx(expected, rel=max(part.error, 0.001))
    assert sum(part.series["l2_hits"]) == pytest.approx(
        sum(whole.series["l2_hits"]), rel=0.01, abs=part.error * whole.total("l2_sectors")
    )
