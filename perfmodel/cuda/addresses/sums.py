"""Integers as sums: whole-number polynomials over index variables, arguments and opaque parts.

Addresses are built step by step, instruction by instruction. Kept as a sum of products, equal
values come out equal however they were computed, which shows strides, recurrences of loops and the
buffer that a pointer belongs to. What is no polynomial (a quotient, a remainder, a choice) is an
opaque factor: an expression of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, Number, Operation, names, text
from perfmodel.expressions.nodes import LARGEST_LITERAL
from perfmodel.records import record

Factors = tuple[Node, ...]
"""Names and opaque expressions that are multiplied, in a fixed order; none stands for 1."""

MOST_TERMS: Final = 128
"""Terms of a sum; what needs more is not followed any further."""

_INDEXES: Final = ("threadIdx.", "blockIdx.")


class TooLargeError(PerfmodelError):
    """A sum of more than `MOST_TERMS` terms, or a number beyond 64 bits with a sign."""


@record(eq=False)
class Sum:
    """A polynomial with whole coefficients."""

    terms: Mapping[Factors, int]  # coefficient of each product; none is 0
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(frozenset(self.terms.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Sum | int) -> Sum:
        return plus(self, constant(other) if isinstance(other, int) else other)

    def __neg__(self) -> Sum:
        return self * -1

    def __sub__(self, other: Sum | int) -> Sum:
        return self + -other

    def __mul__(self, other: Sum | int) -> Sum:
        if isinstance(other, int):
            return _made(_times(self.terms, other))
        return _made(_products(self, other))

    @property
    def number(self) -> int | None:
        """Its value if it is a constant, else None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def offset(self) -> int:
        """The constant term."""
        return self.terms.get((), 0)

    @property
    def factors(self) -> frozenset[Node]:
        """All factors of all terms."""
        return frozenset(f for product in self.terms for f in product)

    @property
    def names(self) -> frozenset[str]:
        """Names of all variables, those inside opaque factors included."""
        return _names(self)


@lru_cache(maxsize=4096)
def _names(value: Sum) -> frozenset[str]:
    return frozenset().union(*(names(f) for f in value.factors))


def constant(value: int) -> Sum:
    """Return a constant."""
    return Sum({(): value} if value else {})


def single(node: Node) -> Sum:
    """Return a name or an opaque expression as a sum."""
    return Sum({(node,): 1})


def plus(*parts: Sum) -> Sum:
    """Return the sum of sums."""
    return _made(_added_terms(*(part.terms for part in parts)))


def split(value: Sum, divisor: int) -> tuple[Sum, Sum]:
    """Return q and r of ``value = divisor*q + r``: q takes the terms that the divisor divides."""
    whole, rest = {}, {}
    for factors, times in value.terms.items():
        # A constant is split too, so that (x + 5) // 4 is 1 + (x + 1) // 4.
        quotient = times // divisor if not factors else times // divisor * (times % divisor == 0)
        if quotient:
            whole[factors] = quotient
        left = times - divisor * quotient
        if left:
            rest[factors] = left
    return Sum(whole), Sum(rest)


def _made(terms: Mapping[Factors, int]) -> Sum:
    kept = {factors: times for factors, times in terms.items() if times}
    if len(kept) > MOST_TERMS:
        raise TooLargeError(f"a sum of {len(kept)} terms is not followed")
    for factors in kept:
        for factor in factors:
            if isinstance(factor, Operation) and factor.operator in ("%", "//"):
                joined = _joined(kept, factors, factor)
                if joined is not None:
                    return _made(joined)
    return Sum(kept)


def _joined(
    terms: Mapping[Factors, int], factors: Factors, part: Operation
) -> Mapping[Factors, int] | None:
    """Put a quotient or remainder together with what completes it; None if that is not there.

    ``x - x % c`` is ``x // c * c``, ``x - x // c * c`` is ``x % c``, ``x // c * c + x % c`` is
    x, and ``x // c % d * c + x % c`` is ``x % (c*d)``.
    """
    dividend, divisor = part.operands
    others = list(factors)
    others.remove(part)
    times = terms[factors]
    quotient = Operation("//", part.operands)
    if part.operator == "%":
        rest = Sum({tuple(others): times})
        whole = _products(rest, sum_of(dividend))
        steps = _products(Sum(_products(rest, single(quotient))), sum_of(divisor))
        if all(terms.get(key) == -value for key, value in whole.items()):
            return _added_terms(terms, {factors: -times}, whole, _times(steps, -1))
        if all(terms.get(key) == value for key, value in steps.items()):
            return _added_terms(terms, {factors: -times}, whole, _times(steps, -1))
        return _one_remainder(terms, factors, part, tuple(others))
    if isinstance(divisor, Number):
        by = int(divisor.value)
        if times % by:
            return None
        rest = Sum({tuple(others): -times // by})
    elif divisor in others:
        others.remove(divisor)
        rest = Sum({tuple(others): -times})
    else:
        return None
    whole = _products(rest, sum_of(dividend))
    if all(terms.get(key) == value for key, value in whole.items()):
        remainder = _products(rest, single(Operation("%", part.operands)))
        return _added_terms(terms, {factors: -times}, _times(whole, -1), remainder)
    return None


def _one_remainder(
    terms: Mapping[Factors, int], factors: Factors, part: Operation, others: Factors
) -> Mapping[Factors, int] | None:
    """Put rows and columns that start again together: ``x // c % d * c + x % c``."""
    quotient, rows = part.operands
    if not (isinstance(quotient, Operation) and quotient.operator == "//"):
        return None
    dividend, columns = quotient.operands
    times, left = terms[factors], list(others)
    if isinstance(columns, Number) and times % int(columns.value) == 0:
        count = times // int(columns.value)
    elif columns in left:
        left.remove(columns)
        count = times
    else:
        return None
    column = ordered((*left, Operation("%", (dividend, columns))))
    if terms.get(column) != count:
        return None
    period = written(sum_of(columns) * sum_of(rows))
    whole = ordered((*left, Operation("%", (dividend, period))))
    return _added_terms(terms, {factors: -times, column: -count}, {whole: count})


def applied(operator: str, *parts: Sum) -> Sum:
    """Return an operation on sums as an opaque factor."""
    return single(Operation(operator, tuple(map(written, parts))))


@lru_cache(maxsize=1 << 14)
def sum_of(node: Node) -> Sum:
    """Return an expression as a sum; parts that are no polynomial stay as they are."""
    if isinstance(node, Number) and isinstance(node.value, int):
        return constant(node.value)
    if isinstance(node, Operation) and node.operator in _POLYNOMIAL:
        return _POLYNOMIAL[node.operator](*map(sum_of, node.operands))
    return single(node)


_POLYNOMIAL: Final[dict[str, Callable[..., Sum]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
}


def _products(a: Sum, b: Sum) -> dict[Factors, int]:
    terms: dict[Factors, int] = {}
    for one, times in a.terms.items():
        for other, again in b.terms.items():
            both = ordered((*one, *other))
            terms[both] = terms.get(both, 0) + times * again
    return terms


def _times(terms: Mapping[Factors, int], by: int) -> dict[Factors, int]:
    return {factors: by * times for factors, times in terms.items()}


def _added_terms(*parts: Mapping[Factors, int]) -> dict[Factors, int]:
    terms: dict[Factors, int] = {}
    for part in parts:
        for factors, times in part.items():
            terms[factors] = terms.get(factors, 0) + times
    return {factors: times for factors, times in terms.items() if times}


@lru_cache(maxsize=1 << 16)
def _key(node: Node) -> str:
    return text(node)


def ordered(factors: Iterable[Node]) -> Factors:
    """Return factors in the order in which sums have them."""
    return tuple(sorted(factors, key=_key))


@lru_cache(maxsize=1 << 14)
def written(value: Sum) -> Node:
    """Return a sum as an expression that reads well: common arguments are factored out."""
    return _written(dict(value.terms))


def _written(terms: dict[Factors, int]) -> Node:
    if not terms:
        return Number(0)
    shared = _most_shared(terms)
    if shared is None:
        ordered = sorted(terms.items(), key=lambda item: _place(item[0]))
        return _added([_term(factors, times) for factors, times in ordered])
    inside, rest = by_factor(terms, shared)
    first = Operation("*", (_written(inside), shared))
    if not rest:
        return first
    return _added([(first, 1), *_parts(_written(rest))])


def by_factor(
    terms: Mapping[Factors, int], factor: Node
) -> tuple[dict[Factors, int], dict[Factors, int]]:
    """Return what a factor is multiplied with, once, and the terms without it."""
    inside: dict[Factors, int] = {}
    rest: dict[Factors, int] = {}
    for factors, times in terms.items():
        if factor in factors:
            left = list(factors)
            left.remove(factor)
            inside[tuple(left)] = times
        else:
            rest[factors] = times
    return inside, rest


def _most_shared(terms: Mapping[Factors, int]) -> Node | None:
    """Return the argument or dimension that is in most terms, at least two; None if none is."""
    counts: dict[Node, int] = {}
    for factors in terms:
        for factor in set(factors):
            if not _key(factor).startswith(_INDEXES):
                counts[factor] = counts.get(factor, 0) + 1
    best = max(counts, key=lambda f: (counts[f], _key(f)), default=None)
    return best if best is not None and counts[best] > 1 else None


def _place(factors: Factors) -> tuple[int, str]:
    """Return where a term goes: blocks first, then threads, the rest, and the constant last."""
    first = [_key(f) for f in factors]
    if not first:
        return 3, ""
    rank = min(
        0 if k.startswith("blockIdx.") else 1 if k.startswith("threadIdx.") else 2 for k in first
    )
    return rank, " ".join(first)


def _term(factors: Factors, times: int) -> tuple[Node, int]:
    """Return a product, and the sign that it is added with."""
    ordered = sorted(factors, key=lambda f: not _key(f).startswith(_INDEXES))
    magnitude = abs(times)
    if magnitude > LARGEST_LITERAL:  # an expression has signed numbers of 64 bits
        raise TooLargeError(f"an integer of {magnitude.bit_length()} bits is over 2**63 - 1")
    parts: list[Node] = [*ordered]
    if magnitude != 1 or not parts:
        parts.append(Number(magnitude))
    node = parts[0]
    for part in parts[1:]:
        node = Operation("*", (node, part))
    return node, 1 if times > 0 else -1


def _parts(node: Node) -> list[tuple[Node, int]]:
    """Return what a written sum adds up, so that it can go on."""
    found: list[tuple[Node, int]] = []
    while isinstance(node, Operation) and node.operator in ("+", "-"):
        found.append((node.operands[1], 1 if node.operator == "+" else -1))
        node = node.operands[0]
    if isinstance(node, Operation) and node.operator == "neg":
        found.append((node.operands[0], -1))
    else:
        found.append((node, 1))
    return found[::-1]


def _added(parts: list[tuple[Node, int]]) -> Node:
    # A sum that starts with a minus reads worse than one that ends with it.
    parts = sorted(parts, key=lambda part: part[1] < 0)
    node, sign = parts[0]
    if sign < 0:
        node = Operation("neg", (node,))
    for part, sign in parts[1:]:
        node = Operation("+" if sign > 0 else "-", (node, part))
    return node
