"""What accesses cost that no thread of a warp makes, as measured; and what is predicted of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "measurements"


def rows() -> dict[str, dict[str, str]]:
    with (ROOT / "instructions/h200-sxm/predicates" / "predicates.csv").open(newline="") as file:
        return {row["point"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("access", ["lds", "sts", "both"])
def test_masked_accesses_pass_through_l1_as_others_do(access: str) -> None:
    found = rows()
    none, every = (found[f"masked {access} threads={n}"] for n in (0, 1024))
    for column in ("lsu_instructions", "l1_data_wavefronts"):
        assert float(none[column]) == float(every[column])
    assert float(none["sm_cycles_active"]) == pytest.approx(
        float(every["sm_cycles_active"]), rel=0.01
    )
    # one a clock, and nothing else is in the way
    clocks = float(none["sm_cycles_active"]) * 132
    assert clocks == pytest.approx(float(none["l1_data_wavefronts"]), rel=0.04)


@pytest.mark.parametrize("access", ["ldg", "stg"])
def test_so_do_those_to_global_memory(access: str) -> None:
    found = rows()[f"masked {access} threads=0"]
    clocks = float(found["sm_cycles_active"]) * 132
    assert clocks == pytest.approx(float(found["l1_data_wavefronts"]), rel=0.04)
    # asks nobody for anything
    assert float(found["l2_all_from_sms"]) < 0.01 * float(found["l1_data_wavefronts"])
