"""Control flow of machine code: the blocks that a kernel's warps may come to, and its loops."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import ControlFlow, graph
from perfmodel.cuda.sass.machine_code import BRANCH, CALL, ENDS, TABLE_BRANCH, MachineCode


def machine_flow(code: MachineCode) -> ControlFlow:
    """Return the control flow of a kernel's code, up to the branch to itself that ends it.

    A call comes back. A table of branches leads to all blocks that nothing else leads to, but for
    functions; these are not come to.
    """
    end = next(
        (at for at, i in enumerate(code) if i.opcode == BRANCH and i.target == at), len(code)
    )
    starts = {0}
    for at, i in enumerate(code[:end]):
        if i.opcode == BRANCH and i.target is not None:
            starts |= {at + 1, i.target}
        elif i.opcode in ENDS or i.opcode == TABLE_BRANCH:
            starts.add(at + 1)
    ordered = sorted(at for at in starts if at < end)
    number = {at: n for n, at in enumerate(ordered)}
    ranges = list(zip(ordered, [*ordered[1:], end], strict=True))
    following = [_following(code, stop, number, len(ranges)) for _, stop in ranges]
    led_to = {0, *(n for ways in following for n in ways)}
    functions = {number.get(i.target) for i in code[:end] if i.opcode == CALL and i.target}
    others = tuple(n for n in range(len(ranges)) if n not in led_to and n not in functions)
    for n, (_, stop) in enumerate(ranges):
        if code[stop - 1].opcode == TABLE_BRANCH:
            following[n] = others
    return graph("machine code", ranges, following)


def _following(
    code: MachineCode, stop: int, number: dict[int, int], virtual_exit: int
) -> tuple[int, ...]:
    """Return the blocks that may follow one that ends before `stop`."""
    last = code[stop - 1]
    behind = number.get(stop, virtual_exit)
    if last.opcode == BRANCH and last.target is not None:
        target = number.get(last.target, virtual_exit)
        return tuple(dict.fromkeys((target, behind))) if last.conditional else (target,)
    if last.opcode in ENDS:
        return tuple(dict.fromkeys((virtual_exit, behind))) if last.guarded else (virtual_exit,)
    return (virtual_exit,) if last.opcode == TABLE_BRANCH else (behind,)
