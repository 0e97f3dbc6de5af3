"""Branches that lanes take many ways, through a table and by comparisons:
dram/h200-sxm/scattered."""

from __future__ import annotations

import pytest
from measured import rows

from perfmodel.cuda.sass.branch_tables import TABLE_WORDS
from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.time.issue import CONSTANT_CLOCKS

FOLDER = root() / "dram/h200-sxm/scattered"
SCHEDULERS = 4


def test_each_way_of_a_table_takes_the_unit_of_constants() -> None:
    # regression: rows marked fit, clocks of an SM with 64 warps, which issue in far fewer
    clocks_a_word = CONSTANT_CLOCKS(load_device("h200-sxm"))
    for row in rows("ways", FOLDER, function="table_2", apart="lanes", warps=64):
        clocks = row["sm_cycles_active"] / row["rounds"] / row["warps"]
        predicted = row["ways"] * clocks_a_word * (1 + TABLE_WORDS)
        assert clocks == pytest.approx(predicted, rel=0.2 if row["ways"] > 1 else 0.3)
        assert row["instructions"] / 132 / row["rounds"] / row["warps"] / SCHEDULERS < clocks / 1.7


def test_comparisons_that_become_no_table_take_no_such_unit() -> None:
    # measured: the same ways by comparisons take what they issue, and a quarter more
    for row in rows("ways", FOLDER, function="chain_2", apart="lanes", warps=64):
        issued = row["instructions"] / 132 / row["rounds"] / row["warps"] / SCHEDULERS
        clocks = row["sm_cycles_active"] / row["rounds"] / row["warps"]
        assert issued < clocks < 1.35 * issued
