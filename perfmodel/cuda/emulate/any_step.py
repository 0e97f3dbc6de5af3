"""Which of the emulator's parts runs an instruction."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.cuda.emulate.accesses import access
from perfmodel.cuda.emulate.bulk import Arrivals, barrier_step, bulk_copy
from perfmodel.cuda.emulate.contracted import contracted_step
from perfmodel.cuda.emulate.counts import Counter
from perfmodel.cuda.emulate.instructions import step
from perfmodel.cuda.emulate.machine import Machine, Step
from perfmodel.cuda.emulate.odd_values import OddValues
from perfmodel.cuda.parse.syntax import Instruction


def any_step(
    machine: Machine,
    at: int,
    instruction: Instruction,
    counter: Counter,
    arrivals: Arrivals,
    contracted: Mapping[int, Instruction],
    odd: OddValues,
) -> Step | None:
    """Return what runs the instruction of place `at`, or None if nothing is to be done.

    `counter`: told of every access to memory; `arrivals`: told of threads and bytes that come to
    barriers in shared memory; `contracted`: products that sums take in, by the place of the sum;
    `odd`: counts the lanes whose operands take a library's slow way.
    """
    if instruction.opcode == "mbarrier":
        return barrier_step(machine, instruction, arrivals)
    if instruction.opcode == "cp" and "bulk" in instruction.modifiers:
        return bulk_copy(machine, at, instruction, counter, arrivals)
    run = access(machine, at, instruction, counter.report)
    if run is not None:
        return run
    if at in contracted:
        return contracted_step(machine, instruction, contracted[at])
    made = step(machine, instruction)
    return made and odd.watched(machine, at, instruction, made)
