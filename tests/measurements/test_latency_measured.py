"""Latencies of instructions, and how stores merge, against the H200 that they are from."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel.cuda.parse.syntax import Instruction
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.hardware import load_device
from perfmodel.models.l1.merged_stores import MERGED, SENT_SECTORS, after_loads
from perfmodel.models.latency.latency import BARRIER_START, BARRIER_WARP

H200 = load_device("h200-sxm")
FOLDER = Path(__file__).parents[2] / "measurements" / "instructions/h200-sxm/latency"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def chain(op: str, warps: int = 1) -> float:
    """Return the clocks of an instruction of a chain, by one warp."""
    (found,) = (
        r for r in rows("latency") if (r["op"], r["ilp"], r["warps"]) == (op, "1", str(warps))
    )
    return float(found["clocks"])


@pytest.mark.parametrize(
    ("pipe", "op"),
    [
        ("fma32", "ffma"),
        ("int32", "lop3_"),
        ("imad", "imad"),
        ("fma64", "dfma"),
        ("sfu", "ex2"),
        ("conversion", "f2i_only"),
        ("tensor16", "MMA"),
    ],
)
def test_a_pipes_latency_is_the_measured_one(pipe: str, op: str) -> None:
    assert latencies().pipe[pipe] == pytest.approx(chain(op), rel=0.07)


@pytest.mark.parametrize(
    ("opcode", "modifiers", "op", "besides"),
    [
        # besides: clocks of what else the step of the chain does
        ("popc", ("b32",), "popc_", 0),
        ("brev", ("b32",), "brev_", 0),
        ("clz", ("b32",), "clz_", 0),
        ("shfl", ("sync", "bfly", "b32"), "shfl_bfly", 0),
        ("redux", ("sync", "add", "u32"), "redux_", 0),
        ("match", ("any", "sync", "b32"), "match_", 0),
        ("rsqrt", ("approx", "ftz", "f32"), "rsqrt_", 0),
        ("rsqrt", ("approx", "f32"), "rsqrt_scaled", 0),
        ("lg2", ("approx", "f32"), "lg2_scaled", 0),
        ("sqrt", ("rn", "f32"), "sqrt_rn", 0),
        ("div", ("u32",), "div_u32", 0),
        ("rem", ("u32",), "rem_u32", 0),
        ("div", ("u64",), "div_u64", 0),
        ("div", ("rn", "f64"), "div_d", 0),
        ("sqrt", ("rn", "f64"), "sqrt_d", 0),
        ("mul", ("lo", "u64"), "mul64", 0),
        ("mul", ("hi", "u64"), "mulhi64", 0),
        ("mul", ("hi", "u32"), "imulhi", 0),
        ("add", ("u64",), "add64", 4),
        ("shl", ("b64",), "shift64", 4),
        ("fma", ("rn", "f16x2"), "hfma2_", 0),
    ],
)
def test_an_instructions_latency_is_the_measured_one(
    opcode: str, modifiers: tuple[str, ...], op: str, besides: float
) -> None:
    instruction = Instruction(opcode, modifiers, (), None, 1, None)
    assert latencies().of(instruction, "other") == pytest.approx(chain(op) - besides, rel=0.07)


def test_shared_memory_and_barriers() -> None:
    assert latencies().shared == pytest.approx(chain("LDS4"), rel=0.02)
    assert latencies().shared_wide == pytest.approx(chain("LDS16"), rel=0.02)
    assert latencies().shared_atomic == pytest.approx(chain("ATOMS_CAS"), rel=0.05)
    for warps in (1, 2, 4, 8, 16, 32):
        clocks = BARRIER_START(H200) + BARRIER_WARP(H200) * warps
        assert clocks == pytest.approx(chain("BAR", warps), rel=0.01)


def test_a_guard_is_later_than_an_operand() -> None:
    later = chain("predicated") - chain("fselect")
    assert latencies().guard == pytest.approx(later, abs=0.5)


@pytest.mark.parametrize("words", [2, 3, 4])
def test_neighbouring_stores_reach_l2_together(words: int) -> None:
    for row in rows("stores"):
        key = (row["function"], row["a"], row["c"])
        if key == ("apart", str(words), "0"):
            asked = float(row["global_store_sectors"])
            # Lanes are `words` words apart: so many lines a request. A smaller launch merged more
            # of 3 words (measurements/source-kernels/h200-sxm/features, apart): 0.94 of what it
            # could, here 0.80.
            merged = MERGED(lines=words, warps=64, **after_loads(0, 1, load_device("h200-sxm")))
            found = SENT_SECTORS(asked=asked, merged=merged, union=1 / words)
            assert np.max(found) == pytest.approx(float(row["l2_write_sectors"]), rel=0.12)
