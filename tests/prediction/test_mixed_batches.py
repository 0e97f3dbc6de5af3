"""Launches of one call do not change each other: mixed batches equal predictions one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_launches import EVERY, around_defaults

from perfmodel.errors import PerfmodelError
from perfmodel.kernels.library import builtin
from perfmodel.prediction import predict, predict_many
from perfmodel.prediction.record import Prediction

CONFIGURATIONS = 3
_MANY = 32


def assert_alone_as_together(
    name: str, mapping: str | None, rows: list[dict[str, Any]], ones: list[Prediction]
) -> None:
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    many = predict_many(name, mapping=mapping, device="h200-sxm", **columns)
    for i, (row, one) in enumerate(zip(rows, ones, strict=True)):
        assert many.time_s[i] == pytest.approx(one.time_s, rel=1e-12), row
        for term in one.terms_s.keys() | many.terms_s.keys():
            together = many.terms_s[term][i] if term in many.terms_s else 0.0
            alone = one.terms_s.get(term, 0.0)
            assert together == pytest.approx(alone, rel=1e-12, abs=1e-18), (term, row)
        for key, value in one.traffic.items():
            assert many.traffic[key][i] == pytest.approx(value, rel=1e-12, abs=1e-6), (key, row)


@pytest.mark.parametrize(("name", "mapping"), EVERY)
def test_mixed_batches_equal_single_launches(name: str, mapping: str | None) -> None:
    # property: several parameters at once, tiles among them, that change who takes part
    kernel = builtin(name, mapping)
    generator = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    ones: list[Prediction] = []
    for _ in range(20 * CONFIGURATIONS):
        row = around_defaults(kernel, generator)
        try:
            ones.append(predict(kernel, device="h200-sxm", **row))
        except PerfmodelError:
            continue  # a combination that the kernel refuses
        rows.append(row)
        if len(rows) == CONFIGURATIONS:
            break
    assert len(rows) > 1
    assert_alone_as_together(name, mapping, rows, ones)


def test_tiles_side_by_side() -> None:
    # property: half of the threads load A's tile of the second, all of them that of the first
    sizes = {"M": 4096, "N": 4096, "K": 4096}
    tiles = [{"BM": 64, "BN": 64, "BK": 8, "TM": 8}, {"BM": 32, "BN": 64, "BK": 8, "TM": 4}]
    rows = [sizes | tile for tile in tiles]
    ones = [predict("gemm", mapping="blocktile-1d", device="h200-sxm", **row) for row in rows]
    assert_alone_as_together("gemm", "blocktile-1d", rows, ones)


@pytest.mark.parametrize("name", ["gather", "embedding"])
def test_many_random_rows_equal_single_launches(name: str) -> None:
    # property: rows of several lengths are several forms, each of several launches
    generator = np.random.default_rng(5)
    rows: list[dict[str, Any]] = []
    while len(rows) < _MANY:
        row = around_defaults(builtin(name, None), generator)
        if row.get("run", 1) * 4 <= row["table_bytes"] and row not in rows:
            rows.append(row)
    ones = [predict(name, device="h200-sxm", **row) for row in rows]
    assert_alone_as_together(name, None, rows, ones)


def test_a_loop_of_one_turn_changes_nothing_beside_one_of_several() -> None:
    # independent: the launch alone; one row of blocks, whose loads L1 holds in part
    one = {"N": 6210, "M": 32, "K": 2151}
    both = {"N": np.array([6210, 2795]), "M": np.array([32, 2840]), "K": np.array([2151, 565])}
    alone = predict("gemm", mapping="blocktile-2d", **one)
    found = predict_many("gemm", mapping="blocktile-2d", **both)
    assert found.time_s[0] == pytest.approx(alone.time_s, rel=1e-12)
    assert found.traffic["l2_read_sectors"][0] == alone.traffic["l2_read_sectors"]


def test_windows_that_lengthen_nothing_change_nothing_beside_others_that_do() -> None:
    # independent: the launch alone; the grid's first axis is as wide as what runs at a time, and
    # with the partial sums of the second loop L2 is too small
    one = {"M": 5180, "N": 5148, "K": 6867, "BM": 80, "BN": 192, "split_k": 3}
    other = {"M": 23094, "N": 1035, "K": 10518, "BM": 32, "BN": 64, "split_k": 24}
    alone = predict("gemm", mapping="tensor-core", **one)
    found = predict_many("gemm", mapping="tensor-core", **{n: [one[n], other[n]] for n in one})
    assert found.time_s[0] == pytest.approx(alone.time_s, rel=1e-12)
    assert found.traffic["dram_read_bytes"][0] == alone.traffic["dram_read_bytes"]
