"""Divisions of 64 bits that compilers make of 32 bits where both numbers fit.

``a / b`` becomes ``((a | b) & 0xFFFFFFFF00000000) == 0 ? (unsigned)a / (unsigned)b : a / b``. Both
ways give the same, so a loop whose numbers have no range yet is followed on the long one.
"""

from __future__ import annotations

from typing import Final

from perfmodel.expressions import Node, Number, Operation
from perfmodel.frontends.symbolic.algebra import Algebra
from perfmodel.frontends.symbolic.conditions import FALSE, TRUE

_ABOVE: Final = Number(1 << 32)


def with_one_way(condition: Node, algebra: Algebra, trial: bool) -> Node:
    """Return a condition, decided if it chooses between a short division and a long one.

    Parameters
    ----------
    condition : Node
    algebra : Algebra
    trial : bool
        Whether ranges are not to be trusted, in a trial run of a loop.
    """
    if not isinstance(condition, Operation) or condition.operator not in ("==", "!="):
        return condition
    upper, zero = condition.operands
    both = _lower(upper)
    if both is None or zero != Number(0):
        return condition
    # Below 0 are only numbers of threads that do not come here.
    fits = not trial and algebra.range(algebra.again(both)).high < _ABOVE.value
    if not fits and not trial:
        return condition
    return TRUE if fits == (condition.operator == "==") else FALSE


def _lower(upper: Node) -> Node | None:
    """Return x of ``x // 2**32`` or ``x // 2**32 * 2**32``."""
    if isinstance(upper, Operation) and upper.operator == "*" and upper.operands[1] == _ABOVE:
        upper = upper.operands[0]
    if isinstance(upper, Operation) and upper.operator == "//" and upper.operands[1] == _ABOVE:
        return upper.operands[0]
    return None
