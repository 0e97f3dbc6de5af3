"""Indices that are affine by their form: sums, products by numbers, and quotients of digits.

An expression whose form does not show it may be affine all the same, as
`perfmodel.models.grid.affine` finds at points. Numbers count as exact up to 2**53, as there.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names
from perfmodel.models.derivation import Recorded
from perfmodel.models.grid.geometry import AXES, alike
from perfmodel.models.grid.linear_form import LinearForm, divided, either, product, total
from perfmodel.records import record

_FRACTIONS: Final = frozenset({"/", "**", "log2", "sqrt"})
"""Operators that give numbers which are not whole."""
_INDICES: Final = frozenset(f"{base}.{axis}" for base in ("threadIdx", "blockIdx") for axis in AXES)
"""Names that are 0 where no variable adds to them."""
_MINUS_ONE: Final = LinearForm(-1, {})


def surely_affine(
    node: Node, values: Mapping[str, Any], moving: Sequence[tuple[str, int, Any]]
) -> bool:
    """Say whether the form of an expression shows that it is affine in some variables.

    `values`: a number of each other name, or an array of one for each configuration. `moving`: of
    each variable the name that it adds to, what a step of it adds, and how many values it has.
    """
    targets = frozenset(target for target, _, _ in moving)
    others = names(node) - targets - _INDICES
    if not all(name in values and _is_whole(values[name]) for name in others):
        return False
    needed = _deciding(node, targets)
    numbers = {name: _same_in_all(values[name]) for name in others if name in needed}
    extents = [_same_in_all(extent) if target in needed else None for target, _, extent in moving]
    return _is_affine(
        node,
        tuple(sorted((name, number) for name, number in numbers.items() if number is not None)),
        tuple((target, weight) for target, weight, _ in moving),
        tuple(None if extent is None else max(extent - 1, 0) for extent in extents),
    )


@lru_cache(maxsize=4096)
def _deciding(part: Node, targets: frozenset[str]) -> frozenset[str]:
    """Return the names whose numbers may decide whether a part is affine."""
    if not isinstance(part, Operation) or targets.isdisjoint(names(part)):
        return frozenset()
    if part.operator in ("//", "%"):
        return names(part)
    first, *rest = part.operands
    found = names(first) if part.operator == "where" else _deciding(first, targets)
    return found.union(*(_deciding(other, targets) for other in rest))


def _is_whole(value: Any) -> bool:
    return type(value) is int or np.asanyarray(value).dtype.kind in "biu"


def _same_in_all(value: Any) -> int | None:
    """Return a whole number; None if configurations differ in it, or another launch may."""
    if type(value) is int:
        return value
    if isinstance(value, Recorded):
        return None
    found = alike(np.asarray(value))
    return int(found.item()) if found.size == 1 else None


@lru_cache(maxsize=1024)
def _is_affine(
    node: Node,
    numbers: tuple[tuple[str, int], ...],
    steps: tuple[tuple[str, int], ...],
    last: tuple[int | None, ...],
) -> bool:
    targets = frozenset(target for target, _ in steps)
    known = dict.fromkeys(_INDICES - targets, 0) | dict(numbers)
    return _Variables(steps, targets, last, known, {}).form(node) is not None


@record
class _Variables:
    """The variables of an expression, and what is known without them."""

    steps: Sequence[tuple[str, int]]  # of each the name that it adds to, and what a step adds
    targets: frozenset[str]
    last: Sequence[int | None]
    known: Mapping[str, int]
    forms: dict[Node, LinearForm | None]  # of parts, which an expression may share

    def form(self, part: Node) -> LinearForm | None:
        """Return the form of a part of the expression; None if it may have none."""
        if part not in self.forms:
            fixed = self.targets.isdisjoint(names(part))
            self.forms[part] = self._constant(part) if fixed else self._moving(part)
        return self.forms[part]

    def _constant(self, part: Node) -> LinearForm | None:
        if not names(part) <= self.known.keys():
            return LinearForm(None, {}) if _whole(part) else None
        try:
            value = evaluate(part, self.known)
        except PerfmodelError:  # which probing raises, unless a condition leaves the part out
            return None
        return LinearForm(int(value), {}) if value == int(value) else None

    def _moving(self, part: Node) -> LinearForm | None:
        if not isinstance(part, Operation):
            slopes = {i: w for i, (target, w) in enumerate(self.steps) if Name(target) == part}
            return LinearForm(0, slopes)
        if part.operator == "where":
            return self._where(*part.operands)
        if part.operator not in ("+", "-", "neg", "*", "//", "%"):
            return None
        forms = [self.form(operand) for operand in part.operands]
        first, other = forms[0], forms[-1]
        if first is None or other is None:
            return None
        match part.operator:
            case "neg":
                return product(first, _MINUS_ONE)
            case "*":
                return product(first, other)
            case "+":
                return total(first, other)
            case "-":
                negative = product(other, _MINUS_ONE)
                return None if negative is None else total(first, negative)
        if other.slopes or other.constant is None or other.constant <= 0:
            return None
        parts = divided(first, other.constant, self.last)
        return None if parts is None else parts[part.operator == "%"]

    def _where(self, condition: Node, yes: Node, no: Node) -> LinearForm | None:
        if not self.targets.isdisjoint(names(condition)):
            return None
        decided = self._constant(condition)
        if decided is not None and decided.constant is not None:
            return self.form(yes if decided.constant else no)
        first, other = self.form(yes), self.form(no)
        return None if first is None or other is None else either(first, other)


@lru_cache(maxsize=1024)
def _whole(node: Node) -> bool:
    """Say whether an expression of whole numbers is whole, too."""
    if isinstance(node, Number):
        return isinstance(node.value, int)
    if isinstance(node, Name) or node.operator in ("floor", "ceil"):
        return True
    return node.operator not in _FRACTIONS and all(map(_whole, node.operands))
