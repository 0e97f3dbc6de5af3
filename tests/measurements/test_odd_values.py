"""Ways of odd values: who takes them, their instructions and clocks
(measurements/instructions/h200-sxm/slow-paths).

H200. The checks are machine code's and, of divisions of 32 bits, read off the same measurement.
"""

from __future__ import annotations

import numpy as np
import pytest
from measured import rows

from perfmodel.cuda.emulate.odd_values import odd_lanes, ways
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Instruction
from perfmodel.measure.folders import root

FOLDER = root() / "instructions/h200-sxm/slow-paths"
NAMES = {
    "zero_above": "zero",
    "zero_below": "zero",
    "inf_below": "zero",
    "zero": "zero",
    "small_above": "extreme",
    "1e38_below": "extreme",
    "1e-300_above": "extreme",
    "1e-300": "extreme",
    "result_subnormal": "subnormal",
    "subnormal_below": "subnormal",
}


def instruction(operation: str) -> Instruction:
    bits = operation[-2:]
    operands = "%f0, %f1, %f2" if operation.startswith("div") else "%f0, %f1"
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k() {{ .reg .f{bits} %f<3>; {operation} {operands}; ret; }}
    """
    return parse_ptx(text).functions[0].instructions[0]


@pytest.mark.parametrize(("bits", "apart"), [(32, 200.0), (64, 275.0)])
def test_which_divisions_go_the_long_way(bits: int, apart: float) -> None:
    # independent: clocks of a division by exponents above and below the line
    found = [r for r in rows("divisions", FOLDER) if r["operation"] == f"div.rn.f{bits}"]
    whole, kind = np.dtype(f"u{bits // 8}"), np.dtype(f"f{bits // 8}")
    wrong = every = 0
    for r in found:
        first, last, step = (int(r[n], 16) for n in ("below_first", "below_last", "step"))
        low = np.array(range(first, last + 1, step), dtype=whole).view(kind)
        high = np.full(len(low), int(r["above"], 16), dtype=whole).view(kind)
        odd = np.zeros(len(low), bool)
        for lanes in odd_lanes(instruction(f"div.rn.f{bits}"), (high, low)).values():
            odd[lanes] = True
        wrong += int(np.count_nonzero(odd != (float(r["clocks"]) > apart)))
        every += len(low)
    assert every > 100_000
    # of 64 bits, a few rows are clocks of code that was fetched
    assert wrong <= (0 if bits == 32 else 0.001 * every)


def test_instructions_and_clocks_of_the_long_ways() -> None:
    # regression: the table is read off these rows, for one lane of a warp
    found = {(r["operation"], r["values"]): r for r in rows("odd", FOLDER) if r["lanes"] == 1}
    usual = {r["operation"]: r for r in rows("odd", FOLDER) if r["values"] == "usual"}
    seen = 0
    for (operation, values), row in found.items():
        if not operation.startswith(("div.rn", "rcp", "sqrt", "rsqrt")) or values not in NAMES:
            continue
        name = NAMES[values]
        way = next((w for w in ways(instruction(operation)) if w.values == name), None)
        if way is None:
            continue
        more = row["instructions"] - usual[operation]["instructions"]
        if more < 1:
            continue
        seen += 1
        assert sum(way.counts.values()) == pytest.approx(more, rel=0.17), (operation, values)
        clocks = row["clocks_1"] - usual[operation]["clocks_1"]
        assert way.clocks == pytest.approx(clocks, rel=0.17), (operation, values)
    assert seen >= 12
