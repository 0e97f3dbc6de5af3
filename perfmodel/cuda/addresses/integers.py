"""What integer instructions compute, as sums: a function for each opcode."""

from collections.abc import Callable
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.sums import Sum, applied, constant
from perfmodel.expressions import Node

_SHIFTED: Final = 63


def bits_of(kind: str) -> int:
    """Return the bits of an integer type such as ``s32``; 32 of what is none."""
    digits = kind.lstrip("bsuf")
    return int(digits) if digits.isdecimal() else 32


def comparison(algebra: Algebra, operator: str, kind: str, a: Sum, b: Sum) -> Node | None:
    """Return what a comparison instruction finds, as a condition; None if it is not followed."""
    sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    unsigned = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
    if operator in unsigned:
        return algebra.compared_unsigned(unsigned[operator], a, b, bits_of(kind))
    if operator not in sign:
        return None
    if kind[:1] == "u":
        return algebra.compared_unsigned(sign[operator], a, b, bits_of(kind))
    return algebra.compared(sign[operator], a, b)


_Work = Callable[[Algebra, tuple[str, ...], list[Sum]], Sum | None]


def _multiply(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    whole = values[0] * values[1]
    bits = bits_of(modifiers[-1])
    if modifiers[-1][:1] == "u" and not {"hi", "wide"}.isdisjoint(modifiers):
        # the upper bits of a product show whether its factors are negative
        a, b = (algebra.unsigned(v, bits) for v in values[:2])
        whole = a * b
    if "hi" not in modifiers:
        return whole
    return algebra.quotient(whole, 1 << bits)


def _multiply_add(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    first = _multiply(algebra, modifiers, values)
    return None if first is None else first + values[2]


def _of_24_bits(work: _Work) -> _Work:
    """Return what does the same with numbers that have no more bits."""

    def checked(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
        small = all(algebra.within(v, 0, (1 << 23) - 1) for v in values[:2])
        return work(algebra, modifiers, values) if small and "lo" in modifiers else None

    return checked


def _shift_left(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    by = algebra.number(values[1])
    if by is None:
        if values[0].number is None and values[0].names:
            return values[0] * applied("<<", constant(1), values[1])
        return applied("<<", values[0], values[1])
    return values[0] * (1 << by) if 0 <= by < bits_of(modifiers[-1]) else constant(0)


def _shift_right(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    kind = modifiers[-1]
    value = values[0]
    if kind[:1] != "s":
        value = algebra.unsigned(value, bits_of(kind))
    by = algebra.number(values[1])
    if by is not None:
        return algebra.quotient(value, 1 << min(max(by, 0), _SHIFTED))
    return applied(">>", value, values[1])


def _divided(rest: bool) -> _Work:
    def work(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
        a, b = values[:2]
        if modifiers[-1][:1] == "u":
            a, b = (algebra.unsigned(v, bits_of(modifiers[-1])) for v in (a, b))
        if not algebra.within(b, 1, None):
            return None
        # Rounding towards zero and down are the same for what is not negative.
        if algebra.within(a, 0, None):
            return algebra.remainder(a, b) if rest else algebra.quotient(a, b)
        negative = algebra.compared("<", a, constant(0))
        found = algebra.chosen(negative, -algebra.quotient(-a, b), algebra.quotient(a, b))
        return a - found * b if rest else found

    return work


def _field(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    start, length = values[1].number, values[2].number
    if modifiers[-1][:1] != "u" or start is None or length is None:
        return None
    value = algebra.unsigned(values[0], bits_of(modifiers[-1]))
    return algebra.remainder(algebra.quotient(value, 1 << start), 1 << min(length, _SHIFTED))


def _inserted(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    start, length = values[2].number, values[3].number
    if start is None or length is None:
        return None
    field = algebra.remainder(values[0], 1 << min(length, _SHIFTED))
    upper = algebra.quotient(values[1], 1 << start)
    cleared = algebra.remainder(upper, 1 << min(length, _SHIFTED))
    return values[1] + (field - cleared) * (1 << start)


def _permuted(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    selector = values[2].number
    if selector is None or modifiers != ("b32",):
        return None
    chosen = [selector >> 4 * i & 15 for i in range(4)]
    if any(byte > 7 for byte in chosen):
        return None  # the sign of a byte
    sources = [algebra.unsigned(v, 32) for v in values[:2]]
    total, at = constant(0), 0
    while at < 4:
        # bytes that lie side by side in a source and in the result are one field
        first, source = chosen[at] % 4, chosen[at] // 4
        end = at + 1
        while end < 4 and chosen[end] == chosen[at] + end - at and chosen[end] // 4 == source:
            end += 1
        field = algebra.quotient(sources[source], 1 << 8 * first)
        if end < 4:  # what is above the result's bits is lost, as in a shift
            field = algebra.remainder(field, 1 << 8 * (end - at))
        total = total + field * (1 << 8 * at)
        at = end
    return total


def _absolute(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
    if algebra.within(values[0], 0, None):
        return values[0]
    return applied("abs", values[0])


def _extreme(which: str) -> _Work:
    def work(algebra: Algebra, modifiers: tuple[str, ...], values: list[Sum]) -> Sum | None:
        a, b = values[:2]
        bits = bits_of(modifiers[-1])
        # Of two numbers below 0 the order is the same without their signs.
        if modifiers[-1][:1] == "u" and not all(
            algebra.within(v, -(1 << bits - 1), -1) for v in (a, b)
        ):
            a, b = (algebra.unsigned(v, bits) for v in (a, b))
        return algebra.extreme(which, a, b)

    return work


INTEGER: Final[dict[str, _Work]] = {
    "add": lambda algebra, modifiers, v: None if "cc" in modifiers else v[0] + v[1],
    "sub": lambda algebra, modifiers, v: None if "cc" in modifiers else v[0] - v[1],
    "neg": lambda algebra, modifiers, v: -v[0],
    "mul": _multiply,
    "mul24": _of_24_bits(_multiply),
    "mad": _multiply_add,
    "mad24": _of_24_bits(_multiply_add),
    "shl": _shift_left,
    "shr": _shift_right,
    "div": _divided(rest=False),
    "rem": _divided(rest=True),
    "min": _extreme("min"),
    "max": _extreme("max"),
    "abs": _absolute,
    "bfe": _field,
    "bfi": _inserted,
    "prmt": _permuted,
    "and": lambda algebra, modifiers, v: algebra.masked(v[0], v[1], bits_of(modifiers[-1])),
    "or": lambda algebra, modifiers, v: algebra.joined(v[0], v[1]),
    "xor": lambda algebra, modifiers, v: algebra.exclusive(v[0], v[1], bits_of(modifiers[-1])),
    "not": lambda algebra, modifiers, v: -v[0] - 1,
}
