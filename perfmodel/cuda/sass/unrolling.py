"""Which loops ptxas puts iterations of together, and how many it runs at a time.

Read from machine code of sm_90 (ptxas 13.0): 900 loops of one block, grown by an instruction at a
time until they were left as they are. Four iterations are run at a time while four are left, then
two, then one; so lanes whose iterations differ part, and a warp runs more of them than any lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.opcodes import calls_for_odd_values
from perfmodel.cuda.parse.registers import is_memory, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Immediate, Instruction, Operand, Register
from perfmodel.cuda.sass.divergence import may_be_apart

Array = npt.NDArray[Any]

UNROLLED: Final = 4
"""Iterations that are put together, as long as so many are left."""
COPIES: Final = 7
"""Of a loop's body in the kernel's code: four, two and one."""
LAST_COPIES: Final = frozenset({3, 5, 6})
"""Those of the seven after which is branched."""
LENGTH: Final = 18.0
"""Length of a body up to which iterations are put together: machine instructions, without what they
then do once for all; memory accesses count `ACCESS`, atomics `ATOMIC`."""
ACCESS: Final = 2.0
ATOMIC: Final = 10.5
LENGTH_LOADING: Final = 46.0
"""The same of a body that loads from global memory."""
LENGTH_SHARED: Final = 5.0
"""By how much each load from shared memory lengthens `LENGTH`, to at most `LONGEST`."""
LONGEST: Final = 98.0
CHECKS: Final = 9.0
"""Instructions besides, each time the loop is entered: what is left is worked out, compared and
branched on, three times."""
CHECKS_PARTING: Final = 4.0
"""And where lanes may part: twice where they meet again (machine code of sums of rows)."""

_TOGETHER: Final = frozenset(
    {"shfl", "vote", "match", "redux", "activemask", "elect", "bar", "barrier"}
)
"""What lanes of a warp do together."""
_SCALED_LATER: Final = frozenset({"sin", "cos"})
"""Of two machine instructions, of which the one comes after iterations are put together."""
_COMPARED: Final = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_TURNED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne", "eq": "eq"}
_NEGATED: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq", "eq": "ne"}
_MANY: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Around:
    """How often, an iteration, a loop is branched around, and how often it is entered."""

    rounds: float = 1.0 / UNROLLED
    entries: float = 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What a loop counts in, and how it ends.

    Attributes
    ----------
    register : str
        Changed by `step` an iteration, and by nothing else.
    step : int
    goes_on : str
        Comparison with `bound` that holds while the loop goes on: lt, le, gt, ge, ne or eq.
    bound : Operand
    kind : str
        Type that is compared as, such as s32.
    after : bool
        Whether it is compared after it is changed.
    predicate : str
        Register that the branch back asks.
    times : Register or None
        What `step` is multiplied by: a number that the loop leaves as it is.
    """

    register: str
    step: int
    goes_on: str
    bound: Operand
    kind: str
    after: bool
    predicate: str = ""
    times: Register | None = None

    def turns(self, value: Array, bound: Array, times: Array | int = 1) -> Array:
        """Return the iterations that are left, the one to come among them.

        `times` is the value of the register of that name, where there is one.
        """
        # A step of 0 or less than that, by an unsigned number, never gets there.
        each = np.maximum(np.asarray(times, dtype=np.int64), 1)
        ahead = (bound.astype(np.int64) - value.astype(np.int64)) // each
        ahead, step = (ahead, self.step) if self.step > 0 else (-ahead, -self.step)
        upward = self.goes_on in (("lt", "le") if self.step > 0 else ("gt", "ge"))
        if not upward and self.goes_on != "ne":
            return np.full(ahead.shape, _MANY)
        # Of the values that are compared, the first is the present one, or the next.
        inclusive = self.goes_on in ("le", "ge")
        holds = ahead // step + 1 if inclusive else -(-ahead // step)
        return np.maximum(1 + holds - int(self.after), 1)


def first_copy(turns: Array) -> Array:
    """Return the copy of the body that lanes go to with so many iterations left."""
    return np.where(turns >= UNROLLED, 0, np.where(turns >= UNROLLED // 2, UNROLLED, COPIES - 1))


def rounds(turns: float) -> float:
    """Return how often a loop of so many iterations is branched around: of 4, of 2 and of 1."""
    whole = int(turns)
    return float(whole // UNROLLED + whole % UNROLLED // 2 + whole % 2)


def unrolls(
    function: Function, flow: ControlFlow, number: int, counts: Sequence[Mapping[str, float]]
) -> bool:
    """Say whether ptxas puts iterations of a block that is a loop of its own together.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    number : int
        Of the block.
    counts : sequence of mapping of str to float
        Machine instructions of each instruction, by pipe; of memory accesses none.
    """
    block = flow.blocks[number]
    if number not in block.successors:
        return False
    inside = range(block.start, block.stop)
    instructions = [function.instructions[at] for at in inside]
    if any(at in inside and "nounroll" in text for at, text in function.pragmas):
        return False
    if any(i.opcode == "call" or calls_for_odd_values(i) for i in instructions):
        return False
    if counter(function, inside, inside.stop - 1) is None:
        return False
    # Where lanes may be apart, ptxas leaves loops as they are in which they wait for one another.
    if any(i.opcode in _TOGETHER for i in instructions) and may_be_apart(function, flow, number):
        return False
    once = set(shared_by_iterations(function, inside))
    length = sum(
        _weight(i) + (1.0 if i.opcode in _SCALED_LATER else sum(counts[at].values()))
        for at, i in zip(inside, instructions, strict=True)
        if at not in once
    )
    return length <= _most(instructions)


def _most(instructions: Sequence[Instruction]) -> float:
    shared = sum(i.opcode == "ld" and _shared(i) for i in instructions)
    most = LENGTH + (1.0 + LENGTH_SHARED * shared if shared else 0.0)
    if any(i.opcode == "ld" and is_memory(i) and not _shared(i) for i in instructions):
        most = max(most, LENGTH_LOADING)
    return min(most, LONGEST)


def _shared(instruction: Instruction) -> bool:
    return any(m.partition("::")[0] == "shared" for m in instruction.modifiers)


def _weight(instruction: Instruction) -> float:
    if not is_memory(instruction):
        return 0.0
    return ATOMIC if instruction.opcode in ("atom", "red") else ACCESS


def counter(
    function: Function,
    inside: Sequence[int],
    branch: int,
    back: bool = True,
    any_step: bool = False,
) -> Counted | None:
    """Return what a loop counts in by a constant, if it ends by comparing that.

    Parameters
    ----------
    function : Function
    inside : sequence of int
        Its instructions, in order.
    branch : int
        The one that may end it.
    back : bool
        Whether the loop goes on where it is taken.
    any_step : bool
        Whether it may count by any number that it leaves as it is, not only by a constant.
    """
    steps = _steps(function, inside)
    by = _steps_by_registers(function, inside) if any_step else {}
    steps |= {name: (at, sign) for name, (at, sign, _) in by.items()}
    last = function.instructions[branch]
    if last.guard is None:
        return None
    for at in reversed([at for at in inside if at < branch]):
        setp = function.instructions[at]
        if setp.opcode != "setp" or last.guard.register.name not in written_registers(setp):
            continue
        first, second = setp.operands[1:3]
        for own, other, turned in ((first, second, False), (second, first, True)):
            if isinstance(own, Register) and own.name in steps:
                how = _COMPARED.get(setp.modifiers[0], setp.modifiers[0])
                if how not in _TURNED:
                    return None
                how = _TURNED[how] if turned else how
                how = _NEGATED[how] if last.guard.negated == back else how
                changed, step = steps[own.name]
                kind, predicate = setp.modifiers[-1], last.guard.register.name
                times = by[own.name][2] if own.name in by else None
                return Counted(own.name, step, how, other, kind, changed < at, predicate, times)
        return None
    return None


def _steps(function: Function, inside: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Return the registers of a loop that change by a constant alone: where, and by how much."""
    changes: dict[str, int] = {}
    found: dict[str, tuple[int, int]] = {}
    for at in inside:
        instruction = function.instructions[at]
        for register in written_registers(instruction):
            changes[register] = changes.get(register, 0) + 1
        if instruction.opcode not in ("add", "sub") or not instruction.operands:
            continue
        first, *rest = instruction.operands
        by = next((o.value for o in rest if isinstance(o, Immediate)), None)
        if isinstance(first, Register) and first in rest and by:
            found[first.name] = (at, by if instruction.opcode == "add" else -by)
    return {register: step for register, step in found.items() if changes[register] == 1}


def _steps_by_registers(
    function: Function, inside: Sequence[int]
) -> dict[str, tuple[int, int, Register]]:
    """Return the registers that change by another alone, which stays: where, the sign, and it."""
    writes = [r for at in inside for r in written_registers(function.instructions[at])]
    found: dict[str, tuple[int, int, Register]] = {}
    for at in inside:
        instruction = function.instructions[at]
        if instruction.opcode not in ("add", "sub") or len(instruction.operands) != 3:
            continue
        target, first, second = instruction.operands
        if instruction.opcode == "add" and second == target:
            first, second = second, first
        if not (isinstance(target, Register) and first == target and isinstance(second, Register)):
            continue
        if writes.count(target.name) == 1 and second.name not in writes:
            found[target.name] = (at, 1 if instruction.opcode == "add" else -1, second)
    return found


def shared_by_iterations(function: Function, inside: range) -> list[int]:
    """Return the instructions of a loop that iterations which are put together do once for all.

    Counters that step by a constant, what is added to or compared with them, and the branch: in
    copies of the body constants become offsets.
    """
    known = set(_steps(function, inside))
    made = {r for at in inside for r in written_registers(function.instructions[at])}
    found = []
    for at in inside:
        instruction = function.instructions[at]
        if instruction.opcode == "bra":
            found.append(at)
            continue
        if instruction.opcode not in ("add", "sub", "setp", "cvt", "mov"):
            continue
        reads = {r for r in read_registers(instruction) if r in made}
        if reads and reads <= known:
            found.append(at)
            known |= set(written_registers(instruction))
    return found
