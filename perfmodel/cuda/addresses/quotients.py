"""Quotients by constants as compilers write them: products by reciprocals, and corrections.

``x // 7`` is x times a reciprocal, 2**35/7 or so, shifted right; where that has a bit more than a
register, x or what remains of it is added before the last shift (T. Granlund and P. L. Montgomery,
Division by Invariant Integers using Multiplication, 1994).
"""

from collections.abc import Mapping
from fractions import Fraction

from perfmodel.cuda.addresses.sums import Factors, Sum, by_factor, constant, single, split, sum_of
from perfmodel.expressions import Number, Operation


def dividend_of(quotient: Operation) -> tuple[Sum, int]:
    """Return what a quotient by a number divides, and the number."""
    dividend, divisor = quotient.operands
    assert isinstance(divisor, Number)
    return sum_of(dividend), int(divisor.value)


def simplest(m: int, by: int, high: int) -> tuple[int, int]:
    """Return p and q with ``x*p // q == x*m // by`` for x from 0 to `high`.

    Of all fractions p/q at most m/by, that of the least q that is within 1/(q*high) of it: x*p/q is
    at most (q - 1)/q over a whole number. Found by a walk through the Stern-Brocot tree.
    """
    low, above = (m // by, 1), (m // by + 1, 1)
    missing, excess = m % by, by - m % by  # m*q - p*by of the lower, p*by - m*q of the upper
    enough = (by - 1) // max(high, 1)
    while missing > enough:
        steps = min(missing // excess, -((enough - missing) // excess))
        low = low[0] + steps * above[0], low[1] + steps * above[1]
        missing -= steps * excess
        if missing <= enough:
            break
        steps = (excess - 1) // missing
        above = above[0] + steps * low[0], above[1] + steps * low[1]
        excess -= steps * missing
    return low


def outermost_quotient(terms: Mapping[Factors, int | Fraction]) -> Operation | None:
    """Return the largest quotient by a number that is a whole term, but for a factor; else None."""
    found = [factors[0] for factors in terms if len(factors) == 1]
    quotients = [
        node
        for node in found
        if isinstance(node, Operation)
        and node.operator == "//"
        and isinstance(node.operands[1], Number)
    ]
    return max(quotients, key=lambda node: node.size, default=None)


def joined_quotients(a: Sum, by: int) -> tuple[Sum, int]:
    """Return c and d of ``c // d == a // by`` where a holds a quotient of what else it holds.

    ``(x//n + y) // m`` is ``(x + n*y) // (n*m)``: compilers add a number to its quotient where
    the reciprocal has a bit more than a register.
    """
    quotient = outermost_quotient(a.terms)
    if quotient is None or a.terms[(quotient,)] != 1:
        return a, by
    dividend, n = dividend_of(quotient)
    others = a - single(quotient)
    if dividend.factors.isdisjoint(others.factors):
        return a, by
    return joined_quotients(dividend + others * n, n * by)


def divided(a: Sum, b: Sum) -> tuple[Sum, Sum]:
    """Return q and r of ``a = b*q + r``, as far as the terms show it."""
    if b.number is not None:
        return split(a, b.number)
    if len(b.terms) == 1:
        ((factors, times),) = b.terms.items()
        if times == 1 and len(factors) == 1:
            whole, rest = by_factor(a.terms, factors[0])
            return Sum(whole), Sum(rest)
    return constant(0), a
