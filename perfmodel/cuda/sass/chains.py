"""Clocks of a lone warp where no ptxas is at hand: the longest chain of results, or all issues.

As if ptxas found the order in which nothing waits that need not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.parse.registers import is_memory, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Instruction
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.tensor_work import tensor_clocks

_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""


def chain_clocks(
    body: Sequence[tuple[Instruction, Mapping[str, float], float]], loop: bool
) -> float:
    """Return the clocks of a body, or of an iteration, waits for global memory apart.

    `body`: each with its machine instructions by pipe, and the share of warps that run it; `loop`:
    whether the last leads to the first.
    """
    issues = sum(
        share * max(sum(counts.values()), tensor_clocks(i), float(is_memory(i)))
        for i, counts, share in body
    )
    there: dict[str, float] = {}
    end = before = 0.0
    for _ in range(_ROUNDS if loop else 1):
        before = end
        for i, counts, _ in body:
            begin = max((there.get(r, 0.0) for r in read_registers(i)), default=0.0)
            ready = begin + _latency(i, counts)
            there |= dict.fromkeys(written_registers(i), ready)
            end = max(end, ready)
    branch = latencies().branch if loop else 0.0
    return max(issues + branch, end - before)


def _latency(instruction: Instruction, counts: Mapping[str, float]) -> float:
    found = latencies()
    if is_memory(instruction):
        return found.shared if "shared" in instruction.modifiers else 0.0
    if tensor_clocks(instruction):
        return found.pipe["tensor16"]
    pipe = max(counts, key=lambda name: counts[name], default="")
    return found.pipe.get(pipe, found.pipe["other"]) * sum(counts.values())
