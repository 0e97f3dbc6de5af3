"""Whole-number arithmetic on sums: quotients, remainders, bits, comparisons and choices.

Ranges of the variables are known, since a launch is: that is what makes ``threadIdx.x // 1024``
zero, a sign bit nothing, and an unsigned comparison a plain one.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeVar

from perfmodel.cuda.addresses.conditions import (
    FALSE,
    TRUE,
    all_of,
    any_of,
    decided,
    negated,
    worked,
)
from perfmodel.cuda.addresses.quotients import (
    divided,
    dividend_of,
    joined_quotients,
    outermost_quotient,
    simplest,
)
from perfmodel.cuda.addresses.sums import Sum, applied, constant, single, split, sum_of, written
from perfmodel.expressions import Name, Node, Number, Operation, substitute
from perfmodel.expressions.nodes import COMPARISONS, LARGEST_LITERAL
from perfmodel.kernels.intervals import Interval, Ranges

Answer = TypeVar("Answer")

_UNKNOWN: Final = Interval(-(2**63), 2**64 - 1)
_WIDEST: Final = 64
"""Bits of the widest register: no shift by more means anything."""
_RECIPROCAL: Final = 1 << 16
"""Factors from which on a product that is shifted right may stand for a division."""
_MOST_QUOTIENTS: Final = 8
"""Quotients of a sum that are followed for its range."""


class Algebra:
    """Arithmetic on sums over variables of known range.

    `ranges` are those of index variables, dimensions, arguments and loop variables.
    """

    def __init__(self, ranges: Mapping[str, Interval]) -> None:
        self._ranges = dict(ranges)
        self._intervals = Ranges(self._ranges)
        self._known: dict[Sum, Interval] = {}

    @property
    def ranges(self) -> Mapping[str, Interval]:
        """The ranges of variables, by name."""
        return self._ranges

    def add_variable(self, name: str, low: int, high: int) -> None:
        """Make a variable known, or change its range."""
        self._ranges[name] = Interval(low, high)
        self._intervals = Ranges(self._ranges)
        self._known.clear()

    def supposing(self, name: str, low: int, high: int) -> "Algebra":
        """Return the same arithmetic where a variable is of a range."""
        return Algebra({**self._ranges, name: Interval(low, high)})

    def range(self, value: Sum) -> Interval:
        """Return an interval that contains all values of a sum."""
        found = self._known.get(value)
        if found is None:
            found = low, high = self._by_terms(value)
            if low < 0 and outermost_quotient(value.terms) is not None:
                found = self._tightened(value, found)
            # With an argument's number put in, terms may cancel: i - i*run where run is 1.
            if low < 0 and len(value.terms) > 1 and (number := self.concrete(value)) != value:
                known = self.range(number)
                found = Interval(max(low, known.low), min(high, known.high))
            self._known[value] = found
        return found

    def _by_terms(self, value: Sum) -> Interval:
        """Return a range of a sum whose terms are taken to have nothing in common."""
        low = high = 0
        for factors, times in value.terms.items():
            ends = [times * end for end in self._product_range(factors)]
            low, high = low + min(ends), high + max(ends)
        return Interval(low, high)

    def _tightened(self, value: Sum, found: Interval) -> Interval:
        """Return a range of a sum in which quotients and their dividends stand.

        ``x - x//7`` is none below 0: ``x//7`` is ``(x - r)/7`` with r from 0 to 6.
        """
        terms = {factors: Fraction(times) for factors, times in value.terms.items()}
        low, high = Fraction(0), Fraction(0)
        for _ in range(_MOST_QUOTIENTS):
            quotient = outermost_quotient(terms)
            if quotient is None:
                break
            times = terms.pop((quotient,))
            dividend, by = dividend_of(quotient)
            for inner, count in dividend.terms.items():
                terms[inner] = terms.get(inner, Fraction(0)) + times * count / by
            rest = -times * (by - 1) / by
            low += min(rest, Fraction(0))
            high += max(rest, Fraction(0))
        for factors, share in terms.items():
            part = self._product_range(factors)
            ends = (share * part.low, share * part.high)
            low, high = low + min(ends), high + max(ends)
        return Interval(max(found.low, math.ceil(low)), min(found.high, math.floor(high)))

    def _product_range(self, factors: Iterable[Node]) -> Interval:
        part = Interval(1, 1)
        for factor in factors:
            other = self._intervals.of(factor) or _UNKNOWN
            corners = [x * y for x in part for y in other]
            part = Interval(min(corners), max(corners))
        return part

    def concrete(self, value: Sum) -> Sum:
        """Return a sum with numbers for all that has one value in this launch."""
        numbers: dict[str, Node] = {
            name: Number(at.low)
            for name in value.names
            if (at := self._ranges.get(name)) is not None
            and at.low == at.high
            and abs(at.low) <= LARGEST_LITERAL
        }
        if not numbers:
            return value
        return self.again(substitute(written(value), numbers))

    def number(self, value: Sum) -> int | None:
        """Return the value that a sum has for all threads of this launch, if it has one."""
        low, high = self.range(value)
        return low if low == high else self.concrete(value).number

    def is_open(self, value: Sum) -> bool:
        """Say whether nothing shows that a sum has one value in this launch."""
        return self.number(value) is None

    def quotient(self, a: Sum, b: Sum | int) -> Sum:
        """Return a // b, rounded down; b is above 0."""
        b = constant(b) if isinstance(b, int) else b
        by = self.number(b)
        if by is not None and by <= 0:
            return applied("//", a, b)
        if b.number is not None:
            found = self._reciprocal(a, b.number)
            if found is not None:
                return found
            a, by = joined_quotients(a, b.number)
            b = constant(by)
            found = self._reciprocal(a, by)
            if found is not None:
                return found
            common = math.gcd(by, *a.terms.values())
            if common > 1:
                a, b = split(a, common)[0], constant(by // common)
                by = b.number
        whole, rest = divided(a, b)
        if by is not None and self.within(rest, 0, by - 1):
            return whole
        if by is not None and self.is_open(rest):
            # Numbers for dimensions may show what divides.
            more, left = split(self.concrete(rest), by)
            if self.within(left, 0, by - 1):
                return whole + more
        return whole + self._opaque("//", rest, b)

    def remainder(self, a: Sum, b: Sum | int) -> Sum:
        """Return a % b, from 0 to b - 1; b is above 0."""
        b = constant(b) if isinstance(b, int) else b
        by = self.number(b)
        _, rest = divided(a, b)
        if by is not None and by > 0:
            if self.within(rest, 0, by - 1):
                return rest
            _, left = split(self.concrete(rest), by)
            if self.within(left, 0, by - 1) and self.is_open(rest):
                return left
        return self._opaque("%", rest, b)

    def masked(self, a: Sum, b: Sum, bits: int) -> Sum:
        """Return a & b."""
        for value, number in ((a, b.number), (b, a.number)):
            if number is None:
                continue
            mask = number & (1 << bits) - 1
            inverse = ~mask & (1 << bits) - 1
            if mask & mask + 1 == 0:
                return self.remainder(value, mask + 1) if mask else constant(0)
            if inverse & inverse + 1 == 0:
                return self.quotient(value, inverse + 1) * (inverse + 1)
            low = mask & -mask
            if mask // low & mask // low + 1 == 0:  # bits in the middle
                upper = self.quotient(value, low)
                return self.remainder(upper, mask // low + 1) * low
        for value, other in ((a, b), (b, a)):
            known = self.number(other) if other.number is None else None
            if known is not None and known > 0 and known & known + 1 == 0:
                return self.remainder(value, other + 1)  # a power of two, by name
        return applied("&", a, b)

    def joined(self, a: Sum, b: Sum) -> Sum:
        """Return a | b: a sum where they have no bit in common."""
        for one, other in ((a, b), (b, a)):
            unit = math.gcd(0, *one.terms.values())
            if self.within(other, 0, (unit & -unit) - 1):
                return a + b
        return applied("|", a, b)

    def exclusive(self, a: Sum, b: Sum, bits: int) -> Sum:
        """Return a ^ b."""
        for value, other in ((a, b.number), (b, a.number)):
            if other is not None and other & (1 << bits) - 1 == (1 << bits) - 1:
                return -value - 1
            if other == 0:
                return value
        if a == b:
            return constant(0)
        return applied("^", a, b)

    def unsigned(self, value: Sum, bits: int) -> Sum:
        """Return what an unsigned instruction sees of a value."""
        if value.number is not None:
            return constant(value.number & (1 << bits) - 1)
        # 64 bits are taken to be enough for any number.
        if bits >= 64 or self.within(value, 0, (1 << bits) - 1):
            return value
        return self.remainder(value, 1 << bits)

    def compared(self, operator: str, a: Sum, b: Sum) -> Node:
        """Return a comparison of signed values as a condition."""
        low, high = self.range(a - b)
        number = self.concrete(a - b).number
        if number is not None:
            low = high = number
        holds = decided(operator, low, high)
        if holds is not None:
            return TRUE if holds else FALSE
        return Operation(operator, (written(a), written(b)))

    def compared_unsigned(self, operator: str, a: Sum, b: Sum, bits: int) -> Node:
        """Return a comparison of unsigned values as a condition."""
        if operator in ("==", "!="):
            return self.compared(operator, a, b)
        if operator in (">", ">="):
            return self.compared_unsigned("<" if operator == ">" else "<=", b, a, bits)
        top = (1 << bits) - 1
        for value in (a, b):
            # A negative constant is a large number.
            if value.number is not None and value.number < 0:
                fixed = constant(value.number & top)
                a, b = (fixed if v is value else v for v in (a, b))
        negative_a, negative_b = (not self.within(v, 0, None) for v in (a, b))
        large = any(not self.within(v, None, (1 << bits - 1) - 1) for v in (a, b))
        if (negative_a and negative_b) or (large and (negative_a or negative_b)):
            return self.compared(operator, self.unsigned(a, bits), self.unsigned(b, bits))
        plain = self.compared(operator, a, b)
        zero = constant(0)
        if negative_a:
            return all_of((self.compared(">=", a, zero), plain))
        if negative_b:
            return any_of((self.compared("<", b, zero), plain))
        return plain

    def chosen(self, condition: Node, a: Sum, b: Sum) -> Sum:
        """Return a where a condition holds, else b."""
        if isinstance(condition, Number):
            return a if condition.value else b
        if a == b:
            return a
        if isinstance(condition, Operation) and condition.operator in ("<", "<=", ">", ">="):
            x, y = (sum_of(operand) for operand in condition.operands)
            least = condition.operator in ("<", "<=")
            for one, other, lesser in ((a, b, least), (b, a, not least)):
                if one == x and other == y:
                    return self.extreme("min" if lesser else "max", x, y)
        # What both have in common stays outside: above all the buffer that both point into.
        common = {k: v for k, v in a.terms.items() if b.terms.get(k) == v}
        outside = Sum(common)
        inside = (written(a - outside), written(b - outside))
        return outside + single(Operation("where", (condition, *inside)))

    def extreme(self, which: str, a: Sum, b: Sum) -> Sum:
        """Return the lesser ("min") or greater ("max") of two."""
        above = self.compared(">=", a, b)
        if isinstance(above, Number):
            return a if bool(above.value) == (which == "max") else b
        if isinstance(self.compared("<=", a, b), Number):
            return a if which == "min" else b
        return applied(which, a, b)

    def again(self, node: Node) -> Sum:
        """Return an expression as a sum, simplified as if it were computed now."""
        worked(2)
        if isinstance(node, Number) and isinstance(node.value, int):
            return constant(node.value)
        if isinstance(node, Name):
            return single(node)
        assert isinstance(node, Operation)
        if node.operator == "where":
            condition, a, b = node.operands
            return self.chosen(self.condition(condition), self.again(a), self.again(b))
        parts = [self.again(operand) for operand in node.operands]
        work = _WORK.get(node.operator)
        if work is not None:
            return work(self, *parts)
        by = parts[1].number if node.operator in ("<<", ">>") else None
        if by is not None and 0 <= by < _WIDEST:
            power = 1 << by
            return parts[0] * power if node.operator == "<<" else self.quotient(parts[0], power)
        return applied(node.operator, *parts)

    def condition(self, node: Node) -> Node:
        """Return a condition, simplified as if it were made now."""
        if isinstance(node, Operation):
            if node.operator == "and":
                return all_of(self.condition(part) for part in node.operands)
            if node.operator == "or":
                return any_of(self.condition(part) for part in node.operands)
            if node.operator == "not":
                return negated(self.condition(node.operands[0]))
            if node.operator in COMPARISONS:
                return self.compared(node.operator, *(self.again(p) for p in node.operands))
        return node

    def within(self, value: Sum, low: int | None, high: int | None) -> bool:
        """Say whether a sum is surely from `low` to `high`; None is no limit."""
        known = self.range(value)
        return (low is None or known.low >= low) and (high is None or known.high <= high)

    def asks(self, question: Callable[..., Answer], *about: Any) -> Answer:
        """Return the answer of a function of this arithmetic, which comes last."""
        return question(*about, self)

    def _opaque(self, operator: str, a: Sum, b: Sum) -> Sum:
        if a.number is not None and b.number is not None:
            return constant(a.number // b.number if operator == "//" else a.number % b.number)
        inner = next(iter(a.factors), None)
        if (
            isinstance(inner, Operation)
            and a == single(inner)
            and b.number is not None
            and inner.operator in ("//", "%")
            and isinstance(inner.operands[1], Number)
        ):
            by = int(inner.operands[1].value)
            dividend = self.again(inner.operands[0])
            if operator == inner.operator == "//":
                return self.quotient(dividend, by * b.number)
            if operator == inner.operator == "%" and by % b.number == 0:
                return self.remainder(dividend, b)
        return applied(operator, a, b)

    def _reciprocal(self, a: Sum, by: int) -> Sum | None:
        """Return ``x*p // q`` for ``x*m // by`` where m is a compiler's reciprocal; else None."""
        if by < 1 << 32 or by & by - 1:
            return None
        factor = math.gcd(0, *a.terms.values())
        if factor < _RECIPROCAL:
            return None
        value = Sum({factors: times // factor for factors, times in a.terms.items()})
        low, high = self.range(value)
        if high <= 0 and low < 0 and factor < by:  # signed: of x*(m - by) // by, -x is whole
            return self.quotient(a + value * (-by), by) + value
        if low < 0:
            return None
        p, q = simplest(factor, by, high)
        if p & p - 1 and max(by, *map(abs, a.terms.values())) <= LARGEST_LITERAL:
            return None  # half of a reciprocal: the shift or the sum that follows completes it
        return self.quotient(value * p, q) if p else constant(0)


_WORK: Final[Mapping[str, Callable[..., Sum]]] = {
    "+": lambda algebra, a, b: a + b,
    "-": lambda algebra, a, b: a - b,
    "neg": lambda algebra, a: -a,
    "*": lambda algebra, a, b: a * b,
    "//": Algebra.quotient,
    "%": Algebra.remainder,
    "min": lambda algebra, a, b: algebra.extreme("min", a, b),
    "max": lambda algebra, a, b: algebra.extreme("max", a, b),
    "&": lambda algebra, a, b: algebra.masked(a, b, 64),
    "|": Algebra.joined,
    "^": lambda algebra, a, b: algebra.exclusive(a, b, 64),
}
"""What operators of expressions compute."""
