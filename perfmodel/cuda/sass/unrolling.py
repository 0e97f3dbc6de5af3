"""Loops that ptxas puts four iterations of together: lanes that leave them apart run more.

Four iterations are run at a time while four are left, then two, then one; so lanes whose iterations
differ part, and a warp runs more of them than any lane. Which loops those are, machine code says.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import written_registers
from perfmodel.cuda.parse.syntax import Function, Immediate, Operand, Register
from perfmodel.cuda.sass.frequencies import loops_together
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.records import record

UNROLLED: Final = 4
"""Iterations that are put together, as long as so many are left."""
COPIES: Final = 7
"""Of a loop's body in the kernel's code: four, two and one."""
LAST_COPIES: Final = frozenset({3, 5, 6})
"""Those of the seven after which is branched."""
_COMPARED: Final = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_TURNED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne", "eq": "eq"}
_NEGATED: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq", "eq": "ne"}
_MANY: Final = 1 << 30


@record
class CountedLoop:
    """What a loop counts in, and how it ends."""

    register: str  # changed by `step` an iteration, and by nothing else
    step: int
    # Comparison with `bound` that holds while the loop goes on: lt, le, gt, ge, ne or eq.
    goes_on: str
    bound: Operand
    kind: str  # type that is compared as, such as s32
    after: bool  # whether it is compared after it is changed
    # What `step` is multiplied by: a number that the loop leaves as it is.
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


@once
def unrolled_loops(
    code: MachineCode, function: Function, flow: ControlFlow
) -> dict[int, CountedLoop]:
    """Return the blocks that are loops whose iterations are put together, and what they count."""
    found = {}
    for number, iterations in loops_together(code, function, flow).items():
        loop = flow.loops[number]
        block = flow.blocks[loop.header]
        how = counter(function, range(block.start, block.stop), block.stop - 1)
        if iterations == UNROLLED and len(loop.blocks) == 1 and how is not None:
            found[loop.header] = how
    return found


def counter(
    function: Function,
    inside: Sequence[int],
    branch: int,
    back: bool = True,
    any_step: bool = False,
) -> CountedLoop | None:
    """Return what a loop counts in by a constant, if it ends by comparing that.

    `inside`: its instructions, in order; `branch`: the one that may end it; `back`: whether the
    loop goes on where it is taken; `any_step`: whether it may count by any number that it leaves as
    it is, not only by a constant.
    """
    steps = _steps(function, inside, any_step)
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
                changed, step, times = steps[own.name]
                kind = setp.modifiers[-1]
                return CountedLoop(own.name, step, how, other, kind, changed < at, times)
        return None
    return None


def _steps(
    function: Function, inside: Sequence[int], any_step: bool
) -> dict[str, tuple[int, int, Register | None]]:
    """Return the registers that a loop changes in one place, by a constant: where, by how much.

    With `any_step` those too that another register which stays is added to or taken from: the sign,
    and that register.
    """
    writes = Counter(r for at in inside for r in written_registers(function.instructions[at]))
    found: dict[str, tuple[int, int, Register | None]] = {}
    for at in inside:
        opcode, operands = function.instructions[at].opcode, function.instructions[at].operands
        if opcode not in ("add", "sub") or not operands or operands[0] not in operands[1:]:
            continue
        target, *given = operands
        if not isinstance(target, Register) or writes[target.name] != 1:
            continue
        sign = 1 if opcode == "add" else -1
        by = next((o.value for o in given if isinstance(o, Immediate)), 0)
        other = given[0] if opcode == "add" and given[-1] == target else given[-1]
        if by:
            found[target.name] = (at, sign * by, None)
        elif any_step and isinstance(other, Register) and other.name not in writes:
            found[target.name] = (at, sign, other)
    return found
