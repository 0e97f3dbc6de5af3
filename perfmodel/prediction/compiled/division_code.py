"""Divisions of vectors with their rests, as functions in LLVM's language that programs call.

Processors divide vectors of doubles, but whole numbers one by one, and have no remainder. Below
2^52 the floor of a rounded quotient is right or one too many, which the exact rest tells.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from perfmodel.prediction.compiled.scalars import Kind
from perfmodel.prediction.compiled.vector_operators import (
    LANES,
    PAIRS,
    TYPES,
    VectorOperators,
    splat,
)

_LIMIT: Final = 1 << 52
_GCD: Final = f"""define internal {TYPES["i"]} @gcd({TYPES["i"]} %a, {TYPES["i"]} %b) noinline {{
entry:
 br label %head
head:
 %x = phi {TYPES["i"]} [%a, %entry], [%next, %body]
 %y = phi {TYPES["i"]} [%b, %entry], [%rest, %body]
 %none = icmp eq {TYPES["i"]} %y, {splat(0)}
 %bits = bitcast {TYPES["b"]} %none to i{LANES}
 %end = icmp eq i{LANES} %bits, -1
 br i1 %end, label %done, label %body
body:
 %divided = call {PAIRS["i"]} @divided_i({TYPES["i"]} %x, {TYPES["i"]} %y)
 %rest = extractvalue {PAIRS["i"]} %divided, 1
 %next = select {TYPES["b"]} %none, {TYPES["i"]} %x, {TYPES["i"]} %y
 br label %head
done:
 %minus = sub {TYPES["i"]} {splat(0)}, %x
 %below = icmp slt {TYPES["i"]} %x, {splat(0)}
 %found = select {TYPES["b"]} %below, {TYPES["i"]} %minus, {TYPES["i"]} %x
 ret {TYPES["i"]} %found
}}"""


@lru_cache
def divisions() -> str:
    """Return `@divided_f`, `@divided_i` and `@gcd`.

    The first two return quotients, rounded down, and rests of the divisors' signs. By 0, whole
    numbers give 0 and floats no number, or infinity.
    """
    made: dict[Kind, str] = {
        "f": _Division().of_floats("%x", "%y"),
        "i": _Division().of_whole("%x", "%y"),
    }
    functions = [
        f"define internal {PAIRS[kind]} @divided_{kind}({TYPES[kind]} %x, {TYPES[kind]} %y) "
        f"noinline {{\nentry:\n{body}\n}}"
        for kind, body in made.items()
    ]
    return "\n".join((*functions, _GCD))


class _Division(VectorOperators):
    """Lines of a division's function: the quick way where all lanes can go it, else another."""

    def of_floats(self, first: str, second: str) -> str:
        """Return the body of the function of floats."""
        do = self._operation
        ratio = do("divide", "f", [first, second])
        above = self._compared("greater", "f", second, splat(0.0))
        below = self._compared("less", "f", second, splat(float("inf")))
        quick = do("and", "b", [self._small(ratio), do("and", "b", [above, below])])
        # By 0, and of what is not a number, both ways give the same.
        unsure = self._line(f"fcmp uno {TYPES['f']} {ratio}, {ratio}")
        none = do("or", "b", [unsure, self._compared("equal", "f", second, splat(0.0))])
        self._if_all(do("or", "b", [quick, none]))
        self._return("f", *self._by_floor(first, second, ratio))
        self.lines.append("slow:")
        self._return("f", *self._floats_by_lanes(first, second))
        return "\n".join(self.lines)

    def of_whole(self, first: str, second: str) -> str:
        """Return the body of the function of whole numbers."""
        do, zero = self._operation, splat(0)
        none = self._compared("equal", "i", second, zero)
        by = self._chosen(none, splat(1), second, "i")
        limit = splat(_LIMIT)
        small = [self._line(f"icmp ult {TYPES['i']} {value}, {limit}") for value in (first, by)]
        self._if_all(do("and", "b", small))
        above, below = (self._cast(value, "i", "f") for value in (first, by))
        quick = self._by_floor(above, below, do("divide", "f", [above, below]))
        whole = (self._cast(value, "f", "i") for value in quick)
        self._return("i", *(self._chosen(none, zero, value, "i") for value in whole))
        self.lines.append("slow:")
        slow = self._whole_by_lanes(first, by)
        self._return("i", *(self._chosen(none, zero, value, "i") for value in slow))
        return "\n".join(self.lines)

    def _small(self, ratio: str) -> str:
        """Return where a quotient is not below 0 and its floor is exact, or one too many."""
        least = self._compared("greater_equal", "f", ratio, splat(0.0))
        most = self._compared("less", "f", ratio, splat(float(_LIMIT)))
        return self._operation("and", "b", [least, most])

    def _by_floor(self, first: str, second: str, ratio: str) -> tuple[str, str]:
        """Return quotient and rest, none of them below 0, where a ratio is small."""
        do = self._operation
        floor = do("floor", "f", [ratio])
        given = ", ".join(
            f"{TYPES['f']} {each}" for each in (self._negative_f(floor), second, first)
        )
        rest = self._line(f"call {TYPES['f']} @llvm.fma.v{LANES}f64({given})")
        over = self._compared("less", "f", rest, splat(0.0))
        quotient = self._chosen(over, do("subtract", "f", [floor, splat(1.0)]), floor, "f")
        return quotient, self._chosen(over, do("add", "f", [rest, second]), rest, "f")

    def _whole_by_lanes(self, first: str, by: str) -> tuple[str, str]:
        """Return quotient and rest of whole numbers, none of whose divisors is 0."""
        kind = TYPES["i"]
        minus = self._compared("equal", "i", by, splat(-1))  # the least number by it traps
        some = self._chosen(minus, splat(1), by, "i")
        quotient = self._line(f"sdiv {kind} {first}, {some}")
        rest = self._line(f"sub {kind} {first}, {self._line(f'mul {kind} {quotient}, {some}')}")
        other = self._compared("less", "i", self._line(f"xor {kind} {rest}, {some}"), splat(0))
        left = self._compared("not_equal", "i", rest, splat(0))
        down = self._operation("and", "b", [other, left])
        lower = self._operation("subtract", "i", [quotient, splat(1)])
        quotient = self._chosen(down, lower, quotient, "i")
        quotient = self._chosen(minus, self._negative_i(first), quotient, "i")
        return quotient, self._chosen(down, self._operation("add", "i", [rest, some]), rest, "i")

    def _floats_by_lanes(self, first: str, second: str) -> tuple[str, str]:
        """Return quotient and rest as Python's floats have them."""
        do, zero = self._operation, splat(0.0)
        rest = self._line(f"frem {TYPES['f']} {first}, {second}")
        quotient = do("divide", "f", [do("subtract", "f", [first, rest]), second])
        signs = [self._compared("less", "f", value, zero) for value in (rest, second)]
        left = self._compared("not_equal", "f", rest, zero)
        down = do("and", "b", [left, do("xor", "b", signs)])
        rest = self._chosen(down, do("add", "f", [rest, second]), rest, "f")
        quotient = self._chosen(down, do("subtract", "f", [quotient, splat(1.0)]), quotient, "f")
        floor = do("floor", "f", [quotient])
        over = self._compared("greater", "f", do("subtract", "f", [quotient, floor]), splat(0.5))
        return self._chosen(over, do("add", "f", [floor, splat(1.0)]), floor, "f"), rest

    def _if_all(self, condition: str) -> None:
        """Go on where a condition holds in all lanes; else at "slow"."""
        bits = self._line(f"bitcast {TYPES['b']} {condition} to i{LANES}")
        every = self._line(f"icmp eq i{LANES} {bits}, -1")
        self.lines += [f"br i1 {every}, label %quick, label %slow", "quick:"]

    def _return(self, kind: Kind, quotient: str, rest: str) -> None:
        first = self._line(f"insertvalue {PAIRS[kind]} undef, {TYPES[kind]} {quotient}, 0")
        both = self._line(f"insertvalue {PAIRS[kind]} {first}, {TYPES[kind]} {rest}, 1")
        self.lines.append(f"ret {PAIRS[kind]} {both}")
