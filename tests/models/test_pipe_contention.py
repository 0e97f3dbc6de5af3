"""Warps that wait and compute in turn, and pipes that crowds of them come to together."""

import csv
from itertools import pairwise

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.power_mean import power_mean
from perfmodel.models.time.pipe_contention import (
    DRIFT_WAITS,
    LEFT_IDLE,
    TURNS_OVERLAP,
    mixed_pipes,
    once_time,
    turns_time,
)

H200 = load_device("h200-sxm")


def one(value):
    return np.array([value], dtype=float)


def together(work, alone, computing, held):
    return float(once_time(one(work), one(alone), one(computing), one(held), H200)[0])


def in_turns(work, alone, held, rounds, far=0.0, computing=4.0):
    once = one(together(work, alone, computing, held))
    return float(turns_time(one(work), one(alone), once, one(rounds), one(far), H200)[0])


def test_a_block_that_has_its_sm_to_itself_waits_for_itself_only():
    # derived: its own instructions are in the time that it takes alone
    assert in_turns(4.0, 8.0, held=1, rounds=1) == pytest.approx(8.0)


def test_blocks_that_start_together_nearly_add_and_those_that_drift_apart_do_not():
    # derived: four blocks that fill the schedulers wait together for 6, then compute in turn
    assert in_turns(8.0, 8.0, held=4, rounds=1, computing=2.0) == pytest.approx(6 + 8)
    apart = in_turns(8.0, 8.0, held=4, rounds=1e9)
    p = TURNS_OVERLAP(H200)
    assert apart == pytest.approx((8.0**p + 8**p) ** (1 / p))
    times = [in_turns(8.0, 8.0, held=4, rounds=r, computing=2.0) for r in (1, 2, 4, 16)]
    assert all(more > less for more, less in pairwise(times))


def test_few_blocks_compute_in_the_gaps_of_one_another():
    # derived: chains that leave nine tenths of the slots let four others by, and twenty wait
    assert together(4.0, 10.0, computing=10.0, held=4) == 10.0
    crowd = together(20.0, 10.0, computing=10.0, held=20)
    assert crowd == pytest.approx(20.0 + LEFT_IDLE(H200) * (10.0 - 1.0))


@pytest.mark.parametrize("turns", [24, 192])
def test_blocks_that_wait_for_l2_and_compute_in_chains(turns):
    """Measured: the slowest of 1 to 16 blocks an SM, by what one of them takes alone.

    The number in `ONCE_TIME` was fitted to these rows. A turn has its multiply-adds, a maximum for
    each chain and eight more instructions, and a load from L2 of 290 clocks.
    """
    with (root() / "latency/h200-sxm/warps" / "crowds.csv").open(newline="") as file:
        found = [r for r in csv.DictReader(file) if r["cache"] == "warm"]
    chosen = [r for r in found if int(r["turns"]) == turns and int(r["blocks"]) <= 2112]
    alone, errors, sums = {}, [], []
    for row in chosen:
        chains = int(row["chains"])
        kind = (row["instructions"], chains)
        most, held = float(row["most_clocks"]), int(row["blocks"]) / 132
        if held == 1:
            alone[kind] = most
        own = turns * (int(row["instructions"]) + chains + 8)
        lone = alone[kind]
        found_clocks = together(held * own, lone, lone - 290 * turns, held)
        errors.append(found_clocks / most - 1)
        beside = (held * own - own) ** 1.25
        sums.append((beside + lone**1.25) ** 0.8 / most - 1)
    assert len(errors) == 49
    assert np.sqrt(np.mean(np.square(errors))) < 0.06
    assert np.sqrt(np.mean(np.square(sums))) > 0.09


def test_waits_for_dram_bring_blocks_out_of_step_as_rounds_do():
    # by construction half of the way after DRIFT_WAITS of them, and none after none
    step, apart = (in_turns(4.0, 8.0, held=4, rounds=r) for r in (1, 1e9))
    assert in_turns(4.0, 8.0, held=4, rounds=1, far=0) == step
    half = in_turns(4.0, 8.0, held=4, rounds=1, far=DRIFT_WAITS(H200))
    assert half == pytest.approx((step + apart) / 2)
    assert in_turns(4.0, 8.0, held=4, rounds=1, far=1e9) == pytest.approx(apart)


def test_fp32_takes_issue_slots_and_waits_for_no_pipe():
    # property: on sm_90 it has as many lanes as the schedulers issue threads
    alone = mixed_pipes({"issue": one(3.0)}, False, H200)
    assert mixed_pipes({"issue": one(3.0), "fma32": one(2.9)}, False, H200) == pytest.approx(alone)
    assert mixed_pipes({"issue": one(3.0), "int32": one(2.9)}, False, H200) > 1.2 * alone
    # Where ptxas hands out additions the multipliers take turns with the integer pipe.
    assert mixed_pipes({"issue": one(3.0), "imad": one(2.9)}, True, H200) == pytest.approx(alone)
    assert mixed_pipes({"issue": one(3.0), "imad": one(3.5)}, True, H200) == pytest.approx(3.5)
    assert mixed_pipes({"issue": one(3.0), "int32": one(2.9)}, True, H200) > 1.2 * alone
    assert mixed_pipes({"issue": one(3.0), "sfu": one(2.9)}, True, H200) > 1.2 * alone


def test_issue_of_a_softmax_without_memory():
    """Regression: 35 rows that the exponent was fitted to, of 2 to 16 blocks of four warps an SM.

    Pipes by the profiler's counts and the lanes of sm_90 (16 of the ALU a scheduler, 4 of MUFU);
    what a warp takes alone from the row of one block.
    """
    with (root() / "launch-overhead/h200-sxm/small" / "mix.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    alone = {r["part"]: 1 / float(r["issue_active"]) for r in found if r["blocks_per_sm"] == "1"}
    errors, slowest, overlap = [], [], TURNS_OVERLAP(H200)
    for row in (r for r in found if r["blocks_per_sm"] != "1"):
        issued = float(row["instructions"])
        pipes = {
            "issue": one(1.0),
            "int32": one(2 * float(row["alu_instructions"]) / issued),
            "sfu": one(8 * float(row["xu_instructions"]) / issued),
        }
        own = alone[row["part"]] / (16 * float(row["warps_share"]))
        clocks = float(power_mean((mixed_pipes(pipes, False, H200), one(own)), overlap)[0])
        errors.append(clocks * float(row["issue_active"]) - 1)
        slowest.append(float(max(*pipes.values(), one(own))[0]) * float(row["issue_active"]) - 1)
    assert len(errors) == 35
    assert np.sqrt(np.mean(np.square(errors))) < 0.06
    assert np.sqrt(np.mean(np.square(slowest))) > 0.15
